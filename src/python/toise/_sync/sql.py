# Made from _async/sql.py by src/python/generate.py; change that file instead.
"""SQL over HTTP: a read-only query, its rows as Arrow, as dictionaries or as a file."""

from __future__ import annotations

import json
import pathlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, Final, cast

from .._requests import Request
from .transport import Transport

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["Sql"]

PATH: Final = "/v2/protected/sql"
MEDIA_TYPES: Final = {
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
    "csv": "text/csv",
    "ndjson": "application/x-ndjson",
    "json": "application/json",
}
"""Formats of a response, which are also file extensions."""
MEMORY_BYTES_MAX: Final = 64 << 20
"""Maximum bytes of an Arrow response in memory; a longer one goes through a temporary file."""
BLOCK_BYTES: Final = 1 << 20
QUERY_TIMEOUT_S: Final = 150.0
"""A query may take two minutes before it sends its first byte (`sql.time_s`)."""


class Sql:
    """A query that was not run yet. Each method runs it once. Needs a key with the scope `sql`.

    Args:
        transport: connections to the service.
        query: one read-only statement.
        parameters: values of `$1` (a list) or of `$name` (a dictionary).
        limits: limits of this query, lower than those of the key: `rows`, `bytes`, `memory_mib`, `time_s`.
        is_compressed: whether the service compresses Arrow (zstd): fewer bytes, more computation.
    """

    def __init__(
        self,
        transport: Transport,
        query: str,
        parameters: Sequence[Any] | Mapping[str, Any] | None = None,
        limits: Mapping[str, int] | None = None,
        is_compressed: bool = False,
    ) -> None:
        self._transport = transport
        self._body: dict[str, Any] = {"query": query}
        if parameters is not None:
            is_named = isinstance(parameters, Mapping)
            self._body["parameters"] = dict(parameters) if is_named else list(parameters)
        if limits:
            self._body["limits"] = dict(limits)
        self._is_compressed = is_compressed

    def _request(self, form: str) -> Request:
        body = {**self._body, "format": form}
        if self._is_compressed and form == "arrow":
            body["compression"] = "zstd"
        return Request("POST", PATH, body, headers={"accept": MEDIA_TYPES[form]}, timeout_s=QUERY_TIMEOUT_S)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterates over the rows as dictionaries, while they arrive."""
        with self._transport.stream(self._request("ndjson")) as answer:
            for line in answer.iter_lines():
                if line:
                    yield json.loads(line)

    def rows(self) -> list[dict[str, Any]]:
        """Returns all rows as dictionaries."""
        return [row for row in self]

    def batches(self) -> Iterator[pyarrow.RecordBatch]:
        """Iterates over the rows as Arrow record batches, in bounded memory."""
        import pyarrow.ipc

        with tempfile.SpooledTemporaryFile(max_size=MEMORY_BYTES_MAX) as spool:
            self._copy("arrow", cast(IO[bytes], spool))
            spool.seek(0)
            with pyarrow.ipc.open_stream(spool) as reader:
                for batch in reader:
                    yield batch

    def to_arrow(self) -> pyarrow.Table:
        """Returns all rows as an Arrow table; it has the columns even if there are no rows."""
        import pyarrow.ipc

        with tempfile.SpooledTemporaryFile(max_size=MEMORY_BYTES_MAX) as spool:
            self._copy("arrow", cast(IO[bytes], spool))
            spool.seek(0)
            with pyarrow.ipc.open_stream(spool) as reader:
                return reader.read_all()

    def to_pandas(self) -> pandas.DataFrame:
        """Returns all rows as a pandas frame."""
        return cast("pandas.DataFrame", (self.to_arrow()).to_pandas())

    def to_polars(self) -> polars.DataFrame:
        """Returns all rows as a Polars frame."""
        import polars

        return cast("polars.DataFrame", polars.from_arrow(self.to_arrow()))

    def save(self, path: str | pathlib.Path, form: str | None = None) -> pathlib.Path:
        """Writes all rows to a file, which appears once it is complete.

        Args:
            path: the file; its extension gives the format.
            form: `parquet`, `csv`, `ndjson`, `json` or `arrow`, if the extension does not give it.
        """
        path = pathlib.Path(path)
        form = form or path.suffix.removeprefix(".")
        if form not in MEDIA_TYPES:
            raise ValueError(f"{form or path}: must be one of {', '.join(MEDIA_TYPES)}")
        part = path.with_name(path.name + ".part")
        try:
            with part.open("wb") as file:
                self._copy(form, file)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        return path

    def _copy(self, form: str, target: IO[bytes]) -> None:
        with self._transport.stream(self._request(form)) as answer:
            for block in answer.iter_bytes(BLOCK_BYTES):
                target.write(block)
