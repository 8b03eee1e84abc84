"""Portfolios: homes that the service stores and values again after each new model."""

from __future__ import annotations

import pathlib
from collections.abc import AsyncIterator
from datetime import date, datetime
from typing import Any, Final, cast
from urllib.parse import quote

from .._requests import Request
from .transport import AsyncTransport

__all__ = ["AsyncPortfolios"]

ROOT: Final = "/v2/protected/portfolios"
UPLOAD_TIMEOUT_S: Final = 600.0
BLOCK_BYTES: Final = 1 << 20
HOMES_MAX: Final = 1000
"""Maximum homes of a page."""


class AsyncPortfolios:
    """The portfolios of the account; needs the scope `ai`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def put(
        self,
        name: str,
        source: str | pathlib.Path,
        *,
        webhook_url: str | None = None,
        moved_percent: float | None = None,
    ) -> dict[str, Any]:
        """Stores the homes of a file (CSV, Parquet, NDJSON or a JSON array) under a name; returns the portfolio, with
        the rows that cannot be valued in `faults`."""
        request = Request(
            "PUT",
            f"{ROOT}/{quote(name, safe='')}",
            query={"webhookUrl": webhook_url, "movedPercent": moved_percent},
            headers={"content-type": "application/octet-stream"},
            timeout_s=UPLOAD_TIMEOUT_S,
            is_repeatable=False,
        )
        answer = await self._transport.send(request, content=_blocks(pathlib.Path(source)))
        return cast(dict[str, Any], answer.json()["data"])

    async def get(
        self,
        name: str,
        *,
        changes_since: date | datetime | str | None = None,
        size: int | None = None,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """Returns a portfolio with its totals and a page of its homes, all or those that changed since."""
        since = changes_since.isoformat() if isinstance(changes_since, (date, datetime)) else changes_since
        request = Request.get(f"{ROOT}/{quote(name, safe='')}", changesSince=since, size=size, cursor=cursor)
        return cast(dict[str, Any], await self._transport.data(request))

    async def homes(
        self, name: str, *, changes_since: date | datetime | str | None = None
    ) -> AsyncIterator[dict[str, Any]]:
        """Returns all homes of a portfolio, or those that changed since, page by page."""
        cursor: str | None = None
        while True:
            page = await self.get(name, changes_since=changes_since, size=HOMES_MAX, cursor=cursor)
            for home in page["homes"]:
                yield home
            cursor = page.get("cursor")
            if cursor is None:
                return

    async def all(self) -> list[dict[str, Any]]:
        """Returns the portfolios of the account, without their homes."""
        return cast(list[dict[str, Any]], await self._transport.data(Request.get(ROOT)))

    async def delete(self, name: str) -> None:
        """Deletes a portfolio."""
        await self._transport.data(Request("DELETE", f"{ROOT}/{quote(name, safe='')}"))


async def _blocks(path: pathlib.Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            yield block
