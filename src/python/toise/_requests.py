"""The parts of both clients that need no network: requests as values, the rules for sending them again, and reading
responses.

The one thing to know before changing it: a request is sent again only if it cannot take effect twice.
"""

from __future__ import annotations

import email.utils
import json
import os
import random
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from . import errors
from ._version import VERSION

DEFAULT_URL: Final = "http://127.0.0.1:8080"
"""URL of a demo."""
CONNECT_TIMEOUT_S: Final = 5.0
"""Maximum time to connect."""
ANSWER_TIMEOUT_S: Final = 60.0
"""Maximum time between two pieces of a response; a call for a listing's URL takes up to 45 s."""
BACKOFF_S: Final = 0.25
"""Wait before the first retry if the service gives none; it doubles each time."""
PATIENT_STATUSES: Final = frozenset({429, 502, 503, 504})
"""Statuses after which the same request may succeed."""
IDEMPOTENCY_HEADER: Final = "Idempotency-Key"


@dataclass(frozen=True)
class Retries:
    """The rules for sending a request again.

    After a refused connection or 429, a request is always sent again, because nothing was done. After a broken
    connection, 502, 503 or 504, it is sent again only if it cannot take effect twice: it only reads, or it has an
    `Idempotency-Key`.

    Attributes:
        attempts_max: maximum number of attempts, the first included; 1 means no retry.
        wait_max_s: maximum wait before a retry, in seconds; if a response asks for more, it is raised at once.
    """

    attempts_max: int = 4
    wait_max_s: float = 30.0


@dataclass(frozen=True)
class Request:
    """One call: what is sent, and whether it can take effect twice.

    Attributes:
        method: HTTP method.
        path: path of the contract, with its parameters filled in.
        body: JSON body, if any.
        query: query parameters; those that are None are left out.
        is_repeatable: whether it may be sent again if it may already have arrived.
        idempotency_key: sent as `Idempotency-Key`, which makes the request repeatable.
        headers: further headers.
        timeout_s: time limit of the response, if it differs from that of the client.
    """

    method: str
    path: str
    body: Any = None
    query: Mapping[str, Any] = field(default_factory=dict)
    is_repeatable: bool = True
    idempotency_key: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float | None = None

    @staticmethod
    def get(path: str, **query: Any) -> Request:
        """Creates a GET request."""
        return Request("GET", path, query=query)

    @staticmethod
    def question(path: str, body: Any) -> Request:
        """Creates a POST request that only reads."""
        return Request("POST", path, body)

    @staticmethod
    def billed(path: str, body: Any, key: str | None) -> Request:
        """Creates a POST request that costs credits; they are charged once, however often it is sent."""
        return Request("POST", path, body, idempotency_key=key or new_key())

    @staticmethod
    def change(method: str, path: str, body: Any = None) -> Request:
        """Creates a call that changes something each time it arrives."""
        return Request(method, path, body, is_repeatable=False)

    @property
    def may_repeat(self) -> bool:
        """Whether it may be sent again if it may already have arrived."""
        return self.is_repeatable or self.idempotency_key is not None

    def arguments(self) -> dict[str, Any]:
        """Returns the arguments for `httpx`, without the URL."""
        headers = dict(self.headers)
        if self.idempotency_key is not None:
            headers[IDEMPOTENCY_HEADER] = self.idempotency_key
        made: dict[str, Any] = {"method": self.method, "headers": headers}
        query = {name: value for name, value in self.query.items() if value is not None}
        if query:
            made["params"] = query
        if self.body is not None:
            made["json"] = self.body
        if self.timeout_s is not None:
            made["timeout"] = httpx.Timeout(self.timeout_s, connect=CONNECT_TIMEOUT_S)
        return made


def new_key() -> str:
    """Creates an idempotency key."""
    return str(uuid.uuid4())


def address(url: str | None) -> str:
    """Returns the URL of the service: the given one, else `TOISE_URL`, else that of a demo."""
    return (url or os.environ.get("TOISE_URL") or DEFAULT_URL).rstrip("/")


def headers(key: str | None) -> dict[str, str]:
    """Returns the headers of every request; the key is the given one, else `TOISE_KEY`."""
    key = key or os.environ.get("TOISE_KEY")
    return {"user-agent": f"toise-python/{VERSION}"} | ({"x-api-key": key} if key else {})


def timeout(seconds: float) -> httpx.Timeout:
    """Returns the time limits of a client."""
    return httpx.Timeout(seconds, connect=CONNECT_TIMEOUT_S)


def retry_after_s(answer: httpx.Response, now_s: float | None = None) -> float | None:
    """Returns the seconds of `Retry-After`, given as a number or as a date; None if it is missing or unreadable."""
    text = answer.headers.get("retry-after", "").strip()
    if not text:
        return None
    if text.isdigit():
        return float(text)
    try:
        then_s = email.utils.parsedate_to_datetime(text).timestamp()
    except ValueError:
        return None
    return max(0.0, then_s - (time.time() if now_s is None else now_s))


def backoff_s(attempt: int) -> float:
    """Returns the wait if the service gives none. It grows with the attempts (from 1), and half of it is random."""
    longest: float = BACKOFF_S * 2 ** (attempt - 1)
    return longest * (0.5 + random.random() / 2)


def wait_after_answer(request: Request, answer: httpx.Response, attempt: int, retries: Retries) -> float | None:
    """Returns the seconds to wait before `request` is sent again; None if the response is final."""
    if answer.status_code not in PATIENT_STATUSES or attempt >= retries.attempts_max:
        return None
    if answer.status_code != 429 and not request.may_repeat:
        return None
    asked_s = retry_after_s(answer)
    wait_s = backoff_s(attempt) if asked_s is None else asked_s
    return wait_s if wait_s <= retries.wait_max_s else None


def wait_after_failure(
    request: Request, failure: httpx.TransportError, attempt: int, retries: Retries
) -> float | None:
    """Returns the seconds to wait before `request` is sent again after a failed connection; None if it is not."""
    was_sent = not isinstance(failure, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
    is_final = isinstance(failure, httpx.UnsupportedProtocol)
    if is_final or attempt >= retries.attempts_max or (was_sent and not request.may_repeat):
        return None
    return min(backoff_s(attempt), retries.wait_max_s)


def failed(request: Request, failure: httpx.TransportError) -> errors.ConnectionFailed:
    """Returns the exception for a request without a response."""
    reason = str(failure) or type(failure).__name__
    return errors.ConnectionFailed(f"{request.method} {request.path}: {reason}")


def refused(answer: httpx.Response) -> errors.ApiError | None:
    """Returns the exception for a response whose body was read; None for a success."""
    if answer.status_code < 400:
        return None
    try:
        body: Any = answer.json()
    except (json.JSONDecodeError, UnicodeDecodeError):
        body = answer.text
    request_id = answer.headers.get("x-request-id")
    return errors.of_answer(answer.status_code, body, request_id, retry_after_s(answer))
