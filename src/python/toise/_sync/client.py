# Made from _async/client.py by src/python/generate.py; change that file instead.
"""The client: one object per service and key, with what can be asked in groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from types import TracebackType
from typing import Any, Final, cast

import httpx

from .. import _requests, types
from .._pages import parts
from .._requests import ANSWER_TIMEOUT_S, Request, Retries
from ..errors import ItemError
from .admin import Admin
from .geocoding import Geocoding
from .listings import Adverts, Properties
from .open_data import Diagnostics, Sales
from .sql import Sql
from .transport import Transport

__all__ = ["Client"]

ROOT: Final = "/v2/protected"
HOMES_MAX: Final = 1000


class Client:
    """An blocking client. Close it, or use it in a `with` statement.

    Args:
        url: address of the service; else `TOISE_URL`, else that of a demo.
        key: API key; else `TOISE_KEY`. Without one only what is public can be asked.
        geocoding_url: where the geocoder answers, if not under the address of the service.
        timeout_s: seconds between two pieces of an answer.
        retries: when a request is sent again.
        http: connections of your own, for a proxy or a test; they need the address and the key, and stay open.

    Attributes:
        properties: search, read, collect, check and report properties, and alerts on them.
        adverts: the same for adverts, but for search.
        sales: recorded sales.
        diagnostics: energy diagnostics.
        geocoding: addresses.
        admin: what operators do.
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
        """Closes the connections, unless they were given."""
        if self._is_own:
            self._http.close()

    def estimate(
        self, home: types.EstimateRequest, *, idempotency_key: str | None = None
    ) -> types.Estimate:
        """The value of a home (`toise.home` makes one of keywords). Costs one credit, however often it is retried.

        Args:
            home: the home.
            idempotency_key: under which the same call within 24 hours costs nothing more; a new one by default.
        """
        request = Request.billed(f"{ROOT}/estimate/property/lite", home, idempotency_key)
        return cast(types.Estimate, self._transport.data(request))

    def estimate_many(
        self, homes: Sequence[types.EstimateRequest], *, idempotency_key: str | None = None
    ) -> list[types.Estimate | ItemError]:
        """The values of any number of homes, in order. A home that cannot be valued has its error in its place."""
        values: list[types.Estimate | ItemError] = []
        for number, part in enumerate(parts(homes, HOMES_MAX)):
            key = None if idempotency_key is None else f"{idempotency_key}-{number}"
            request = Request.billed(f"{ROOT}/estimate/property/lite/_many", {"items": list(part)}, key)
            for answer in self._transport.data(request):
                error = answer.get("error")
                values.append(answer if error is None else ItemError.of(len(values), error))
        return values

    def market(
        self, request: types.AnalyticsMarketRequest
    ) -> list[types.AnalyticsMarketAnswerDataItem]:
        """Market indicators, one row for each place, class and period: prices, index, stock, rents."""
        asked = Request.question(f"{ROOT}/analytics/market", request)
        return cast(list[types.AnalyticsMarketAnswerDataItem], self._transport.data(asked))

    def sql(
        self,
        query: str,
        parameters: Sequence[Any] | Mapping[str, Any] | None = None,
        *,
        limits: Mapping[str, int] | None = None,
        is_compressed: bool = False,
    ) -> Sql:
        """A read-only query, to be run by the methods of what this gives. Needs the scope `sql`.

        Args:
            query: one statement.
            parameters: values of `$1` (a list) or of `$name` (a dictionary).
            limits: `rows`, `bytes`, `memory_mib` and `time_s`, below those of the key.
            is_compressed: whether Arrow leaves the service compressed (zstd), for slow networks.
        """
        return Sql(self._transport, query, parameters, limits, is_compressed)

    def consumption(
        self, from_date: date | str | None = None, to_date: date | str | None = None
    ) -> types.Consumption:
        """Credits and calls of the key's account, by type; both days are included, the current month by default."""
        request = Request.get(f"{ROOT}/consumption", **_days(from_date, to_date))
        return cast(types.Consumption, self._transport.data(request))

    def consumption_by_day(
        self, from_date: date | str | None = None, to_date: date | str | None = None
    ) -> list[types.DayUsage]:
        """As `consumption`, day by day; at most 366 days. Days without any are left out."""
        request = Request.get(f"{ROOT}/consumption/days", **_days(from_date, to_date))
        return cast(list[types.DayUsage], self._transport.data(request))

    def portals(self) -> list[str]:
        """The portals whose listings can be collected."""
        return cast(list[str], self._transport.data(Request.get("/portals")))

    def version(self) -> str:
        """The version of the service."""
        return str((self._transport.data(Request.get("/version")))["version"])

    def is_ready(self) -> bool:
        """Whether the service takes requests; asked once."""
        try:
            return (self._http.get("/healthz")).status_code == 200
        except httpx.TransportError:
            return False


def _days(from_date: date | str | None, to_date: date | str | None) -> dict[str, str | None]:
    """The bounds of a period as parameters."""
    return {
        name: day.isoformat() if isinstance(day, date) else day
        for name, day in (("from_date", from_date), ("to_date", to_date))
    }
