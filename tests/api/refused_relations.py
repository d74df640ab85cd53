"""Wrong programs with rows: unknown columns, wrong types, nulls where none are allowed. Texts are in tests/golden."""

from __future__ import annotations

# mypy: ignore-errors
# pyright: basic, reportAttributeAccessIssue=false
from typing import NamedTuple

import narwhals as nw
import pyarrow as pa

import flo


class Sale(NamedTuple):
    shop: str | None
    item: str
    price: int
    paid: bool


class Shop(NamedTuple):
    shop: str
    city: str
    price: int


def unknown_column_of_select():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    sales.select("shop", "pirce")


def unknown_column_of_an_expression():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    sales.with_columns(total=nw.col("pirce") * 2)


def unknown_column_of_filter():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    sales.filter(nw.col("quantity") > 2)


def unknown_column_of_drop():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    sales.drop("pirce")


def unknown_column_of_group_by():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    sales.group_by("shops").agg(n=flo.count())


def unknown_column_of_an_aggregate():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    sales.group_by("shop").agg(n=flo.count(), revenue=flo.sum("pirce"))


def unknown_column_of_a_condition_of_an_aggregate():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    sales.agg(dear=flo.count(where=nw.col("pirce") > 3))


def unknown_column_of_join():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    shops = flow.input("shops", flo.ZSet[Shop])
    sales.join(shops, on="shop_id")


def unknown_column_of_the_other_side_of_join():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    shops = flow.input("shops", flo.ZSet[Shop])
    sales.join(shops, on="shop", other_on="name")


def unknown_column_of_the_condition_of_join():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    shops = flow.input("shops", flo.ZSet[Shop])
    sales.join(shops, on="shop", where=nw.col("price") > nw.col("price_other"))


def sum_of_strings():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    sales.group_by("shop").agg(revenue=flo.sum("item"))


def condition_of_an_aggregate_that_is_a_number():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    sales.group_by("shop").agg(dear=flo.count(where="price"))


def join_of_columns_that_are_never_equal():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    shops = flow.input("shops", flo.ZSet[Shop])
    sales.join(shops, on="price", other_on="city")


def filter_by_a_number():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    sales.filter("price")


def columns_that_cannot_be_added():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    sales.select(total=nw.col("item") + nw.col("price"))


def none_in_a_column_without_nulls():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.output("sales", sales)
    flow.run(sales=[Sale("A", "tea", 2, True), Sale("A", None, 3, True)])


def none_in_a_column_without_nulls_on_tables():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.output("items", sales.select("item"))
    loop = flow.on(flo.here).loop()
    loop.push(sales=[Sale("A", "tea", 2, True), Sale("A", None, 3, True)])
    loop.run()


def null_in_a_column_of_a_table_without_nulls():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.output("items", sales.select("item"))
    flow.on(flo.here).run(
        sales=pa.table({"shop": ["A"], "item": pa.array([None], pa.string()), "price": [2], "paid": [True]})
    )


def quotient_where_no_null_is_allowed():
    def rounded(quotient: int) -> int:
        return 10 * (quotient // 10)

    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    sales.map(100 // nw.col("price")).map(rounded)


def quotient_of_zero_in_a_function():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.output("each", sales.select(each=100 // nw.col("price")).map(lambda row: row.each + 1))
    flow.run(sales=[Sale("A", "tea", 30, True), Sale("A", "cup", 0, True)])


def join_of_an_unknown_kind():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    shops = flow.input("shops", flo.ZSet[Shop])
    sales.join(shops, on="shop", how="outer")


def join_that_makes_a_column_twice():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale]).with_columns(price_right="price")
    shops = flow.input("shops", flo.ZSet[Shop])
    sales.join(shops, on="shop")


def join_on_nothing():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    shops = flow.input("shops", flo.ZSet[Shop])
    sales.join(shops, how="left")


def join_by_functions_with_a_condition():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    shops = flow.input("shops", flo.ZSet[Shop])
    sales.join(shops, on=lambda sale: sale.shop, other_on=lambda shop: shop.shop, where=nw.col("price") > 2)


def select_of_a_column_twice():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    sales.select("shop", "item", shop=nw.col("item"))


def agg_of_nothing():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    sales.group_by("shop").agg()


def agg_of_a_column():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    sales.group_by("shop").agg(revenue="price")


def group_by_of_a_sequence():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.Sequence[Sale])
    sales.group_by("shop").agg(n=flo.count())


def select_of_numbers():
    flow = flo.Flow("sales")
    prices = flow.input("prices", flo.ZSet[frozenset[int]])
    prices.select("price")


def union_of_different_columns():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    shops = flow.input("shops", flo.ZSet[Shop])
    sales.union(shops)


def union_of_columns_of_different_types():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    shops = flow.input("shops", flo.ZSet[Shop])
    sales.select("shop", "price").union_distinct(shops.select("shop", price="city"))


def verb_of_spark():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    sales.withColumn("total", nw.col("price") * 2)


def verb_of_sql():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    sales.where(nw.col("price") > 2)


def verb_that_sorts_rows():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    sales.orderBy("price")


def verb_with_a_typing_error():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    sales.slect("price")
