"""The parts of the page that show figures as charts."""

from __future__ import annotations

from collections.abc import Iterable

from sordino.evaluate.report.charts.det import Curve, det_chart
from sordino.evaluate.report.charts.histogram import histogram_chart, histogram_legend
from sordino.evaluate.report.charts.identification import Found, identification_chart
from sordino.evaluate.report.charts.intervals import Row, intervals_chart
from sordino.evaluate.report.charts.matrices import matrices_chart
from sordino.evaluate.report.charts.shares import shares_chart
from sordino.evaluate.report.charts.strip import Band, strip_chart
from sordino.evaluate.report.charts.tradeoff import Trade, tradeoff_chart
from sordino.evaluate.report.choose import (
    attackers_error,
    attacks_on,
    described,
    is_informed,
    on_original,
    quality,
    scenarios,
    strongest,
    text_measure,
)
from sordino.evaluate.report.markup import Markup, join, tag
from sordino.evaluate.report.verdict_attributes import guessed
from sordino.evaluate.report.words import (
    ORIGINAL,
    figure,
    is_known,
    measure_name,
    scenario_name,
    with_interval,
)
from sordino.evaluate.results import ALL, Attack, Measure, Results, Similarity, WorstCase

_MOST_SPEAKERS = 12
_MOST_GROUPS = 40
_MOST_CURVES = 6


def figure_of(heading: str, chart: Markup, reading: str) -> Markup:
    """A chart below its heading, with a sentence on how to read it."""
    return tag("figure", tag("h4", heading), chart, tag("figcaption", reading))


def overview(results: Results) -> list[Markup | None]:
    """Charts that compare the systems."""
    return [_tradeoff(results), _compared(results), *_identified(results)]


def of_system(results: Results, system: str) -> list[Markup | None]:
    """Charts about one system."""
    return [
        _by_scenario(results, system),
        _histograms(results, system),
        _groups(results, system),
        _worst(results, system),
        *(_matrices(found) for found in results.similarities if found.system == system),
    ]


def words_by_speaker(results: Results) -> Markup | None:
    """Errors of recognised text, a dot a speaker."""
    measure = text_measure(results)
    bands = []
    for system in results.systems:
        speakers = [
            (found.group.removeprefix("speaker: "), found.value.value)
            for found in results.qualities
            if (found.system, found.measure) == (system.name, measure)
            and found.group.startswith("speaker: ")
            and found.value.value is not None
            and is_known(found.value.value)
        ]
        if speakers:
            bands.append(Band(system.name, speakers))
    if not bands or measure is None:
        return None
    title = f"{measure_name(measure)} by speaker"
    return figure_of(
        title,
        strip_chart(title, bands),
        "Each dot is a speaker; dots further to the right are people whose words got lost, and the"
        " upright line is the middle one. A good system moves nobody far from the original.",
    )


def attribute_charts(results: Results) -> list[Markup | None]:
    """A chart for each attribute: how well it is guessed."""
    charts: list[Markup | None] = []
    for attribute in dict.fromkeys(attack.attribute for attack in results.attributes):
        attacks = [attack for attack in results.attributes if attack.attribute == attribute]
        names = list(dict.fromkeys(attack.knowledge for attack in attacks))
        rows: dict[str, list[tuple[int, Measure]]] = {}
        for attack in attacks:
            releases = "" if attack.releases == 1 else f", {attack.releases} releases averaged"
            row = rows.setdefault(f"{attack.system}: {attack.attacker}{releases}", [])
            row.append((names.index(attack.knowledge), guessed(attack)))
        of_two = all(attack.auc is not None for attack in attacks)
        title = f"How well {attribute} is guessed"
        chart = intervals_chart(
            title,
            [Row(name, figures) for name, figures in rows.items()],
            names,
            unit="" if of_two else "%",
            low=0.5 if of_two else 0.0,
            high=1.0,
            guess=0.5 if of_two else 1 / attacks[0].classes,
        )
        scale = (
            "0.5 is a guess and 1 is always right"
            if of_two
            else f"a guess is right in 1 of {attacks[0].classes} cases"
        )
        charts.append(
            figure_of(
                title,
                chart,
                f"Further to the left is better hidden: {scale}. Retrained attackers have learnt"
                " from protected vectors; the strongest one counts.",
            )
        )
    return charts


def _tradeoff(results: Results) -> Markup | None:
    measure = text_measure(results)
    if measure is None:
        return None
    trades = []
    for system in results.systems:
        words = quality(results, system.name, measure)
        attack = described(results, system.name)
        if attack is not None and words is not None:
            errors = attackers_error(attack.privacy.eer)
            name = system.name if is_informed(attack.scenario) or system.name == ORIGINAL else ""
            name = name or f"{system.name} (attacker: {scenario_name(attack.scenario)})"
            trades.append(Trade(name, errors, words.value))
    if not trades:
        return None
    kind = measure_name(measure).lower()
    title = f"What is hidden, and what it costs in {kind}"
    return figure_of(
        title,
        tradeoff_chart(title, trades, f"{kind} of a speech recogniser"),
        "Higher is better hidden, further to the left is better understood; the best corner is top"
        " left. Lines are intervals.",
    )


def _compared(results: Results) -> Markup | None:
    curves = []
    for system in results.systems:
        attack = described(results, system.name)
        if attack is not None:
            curves.append(Curve(_curve_name(attack, system.name), attack.privacy.det))
    if len(curves) < 2:
        return None
    title = "Errors of the strongest attacker at every setting"
    return figure_of(
        title,
        det_chart(title, curves),
        "A curve further to the top right means more errors, so better hidden; where it crosses the"
        " dotted line both errors are equal (EER).",
    )


def _identified(results: Results) -> Iterable[Markup | None]:
    found = [
        (system.name, attack.identification)
        for system in results.systems
        if (attack := described(results, system.name)) and attack.identification is not None
    ]
    if not found:
        return []
    longest = max((ranks for _, ranks in found), key=lambda ranks: len(ranks.among))
    chance = [1 / number for number in longest.among]
    linked = [Found(name, ranks.among, ranks.linked) for name, ranks in found]
    single = [
        Found(name, ranks.among, ranks.singled_out)
        for name, ranks in found
        if any(share is not None for share in ranks.singled_out)
    ]
    titles = "The right voice found among N", "One person singled out of N"
    charts = [
        figure_of(
            titles[0],
            identification_chart(
                titles[0],
                [*linked, Found("a guess", longest.among, chance)],
                "right one ranks first",
            ),
            "How often the strongest attacker names the right one of N known voices. The longer a"
            " curve stays above the guess, the easier people are found in a crowd.",
        )
    ]
    if single:
        charts.append(
            figure_of(
                titles[1],
                identification_chart(
                    titles[1],
                    [*single, Found("knowing nothing", longest.among, longest.blind)],
                    "exactly one fits",
                ),
                "How often a rule made from the scores fits exactly one of N people, and the right"
                " one; only what is above the curve of who knows nothing is a risk.",
            )
        )
    return charts


def _by_scenario(results: Results, system: str) -> Markup | None:
    attacks = _strongest_by_scenario(results, system)
    heading = "The strongest attacker of each kind"
    if system == ORIGINAL:
        attacks = list(attacks_on(results, system))[:_MOST_CURVES]
        heading = "How strong the attackers are on original speech"
    curves = [Curve(_curve_name(attack), attack.privacy.det) for attack in attacks]
    if not any(curve.points for curve in curves):
        return None
    return figure_of(
        heading,
        det_chart(f"{system}: {heading}", curves),
        "The nearer a curve comes to the bottom left, the fewer errors its attacker makes.",
    )


def _histograms(results: Results, system: str) -> Markup | None:
    best = _strongest_by_scenario(results, system)
    if not best:
        return None
    panels = [
        tag(
            "div",
            tag(
                "p",
                f"{scenario_name(attack.scenario)} ({attack.attacker}):"
                f" {figure(attack.privacy.eer.value)}",
                class_="panel",
            ),
            histogram_chart(
                f"{system}: scores of the {scenario_name(attack.scenario)} attacker",
                attack.privacy.histogram,
            ),
        )
        for attack in best
    ]
    return figure_of(
        "Scores of the strongest attacker of each kind",
        join([histogram_legend(), tag("div", *panels, class_="panels")]),
        "The more the two shapes overlap, the less a score tells whether two recordings are of one"
        " speaker.",
    )


def _groups(results: Results, system: str) -> Markup | None:
    best = described(results, system)
    if best is None:
        return None
    rows = []
    for attack in results.attacks:
        same = (attack.system, attack.scenario, attack.attacker)
        if same != (system, best.scenario, best.attacker):
            continue
        figures = [(0, attack.privacy.eer)]
        base = on_original(results, attack)
        if base is not None and base is not attack:
            figures.append((1, base.privacy.eer))
        rows.append(Row("all" if attack.group == ALL else attack.group, figures))
    if len(rows) < 2:
        return None
    paired = any(len(row.figures) > 1 for row in rows)
    names = [system, "the same attacker on original speech"] if paired else [system]
    hidden = len(rows) - _MOST_GROUPS
    heading = "Errors group by group"
    return figure_of(
        heading,
        intervals_chart(f"{system}: {heading}", rows[:_MOST_GROUPS], names),
        "Dots further to the left are people who are recognised more easily. Where intervals"
        " overlap, the difference may be chance."
        + (f" {hidden} more groups are in results.json." if hidden > 0 else ""),
    )


def _worst(results: Results, system: str) -> Markup | None:
    cases = [case for case in results.worst_cases if case.system == system]
    if not cases:
        return None
    best = described(results, system)
    wanted = None if best is None else (best.scenario, best.attacker)
    if wanted not in {(case.scenario, case.attacker) for case in cases}:
        wanted = (cases[0].scenario, cases[0].attacker)
    chosen = [case for case in cases if (case.scenario, case.attacker) == wanted]
    more = len(chosen) - _MOST_SPEAKERS
    heading = "The speakers who are recognised most"
    return figure_of(
        heading,
        shares_chart(
            f"{system}: {heading}",
            [(case.speaker, case.first, case.targets, _case(case)) for case in chosen][
                :_MOST_SPEAKERS
            ],
        ),
        f"How many recordings of each speaker the attacker ({chosen[0].attacker},"
        f" {scenario_name(chosen[0].scenario)}) gives to the right one of all known voices."
        + (f" {more} more speakers are in results.json." if more > 0 else ""),
    )


def _case(case: WorstCase) -> str:
    return "" if case.eer is None else f"; EER {figure(case.eer)}"


def _matrices(found: Similarity) -> Markup | None:
    matrices = [
        ("original", found.original),
        ("original, protected", found.mixed),
        ("protected", found.protected),
    ]
    order = tag(
        "details",
        tag("summary", "Order of the speakers"),
        tag("p", ", ".join(found.speakers)),
    )
    heading = f"How alike voices are, for {found.attacker}"
    return figure_of(
        heading,
        join([matrices_chart(f"{found.system}: {heading}", matrices), order]),
        "Rows and columns are speakers. A dark diagonal means that a voice is recognised as itself:"
        " left before, in the middle from the original to the protected one, right afterwards."
        f" De-identification {with_interval(found.deidentification, '')} (1 is perfect),"
        f" distinctiveness {with_interval(found.distinctiveness, 'dB')} (0 keeps voices apart).",
    )


def _strongest_by_scenario(results: Results, system: str) -> list[Attack]:
    """The strongest attack of each scenario; original speech by the attacker that decides."""
    best = described(results, system)
    base = None if best is None else on_original(results, best)
    chosen = {
        scenario: attack
        for scenario in scenarios(attacks_on(results, system))
        if (attack := strongest(attacks_on(results, system, scenario))) is not None
    }
    if base is not None and system != ORIGINAL:
        chosen = {"OO": base, **chosen}
    return [attack for attack in chosen.values() if is_known(attack.privacy.eer.value)]


def _curve_name(attack: Attack, system: str | None = None) -> str:
    name = f"{scenario_name(attack.scenario)}, {attack.attacker}"
    if system is not None:
        name = system if system == ORIGINAL else f"{system} ({name})"
    return f"{name}: {figure(attack.privacy.eer.value)}"
