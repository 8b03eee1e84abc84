"""Reads tables of toise with common programs of data teams, and prints the results of each as one JSON object.

    read.py LAKE TABLE VERSION

LAKE is the folder of the tables, VERSION a former version of TABLE. A program that is not installed is left out, and
the caller reports it. Every reader returns the number of rows. If it can, it also returns the rows north of a latitude,
for which it may skip files by their statistics, and the rows of the former version.
"""

import importlib
import json
import shutil
import sys
import tempfile
from pathlib import Path

NORTH = 46.5


def of_pandas(folder, version):
    import pandas

    return {"rows": len(pandas.read_parquet(folder))}


def of_pyarrow(folder, version):
    import pyarrow.dataset

    dataset = pyarrow.dataset.dataset(folder)
    return {"rows": dataset.count_rows(), "rows_north": dataset.count_rows(pyarrow.dataset.field("lat") > NORTH)}


def of_duckdb(folder, version):
    import duckdb

    files = f"read_parquet('{folder}/*.parquet', union_by_name = true)"
    count = f"select count(*), count(*) filter (lat > {NORTH}) from {files}"
    rows, north = duckdb.connect().sql(count).fetchall()[0]
    return {"rows": rows, "rows_north": north}


def of_polars(folder, version):
    import polars

    now, then = polars.scan_delta(folder), polars.scan_delta(folder, version=version)
    # Every column is read, lists and structs too.
    return {
        "rows": now.collect().height,
        "rows_north": now.filter(polars.col("lat") > NORTH).collect().height,
        "rows_of_the_former_version": then.collect().height,
    }


def of_deltalake(folder, version):
    import deltalake
    import pyarrow
    import pyarrow.dataset

    now, then = deltalake.DeltaTable(folder), deltalake.DeltaTable(folder, version=version)
    north = now.to_pyarrow_dataset().to_table(filter=pyarrow.dataset.field("lat") > NORTH)
    return {
        "rows": now.to_pyarrow_dataset().to_table().num_rows,
        "rows_north": north.num_rows,
        "rows_of_the_former_version": then.to_pyarrow_dataset().to_table().num_rows,
        "version": now.version(),
        "rows_by_statistics": sum(pyarrow.table(now.get_add_actions()).column("num_records").to_pylist()),
        "history": [entry["version"] for entry in now.history()],
    }


def of_pyiceberg(folder, version):
    import pyarrow.dataset
    from pyiceberg.catalog import load_catalog

    files = pyarrow.dataset.dataset(folder)
    with tempfile.TemporaryDirectory() as warehouse:
        catalog = load_catalog(
            "toise", type="sql", uri=f"sqlite:///{warehouse}/catalog.db", warehouse=f"file://{warehouse}"
        )
        catalog.create_namespace("toise")
        table = catalog.create_table("toise.table", schema=files.schema)
        table.add_files(files.files)
        return {"rows": table.scan().to_arrow().num_rows}


def of_pyspark(folder, version):
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    # It listens only on this machine.
    for name in ("spark.driver.host", "spark.driver.bindAddress"):
        session = session.config(name, "127.0.0.1")
    with session.getOrCreate() as spark:
        rows = spark.read.parquet(folder)
        return {"rows": rows.count(), "rows_north": rows.filter(rows.lat > NORTH).count()}


READERS = {
    "pandas": of_pandas,
    "pyarrow": of_pyarrow,
    "duckdb": of_duckdb,
    "polars": of_polars,
    "deltalake": of_deltalake,
    "pyiceberg": of_pyiceberg,
    "pyspark": of_pyspark,
}

NEEDED = {
    "pandas": ["pandas", "pyarrow"],
    "polars": ["polars", "deltalake"],
    "deltalake": ["deltalake", "pyarrow"],
    "pyiceberg": ["pyiceberg", "pyarrow", "sqlalchemy"],
}


def main():
    lake, table, version = sys.argv[1:]
    folder = str(Path(lake) / table)
    saw = {}
    for name, reader in READERS.items():
        needed = NEEDED.get(name, [name])
        try:
            for module in needed:
                importlib.import_module(module)
        except ImportError:
            continue
        if name == "pyspark" and not shutil.which("java"):
            continue
        saw[name] = reader(folder, int(version))
    print(json.dumps(saw))


main()
