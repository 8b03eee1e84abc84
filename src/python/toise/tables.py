"""Records as tables: Arrow, pandas and Polars, whichever is installed.

Columns are named as in SQL: the path of a field in snake case, so that `habitation.surface.total` of a property is the
column `habitation_surface_total`. Lists, such as the adverts of a property, stay one column. Records that lack a field
have null there.

Needs `pip install 'toise[arrow]'`, `'toise[pandas]'` or `'toise[polars]'`. The import error of a missing package names
it when it is first needed.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["flattened", "to_arrow", "to_pandas", "to_polars"]

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def column_name(path: Sequence[str]) -> str:
    """Returns the column of a field: `habitation_room_count` for `["habitation", "roomCount"]`."""
    return "_".join(_HUMP.sub("_", part).lower() for part in path)


def flattened(record: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a record with the fields of nested records as separate columns; lists are kept unchanged.

    For a GeoJSON feature, returns its properties, and `lon` and `lat`.
    """
    if record.get("type") == "Feature":
        lon, lat = record["geometry"]["coordinates"][:2]
        return {**flattened(record["properties"]), "lon": lon, "lat": lat}
    row: dict[str, Any] = {}
    waiting: list[tuple[tuple[str, ...], Mapping[str, Any]]] = [((), record)]
    while waiting:
        path, fields = waiting.pop(0)
        for key, value in fields.items():
            if isinstance(value, Mapping):
                waiting.append(((*path, key), value))
            else:
                row[column_name((*path, key))] = value
    return row


def to_arrow(records: Iterable[Mapping[str, Any]]) -> pyarrow.Table:
    """Returns records as an Arrow table. A column with whole and other numbers has floats."""
    import pyarrow

    rows = [flattened(record) for record in records]
    # The names of all rows, in order of first occurrence: `from_pylist` would take only those of the first row.
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pyarrow.table({name: pyarrow.array([row.get(name) for row in rows]) for name in names})


def to_pandas(records: Iterable[Mapping[str, Any]]) -> pandas.DataFrame:
    """Returns records as a pandas frame."""
    import pandas

    return pandas.DataFrame([flattened(record) for record in records])


def to_polars(records: Iterable[Mapping[str, Any]]) -> polars.DataFrame:
    """Returns records as a Polars frame. Types are derived from all records, not only from the first ones."""
    import polars

    rows = [flattened(record) for record in records]
    # Not strict, because JSON may write prices as 2400 and 2412.5: whole numbers then become floats.
    return polars.DataFrame(rows, infer_schema_length=None, strict=False)


def to_csv(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> bytes:
    """Returns the given columns of rows as CSV in UTF-8; missing values are empty."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row.get(column)) for column in columns])
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    """Returns a value as a cell: null is empty, and whole numbers that pandas made floats are whole again."""
    if isinstance(value, float):
        return "" if math.isnan(value) else int(value) if value.is_integer() else value
    return "" if value is None else value
