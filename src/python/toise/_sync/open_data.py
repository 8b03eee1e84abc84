# Made from _async/open_data.py by src/python/generate.py; change that file instead.
"""Recorded sales (DVF) and energy diagnostics (DPE): search, match and alerts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Generic, Literal, TypeVar, cast

from .. import types
from .._pages import Page, page_size, parts
from .._requests import Request
from .alerts import DiagnosticAlerts, SaleAlerts
from .pages import Pages
from .transport import Transport

__all__ = ["Diagnostics", "Sales"]

PAGE_MAX: Final = 100
MATCHES_MAX: Final = 1000

FiltersT = TypeVar("FiltersT")
RecordT = TypeVar("RecordT")
MatchFiltersT = TypeVar("MatchFiltersT")
TargetsT = TypeVar("TargetsT")
MatchT = TypeVar("MatchT")
MatchAnswerT = TypeVar("MatchAnswerT")


class OpenData(Generic[FiltersT, RecordT, MatchFiltersT, TargetsT, MatchT, MatchAnswerT]):
    """One open-data table."""

    def __init__(self, transport: Transport, name: str) -> None:
        self._transport = transport
        self._root = f"/v2/protected/opendata/{name}"

    def search(
        self,
        filters: FiltersT | None = None,
        *,
        sort_by: str | None = None,
        sort_order: Literal["asc", "desc"] = "desc",
        limit: int | None = None,
    ) -> Pages[RecordT]:
        """Finds the records that pass all filters, page by page; `total()` is their exact number.

        Args:
            filters: conditions that must all hold.
            sort_by: column to sort by; by default the date, newest first.
            sort_order: ascending or descending.
            limit: maximum number of records; None for all.
        """
        body: dict[str, Any] = {"sortOrder": sort_order, "size": page_size(limit, PAGE_MAX)}
        if filters:
            body["filters"] = filters
        if sort_by is not None:
            body["sortBy"] = sort_by

        def fetch(cursor: str | None) -> Page[RecordT]:
            asked = body if cursor is None else {**body, "cursor": cursor}
            answer = self._transport.send(Request.question(f"{self._root}/search", asked))
            page = answer.json()
            return Page(page["data"], page.get("cursor"), page["total"])

        return Pages(fetch, limit)

    def match(
        self,
        filters: MatchFiltersT | None = None,
        scoring_targets: TargetsT | None = None,
        *,
        size: int = 5,
    ) -> MatchAnswerT:
        """Finds the records that a description may refer to, most likely first.

        Args:
            filters: what you know for certain; other records are left out.
            scoring_targets: what you know roughly; it ranks the candidates.
            size: maximum number of candidates, 1 to 20.
        """
        body: dict[str, Any] = {"size": size}
        if filters:
            body["filters"] = filters
        if scoring_targets:
            body["scoring_targets"] = scoring_targets
        answer = self._transport.send(Request.question(f"{self._root}/match", body))
        return cast(MatchAnswerT, answer.json())

    def match_many(self, descriptions: Sequence[MatchT]) -> list[MatchAnswerT]:
        """Matches any number of descriptions, in order. If one is invalid, all of them are refused."""
        found: list[MatchAnswerT] = []
        for part in parts(descriptions, MATCHES_MAX):
            request = Request.question(f"{self._root}/match/_many", {"items": list(part)})
            found += self._transport.data(request)
        return found


class Diagnostics(
    OpenData[
        types.DpeSearchRequestFilters,
        types.DpeRecord,
        types.DpeMatchRequestFilters,
        types.DpeMatchRequestScoringTargets,
        types.DpeMatchRequest,
        types.DpeMatchAnswer,
    ]
):
    """Energy diagnostics."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport, "dpe")
        self.alerts = DiagnosticAlerts(transport)


class Sales(
    OpenData[
        types.DvfSearchRequestFilters,
        types.DvfRecord,
        types.DvfMatchRequestFilters,
        types.DvfMatchRequestScoringTargets,
        types.DvfMatchRequest,
        types.DvfMatchAnswer,
    ]
):
    """Recorded sales."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport, "dvf")
        self.alerts = SaleAlerts(transport)
