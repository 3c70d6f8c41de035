"""Models from the Hugging Face hub: only when somebody asked, named, sized and checked."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

from sordino.errors import UsageError

_SPEC = re.compile(
    r"hub:(?P<repo>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(@(?P<revision>[\w./-]+))?", re.ASCII
)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_CHUNK = 2**20


@dataclass(frozen=True)
class HubFile:
    """A file of a repository as the hub describes it.

    Attributes:
        name: its path in the repository.
        size: in bytes.
        sha256: of its content where it is kept in large file storage, else None.
        blob: Git's SHA-1 of its content where it is kept in Git itself, else None.
    """

    name: str
    size: int
    sha256: str | None
    blob: str | None


def download(
    spec: str,
    *,
    only: Sequence[str] = ("*",),
    tell: Callable[[str], None] = lambda text: None,
    endpoint: str | None = None,
    cache: Path | None = None,
) -> Path:
    """Bring a repository to the hub client's cache, unless it is there.

    Args:
        spec: "hub:OWNER/NAME" or "hub:OWNER/NAME@REVISION", a branch, tag or commit. A whole commit
            (40 digits) that is in the cache is taken from there without asking the hub.
        only: patterns of the files to take.
        tell: told which files are downloaded and how big they are, before they are.
        endpoint: address of the hub; None for the client's own setting.
        cache: the cache; None for the client's own setting.

    Returns:
        A folder with the files. Its size and hashes are those that the hub gives.

    Raises:
        UsageError: the client is not installed, the name is not valid, the hub cannot be reached
            or refuses, or what came is not what the hub described.
    """
    match = _SPEC.fullmatch(spec)
    if match is None:
        raise UsageError(f"{spec}: is not hub:OWNER/NAME or hub:OWNER/NAME@REVISION")
    repo, revision = match["repo"], match["revision"]
    hub = _client(spec)
    where = {"cache_dir": cache, "endpoint": endpoint}
    if revision and _COMMIT.fullmatch(revision):
        try:
            return _fetch(hub, repo, revision, only, local_files_only=True, **where)
        except hub.errors.LocalEntryNotFoundError:
            pass  # not there yet
    try:
        info = hub.HfApi(endpoint=endpoint).model_info(repo, revision=revision, files_metadata=True)
        files = [file for file in _described(info.siblings or []) if _chosen(file.name, only)]
        if not files:
            raise UsageError(f"{spec}: has none of the files {', '.join(only)}")
        looked = partial(hub.try_to_load_from_cache, repo, cache_dir=cache, revision=info.sha)
        missing = [file for file in files if not isinstance(looked(file.name), str)]
        if missing:
            tell(_announcement(repo, info.sha, missing))
        folder = _fetch(hub, repo, info.sha, [file.name for file in files], **where)
    except (OSError, ValueError, hub.errors.HTTPError) as error:
        raise UsageError(f"{spec}: {_reason(hub, error)}") from error
    wrong = [file.name for file in files if not _is_as_described(folder / file.name, file)]
    for name in wrong:
        # Else the next try would take it from the cache.
        (folder / name).resolve().unlink(missing_ok=True)
        (folder / name).unlink(missing_ok=True)
    if wrong:
        raise UsageError(
            f"{spec}: {', '.join(wrong)}: what came is not what the hub describes (size or hash);"
            " it is removed, try again"
        )
    return folder


def _client(spec: str) -> Any:
    try:
        hub = import_module("huggingface_hub")
        import_module("huggingface_hub.errors")
    except ImportError as error:
        raise UsageError(
            f"{spec}: downloads need the hub's client; install sordino with the extra hub:"
            ' pip install "sordino[hub]"'
        ) from error
    return hub


def _fetch(hub: Any, repo: str, commit: str, only: Sequence[str], **options: Any) -> Path:
    class Bars(hub.utils.tqdm):  # type: ignore[misc]
        # Not in logs: None leaves them out where nobody watches.
        def __init__(self, *arguments: Any, **settings: Any) -> None:
            super().__init__(*arguments, **{**settings, "disable": settings.get("disable") or None})

    patterns = list(only)
    return Path(
        hub.snapshot_download(
            repo, revision=commit, allow_patterns=patterns, tqdm_class=Bars, **options
        )
    )


def _described(siblings: Sequence[Any]) -> list[HubFile]:
    for entry in siblings:
        place = PurePosixPath(entry.rfilename)
        if place.is_absolute() or ".." in place.parts or "\\" in entry.rfilename:
            raise UsageError(f"the hub names a file outside its folder: {entry.rfilename}")
    return [
        HubFile(
            name=entry.rfilename,
            size=int(entry.size or 0),
            sha256=entry.lfs.sha256 if entry.lfs else None,
            blob=None if entry.lfs else entry.blob_id,
        )
        for entry in siblings
    ]


def _chosen(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _announcement(repo: str, commit: str, files: Sequence[HubFile]) -> str:
    total = _sized(sum(file.size for file in files))
    names = ", ".join(f"{file.name} ({_sized(file.size)})" for file in files)
    return f"downloading {repo} at commit {commit}, {total}: {names}"


def _sized(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"


def _is_as_described(path: Path, expected: HubFile) -> bool:
    try:
        size = path.stat().st_size
        # Git's own name for a content. It is weak against forgers, but all that the hub gives for
        # files that are not in large file storage.
        git = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        sha256 = hashlib.sha256()
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                git.update(chunk)
                sha256.update(chunk)
    except FileNotFoundError:
        return False
    same_git = expected.blob in (None, git.hexdigest())
    return size == expected.size and same_git and expected.sha256 in (None, sha256.hexdigest())


def _reason(hub: Any, error: Exception) -> str:
    errors = hub.errors
    known = (
        (errors.GatedRepoError, "the model is given only to those who have accepted its terms"),
        (errors.RepositoryNotFoundError, "the hub has no such model, or it is private"),
        (errors.RevisionNotFoundError, "the model has no such revision"),
    )
    for kind, text in known:
        if isinstance(error, kind):
            return text
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    unreached = (ConnectionError, TimeoutError, errors.HTTPError, errors.LocalEntryNotFoundError)
    if isinstance(error, errors.HfHubHTTPError) or not isinstance(error, unreached):
        return reason
    return (
        f"the hub cannot be reached ({reason}); what is in the cache is taken from there when it is"
        " named with its commit: hub:OWNER/NAME@COMMIT"
    )
