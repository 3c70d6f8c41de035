"""Run the graphs of a bundle with ONNX Runtime, on the processor."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy.typing as npt
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as _state

from sordino.errors import UsageError
from sordino.models.bundle import Bundle
from sordino.models.external import reads_further_files

Shape = tuple[int | str | None, ...]

_FATAL = 4
_LONGEST_REASON = 300
# The runtime's exceptions have no common base.
_FAILURES: tuple[type[Exception], ...] = (
    RuntimeError,
    ValueError,
    *(
        kind
        for kind in vars(_state).values()
        if isinstance(kind, type) and issubclass(kind, Exception)
    ),
)


class Session:
    """A graph that is ready to run.

    It can be pickled: another process opens the same bundle once and checks that it still is the
    same model.

    Args:
        bundle: the model.
        graph: the name of an ONNX file in it.
        threads: how many threads one run may use, at least 1.

    Attributes:
        inputs: shape of every input, by name; a dimension is a number, or a text or None where it
            can vary.
        outputs: the same for outputs.

    Raises:
        UsageError: there is no such file, it is not a graph that can be run, or it keeps weights
            in further files, which nobody has checked.
    """

    def __init__(self, bundle: Bundle, graph: str, *, threads: int = 1) -> None:
        if threads < 1:
            raise UsageError(f"{threads} threads: at least 1 is needed")
        self.bundle = bundle
        self.graph = graph
        self.threads = threads
        path = str(bundle.path(graph))
        self._refuse_further_files()
        onnxruntime.disable_telemetry_events()
        self._session = self._guarded(
            lambda: onnxruntime.InferenceSession(
                path, _options(threads), providers=["CPUExecutionProvider"]
            )
        )
        self.inputs: dict[str, Shape] = {
            value.name: tuple(value.shape) for value in self._session.get_inputs()
        }
        self.outputs: dict[str, Shape] = {
            value.name: tuple(value.shape) for value in self._session.get_outputs()
        }

    def run(
        self, inputs: Mapping[str, npt.NDArray[Any]], outputs: Sequence[str]
    ) -> list[npt.NDArray[Any]]:
        """Run the graph.

        Args:
            inputs: an array for each input.
            outputs: names of the outputs that are wanted.

        Raises:
            UsageError: the graph refuses the inputs, or fails.
        """
        result: list[npt.NDArray[Any]] = self._guarded(
            lambda: self._session.run(list(outputs), dict(inputs))
        )
        return result

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (
            str(self.bundle.folder),
            self.bundle.digest,
            self.graph,
            self.threads,
        )

    def _refuse_further_files(self) -> None:
        if self._guarded(lambda: reads_further_files(self.bundle.path(self.graph))):
            raise UsageError(
                f"model {self.bundle.folder}: {self.graph} keeps weights in further files; a graph"
                " must hold them itself"
            )

    def _guarded(self, work: Callable[[], Any]) -> Any:
        path_prefix = f"{self.bundle.folder}{os.sep}"
        try:
            return work()
        except _FAILURES as error:
            reason = " ".join(str(error).replace(path_prefix, "").split())[:_LONGEST_REASON]
            raise UsageError(
                f"model {self.bundle.folder}: {self.graph} cannot be run: {reason}"
            ) from error


@lru_cache(maxsize=4)
def _reopened(folder: str, digest: str, graph: str, threads: int) -> Session:
    bundle = Bundle.load(folder)
    if bundle.digest != digest:
        raise UsageError(f"model {folder}: has been replaced by another while it was in use")
    return Session(bundle, graph, threads=threads)


def _options(threads: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = _FATAL  # errors are raised; they need not be printed as well
    # Patterns are for inputs of one size; with many sizes they only take memory.
    options.enable_mem_pattern = False
    return options
