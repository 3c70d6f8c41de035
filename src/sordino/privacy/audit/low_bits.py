"""Do the low bits of released numbers tell the input?

Noise that is drawn and added in floating point reaches only some of the numbers, and which ones
depends on the input: a single release can prove what the input was not, at any epsilon.

Source: I. Mironov, "On significance of the least significant bits for differential privacy", 2012.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.privacy.audit.bounds import Bound, FloatArray, pure_bound
from sordino.privacy.audit.pair import Release, lower_bound
from sordino.privacy.audit.result import Finding
from sordino.privacy.audit.statistics import lowest_bits

_ROWS = 2000


def low_bits(
    release: Release,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    claimed: float,
    trials: int = 40_000,
    false_alarm: float = 1e-3,
    bound: Bound = pure_bound,
) -> Finding:
    """What the finest bit of each released number, and nothing else, proves about epsilon.

    Zero is a good first input: floating-point numbers are finest around it. The second should
    differ in all components, by no less than the noise.

    Args:
        release: the mechanism, before any decoding.
        first, second: the inputs, shape (d,).
        claimed, trials, false_alarm, bound: as for `lower_bound`.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> leaky = lambda x: x + rng.laplace(size=x.shape)
        >>> finding = low_bits(leaky, [0.0], [1.0], claimed=1.0)
        >>> finding.holds, finding.measured > 6
        (False, True)
    """
    return lower_bound(
        release,
        first,
        second,
        lambda released: lowest_bits(released).mean(axis=1),
        claimed=claimed,
        trials=trials,
        false_alarm=false_alarm,
        bound=bound,
        check="low bits alone",
    )


def off_grid(release: Release, inputs: FloatArray, grid: float) -> Finding:
    """Are all released numbers multiples of the claimed step? There is no chance in this.

    Args:
        release: the mechanism, before any decoding.
        inputs: to try, shape (n, d); inputs that are not on the grid show most.
        grid: the step, a power of two.

    Raises:
        UsageError: the step is not a power of two, so that multiples could not be exact.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> noisy = lambda x: x + 0.25 * rng.integers(-9, 9, size=x.shape)
        >>> off_grid(noisy, np.array([[0.1]]), 0.25).holds
        False
        >>> off_grid(noisy, np.array([[0.5]]), 0.25).holds
        True
    """
    if not grid > 0 or np.frexp(grid)[0] != 0.5:
        raise UsageError(f"a grid of {grid!r} is not a power of two")
    repeats = -(-_ROWS // len(inputs))
    released = np.asarray(release(np.tile(inputs, (repeats, 1))), dtype=np.float64)
    off = int(np.count_nonzero(np.remainder(released, grid)))
    detail = f"{released.size} numbers, grid {grid:g}"
    return Finding("releases lie on the grid", off, 0, "outputs", None, 0.0, detail)
