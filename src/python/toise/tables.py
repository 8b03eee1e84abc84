"""Records as tables: Arrow, pandas and Polars, whichever is installed.

Columns are named as in SQL: the path of a field in snake case, so that `habitation.surface.total` of a property is the
column `habitation_surface_total`. Lists, such as the adverts of a property, stay one column. Records that lack a field
have null there.

Needs `pip install 'toise[arrow]'`, `'toise[pandas]'` or `'toise[polars]'`; a missing package is named when it is first
needed.
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
    """The column of a field: `["habitation", "roomCount"]` is `habitation_room_count`."""
    return "_".join(_HUMP.sub("_", part).lower() for part in path)


def flattened(record: Mapping[str, Any]) -> dict[str, Any]:
    """One record with the fields of records within it as columns of its own; lists are kept as they are.

    A GeoJSON feature gives its properties, and `lon` and `lat`.
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
    """Records as an Arrow table. Numbers that are whole in one record and not in another become floats."""
    import pyarrow

    rows = [flattened(record) for record in records]
    # In the order in which they are first seen: an Arrow table made of rows would take those of the first row only.
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pyarrow.table({name: pyarrow.array([row.get(name) for row in rows]) for name in names})


def to_pandas(records: Iterable[Mapping[str, Any]]) -> pandas.DataFrame:
    """Records as a pandas frame."""
    import pandas

    return pandas.DataFrame([flattened(record) for record in records])


def to_polars(records: Iterable[Mapping[str, Any]]) -> polars.DataFrame:
    """Records as a Polars frame. Types follow from all records, not from the first ones."""
    import polars

    rows = [flattened(record) for record in records]
    # Not strict, since JSON writes a price now as 2400 and now as 2412.5: whole numbers become floats then.
    return polars.DataFrame(rows, infer_schema_length=None, strict=False)


def to_csv(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> bytes:
    """The given columns of rows as CSV in UTF-8; what is missing is empty."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row.get(column)) for column in columns])
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    """A value as a cell: null is empty, and whole numbers that a missing neighbour made floats are whole again."""
    if isinstance(value, float):
        return "" if math.isnan(value) else int(value) if value.is_integer() else value
    return "" if value is None else value
