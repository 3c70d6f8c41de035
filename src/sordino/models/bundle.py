"""A model as a folder: `model.json`, ONNX graphs, NPZ arrays and a card.

`model.json` names every other file with its size and SHA-256, so that damage is found before a
model is used. Nothing in a bundle is code or pickle.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from sordino.errors import OutputError, UsageError

FORMAT, VERSION = "sordino-model", 1
METADATA_NAME, CARD_NAME = "model.json", "CARD.md"

# What `write_bundle` writes of itself.
_FILLED_IN = frozenset({"format", "version", "files"})
_TEXTS = ("kind", "name", "summary", "licence")
# What tells of a model without changing what it computes.
_DESCRIPTIVE = frozenset({"name", "summary", "licence", "training", "figures", "verification"})
_LARGEST_METADATA = 2**20
_CHUNK = 2**20
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class BundleFile:
    """What `model.json` says of a file.

    Attributes:
        sha256: of its content, 64 hexadecimal digits.
        bytes: its size.
    """

    sha256: str
    bytes: int


@dataclass(frozen=True)
class Bundle:
    """A model whose files have been checked. Made by `Bundle.load`.

    Attributes:
        folder: where it lies.
        metadata: all of `model.json`.
        files: every other file, by its name in the folder.

    Example:
        >>> import tempfile
        >>> about = {"kind": "test", "name": "tiny", "summary": "Does nothing.", "licence": "CC0"}
        >>> with tempfile.TemporaryDirectory() as place:
        ...     files = {"CARD.md": b"# tiny", "graph.onnx": b"..."}
        ...     bundle = write_bundle(Path(place, "tiny"), about, files)
        >>> bundle.name, bundle.size, len(bundle.digest)
        ('tiny', 9, 64)
    """

    folder: Path
    metadata: Mapping[str, Any]
    files: Mapping[str, BundleFile]

    @classmethod
    def load(cls, path: Path | str) -> Bundle:
        """Open a bundle and check all of it.

        Files of the folder that `model.json` does not name are left alone and never read.

        Args:
            path: the folder.

        Raises:
            UsageError: it is no bundle, it is for a later sordino, or a file is missing, damaged,
                or outside the folder.
        """
        bundle = cls.peek(path)
        within = _bounds(bundle.folder)
        for name, expected in bundle.files.items():
            try:
                _check_file(bundle.folder / name, expected, within)
            except OSError as error:
                raise UsageError(f"model {path}: {name}: {error.strerror}") from error
            except UsageError as error:
                raise UsageError(f"model {path}: {name} {error}") from error
        return bundle

    @classmethod
    def peek(cls, path: Path | str) -> Bundle:
        """Read `model.json` only: the files that it names are not looked at.

        Raises:
            UsageError: it is no bundle, or it is for a later sordino.
        """
        folder = Path(os.path.abspath(path))
        try:
            metadata = _parsed(_metadata_text(folder / METADATA_NAME))
            return cls(folder, metadata, _files(metadata))
        except FileNotFoundError as error:
            raise UsageError(f"{path}: is not a model (it has no {METADATA_NAME})") from error
        except OSError as error:
            raise UsageError(f"model {path}: {METADATA_NAME}: {error.strerror}") from error
        except UsageError as error:
            raise UsageError(f"model {path}: {METADATA_NAME} {error}") from error

    @property
    def name(self) -> str:
        """What the model is called."""
        return str(self.metadata["name"])

    @property
    def kind(self) -> str:
        """What the model is for, for example "speaker-encoder"."""
        return str(self.metadata["kind"])

    @property
    def summary(self) -> str:
        """What the model is, in one line."""
        return str(self.metadata["summary"])

    @property
    def licence(self) -> str:
        """The licence of the model's files."""
        return str(self.metadata["licence"])

    @property
    def size(self) -> int:
        """Bytes of all files that the metadata name."""
        return sum(file.bytes for file in self.files.values())

    @property
    def card(self) -> str:
        """The text of the model card."""
        return self.path(CARD_NAME).read_text(encoding="utf-8", errors="replace")

    @property
    def digest(self) -> str:
        """SHA-256 of what decides the model's results, as 64 hexadecimal digits.

        A corrected card, summary or figure does not change it; another graph or another
        `minimum_samples` does.
        """
        decisive = {key: value for key, value in self.metadata.items() if key not in _DESCRIPTIVE}
        decisive["files"] = {
            name: file.sha256 for name, file in self.files.items() if not name.endswith(".md")
        }
        text = json.dumps(decisive, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8")).hexdigest()

    @property
    def given(self) -> dict[str, Any]:
        """The metadata that `write_bundle` was given."""
        return {key: value for key, value in self.metadata.items() if key not in _FILLED_IN}

    def copy(self, path: Path, *, name: str | None = None) -> Bundle:
        """Write the same bundle to another place.

        Args:
            path: the new folder.
            name: what the copy is called; None for the same.

        Raises:
            UsageError: the name is no plain file name.
            OutputError: the folder exists, or writing failed.
        """
        files = {file: self.path(file) for file in self.files}
        return write_bundle(path, {**self.given, "name": name or self.name}, files)

    def path(self, name: str) -> Path:
        """Where a file of the bundle lies.

        Raises:
            UsageError: the metadata do not name it.
        """
        if name not in self.files:
            raise UsageError(f"model {self.folder}: it has no file {name}")
        return self.folder / name

    def arrays(self, name: str) -> dict[str, Any]:
        """The arrays of an NPZ file of the bundle, by their names.

        Raises:
            UsageError: there is no such file, or it holds something else than arrays of numbers
                and text.
        """
        import zipfile

        import numpy as np

        try:
            with (
                self.path(name).open("rb") as file,
                np.load(file, allow_pickle=False) as archive,
            ):
                return {key: archive[key] for key in archive.files}
        # A single array cannot be entered: TypeError, before Python 3.11 AttributeError.
        except (
            ValueError,
            OSError,
            EOFError,
            TypeError,
            AttributeError,
            zipfile.BadZipFile,
        ) as error:
            raise UsageError(
                f"model {self.folder}: {name} is not an NPZ archive of plain arrays"
            ) from error

    def integer(self, key: str, *, default: int | None = None) -> int:
        """A whole number above 0 from the metadata.

        Raises:
            UsageError: it is missing and has no default, or is something else.
        """
        value = self.metadata.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise UsageError(
                f"model {self.folder}: {METADATA_NAME} gives no whole number above 0 as {key}"
            )
        return value


def write_bundle(
    path: Path,
    metadata: Mapping[str, Any],
    files: Mapping[str, bytes | Path],
    *,
    replace: bool = False,
) -> Bundle:
    """Write a bundle that is either complete and on disk or not there.

    Args:
        path: the new folder; folders above it are made.
        metadata: at least `kind`, `name`, `summary` and `licence`; format, version and the list of
            files are added.
        files: contents, or files to copy, by their names in the bundle; "CARD.md" must be there.
        replace: whether a bundle that is there may be replaced. Anything else never is.

    Raises:
        UsageError: the metadata or names are not those of a bundle; nothing has been written.
        OutputError: the folder exists, or writing failed.
    """
    place = Path(os.path.abspath(path))
    reserved = _FILLED_IN & metadata.keys()
    if reserved:
        raise UsageError(f"model {path}: {min(reserved)} is not given, but filled in")
    _refuse_existing(place, replace=replace)
    part = place.with_name(f".{place.name}.{secrets.token_hex(4)}.part")
    try:
        # Before folders are made that would be left for nothing.
        _parsed(json.dumps({"format": FORMAT, "version": VERSION, **metadata}))
        part.mkdir(parents=True)
        listed = {name: _write_file(part, name, content) for name, content in files.items()}
        described = {
            "format": FORMAT,
            "version": VERSION,
            **metadata,
            "files": {name: vars(file) for name, file in sorted(listed.items())},
        }
        text = json.dumps(described, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        _files(_parsed(text))
        _write_file(part, METADATA_NAME, text.encode("utf-8"), checked=False)
        _move(part, place, replace=replace)
    except OSError as error:
        raise OutputError(f"model {path}: cannot be written: {error.strerror}") from error
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"model {path}: its metadata cannot be written as JSON: {error}"
        ) from error
    except UsageError as error:
        raise UsageError(f"model {path}: {METADATA_NAME} {error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return Bundle.load(place)


def _metadata_text(path: Path) -> str:
    if not stat.S_ISREG(path.stat().st_mode):
        raise UsageError("is not a regular file")
    with path.open("rb") as file:
        data = file.read(_LARGEST_METADATA + 1)
    if len(data) > _LARGEST_METADATA:
        raise UsageError(f"is larger than {_LARGEST_METADATA} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError("is damaged (it is not UTF-8)") from error


def _parsed(text: str) -> dict[str, Any]:
    try:
        metadata = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"is damaged (it is not JSON: {error})") from error
    if not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
        raise UsageError(f"does not describe a model (its format is not {FORMAT!r})")
    version = metadata.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise UsageError(f"has no valid version ({version!r})")
    if version > VERSION:
        raise UsageError(
            f"has version {version}, and this sordino reads up to {VERSION}; install a later one"
        )
    for key in _TEXTS:
        if not isinstance(metadata.get(key), str) or not metadata[key].strip():
            raise UsageError(f"has no text {key!r}")
    if not NAME.fullmatch(metadata["name"]):
        raise UsageError(f"has a name that is no plain file name: {metadata['name']!r}")
    return metadata


def _files(metadata: Mapping[str, Any]) -> dict[str, BundleFile]:
    listed = metadata.get("files")
    if not isinstance(listed, dict):
        raise UsageError("has no list of files")
    files = {}
    for name, entry in listed.items():
        _check_name(name)
        digest, size = (entry.get("sha256"), entry.get("bytes")) if _is_mapping(entry) else (0, 0)
        if not isinstance(digest, str) or not _SHA256.fullmatch(digest):
            raise UsageError(f"gives no SHA-256 for {name}")
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise UsageError(f"gives no size for {name}")
        files[name] = BundleFile(digest, size)
    if CARD_NAME not in files:
        raise UsageError(f"names no model card ({CARD_NAME})")
    return files


def _is_mapping(value: object) -> bool:
    return isinstance(value, dict)


def _check_name(name: str) -> None:
    if name == METADATA_NAME or not all(NAME.fullmatch(part) for part in name.split("/")):
        raise UsageError(f"names a file that cannot be part of a model: {name!r}")


def _bounds(folder: Path) -> Path:
    # Where links may lead. The hub's cache keeps contents in NAME/blobs/, to which the files in
    # NAME/snapshots/COMMIT/ are links.
    real = Path(os.path.realpath(folder))
    if real.parent.name == "snapshots" and (real.parents[1] / "blobs").is_dir():
        return real.parents[1]
    return real


def _check_file(path: Path, expected: BundleFile, within: Path) -> None:
    if within not in Path(os.path.realpath(path)).parents:
        raise UsageError("is a link out of the model's folder")
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise UsageError("is not a regular file")
    if status.st_size != expected.bytes:
        raise UsageError(
            f"is damaged: it has {status.st_size} bytes instead of {expected.bytes};"
            " get the model again"
        )
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for chunk in _chunks(file):
            digest.update(chunk)
    if digest.hexdigest() != expected.sha256:
        raise UsageError("is damaged: its SHA-256 is another one; get the model again")


def _refuse_existing(place: Path, *, replace: bool) -> None:
    if not os.path.lexists(place):
        return
    if not replace:
        raise OutputError(f"model {place}: exists already; it is left as it is")
    if place.is_symlink() or not (place / METADATA_NAME).is_file():
        raise OutputError(f"{place}: is not a model, and is not replaced by one")


def _write_file(
    folder: Path, name: str, content: bytes | Path, *, checked: bool = True
) -> BundleFile:
    if checked:
        _check_name(name)
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with path.open("xb") as file:
        for chunk in _contents(content):
            digest.update(chunk)
            size += file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    return BundleFile(digest.hexdigest(), size)


def _contents(content: bytes | Path) -> Iterator[bytes]:
    if isinstance(content, bytes):
        yield content
        return
    with content.open("rb") as file:
        yield from _chunks(file)


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk


def _move(part: Path, place: Path, *, replace: bool) -> None:
    _refuse_existing(place, replace=replace)
    old = part.with_suffix(".old")
    if place.exists():
        place.rename(old)
    try:
        part.rename(place)
    except OSError:
        if old.exists():
            old.rename(place)
        raise
    shutil.rmtree(old, ignore_errors=True)
    # Not every system lets folders be opened; the contents are on disk in any case.
    with suppress(OSError):
        descriptor = os.open(place.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
