"""Powers as Java's StrictMath computes them, bit for bit: fdlibm's algorithm, on columns.

x**y is 2**(y·log2 x). The logarithm has two parts, the first with zeros at its end, so its product with y is exact.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from flo.sql.functions.arithmetic import by_numpy
from flo.sql.functions.strict_math import EXP, Floats, high_words, with_high_words
from flo.sql.registry import Family, declare, of

Integers = npt.NDArray[np.int64]
SERIES = (
    5.99999999999994648725e-01,
    4.28571428578550184252e-01,
    3.33333329818377432918e-01,
    2.72728123808534006489e-01,
    2.30660745775561754067e-01,
    2.06975017800338417784e-01,
)
"""Coefficients of the logarithm."""
LN2, LN2_HIGH, LN2_LOW = 6.93147180559945286227e-01, 6.93147182464599609375e-01, -1.90465429995776804525e-09
SCALE, SCALE_HIGH, SCALE_LOW = 9.61796693925975554329e-01, 9.61796700954437255859e-01, -7.02846165095275826516e-09
"""2 / (3 ln 2)"""
INVERSE, INVERSE_HIGH, INVERSE_LOW = 1.44269504088896338700e00, 1.44269502162933349609e00, 1.92596299112661746887e-08
"""1 / ln 2"""
LARGE, HUGE = 2.0**31, 2.0**64


def power(given: Floats, exponent: Floats) -> Floats:
    """Return x**y, with Java's rules for zeros, infinities and NaN."""
    x, y = np.broadcast_arrays(np.ascontiguousarray(given), np.ascontiguousarray(exponent))
    size, steps = np.abs(x), np.abs(y)
    whole = np.isfinite(y) & (np.trunc(y) == y)
    odd = whole & (steps < 2.0**53) & (np.fmod(steps, 2.0) == 1.0)
    negative = np.signbit(x)
    sign = np.where(negative & odd, -1.0, 1.0)
    plain = np.isfinite(x) & np.isfinite(y) & (size != 0) & (size != 1) & (y != 0)
    base, by = np.where(plain, size, 1.5), np.where(plain, y, 1.5)
    far = np.abs(by) > LARGE
    high, low = _logarithm(np.where(far, 1.5, base))
    near_high, near_low = _logarithm_near_one(np.where(far, base, 1.0))
    found = sign * _exponential(by, np.where(far, near_high, high), np.where(far, near_low, low))
    words = high_words(np.ascontiguousarray(base))
    below, above = words < 0x3FEFFFFF, words > 0x3FF00000
    vast = np.abs(by) > HUGE
    below, above = below | (vast & (words <= 0x3FEFFFFF)), above | (vast & (words >= 0x3FF00000))
    found = np.where(far & below, np.where(by < 0, np.inf, 0.0) * sign, found)
    found = np.where(far & above, np.where(by > 0, np.inf, 0.0) * sign, found)
    found = np.where(plain & negative & ~whole, np.nan, found)
    found = np.where(plain & (y == 2.0), x * x, found)
    found = np.where(plain & (y == 0.5) & ~negative, np.sqrt(size), found)
    found = np.where(plain & (y == 1.0), x, np.where(plain & (y == -1.0), 1.0 / x, found))
    # x is zero, infinite or ±1
    special = np.where(y < 0, 1.0 / size, size)
    special = np.where(negative & (size == 1) & ~whole, np.nan, special * sign)
    found = np.where(plain, found, special)
    endless = np.where((size > 1) == (y > 0), np.inf, 0.0)
    found = np.where(np.isinf(y), np.where(size == 1, np.nan, endless), found)
    found = np.where(np.isnan(x) | np.isnan(y), np.nan, found)
    return np.where(y == 0, 1.0, found)


def _cut(numbers: Floats) -> Floats:
    """Return numbers without the lower half of their bits."""
    return (np.ascontiguousarray(numbers).view(np.int64) & ~0xFFFFFFFF).view(np.float64)


def _logarithm_near_one(size: Floats) -> tuple[Floats, Floats]:
    """Return the binary logarithm of numbers next to 1: for very large exponents no others matter."""
    t = size - 1.0
    w = (t * t) * (0.5 - t * (0.3333333333333333333333 - t * 0.25))
    u, v = INVERSE_HIGH * t, t * INVERSE_LOW - w * INVERSE
    high = _cut(u + v)
    return high, v - (high - u)


def _logarithm(size: Floats) -> tuple[Floats, Floats]:
    """Return the binary logarithm of positive numbers in two parts."""
    small = high_words(np.ascontiguousarray(size)) < 0x00100000
    size = np.ascontiguousarray(np.where(small, size * 9007199254740992.0, size))
    words = high_words(size)
    n = np.where(small, -53, 0) + (words >> 20) - 0x3FF
    j = words & 0x000FFFFF
    words = j | 0x3FF00000
    middle, upper = (j > 0x3988E) & (j < 0xBB67A), j >= 0xBB67A
    n, words = n + upper, words - np.where(upper, 0x00100000, 0)
    size = with_high_words(size, words)
    point = np.where(middle, 1.5, 1.0)
    u, v = size - point, 1.0 / (size + point)
    ss = u * v
    s_high = _cut(ss)
    t_high = with_high_words(
        np.zeros_like(size), ((words >> 1) | 0x20000000) + 0x00080000 + (middle.astype(np.int64) << 18)
    )
    t_low = size - (t_high - point)
    s_low = v * ((u - s_high * t_high) - s_high * t_low)
    s2 = ss * ss
    a, b, c, d, e, f = SERIES
    r = s2 * s2 * (a + s2 * (b + s2 * (c + s2 * (d + s2 * (e + s2 * f)))))
    r = r + s_low * (s_high + ss)
    s2 = s_high * s_high
    t_high = _cut(3.0 + s2 + r)
    t_low = r - ((t_high - 3.0) - s2)
    u, v = s_high * t_high, s_low * t_high + t_low * ss
    p_high = _cut(u + v)
    p_low = v - (p_high - u)
    point_high = np.where(middle, 5.84962487220764160156e-01, 0.0)
    z_high = SCALE_HIGH * p_high
    z_low = SCALE_LOW * p_high + p_low * SCALE + np.where(middle, 1.35003920212974897128e-08, 0.0)
    t = n.astype(np.float64)
    high = _cut(((z_high + z_low) + point_high) + t)
    return high, z_low - (((high - t) - point_high) - z_high)


def _exponential(y: Floats, high: Floats, low: Floats) -> Floats:
    """Return 2**(y·(high + low))."""
    first = _cut(y)
    p_low, p_high = (y - first) * high + y * low, first * high
    z = np.ascontiguousarray(p_low + p_high)
    over = (z > 1024.0) | ((z == 1024.0) & (p_low + 8.0085662595372944372e-0017 > z - p_high))
    under = (z < -1075.0) | ((z == -1075.0) & (p_low <= z - p_high))
    z = np.ascontiguousarray(np.where(over | under | np.isnan(z), 0.0, z))
    p_low, p_high = np.where(over | under, 0.0, p_low), np.where(over | under, 0.0, p_high)
    j = high_words(z)
    size = j & 0x7FFFFFFF
    large = size > 0x3FE00000
    k = np.clip((size >> 20) - 0x3FF, -1, 19)
    n = j + (0x00100000 >> (k + 1))
    k = np.clip(((n & 0x7FFFFFFF) >> 20) - 0x3FF, 0, 20)
    t = with_high_words(np.zeros_like(z), n & ~(0x000FFFFF >> k))
    steps = ((n & 0x000FFFFF) | 0x00100000) >> (20 - k)
    steps = np.where(large, np.where(j < 0, -steps, steps), 0)
    p_high = np.where(large, p_high - t, p_high)
    t = _cut(p_low + p_high)
    u, v = t * LN2_HIGH, (p_low - (t - p_high)) * LN2 + t * LN2_LOW
    z = u + v
    w = v - (z - u)
    t = z * z
    t1 = z - t * (EXP[0] + t * (EXP[1] + t * (EXP[2] + t * (EXP[3] + t * EXP[4]))))
    r = (z * t1) / (t1 - 2.0) - (w + z * w)
    found = np.ldexp(1.0 - (r - z), steps.astype(np.int32))
    return np.where(over, np.inf, np.where(under, 0.0, found))


declare(
    "Pow",
    "pow({}, {})",
    [of(Family.FLOAT, Family.FLOAT)],
    lambda node, operands: by_numpy(power, *operands),
)
