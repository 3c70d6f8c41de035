"""Files that preparing a run makes one by one, in one process or several."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from sordino.errors import OutputError

Task = TypeVar("Task")
Result = TypeVar("Result")


def mapped(
    function: Callable[[Task], Result], tasks: Sequence[Task], jobs: int
) -> Iterator[Result]:
    """What a function makes of tasks, in their order.

    Args:
        function: for more than one process it must be importable by its name.
        tasks: for more than one process they can be pickled.
        jobs: processes; 1 for this one.

    Example:
        >>> list(mapped(abs, [-1, 2, -3], 1))
        [1, 2, 3]
    """
    if jobs == 1 or len(tasks) < 2:
        yield from map(function, tasks)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(function, tasks)


def save_array(path: Path, array: npt.NDArray[np.generic]) -> None:
    """Write an array as a file that is either complete or not there.

    Args:
        path: ends in ".npy"; its folder is made where there is none.
        array: not of objects.

    Raises:
        OutputError: it cannot be written.
    """
    part = path.with_suffix(".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            np.save(file, array, allow_pickle=False)
        part.replace(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
