"""How figures and names are written for people."""

from __future__ import annotations

import math
import unicodedata

from sordino.evaluate.results import Measure

ORIGINAL = "original"
UNDEFINED = "n/a"

_SHORT = {
    "OO": "original",
    "OA": "ignorant",
    "AA-lazy": "lazy-informed",
    "AA-semi-informed": "semi-informed",
    "OR": "resynthesised",
    "given": "as given",
}
_LONG = {
    "OO": "original to original",
    "OA": "ignorant: attacker expects original speech",
    "AA-lazy": "lazy-informed: attacker anonymizes what is compared with too, but was trained on"
    " original speech",
    "AA-semi-informed": "semi-informed: attacker trained on speech anonymized the same way",
    "OR": "resynthesised with own voice",
    "given": "scores as they were given",
}
_MEASURES = {
    "wer": "Word errors",
    "cer": "Character errors",
    "uer": "Unit errors (original: with faint noise)",
    "uer-others": "Unit errors between different utterances",
    "unit-loss": "Units lost, between these two",
    "dnsmos-ovrl": "Sound quality, predicted (DNSMOS)",
    "dnsmos-sig": "Quality of the voice, predicted (DNSMOS SIG)",
    "dnsmos-bak": "Quietness of the background, predicted (DNSMOS BAK)",
    "f0-correlation": "Intonation kept (correlation of pitch)",
    "emotion-uar": "Emotions recognised (UAR)",
    "loudness-change": "Change of loudness",
    "duration-change": "Change of duration",
    "speed": "Speed (times real time)",
}


def scenario_name(scenario: str) -> str:
    """A scenario in a word or two.

    Example:
        >>> scenario_name("AA-lazy"), scenario_name("else")
        ('lazy-informed', 'else')
    """
    return _SHORT.get(scenario, scenario)


def scenario_meaning(scenario: str) -> str:
    """A scenario in a few words.

    Example:
        >>> scenario_meaning("OA")
        'ignorant: attacker expects original speech'
    """
    return _LONG.get(scenario, scenario)


def measure_name(measure: str) -> str:
    """A measure of what is left of the speech, in words.

    Example:
        >>> measure_name("wer"), measure_name("else")
        ('Word errors', 'else')
    """
    return _MEASURES.get(measure, measure)


def is_known(value: float | None) -> bool:
    """Whether a figure is there and finite.

    Example:
        >>> is_known(0.0), is_known(None), is_known(float("inf"))
        (True, False, False)
    """
    return value is not None and math.isfinite(value)


def figure(value: float | None, unit: str = "%") -> str:
    r"""A figure with its unit, on one line.

    Args:
        value: a share, 0 to 1, where the unit is "%".
        unit: as in `Quality`, or "bit".

    Example:
        >>> figure(0.0449), figure(None), figure(float("inf"), "bit"), figure(3.2, "x")
        ('4.5\xa0%', 'n/a', 'infinite\xa0bit', '3.2x')
    """
    if value is None or math.isnan(value):
        return UNDEFINED
    text = _digits(value, unit)
    if unit in {"", "MOS"}:
        return text
    return f"{text}x" if unit == "x" else f"{text}\u00a0{unit}"


def with_interval(measure: Measure | None, unit: str = "%") -> str:
    r"""A figure and, in brackets, its interval, where there is one.

    Example:
        >>> with_interval(Measure(0.045, 0.031, 0.06))
        '4.5\xa0%\xa0(3.1\xa0to\xa06.0)'
    """
    if measure is None or measure.value is None:
        return UNDEFINED
    if measure.low is None or measure.high is None:
        return figure(measure.value, unit)
    ends = f"{_digits(measure.low, unit)} to {_digits(measure.high, unit)}"
    return f"{figure(measure.value, unit)} ({ends})".replace(" ", "\u00a0")


def tick_text(value: float, unit: str = "%") -> str:
    r"""A round number beside an axis, without more digits than it needs.

    Example:
        >>> tick_text(0.1), tick_text(0.5, "")
        ('10\xa0%', '0.5')
    """
    return f"{100 * value:g}\u00a0%" if unit == "%" else f"{value:g}"


def counted(number: int, singular: str) -> str:
    """A number with its noun.

    Example:
        >>> counted(1, "speaker"), counted(2000, "trial")
        ('1 speaker', '2,000 trials')
    """
    return f"{number:,} {singular}{'' if number == 1 else 's'}"


def shortened(text: str, width: int) -> str:
    """Text without its middle where it is too long: long names mostly differ at their ends.

    Args:
        text: on one line.
        width: in letters, from 3; those of East Asian scripts count as two.

    Example:
        >>> shortened("mcadams-random-per-utterance", 15)
        'mcadam...erance'
    """
    if columns_of(text) <= width:
        return text
    room = width - 3
    start = fitting(text, room - room // 2)
    end = fitting(text[::-1], room // 2)
    return f"{text[:start]}...{text[len(text) - end :]}"


def columns_of(text: str) -> int:
    """How wide text is in letters; those of East Asian scripts count as two.

    Example:
        >>> columns_of("ab"), columns_of("\u6771\u4eac")
        (2, 4)
    """
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def fitting(text: str, columns: int) -> int:
    """How many letters from the start fit into so many columns.

    Example:
        >>> fitting("abc", 2), fitting("\u6771\u4eac", 3)
        (2, 1)
    """
    letters = 0
    while letters < len(text) and columns_of(text[: letters + 1]) <= columns:
        letters += 1
    return letters


def _digits(value: float, unit: str) -> str:
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    if unit == "%":
        return f"{100 * value:.1f}" if value == 0 or abs(value) >= 0.0005 else "below 0.1"
    places = {"s": 3, "x": 1, "LU": 1, "dB": 1}.get(unit, 2)
    # Adding 0 makes a 0 that was rounded from below one without a sign.
    return f"{round(value, places) + 0.0:.{places}f}"
