"""Mistakes that people make who know PySpark, Polars, pandas or SQL: each is answered with what to write instead."""

from __future__ import annotations

import random
import time
import uuid
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import narwhals as nw
import polars as pl

import flo


class Sale(NamedTuple):
    shop: str
    item: str
    price: float
    number: int
    at: datetime


class Shop(NamedTuple):
    shop: str
    city: str


def _sales() -> Any:
    return flo.Flow("shop").input("sales", flo.ZSet[Sale])


def _log() -> Any:
    return flo.Flow("shop").input("log", flo.Sequence[Sale])


def _both() -> Any:
    flow = flo.Flow("shop")
    return flow.input("sales", flo.ZSet[Sale]), flow.input("shops", flo.ZSet[Shop])


def _program() -> flo.Flow:
    flow = flo.Flow("shop")
    flow.output("shops", flow.input("sales", flo.ZSet[Sale]).select("shop"))
    return flow


def mistake_misspelt_option() -> None:
    sales, shops = _both()
    sales.join(shops, onn="shop")


def mistake_option_of_pandas() -> None:
    sales, shops = _both()
    sales.join(shops, left_on="shop", right_on="shop")


def mistake_kind_of_join_of_sql() -> None:
    sales, shops = _both()
    sales.join(shops, on="shop", how="outer")


def mistake_join_without_a_stream() -> None:
    _sales().join()


def mistake_join_without_keys() -> None:
    sales, shops = _both()
    sales.join(shops)


def mistake_too_many_arguments() -> None:
    _sales().distinct("shop", "item")


def mistake_aggregate_of_nothing() -> None:
    flo.sum()


def mistake_misspelt_aggregate() -> None:
    flo.summ("price")


def mistake_misspelt_verb() -> None:
    _sales().fliter(nw.col("price") > 3)


def mistake_misspelt_column() -> None:
    _sales().select("prize")


def mistake_misspelt_column_in_an_expression() -> None:
    _sales().filter(nw.col("prize") > 3)


def mistake_watermark_of_spark() -> None:
    _log().withWatermark("at", "10 minutes")


def mistake_group_by_of_spark() -> None:
    _sales().groupBy("shop")


def mistake_order_by_of_spark() -> None:
    _sales().orderBy("price")


def mistake_drop_duplicates_of_spark() -> None:
    _sales().dropDuplicates(["shop"])


def mistake_collect_of_spark() -> None:
    _sales().collect()


def mistake_condition_of_polars() -> None:
    _sales().filter(pl.col("price") > 3)


def mistake_column_of_polars() -> None:
    _sales().select(pl.col("price"))


def mistake_aggregate_of_polars() -> None:
    _sales().group_by("shop").agg(pl.col("price").sum())


def mistake_aggregates_in_a_dict() -> None:
    _sales().group_by("shop").agg({"price": "sum"})


def mistake_aggregate_as_a_text() -> None:
    _sales().group_by("shop").agg(total="price")


def mistake_aggregate_of_narwhals() -> None:
    _sales().group_by("shop").agg(total=nw.col("price").sum())


def mistake_count_of_groups() -> None:
    _sales().group_by("shop").count()


def mistake_condition_as_a_text() -> None:
    _sales().filter("price > 3 and shop = 'Oslo'")


def mistake_column_computed_by_a_text() -> None:
    _sales().with_columns("price * 2")


def mistake_column_by_brackets() -> None:
    _sales()["price"]


def mistake_columns_by_brackets() -> None:
    _sales()[["shop", "price"]]


def mistake_column_as_an_attribute() -> None:
    _sales().price  # noqa: B018


def mistake_stream_compared() -> None:
    _sales() > 3  # noqa: B015


def mistake_loop_over_a_stream() -> None:
    for _ in _sales():
        pass


def mistake_input_without_a_collection() -> None:
    flo.Flow("shop").input("sales")


def mistake_input_of_a_row_type() -> None:
    flo.Flow("shop").input("sales", Sale)


def mistake_input_of_a_list() -> None:
    flo.Flow("shop").input("sales", list[Sale])


def mistake_output_without_a_name() -> None:
    flow = flo.Flow("shop")
    flow.output(flow.input("sales", flo.ZSet[Sale]), "sales")


def mistake_misspelt_input_of_a_run() -> None:
    _program().run(sale=[])


def mistake_misspelt_option_of_a_run() -> None:
    _program().run(sales=[], negativ="allow")


def mistake_data_by_position() -> None:
    _program().run([])


def mistake_dict_without_all_columns() -> None:
    _program().run(sales=[{"shop": "Oslo", "price": 3.0}])


def mistake_misspelt_option_of_start() -> None:
    _program().on(flo.here).start(checkpont="checkpoint")


def mistake_place_as_a_text() -> None:
    _program().on("spark")


def mistake_window_as_a_text() -> None:
    _log().tumbling("10 minutes", time="at")


def mistake_window_without_a_time() -> None:
    _log().tumbling(timedelta(minutes=10))


def mistake_lateness_as_a_number() -> None:
    _log().clock("at", lateness=5)


def mistake_window_of_a_table() -> None:
    _sales().tumbling(timedelta(minutes=10), time="at")


def mistake_sum_of_what_never_ends() -> None:
    _log().map("number").sum()


def mistake_random_numbers() -> None:
    _sales().filter(lambda sale: random.random() < 0.1)


def _stamp(sale: Sale) -> float:
    return time.time() - sale.price


def mistake_time_of_the_machine() -> None:
    _sales().map(_stamp)


def mistake_time_of_the_machine_in_a_condition() -> None:
    _sales().filter(lambda sale: sale.at > datetime.now())


def mistake_random_key() -> None:
    def key(sale: Sale) -> str:
        return str(uuid.uuid4())

    _log().key_by(key)


def mistake_join_by_a_condition_alone() -> None:
    sales, shops = _both()
    sales.join(shops, where=nw.col("item") > nw.col("city"))


def mistake_verb_that_nothing_is_close_to() -> None:
    _sales().zzz()


def mistake_write_of_polars() -> None:
    _sales().write_parquet("sales.parquet")


def mistake_length() -> None:
    len(_sales())


def mistake_apply_of_pandas() -> None:
    _sales().group_by("shop").apply(lambda group: group)


def mistake_mean_of_pandas() -> None:
    _sales().group_by("shop").mean("price")


def mistake_window_function_that_is_not_called() -> None:
    _sales().over(partition_by="shop").with_columns(place=flo.rank)


def mistake_option_of_top_of_spark() -> None:
    _sales().top(10, by="shop", orderBy="price")


def mistake_two_conditions() -> None:
    _sales().filter(nw.col("price") > 3, nw.col("number") > 3)


def mistake_subset_of_pandas() -> None:
    _sales().distinct(subset=["shop"])


def mistake_filter_of_an_aggregate() -> None:
    _sales().agg(dear=flo.count(filter=nw.col("price") > 3))


def mistake_two_columns_to_order_by() -> None:
    _sales().top(10, order_by=flo.desc("price", "number"))


def mistake_join_of_data() -> None:
    _sales().join([Shop("a", "Oslo")], on="shop")


def mistake_case_of_a_collection() -> None:
    flo.Flow("shop").input("sales", flo.zset[Sale])


def mistake_method_of_a_flow() -> None:
    _program().outputs("shops")


def mistake_collect_of_a_flow_on_tables() -> None:
    _program().on(flo.here).collect()


def mistake_method_of_a_loop() -> None:
    _program().on(flo.here).loop().poll("shops")


def mistake_output_of_a_result() -> None:
    _program().run()["shop"]


def mistake_attribute_of_a_result() -> None:
    print(_program().on(flo.here).run().shops)


def mistake_data_without_its_input() -> None:
    _program().loop().push([Sale("a", "tea", 2.5, 1, datetime(2026, 5, 1))])


def mistake_file_for_a_run_on_values() -> None:
    _program().run(sales="sales.csv")


def mistake_row_without_a_list() -> None:
    _program().run(sales=Sale("a", "tea", 2.5, 1, datetime(2026, 5, 1)))


def mistake_picture_as_png() -> None:
    _program().draw().save("shops.png")


def mistake_list_as_the_state_of_a_key() -> None:
    _log().key_by("shop").current([], lambda seen, sale: [*seen, sale.item])
