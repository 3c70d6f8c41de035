import re
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from sordino.evaluate.report.page import page
from sordino.evaluate.report.terminal import summary
from sordino.evaluate.report.words import columns_of
from sordino.evaluate.results import (
    ALL,
    BOTH,
    NEITHER,
    ONE,
    Attack,
    Attacker,
    AttributeAttack,
    Concealed,
    Failure,
    Guessed,
    Histogram,
    Identification,
    Measure,
    Privacy,
    Quality,
    Repeated,
    Results,
    Similarity,
    System,
    Verified,
    WorstCase,
)
from tests.evaluate.report.evaluations import embeddings, made_up, realistic, results, scores
from tests.evaluate.report.pages import check, drawings

TEXT_COLOURS = ("ink", "soft", "link", "accent", *["none", "weak", "partial", "strong", "unknown"])
HOSTILE = '<script>alert("1")</script>\' onload=x {{7*7}} &amp; </style></svg> \u202e\x00'


def test_the_page_of_a_whole_evaluation_is_well_formed_and_says_everything(whole):
    text = page(whole)
    read = check(text)
    assert read.headings() == [
        "How well are these voices hidden?",
        "Verdict",
        "At a glance",
        "Who attacked, and how well",
        "System by system",
        "What is left of the speech",
        "What failed",
        "How this was measured, and how to repeat it",
        "Words",
    ]
    shown = read.text()
    for system in whole.systems:
        assert system.name in shown
    for attacker in whole.attackers:
        assert attacker.what in shown
    for failure in whole.failures:
        assert failure.where in shown
        assert failure.effect in shown
    for fact in (*whole.data.items(), *whole.protocol.items(), *whole.machine.items()):
        assert all(part in shown for part in fact)
    assert whole.command in shown
    assert whole.notes[0] in shown
    assert "12 min 13 s" in shown


def test_every_attack_on_everything_is_in_a_table(whole):
    shown = page(whole).replace("\u00a0", " ")
    for attack in whole.attacks:
        if attack.group == ALL:
            eer = attack.privacy.eer
            assert (
                f"<strong>{100 * eer.value:.1f} % ({100 * eer.low:.1f} to {100 * eer.high:.1f})<"
                in shown
            )


def test_exactly_one_attack_decides_the_verdict_on_a_system(whole):
    assert page(whole).count("decides the verdict</span>") == 4


def test_every_kind_of_chart_is_there_with_a_sentence_on_how_to_read_it(whole):
    text = page(whole)
    read = check(text)
    figures = text.count("<figure")
    assert figures == text.count("<figcaption") == text.count("</figure>")
    titles = {drawing[0].text for drawing in drawings(text)}
    for part in (
        "What is hidden, and what it costs in word errors",
        "Errors of the strongest attacker at every setting",
        "The right voice found among N",
        "One person singled out of N",
        "neural: The strongest attacker of each kind",
        "neural: Errors group by group",
        "neural: The speakers who are recognised most",
        "Word errors by speaker",
    ):
        assert part in titles
    assert any("How alike voices are" in title for title in titles)
    assert any("scores of the semi-informed attacker" in title for title in titles)
    assert len(read.named("image")) == 2 * 4


def test_the_page_is_small_however_much_was_done(whole):
    size = len(page(whole).encode())
    assert size < 400_000
    attacks = tuple(
        replace(attack, system=system, scenario=scenario, attacker=f"a {number}", group=group)
        for number in range(6)
        for attack in [whole.attacks[9 * number]]
        for scenario in ("OO", "OA", "AA-lazy", "AA-semi-informed", "OR")
        for system in (f"system-{place}" for place in range(4))
        for group in (ALL, *(f"language: {place}" for place in range(14)))
    )
    assert len(attacks) == 4 * 5 * 6 * 15
    large = replace(
        whole,
        systems=tuple(System(f"system-{place}", "x" * 80) for place in range(4)),
        attacks=attacks,
        similarities=tuple(_many_voices(f"system-{place}") for place in range(4)),
    )
    text = page(large)
    check(text)
    assert size < len(text.encode()) < 1_500_000


def test_two_hundred_speakers(whole):
    speakers = tuple(f"speaker-{place}" for place in range(200))
    found = replace(
        whole,
        similarities=(_many_voices("neural"),),
        worst_cases=tuple(
            WorstCase("neural", "AA-lazy", "a", speaker, 9, 3, 0.2) for speaker in speakers
        ),
        qualities=tuple(
            Quality("neural", "wer", "%", f"speaker: {speaker}", Measure(0.1 + n / 1000), 5, 1)
            for n, speaker in enumerate(speakers)
        ),
    )
    text = page(found)
    read = check(text)
    assert "188 more speakers are in results.json" in read.text()
    assert "highest: speaker-199" in read.text()
    assert len(text.encode()) < 1_000_000


def test_hostile_names_stay_text():
    attack = Attack(HOSTILE, HOSTILE, HOSTILE, HOSTILE, made_up(0.2, 0.1, 0.3))
    lazy = replace(attack, scenario="AA-lazy", group=ALL)
    found = Results(
        HOSTILE,
        HOSTILE,
        HOSTILE,
        HOSTILE,
        {HOSTILE: HOSTILE},
        {HOSTILE: HOSTILE},
        {HOSTILE: HOSTILE},
        1.0,
        (System(HOSTILE, HOSTILE, HOSTILE),),
        (Attacker(HOSTILE, HOSTILE),),
        (attack, lazy, replace(lazy, group=HOSTILE)),
        (WorstCase(HOSTILE, "AA-lazy", HOSTILE, HOSTILE, 3, 2, None),),
        (_many_voices(HOSTILE, (HOSTILE, "b")),),
        (
            Quality(HOSTILE, "wer", "%", ALL, Measure(0.1), 1, 1),
            Quality(HOSTILE, "wer", "%", f"speaker: {HOSTILE}", Measure(0.1), 1, 1),
            Quality(HOSTILE, HOSTILE, HOSTILE, HOSTILE, Measure(0.1), 1, 1),
        ),
        (
            AttributeAttack(
                HOSTILE,
                HOSTILE,
                HOSTILE,
                HOSTILE,
                1,
                2,
                3,
                Measure(0.6),
                Measure(0.6),
                None,
                Measure(0.1),
            ),
        ),
        (Failure(HOSTILE, HOSTILE, HOSTILE, HOSTILE),),
        (HOSTILE,),
    )
    text = page(found)
    read = check(text)
    assert "<script" not in text
    assert "\x00" not in text
    assert "\u202e" not in text
    assert read.text().count("<script>alert(") > 20
    assert all(line.isprintable() for line in summary(found).splitlines())


@pytest.mark.parametrize("make", [embeddings, scores, results])
def test_other_kinds_and_missing_parts(make):
    read = check(page(make()))
    assert "Verdict" in read.headings()
    assert "At a glance" not in read.headings() or make is scores
    assert "None" not in re.sub(r"[\w ]*None[\w ]+", "", read.text())


def test_why_words_are_missing_is_said(whole):
    assert "Not measured: recognised words and sound quality" in page(replace(whole, qualities=()))
    assert "Not measured" not in page(whole)


def test_units_have_their_yardsticks_and_their_words(whole):
    units = (
        Quality("original", "uer", "%", ALL, Measure(0.098), 90, 9),
        Quality("original", "uer-others", "%", ALL, Measure(0.876), 90, 9),
        Quality("mcadams", "uer", "%", ALL, Measure(0.312, 0.3, 0.33), 90, 9),
        Quality("mcadams", "uer", "%", "language: cy", Measure(0.417), 30, 3),
        Quality("mcadams", "uer", "%", "corpus: vctk", Measure(0.418), 30, 3),
        Quality("mcadams", "unit-loss", "%", ALL, Measure(0.275), 90, 9),
    )
    systems = (System("original", "as it is"), System("mcadams", "changed"))
    text = page(replace(whole, systems=systems, qualities=units)).replace("\u00a0", " ")
    check(text)
    table = text.partition("<caption>What is left of the speech<")[2].partition("</table>")[0]
    rows = [re.sub("(<[^>]+>)+", "|", row) for row in re.findall("<tr>.*?</tr>", table)]
    for name, *cells in (
        ("Unit errors (original: with faint noise)", "9.8 %", "31.2 % (30.0 to 33.0)"),
        ("Unit errors between different utterances", "87.6 %"),
        ("Units lost, between these two", "27.5 %"),
        ("language: cy", "41.7 %"),
        ("corpus: vctk", "41.8 %"),
    ):
        (row,) = (row for row in rows if f"|{name}|" in row)
        assert all(f"|{cell}|" in row for cell in cells)
    assert "Unit errors, units lost" in text
    assert "Unit errors, units lost" not in page(whole)


def test_embeddings_show_all_attacks_on_attributes():
    found = embeddings()
    text = page(found)
    read = check(text)
    assert "Attributes" in read.headings()
    assert "How well sex is guessed" in {drawing[0].text for drawing in drawings(text)}
    assert text.count("<td>retrained</td>") == 4


def test_very_many_failures_are_counted():
    failure = Failure("read", "a.wav", "damaged", "left out")
    text = page(results(failures=(failure,) * 1203))
    assert text.count(">a.wav<") == 500
    assert "703 more are listed in results.json" in text
    assert "1,203 things failed or could not be used" in text


def test_that_nothing_failed_is_said(whole):
    assert "Nothing failed" in page(replace(whole, failures=()))
    assert "Nothing failed" not in page(whole)


def test_the_words_that_are_explained_are_those_that_are_used(whole):
    assert "Balanced accuracy" not in page(whole)
    assert "Lazy-informed attacker" in page(whole)
    assert "Balanced accuracy" in page(embeddings())
    assert "Lazy-informed attacker" not in page(embeddings())


def test_the_page_forbids_itself_to_load_and_to_run():
    read = check(page(results()))
    (policy,) = (
        meta["content"]
        for meta in read.named("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy
    assert "script-src" not in policy


def _luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(first, second):
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_colours_have_the_contrast_that_wcag_asks_for(scheme):
    blocks = re.findall(r":root \{(.*?)\}", page(results()), re.DOTALL)
    assert len(blocks) == 3
    block = blocks[["light", "dark", "print"].index(scheme)]
    colours = dict(re.findall(r"--([\w]+): (#[0-9a-f]{6});", block))
    assert len(colours) == 22
    for ground in ("paper", "sheet"):
        for text in [
            "ink",
            "soft",
            "link",
            "accent",
            "none",
            "weak",
            "partial",
            "strong",
            "unknown",
        ]:
            assert _contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
        for line in range(6):
            assert _contrast(colours[f"c{line}"], colours[ground]) >= 3
    for band in range(4):
        assert _contrast(colours["ink"], colours[f"b{band}"]) >= 4.5


def _many_voices(system, speakers=None):
    names = speakers or tuple(f"speaker-{place}" for place in range(200))
    rows = tuple(
        tuple(1.0 if row == column else (row * column % 97) / 200 for column in range(len(names)))
        for row in range(len(names))
    )
    return Similarity(system, "a", names, rows, rows, rows, Measure(float("-inf")), Measure(None))


# What a metric can come to: nothing, no interval, an end that is infinite.
odd = st.sampled_from([0.0, 0.5, 1.0, 0.02, 0.9999, float("inf"), float("-inf"), float("nan")])
shares = st.sampled_from([0.0, 0.5, 1.0, 0.02, 0.9999])
odd_measures = st.builds(
    Measure, st.none() | odd | shares, st.none() | odd | shares, st.none() | odd | shares
)
names = st.sampled_from(["original", "mcadams", HOSTILE, "", "東京" * 40, "x" * 200])
scenario_names = st.sampled_from(["OO", "OA", "AA-lazy", "AA-semi-informed", "OR", "given", "new"])
groups = st.sampled_from([ALL, "same-sex", "language: en", HOSTILE])
histograms = st.sampled_from(
    [
        Histogram((0.0, 1.0), (3,), (4,)),
        Histogram((0.0, 1e-9, 2e-9), (0, 0), (0, 0)),
        Histogram((-1e9, 0.0, 1e9), (1, 2), (3, 0)),
        Histogram((1.0, 1.0), (2,), (2,)),
        Histogram((), (), ()),
    ]
)
curves = st.sampled_from(
    [
        (),
        ((0.0, 1.0),),
        ((0.0, 0.0),),
        ((0.0, 1.0), (1.0, 0.0)),
        ((0.0, 1.0), (0.3, 0.3), (0.3, 0.3), (1.0, 0.0)),
        tuple((place / 199, 1 - place / 199) for place in range(200)),
    ]
)
privacies = st.builds(
    Privacy,
    *[st.sampled_from([0, 1, 10**7])] * 3,
    *[odd_measures] * 3,
    st.none() | odd_measures,
    *[odd_measures] * 3,
    odd,
    st.sampled_from("0ABF"),
    curves,
    histograms,
)
identifications = st.sampled_from(
    [
        None,
        Identification((), (), (), ()),
        Identification((1,), (1.0,), (None,), (1.0,)),
        Identification((1, 2, 1000), (1.0, 0.5, 0.0), (None, 0.0, 1.0), (1.0, 0.5, 0.37)),
    ]
)
counts = st.sampled_from([0, 1, 50])
repeated = st.builds(Repeated, odd_measures, st.sampled_from([(), (0.5,), (0.25, 0.75)]))
epsilons = st.sampled_from([0.2, 5.0, 15.0, float("inf")])
concealed = st.builds(
    Concealed,
    names,
    st.sampled_from(["", "epsilon", "epsilon_train"]),
    names,
    epsilons,
    epsilons,
    st.sampled_from([0.0, 1e-6]),
    names,
    counts,
    st.lists(
        st.builds(
            Guessed,
            st.sampled_from(["sex", HOSTILE]),
            names,
            st.sampled_from(["clean", "retrained"]),
            counts,
            counts,
            st.sampled_from([2, 5]),
            repeated,
        ),
        max_size=3,
    ).map(tuple),
    st.lists(
        st.builds(
            Verified, st.sampled_from([NEITHER, ONE, BOTH]), groups, counts, counts, repeated
        ),
        max_size=3,
    ).map(tuple),
)
odd_results = st.builds(
    Results,
    st.sampled_from(["anonymization", "embeddings", "concealment", "scores"]),
    st.sampled_from(["2026-01-02T03:04:05Z", ""]),
    st.just("0"),
    names,
    *[st.dictionaries(names, names, max_size=2)] * 3,
    st.sampled_from([0.0, 59.7, 1e6]),
    st.lists(st.builds(System, names, names, names), max_size=3).map(tuple),
    st.lists(st.builds(Attacker, names, names), max_size=2).map(tuple),
    st.lists(
        st.builds(Attack, names, scenario_names, names, groups, privacies, identifications),
        max_size=5,
    ).map(tuple),
    st.lists(
        st.builds(WorstCase, names, scenario_names, names, names, counts, counts, st.none() | odd),
        max_size=2,
    ).map(tuple),
    st.lists(
        st.sampled_from(
            [
                Similarity("mcadams", "a", (), (), (), (), Measure(None), Measure(None)),
                Similarity(
                    HOSTILE, "a", ("b",), *[((float("nan"),),)] * 3, Measure(0.0), Measure(1.0)
                ),
            ]
        ),
        max_size=2,
    ).map(tuple),
    st.lists(
        st.builds(
            Quality,
            names,
            st.sampled_from(["wer", "cer", "speed", "new"]),
            st.sampled_from(["%", "MOS", "LU", "s", "x", ""]),
            st.sampled_from([ALL, "speaker: a", "speaker: b", "language: en"]),
            odd_measures,
            counts,
            counts,
        ),
        max_size=5,
    ).map(tuple),
    st.lists(
        st.builds(
            AttributeAttack,
            names,
            st.sampled_from(["sex", HOSTILE]),
            names,
            st.sampled_from(["clean", "retrained"]),
            st.sampled_from([1, 5]),
            counts,
            counts,
            st.none() | odd_measures,
            odd_measures,
            st.none() | odd_measures,
            odd_measures,
        ),
        max_size=4,
    ).map(tuple),
    st.lists(st.builds(Failure, names, names, names, names), max_size=2).map(tuple),
    st.lists(names, max_size=2).map(tuple),
    st.lists(concealed, max_size=4).map(tuple),
)


# Shrinking so large an example takes minutes.
@settings(
    max_examples=40,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(odd_results)
def test_whatever_results_are_like_there_is_a_page_and_a_table(found):
    text = page(found)
    check(text)
    text.encode("utf-8")
    shown = summary(found)
    assert all(line.isprintable() and columns_of(line) <= 100 for line in shown.splitlines())


def test_two_speakers_make_a_page():
    check(page(realistic(4)))
