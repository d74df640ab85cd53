"""Functions of columns that Narwhals does not have: `flo.split_part("path", "/", 2)` is a Narwhals expression.

They take column names or expressions, can be used wherever an expression can, and compose with those of Narwhals. Arrow
and Narwhals are only loaded when one is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from flo.api.columns import is_expression
from flo.core.errors import TypeMismatch, brief

if TYPE_CHECKING:
    import narwhals

    Expr: TypeAlias = narwhals.Expr
    Column: TypeAlias = str | narwhals.Expr
else:
    Expr = Column = Any


def regexp_extract(of: Column, pattern: str, group: int = 0) -> Expr:
    """Return the part of a text that a regular expression matches first, or a group of it; null if there is no match.

    A group that did not take part in the match gives the empty text. Regular expressions are those of RE2.
    """
    from flo.columns.functions import count_groups, expect_pattern

    _expect_text("regexp_extract", "pattern", pattern)
    try:
        expect_pattern(pattern)
    except ValueError as error:
        raise TypeMismatch(f"`pattern` of `regexp_extract`: {error}").at_users_line() from None
    groups = count_groups(pattern)
    if type(group) is not int or not 0 <= group <= groups:
        raise TypeMismatch(
            f"`group` of `regexp_extract` must be from 0, the whole match, to {groups}; got {brief(group)}",
            facts=(("pattern", brief(pattern)),),
        ).at_users_line()
    return _call("regexp_extract", (of,), pattern=pattern, group=group)


def split_part(of: Column, separator: str, index: int) -> Expr:
    """Return one part of a text that is split at a separator: 1 is the first, -1 the last.

    Parts out of range are empty, as in SQL.
    """
    _expect_text("split_part", "separator", separator)
    if not separator:
        raise TypeMismatch("`separator` of `split_part` must not be empty").at_users_line()
    if type(index) is not int or index == 0:
        raise TypeMismatch(
            f"`index` of `split_part` must be an integer other than 0: parts count from 1; got {brief(index)}"
        ).at_users_line()
    return _call("split_part", (of,), separator=separator, index=index)


def md5(of: Column) -> Expr:
    """Return the MD5 of a text (as UTF-8) or of bytes, as 32 hexadecimal digits."""
    return _call("md5", (of,))


def sha256(of: Column) -> Expr:
    """Return the SHA-256 of a text (as UTF-8) or of bytes, as 64 hexadecimal digits."""
    return _call("sha256", (of,))


def hash(*columns: Column) -> Expr:
    """Return a 64-bit signed integer that only depends on the values: the same in every process, engine and version.

    It is the 8-byte BLAKE2b of the values in their order, each written as a letter for its kind, its length and its
    bytes. Null has a hash. Integers of all widths, equal decimals, and the same instant in different zones are equal.
    """
    return _call("hash", columns)


def try_cast(of: Column, dtype: object) -> Expr:
    """Return the values as another type, `nw.Int64` for example, and null where `cast` fails."""
    from flo.columns.functions import is_type

    if not is_type(dtype):
        raise TypeMismatch(
            f"`dtype` of `try_cast` must be a type of Narwhals; got {brief(dtype)}",
            instead=(('flo.try_cast("price", nw.Int64)', "null where the price is not an integer"),),
        ).at_users_line()
    return _call("try_cast", (of,), dtype=dtype)


def greatest(*columns: Column) -> Expr:
    """Return the greatest of several columns that is not null; null if all are. NaN is the greatest number."""
    return _call("greatest", columns)


def least(*columns: Column) -> Expr:
    """Return the least of several columns that is not null; null if all are."""
    return _call("least", columns)


def _call(name: str, columns: tuple[Column, ...], **options: object) -> Expr:
    from flo.columns.functions import call

    wrong = next((each for each in columns if isinstance(each, tuple) or not is_expression(each)), None)
    if wrong is not None or not columns:
        raise TypeMismatch(
            f"`{name}` must get columns: names or expressions; got {brief(wrong) if columns else 'none'}",
            instead=((f'flo.{name}("price", …)', "a column"), ("nw.lit(…)", "a constant")),
        ).at_users_line()
    return call(name, columns, **options)


def _expect_text(name: str, parameter: str, given: object) -> None:
    if not isinstance(given, str):
        raise TypeMismatch(f"`{parameter}` of `{name}` must be a str; got {brief(given)}").at_users_line()


__all__ = ["greatest", "hash", "least", "md5", "regexp_extract", "sha256", "split_part", "try_cast"]
