"""Trials of everything that a collection has in some languages, whatever corpus it is from.

    python tools/make_language_trials.py speech/manifest.csv es zh -o trials/
    sordino evaluate anonymization speech/manifest.csv --only split=test \\
        --trials trials/trials --enrolls trials/enrolls ...

Trials are made inside a corpus elsewhere, since between two the channel tells people apart. So a
corpus of one speaker has none. What is measured of words needs no impostors: here each speaker with
several utterances is enrolled by the first, and every other utterance of the language is tried.
Error rates of attackers from such trials mean nothing.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from pathlib import Path


def main() -> None:
    """Read, write."""
    parser = argparse.ArgumentParser(description="Trials of languages, whatever the corpus.")
    parser.add_argument("manifest", type=Path)
    parser.add_argument("languages", nargs="+")
    parser.add_argument("-o", "--output", type=Path, required=True, help="a folder")
    options = parser.parse_args()
    with options.manifest.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["split"] == "test"]

    enrolls, trials = [], []
    for language in options.languages:
        speakers: dict[str, list[str]] = defaultdict(list)
        for row in rows:
            if row["language"] == language:
                speakers[row["speaker"]].append(row["path"])
        enrolled = {speaker: paths[0] for speaker, paths in speakers.items() if len(paths) > 1}
        enrolls += [f"{speaker} {path}" for speaker, path in enrolled.items()]
        trials += [
            f"{model} {path} {'target' if speaker == model else 'nontarget'}"
            for speaker, paths in speakers.items()
            for path in paths
            if path not in enrolled.values()
            for model in enrolled
        ]
    options.output.mkdir(parents=True, exist_ok=True)
    for name, lines in (("enrolls", enrolls), ("trials", trials)):
        (options.output / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{options.output}: {len(enrolls)} enrolments, {len(trials)} trials")


if __name__ == "__main__":
    main()
