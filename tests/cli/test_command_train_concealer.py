"""`sordino train concealer` as people meet it, where nothing is trained."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from sordino.cli.main import main
from sordino.speaker.vectors import Vectors
from sordino.speaker.vectors_files import write_vectors

torch = pytest.importorskip("torch", reason="training needs the extra train")
for needed in ("lightning_fabric", "tensorboard"):
    pytest.importorskip(needed, reason=f"{needed} is in the extra train, not installed")


@pytest.fixture
def place(tmp_path):
    """Six vectors of six speakers, and what is known of them."""
    names = tuple(f"p{number}" for number in range(6))
    vectors = Vectors(names, ("",) * 6, names, np.eye(6, dtype=np.float32), "tiny", "ab" * 32)
    write_vectors(vectors, tmp_path / "vectors.npz", "npz", tmp_path)
    rows = ["speaker,sex,split,check"]
    rows += [
        f"p{n},{'FM'[n % 2]},{'dev' if n < 4 else 'test'},{'odd' * (n == 1)}" for n in range(6)
    ]
    (tmp_path / "speakers.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


@pytest.fixture
def call(monkeypatch, place, capsys):
    """Runs the command; gives its status, what was asked for, and what was said."""
    found: list[SimpleNamespace] = []

    def train(recipe, vectors, table, attributes, folder, **options):
        asked = SimpleNamespace(recipe=recipe, vectors=vectors, table=table, attributes=attributes)
        vars(asked).update(folder=folder, options=options)
        found.append(asked)
        return SimpleNamespace(name=recipe.name, folder=folder / recipe.name)

    monkeypatch.setattr("sordino.training.concealer.run.train_concealer", train)

    def run(*arguments: str, given: str = "vectors.npz"):
        fixed = ["--labels", str(place / "speakers.csv"), "-o", str(place / "run")]
        status = main(["train", "concealer", str(place / given), *fixed, *arguments])
        return status, (found or [None])[-1], capsys.readouterr()

    return run


def test_asks_for_what_the_options_say(call, place):
    options = ["--only", "split=dev", "--licence", "CC0-1.0", "--quiet", "--resume"]
    chosen = ["--attribute", "sex", "--unknown", "check=odd", "--accelerator", "cpu"]
    changed = ["--recipe", "paper", "--set", "noise.epsilon=20.0"]
    status, asked, said = call(*options, *chosen, *changed)
    assert status == 0, said.err
    assert (asked.recipe.name, asked.recipe.noise.epsilon) == ("paper", 20)
    assert asked.vectors.keys == ("p0", "p1", "p2", "p3")
    assert asked.table.values("sex", (), asked.vectors.speakers) == ("F", "", "F", "M")
    assert asked.attributes == ["sex"]
    assert asked.folder == place / "run"
    assert asked.options["resume"] is asked.options["quiet"] is True
    assert asked.options["licence"] == "CC0-1.0"
    assert asked.options["hardware"].accelerator == "cpu"
    assert said.out == f"trained paper -> {place / 'run' / 'paper'}\n"
    assert said.err == "4 vectors of 4 speakers\n"


def test_without_options(call):
    status, asked, _ = call("--attribute", "sex")
    assert status == 0
    assert asked.recipe.name == "sordino"
    assert len(asked.vectors) == 6
    assert asked.options["resume"] is asked.options["quiet"] is False


def test_speech_is_embedded_first(call, place, monkeypatch):
    from sordino.speaker import encoders

    for name in ("p0", "p1"):
        (place / "speech" / name).mkdir(parents=True)
        (place / "speech" / name / "one.wav").touch()

    class Tiny:
        name, digest, dimension, sample_rate = "tiny", "cd" * 32, 3, 16000

        def embed(self, recording):
            return np.full(3, 2.0, dtype=np.float32)

    monkeypatch.setattr(encoders, "load_encoder", lambda name, **_: Tiny())
    monkeypatch.setattr("sordino.corpus.utterance.Utterance.read", lambda self: None)
    status, asked, said = call("--attribute", "sex", "--quiet", given="speech")
    assert status == 0, said.err
    assert asked.vectors.speakers == ("p0", "p1")
    assert (asked.vectors.encoder, asked.vectors.digest) == ("tiny", "cd" * 32)
    np.testing.assert_array_equal(asked.vectors.vectors, 2)
    assert (place / "run" / "vectors.npz").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--attribute", "sex", "--encoder", "ge2e"], "--encoder goes with speech"),
        (["--attribute", "sex", "--only", "split=evil"], "no vector is left"),
        (["--attribute", "sex", "--only", "part=dev"], "no column 'part'"),
        (["--attribute", "sex", "--recipe", "peper"], "no concealer recipe 'peper'"),
        (["--attribute", "sex", "--set", "noise.epsilon=0.0"], "noise.epsilon is more than 0"),
    ],
)
def test_refusals(call, arguments, told):
    status, asked, said = call(*arguments)
    assert (status, asked) == (2, None)
    assert told in said.err
    assert said.err.count("\n") == 1
