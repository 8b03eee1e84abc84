"""Tests Flight SQL as data teams use it: ADBC with pandas and Polars, against a running server.

python clients.py GRPC_ADDRESS SQL_KEY OTHER_KEY ABSENT_KEY SLOW_KEY: OTHER_KEY has no scope sql, ABSENT_KEY may not be
used from here, SLOW_KEY has a rate of 20 calls a second.
"""

import sys

import adbc_driver_flightsql.dbapi as flight
import pyarrow as pa
from adbc_driver_flightsql import DatabaseOptions
from adbc_driver_manager import DatabaseOptions as ManagerOptions

address, key, other_key, absent_key, slow_key = sys.argv[1:6]
BEARER = {DatabaseOptions.AUTHORIZATION_HEADER.value: f"Bearer {key}"}
IN_HEADER = {DatabaseOptions.RPC_CALL_HEADER_PREFIX.value + "x-api-key": key}
PASSWORD = {ManagerOptions.USERNAME.value: "key", ManagerOptions.PASSWORD.value: key}


def refused(message, act):
    """Asserts that `act` fails with this text in its message."""
    try:
        act()
        said = None
    except Exception as error:
        said = str(error)
    assert said is not None, f"not refused: {message}"
    assert message in said, f"{message!r} is not in {said}"


# The key as bearer token, in a header, and by a handshake.
for options in (BEARER, IN_HEADER, PASSWORD):
    with flight.connect(address, db_kwargs=options, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("select 1 as n, 'a' as t, null as nothing")
        assert cursor.fetchall() == [(1, "a", None)]


def ask(options, query):
    with flight.connect(address, db_kwargs=options, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchall()


wrong = {DatabaseOptions.AUTHORIZATION_HEADER.value: "Bearer nonsense"}
unscoped = {DatabaseOptions.AUTHORIZATION_HEADER.value: f"Bearer {other_key}"}
refused("that is known", lambda: ask(wrong, "select 1"))
refused("granted neither", lambda: ask(unscoped, "select 1"))
refused("bearer token", lambda: ask({}, "select 1"))
absent = {DatabaseOptions.AUTHORIZATION_HEADER.value: f"Bearer {absent_key}"}
refused("not be used from this address", lambda: ask(absent, "select 1"))

with flight.connect(address, db_kwargs=BEARER, autocommit=True) as connection:
    # Metadata.
    found = connection.adbc_get_objects(depth="tables").read_all().to_pylist()
    schemas = found[0]["catalog_db_schemas"]
    tables = {table["table_name"] for schema in schemas for table in schema["db_schema_tables"]}
    assert {"dvf", "dpe", "properties", "adverts"} <= tables, tables
    columns = connection.adbc_get_table_schema("dvf")
    assert columns.field("price_eur").type == pa.float64(), columns
    assert connection.adbc_get_info()["vendor_name"] == "toise"
    assert connection.adbc_get_table_types() == ["TABLE"]

    with connection.cursor() as cursor:
        # A prepared statement with parameters, run twice.
        for least in (1, 100_000):
            cursor.execute("select count(*) from dvf where price_eur >= ?", (least,))
            (counted,) = cursor.fetchone()
            cursor.execute(f"select count(*) from dvf where price_eur >= {least}")
            assert (counted,) == cursor.fetchone()
        # Rows are streamed as Arrow, as pandas and as Polars.
        cursor.execute("select id, property_type, price_eur from dvf order by id")
        table = cursor.fetch_arrow_table()
        cursor.execute("select count(*) from dvf")
        assert table.num_rows == cursor.fetchone()[0] > 0
        cursor.execute("select * from properties limit 5")
        cursor.fetch_arrow_table()
        # Errors have their line and column; only queries are allowed.
        refused("line 2, column 1", lambda: cursor.execute("select 1 from\nnowhere"))
        refused("only queries", lambda: cursor.execute("drop table dvf"))
        refused("only queries", lambda: cursor.execute("copy (select 1) to '/tmp/x.csv'"))
        # A client that disconnects early.
        cursor.execute("select * from range(1, 1000000000000)")
        assert cursor.fetchone() == (1,)
    with connection.cursor() as cursor:
        cursor.execute("select 2")
        assert cursor.fetchall() == [(2,)]

# A query counts once against the rate, however many messages it has.
slowly = {DatabaseOptions.AUTHORIZATION_HEADER.value: f"Bearer {slow_key}"}
with flight.connect(address, db_kwargs=slowly, autocommit=True) as connection:
    for least in range(12):
        with connection.cursor() as cursor:
            cursor.execute("select count(*) from dvf where price_eur >= ?", (least * 1_000,))
            cursor.fetchall()

by_class = "select property_type, count(*) as sales from dvf group by 1 order by 1"
try:
    import pandas
except ImportError:
    print("skipped: pandas is not installed")
else:
    with flight.connect(address, db_kwargs=BEARER, autocommit=True) as connection:
        frame = pandas.read_sql(by_class, connection)
        assert list(frame.columns) == ["property_type", "sales"]
        assert frame["sales"].sum() > 0
        print("pandas:", len(frame), "rows")
try:
    import polars
except ImportError:
    print("skipped: Polars is not installed")
else:
    with flight.connect(address, db_kwargs=BEARER, autocommit=True) as connection:
        frame = polars.read_database(by_class, connection)
        assert frame.columns == ["property_type", "sales"]
        assert frame["sales"].sum() > 0
        print("Polars:", len(frame), "rows")
print("passed")
