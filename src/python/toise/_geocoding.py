"""Tables for the geocoder. Columns are sent under other names, so that results are never confused with columns of the
table. Results are returned as numbers and texts.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeVar, cast

from .tables import to_csv

__all__ = ["FileOptions", "SentTable", "frame_rows", "with_columns"]

FrameT = TypeVar("FrameT")
NUMBERS: Final = frozenset({
    "latitude",
    "longitude",
    "result_score",
    "result_score_next",
    "result_latitude",
    "result_longitude",
    "result_distance",
    "result_uncertainty_m",
})
"""Result columns that are numbers; all others are text, postal codes included."""


@dataclass(frozen=True)
class FileOptions:
    """The columns of a file or table to read, and the results to write.

    Attributes:
        columns: columns that are joined to form the address, in order; all columns if empty.
        result_columns: results to write, such as `result_confidence`; the default ones if empty.
        postcode, citycode, type: columns with filters for the result of a row.
        lat, lon: columns of a position, near which results are preferred, or which is reversed.
        reverse: whether to find addresses for positions.
        encoding, delimiter: those of the file, if they should not be detected.
    """

    columns: Sequence[str] = ()
    result_columns: Sequence[str] = ()
    postcode: str | None = None
    citycode: str | None = None
    type: str | None = None
    lat: str | None = None
    lon: str | None = None
    reverse: bool = False
    encoding: str | None = None
    delimiter: str | None = None

    @property
    def operation(self) -> Literal["search", "reverse"]:
        """The name of the operation in paths and pipelines."""
        return "reverse" if self.reverse else "search"

    def fields(self) -> dict[str, Any]:
        """Returns the fields of the form."""
        made: dict[str, Any] = {}
        for name in ("columns", "result_columns"):
            if getattr(self, name):
                made[name] = list(getattr(self, name))
        for name in ("postcode", "citycode", "type", "lat", "lon", "encoding", "delimiter"):
            if getattr(self, name) is not None:
                made[name] = getattr(self, name)
        return made

    def pipeline(self) -> dict[str, Any]:
        """Returns the body that sets the pipeline of a project."""
        return {"operation": self.operation, **self.fields()}

    def read(self, names: Iterable[str]) -> list[str]:
        """Returns the columns of a table that are read, each once."""
        filters = [self.postcode, self.citycode, self.type, self.lat, self.lon]
        columns = list(self.columns) or ([] if self.reverse else list(names))
        return list(dict.fromkeys([*columns, *(name for name in filters if name is not None)]))


@dataclass(frozen=True)
class SentTable:
    """Rows as a file to send.

    Attributes:
        data: the file.
        options: the options with the names of its columns.
        width: number of its columns.
    """

    data: bytes
    options: FileOptions
    width: int

    @staticmethod
    def of(rows: Sequence[Mapping[str, Any]], options: FileOptions) -> SentTable:
        """Builds the file from the columns of `rows` that are read. The first row determines the columns."""
        names = options.read(rows[0] if rows else ())
        sent = {name: f"sent_{number}" for number, name in enumerate(names)}
        renamed = ({sent[name]: row.get(name) for name in names} for row in rows)
        filters: dict[str, Any] = {
            name: sent[getattr(options, name)]
            for name in ("postcode", "citycode", "type", "lat", "lon")
            if getattr(options, name) is not None
        }
        columns = [sent[name] for name in options.columns or ([] if options.reverse else names)]
        changed = replace(options, columns=columns, encoding="utf-8", delimiter=",", **filters)
        return SentTable(to_csv(renamed, list(sent.values())), changed, len(names))

    def results(self, answer: bytes) -> list[dict[str, Any]]:
        """Returns the results of each row."""
        reader = csv.reader(io.StringIO(answer.decode("utf-8-sig"), newline=""))
        names = next(reader)[self.width :]
        return [
            {name: _value(name, cell) for name, cell in zip(names, row[self.width :], strict=True)}
            for row in reader
        ]


def _value(name: str, cell: str) -> float | str | None:
    if not cell:
        return None
    return float(cell) if name in NUMBERS else cell


def _library(frame: object) -> str:
    return type(frame).__module__.split(".")[0]


def frame_rows(frame: Any, options: FileOptions) -> list[dict[str, Any]]:
    """Returns the rows of a pandas or Polars frame, with the columns that are read."""
    match _library(frame):
        case "pandas":
            names = options.read(map(str, frame.columns))
            read = frame[names].astype(object)
            return cast("list[dict[str, Any]]", read.where(frame[names].notna(), None).to_dict("records"))
        case "polars":
            return cast("list[dict[str, Any]]", frame.select(options.read(frame.columns)).to_dicts())
        case other:
            raise TypeError(f"must be a frame of pandas or Polars, not of {other}")


def with_columns(frame: FrameT, results: Sequence[Mapping[str, Any]], prefix: str) -> FrameT:
    """Returns the frame with columns of results added."""
    whole = cast(Any, frame)
    names = list(results[0]) if results else []
    columns = {prefix + name: [row[name] for row in results] for name in names}
    taken = sorted(set(map(str, whole.columns)) & set(columns))
    if taken:
        raise ValueError(f"the frame has {', '.join(taken)} already: give a prefix")
    if _library(frame) == "pandas":
        import pandas

        added = pandas.DataFrame(columns, index=whole.index)
        return cast(FrameT, pandas.concat([whole, added], axis=1))
    import polars

    types = {name: polars.Float64 if name.removeprefix(prefix) in NUMBERS else polars.String for name in columns}
    return cast(FrameT, whole.hstack(polars.DataFrame(columns, schema=types)))
