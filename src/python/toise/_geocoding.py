"""Tables for the geocoder: the columns that are read are sent under names of their own, so that results never mix with
columns of the table, and results come back as numbers and texts.
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
"""Columns of results that are numbers; all others are text, postal codes included."""


@dataclass(frozen=True)
class FileOptions:
    """Which columns of a file or table are read, and which results are written.

    Attributes:
        columns: columns joined to the address, in order; all of them if there are none here.
        result_columns: results to write, such as `result_confidence`; the usual ones if there are none here.
        postcode, citycode, type: columns with what the result of a row must be.
        lat, lon: columns of a position: to prefer results near it, or to reverse.
        reverse: whether positions are looked up.
        encoding, delimiter: of a file, where they are not to be detected.
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
        """The operation, as paths and pipelines name it."""
        return "reverse" if self.reverse else "search"

    def fields(self) -> dict[str, Any]:
        """The fields of a form."""
        made: dict[str, Any] = {}
        for name in ("columns", "result_columns"):
            if getattr(self, name):
                made[name] = list(getattr(self, name))
        for name in ("postcode", "citycode", "type", "lat", "lon", "encoding", "delimiter"):
            if getattr(self, name) is not None:
                made[name] = getattr(self, name)
        return made

    def pipeline(self) -> dict[str, Any]:
        """The body that describes a project."""
        return {"operation": self.operation, **self.fields()}

    def read(self, names: Iterable[str]) -> list[str]:
        """The columns of a table that are read, without repetition."""
        filters = [self.postcode, self.citycode, self.type, self.lat, self.lon]
        columns = list(self.columns) or ([] if self.reverse else list(names))
        return list(dict.fromkeys([*columns, *(name for name in filters if name is not None)]))


@dataclass(frozen=True)
class SentTable:
    """Rows as the file that is sent.

    Attributes:
        data: the file.
        options: the options with the names of its columns.
        width: how many columns it has.
    """

    data: bytes
    options: FileOptions
    width: int

    @staticmethod
    def of(rows: Sequence[Mapping[str, Any]], options: FileOptions) -> SentTable:
        """The columns of `rows` that are read. Columns are those of the first row."""
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
        """The results of each row."""
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
    """The rows of a pandas or Polars frame, with the columns that are read."""
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
    """The frame with the results beside its rows."""
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
