"""Reports to hand over: what is known about one home, and the letterhead of the account."""

from __future__ import annotations

import base64
import pathlib
from typing import Any, Final, Literal, cast

from .. import types
from .._requests import Request, new_key
from ..homes import report_query
from .transport import AsyncTransport

__all__ = ["AsyncReports"]

ROOT: Final = "/v2/protected/reports"

Language = Literal["fr", "en"]


class AsyncReports:
    """Reports about homes; needs the scope `ai`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def home(
        self, home: types.EstimateRequest, *, idempotency_key: str | None = None
    ) -> types.HomeReport:
        """Returns the report about a home (`toise.home` builds one from keywords). Costs credits as a file of it does.

        Args:
            home: the home.
            idempotency_key: the same call with this key costs nothing more for 24 hours; a new key by default.
        """
        answer = await self._transport.data(_request(home, {}, idempotency_key))
        return cast(types.HomeReport, answer)

    async def file(
        self,
        home: types.EstimateRequest,
        *,
        format: Literal["pdf", "html"] = "pdf",
        language: Language = "fr",
        idempotency_key: str | None = None,
    ) -> bytes:
        """Returns the report about a home as a file: two pages of A4, or a web page, with the account's letterhead.

        Args:
            home: the home.
            format: form of the file.
            language: language of the file.
            idempotency_key: the same call with this key costs nothing more for 24 hours; a new key by default.
        """
        request = _request(home, {"format": format, "lang": language}, idempotency_key)
        return (await self._transport.send(request)).content

    async def letterhead(self) -> types.LetterheadGetAnswerData:
        """Returns the text and the logo that are at the top of the account's reports."""
        answer = await self._transport.data(Request.get(f"{ROOT}/letterhead"))
        return cast(types.LetterheadGetAnswerData, answer)

    async def put_letterhead(
        self, text: str | None = None, logo: str | pathlib.Path | None = None
    ) -> types.LetterheadGetAnswerData:
        """Replaces the letterhead.

        Args:
            text: up to four lines.
            logo: path of a PNG or JPEG file.
        """
        body: dict[str, Any] = {} if text is None else {"text": text}
        if logo is not None:
            body["logo"] = base64.b64encode(pathlib.Path(logo).read_bytes()).decode()
        answer = await self._transport.data(Request("PUT", f"{ROOT}/letterhead", body))
        return cast(types.LetterheadGetAnswerData, answer)

    async def delete_letterhead(self) -> None:
        """Removes the text and the logo."""
        await self._transport.data(Request("DELETE", f"{ROOT}/letterhead"))


def _request(home: types.EstimateRequest, form: dict[str, str], key: str | None) -> Request:
    query = {**report_query(home), **form}
    return Request("GET", f"{ROOT}/home", query=query, idempotency_key=key or new_key())
