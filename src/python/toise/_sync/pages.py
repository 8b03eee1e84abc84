# Made from _async/pages.py by src/python/generate.py; change that file instead.
"""Paged responses, as one iterator of records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from .. import tables
from .._pages import Page

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    import pandas
    import polars
    import pyarrow

__all__ = ["Pages"]

T = TypeVar("T")


class Pages(Generic[T]):
    """The records of a search, read page by page while they are iterated.

    No request is sent before the first record is read. Iterating again sends the requests again.

    Args:
        fetch: function that returns the page at a cursor; the first page for None.
        limit: maximum number of records; None for all.
    """

    def __init__(self, fetch: Callable[[str | None], Page[T]], limit: int | None) -> None:
        self._fetch = fetch
        self._limit = limit
        self._first: Page[T] | None = None

    def pages(self) -> Iterator[list[T]]:
        """Iterates over the pages as lists of records."""
        left = self._limit
        cursor: str | None = None
        while left is None or left > 0:
            page = self._page(cursor)
            items = page.items if left is None else page.items[:left]
            if items:
                yield items
            left = None if left is None else left - len(items)
            cursor = page.cursor
            if cursor is None:
                return

    def _page(self, cursor: str | None) -> Page[T]:
        if cursor is not None:
            return self._fetch(cursor)
        # The first page may already be loaded, because the total was requested. It is returned once.
        first, self._first = self._first, None
        return first if first is not None else self._fetch(None)

    def __iter__(self) -> Iterator[T]:
        for items in self.pages():
            for item in items:
                yield item

    def total(self) -> int | None:
        """Returns the number of all matching records, whatever the limit; None if the service does not count them."""
        if self._first is None:
            self._first = self._fetch(None)
        return self._first.total

    def records(self) -> list[T]:
        """Returns all records as a list."""
        return [record for record in self]

    def to_arrow(self) -> pyarrow.Table:
        """Returns all records as an Arrow table; `toise.tables` explains the names of columns."""
        return tables.to_arrow(self._rows())

    def to_pandas(self) -> pandas.DataFrame:
        """Returns all records as a pandas frame."""
        return tables.to_pandas(self._rows())

    def to_polars(self) -> polars.DataFrame:
        """Returns all records as a Polars frame."""
        return tables.to_polars(self._rows())

    def _rows(self) -> list[Mapping[str, Any]]:
        return cast("list[Mapping[str, Any]]", self.records())
