import dataclasses
import math

import numpy as np
import pytest

from sordino.errors import OutputError, UsageError
from sordino.federated.adaptive import AdaptiveClip
from sordino.federated.optimiser import ServerOptimiser
from sordino.federated.regimes import Regime
from sordino.federated.server import Server, estimated_snr
from sordino.federated.upload import Upload
from sordino.privacy.randomness import SeededRandomness, SystemRandomness

D = 5


def upload_for(server, request, sender, update):
    points, below = server.regime.protect([update], SystemRandomness())
    sign = None if below is None else int(below[0])
    digest = server.regime.digest
    return Upload(request.round, request.nonce, sender, digest, points[0], sign)


def server_of(regime=None, **settings):
    return Server(np.zeros(D), regime or Regime.unprotected(D, 10.0), 4, **settings)


def test_mean_of_what_was_accepted_over_the_fixed_denominator():
    server = server_of()
    request = server.open()
    updates = np.random.default_rng(0).normal(size=(3, D))
    for number, update in enumerate(updates):
        upload = upload_for(server, request, str(number), update)
        assert server.accept(upload.to_bytes() if number else upload) is None
    report = server.close()
    np.testing.assert_allclose(server.parameters, updates.sum(axis=0) / 4, atol=1e-5)
    np.testing.assert_allclose(report.mean, server.parameters, atol=1e-6)
    assert report.accepted == 3
    assert report.snr == math.inf
    assert server.round == 1
    assert not server.is_open


def test_what_is_wrong_is_refused_and_changes_nothing():
    server = server_of()
    request = server.open()
    assert server.accept(upload_for(server, request, "anna", np.ones(D))) is None
    bad = {
        "another round": {"round": 7},
        "another nonce": {"nonce": bytes(16)},
        "another regime": {"regime": Regime.unprotected(D, 11.0).digest},
        "replay": {"sender": "anna"},
        "another sign than is expected": {"below": 1},
        "shape (3,)": {"points": np.zeros(3, dtype=np.int64)},
        "NaN or infinity": {"points": np.full(D, np.nan)},
        "norm beyond the bound": {"points": np.full(D, 2**62)},
        "numbers of type float64": {"points": np.ones(D)},
    }
    for reason, changes in bad.items():
        good = upload_for(server, request, "ben", np.ones(D))
        upload = dataclasses.replace(good, **changes)
        assert server.accept(upload) == reason
    assert server.accept(b"\x80\x04pickle") == "malformed"
    report = server.close()
    assert report.accepted == 1
    assert set(report.refused) == {*bad, "malformed"}
    np.testing.assert_allclose(server.parameters, np.ones(D) / 4, atol=1e-5)


def test_late_uploads_are_refused():
    server = server_of()
    request = server.open()
    late = upload_for(server, request, "anna", np.ones(D))
    server.close()
    assert server.accept(late) == "no round is open"
    server.open()
    assert server.accept(late) == "another round"
    assert server.close().accepted == 0
    np.testing.assert_array_equal(server.parameters, np.zeros(D))


def test_central_noise_comes_even_when_nobody_does():
    server = server_of(Regime.central(D, 1.0, 2.0), randomness=SeededRandomness(1))
    server.open()
    report = server.close()
    assert report.accepted == 0
    assert (server.parameters != 0).all()
    assert report.noise_norm == pytest.approx(2.0 * math.sqrt(D) / 4)


def test_central_noise_is_drawn_anew_in_every_round():
    server = server_of(Regime.central(D, 1.0, 2.0))
    means = []
    for _ in range(2):
        server.open()
        means.append(server.close().mean)
    assert (means[0] != means[1]).all()


def test_a_killed_server_goes_on_where_the_last_round_ended(tmp_path):
    path = tmp_path / "state.npz"
    optimiser = ServerOptimiser(momentum=0.9)
    server = server_of(optimiser=optimiser, path=path)
    request = server.open()
    server.accept(upload_for(server, request, "anna", np.ones(D)))
    server.close()
    request = server.open()
    assert server.accept(upload_for(server, request, "anna", np.ones(D))) is None
    again = Server.load(path)  # killed: the open round is lost
    assert (again.round, again.is_open, again.regime) == (1, False, server.regime)
    np.testing.assert_array_equal(again.parameters, server.parameters)
    renewed = again.open()
    assert renewed.nonce != request.nonce
    old = upload_for(again, request, "ben", np.ones(D))
    assert again.accept(old) == "another nonce"
    for one, asked in ((server, request), (again, renewed)):
        if one is again:
            assert one.accept(upload_for(one, asked, "anna", np.ones(D))) is None
        one.close()
    np.testing.assert_allclose(again.parameters, server.parameters, atol=1e-6)
    # 0.25, then 0.9 of it and 0.25 more.
    np.testing.assert_allclose(again.parameters, 0.25 + 0.475, atol=1e-5)


def test_what_cannot_be_saved_is_not_handed_out(tmp_path, monkeypatch):
    server = server_of(Regime.central(D, 1.0, 1.0), path=tmp_path / "state.npz")
    server.open()

    def full(*_):
        raise OutputError("disk full")

    monkeypatch.setattr("sordino.federated.server.save_arrays", full)
    with pytest.raises(OutputError):
        server.close()
    assert (server.round, server.is_open) == (0, True)
    np.testing.assert_array_equal(server.parameters, np.zeros(D))


def test_damaged_states_are_refused(tmp_path):
    path = tmp_path / "state.npz"
    with pytest.raises(UsageError, match="No such file"):
        Server.load(path)
    server_of(path=path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UsageError, match="damaged"):
        Server.load(path)
    np.savez(path, settings=np.array('{"kind": "other"}'))
    with pytest.raises(UsageError, match="is no federated server"):
        Server.load(path)


def test_rounds_are_opened_in_their_turn():
    server = server_of()
    with pytest.raises(UsageError, match="turn of 0"):
        server.open(1)
    with pytest.raises(UsageError, match="no round"):
        server.close()
    assert server.open(0).round == 0
    server.abandon()
    assert not server.is_open
    with pytest.raises(UsageError, match="no round"):
        server.add(np.zeros(D, dtype=np.int64), 0, 1)


def test_an_adaptive_clip_goes_up_where_updates_are_longer():
    rule = AdaptiveClip(0.5, rate=0.2)
    server = server_of(Regime.unprotected(D, 1.0, adaptive=rule))
    request = server.open()
    for sender in "abcd":
        assert server.accept(upload_for(server, request, sender, np.ones(D))) is None
    assert server.close().clip == 1.0
    assert server.regime.clip == pytest.approx(math.exp(0.1))
    assert server.open().regime["clip"] == server.regime.clip


def test_wrong_beginnings_are_refused():
    regime = Regime.unprotected(D, 1.0)
    for parameters, cohort in ((np.zeros(3), 4), (np.full(D, np.nan), 4), (np.zeros(D), 0)):
        with pytest.raises(UsageError):
            Server(parameters, regime, cohort)


def test_estimate_of_the_snr():
    generator = np.random.default_rng(0)
    signal = np.full(10_000, 0.03)
    estimates = [
        estimated_snr(signal + generator.normal(0, 0.02, 10_000), 0.02 * 100) for _ in range(20)
    ]
    assert np.mean(estimates) == pytest.approx(1.5, rel=0.02)
    assert estimated_snr(np.zeros(3), 1.0) == 0
