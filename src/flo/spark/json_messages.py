"""Messages of JSON as rows: a message that does not fit exactly gets the reason instead.

Spark's `from_json` is lenient: it reads the first of two objects, takes an object or a number as the text of a `str`
column, rounds decimals, takes a number as the seconds of a time. So the message is also parsed as a VARIANT, which
keeps what each value is in JSON, and each value is compared with the type of its column. All of it runs in the JVM.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql import types as st

CORRUPT = "_corrupt"
"""The field that Spark fills with a text that is not the JSON that it expects."""
SHOWN = 60
"""How many characters of a value a reason shows."""
INTEGERS: dict[type[st.DataType], int] = {st.ByteType: 8, st.ShortType: 16, st.IntegerType: 32, st.LongType: 64}
"""The bits of integers."""
NOT_FINITE = ("NaN", "Infinity", "-Infinity")
"""The texts that stand for numbers which JSON does not have, as Spark writes them."""
ESCAPES = r"\\(?:[^u]|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u(?![dD][89a-fA-F])[0-9a-fA-F]{4})"
"""The escapes of JSON that are characters: not half of a surrogate pair."""
DATE = r"(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}"
TIME = DATE + r"(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6}0*)?)?)?"
ZONE = r"(?: ?(?:Z|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?|[A-Za-z]+(?:/[A-Za-z_+-]+)+))?"
BASE64 = r"(?:[A-Za-z0-9+/]{4})*+(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?"
LONG_NUMBER = r"[0-9.]{39}"
"""Numbers with more digits than a VARIANT keeps."""
WITH_PATTERN = (st.BinaryType, st.DateType, st.TimestampNTZType, st.TimestampType)
"""Types that Spark reads from more texts than those that fit."""


def decode_json(value: Column, schema: st.StructType) -> Column:
    """The row of a message, with the text in `CORRUPT` if Spark cannot read it."""
    return sf.from_json(
        value.cast("string"),
        st.StructType([*schema.fields]).add(CORRUPT, "string"),
        {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT},
    )


def parse_json(value: Column) -> Column:
    """The message as a VARIANT, with its hash behind it; null if it is not JSON.

    Parsers of Spark stop where the first value ends. So the message is put into an array: whatever follows the value
    breaks the array, or stands where the hash should be.
    """
    return sf.try_parse_json(_wrapped(value))


def _wrapped(value: Column) -> Column:
    return sf.concat(sf.lit("["), value.cast("string"), sf.lit(","), sf.xxhash64(value).cast("string"), sf.lit("]"))


def _is_alone(value: Column, parsed: Column) -> Column:
    """Whether the message is one value of JSON, with nothing behind it."""
    hashed = sf.try_variant_get(parsed, "$[1]", "bigint") == sf.xxhash64(value)
    return sf.coalesce(hashed & sf.try_variant_get(parsed, "$[2]", "variant").isNull(), sf.lit(False))


def _has_half_pairs(text: Column) -> Column:
    """Whether an escape is half of a surrogate pair. A valid escape is removed; what is left are halves."""
    some = text.contains("\\ud") | text.contains("\\uD")
    return some & sf.regexp_replace(text, ESCAPES, "").contains("\\")


def json_problem(value: Column, parsed: Column, decoded: Column, schema: st.StructType) -> Column:
    """Why a message is not a row of this schema; null if it is. `parsed` is of `parse_json`, `decoded` of
    `decode_json`.

    Messages that fit pass by one look at the kinds of their values, in compiled code. The others, and those with
    objects in arrays, are looked at value by value; in a lambda, so that Spark does not compile that code, which would
    be too large for the JVM to optimize.
    """
    message = sf.array(sf.struct(value.alias("value"), parsed.alias("parsed"), decoded.alias("decoded")))
    reasons = sf.transform(message, lambda it: _reason(it["value"], it["parsed"], it["decoded"], schema))
    return sf.when(
        ~sf.coalesce(_fits_at_once(value, parsed, decoded, schema), sf.lit(False)), sf.get(reasons, sf.lit(0))
    )


def _fits_at_once(value: Column, parsed: Column, decoded: Column, schema: st.StructType) -> Column:
    """Whether a message fits, as far as the kinds of its values tell."""
    text = value.cast("string")
    tokens = sf.try_variant_get(parsed, "$[0]", _as_variants(schema).simpleString())
    leaves = list(_leaves(schema, tokens, decoded, nullable=True))
    kinds = sf.concat_ws(" ", *(sf.coalesce(sf.schema_of_variant(leaf.token), sf.lit("VOID")) for leaf in leaves))
    fits = sf.is_valid_utf8(text) & _is_alone(value, parsed) & tokens.isNotNull() & decoded[CORRUPT].isNull()
    fits &= ~_has_half_pairs(text) & kinds.rlike(rf"\A{' '.join(leaf.pattern() for leaf in leaves)}\z")
    for leaf in leaves:
        if isinstance(leaf.kind, st.FloatType | st.DoubleType):
            fits &= sf.coalesce(sf.abs(leaf.decoded) < float("inf"), sf.lit(True))
        elif isinstance(leaf.kind, WITH_PATTERN):
            there = sf.try_variant_get(leaf.token, "$", "string").rlike(_pattern(leaf.kind))
            fits &= sf.coalesce(there, sf.lit(True))
    return fits


def _as_variants(schema: st.StructType) -> st.StructType:
    """The schema with a VARIANT for each value that is not an object."""
    kinds = (
        _as_variants(each.dataType) if isinstance(each.dataType, st.StructType) else st.VariantType() for each in schema
    )
    return st.StructType([st.StructField(each.name, kind) for each, kind in zip(schema, kinds, strict=True)])


@dataclass(frozen=True)
class _Leaf:
    """A value of a message that is not an object, as a VARIANT and as it is decoded."""

    token: Column
    decoded: Column
    kind: st.DataType
    nullable: bool

    def pattern(self) -> str:
        """A regular expression for the kinds of JSON that surely fit."""
        nulls = ["VOID"] if self.nullable else []
        return f"(?:{'|'.join([*_sure_kinds(self.kind), *nulls]) or '(?!)'})"


def _sure_kinds(kind: st.DataType) -> list[str]:
    """The kinds of JSON that surely fit a type."""
    if type(kind) in INTEGERS:
        return ["BIGINT"]
    if isinstance(kind, st.FloatType | st.DoubleType):
        return ["BIGINT", "DOUBLE", r"DECIMAL\([0-9]+,[0-9]+\)"]
    if isinstance(kind, st.DecimalType):
        places = "|".join(map(str, range(kind.scale + 1)))
        return ["BIGINT", rf"DECIMAL\([0-9]+,(?:{places})\)"]
    if isinstance(kind, st.BooleanType):
        return ["BOOLEAN"]
    if isinstance(kind, st.NullType):
        return []
    if isinstance(kind, st.ArrayType):
        simple = kind.containsNull and (
            type(kind.elementType) in INTEGERS or isinstance(kind.elementType, st.StringType | st.BooleanType)
        )
        return [f"ARRAY<(?:{'|'.join([*_sure_kinds(kind.elementType), 'VOID'])})>"] if simple else []
    return ["STRING"]


def _leaves(schema: st.StructType, tokens: Column, decoded: Column, *, nullable: bool) -> Iterator[_Leaf]:
    """The values of an object and of the objects in it. Whether a column is null is checked for all encodings."""
    for field in schema:
        token, value = tokens[field.name], decoded[field.name]
        if isinstance(field.dataType, st.StructType):
            yield from _leaves(field.dataType, token, value, nullable=False)
        else:
            yield _Leaf(token, value, field.dataType, nullable or field.nullable)


def _reason(value: Column, parsed: Column, decoded: Column, schema: st.StructType) -> Column:
    """Why a message is not a row, value by value; null if it is."""
    text = value.cast("string")
    checked = _Checked(sf.try_variant_get(parsed, "$[0]", "variant"), "the message", text)
    fields = [(checked.field(field.name), field.dataType) for field in schema.fields]
    unread = [
        sf.when(decoded[field.name].isNull() & part.is_there, part.reason(kind))
        for field, (part, kind) in zip(schema.fields, fields, strict=True)
    ]
    no_object = sf.concat(sf.lit("the message must be an object; got "), checked.text())
    return (
        sf.when(~sf.is_valid_utf8(text), "the message is not UTF-8")
        .when(~_is_alone(value, parsed), _not_json(value))
        .when(~checked.kind.startswith("OBJECT<"), no_object)
        .when(_has_half_pairs(text), "a text has half of a surrogate pair, which is not a character")
        .otherwise(
            sf.coalesce(
                *(part.problem(kind) for part, kind in fields),
                *unread,
                sf.when(decoded[CORRUPT].isNotNull(), "a value does not fit the type of its column"),
            )
        )
    )


def _not_json(value: Column) -> Column:
    """Why a message is not one value of JSON. It is computed for such messages only."""
    strict = {"allowSingleQuotes": "false", "allowNonNumericNumbers": "false"}
    return (
        sf.when(value.cast("string").rlike(r"\A\s*\z"), "the message is empty")
        .when(
            parse_json(value).isNotNull() | sf.try_parse_json(value.cast("string")).isNotNull(),
            "more follows the first JSON value of the message",
        )
        .when(sf.from_json(_wrapped(value), "array<string>", strict).isNotNull(), "an object has a key twice")
        .otherwise("the message is not JSON")
    )


@dataclass(frozen=True)
class _Checked:
    """A value of a message that is compared with a type. `token` is its VARIANT, `name` says where it is."""

    token: Column
    name: str
    message: Column
    """The text of the message."""

    @property
    def kind(self) -> Column:
        """What the value is in JSON, such as BIGINT, DECIMAL(3,2), DOUBLE, STRING, OBJECT<…>. A missing one is VOID."""
        return sf.coalesce(sf.schema_of_variant(self.token), sf.lit("VOID"))

    @property
    def is_there(self) -> Column:
        return self.kind != "VOID"

    def text(self) -> Column:
        return sf.coalesce(sf.substring(sf.to_json(self.token), 1, SHOWN), sf.lit("null"))

    def reason(self, kind: st.DataType) -> Column:
        return sf.concat(sf.lit(f"{self.name} must be {_described(kind)}; got "), self.text())

    def field(self, name: str) -> _Checked:
        quote = "'" if '"' in name else '"'
        path = f"$[{quote}{name}{quote}]"
        inside = "" if self.name == "the message" else self.name.strip("`") + "."
        return _Checked(sf.try_variant_get(self.token, path, "variant"), f"`{inside}{name}`", self.message)

    def problem(self, kind: st.DataType) -> Column:
        """Why the value does not fit; null if it does. A null fits: whether the column has nulls is checked for all
        encodings."""
        other = sf.when(self.is_there & ~self._fits(kind), self.reason(kind))
        if isinstance(kind, st.StructType):
            return sf.coalesce(other, *self._fields(kind)) if kind.fields else other
        if isinstance(kind, st.ArrayType):
            items = sf.transform(
                sf.try_variant_get(self.token, "$", "array<variant>"), lambda item: self._item(item, kind)
            )
            return sf.coalesce(other, sf.get(sf.filter(items, lambda reason: reason.isNotNull()), sf.lit(0)))
        return other

    def _fields(self, kind: st.StructType) -> list[Column]:
        reasons = []
        for field in kind.fields:
            part = self.field(field.name)
            reasons.append(part.problem(field.dataType))
            if not field.nullable:
                reasons.append(sf.when(self.is_there & ~part.is_there, f"{part.name} is null"))
        return reasons

    def _item(self, token: Column, kind: st.ArrayType) -> Column:
        item = _Checked(token, f"an item of {self.name}", self.message)
        if kind.containsNull:
            return item.problem(kind.elementType)
        return sf.coalesce(item.problem(kind.elementType), sf.when(~item.is_there, f"{item.name} is null"))

    def _fits(self, kind: st.DataType) -> Column:
        """Whether the value is of the kind that JSON has for the type. `from_json` checks the rest."""
        own, number = self.kind, self.kind.isin("BIGINT", "DOUBLE") | self.kind.startswith("DECIMAL(")
        is_text = own == "STRING"
        if type(kind) in INTEGERS:
            return own == "BIGINT"
        if isinstance(kind, st.FloatType | st.DoubleType):
            size = sf.abs(self._as("double").cast(kind))
            return (number & (size < float("inf"))) | (is_text & self._as("string").isin(*NOT_FINITE))
        if isinstance(kind, st.DecimalType):
            return self._fits_decimal(kind)
        if isinstance(kind, st.BooleanType):
            return own == "BOOLEAN"
        if isinstance(kind, WITH_PATTERN):
            return is_text & self._as("string").rlike(_pattern(kind))
        if isinstance(kind, st.StructType):
            return own.startswith("OBJECT<")
        if isinstance(kind, st.ArrayType):
            return own.startswith("ARRAY<")
        if isinstance(kind, st.NullType):
            return sf.lit(False)
        return is_text

    def _fits_decimal(self, kind: st.DecimalType) -> Column:
        """A number or a text whose digits the column has all."""
        places = sf.regexp_extract(self.kind, r",([0-9]+)\)", 1).try_cast("int") <= kind.scale
        # a VARIANT keeps a number with an exponent, or with more than 38 digits, as a double
        double = self._as("double")
        kept = double.cast("string").try_cast(kind).cast("double") == double
        return (
            (self.kind == "BIGINT")
            | (self.kind.startswith("DECIMAL(") & sf.coalesce(places, sf.lit(False)))
            | ((self.kind == "DOUBLE") & sf.coalesce(kept, sf.lit(False)) & ~self.message.rlike(LONG_NUMBER))
            | ((self.kind == "STRING") & self._as("string").rlike(_pattern(kind)))
        )

    def _as(self, kind: str) -> Column:
        return sf.try_variant_get(self.token, "$", kind)


def _pattern(kind: st.DataType) -> str:
    """A regular expression for the texts that a type is read from without loss."""
    if isinstance(kind, st.DecimalType):
        return rf"\A-?[0-9]+(?:\.[0-9]{{0,{kind.scale}}}0*)?\z"
    if isinstance(kind, st.DateType):
        return rf"\A{DATE}\z"
    if isinstance(kind, st.BinaryType):
        return rf"\A{BASE64}\z"
    return rf"\A{TIME}{ZONE if isinstance(kind, st.TimestampType) else ''}\z"


def _described(kind: st.DataType) -> str:
    """A type in words of JSON."""
    if type(kind) in INTEGERS:
        return f"an integer of {INTEGERS[type(kind)]} bits"
    if isinstance(kind, st.FloatType | st.DoubleType):
        return "a number that fits a float"
    if isinstance(kind, st.DecimalType):
        return f"a number of at most {kind.precision} digits, {kind.scale} of them after the point"
    words: dict[type[st.DataType], str] = {
        st.BooleanType: "true or false",
        st.StringType: "a text",
        st.BinaryType: "a text in base64",
        st.DateType: "a date such as 2026-01-31",
        st.TimestampNTZType: "a time without a zone, such as 2026-01-31T10:00:00.5",
        st.TimestampType: "a time such as 2026-01-31T10:00:00Z",
        st.DayTimeIntervalType: "an interval such as INTERVAL '1 02:03:04' DAY TO SECOND",
        st.StructType: "an object",
        st.ArrayType: "an array",
        st.NullType: "null",
    }
    return words.get(type(kind), f"a {kind.simpleString()}")
