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
from .admin import AsyncAdmin
from .geocoding import AsyncGeocoding
from .listings import AsyncAdverts, AsyncProperties
from .open_data import AsyncDiagnostics, AsyncSales
from .sql import AsyncSql
from .transport import AsyncTransport

__all__ = ["AsyncClient"]

ROOT: Final = "/v2/protected"
HOMES_MAX: Final = 1000


class AsyncClient:
    """An asynchronous client. Close it, or use it in a `with` statement.

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
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self._is_own = http is None
        self._http = http or httpx.AsyncClient(
            base_url=_requests.address(url),
            headers=_requests.headers(key),
            timeout=_requests.timeout(timeout_s),
        )
        geocoding = geocoding_url.rstrip("/") if geocoding_url else "/geocoding"
        self._transport = AsyncTransport(self._http, retries, geocoding)
        self.properties = AsyncProperties(self._transport)
        self.adverts = AsyncAdverts(self._transport)
        self.sales = AsyncSales(self._transport)
        self.diagnostics = AsyncDiagnostics(self._transport)
        self.geocoding = AsyncGeocoding(self._transport)
        self.admin = AsyncAdmin(self._transport)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections, unless they were given."""
        if self._is_own:
            await self._http.aclose()

    async def estimate(
        self, home: types.EstimateRequest, *, idempotency_key: str | None = None
    ) -> types.Estimate:
        """The value of a home (`toise.home` makes one of keywords). Costs one credit, however often it is retried.

        Args:
            home: the home.
            idempotency_key: under which the same call within 24 hours costs nothing more; a new one by default.
        """
        request = Request.billed(f"{ROOT}/estimate/property/lite", home, idempotency_key)
        return cast(types.Estimate, await self._transport.data(request))

    async def estimate_many(
        self, homes: Sequence[types.EstimateRequest], *, idempotency_key: str | None = None
    ) -> list[types.Estimate | ItemError]:
        """The values of any number of homes, in order. A home that cannot be valued has its error in its place."""
        values: list[types.Estimate | ItemError] = []
        for number, part in enumerate(parts(homes, HOMES_MAX)):
            key = None if idempotency_key is None else f"{idempotency_key}-{number}"
            request = Request.billed(f"{ROOT}/estimate/property/lite/_many", {"items": list(part)}, key)
            for answer in await self._transport.data(request):
                error = answer.get("error")
                values.append(answer if error is None else ItemError.of(len(values), error))
        return values

    async def market(
        self, request: types.AnalyticsMarketRequest
    ) -> list[types.AnalyticsMarketAnswerDataItem]:
        """Market indicators, one row for each place, class and period: prices, index, stock, rents."""
        asked = Request.question(f"{ROOT}/analytics/market", request)
        return cast(list[types.AnalyticsMarketAnswerDataItem], await self._transport.data(asked))

    def sql(
        self,
        query: str,
        parameters: Sequence[Any] | Mapping[str, Any] | None = None,
        *,
        limits: Mapping[str, int] | None = None,
        is_compressed: bool = False,
    ) -> AsyncSql:
        """A read-only query, to be run by the methods of what this gives. Needs the scope `sql`.

        Args:
            query: one statement.
            parameters: values of `$1` (a list) or of `$name` (a dictionary).
            limits: `rows`, `bytes`, `memory_mib` and `time_s`, below those of the key.
            is_compressed: whether Arrow leaves the service compressed (zstd), for slow networks.
        """
        return AsyncSql(self._transport, query, parameters, limits, is_compressed)

    async def consumption(
        self, from_date: date | str | None = None, to_date: date | str | None = None
    ) -> types.Consumption:
        """Credits and calls of the key's account, by type; both days are included, the current month by default."""
        request = Request.get(f"{ROOT}/consumption", **_days(from_date, to_date))
        return cast(types.Consumption, await self._transport.data(request))

    async def consumption_by_day(
        self, from_date: date | str | None = None, to_date: date | str | None = None
    ) -> list[types.DayUsage]:
        """As `consumption`, day by day; at most 366 days. Days without any are left out."""
        request = Request.get(f"{ROOT}/consumption/days", **_days(from_date, to_date))
        return cast(list[types.DayUsage], await self._transport.data(request))

    async def portals(self) -> list[str]:
        """The portals whose listings can be collected."""
        return cast(list[str], await self._transport.data(Request.get("/portals")))

    async def version(self) -> str:
        """The version of the service."""
        return str((await self._transport.data(Request.get("/version")))["version"])

    async def is_ready(self) -> bool:
        """Whether the service takes requests; asked once."""
        try:
            return (await self._http.get("/healthz")).status_code == 200
        except httpx.TransportError:
            return False


def _days(from_date: date | str | None, to_date: date | str | None) -> dict[str, str | None]:
    """The bounds of a period as parameters."""
    return {
        name: day.isoformat() if isinstance(day, date) else day
        for name, day in (("from_date", from_date), ("to_date", to_date))
    }
