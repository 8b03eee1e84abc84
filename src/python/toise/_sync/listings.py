# Made from _async/listings.py by src/python/generate.py; change that file instead.
"""Properties and adverts."""

from __future__ import annotations

import time
from collections.abc import Iterable
from time import monotonic
from typing import Any, Final, Literal, cast

from .. import types
from .._pages import Page, page_size, parts
from .._requests import Request, new_key
from ..errors import StillCollecting
from .alerts import AdvertAlerts, PropertyAlerts
from .pages import Pages
from .transport import Transport

__all__ = ["Adverts", "Properties"]

ROOT: Final = "/v2/protected"
PAGE_MAX: Final = 100
LITE_PAGE_MAX: Final = 25
IDS_MAX: Final = 100
COLLECT_WAIT_S: Final = 120.0
"""Default maximum wait for the collection of a page."""
COLLECT_TIMEOUT_S: Final = 75.0
"""The service answers a call for a listing's URL within 45 s."""


Reason = Literal[
    "STILL_ONLINE", "NOT_ONLINE_ANYMORE", "WRONG_DATA", "WRONG_LOCATION", "DUPLICATE", "WRONG_AGENCY", "OTHER"
]
"""The reason of a report."""


class _Listings:
    """The calls that properties and adverts have in common."""

    def __init__(self, transport: Transport, kind: str) -> None:
        self._transport = transport
        self._root = f"{ROOT}/{kind}"

    def _by_url(self, url: str, wait_s: float, key: str | None) -> Any:
        end_s = monotonic() + wait_s
        request = Request(
            "GET",
            f"{self._root}/url",
            query={"url": url},
            idempotency_key=key or new_key(),
            timeout_s=COLLECT_TIMEOUT_S,
        )
        while True:
            answer = self._transport.send(request)
            data = answer.json()["data"]
            if answer.status_code != 202:
                return data
            pause_s = float(data["retry_after_s"])
            if monotonic() + pause_s > end_s:
                raise StillCollecting(pause_s)
            time.sleep(pause_s)

    def check(
        self, flx_id: str, *, idempotency_key: str | None = None
    ) -> types.AdvertsCheckAnswerData:
        """Schedules a check of the pages of a record. Costs one credit. Read the record again some minutes later."""
        request = Request.billed(f"{self._root}/{flx_id}/check", None, idempotency_key)
        return cast(types.AdvertsCheckAnswerData, self._transport.data(request))

    def report(
        self, flx_id: str, reason: Reason, comment: str | None = None
    ) -> types.AdvertsReportAnswerData:
        """Reports that a record is wrong. `OTHER` needs a comment."""
        body = {"reason": reason} | ({} if comment is None else {"comment": comment})
        request = Request.change("POST", f"{self._root}/{flx_id}/report", body)
        return cast(types.AdvertsReportAnswerData, self._transport.data(request))


class Properties(_Listings):
    """Properties: one per asset, merged from the adverts of all portals."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport, "properties")
        self.alerts = PropertyAlerts(transport)

    def search(
        self,
        filter: types.FilterProperty | None = None,
        *,
        keywords: Iterable[str] = (),
        full_texts: Iterable[str] = (),
        sort_by: types.EnumSearchRequestSortBy = "LAST_SEEN_AT",
        order_by: types.EnumSearchRequestOrderBy = "DESC",
        limit: int | None = None,
    ) -> Pages[types.Property]:
        """Finds the properties that pass a filter, page by page. No record is returned twice, even if others change.

        Args:
            filter: conditions that must all hold.
            keywords: words that must all occur in title, description or tags.
            full_texts: texts of which at least one must match, with typing errors and inflections allowed.
            sort_by: the value to sort by.
            order_by: ascending or descending.
            limit: maximum number of records; None for all.
        """
        return self._search("search", _query(filter, keywords, full_texts), sort_by, order_by, limit, PAGE_MAX)

    def search_lite(
        self,
        filter: types.LiteFilterProperty | None = None,
        *,
        keywords: Iterable[str] = (),
        full_texts: Iterable[str] = (),
        sort_by: types.EnumSearchRequestSortBy = "LAST_SEEN_AT",
        order_by: types.EnumSearchRequestOrderBy = "DESC",
        limit: int | None = None,
    ) -> Pages[types.LiteProperty]:
        """Like `search`, with only the few fields that a list shows."""
        query = _query(filter, keywords, full_texts)
        return self._search("search/lite", query, sort_by, order_by, limit, LITE_PAGE_MAX)

    def _search(
        self, path: str, query: Any, sort_by: str, order_by: str, limit: int | None, size_max: int
    ) -> Pages[Any]:
        body = {
            "search": query,
            "sortBy": sort_by,
            "orderBy": order_by,
            "size": page_size(limit, size_max),
        }

        def fetch(cursor: str | None) -> Page[Any]:
            asked = body if cursor is None else {**body, "searchAfterHash": cursor}
            data = self._transport.data(Request.question(f"{self._root}/{path}", asked))
            return Page(data["items"], data.get("searchAfterHash"), data["count"])

        return Pages(fetch, limit)

    def count(
        self,
        filter: types.FilterProperty | None = None,
        *,
        keywords: Iterable[str] = (),
        full_texts: Iterable[str] = (),
    ) -> int:
        """Returns the number of properties that a search finds."""
        body = {"search": _query(filter, keywords, full_texts)}
        data = self._transport.data(Request.question(f"{self._root}/search/count", body))
        return int(data["count"])

    def analytics(
        self,
        studied: types.EnumStudiedData,
        filter: types.FilterProperty | None = None,
        *,
        keywords: Iterable[str] = (),
        full_texts: Iterable[str] = (),
    ) -> types.AnalyticsPropertySearchAnswerData:
        """Returns minimum, maximum, mean, quartiles, deviation and histogram of the properties that a search finds."""
        body = {"search": _query(filter, keywords, full_texts), "studiedData": studied}
        request = Request.question(f"{ROOT}/analytics/property/search", body)
        return cast(types.AnalyticsPropertySearchAnswerData, self._transport.data(request))

    def get(self, flx_id: str) -> types.Property:
        """Returns one property. Costs one credit."""
        return cast(types.Property, self._transport.data(Request.get(f"{self._root}/{flx_id}")))

    def get_by_advert(self, advert_flx_id: str) -> types.Property:
        """Returns the property that contains an advert. Costs one credit."""
        request = Request.get(f"{self._root}/advert/{advert_flx_id}")
        return cast(types.Property, self._transport.data(request))

    def get_many(
        self, flx_ids: Iterable[str], *, idempotency_key: str | None = None
    ) -> list[types.Property]:
        """Returns properties by identifier, in the given order; unknown ones are left out. Costs one credit each."""
        found: list[types.Property] = []
        for number, part in enumerate(parts(list(flx_ids), IDS_MAX)):
            key = None if idempotency_key is None else f"{idempotency_key}-{number}"
            request = Request.billed(f"{self._root}/_many", {"flxIds": list(part)}, key)
            found += self._transport.data(request)
        return found

    def similar(
        self, flx_id: str, size: int = 10, *, filter: types.FilterProperty | None = None
    ) -> list[types.Property]:
        """Returns properties of the same class and offer near a property, the most similar first."""
        body: dict[str, Any] = {"flxId": flx_id, "similarityStrategy": "SEARCH", "size": size}
        if filter is not None:
            body["filterProperty"] = filter
        request = Request.question(f"{self._root}/similars", body)
        return cast(list[types.Property], self._transport.data(request))

    def by_url(
        self, url: str, *, wait_s: float = COLLECT_WAIT_S, idempotency_key: str | None = None
    ) -> types.Property:
        """Returns the property of a listing's URL, collected from its portal if needed. Costs one credit.

        Raises:
            PageRejected: the page gives no listing; do not request it again.
            StillCollecting: the page is not collected after `wait_s`; calls cost nothing until it is.
        """
        return cast(types.Property, self._by_url(url, wait_s, idempotency_key))


class Adverts(_Listings):
    """Adverts: one per listing of a portal. They are found by identifier, by URL and through alerts."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport, "adverts")
        self.alerts = AdvertAlerts(transport)

    def get(self, flx_id: str) -> types.Advert:
        """Returns one advert."""
        return cast(types.Advert, self._transport.data(Request.get(f"{self._root}/{flx_id}")))

    def by_url(
        self, url: str, *, wait_s: float = COLLECT_WAIT_S, idempotency_key: str | None = None
    ) -> types.Advert:
        """Returns the advert of a URL, collected from its portal if needed. Like `Properties.by_url`."""
        return cast(types.Advert, self._by_url(url, wait_s, idempotency_key))


def _query(filter: object, keywords: Iterable[str], full_texts: Iterable[str]) -> dict[str, Any]:
    query: dict[str, Any] = {"filterProperty": filter or {}}
    for name, words in (("keywords", list(keywords)), ("fullTexts", list(full_texts))):
        if words:
            query[name] = words
    return query
