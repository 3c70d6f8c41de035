"""Put a trained model into the package, with measured figures and limits in its card.

    python tools/ship_model.py runs/ecapa-small/ecapa-small report.md

The report is what `python -m benchmarks.verification` printed for the model. What is to be
said of its speech and its limits lies in tools/cards/.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sordino.models.bundle import CARD_NAME, Bundle, write_bundle

CARDS = Path(__file__).parent / "cards"
BUNDLED = Path(__file__).parent.parent / "src" / "sordino" / "models" / "bundled"


def main() -> None:
    """Read, join, write."""
    parser = argparse.ArgumentParser(description="Put a trained model into the package.")
    parser.add_argument("model", type=Path, help="the folder of the trained model")
    parser.add_argument("report", type=Path, help="what the benchmark printed")
    options = parser.parse_args()

    bundle = Bundle.load(options.model)
    limits = (CARDS / f"{bundle.name}.md").read_text(encoding="utf-8")
    figures = f"## Figures\n\n{options.report.read_text(encoding='utf-8').strip()}\n"
    files: dict[str, bytes | Path] = {name: bundle.path(name) for name in bundle.files}
    files[CARD_NAME] = f"{bundle.card.rstrip()}\n\n{figures}\n{limits}".encode()
    kept = {
        key: value
        for key, value in bundle.metadata.items()
        if key not in {"format", "version", "files"}
    }
    shipped = write_bundle(BUNDLED / bundle.name, kept, files, replace=True)
    print(f"{shipped.folder}: {shipped.size / 1e6:.2g} MB")


if __name__ == "__main__":
    main()
