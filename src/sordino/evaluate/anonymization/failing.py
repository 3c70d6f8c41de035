"""What cannot be used, why, and what that does to the figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from sordino.corpus.trials import Trials
from sordino.errors import AudioError
from sordino.evaluate.progress import Told
from sordino.evaluate.results import Failure

_SHOWN = 20


@dataclass
class Failing:
    """Failures of a run, by what was heard.

    Attributes:
        enrolled: by system ("original" for the data), ids of utterances that cannot be used in
            enrolments.
        tried: likewise, in trials.
        trained: likewise, in the attacker's training.
        failures: all of them, with their effects.
    """

    enrolled: dict[str, set[str]] = field(default_factory=dict)
    tried: dict[str, set[str]] = field(default_factory=dict)
    trained: dict[str, set[str]] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)

    def add(
        self, system: str, found: Mapping[str, Failure], trials: Trials, training: Iterable[str]
    ) -> None:
        """Note failures.

        Args:
            system: whose speech it is.
            found: failures by the utterance's id.
            trials: the whole list.
            training: ids of the attacker's utterances.
        """
        if not found:
            return
        enrolments = {name for enrolment in trials.enrolments for name in enrolment.utterances}
        tried = set(trials.utterances)
        learnt = set(training)
        counts = Counter(trials.utterance.tolist())
        index = {name: number for number, name in enumerate(trials.utterances)}
        for name, failure in found.items():
            effects = []
            if name in tried:
                self.tried.setdefault(system, set()).add(name)
                effects.append(f"{counts[index[name]]} trials left out")
            if name in enrolments:
                self.enrolled.setdefault(system, set()).add(name)
                effects.append("left out of its speaker's enrolment")
            if name in learnt:
                self.trained.setdefault(system, set()).add(name)
                effects.append("left out of the attacker's training")
            self.failures.append(replace(failure, effect="; ".join(effects)))

    def settle(self, told: Told, *, leave_out: bool) -> None:
        """Go on without what failed, or end the run.

        Raises:
            AudioError: something failed and may not be left out.
        """
        if not self.failures:
            return
        for failure in self.failures[:_SHOWN]:
            where = "" if failure.where in failure.why else f"{failure.where}: "
            told.note(f"{failure.what}: {where}{failure.why}")
        if len(self.failures) > _SHOWN:
            told.note(f"... and {len(self.failures) - _SHOWN} more")
        if not leave_out:
            # Each encoder that cannot hear a recording says so.
            places = {failure.where for failure in self.failures}
            raise AudioError(
                f"{len(places)} utterances cannot be used, see above; mend them, or use"
                " --leave-out-failed: the report then counts what that costs"
            )
