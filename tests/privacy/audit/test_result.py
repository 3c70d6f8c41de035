from __future__ import annotations

import pytest

from sordino.privacy.audit.result import Audit, Finding

GOOD = Finding("near", 1.5, 2.0, "epsilon", 8.0, 0.01, "10 of 20")
BAD = Finding("far", 2.5, 2.0, "epsilon", 8.0, 0.02, "19 of 20")
BLIND = Finding("farther", 7.9, 15.0, "epsilon", 8.0, 0.01, "20 of 20")
GAP = Finding("law", 0.1, 0.01, "gap", None, 0.01, "30 draws")
GRID = Finding("grid", 0, 0, "outputs", None, 0.0, "40 numbers")


@pytest.mark.parametrize(
    ("finding", "holds", "blind"),
    [(GOOD, True, False), (BAD, False, False), (BLIND, True, True), (GAP, False, False)],
)
def test_a_finding_holds_or_is_blind(finding, holds, blind):
    assert (finding.holds, finding.blind) == (holds, blind)


def test_an_audit_fails_with_any_check_and_adds_up_false_alarms():
    audit = Audit("laplace", (GOOD, BAD, BLIND, GAP, GRID))
    assert not audit.holds
    assert audit.failed == (BAD, GAP)
    assert audit.false_alarm == pytest.approx(0.05)
    assert audit.epsilon == 7.9
    assert Audit("laplace", (GOOD, BLIND, GRID)).holds


def test_the_report_says_what_was_found_what_was_claimed_and_what_could_be():
    assert Audit("laplace, claimed epsilon 2", (GOOD, BAD, BLIND, GAP, GRID)).lines() == [
        "laplace, claimed epsilon 2: refuted by 2 of 5 checks",
        "ok     near: epsilon is at least 1.50, 2 claimed, at most 8.00 could be shown (10 of 20)",
        "FAILED far: epsilon is at least 2.50, 2 claimed, at most 8.00 could be shown (19 of 20)",
        "blind  farther: epsilon is at least 7.90, 15 claimed, at most 8.00 could be shown"
        " (20 of 20)",
        "FAILED law: differs by 0.1 from the stated law, 0.01 allowed (30 draws)",
        "ok     grid: 0 outputs that should not exist (40 numbers)",
        "A true claim fails this audit with a probability of at most 0.05; a claim that passes is"
        " not proved.",
    ]


def test_an_audit_that_fails_nothing_says_so():
    assert Audit("laplace", (GOOD,)).lines()[0] == "laplace: refuted by none of 1 checks"
