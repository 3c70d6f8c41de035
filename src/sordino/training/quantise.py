"""Graphs with whole-number arithmetic: convolutions in 8 bits, ranges from calibration inputs."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime

from sordino.errors import OutputError, UsageError

Inputs = Mapping[str, npt.NDArray[Any]]

OPERATORS = ("Conv", "MatMul")
# ONNX Runtime turns products of which one side is fixed into this when it prepares a graph.
_ALSO = {"MatMul": ("MatMul", "Gemm")}


@dataclass(frozen=True)
class QuantiseSettings:
    """What is computed in whole numbers.

    Attributes:
        operators: of "Conv" and "MatMul"; of the latter only products with weights.
        keep_ends: whether the first and the last of them stay in floating point. In a vocoder most
            of the harm comes from these two, and they cost little.
        least_channels: layers with fewer outputs stay in floating point: they gain little.
        keep: beginnings of node names that stay in floating point, such as "/MatMul" for the
            Fourier transform of the inverse-STFT generator.

    Raises:
        UsageError: an operator that is not supported.
    """

    operators: tuple[str, ...] = ("Conv",)
    keep_ends: bool = True
    least_channels: int = 48
    keep: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        unknown = set(self.operators) - set(OPERATORS)
        if unknown or not self.operators:
            raise UsageError(
                f"the operators {', '.join(self.operators) or 'none'} cannot be quantised;"
                f" {' and '.join(OPERATORS)} can"
            )


def quantised(
    graph: bytes, calibration: Iterable[Inputs], settings: QuantiseSettings | None = None
) -> bytes:
    """A graph whose convolutions are computed in 8-bit whole numbers.

    Weights have a scale for each channel. What comes in and out of a layer has one scale and
    offset, so that the smallest and the largest value of the calibration just fit.

    Args:
        graph: an ONNX graph in floating point.
        calibration: inputs like those that it will see, by name; 10 to 20 s of speech of several
            people, also quiet and loud.
        settings: see `QuantiseSettings`.

    Returns:
        A graph with the same inputs and outputs.

    Raises:
        UsageError: there are no calibration inputs, they do not fit the graph, or there is nothing
            to quantise.
        OutputError: the new graph does not run or gives what is not finite.

    Example:
        >>> from sordino.training.generator_export import example_inputs, generator_graph
        >>> from sordino.training.networks.generators import build_generator
        >>> network = {"architecture": "hifigan", "content": {"channels": 8}, "speaker": 4,
        ...            "sizes": {"channels": 128}}
        >>> generator = build_generator(network)
        >>> graph = generator_graph(generator)
        >>> inputs = [example_inputs(generator, 10, seed=seed) for seed in range(3)]
        >>> len(quantised(graph, inputs)) < len(graph)
        True

    Source: B. Jacob et al., "Quantization and training of neural networks for efficient
    integer-arithmetic-only inference", CVPR 2018, section 2.1.
    """
    settings = settings or QuantiseSettings()
    known = iter(calibration)
    first = next(known, None)
    if first is None:
        raise UsageError("quantising needs calibration inputs; there are none")
    expected = _outputs(graph, first, UsageError, "the calibration inputs do not fit the graph")
    with tempfile.TemporaryDirectory() as folder, _without_advice():
        small = _quantised_in(Path(folder), graph, _joined(first, known), settings)
    found = _outputs(small, first, OutputError, "the quantised graph does not run")
    for one, other in zip(expected, found, strict=True):
        if one.shape != other.shape or not np.isfinite(other).all():
            raise OutputError("the quantised graph gives another shape, or what is not finite")
    return small


def _quantised_in(
    folder: Path, graph: bytes, calibration: Iterator[Inputs], settings: QuantiseSettings
) -> bytes:
    import onnx
    from onnxruntime.quantization import (
        CalibrationDataReader,
        QuantFormat,
        QuantType,
        quant_pre_process,
        quantize_static,
    )

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        def get_next(self) -> dict[str, npt.NDArray[Any]] | None:
            inputs = next(calibration, None)
            return None if inputs is None else dict(inputs)

    plain, ready, small = (folder / f"{name}.onnx" for name in ("plain", "ready", "small"))
    plain.write_bytes(graph)
    quant_pre_process(str(plain), str(ready), skip_symbolic_shape=True)
    model = onnx.load(ready)
    kinds = [kind for name in settings.operators for kind in _ALSO.get(name, (name,))]
    nodes = [node for node in model.graph.node if node.op_type in kinds]
    shapes = {item.name: tuple(item.dims) for item in model.graph.initializer}
    chosen = [
        node.name
        for node in (nodes[1:-1] if settings.keep_ends else nodes)
        if not node.name.startswith(settings.keep)
        and _channels(node, shapes) >= settings.least_channels
    ]
    if not chosen:
        raise UsageError(
            f"the graph has no {' or '.join(settings.operators)} to quantise of"
            f" {settings.least_channels} channels or more"
        )
    quantize_static(
        str(ready),
        str(small),
        Reader(),
        quant_format=QuantFormat.QDQ,
        op_types_to_quantize=kinds,
        nodes_to_quantize=chosen,
        per_channel=True,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        extra_options={"MatMulConstBOnly": True},
    )
    return small.read_bytes()


def _channels(node: Any, shapes: Mapping[str, tuple[int, ...]]) -> int:
    """Outputs of a layer; 0 for a product without weights."""
    shape = shapes.get(node.input[1])
    if shape is None:
        return 0
    transposed = any(item.name == "transB" and item.i for item in node.attribute)
    return shape[0] if node.op_type == "Conv" or transposed else shape[-1]


def _outputs(
    graph: bytes, inputs: Inputs, error: type[UsageError | OutputError], reason: str
) -> list[npt.NDArray[Any]]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # errors are raised; they need not be printed as well
    try:
        session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        outputs: list[npt.NDArray[Any]] = session.run(None, dict(inputs))
    except Exception as failure:  # the runtime's exceptions have no common base
        raise error(f"{reason}: {' '.join(str(failure).split())[:300]}") from failure
    return outputs


def _joined(first: Inputs, others: Iterator[Inputs]) -> Iterator[Inputs]:
    yield first
    yield from others


@contextmanager
def _without_advice() -> Iterator[None]:
    """ONNX Runtime's tools give advice through the root logger, for which there is no reader."""
    logger = logging.getLogger()
    before = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = before
