"""What an audit found, and how to say it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Unit = Literal["epsilon", "gap", "outputs"]


@dataclass(frozen=True)
class Finding:
    """The outcome of one check.

    Attributes:
        check: what was tried, in a few words.
        measured: an epsilon that is proved to be spent, the gap between two distribution
            functions, or a number of outputs that should not exist.
        limit: the most that `measured` may be where the claim is true.
        unit: what `measured` and `limit` count.
        reach: the most that this check could have measured; None where nothing bounds it. A
            reach at or below the limit is a check without power.
        false_alarm: probability, at most, that a true claim fails this check.
        detail: what the figures come from, in a few words.

    Example:
        >>> Finding("opposite inputs", 1.9, 2.0, "epsilon", 8.0, 0.01, "100 releases").holds
        True
    """

    check: str
    measured: float
    limit: float
    unit: Unit
    reach: float | None
    false_alarm: float
    detail: str

    @property
    def holds(self) -> bool:
        """Whether the claim survives this check."""
        return self.measured <= self.limit

    @property
    def blind(self) -> bool:
        """Whether this check could not have failed, whatever the mechanism."""
        return self.reach is not None and self.reach <= self.limit

    def line(self) -> str:
        """One line for a report."""
        verdict = "blind " if self.blind else "ok    " if self.holds else "FAILED"
        return f"{verdict} {self.check}: {self._figures()} ({self.detail})"

    def _figures(self) -> str:
        if self.unit == "outputs":
            return f"{self.measured:.0f} outputs that should not exist"
        if self.unit == "gap":
            return f"differs by {self.measured:.3g} from the stated law, {self.limit:.3g} allowed"
        reach = "" if self.reach is None else f", at most {self.reach:.2f} could be shown"
        return f"epsilon is at least {self.measured:.2f}, {self.limit:.4g} claimed{reach}"


@dataclass(frozen=True)
class Audit:
    """The outcome of several checks of one claim.

    Attributes:
        subject: what was audited, and the claim.
        findings: one for each check.

    Example:
        >>> finding = Finding("opposite inputs", 3.1, 2.0, "epsilon", 8.0, 0.01, "100 releases")
        >>> audit = Audit("laplace, claimed epsilon 2", (finding,))
        >>> audit.holds
        False
        >>> print(audit.lines()[1])
        FAILED opposite inputs: epsilon is at least 3.10, 2 claimed, ... shown (100 releases)
    """

    subject: str
    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """Whether the claim survives all checks."""
        return not self.failed

    @property
    def failed(self) -> tuple[Finding, ...]:
        """The checks that refute the claim."""
        return tuple(finding for finding in self.findings if not finding.holds)

    @property
    def epsilon(self) -> float:
        """The largest epsilon that is proved to be spent."""
        return max((f.measured for f in self.findings if f.unit == "epsilon"), default=0.0)

    @property
    def false_alarm(self) -> float:
        """Probability, at most, that a true claim fails this audit."""
        return min(1.0, math.fsum(finding.false_alarm for finding in self.findings))

    def lines(self) -> list[str]:
        """A report for people: the verdict, a line for each check, and what it is worth."""
        verdict = f"refuted by {len(self.failed)}" if self.failed else "refuted by none"
        return [
            f"{self.subject}: {verdict} of {len(self.findings)} checks",
            *(finding.line() for finding in self.findings),
            f"A true claim fails this audit with a probability of at most {self.false_alarm:.2g};"
            " a claim that passes is not proved.",
        ]
