"""Nothing of a recording is in what the default system makes of it, beyond chance.

Chance is measured on the same outputs: how they correlate with other people's speech, and with
their own source in random phase, which is as loud and as high at every moment and yet another wave.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
from scipy.fft import irfft, next_fast_len, rfft, rfftfreq
from scipy.linalg import solve_toeplitz
from scipy.ndimage import uniform_filter
from scipy.signal import butter, istft, sosfilt, stft

import sordino
from sordino.anonymize.base import Anonymizer
from sordino.cli.main import main
from tests.clips import clips

EXAMPLES = Path(__file__).parents[2] / "examples"
KEY = b"a key of 32 bytes for all tests."
RATE, SAMPLES = 16000, 32000
# In Hz.
BANDS = {
    "full": (0, 8001),
    "60 to 1000": (60, 1000),
    "1000 to 2000": (1000, 2000),
    "2000 to 4000": (2000, 4000),
    "4000 to 8000": (4000, 8001),
}
TAPS = 32
MATCHED = 24
# Standard deviations of chance: the largest of many thousand lags is now and then 4 above its mean.
BEYOND_CHANCE = 6.0
MARK = "PLANTED-NAME-OF-A-SPEAKER"


@dataclass(frozen=True)
class Pairs:
    """Sources and what became of them, each shape (utterances, SAMPLES)."""

    sources: np.ndarray
    outputs: np.ndarray


@dataclass(frozen=True)
class Traces:
    """What is found of sources in outputs.

    Attributes:
        peak: the largest correlation over all lags, of the mean over utterances, without its sign.
        together: the correlation sample by sample.
        explained: share of the outputs' energy that is a linear filter of the sources.
    """

    peak: float
    together: float
    explained: float


def anonymized(system: Anonymizer, signals: list[np.ndarray]) -> list[np.ndarray]:
    return [
        system.anonymize(signal, RATE, speaker=f"speaker {number}", key=KEY).astype(np.float64)
        for number, signal in enumerate(signals)
    ]


def of_people(root: Path) -> list[np.ndarray]:
    names = ("librispeech", "aishell1", "vctk", "speechocean762", "arabic_speech_commands")
    return [clip for name in names for clip in clips(root, name, speakers=3)]


def of_examples() -> list[np.ndarray]:
    found = []
    for path in sorted(EXAMPLES.rglob("*.*")):
        samples, rate = soundfile.read(path)
        found.append(soxr.resample(samples, rate, RATE))
    assert len(found) == 7
    return found


def pairs_of(system: Anonymizer, signals: list[np.ndarray]) -> Pairs:
    """All pieces of two seconds."""
    outputs = anonymized(system, signals)
    pieces = [
        (signal[start : start + SAMPLES], output[start : start + SAMPLES])
        for signal, output in zip(signals, outputs, strict=True)
        for start in range(0, signal.size - SAMPLES + 1, SAMPLES)
    ]
    return Pairs(*(np.stack(side) for side in zip(*pieces, strict=True)))


@pytest.fixture(scope="module", params=["people", "examples"])
def pairs(request: pytest.FixtureRequest) -> Pairs:
    if request.param == "examples":
        return pairs_of(sordino.load(), of_examples())
    return pairs_of(sordino.load(), of_people(request.getfixturevalue("speech_root")))


def unit(signals: np.ndarray) -> np.ndarray:
    centred = signals - signals.mean(axis=1, keepdims=True)
    return centred / np.linalg.norm(centred, axis=1, keepdims=True)


def evened(signals: np.ndarray) -> np.ndarray:
    """Signals as loud at every time and pitch: what is faint counts as much as what is loud."""
    _, _, spectrum = stft(signals, nperseg=512, noverlap=384)
    power = np.abs(spectrum) ** 2
    floor = 1e-6 * power.max(axis=(1, 2), keepdims=True)
    spectrum /= np.sqrt(uniform_filter(power, (0, 9, 5), mode="nearest") + floor)
    _, flat = istft(spectrum, nperseg=512, noverlap=384)
    return unit(flat[:, : signals.shape[1]])


LENGTH = next_fast_len(2 * SAMPLES, real=True)
FREQUENCIES = rfftfreq(LENGTH, 1 / RATE)


def random_phases(rng: np.random.Generator, count: int) -> np.ndarray:
    """All-pass responses that delay nothing by more than some ms, shape (count, frequencies)."""
    knots = np.arange(0, RATE / 2 + 160, 80)
    angles = rng.uniform(-np.pi, np.pi, (count, knots.size))
    turned = [
        np.interp(FREQUENCIES, knots, np.cos(row)) + 1j * np.interp(FREQUENCIES, knots, np.sin(row))
        for row in angles
    ]
    return np.stack([row / np.abs(row) for row in turned])


def others(spectra: np.ndarray) -> list[np.ndarray]:
    return [np.roll(spectra, shift, axis=0) for shift in range(1, len(spectra))]


def matched(spectra: np.ndarray) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [spectra * random_phases(rng, len(spectra)) for _ in range(MATCHED)]


class Evidence:
    """Cross-spectra of outputs with their sources, and with what is like them only by chance."""

    def __init__(self, pairs: Pairs) -> None:
        heard, sources = (rfft(evened(side), LENGTH) for side in (pairs.outputs, pairs.sources))
        self._own, *self._chance = [
            (heard * other.conj()).mean(axis=0)
            for other in (sources, *others(sources), *matched(sources))
        ]
        self._power = irfft((np.abs(sources) ** 2).mean(axis=0), LENGTH)[:TAPS]

    def beyond_chance(self, band: str = "full") -> Traces:
        """How many standard deviations of chance the traces are away from its mean."""
        own = self._traces(self._own, band)
        chance = [self._traces(cross, band) for cross in self._chance]

        def scored(name: str) -> float:
            drawn = np.array([getattr(each, name) for each in chance])
            return abs(float(getattr(own, name)) - drawn.mean()) / drawn.std()

        return Traces(scored("peak"), scored("together"), scored("explained"))

    def _traces(self, cross: np.ndarray, band: str) -> Traces:
        low, high = np.searchsorted(FREQUENCIES, BANDS[band])
        kept = np.zeros_like(cross)
        kept[low:high] = cross[low:high]
        correlation = irfft(kept, LENGTH)
        around = np.roll(correlation, TAPS // 2)[:TAPS]
        explained = float(around @ solve_toeplitz(self._power, around))
        return Traces(float(np.abs(correlation).max()), float(correlation[0]), explained)


@pytest.fixture(scope="module")
def evidence(pairs: Pairs) -> Evidence:
    return Evidence(pairs)


def largest(heard: np.ndarray, sources: np.ndarray) -> float:
    """The largest correlation over lags without its sign, on average over utterances."""
    return float(np.abs(irfft(heard * sources.conj(), LENGTH)).max(axis=1).mean())


def with_source(
    pairs: Pairs, share: float, change: Callable[[np.ndarray], np.ndarray] = lambda wave: wave
) -> Pairs:
    """Outputs with some of the source in them, as a share of their amplitude."""
    added = change(pairs.sources)
    level = pairs.outputs.std(axis=1, keepdims=True) / added.std(axis=1, keepdims=True)
    return replace(pairs, outputs=pairs.outputs + share * level * added)


@pytest.mark.parametrize("band", BANDS)
def test_outputs_do_not_correlate_with_their_sources(evidence: Evidence, band: str) -> None:
    found = evidence.beyond_chance(band)
    assert found.peak < BEYOND_CHANCE
    assert found.together < BEYOND_CHANCE


def test_nothing_of_an_output_is_a_filter_of_its_source(evidence: Evidence) -> None:
    assert evidence.beyond_chance().explained < BEYOND_CHANCE


def test_waves_are_no_more_alike_than_any_that_are_as_loud_and_high(pairs: Pairs) -> None:
    heard, sources = (rfft(unit(side), LENGTH) for side in (pairs.outputs, pairs.sources))
    chance = np.array([largest(heard, other) for other in matched(sources)])
    assert largest(heard, sources) < chance.mean() + BEYOND_CHANCE * chance.std()
    assert largest(sources, sources) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("share", "change"),
    [
        (0.01, lambda wave: wave),
        (0.01, lambda wave: -np.roll(wave, 83, axis=1)),
        (
            0.02,
            lambda wave: sosfilt(butter(4, (2000, 4000), "bandpass", fs=RATE, output="sos"), wave),
        ),
    ],
    ids=["1 %", "1 % late and inverted", "2 % of one band"],
)
def test_a_little_of_the_source_would_be_found(
    pairs: Pairs, share: float, change: Callable
) -> None:
    assert Evidence(with_source(pairs, share, change)).beyond_chance().peak > BEYOND_CHANCE


def test_two_percent_of_the_source_would_be_found_by_every_measure(pairs: Pairs) -> None:
    found = Evidence(with_source(pairs, 0.02)).beyond_chance()
    assert min(found.peak, found.together, found.explained) > BEYOND_CHANCE


def test_a_system_that_bends_the_source_is_found_out() -> None:
    pairs = pairs_of(sordino.load("mcadams"), of_examples())
    assert Evidence(pairs).beyond_chance().explained > 10 * BEYOND_CHANCE


@pytest.mark.parametrize("rate", [16000, 48000])
def test_silence_gives_silence(rate: int) -> None:
    system = sordino.load()
    assert not system.anonymize(np.zeros((2, rate)), rate, speaker="a", key=KEY).any()
    speech = soxr.resample(of_examples()[0], RATE, rate)
    signal = np.concatenate(
        [np.zeros(rate), speech[:rate], np.zeros(rate), speech[rate : 2 * rate]]
    )
    output = system.anonymize(signal, rate, speaker="a", key=KEY)
    edge = rate // 10
    # Resampling rings on, though beneath the last of 24 bits.
    quiet = 0.0 if rate == RATE else 2**-24
    for start in (0, 2 * rate):
        assert np.abs(output[start + edge * (start > 0) : start + rate - edge]).max() <= quiet
    assert output[rate : 2 * rate].std() > 0.01


@dataclass(frozen=True)
class Planted:
    """A file with things in it that nobody hears, and what became of it, 16 bits at 48 kHz."""

    source: Path
    target: Path
    bits: np.ndarray

    def read(self, path: Path) -> np.ndarray:
        return soundfile.read(path, dtype="int16")[0].astype(np.int64)


TONE, OFFSET = 18000, 0.05


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    folder = tmp_path_factory.mktemp("planted")
    speech = soxr.resample(of_examples()[0], RATE, 48000)
    tone = 0.01 * np.sin(2 * np.pi * TONE / 48000 * np.arange(speech.size))
    whole = np.round(32767 * np.clip(0.7 * speech + tone + OFFSET, -1, 1)).astype(np.int64)
    bits = np.random.default_rng(0).integers(0, 2, whole.size)
    source, target = folder / "anna.wav", folder / "out.wav"
    with soundfile.SoundFile(source, "w", 48000, 1, "PCM_16") as file:
        for tag in ("title", "artist", "comment", "copyright", "software", "date"):
            setattr(file, tag, MARK)
        file.write(((whole & ~1) | bits).astype(np.int16))
    with source.open("ab") as file:
        file.write(MARK.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SORDINO_KEY", KEY.decode())
        assert main(["anonymize", str(source), "-o", str(target)]) == 0
    return Planted(source, target, bits)


def test_an_inaudible_tone_goes(planted: Planted) -> None:
    def level(path: Path) -> float:
        wave = planted.read(path) / 32768
        turning = np.exp(-2j * np.pi * TONE / 48000 * np.arange(wave.size))
        return float(2 * np.abs(np.mean(wave * turning)))

    assert level(planted.source) == pytest.approx(0.01, rel=0.01)
    assert level(planted.target) < 1e-6


def test_an_offset_goes(planted: Planted) -> None:
    assert np.mean(planted.read(planted.source)) / 32768 == pytest.approx(OFFSET, rel=0.05)
    assert abs(np.mean(planted.read(planted.target)) / 32768) < 0.02 * OFFSET


def test_a_watermark_in_the_last_bits_goes(planted: Planted) -> None:
    def agreement(path: Path) -> float:
        """The largest over lags, in standard deviations of chance."""
        found = 2 * (planted.read(path) & 1) - 1
        length = next_fast_len(2 * found.size, real=True)
        both = rfft(found, length) * rfft(2 * planted.bits - 1, length).conj()
        return float(np.abs(irfft(both, length)).max() / np.sqrt(found.size))

    assert agreement(planted.source) == pytest.approx(np.sqrt(planted.bits.size))
    assert agreement(planted.target) < BEYOND_CHANCE


def test_what_is_written_about_a_recording_goes(planted: Planted) -> None:
    assert planted.source.read_bytes().count(MARK.encode()) > 5
    assert MARK.encode() not in planted.target.read_bytes()
