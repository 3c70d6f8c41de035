"""What a recogniser hears: Whisper on the processor, the same words in every run."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.audio.recording import Recording
from sordino.errors import UsageError
from sordino.evaluate.utility.extra import load_extra
from sordino.evaluate.utility.wave import RATE, Wave, wave_of
from sordino.evaluate.utility.whisper_models import WEIGHTS, WhisperFiles
from sordino.evaluate.utility.wording import language_of
from sordino.speaker.waves import is_silent

_WINDOW_S = 30
_FRAMES_PER_S = 100
_ENCODED_HOP = 320
# No language needs more of Whisper's tokens; what needs more goes round in circles.
_TOKENS_PER_S, _FEWEST_TOKENS = 16, 16
# Above this, text repeats itself (the limit that was published with Whisper).
_MOST_COMPRESSION = 2.4
_NO_REPEAT = 3


@dataclass(frozen=True)
class Transcriber:
    """Whisper, in 8-bit weights on the processor, by faster-whisper and CTranslate2.

    It can be pickled; each process opens the model once. Nothing is drawn at random: the most
    likely words are taken, as one beam or several finds them.

    Whisper was trained on windows of 30 s, and computes as much for a second of speech as for
    thirty. Here a short recording gets only `pad` seconds of silence after it, which takes a
    fraction of the time and now and then ends in a loop. Words that repeat themselves, or do not
    end, are therefore recognised again in a whole window, and if they still do, with repeated
    groups of three tokens forbidden. A recording longer than a window is recognised window by
    window, each from where the sentences of the last one ended.

    Args:
        files: the model; see `find_whisper`.
        threads: how many threads one run may use.
        beam: how many continuations are followed.
        pad: seconds of silence after a short recording, from 0; 30 for whole windows.

    Raises:
        UsageError: a setting is out of range.
    """

    files: WhisperFiles
    threads: int = 1
    beam: int = 1
    pad: float = 1.0

    def __post_init__(self) -> None:
        if self.threads < 1 or self.beam < 1 or not 0 <= self.pad <= _WINDOW_S:
            raise UsageError(
                f"{self.threads} threads, {self.beam} beams, {self.pad} s of silence: expected at"
                f" least 1 and 1, and 0 to {_WINDOW_S}"
            )

    @property
    def key(self) -> str:
        """Depends on everything that decides the words, but for the recording and language."""
        return f"whisper {self.files.digest[:16]} beam {self.beam} pad {self.pad:g}"

    def transcribe(self, recording: Recording, language: str | None = None) -> str:
        """The words of a recording.

        Args:
            recording: of any rate, length and number of channels.
            language: a code such as "en"; None to find it out, each time anew.

        Returns:
            Text with punctuation; "" for digital silence.

        Raises:
            UsageError: the model does not know the language, cannot be opened, or a package is not
                installed.
        """
        wave = wave_of(recording)
        if is_silent(wave):
            return ""
        spoken = self.language_of([recording]) if language is None else self._known(language)
        if wave.size > _WINDOW_S * RATE:
            return self._long(wave, spoken)
        # Whole seconds, so that few sizes occur.
        short = min(math.ceil(wave.size / RATE + self.pad), _WINDOW_S)
        for seconds in sorted({short, _WINDOW_S}):
            text, ends = self._short(wave, spoken, seconds)
            if ends and not _repeats(text):
                return text
        return self._short(wave, spoken, _WINDOW_S, no_repeat=_NO_REPEAT)[0]

    def frames(self, recording: Recording) -> npt.NDArray[np.float32]:
        """What the encoder makes of a recording, before there are any words.

        A recording longer than a window is encoded window by window.

        Args:
            recording: of any rate, length and number of channels.

        Returns:
            Shape (frames, dimension), one in 20 ms; no frames for digital silence.

        Raises:
            UsageError: the model cannot be opened, or a package is not installed.
        """
        wave = wave_of(recording)
        if is_silent(wave):
            return np.empty((0, 0), np.float32)
        found = []
        for start in range(0, wave.size, _WINDOW_S * RATE):
            window = wave[start : start + _WINDOW_S * RATE]
            seconds = min(math.ceil(window.size / RATE + self.pad), _WINDOW_S)
            encoded = np.array(self._encoded(window, seconds), dtype=np.float32)[0]
            found.append(encoded[: math.ceil(window.size / _ENCODED_HOP)])
        return np.concatenate(found)

    def language_of(self, recordings: Iterable[Recording]) -> str:
        """The language that all of some recordings are in, by their first 30 seconds.

        Args:
            recordings: of one language; a few are enough. Digital silence does not count.

        Returns:
            A code such as "en".

        Raises:
            UsageError: there is no sound, the model cannot be opened, or a package is not
                installed.
        """
        model = _model(self.files.folder, self.threads)
        if not model.model.is_multilingual:
            return "en"
        totals: dict[str, float] = {}
        for recording in recordings:
            wave = wave_of(recording)[: _WINDOW_S * RATE]
            if not is_silent(wave):
                (found,) = model.model.detect_language(self._encoded(wave, _WINDOW_S))
                for token, probability in found:
                    totals[token] = totals.get(token, 0.0) + math.log(probability + 1e-9)
        if not totals:
            raise UsageError("there is no sound to find out the language of")
        return max(sorted(totals), key=totals.__getitem__).strip("<|>")

    def _known(self, language: str) -> str:
        code = language_of(language) or ""
        languages = _model(self.files.folder, self.threads).supported_languages
        if code not in languages:
            known = "English only" if list(languages) == ["en"] else f"{len(languages)} languages"
            raise UsageError(
                f"{self.files.name} does not recognise the language {language!r} (it knows {known})"
            )
        return code

    def _short(
        self, wave: Wave, language: str, seconds: int, no_repeat: int = 0
    ) -> tuple[str, bool]:
        """Words of at most 30 s, and whether they came to an end."""
        model = _model(self.files.folder, self.threads)
        tokens = _tokenizer(self.files.folder, self.threads, language)
        prompt = [*tokens.sot_sequence, tokens.no_timestamps]
        # The library gives half of its maximum length to new tokens.
        most = min(_FEWEST_TOKENS + _TOKENS_PER_S * wave.size // RATE, model.max_length // 2)
        (result,) = model.model.generate(
            self._encoded(wave, seconds),
            [prompt],
            beam_size=self.beam,
            max_length=2 * most,
            no_repeat_ngram_size=no_repeat,
        )
        found = result.sequences_ids[0]
        return tokens.decode(found).strip(), len(found) < most

    def _long(self, wave: Wave, language: str) -> str:
        model = _model(self.files.folder, self.threads)
        segments, _ = model.transcribe(
            wave,
            language=language,
            beam_size=self.beam,
            temperature=0.0,
            condition_on_previous_text=False,
            no_speech_threshold=None,
        )
        return "".join(segment.text for segment in segments).strip()

    def _encoded(self, wave: Wave, seconds: int) -> Any:
        model = _model(self.files.folder, self.threads)
        padded = np.pad(wave, (0, seconds * RATE - wave.size))
        features = model.feature_extractor(padded, padding=0)[:, : seconds * _FRAMES_PER_S]
        return model.encode(np.ascontiguousarray(features, dtype=np.float32))


def _repeats(text: str) -> bool:
    """Whether a text says the same over and over."""
    data = text.encode("utf-8")
    return len(data) > _MOST_COMPRESSION * len(zlib.compress(data))


@lru_cache(maxsize=2)
def _model(folder: Path, threads: int) -> Any:
    module = load_extra("faster_whisper", "recognised words", "faster-whisper")
    try:
        return module.WhisperModel(
            str(folder), device="cpu", compute_type="int8", cpu_threads=threads
        )
    except (RuntimeError, ValueError, OSError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UsageError(
            f"{folder}: {WEIGHTS} cannot be opened as a Whisper model: {reason}"
        ) from error


@lru_cache(maxsize=128)
def _tokenizer(folder: Path, threads: int, language: str) -> Any:
    model = _model(folder, threads)
    module = load_extra("faster_whisper.tokenizer", "recognised words", "faster-whisper")
    return module.Tokenizer(
        model.hf_tokenizer, model.model.is_multilingual, task="transcribe", language=language
    )
