"""Alerts: saved searches that post what they match to a webhook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final, Generic, TypeVar, cast

from .. import types
from .._pages import Page, page_size, parts
from .._requests import Request
from ..errors import ItemError
from .pages import AsyncPages
from .transport import AsyncTransport

__all__ = ["AsyncAdvertAlerts", "AsyncDiagnosticAlerts", "AsyncPropertyAlerts", "AsyncSaleAlerts"]

PAGE_MAX: Final = 100
ALERTS_MAX: Final = 100

FilterT = TypeVar("FilterT")
MatchT = TypeVar("MatchT", bound=str)
RecordT = TypeVar("RecordT")
AlertT = TypeVar("AlertT")
PayloadT = TypeVar("PayloadT", bound=Mapping[str, Any])
PreviewT = TypeVar("PreviewT")


class AsyncAlerts(Generic[FilterT, MatchT, RecordT, AlertT, PayloadT, PreviewT]):
    """The alerts of the key's account on one kind of record."""

    def __init__(self, transport: AsyncTransport, kind: str, filter_name: str) -> None:
        self._transport = transport
        self._root = f"/v2/protected/{kind}/search/alerts"
        self._filter_name = filter_name

    async def create(
        self,
        name: str,
        filter: FilterT,
        webhook_url: str,
        *,
        match: Sequence[MatchT] = cast("Sequence[Any]", ("ALERT_MATCH_CREATED",)),
        metadata: Mapping[str, Any] | None = None,
    ) -> str:
        """Saves an alert and returns its identifier. It tests everything that is written from then on.

        Args:
            name: name of the alert.
            filter: conditions of the first match.
            webhook_url: public https address that deliveries are posted to.
            match: kinds of matches to report.
            metadata: repeated in every delivery under `context`.
        """
        payload: dict[str, Any] = {
            "search_query": {self._filter_name: filter},
            "webhook_url": webhook_url,
            "match": list(match),
            "search_name": name,
        }
        if metadata is not None:
            payload["context"] = {"metadata": dict(metadata)}
        data = await self._transport.data(Request.change("PUT", self._root, payload))
        return str(data["alert_id"])

    async def create_many(self, alerts: Sequence[PayloadT]) -> list[str | ItemError]:
        """Saves any number of alerts. Returns, for each in order, its identifier or the reason why it was refused."""
        made: list[str | ItemError] = []
        for part in parts(alerts, ALERTS_MAX):
            request = Request.change("PUT", f"{self._root}/many", {"alerts": list(part)})
            for outcome in (await self._transport.data(request))["alerts"]:
                failed = outcome.get("failed")
                made.append(outcome["success"] if failed is None else ItemError.of(len(made), failed))
        return made

    def all(self, *, limit: int | None = None) -> AsyncPages[AlertT]:
        """Returns the alerts of the account, ended ones included."""
        return self._pages(f"{self._root}/all", limit)

    async def get(self, alert_id: str) -> AlertT:
        """Returns one alert."""
        return cast(AlertT, await self._transport.data(Request.get(f"{self._root}/{alert_id}")))

    async def update(
        self,
        alert_id: str,
        *,
        name: str | None = None,
        filter: FilterT | None = None,
        webhook_url: str | None = None,
        match: Sequence[MatchT] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Changes the given values of an alert. The alert is active afterwards and keeps its history."""
        change: dict[str, Any] = {
            "search_name": name,
            "search_query": None if filter is None else {self._filter_name: filter},
            "webhook_url": webhook_url,
            "match": None if match is None else [*match],
            "context": None if metadata is None else {"metadata": dict(metadata)},
        }
        body = {key: value for key, value in change.items() if value is not None}
        await self._transport.data(Request("PATCH", f"{self._root}/{alert_id}", body))

    async def delete(self, alert_id: str) -> None:
        """Ends an alert; its history and deliveries are kept."""
        await self._transport.data(Request("DELETE", f"{self._root}/{alert_id}"))

    async def activate(self, alert_id: str) -> None:
        """Activates an ended alert again."""
        await self._transport.data(Request.get(f"{self._root}/{alert_id}/activate"))

    def history(self, alert_id: str, *, limit: int | None = None) -> AsyncPages[RecordT]:
        """Returns the records that an alert matched, newest first."""
        return self._pages(f"{self._root}/history/{alert_id}", limit)

    def deliveries(
        self, alert_id: str, *, status: types.DeliveryStatus | None = None, limit: int | None = None
    ) -> AsyncPages[types.Delivery]:
        """Returns the deliveries of an alert with their status, newest first."""
        return self._pages(f"{self._root}/{alert_id}/deliveries", limit, status=status)

    async def test(self, alert_id: str) -> types.TestedReceiver:
        """Posts one delivery without items to the receiver of an alert and returns what it answered."""
        answer = await self._transport.data(Request.change("POST", f"{self._root}/{alert_id}/test"))
        return cast(types.TestedReceiver, answer)

    async def replay(
        self, alert_id: str, start: date | str, end: date | str, *, items_max: int | None = None
    ) -> types.Replay:
        """Sends the matches of an alert between two times again, in new deliveries."""
        body: dict[str, Any] = {"from": _moment(start), "to": _moment(end)}
        if items_max is not None:
            body["max_items"] = items_max
        request = Request.change("POST", f"{self._root}/{alert_id}/replay", body)
        return cast(types.Replay, await self._transport.data(request))

    async def _preview(self, filter: FilterT, **more: int) -> PreviewT:
        body = {"search_query": {self._filter_name: filter}, **more}
        return cast(PreviewT, await self._transport.data(Request.question(f"{self._root}/preview", body)))

    def _pages(self, path: str, limit: int | None, **query: Any) -> AsyncPages[Any]:
        take = page_size(limit, PAGE_MAX)

        async def fetch(cursor: str | None) -> Page[Any]:
            request = Request.get(path, skip=cursor or 0, take=take, **query)
            return Page.skipping(await self._transport.data(request), cursor, take)

        return AsyncPages(fetch, limit)


class AsyncListingAlerts(AsyncAlerts[FilterT, MatchT, RecordT, AlertT, PayloadT, PreviewT]):
    """The alerts of the key's account on properties or adverts."""

    async def preview(self, filter: FilterT, *, days: int = 30) -> PreviewT:
        """Returns what an alert would have matched during the last days: the number per day, and the ten latest."""
        return await self._preview(filter, days=days)


class AsyncOpenDataAlerts(AsyncAlerts[FilterT, MatchT, RecordT, AlertT, PayloadT, PreviewT]):
    """The alerts of the key's account on sales or diagnostics. They are notified of what is imported from then on."""

    async def preview(self, filter: FilterT) -> PreviewT:
        """Returns the stored records that an alert would match: their number, and the ten latest."""
        return await self._preview(filter)


class AsyncPropertyAlerts(
    AsyncListingAlerts[
        types.FilterProperty,
        types.EnumAlertMatch,
        types.Property,
        types.PropertyAlert,
        types.SaveSearchPropertiesPayload,
        types.PropertyAlertsPreviewAnswerData,
    ]
):
    """Alerts on properties; deliveries contain their identifiers."""

    def __init__(self, transport: AsyncTransport) -> None:
        super().__init__(transport, "properties", "filterProperty")


class AsyncAdvertAlerts(
    AsyncListingAlerts[
        types.FilterAdvert,
        types.EnumAdvertAlertMatch,
        types.Advert,
        types.AdvertAlert,
        types.SaveSearchAdvertsPayload,
        types.AdvertAlertsPreviewAnswerData,
    ]
):
    """Alerts on adverts; deliveries contain whole adverts."""

    def __init__(self, transport: AsyncTransport) -> None:
        super().__init__(transport, "adverts", "filterAd")


class AsyncSaleAlerts(
    AsyncOpenDataAlerts[
        types.DvfSearchRequestFilters,
        types.EnumOpenDataAlertMatch,
        types.DvfRecord,
        types.DvfAlert,
        types.SaveSearchDvfPayload,
        types.DvfAlertsPreviewAnswerData,
    ]
):
    """Alerts on recorded sales; deliveries contain whole records."""

    def __init__(self, transport: AsyncTransport) -> None:
        super().__init__(transport, "opendata/dvf", "filters")


class AsyncDiagnosticAlerts(
    AsyncOpenDataAlerts[
        types.DpeSearchRequestFilters,
        types.EnumOpenDataAlertMatch,
        types.DpeRecord,
        types.DpeAlert,
        types.SaveSearchDpePayload,
        types.DpeAlertsPreviewAnswerData,
    ]
):
    """Alerts on energy diagnostics; deliveries contain whole records."""

    def __init__(self, transport: AsyncTransport) -> None:
        super().__init__(transport, "opendata/dpe", "filters")


def _moment(value: date | str) -> str:
    """Formats a moment for the service; one without a time zone is in UTC."""
    if isinstance(value, datetime):
        return value.isoformat() + ("Z" if value.tzinfo is None else "")
    return value.isoformat() if isinstance(value, date) else value
