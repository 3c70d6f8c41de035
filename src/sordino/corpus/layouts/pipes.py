"""The commands that Kaldi users put into `wav.scp`, understood and never run.

Such a command decodes one file. Where it does nothing else, the file itself says the same, and
sordino decodes it with its own readers. An option that would change the sound (one channel of two,
a part, another speed) is refused, since leaving it out would give other speech.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from sordino.errors import UsageError

_FORMATS = "wav|wavpcm|wave|flac|sph|nist|mp3|ogg|vorbis|opus|aif|aiff|au"
_NUMBER = r"\d+(\.\d+)?k?"
_SHELL = frozenset("();<>|&$`")


@dataclass(frozen=True)
class _Program:
    """What a program may be given: flags, options with values that match, words at the end."""

    flags: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    file_option: str | None = None
    outputs: frozenset[str] = frozenset()
    # Words after the output, with their values.
    effects: Mapping[str, str] = field(default_factory=dict)


_PROGRAMS: Mapping[str, _Program] = {
    "flac": _Program(r"-[cds]+|--decode|--stdout|--silent|--totally-silent"),
    "sph2pipe": _Program("-p", {"-f": "wav|rif"}),
    "sox": _Program(
        r"-V\d?|-q|-D|-R|-L|--no-dither",
        {
            **dict.fromkeys(("-t", "--type"), _FORMATS),
            **dict.fromkeys(("-r", "--rate"), _NUMBER),
            **dict.fromkeys(("-b", "--bits"), r"\d+"),
            **dict.fromkeys(("-e", "--encoding"), "signed|signed-integer|floating-point"),
            **dict.fromkeys(("-c", "--channels"), "1"),
        },
        outputs=frozenset("-"),
        effects={"rate": _NUMBER, "channels": "1"},
    ),
    "ffmpeg": _Program(
        "-y|-nostdin|-hide_banner|-nostats|-vn",
        {
            **dict.fromkeys(("-v", "-loglevel", "-threads"), r"\w+"),
            "-f": "wav",
            "-ar": r"\d+",
            "-ac": "1",
            **dict.fromkeys(("-acodec", "-c:a", "-codec:a"), r"pcm_[sf]\d+le"),
            "-sample_fmt": r"\w+",
        },
        file_option="-i",
        outputs=frozenset({"-", "pipe:", "pipe:1", "/dev/stdout"}),
    ),
}


def decoded_file(command: str) -> str:
    """The file that a command decodes.

    Args:
        command: the text of an entry of `wav.scp`, with the `|` at its end.

    Returns:
        The file's name as it stands in the command.

    Raises:
        UsageError: the command is not a plain decoding by flac, sox, ffmpeg or sph2pipe.

    Example:
        >>> decoded_file("flac -c -d -s corpora/84/84-121123-0000.flac |")
        'corpora/84/84-121123-0000.flac'
    """
    words = _words(command.strip().removesuffix("|"))
    name = PurePosixPath(words[0]).name if words else ""
    if name not in _PROGRAMS:
        raise UsageError(
            f"the command {name!r} is not one of {', '.join(_PROGRAMS)}; decode it to a file first"
        )
    files = _files(_PROGRAMS[name], name, words[1:])
    if len(files) != 1:
        raise UsageError(f"the {name} command should name one file, and names {len(files)}")
    return files[0]


def _files(program: _Program, name: str, words: list[str]) -> list[str]:
    files: list[str] = []
    ended = False
    rest = iter(words)
    for word in rest:
        values = program.effects if ended else program.options
        if not ended and re.fullmatch(program.flags, word):
            continue
        if word == program.file_option:
            files.append(next(rest, ""))
        elif word in values:
            value = next(rest, "")
            if not re.fullmatch(values[word], value):
                raise UsageError(_not_understood(name, f"{word} {value}"))
        elif word in program.outputs and not ended:
            ended = True
        elif word.startswith("-") or ended or program.file_option:
            raise UsageError(_not_understood(name, word))
        else:
            files.append(word)
    return files


def _words(command: str) -> list[str]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError as error:
        raise UsageError(f"the command cannot be understood ({error})") from error
    for word in words:
        if _SHELL & set(word):
            raise UsageError(f"commands are not given to a shell, and {word!r} would need one")
    return words


def _not_understood(name: str, word: str) -> str:
    return (
        f"{name} is given {word!r}, which may change the sound or is not known;"
        " make the file first and name it here"
    )
