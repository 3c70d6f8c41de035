"""A comparison of regimes as one table."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sordino.federated.simulate.compare import Comparison
from sordino.federated.simulate.run import Simulated

HEAD = (
    "regime",
    "accuracy",
    "difference",
    "SNR first",
    "SNR mean",
    "SNR expected",
    "epsilon",
    "epsilon upload",
)
"""Names of the columns."""

_CHANCE = "chance"


@dataclass(frozen=True)
class Line:
    """A regime in the table.

    Attributes:
        regime: its name.
        accuracy: after the last round, mean over seeds.
        deviation: of it over seeds; NaN for one seed.
        difference: of the accuracy to that of regime none, seed by seed; NaN where there is none.
        difference_deviation: of it over seeds.
        snr_first: of the first round, mean over seeds, as the paper gives it.
        snr_mean: over all rounds and seeds.
        snr_expected: the same with the noise that the regime foretells.
        epsilon: of the whole training against those who see the models; infinite without.
        upload_epsilon: of one upload against the server; infinite without.
    """

    regime: str
    accuracy: float
    deviation: float
    difference: float
    difference_deviation: float
    snr_first: float
    snr_mean: float
    snr_expected: float
    epsilon: float
    upload_epsilon: float

    def cells(self) -> list[str]:
        """Texts in the order of `HEAD`."""
        return [
            self.regime,
            _spread(100 * self.accuracy, 100 * self.deviation) + " %",
            ""
            if math.isnan(self.difference)
            else _spread(100 * self.difference, 100 * self.difference_deviation, sign=True),
            _short(self.snr_first),
            _short(self.snr_mean),
            _short(self.snr_expected),
            _short(self.epsilon),
            _short(self.upload_epsilon),
        ]


def lines(comparison: Comparison) -> list[Line]:
    """One line for each regime that was compared."""
    base = comparison.trained.get("none")
    return [_line(comparison, name, runs, base) for name, runs in comparison.trained.items()]


def as_markdown(comparison: Comparison) -> str:
    """The table for people, with a last line for guessing."""
    rows = [*(line.cells() for line in lines(comparison)), _guess(comparison)]
    text = [HEAD, ("---",) * len(HEAD), *rows]
    return "".join("| " + " | ".join(row) + " |\n" for row in text)


def as_csv(comparison: Comparison) -> str:
    """The table for programs: all figures as they are."""
    file = io.StringIO()
    fields = list(Line.__dataclass_fields__)
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(fields)
    for line in lines(comparison):
        writer.writerow([getattr(line, name) for name in fields])
    return file.getvalue()


def _line(
    comparison: Comparison,
    name: str,
    runs: Sequence[Simulated],
    base: Sequence[Simulated] | None,
) -> Line:
    final = np.array([run.rounds[-1].accuracy for run in runs])
    difference = np.full(1, math.nan)
    if base is not None and base is not runs:
        difference = final - np.array([run.rounds[-1].accuracy for run in base])
    statement = comparison.statements[name]
    central, local = statement["central"], statement["local"]
    rounds = [each for run in runs for each in run.rounds]
    return Line(
        name,
        float(final.mean()),
        _deviation(final),
        float(difference.mean()),
        _deviation(difference),
        float(np.mean([run.rounds[0].snr for run in runs])),
        float(np.mean([each.snr for each in rounds])),
        float(
            np.mean(
                [
                    each.signal / each.noise_expected if each.noise_expected else math.inf
                    for each in rounds
                ]
            )
        ),
        math.inf if central is None else central["epsilon_total"],
        math.inf if local is None else local["epsilon"],
    )


def _guess(comparison: Comparison) -> list[str]:
    return [_CHANCE, f"{100 * comparison.chance:.1f} %", *[""] * (len(HEAD) - 2)]


def _deviation(values: np.ndarray) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else math.nan


def _spread(value: float, deviation: float, *, sign: bool = False) -> str:
    text = f"{value:+.1f}" if sign else f"{value:.1f}"
    return text if math.isnan(deviation) else f"{text} ± {deviation:.1f}"


def _short(value: float) -> str:
    return "-" if math.isinf(value) else f"{value:.3g}"
