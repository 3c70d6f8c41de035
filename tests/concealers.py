"""Tiny concealers: linear networks whose answers are known in closed form."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from sordino.conceal.concealer import Concealer
from sordino.conceal.description import Description
from sordino.conceal.erasure import Erasure
from sordino.conceal.write import write_concealer as write

DIMENSION, LATENT = 12, 6
ABOUT = {"name": "tiny-concealer", "summary": "Two matrices.", "licence": "CC0-1.0"}


def weights(dimension: int = DIMENSION, latent: int = LATENT) -> np.ndarray:
    """Orthonormal columns, shape (dimension, latent)."""
    rng = np.random.default_rng(7)
    return np.linalg.qr(rng.normal(size=(dimension, latent)))[0].astype(np.float32)


def graph(matrix: np.ndarray, takes: str, gives: str, *, beside: str = "") -> bytes:
    """`gives` = `takes` times a matrix.

    Args:
        matrix: shape (inputs, outputs).
        takes: name of the input.
        gives: name of the output.
        beside: "rows" to subtract the mean of all rows, "chance" to add random numbers.
    """
    nodes = [helper.make_node("MatMul", [takes, "matrix"], ["product"])]
    if beside == "rows":
        nodes.append(helper.make_node("ReduceMean", ["product"], ["more"], axes=[0], keepdims=1))
    if beside == "chance":
        nodes.append(helper.make_node("RandomNormalLike", ["product"], ["more"]))
    tail = ("Sub", ["product", "more"]) if beside else ("Identity", ["product"])
    nodes.append(helper.make_node(*tail, [gives]))
    built = helper.make_graph(
        nodes,
        "concealer",
        [helper.make_tensor_value_info(takes, TensorProto.FLOAT, ["n", matrix.shape[0]])],
        [helper.make_tensor_value_info(gives, TensorProto.FLOAT, ["n", matrix.shape[1]])],
        [numpy_helper.from_array(matrix.astype(np.float32), "matrix")],
    )
    model = helper.make_model(built, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


def description(**changes: object) -> Description:
    """Of a concealer that releases by PrivUnit."""
    known = Description(
        encoder="tiny-encoder",
        encoder_digest="c0ffee",
        dimension=DIMENSION,
        latent=LATENT,
        attributes=("sex",),
        mechanism="privunit",
        epsilon_train=15.0,
    )
    return dataclasses.replace(known, **changes)


def laplace(clip: float = 2.0, **changes: object) -> Description:
    """Of a concealer that releases by Laplace noise."""
    known = description(
        mechanism="laplace", clip=clip, clip_origin="median of training norms, not private"
    )
    return dataclasses.replace(known, **changes)


def write_concealer(
    folder: Path,
    about: Description | None = None,
    *,
    networks: tuple[bytes, bytes] | None = None,
    erasure: Erasure | None = None,
    alone: bool = False,
    **metadata: object,
) -> Concealer:
    """Write one whose networks are `weights` and their transpose.

    Args:
        folder: the bundle.
        about: by default `description()`.
        networks: others.
        erasure: to apply before.
        alone: whether the erasure is all there is.
        metadata: more of them.
    """
    about = about or description()
    if networks is None and not alone:
        matrix = weights(about.dimension, about.latent)
        networks = graph(matrix, "vector", "latent"), graph(matrix.T, "latent", "vector")
    return write(
        folder, about, {**ABOUT, **metadata}, "# Tiny\n", networks=networks, erasure=erasure
    )
