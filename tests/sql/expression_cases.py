"""Expressions in SQL for every class, operand types and mode of the registry, over the columns of `extremes`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, product

from flo.sql.registry import TRY, Family, Function, Operand, Signature, functions

COLUMNS = {
    Family.INTEGER: ("i32", "i64", "i8", "i16"),
    Family.FLOAT: ("f64", "f32"),
    Family.DECIMAL: ("d18", "e38", "d5", "d38"),
    Family.STRING: ("s",),
    Family.BINARY: ("bin",),
    Family.BOOLEAN: ("bool",),
    Family.DATE: ("date",),
    Family.TIMESTAMP: ("ts",),
    Family.LOCAL: ("ntz",),
    Family.INTERVAL: ("iv",),
    Family.STRUCT: ("st",),
    Family.ARRAY: ("ar",),
}
"""The columns of a family."""
TARGETS = {
    Family.INTEGER: ("INT", "BIGINT", "TINYINT", "SMALLINT"),
    Family.FLOAT: ("DOUBLE", "FLOAT"),
    Family.DECIMAL: ("DECIMAL(20,4)", "DECIMAL(38,18)", "DECIMAL(5,2)", "DECIMAL(38,0)", "DECIMAL(3,3)"),
    Family.STRING: ("STRING",),
    Family.BOOLEAN: ("BOOLEAN",),
}
"""What values are cast to."""
CONSTANTS = {
    Family.INTEGER: ("0", "1", "2", "-1", "-2", "-5", "7", "-30"),
    Family.STRING: ("'a'", "''", "'b%'", "'_b_'", "'%😀%'"),
}
"""Operands that must be constants."""
MORE = {
    "Substring": ("substring(a_s, 2, 3)", "substring(a_s, -2, 2)", "substring(a_s, 0, 1)", "substring(a_s, 3)"),
    "Concat": ("a_s || 'x' || b_s",),
    "Like": (
        *("a_s LIKE 'a%c'", "a_s LIKE '%b%d%'", "a_s LIKE '_b_'", r"a_s LIKE 'a!%b!_c\\\\d' ESCAPE '!'"),
        *("a_s LIKE '%\n%'", "a_s LIKE '😀_%'", "a_s LIKE '.*'", "a_s LIKE '%.%a%(%'"),
    ),
    "In": ("a_i32 IN (1, 2, NULL)", "a_f64 IN (0.0D, double('NaN'))", "a_s IN ('a', 'abc')"),
    "Round": ("round(a_d18)", "round(a_e38, 20)"),
    "Multiply": ("a_d5 * 3", "a_d18 * 0.5", "a_f32 * 2"),
    "Add": ("a_i8 + 1Y", "a_i64 + 1", "a_d5 + 1"),
    "Divide": ("a_d38 / 3", "a_d18 / 7.5", "a_i32 / b_i32", "1 / a_d18", "a_d5 / b_d5 / c_d5"),
    "Remainder": ("a_i64 % 7",),
    "Coalesce": ("coalesce(a_i32, 5)", "coalesce(a_i64, a_i64 % b_i64)"),
    "If": ("if(a_i32 = 0, 0, b_i32 % a_i32)", "nullif(a_i32, b_i32)"),
    "CaseWhen": (
        "CASE WHEN a_i32 > 0 THEN b_i32 % a_i32 WHEN a_bool THEN b_i32 ELSE -1 END",
        "CASE a_i32 WHEN 1 THEN 'one' WHEN 2 THEN 'two' END",
    ),
    "And": ("a_i32 != 0 AND b_i32 % a_i32 = 1", "NOT (a_bool AND b_bool)"),
    "Or": ("a_i32 = 0 OR b_i32 % a_i32 = 1",),
    "ElementAt": ("element_at(a_ar, -1)", "element_at(a_ar, 1)"),
    "GetArrayItem": ("a_ar[0]", "get(a_ar, b_few)"),
    "EqualTo": ("a_i32 = 0", "a_d18 = b_d5", "a_i32 + (b_i32 % 0) = 1"),
    "DateAdd": ("a_date + 1", "date_add(a_date, b_few)"),
}
"""More expressions of a class."""
ONLY = {
    "GetArrayItem": ("a_ar[b_few]", "a_ar[b_i32]"),
    # not b_i32: Spark takes -2147483648 for a place in the array, and reads other memory, which can end the JVM
    "ElementAt": ("element_at(a_ar, b_few)", "element_at(a_ar, b_i16)"),
    "PreciseTimestampConversion": (
        "window(coalesce(a_ts, timestamp'2024-01-01 00:00:00'), '90 minutes').start",
        "window(coalesce(a_ntz, timestamp_ntz'2024-01-01 00:00:00'), '1 hour').end",
    ),
}
"""Expressions of a class, instead of those that its signatures give."""
IN_SET = {
    Family.INTEGER: ("i32", [str(each) for each in (*range(11), 127, "NULL")]),
    Family.FLOAT: ("f64", [*(f"{each}.5D" for each in range(10)), "0.0D", "double('NaN')", "double('inf')"]),
    Family.DECIMAL: ("d18", [f"{each}.000001" for each in range(12)]),
    Family.STRING: ("s", [*(f"'{each}'" for each in range(10)), "'a'", "'abc'", "''"]),
    Family.DATE: ("date", [f"date'2024-02-{each}'" for each in range(18, 30)]),
    Family.TIMESTAMP: (
        "ts",
        [
            *(f"timestamp'2024-03-30 {each}:15:00.5'" for each in range(10, 20)),
            "timestamp'1970-01-01 01:00:00'",
            "timestamp'2024-10-27 01:30:00'",
        ],
    ),
    Family.LOCAL: (
        "ntz",
        [*(f"timestamp_ntz'2024-03-31 0{each}:30:00'" for each in range(10)), "timestamp_ntz'1970-01-01'"],
    ),
}


@dataclass(frozen=True)
class Case:
    """An expression of a class in a mode, and which of its signatures it is made for: None if for any."""

    function: str
    signature: int | None
    mode: str
    sql: str


def all_cases() -> list[Case]:
    return [case for function in functions().values() if function.sql is not None for case in cases_of(function)]


def cases_of(function: Function) -> Iterator[Case]:
    """Yield the cases of a class: for each signature and mode, with several types of each family."""
    modes = list(dict.fromkeys(mode for each in function.signatures for mode in each.modes)) or ["ANSI"]
    for place, signature in enumerate(function.signatures):
        for mode in signature.modes or ("ANSI",):
            texts = ONLY.get(function.name) or _texts(function, signature, mode)
            yield from (Case(function.name, place, mode, text) for text in texts)
    for mode in modes:
        if mode != TRY:
            yield from (Case(function.name, None, mode, text) for text in MORE.get(function.name, ()))


def _texts(function: Function, signature: Signature, mode: str) -> Iterator[str]:
    template = (function.try_sql if mode == TRY else function.sql) or ""
    if function.name == "InSet":
        name, values = IN_SET[signature.operands[0].family]
        yield f"a_{name} IN ({', '.join(values)})"
    elif function.name == "Cast":
        assert signature.result is not None
        for name, target in product(COLUMNS[signature.operands[0].family], TARGETS[signature.result]):
            yield template.replace("…", target).format(f"a_{name}")
    else:
        for operands in _operands(function, list(signature.operands), template.count("{}")):
            yield template.format(*operands)


def _operands(function: Function, operands: list[Operand], count: int) -> Iterator[tuple[str, ...]]:
    while len(operands) < count:
        operands.append(operands[-1])
    operands = operands[:count]
    families = {each.family for each in operands if not each.constant}
    constants = [CONSTANTS[each.family] for each in operands if each.constant]
    if len(families) == 1:
        names = COLUMNS[families.pop()]
        groups = [(name,) * len(operands) for name in names]
        if len(operands) - len(constants) == 2 and names[0] == "d18":
            groups += [("d5", "e38"), ("e38", "d18"), ("d38", "d5"), ("d18", "d38")]
    else:
        longest = max(len(COLUMNS[family]) for family in families)
        turns = [cycle(COLUMNS.get(each.family, ("",))) for each in operands]
        groups = [tuple(next(turn) for turn in turns) for _ in range(longest)]
    for group in groups:
        for chosen in product(*constants):
            rest = iter(chosen)
            letters = iter("abc")
            yield tuple(
                next(rest) if operand.constant else f"{next(letters)}_{name}"
                for operand, name in zip(operands, group, strict=True)
            )
