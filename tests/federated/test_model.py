import numpy as np
import pytest

from sordino.errors import OutputError, UsageError
from sordino.federated.model import load_model, save_model
from sordino.federated.task import ClassifierTask


def test_models_come_back(tmp_path):
    task = ClassifierTask(4, ("a", "b"))
    path = tmp_path / "deep" / "model.npz"
    save_model(path, task, task.initial(3), {"guarantee": False})
    model = load_model(path)
    assert model.task == task
    assert model.statement == {"guarantee": False}
    vectors = np.random.default_rng(0).normal(size=(5, 4))
    np.testing.assert_array_equal(model.logits(vectors), task.logits(task.initial(3), vectors))
    assert sorted(file.name for file in path.parent.iterdir()) == ["model.npz"]


def test_other_files_are_refused(tmp_path):
    task = ClassifierTask(4, ("a", "b"))
    path = tmp_path / "model.npz"
    save_model(path, task, np.zeros(3), {})
    with pytest.raises(UsageError, match="not those of its classifier"):
        load_model(path)
    path.write_bytes(b"nothing")
    with pytest.raises(UsageError):
        load_model(path)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        save_model(tmp_path / "file" / "model.npz", task, task.initial(0), {})
