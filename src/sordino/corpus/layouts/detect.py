"""Read a corpus, however it lies on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from sordino.corpus.corpus import Corpus
from sordino.corpus.layouts import (
    aishell3,
    commonvoice,
    folders,
    kaldi,
    librispeech,
    manifest,
    vctk,
    voxceleb,
    vpc,
)
from sordino.errors import UsageError


@dataclass(frozen=True)
class Layout:
    """A way in which corpora lie on disk.

    Attributes:
        name: as given on the command line.
        looks_like: what it is, for a person who looks for the mistake.
        recognises: whether a path looks like it.
        read: reads the corpus at a path.
    """

    name: str
    looks_like: str
    recognises: Callable[[Path], bool]
    read: Callable[[Path], Corpus]


def _layout(module: ModuleType) -> Layout:
    return Layout(module.NAME, module.LOOKS_LIKE, module.recognises, module.read)


# In the order in which they are tried: every other one is also a folder with folders.
LAYOUTS: Mapping[str, Layout] = {
    module.NAME: _layout(module)
    for module in (
        kaldi,
        manifest,
        voxceleb,
        vctk,
        aishell3,
        commonvoice,
        vpc,
        librispeech,
        folders,
    )
}


def read_corpus(path: Path, layout: str | None = None) -> Corpus:
    """Read a corpus from a CSV manifest, a Kaldi directory, a public corpus or plain folders.

    The public corpora are VoxCeleb, VCTK, AISHELL-3, Common Voice, LibriSpeech and the data of the
    VoicePrivacy Challenges; the module of each says what it reads. Lists of trials that lie with
    a corpus are read by `vpc.read_vpc`.

    Args:
        path: a file or a folder.
        layout: one of `LAYOUTS`; None to find out.

    Raises:
        UsageError: the layout is not known or not recognised, or the corpus is not right: errors
            name the line or the file, and a recording that is missing is an error.

    Example:
        >>> corpus = read_corpus(Path("speech/manifest.csv"))  # doctest: +SKIP
        >>> test = corpus.select(split="test", language="en")  # doctest: +SKIP
    """
    if layout is not None and layout not in LAYOUTS:
        raise UsageError(f"the layout {layout!r} is not one of {', '.join(LAYOUTS)}")
    if not path.exists():
        raise UsageError(f"{path}: there is no such file or folder")
    if layout is not None:
        return LAYOUTS[layout].read(path)
    return _recognised(path).read(path)


def _recognised(path: Path) -> Layout:
    try:
        found = next((known for known in LAYOUTS.values() if known.recognises(path)), None)
    except OSError as error:
        raise UsageError(f"{error.filename} cannot be looked at: {error.strerror}") from error
    if found is None:
        known = "; ".join(f"{layout.name} ({layout.looks_like})" for layout in LAYOUTS.values())
        raise UsageError(f"{path}: is none of the known layouts: {known}")
    return found
