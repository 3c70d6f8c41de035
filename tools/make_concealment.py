"""Draw the charts of an evaluation of concealers as pictures for the documentation.

    python tools/make_concealment.py report/results.json

There is one for each attribute (what attackers guess against what verification costs) and some for
each sweep, in the order of the report: docs/images/concealment-1.svg and so on.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from make_tradeoff import STYLE

from sordino.evaluate.report.concealed import concealed_charts
from sordino.evaluate.results import Results, read_results

TARGET = Path(__file__).parent.parent / "docs" / "images" / "concealment"

_PICTURE = re.compile(r"(<svg[^>]*>)(.*?</svg>)", re.DOTALL)
_CURVES = "path:not(.m) { fill: none; stroke-width: 2; }\n.axis { stroke: #565b64; }\n"


def pictures(results: Results) -> list[str]:
    """The charts as files that stand alone, on white."""
    found = []
    for markup in concealed_charts(results):
        for head, body in _PICTURE.findall(str(markup)):
            sheet = '<rect class="paper" width="100%" height="100%"/>'
            found.append(f"{head}<style>{STYLE}{_CURVES}</style>{sheet}{body}\n")
    return found


def main() -> None:
    """Read, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="results.json")
    parser.add_argument(
        "-o", "--output", type=Path, default=TARGET, help="start of names (default: %(default)s)"
    )
    options = parser.parse_args()
    for number, text in enumerate(pictures(read_results(options.results)), start=1):
        place = options.output.with_name(f"{options.output.name}-{number}.svg")
        place.write_text(text, encoding="utf-8")
        print(place)


if __name__ == "__main__":
    main()
