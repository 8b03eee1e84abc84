"""A page of records, and the cursor for the next one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Page(Generic[T]):
    """Some records of a response.

    Attributes:
        items: the records.
        cursor: where the next page starts; None if there is none.
        total: number of all records; None if they are not counted.
    """

    items: list[T]
    cursor: str | None = None
    total: int | None = None

    @staticmethod
    def skipping(items: list[T], cursor: str | None, take: int) -> Page[T]:
        """Returns a page of a list that is read with `skip` and `take`; the cursor is the number of earlier records."""
        is_last = len(items) < take
        return Page(items, None if is_last else str(int(cursor or 0) + len(items)))


def page_size(limit: int | None, size_max: int) -> int:
    """Returns the number of records to request at a time: no more than are wanted."""
    return size_max if limit is None else max(1, min(limit, size_max))


def parts(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Iterates over consecutive parts of a list, each of at most `size` items."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
