from __future__ import annotations

from contextlib import suppress

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from sordino.models.external import points_elsewhere, reads_further_files
from tests.encoders import graph

INSIDE = numpy_helper.from_array(np.arange(3, dtype=np.float32), "inside")


def outside(*, location: bool = True) -> TensorProto:
    tensor = TensorProto(name="outside", data_type=TensorProto.FLOAT, dims=[3])
    if location:
        tensor.external_data.add(key="location", value="../secret")
    else:
        tensor.data_location = TensorProto.EXTERNAL
    return tensor


def sparse(tensor: TensorProto) -> onnx.SparseTensorProto:
    return onnx.SparseTensorProto(values=tensor, dims=[3])


def model(*nodes: onnx.NodeProto, **parts: object) -> onnx.ModelProto:
    return onnx.ModelProto(graph=onnx.GraphProto(node=nodes, **parts))


def constant(tensor: TensorProto) -> onnx.NodeProto:
    return helper.make_node("Constant", [], ["value"], value=tensor)


def holders(tensor: TensorProto) -> list[onnx.ModelProto]:
    """A model for each place that a tensor can be in."""
    branch = helper.make_graph([constant(tensor)], "branch", [], [])
    inner = helper.make_node("If", ["inside"], ["y"], then_branch=branch, else_branch=branch)
    loop = helper.make_graph([inner], "loop", [], [])
    return [
        model(initializer=[INSIDE, tensor]),
        model(sparse_initializer=[sparse(tensor)]),
        model(constant(tensor)),
        model(helper.make_node("Constant", [], ["value"], sparse_value=sparse(tensor))),
        model(helper.make_node("Own", [], ["y"], domain="own", many=[INSIDE, tensor])),
        model(helper.make_node("Own", [], ["y"], domain="own", many=[sparse(tensor)])),
        model(helper.make_node("Own", [], ["y"], domain="own", graphs=[branch])),
        model(helper.make_node("Loop", [], ["y"], body=loop)),
        onnx.ModelProto(functions=[onnx.FunctionProto(name="f", node=[constant(tensor)])]),
        onnx.ModelProto(
            functions=[
                onnx.FunctionProto(
                    name="f", attribute_proto=[helper.make_attribute("preset", tensor)]
                )
            ]
        ),
        onnx.ModelProto(
            training_info=[onnx.TrainingInfoProto(algorithm=onnx.GraphProto(initializer=[tensor]))]
        ),
        onnx.ModelProto(
            training_info=[
                onnx.TrainingInfoProto(initialization=onnx.GraphProto(initializer=[tensor]))
            ]
        ),
    ]


@pytest.mark.parametrize("place", range(len(holders(INSIDE))))
def test_weights_elsewhere_are_found_wherever_they_are_named(place):
    for tensor in (outside(), outside(location=False)):
        assert points_elsewhere(holders(tensor)[place].SerializeToString())
    assert not points_elsewhere(holders(INSIDE)[place].SerializeToString())


def test_onnx_itself_agrees(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(graph())
    assert not reads_further_files(path)
    model = onnx.load(path)
    onnx.save(
        model,
        path,
        save_as_external_data=True,
        size_threshold=0,
        convert_attribute=True,
        location="weights",
    )
    small = onnx.load(path, load_external_data=False)
    kept = [tensor for tensor in small.graph.initializer if tensor.external_data]
    assert reads_further_files(path) == bool(kept)


def test_text_that_looks_like_it_is_not_taken_for_it():
    harmless = model(initializer=[INSIDE], doc_string="external_data location weights")
    harmless.metadata_props.add(key="location", value="weights")
    assert not points_elsewhere(harmless.SerializeToString())


def test_an_explicit_default_is_no_other_place():
    tensor = TensorProto()
    tensor.CopyFrom(INSIDE)
    tensor.data_location = TensorProto.DEFAULT
    assert not points_elsewhere(model(initializer=[tensor]).SerializeToString())


def test_deep_graphs():
    data = b""
    for _ in range(3000):
        # A graph with a node with an attribute with a graph.
        for field in (6, 5, 1):
            data = bytes([field << 3 | 2]) + length(len(data)) + data
    assert not points_elsewhere(b"\x3a" + length(len(data)) + data)


def length(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


@given(st.binary(max_size=200))
def test_any_bytes_have_an_answer_or_are_no_graph(data):
    # Every other exception fails the test.
    with suppress(ValueError):
        assert points_elsewhere(data) in (True, False)


def test_what_is_no_graph(tmp_path):
    for data in (b"\x3a\x05", b"\x3b", b"\xff" * 20, graph()[:-3]):
        with pytest.raises(ValueError, match=r"cut short|wire type"):
            points_elsewhere(data)
    (tmp_path / "empty").touch()
    with pytest.raises(ValueError, match="empty"):
        reads_further_files(tmp_path / "empty")
