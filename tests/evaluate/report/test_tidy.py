from sordino.evaluate.report.tidy import tidied, tidied_measure
from sordino.evaluate.results import ALL, Attack, Measure
from tests.evaluate.report.evaluations import embeddings, made_up, results

NAN = float("nan")


def test_what_is_tidy_stays_the_very_same(whole):
    assert tidied(whole) is whole
    found = embeddings()
    assert tidied(found) is found


def test_measures_deep_inside_are_found():
    attack = Attack("mcadams", "AA-lazy", "ecapa", ALL, made_up(NAN, 0.1, 0.2))
    (clean,) = tidied(results(attacks=(attack,))).attacks
    assert clean.privacy.eer == Measure(None)
    assert clean.privacy.det is attack.privacy.det


def test_infinite_figures_are_figures():
    measure = Measure(float("-inf"), float("-inf"), 0.0)
    assert tidied_measure(measure) is measure


def test_half_an_interval_is_none():
    assert tidied_measure(Measure(0.1, 0.05)) == Measure(0.1)
    assert tidied_measure(Measure(0.1, None, NAN)) == Measure(0.1)
