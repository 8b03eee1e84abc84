# Made from _async/transport.py by src/python/generate.py; change that file instead.
"""Sends requests over `httpx`: retries, waits, and errors as exceptions. Every call of the client goes through here."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from .. import _requests
from .._requests import Request, Retries

__all__ = ["Transport"]


class Transport:
    """One connection pool to one service.

    Args:
        http: the `httpx` client; its creator closes it.
        retries: the rules for sending a request again.
        geocoding: path or URL of the geocoder.
    """

    def __init__(self, http: httpx.Client, retries: Retries, geocoding: str) -> None:
        self._http = http
        self._retries = retries
        self.geocoding = geocoding

    def send(self, request: Request, **arguments: Any) -> httpx.Response:
        """Sends a request and returns the response with its body. Passes further arguments to `httpx`.

        Raises:
            ApiError: the service answered with an error.
            ConnectionFailed: there was no response.
        """
        attempt = 1
        while True:
            try:
                answer = self._http.request(url=request.path, **request.arguments(), **arguments)
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
            time.sleep(wait_s)
            attempt += 1

    def data(self, request: Request) -> Any:
        """Sends a request and returns the `data` of the response."""
        return (self.send(request)).json()["data"]

    @contextmanager
    def stream(self, request: Request) -> Iterator[httpx.Response]:
        """Sends a request and returns the response; the caller reads its body. Retries only before the first byte.

        Raises:
            ApiError: the service answered with an error.
            ConnectionFailed: there was no response, or the connection broke.
        """
        attempt = 1
        while True:
            try:
                with self._http.stream(url=request.path, **request.arguments()) as answer:
                    wait_s = _requests.wait_after_answer(request, answer, attempt, self._retries)
                    if wait_s is None:
                        if answer.status_code >= 400:
                            answer.read()
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
            time.sleep(wait_s)
            attempt += 1
