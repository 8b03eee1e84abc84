"""SQL over HTTP, in every format of rows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest

import toise
from toise import errors

QUERY = """
    select departement_code as department, count(*) as sales, median(price_eur) as price
    from dvf where departement_code in ($1, $2) group by 1 order by 1
"""


@pytest.fixture
def analyst(demo: dict[str, str]) -> Iterator[toise.Client]:
    """A client of the demo with the scope `sql`."""
    if not demo.get("sql_key"):
        pytest.skip("the demo has no key for SQL")
    with toise.Client(demo["address"], demo["sql_key"]) as client:
        yield client


def test_rows_are_the_same_in_every_form(analyst, tmp_path):
    query = analyst.sql(QUERY, ["48", "75"])
    rows = query.rows()
    assert [row["department"] for row in rows] == ["48", "75"]
    assert rows[1]["sales"] > 100
    table = query.to_arrow()
    assert table.to_pylist() == rows
    assert analyst.sql(QUERY, ["48", "75"], is_compressed=True).to_arrow() == table
    assert query.to_pandas().to_dict("records") == rows
    assert query.to_polars().to_dicts() == rows
    assert [row for batch in query.batches() for row in batch.to_pylist()] == rows
    polars = pytest.importorskip("polars")
    assert polars.read_parquet(query.save(tmp_path / "rows.parquet")).to_dicts() == rows
    assert len(query.save(tmp_path / "rows.csv").read_text(encoding="utf-8").splitlines()) == 3
    assert json.loads(query.save(tmp_path / "rows.json").read_text(encoding="utf-8"))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["rows.csv", "rows.json", "rows.parquet"]
    with pytest.raises(ValueError, match="must be one of"):
        query.save(tmp_path / "rows.xlsx")


def test_a_query_without_rows_has_its_columns(analyst):
    table = analyst.sql("select id, price_eur from dvf where price_eur < $least", {"least": 0}).to_arrow()
    assert table.num_rows == 0
    assert table.column_names == ["id", "price_eur"]


def test_many_rows_arrive_whole(analyst):
    (counted,) = analyst.sql("select count(*) as n from dvf").rows()
    assert analyst.sql("select id, record from dvf").to_arrow().num_rows == counted["n"]
    assert sum(1 for _ in analyst.sql("select id from dvf")) == counted["n"]


def test_what_is_wrong_is_told_before_any_row(analyst):
    with pytest.raises(errors.InvalidRequest, match="prize_eur"):
        analyst.sql("select prize_eur from dvf").to_arrow()
    with pytest.raises(errors.InvalidRequest):
        analyst.sql("drop table dvf").rows()
    with pytest.raises(errors.InvalidRequest):
        analyst.sql("select * from dvf", limits={"rows": 5}).rows()


def test_a_key_without_the_scope_is_refused(analyst, client):
    with pytest.raises(errors.NotGranted, match="sql"):
        client.sql("select 1").rows()


def test_the_asynchronous_client_gets_the_same_rows(demo, analyst):
    async def ask():
        async with toise.AsyncClient(demo["address"], demo["sql_key"]) as client:
            query = client.sql(QUERY, ["48", "75"])
            return [row async for row in query], await query.to_arrow()

    rows, table = asyncio.run(ask())
    assert rows == table.to_pylist() == analyst.sql(QUERY, ["48", "75"]).rows()
