"""Exponentials and logarithms as Java's StrictMath computes them, bit for bit: the algorithms of fdlibm, on columns.

Other libraries differ in the last bit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from flo.sql.functions.arithmetic import by_numpy
from flo.sql.nodes import Node
from flo.sql.registry import Compute, Data, Family, declare, of

Floats = npt.NDArray[np.float64]
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""ln 2 in two parts; the first has zeros at its end."""
EXP = (
    1.66666666666666019037e-01,
    -2.77777777770155933842e-03,
    6.61375632143793436117e-05,
    -1.65339022054652515390e-06,
    4.13813679705723846039e-08,
)
LOG = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)
"""Coefficients of the polynomials."""


def high_words(numbers: Floats) -> npt.NDArray[np.int64]:
    """Return the upper 32 bits: sign, exponent and the first 20 bits of the fraction."""
    return numbers.view(np.int64) >> 32


def with_high_words(numbers: Floats, high: npt.NDArray[np.int64]) -> Floats:
    return ((numbers.view(np.int64) & 0xFFFFFFFF) | (high << 32)).view(np.float64)


def exp(given: Floats) -> Floats:
    """e**x: x is k·ln 2 + r with a small r, whose exponential is a quotient of polynomials."""
    x = np.ascontiguousarray(given)
    negative = np.signbit(x)
    size = high_words(x) & 0x7FFFFFFF
    finite = np.where((x > 7.09782712893383973096e02) | (x < -7.45133219101941108420e02) | ~np.isfinite(x), 0.0, x)
    by_one = (size > 0x3FD62E42) & (size < 0x3FF0A2B2)
    by_more = size >= 0x3FF0A2B2
    k = np.where(by_more, np.trunc(1.44269504088896338700e00 * finite + np.where(negative, -0.5, 0.5)), 0.0)
    k = np.where(by_one, np.where(negative, -1.0, 1.0), k)
    high, low = finite - k * LN2_HIGH, k * LN2_LOW
    r = np.where(k != 0, high - low, finite)
    t = r * r
    c = r - t * (EXP[0] + t * (EXP[1] + t * (EXP[2] + t * (EXP[3] + t * EXP[4]))))
    small = 1.0 - ((r * c) / (c - 2.0) - r)
    scaled = 1.0 - ((low - (r * c) / (2.0 - c)) - high)
    power = k.astype(np.int64)
    tiny = power < -1021
    shifted = with_high_words(scaled, high_words(scaled) + (np.where(tiny, power + 1000, power) << 20))
    found = np.where(k == 0, small, np.where(tiny, shifted * 9.33263618503218878990e-302, shifted))
    found = np.where(size < 0x3E300000, 1.0 + x, found)
    found = np.where(x > 7.09782712893383973096e02, np.inf, np.where(x < -7.45133219101941108420e02, 0.0, found))
    return np.where(np.isnan(x), x, found)


def log(given: Floats) -> Floats:
    """ln x for positive x: x is 2**k·(1 + f), and ln (1 + f) is a polynomial of f / (2 + f)."""
    subnormal = given < 2.2250738585072014e-308
    x = np.ascontiguousarray(np.where(subnormal, given * 1.80143985094819840000e16, given))
    high = high_words(x)
    k = np.where(subnormal, -54, 0) + (high >> 20) - 1023
    fraction = high & 0x000FFFFF
    i = (fraction + 0x95F64) & 0x100000
    k = k + (i >> 20)
    f = with_high_words(x, fraction | (i ^ 0x3FF00000)) - 1.0
    dk = k.astype(np.float64)
    near = (0x000FFFFF & (2 + fraction)) < 3
    r = f * f * (0.5 - 0.33333333333333333 * f)
    close = np.where(k == 0, f - r, dk * LN2_HIGH - ((r - dk * LN2_LOW) - f))
    close = np.where(f == 0, np.where(k == 0, 0.0, dk * LN2_HIGH + dk * LN2_LOW), close)
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    r = z * (LOG[0] + w * (LOG[2] + w * (LOG[4] + w * LOG[6]))) + w * (LOG[1] + w * (LOG[3] + w * LOG[5]))
    half = 0.5 * f * f
    middle = ((fraction - 0x6147A) | (0x6B851 - fraction)) > 0
    rest = s * (half + r)
    one = np.where(k == 0, f - (half - rest), dk * LN2_HIGH - ((half - (rest + dk * LN2_LOW)) - f))
    other = np.where(k == 0, f - s * (f - r), dk * LN2_HIGH - ((s * (f - r) - dk * LN2_LOW) - f))
    found = np.where(near, close, np.where(middle, one, other))
    return np.where(np.isnan(given) | np.isinf(given), given, found)


def log10(given: Floats) -> Floats:
    """The decimal logarithm of positive numbers, by way of ln."""
    subnormal = given < 2.2250738585072014e-308
    x = np.ascontiguousarray(np.where(subnormal, given * 1.80143985094819840000e16, given))
    high = high_words(x)
    k = np.where(subnormal, -54, 0) + (high >> 20) - 1023
    i = (k < 0).astype(np.int64)
    y = (k + i).astype(np.float64)
    x = with_high_words(x, (high & 0x000FFFFF) | ((0x3FF - i) << 20))
    z = y * 3.69423907715893078616e-13 + 4.34294481903251816668e-01 * log(x)
    return np.where(np.isnan(given) | np.isinf(given), given, z + y * 3.01029995663611771306e-01)


def _of_positive(function: Callable[[Floats], Floats]) -> Compute:
    """Logarithms: null for zero and negative numbers."""

    def compute(node: Node, operands: list[Data]) -> Data:
        data = pc.if_else(pc.less_equal(operands[0], 0.0), pa.scalar(None, pa.float64()), operands[0])
        return by_numpy(function, data)

    return compute


def _logarithm(node: Node, operands: list[Data]) -> Data:
    base, data = (pc.if_else(pc.less_equal(each, 0.0), pa.scalar(None, pa.float64()), each) for each in operands)
    return by_numpy(lambda one, other: log(other) / log(one), base, data)


_OF_FLOAT = [of(Family.FLOAT)]
_LN2 = log(np.array([2.0]))
declare("Exp", "exp({})", _OF_FLOAT, lambda node, operands: by_numpy(exp, operands[0]))
declare("Log", "ln({})", _OF_FLOAT, _of_positive(log))
declare("Log2", "log2({})", _OF_FLOAT, _of_positive(lambda numbers: log(numbers) / _LN2))
declare("Log10", "log10({})", _OF_FLOAT, _of_positive(log10))
declare("Logarithm", "log({}, {})", [of(Family.FLOAT, Family.FLOAT)], _logarithm)
