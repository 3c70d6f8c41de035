from __future__ import annotations

import multiprocessing
import pickle
import subprocess
import sys

import numpy as np
import onnx
import pytest

from sordino.errors import UsageError
from sordino.models.session import Session
from tests.encoders import expected, graph, write_encoder

WAVE = np.random.default_rng(0).normal(0, 0.1, (2, 1600)).astype(np.float32)


@pytest.fixture
def session(tmp_path) -> Session:
    return Session(write_encoder(tmp_path / "tiny"), "encoder.onnx")


def energies(session: Session) -> np.ndarray:
    return session.run({"wave": WAVE}, ["vector"])[0]


def test_runs(session):
    assert session.inputs == {"wave": ("batch", "samples")}
    assert session.outputs == {"vector": ("batch", 3)}
    np.testing.assert_allclose(energies(session), [expected(wave) for wave in WAVE], rtol=1e-5)


def test_runs_with_threads(tmp_path, session):
    two = Session(session.bundle, "encoder.onnx", threads=2)
    np.testing.assert_allclose(energies(two), energies(session), rtol=1e-6)
    with pytest.raises(UsageError, match="at least 1"):
        Session(session.bundle, "encoder.onnx", threads=0)


@pytest.mark.parametrize("data", [b"", b"no graph", graph()[:-100], graph()[:300]])
def test_broken_graphs_are_one_line(tmp_path, data, capfd):
    bundle = write_encoder(tmp_path / "tiny", encoder=data or b" ")
    with pytest.raises(UsageError, match=r"encoder.onnx cannot be run: \S") as caught:
        Session(bundle, "encoder.onnx")
    message = str(caught.value)
    assert "\n" not in message
    assert message.count(str(tmp_path)) == 1
    assert capfd.readouterr() == ("", "")


def test_inputs_that_do_not_fit_are_one_line(session, capfd):
    wrong: list[dict[str, np.ndarray]] = [
        {},
        {"other": WAVE},
        {"wave": WAVE.astype(np.float64)},
        {"wave": WAVE[0]},
    ]
    for inputs in wrong:
        with pytest.raises(UsageError, match="cannot be run") as caught:
            session.run(inputs, ["vector"])
        assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="cannot be run"):
        session.run({"wave": WAVE}, ["nothing"])
    assert capfd.readouterr() == ("", "")


def test_a_graph_that_fails_when_it_runs_is_one_line(tmp_path, capfd):
    model = onnx.load_from_string(graph())
    which = next(value for value in model.graph.initializer if value.name == "which")
    which.CopyFrom(onnx.helper.make_tensor("which", onnx.TensorProto.INT64, [3], [0, 1, 7]))
    bundle = write_encoder(tmp_path / "tiny", encoder=model.SerializeToString())
    broken = Session(bundle, "encoder.onnx")
    with pytest.raises(UsageError, match=r"cannot be run: .*out of data bounds") as caught:
        energies(broken)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_no_such_graph(session):
    with pytest.raises(UsageError, match=r"it has no file decoder.onnx"):
        Session(session.bundle, "decoder.onnx")


def test_pickles_open_the_bundle_once(session):
    data = pickle.dumps(session)
    assert len(data) < 1000
    first, second = pickle.loads(data), pickle.loads(data)  # noqa: S301
    assert first is second
    np.testing.assert_array_equal(energies(first), energies(session))


def test_works_in_other_processes(session):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        (there,) = pool.map(energies, [session])
    np.testing.assert_array_equal(there, energies(session))


def test_a_model_that_was_replaced_is_noticed(session):
    data = pickle.dumps(session)
    folder = session.bundle.folder
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    write_encoder(folder, encoder=graph(frame=80))
    with pytest.raises(UsageError, match="has been replaced by another"):
        pickle.loads(data)  # noqa: S301


def test_no_torch_and_nothing_on_the_terminal(session):
    script = (
        "import sys\n"
        "from sordino.models.bundle import Bundle\n"
        "from sordino.models.session import Session\n"
        "Session(Bundle.load(sys.argv[1]), 'encoder.onnx')\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(session.bundle.folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_weights_in_further_files_are_refused(tmp_path, monkeypatch):
    model = onnx.load_from_string(graph())
    which = next(tensor for tensor in model.graph.initializer if tensor.name == "which")
    which.data_location = onnx.TensorProto.EXTERNAL
    which.external_data.add(key="location", value="unlisted.bin")
    (place,) = [which.dims[0] * 8]
    which.external_data.add(key="length", value=str(place))
    which.ClearField("int64_data")
    bundle = write_encoder(tmp_path / "tiny", encoder=model.SerializeToString())
    np.arange(3).astype("<i8").tofile(tmp_path / "tiny/unlisted.bin")
    with pytest.raises(UsageError, match="keeps weights in further files"):
        Session(bundle, "encoder.onnx")
    # The runtime itself would take them.
    monkeypatch.setattr("sordino.models.session.reads_further_files", lambda path: False)
    assert energies(Session(bundle, "encoder.onnx")).shape == (2, 3)
