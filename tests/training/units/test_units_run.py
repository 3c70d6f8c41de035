"""Units of a small HuBERT with random weights: whole runs."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra ssl")
pytest.importorskip("sklearn", reason="needs scikit-learn")
pytest.importorskip("lightning_fabric", reason="needs the extra train")

from sordino.corpus.corpus import Corpus
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError
from sordino.models.bundle import Bundle
from sordino.training.features.base import load_features
from sordino.training.features.cache import RowCache
from sordino.training.features.ssl_source import SslFeatures
from sordino.training.recipes import read_recipe, recipe_names
from sordino.training.units.bundle import Units, load_units, write_units
from sordino.training.units.card import units_card
from sordino.training.units.cluster import usage
from sordino.training.units.recipe import UnitsRecipe
from sordino.training.units.run import train_units
from sordino.training.units.sample import in_turns, sample_frames
from sordino.training.waves import whole_wave
from tests.talkers import talkers
from tests.training.tiny_hubert import save_hubert


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return talkers(tmp_path_factory.mktemp("talkers"), speakers=4)


@pytest.fixture(scope="module")
def hubert(tmp_path_factory):
    return save_hubert(tmp_path_factory.mktemp("ssl") / "theirs")


def recipe(hubert, **changes) -> UnitsRecipe:
    features = {"source": "ssl", "ssl": {"source": str(hubert)}, "layer": 1}
    values = {"name": "toy", "features": features, "units": 12, "sample": {"frames": 300}}
    return UnitsRecipe.from_values({**values, **changes})


def run(recipe, corpus, folder, **options) -> Bundle:
    return train_units(recipe, corpus, folder, device="cpu", quiet=True, **options)


@pytest.fixture(scope="module")
def whole(made, hubert, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "whole"
    return run(recipe(hubert), made, folder, licence="CC0-1.0"), folder


def expected_frames(corpus, hubert, count):
    source = SslFeatures({"source": str(hubert)}, 1, device="cpu")
    rows = [source.features(whole_wave(u)) for u in in_turns(corpus, 0)]
    return np.concatenate(rows)[:count]


def test_centroids_are_those_of_the_frames(whole, made, hubert):
    bundle, folder = whole
    assert (bundle.kind, bundle.licence) == ("units", "CC0-1.0")
    assert bundle.folder == folder / "toy"
    arrays = bundle.arrays("units.npz")
    assert arrays["centroids"].shape == (12, 24)
    assert not arrays["mean"].any()
    assert (arrays["deviation"] == 1).all()
    frames = expected_frames(made, hubert, 300)
    np.testing.assert_allclose(arrays["feature_mean"], frames.mean(axis=0), atol=1e-2)
    np.testing.assert_allclose(arrays["feature_deviation"], frames.std(axis=0), atol=1e-2)
    found = usage(frames, arrays["centroids"])
    figures = bundle.metadata["figures"]
    assert figures["explained"] == pytest.approx(found.explained, abs=0.02)
    assert figures["distance"] == pytest.approx(found.distance, rel=0.05)
    assert figures["frames"] == 300
    assert found.explained > 0.3


def test_card_says_what_was_heard(whole):
    card = whole[0].card
    # 50 frames an utterance: six utterances, four speakers in turn.
    assert "300 frames of 6 utterances of 4 speakers: made 6" in card
    assert "layer 1 of theirs, 24 values each 20 ms" in card
    assert "of 12 units occur; perplexity" in card
    assert str(whole[1]) not in card


def test_units_open_the_features_that_they_are_of(whole, made, hubert):
    units = load_units(whole[0].folder)
    source = load_features(units.features, device="cpu")
    assert (units.count, units.dimension) == (12, source.dimension)
    frames = source.features(whole_wave(made.utterances[0]))
    distances = np.linalg.norm(frames[:, None] - units.centroids, axis=2)
    np.testing.assert_array_equal(units.of(frames), distances.argmin(axis=1))


def test_same_run_again_is_the_same_whatever_the_order(whole, made, hubert, tmp_path):
    turned = Corpus(tuple(reversed(made.utterances)))
    again = run(recipe(hubert), turned, tmp_path / "run")
    assert again.files["units.npz"] == whole[0].files["units.npz"]
    assert again.digest == whole[0].digest
    other = recipe(hubert, sample={"frames": 300, "seed": 5})
    assert run(other, made, tmp_path / "other").files["units.npz"] != whole[0].files["units.npz"]


def test_standardised(made, hubert, tmp_path):
    bundle = run(recipe(hubert, standardise=True), made, tmp_path / "run")
    units = load_units(bundle.folder)
    frames = expected_frames(made, hubert, 300)
    scaled = (frames - units.mean) / units.deviation
    assert np.abs(scaled.mean(axis=0)).max() < 0.02
    assert np.abs(scaled.std(axis=0) - 1).max() < 0.02
    distances = np.linalg.norm(scaled[:, None] - units.centroids, axis=2)
    np.testing.assert_array_equal(units.of(frames), distances.argmin(axis=1))
    np.testing.assert_allclose(units.scaled(frames), scaled, atol=1e-5)
    assert usage(scaled, units.centroids).explained > 0.3


def test_resumed_run_computes_no_feature_twice(whole, made, hubert, tmp_path, monkeypatch):
    store, count = RowCache.store, []

    def dying(self, utterance, rows):
        count.append(utterance.id)
        if len(count) == 4:
            raise KeyboardInterrupt
        store(self, utterance, rows)

    with monkeypatch.context() as patch:
        patch.setattr(RowCache, "store", dying)
        with pytest.raises(KeyboardInterrupt):
            run(recipe(hubert), made, tmp_path / "run")
    with pytest.raises(UsageError, match="holds a run; go on with --resume"):
        run(recipe(hubert), made, tmp_path / "run")
    heard: list[int] = []
    batch = SslFeatures.batch

    def counting(self, waves):
        heard.append(len(waves))
        return batch(self, waves)

    monkeypatch.setattr(SslFeatures, "batch", counting)
    bundle = run(recipe(hubert), made, tmp_path / "run", resume=True)
    # Of twelve utterances three were kept.
    assert sum(heard) == 9
    assert bundle.files["units.npz"] == whole[0].files["units.npz"]


def test_refusals(whole, made, hubert, tmp_path):
    with pytest.raises(UsageError, match="another recipe"):
        run(recipe(hubert, units=13), made, whole[1], resume=True)
    with pytest.raises(UsageError, match="600 frames are too few for 700 units"):
        run(recipe(hubert, units=700, sample={"frames": 800}), made, tmp_path / "many")


def test_sample_takes_whole_utterances_up_to_a_number(made, hubert, tmp_path):
    source = SslFeatures({"source": str(hubert)}, 1, device="cpu")
    order = in_turns(made, 0)
    frames, taken = sample_frames(source, order, RowCache(tmp_path), 120, quiet=True)
    assert (frames.shape, taken) == ((120, 24), 3)
    np.testing.assert_allclose(frames, expected_frames(made, hubert, 120), atol=5e-3)
    everything, taken = sample_frames(source, order, RowCache(tmp_path), 10**6, quiet=True)
    assert (everything.shape, taken) == ((600, 24), 12)


def test_turns_are_fair(made):
    order = in_turns(made, 3)
    for start in range(0, 12, 4):
        assert {u.speaker for u in order[start : start + 4]} == set(made.speakers)
    assert set(order) == set(made)


UNITS = Units(
    {"source": "whisper", "model": "/home/anna/models/tiny"},
    np.eye(3, dtype=np.float32),
    *(np.full(3, value, np.float32) for value in (0, 1, 0.5, 2)),
)
ABOUT = {"name": "x", "summary": "s", "licence": "CC0-1.0"}


class TestBundle:
    def test_comes_back(self, tmp_path):
        write_units(tmp_path / "x", UNITS, ABOUT, "# x")
        found = load_units(tmp_path / "x")
        for name in ("centroids", "mean", "deviation", "feature_mean", "feature_deviation"):
            np.testing.assert_array_equal(getattr(found, name), getattr(UNITS, name))
        assert found.features == UNITS.features

    @pytest.mark.parametrize(
        ("change", "told"),
        [
            ({"mean": np.zeros(2, np.float32)}, "not of one dimension"),
            ({"deviation": np.zeros(3, np.float32)}, "a deviation is not above 0"),
        ],
    )
    def test_arrays_that_do_not_fit(self, change, told):
        with pytest.raises(UsageError, match=told):
            replace(UNITS, **change)

    def test_models_of_another_kind(self, tmp_path):
        from sordino.models.bundle import write_bundle

        about = {**ABOUT, "features": {}}
        write_bundle(tmp_path / "a", {"kind": "content", **about}, {"CARD.md": b"#"})
        with pytest.raises(UsageError, match="is a content; a units is needed"):
            load_units(tmp_path / "a")
        empty = tmp_path / "none.npz"
        np.savez(empty, centroids=np.eye(2))
        write_bundle(
            tmp_path / "b", {"kind": "units", **about}, {"CARD.md": b"#", "units.npz": empty}
        )
        with pytest.raises(UsageError, match=r"units\.npz has no mean"):
            load_units(tmp_path / "b")

    def test_card_tells_no_path(self):
        spoken = [Utterance("a", "a.wav", "anna")]
        made = UnitsRecipe("x", {})
        figures = usage(np.eye(3, dtype=np.float32), UNITS.centroids)
        card = units_card(made, UNITS, figures, spoken, 3, licence="CC0-1.0")
        assert "the encoder of Whisper tiny, 3 values" in card
        assert "anna" not in card


class TestRecipes:
    @pytest.mark.parametrize("name", recipe_names("units"))
    def test_that_ship_are_right(self, name):
        shipped = UnitsRecipe.from_values(read_recipe(name, kind="units"))
        assert shipped.name == name
        assert shipped.units == 200
        assert shipped.summary

    def test_of_the_paper(self):
        paper = UnitsRecipe.from_values(read_recipe("hubert-200", kind="units"))
        assert (paper.features["source"], paper.features["layer"]) == ("ssl", 6)
        assert not paper.standardise

    @pytest.mark.parametrize(
        ("changes", "told"),
        [
            ({"name": "a b"}, "its name 'a b'"),
            ({"units": 1}, "units are 2 to 65536"),
            ({"units": 400}, "as many as the units"),
            ({"sample": {"frames": 300, "seed": -1}}, "sample.seed"),
            ({"clustering": {"method": "spectral"}}, "one of minibatch, lloyd"),
            ({"clustering": {"rounds": 0}}, "clustering.rounds"),
            ({"clustering": {"batch": 0}}, "clustering.batch"),
            ({"clustering": {"starts": 0}}, "clustering.starts"),
            ({"colour": 1}, "no setting 'colour'"),
        ],
    )
    def test_wrong_ones(self, changes, told):
        with pytest.raises(UsageError, match=told):
            recipe("nowhere", **changes)

    def test_incomplete_ones(self):
        with pytest.raises(UsageError, match="the recipe has no features"):
            UnitsRecipe.from_values({"name": "x"})


def test_metadata_is_plain(whole):
    text = (whole[0].folder / "model.json").read_text()
    assert json.loads(text)["features"]["layer"] == 1
