# Made from _async/client.py by src/python/generate.py; change that file instead.
"""The client: one object per service and key, with its calls in groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from types import TracebackType
from typing import Any, Final, cast

import httpx

from .. import _requests, types
from .._pages import Page, page_size, parts
from .._requests import ANSWER_TIMEOUT_S, Request, Retries
from ..errors import ItemError
from .admin import Admin
from .areas import Areas
from .geocoding import Geocoding
from .listings import Adverts, Properties
from .open_data import Diagnostics, Sales
from .pages import Pages
from .portfolios import Portfolios
from .reports import Reports
from .sql import Sql
from .transport import Transport

__all__ = ["Client"]

ROOT: Final = "/v2/protected"
HOMES_MAX: Final = 1000
EVENTS_MAX: Final = 100


class Client:
    """An blocking client. Close it, or use it in a `with` statement.

    Args:
        url: URL of the service; by default `TOISE_URL`, else that of a demo.
        key: API key; by default `TOISE_KEY`. Without a key, only public calls work.
        geocoding_url: URL of the geocoder, if it is not under the URL of the service.
        timeout_s: maximum seconds between two pieces of a response.
        retries: the rules for sending a request again.
        http: your own `httpx` client, for a proxy or a test. It must have the URL and the key, and is not closed.

    Attributes:
        properties: searches, reads, collects, checks and reports properties, and manages alerts on them.
        adverts: the same for adverts, except search.
        sales: recorded sales, and alerts on them.
        diagnostics: energy diagnostics, and alerts on them.
        geocoding: addresses.
        areas: polygons that are stored under names, and travel times.
        portfolios: homes that are stored and valued again.
        reports: reports about homes, and their letterhead.
        admin: operators' calls.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        geocoding_url: str | None = None,
        timeout_s: float = ANSWER_TIMEOUT_S,
        retries: Retries = Retries(),
        http: httpx.Client | None = None,
    ) -> None:
        self._is_own = http is None
        self._http = http or httpx.Client(
            base_url=_requests.address(url),
            headers=_requests.headers(key),
            timeout=_requests.timeout(timeout_s),
        )
        geocoding = geocoding_url.rstrip("/") if geocoding_url else "/geocoding"
        self._transport = Transport(self._http, retries, geocoding)
        self.properties = Properties(self._transport)
        self.adverts = Adverts(self._transport)
        self.sales = Sales(self._transport)
        self.diagnostics = Diagnostics(self._transport)
        self.geocoding = Geocoding(self._transport)
        self.areas = Areas(self._transport)
        self.portfolios = Portfolios(self._transport)
        self.reports = Reports(self._transport)
        self.admin = Admin(self._transport)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections, unless you passed your own."""
        if self._is_own:
            self._http.close()

    def estimate(
        self, home: types.EstimateRequest, *, idempotency_key: str | None = None
    ) -> types.Estimate:
        """Returns the value of a home (`toise.home` builds one from keywords). Costs one credit, even if it is retried.

        Args:
            home: the home.
            idempotency_key: the same call with this key costs nothing more for 24 hours; a new key by default.
        """
        request = Request.billed(f"{ROOT}/estimate/property/lite", home, idempotency_key)
        return cast(types.Estimate, self._transport.data(request))

    def estimate_many(
        self, homes: Sequence[types.EstimateRequest], *, idempotency_key: str | None = None
    ) -> list[types.Estimate | ItemError]:
        """Returns the values of any number of homes, in order, with an error for each home without a value."""
        values: list[types.Estimate | ItemError] = []
        for number, part in enumerate(parts(homes, HOMES_MAX)):
            key = None if idempotency_key is None else f"{idempotency_key}-{number}"
            request = Request.billed(f"{ROOT}/estimate/property/lite/_many", {"items": list(part)}, key)
            for answer in self._transport.data(request):
                error = answer.get("error")
                values.append(answer if error is None else ItemError.of(len(values), error))
        return values

    def rent(
        self,
        home: types.EstimateRequest | types.RentRequest,
        *,
        price: float | None = None,
        idempotency_key: str | None = None,
    ) -> types.RentEstimate:
        """Returns the monthly rent of a home, with its interval and the gross yield. Costs one credit.

        Args:
            home: the home (`toise.home` builds one from keywords); its offer is replaced by a rental.
            price: price of the home for the yield, EUR; by default its estimated value.
            idempotency_key: the same call with this key costs nothing more for 24 hours; a new key by default.
        """
        body: dict[str, Any] = {**home, "offer": {"type": "OFFER_RENT"}}
        if price is not None:
            body["price"] = price
        request = Request.billed(f"{ROOT}/estimate/rent", body, idempotency_key)
        return cast(types.RentEstimate, self._transport.data(request))

    def market(
        self, request: types.AnalyticsMarketRequest
    ) -> list[types.AnalyticsMarketAnswerDataItem]:
        """Returns market indicators, one row for each place, class and period: prices, index, stock, rents."""
        asked = Request.question(f"{ROOT}/analytics/market", request)
        return cast(list[types.AnalyticsMarketAnswerDataItem], self._transport.data(asked))

    def parcel(
        self, parcel_id: str, *, limit: int | None = None
    ) -> Pages[types.PlaceHistoryEventsItem]:
        """Returns sales, diagnostics, properties and adverts of a cadastral parcel, oldest first, page by page.

        Args:
            parcel_id: its identifier, 14 characters.
            limit: maximum number of events; None for all.
        """
        return self._history(f"{ROOT}/parcels/{parcel_id}", limit)

    def building(
        self, id_rnb: str, *, limit: int | None = None
    ) -> Pages[types.PlaceHistoryEventsItem]:
        """Returns sales, diagnostics, properties and adverts of a building, oldest first, page by page.

        Args:
            id_rnb: its identifier in the national register of buildings, 12 characters.
            limit: maximum number of events; None for all.
        """
        return self._history(f"{ROOT}/buildings/{id_rnb}", limit)

    def _history(self, path: str, limit: int | None) -> Pages[types.PlaceHistoryEventsItem]:
        def fetch(cursor: str | None) -> Page[types.PlaceHistoryEventsItem]:
            request = Request.get(path, size=page_size(limit, EVENTS_MAX), cursor=cursor)
            page = cast(types.PlaceHistory, self._transport.data(request))
            return Page(page["events"], page.get("cursor"), page["total"])

        return Pages(fetch, limit)

    def sql(
        self,
        query: str,
        parameters: Sequence[Any] | Mapping[str, Any] | None = None,
        *,
        limits: Mapping[str, int] | None = None,
        is_compressed: bool = False,
    ) -> Sql:
        """Creates a read-only query; the methods of the returned object run it. Needs the scope `sql`.

        Args:
            query: one statement.
            parameters: values of `$1` (a list) or of `$name` (a dictionary).
            limits: `rows`, `bytes`, `memory_mib` and `time_s`, lower than those of the key.
            is_compressed: whether the service compresses Arrow (zstd), for slow networks.
        """
        return Sql(self._transport, query, parameters, limits, is_compressed)

    def consumption(
        self, from_date: date | str | None = None, to_date: date | str | None = None
    ) -> types.Consumption:
        """Returns the account's credits and calls by type. Both days are included; by default, the current month."""
        request = Request.get(f"{ROOT}/consumption", **_days(from_date, to_date))
        return cast(types.Consumption, self._transport.data(request))

    def consumption_by_day(
        self, from_date: date | str | None = None, to_date: date | str | None = None
    ) -> list[types.DayUsage]:
        """Like `consumption`, but by day; at most 366 days. Days without consumption are left out."""
        request = Request.get(f"{ROOT}/consumption/days", **_days(from_date, to_date))
        return cast(list[types.DayUsage], self._transport.data(request))

    def layers(self) -> list[types.LayersListAnswerDataItem]:
        """Returns the layers that filters and SQL can name, with their licences and columns."""
        request = Request.get(f"{ROOT}/layers")
        return cast(list[types.LayersListAnswerDataItem], self._transport.data(request))

    def portals(self) -> list[str]:
        """Returns the portals whose listings can be collected."""
        return cast(list[str], self._transport.data(Request.get("/portals")))

    def version(self) -> str:
        """Returns the version of the service."""
        return str((self._transport.data(Request.get("/version")))["version"])

    def is_ready(self) -> bool:
        """Returns whether the service accepts requests. Sends one request, without retries."""
        try:
            return (self._http.get("/healthz")).status_code == 200
        except httpx.TransportError:
            return False


def _days(from_date: date | str | None, to_date: date | str | None) -> dict[str, str | None]:
    """Returns the bounds of a period as query parameters."""
    return {
        name: day.isoformat() if isinstance(day, date) else day
        for name, day in (("from_date", from_date), ("to_date", to_date))
    }
