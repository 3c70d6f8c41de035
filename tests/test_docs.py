"""Every example in docstrings, README and docs runs."""

from __future__ import annotations

import argparse
import doctest
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import sordino
from sordino.cli.main import build_parser

ROOT = Path(__file__).parent.parent
MODULES = [
    module.name
    for module in pkgutil.walk_packages(sordino.__path__, "sordino.")
    if module.name != "sordino.__main__"
]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", ["sordino", *MODULES])
def test_docstring_examples(name):
    if name.startswith("sordino.training"):
        pytest.importorskip("torch", reason="training needs the extra train")
    if name == "sordino.training.networks.ssl":
        pytest.importorskip("transformers", reason="S-ECAPA needs the extra ssl")
    if name.startswith("sordino.federated"):
        pytest.importorskip("torch", reason="devices train: the extra train")
        pytest.importorskip("dp_accounting", reason="needs the extra federated")
    if name.startswith("sordino.federated.flower"):
        pytest.importorskip("flwr", reason="needs the extra federated")
    if name.startswith("sordino.privacy.accounting"):
        pytest.importorskip("dp_accounting", reason="needs the extra federated")
    module = importlib.import_module(name)
    names = {"np": np, "Path": Path}
    failed, _ = doctest.testmod(module, extraglobs=names, optionflags=doctest.ELLIPSIS)
    assert failed == 0


def test_many_docstrings_have_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [
        test
        for name in MODULES
        if not name.startswith(("sordino.training", "sordino.federated"))
        for test in finder.find(importlib.import_module(name))
        if test.examples
    ]
    assert len(found) >= 20


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_in_pages_runs(page, tmp_path, monkeypatch):
    if page.name.startswith("federated"):
        pytest.importorskip("torch", reason="devices train: the extra train")
        pytest.importorskip("dp_accounting", reason="needs the extra federated")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    for block in blocks(page, "python"):
        exec(compile(block, page.name, "exec"), {})  # noqa: S102


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from parsers(child)


def test_options_in_pages_exist():
    known = {
        "--speech",
        "--hours",
        "--torch",
        "--trials",
        "--against",
        "--repeats",
        "--seconds",
        "--folder",
        "--vectors",
    }  # of the benchmarks
    for parser in parsers(build_parser()):
        known |= set(parser._option_string_actions)
    for page in PAGES:
        lines = [
            line for line in page.read_text().splitlines() if "sordino" in line or "`--" in line
        ]
        named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", " ".join(lines)))
        assert named - known == set(), page.name


def test_links_in_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_readme_commands_are_those_that_ci_runs():
    commands = "\n".join(blocks(ROOT / "README.md", "sh"))
    assert 'pip install ".[test]" && python -m pytest' in commands
    assert "pip install . && sordino anonymize examples/ -o anonymized/" in commands
