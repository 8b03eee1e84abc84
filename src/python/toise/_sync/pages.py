# Made from _async/pages.py by src/python/generate.py; change that file instead.
"""Answers that come in pages, as one iterator of records."""

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

    Nothing is asked before the first record is wanted. Iterating again asks again.

    Args:
        fetch: the page behind a cursor; the first one behind None.
        limit: most records given; None for all.
    """

    def __init__(self, fetch: Callable[[str | None], Page[T]], limit: int | None) -> None:
        self._fetch = fetch
        self._limit = limit
        self._first: Page[T] | None = None

    def pages(self) -> Iterator[list[T]]:
        """The pages as lists of records."""
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
        # The first page may be here already, because the total was asked for. It is given once.
        first, self._first = self._first, None
        return first if first is not None else self._fetch(None)

    def __iter__(self) -> Iterator[T]:
        for items in self.pages():
            for item in items:
                yield item

    def total(self) -> int | None:
        """How many records match in all, whatever the limit; None where the service does not count them."""
        if self._first is None:
            self._first = self._fetch(None)
        return self._first.total

    def records(self) -> list[T]:
        """All records as a list."""
        return [record for record in self]

    def to_arrow(self) -> pyarrow.Table:
        """All records as an Arrow table; `toise.tables` says how columns are named."""
        return tables.to_arrow(self._rows())

    def to_pandas(self) -> pandas.DataFrame:
        """All records as a pandas frame."""
        return tables.to_pandas(self._rows())

    def to_polars(self) -> polars.DataFrame:
        """All records as a Polars frame."""
        return tables.to_polars(self._rows())

    def _rows(self) -> list[Mapping[str, Any]]:
        return cast("list[Mapping[str, Any]]", self.records())
