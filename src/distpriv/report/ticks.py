"""Round numbers along an axis."""

import math

__all__ = ["linear_ticks", "log_ticks"]


def linear_ticks(low: float, high: float, most: int) -> list[float]:
    """Return at most `most` round numbers, evenly spaced, from low to high.

    >>> linear_ticks(0.0, 1.0, 6)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    for step in (power * factor for factor in (1, 2, 2.5, 5, 10, 20, 25, 50)):
        slack = 1e-9 * step
        first, last = math.ceil((low - slack) / step), math.floor((high + slack) / step)
        if last - first + 1 <= most:
            return [float(f"{k * step:.12g}") for k in range(first, last + 1)]
    raise AssertionError("fifty times the spacing leaves less than `most`")


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Return at most `most` round numbers from low to high that are about evenly spaced in their logarithm.

    >>> log_ticks(0.1, 10, 8)
    [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]
    >>> log_ticks(1e-6, 1, 4)
    [1e-06, 0.0001, 0.01, 1.0]
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for factors in ((1, 2, 5), (1, 3), (1,)):
        ticks = [float(f"{factor}e{k}") for k in range(first, last + 1) for factor in factors]
        inside = [tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
        if len(inside) < 2:
            return linear_ticks(low, high, most)
        if len(inside) <= most:
            return inside
    return inside[:: math.ceil(len(inside) / most)]
