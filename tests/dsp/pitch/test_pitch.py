from __future__ import annotations

import pickle

import numpy as np
import pytest

from sordino.dsp import pitch
from sordino.dsp.pitch import TRACKERS, load_tracker
from sordino.dsp.pitch import base as pitch_base
from sordino.errors import UsageError


@pytest.mark.parametrize("name", sorted(TRACKERS))
def test_trackers_go_to_other_processes_and_are_cheap(name):
    tracker = load_tracker(name)
    again = pickle.loads(pickle.dumps(tracker))  # noqa: S301
    assert type(again) is type(tracker)
    assert tracker.name == name


def test_another_name_is_an_error():
    with pytest.raises(UsageError, match=r"no pitch tracker 'crepe'; there are: swift, yaapt"):
        load_tracker("crepe")


@pytest.mark.parametrize("name", sorted(TRACKERS))
@pytest.mark.parametrize("shape", [(161,), (2, 160)])
def test_signals_are_whole_frames_of_one_channel(name, shape):
    with pytest.raises(ValueError, match="whole frames"):
        load_tracker(name).track(np.zeros(shape))


@pytest.mark.parametrize("name", sorted(TRACKERS))
def test_a_missing_package_is_named(name, monkeypatch):
    def missing(module):
        raise ModuleNotFoundError(module)

    monkeypatch.setattr(pitch_base, "import_module", missing)
    pitch.swift.network.cache_clear()
    with pytest.raises(UsageError, match=f"the pitch tracker {name} needs a package: pip install"):
        load_tracker(name).track(0.1 * np.random.default_rng(0).standard_normal(3200))
