"""Sends requests over `httpx`: retries, waits, and errors as exceptions. Every call of the client goes through here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from .. import _requests
from .._requests import Request, Retries

__all__ = ["AsyncTransport"]


class AsyncTransport:
    """One connection pool to one service.

    Args:
        http: the `httpx` client; its creator closes it.
        retries: the rules for sending a request again.
        geocoding: path or URL of the geocoder.
    """

    def __init__(self, http: httpx.AsyncClient, retries: Retries, geocoding: str) -> None:
        self._http = http
        self._retries = retries
        self.geocoding = geocoding

    async def send(self, request: Request, **arguments: Any) -> httpx.Response:
        """Sends a request and returns the response with its body. Passes further arguments to `httpx`.

        Raises:
            ApiError: the service answered with an error.
            ConnectionFailed: there was no response.
        """
        attempt = 1
        while True:
            try:
                answer = await self._http.request(url=request.path, **request.arguments(), **arguments)
            except httpx.TransportError as failure:
                wait_s = _requests.wait_after_failure(request, failure, attempt, self._retries)
                if wait_s is None:
                    raise _requests.failed(request, failure) from failure
            else:
                wait_s = _requests.wait_after_answer(request, answer, attempt, self._retries)
                if wait_s is None:
                    error = _requests.refused(answer)
                    if error is not None:
                        raise error
                    return answer
            await asyncio.sleep(wait_s)
            attempt += 1

    async def data(self, request: Request) -> Any:
        """Sends a request and returns the `data` of the response."""
        return (await self.send(request)).json()["data"]

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[httpx.Response]:
        """Sends a request and returns the response; the caller reads its body. Retries only before the first byte.

        Raises:
            ApiError: the service answered with an error.
            ConnectionFailed: there was no response, or the connection broke.
        """
        attempt = 1
        while True:
            try:
                async with self._http.stream(url=request.path, **request.arguments()) as answer:
                    wait_s = _requests.wait_after_answer(request, answer, attempt, self._retries)
                    if wait_s is None:
                        if answer.status_code >= 400:
                            await answer.aread()
                        error = _requests.refused(answer)
                        if error is not None:
                            raise error
                        yield answer
                        return
            except httpx.ConnectError as failure:
                wait_s = _requests.wait_after_failure(request, failure, attempt, self._retries)
                if wait_s is None:
                    raise _requests.failed(request, failure) from failure
            except httpx.TransportError as failure:
                raise _requests.failed(request, failure) from failure
            await asyncio.sleep(wait_s)
            attempt += 1
