"""The audio formats: which are read, which are written, and what each can hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from sordino.errors import OutputError

MIN_RATE, MAX_RATE = 8_000, 192_000
# Ten thousand million times full scale: beyond, sums of squares leave single precision.
LARGEST_SAMPLE = 1e10

_MP3_RATES = frozenset({8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000})
_OPUS_RATES = frozenset({8000, 12000, 16000, 24000, 48000})
_AAC_RATES = _MP3_RATES | {64000, 88200, 96000}


@dataclass(frozen=True)
class Format:
    """A format that sordino writes.

    Attributes:
        name: as given on the command line.
        suffixes: file name endings, with the dot; the first is given to new names.
        container: libsndfile's name for it, or None where FFmpeg writes it.
        sample_types: stored sample type for each sample type of a source.
        default: stored sample type for all other sources.
        max_channels: the most channels it holds.
        max_full: the most channels it holds at full quality; beyond, the encoder takes the last
            for a low-frequency effect, as a source of the same kind does, and loses its speech.
        rates: the only sample rates it holds in Hz, or None for any.
        lossless: whether decoding gives back the samples that were written.
    """

    name: str
    suffixes: tuple[str, ...]
    container: str | None
    default: str
    sample_types: Mapping[str, str] = field(default_factory=dict)
    max_channels: int = 8
    max_full: int | None = None
    rates: frozenset[int] | None = None
    lossless: bool = True

    def check(self, sample_rate: int, channels: int, source: str | None = None) -> None:
        """Refuse what the format cannot hold.

        Args:
            sample_rate: in Hz.
            channels: number of channels.
            source: sample type of what is to be written, where it comes from a file.

        Raises:
            OutputError: the message names the limit and a way out.
        """
        if self.rates is not None and sample_rate not in self.rates:
            raise OutputError(
                f"{self.name} cannot hold {sample_rate} Hz; choose another --format (wav, flac)"
                f" or a --sample-rate of {_listed(self.rates)}"
            )
        limit = self.max_channels
        if self.max_full is not None and source != self.default:
            limit = self.max_full
        if channels > limit:
            raise OutputError(
                f"{self.name} cannot hold {channels} channels (at most {limit});"
                " choose another --format or --mono"
            )

    def sample_type(self, source: str) -> str:
        """The sample type to store for a source of the given one (libsndfile's names)."""
        return self.sample_types.get(source, self.default)


FORMATS: Mapping[str, Format] = {
    format_.name: format_
    for format_ in (
        Format(
            "wav",
            (".wav", ".wave"),
            "WAV",
            "PCM_16",
            {
                "PCM_24": "PCM_24",
                "PCM_32": "PCM_32",
                "FLOAT": "FLOAT",
                "DOUBLE": "FLOAT",
                "ULAW": "ULAW",
                "ALAW": "ALAW",
            },
            max_channels=1024,
        ),
        Format(
            "flac",
            (".flac",),
            "FLAC",
            "PCM_16",
            dict.fromkeys(("PCM_24", "PCM_32", "FLOAT", "DOUBLE"), "PCM_24"),
        ),
        Format(
            "mp3",
            (".mp3",),
            "MP3",
            "MPEG_LAYER_III",
            max_channels=2,
            rates=_MP3_RATES,
            lossless=False,
        ),
        Format("ogg", (".ogg", ".oga"), "OGG", "VORBIS", max_full=5, lossless=False),
        Format(
            "opus",
            (".opus",),
            "OGG",
            "OPUS",
            max_full=5,
            rates=_OPUS_RATES,
            lossless=False,
        ),
        Format("m4a", (".m4a",), None, "AAC", rates=_AAC_RATES, lossless=False),
    )
}

# What is written for a source with each ending, unless another format is asked for: for those
# that libsndfile reads, and for those that FFmpeg reads.
_BY_SNDFILE: Mapping[str, str] = {
    **dict.fromkeys((".wav", ".wave", ".w64", ".rf64", ".aif", ".aiff", ".aifc", ".au"), "wav"),
    **dict.fromkeys((".snd", ".caf", ".sph", ".nist"), "wav"),
    ".flac": "flac",
    ".mp3": "mp3",
    **dict.fromkeys((".ogg", ".oga"), "ogg"),
    ".opus": "opus",
}
_BY_FFMPEG: Mapping[str, str] = {
    **dict.fromkeys((".m4a", ".m4b", ".aac", ".mp4", ".m4v", ".mov", ".3gp", ".wma"), "m4a"),
    **dict.fromkeys((".avi", ".wmv", ".asf"), "m4a"),
    **dict.fromkeys((".webm", ".mkv", ".mka"), "ogg"),
    ".amr": "wav",
}
_BY_SUFFIX = {**_BY_SNDFILE, **_BY_FFMPEG}


def is_audio_name(path: PurePath) -> bool:
    """Whether a file name ends as a recording's or a video's does."""
    return path.suffix.lower() in _BY_SUFFIX


def read_by_ffmpeg(path: PurePath) -> bool:
    """Whether files with this ending are decoded by FFmpeg rather than libsndfile."""
    return path.suffix.lower() in _BY_FFMPEG


def format_for(path: PurePath) -> Format:
    """The format that is written for a source of this name; WAV for unknown endings."""
    return FORMATS[_BY_SUFFIX.get(path.suffix.lower(), "wav")]


def format_named(path: PurePath) -> Format | None:
    """The format whose own ending a name has, or None where no such format is written."""
    suffix = path.suffix.lower()
    return next((known for known in FORMATS.values() if suffix in known.suffixes), None)


def _listed(rates: frozenset[int]) -> str:
    *most, last = (str(rate) for rate in sorted(rates))
    return f"{', '.join(most)} or {last}"
