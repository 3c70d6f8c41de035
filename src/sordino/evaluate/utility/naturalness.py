"""How natural speech sounds: opinion scores predicted by DNSMOS P.835."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.audio.recording import Recording
from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError, UsageError
from sordino.evaluate.results import Quality
from sordino.evaluate.utility.extra import folder_of
from sordino.evaluate.utility.groups import ratio_rows
from sordino.evaluate.utility.wave import RATE, Wave, wave_of
from sordino.speaker.waves import is_silent

# What the network takes at once: 9.01 s.
WINDOW = 144_160

# From what the network says to the scale of listeners, for OVRL, SIG and BAK in this order
# (quadratic, linear, constant); from the network's publication.
_SCALES = np.array(
    [
        [-0.06766283, 1.11546468, 0.04602535],
        [-0.08397278, 1.22083953, 0.0052439],
        [-0.13166888, 1.60915514, -0.39604546],
    ]
)


@dataclass(frozen=True)
class Opinion:
    """Predicted mean opinion scores, about 1 (bad) to 5 (excellent).

    Attributes:
        overall: OVRL.
        speech: SIG, of the speech alone.
        background: BAK, of how little noise there is.
    """

    overall: float
    speech: float
    background: float


@dataclass(frozen=True)
class Listener:
    """DNSMOS P.835, with the network that the package speechmos ships.

    It can be pickled; each process opens the network once.

    Windows of 9.01 s are scored and averaged. A shorter recording is repeated until it fills one
    window. (The published script doubles it, so that a recording of 5 s fills one window, one of
    4.5 s nine windows of the same sound: that takes nine times as long.) In a longer one windows
    start every `hop` seconds.

    Args:
        threads: how many threads the network may use.
        hop: seconds between the starts of two windows, at least 1; the published script has 1.

    Raises:
        UsageError: a setting is out of range.

    Source: C. Reddy, V. Gopal and R. Cutler, "DNSMOS P.835: a non-intrusive perceptual objective
    speech quality metric to evaluate noise suppressors", ICASSP 2022.
    """

    threads: int = 1
    hop: float = 1.0

    def __post_init__(self) -> None:
        if self.threads < 1 or not 1 <= self.hop < math.inf:
            raise UsageError(
                f"{self.threads} threads and windows every {self.hop} s; expected from 1 each"
            )

    def opinion(self, recording: Recording) -> Opinion:
        """Scores of a recording.

        Args:
            recording: of any rate, length and number of channels.

        Raises:
            AudioError: the recording is digital silence, which nobody has an opinion of.
            UsageError: the package speechmos is not installed.
        """
        wave = wave_of(recording)
        if is_silent(wave):
            raise AudioError("is digital silence: nothing to give an opinion of")
        network = _network(self.threads)
        raw = [_scores(network, window) for window in windows(wave, round(self.hop * RATE))]
        powers = np.stack([np.square(raw), raw, np.ones_like(raw)], axis=2)
        overall, speech, background = np.einsum("wsp,sp->ws", powers, _SCALES).mean(axis=0)
        return Opinion(float(overall), float(speech), float(background))


def windows(wave: Wave, hop: int) -> list[Wave]:
    """Stretches of 9.01 s.

    Args:
        wave: at 16 kHz, shape (samples,); a short one is repeated.
        hop: samples between the starts of two.

    Returns:
        At least one array (144160,).

    Example:
        >>> [len(windows(np.zeros(s * 16000, np.float32), 16000)) for s in (1, 9, 10, 11, 12)]
        [1, 1, 1, 2, 3]
    """
    if wave.size < WINDOW:
        return [np.resize(wave, WINDOW)]
    # A window that would end in the last, begun second is left out, as in the published script.
    last = int(wave.size // RATE - WINDOW / RATE) * RATE
    return [wave[start : start + WINDOW] for start in range(0, last + 1, hop)]


def opinion_rows(
    system: str, utterances: Sequence[Utterance], opinions: Sequence[Opinion]
) -> tuple[Quality, ...]:
    """Mean opinion scores of a system.

    Args:
        system: whose.
        utterances: what was scored.
        opinions: of each.

    Example:
        >>> ann = [Utterance("a1", Path("a1"), "ann")]
        >>> rows = opinion_rows("original", ann, [Opinion(3.0, 3.5, 4.0)])
        >>> [(row.measure, row.value.value) for row in rows if row.group == "all"]
        [('dnsmos-ovrl', 3.0), ('dnsmos-sig', 3.5), ('dnsmos-bak', 4.0)]
    """
    scores = {
        "dnsmos-ovrl": [opinion.overall for opinion in opinions],
        "dnsmos-sig": [opinion.speech for opinion in opinions],
        "dnsmos-bak": [opinion.background for opinion in opinions],
    }
    return tuple(
        row
        for measure, values in scores.items()
        for row in ratio_rows(system, measure, "MOS", utterances, values)
    )


def _scores(network: Any, window: Wave) -> npt.NDArray[np.float64]:
    """The network's OVRL, SIG and BAK, before the scale of listeners."""
    (found,) = network.run(None, {"input_1": window[None]})
    speech, background, overall = np.asarray(found, dtype=np.float64)[0]
    return np.array([overall, speech, background])


@lru_cache(maxsize=2)
def _network(threads: int) -> Any:
    # The package's own code needs librosa and requests; its network needs neither.
    folder = folder_of("speechmos", "predicted opinion scores", "speechmos")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        str(folder / "dnsmos_models" / "sig_bak_ovr.onnx"),
        options,
        providers=["CPUExecutionProvider"],
    )
