"""What both clients share and no network is needed for: a request as a value, when it is sent again and after which
wait, and how an answer is read.

The one thing to know before changing it: a request is only ever repeated where that cannot do anything twice.
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
"""Where a demo listens."""
CONNECT_TIMEOUT_S: Final = 5.0
"""Time to connect."""
ANSWER_TIMEOUT_S: Final = 60.0
"""Time between two pieces of an answer; a listing's URL is answered after up to 45 s."""
BACKOFF_S: Final = 0.25
"""Wait before the first retry where the service names none; it doubles each time."""
PATIENT_STATUSES: Final = frozenset({429, 502, 503, 504})
"""Statuses after which the same request may succeed."""
IDEMPOTENCY_HEADER: Final = "Idempotency-Key"


@dataclass(frozen=True)
class Retries:
    """When a request is sent again.

    Refused connections and 429 are always repeated, because nothing was done. A broken connection, 502, 503 and 504 are
    repeated where the request cannot do anything twice: it reads, or it carries an `Idempotency-Key`.

    Attributes:
        attempts_max: requests sent in all, the first included; 1 for none again.
        wait_max_s: longest wait before one retry, in seconds; an answer that asks for more is raised at once.
    """

    attempts_max: int = 4
    wait_max_s: float = 30.0


@dataclass(frozen=True)
class Request:
    """One call: what is sent, and whether sending it twice does anything twice.

    Attributes:
        method: HTTP method.
        path: path of the contract, parameters filled in.
        body: JSON body, if any.
        query: query parameters; those that are None are left out.
        is_repeatable: whether it may be sent again after it may have arrived.
        idempotency_key: sent as `Idempotency-Key`, which makes the request repeatable.
        headers: further headers.
        timeout_s: time for the answer, if it differs from that of the client.
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
        """A GET."""
        return Request("GET", path, query=query)

    @staticmethod
    def question(path: str, body: Any) -> Request:
        """A POST that only reads."""
        return Request("POST", path, body)

    @staticmethod
    def billed(path: str, body: Any, key: str | None) -> Request:
        """A POST that costs credits: charged once, however often it is sent."""
        return Request("POST", path, body, idempotency_key=key or new_key())

    @staticmethod
    def change(method: str, path: str, body: Any = None) -> Request:
        """A call that changes something each time it arrives."""
        return Request(method, path, body, is_repeatable=False)

    @property
    def may_repeat(self) -> bool:
        """Whether it may be sent again after it may have arrived."""
        return self.is_repeatable or self.idempotency_key is not None

    def arguments(self) -> dict[str, Any]:
        """The arguments of `httpx` for it, the address left out."""
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
    """A new idempotency key."""
    return str(uuid.uuid4())


def address(url: str | None) -> str:
    """The address of the service: as given, or `TOISE_URL`, or that of a demo."""
    return (url or os.environ.get("TOISE_URL") or DEFAULT_URL).rstrip("/")


def headers(key: str | None) -> dict[str, str]:
    """The headers of every request: the key as given, or `TOISE_KEY`."""
    key = key or os.environ.get("TOISE_KEY")
    return {"user-agent": f"toise-python/{VERSION}"} | ({"x-api-key": key} if key else {})


def timeout(seconds: float) -> httpx.Timeout:
    """The time limits of a client."""
    return httpx.Timeout(seconds, connect=CONNECT_TIMEOUT_S)


def retry_after_s(answer: httpx.Response, now_s: float | None = None) -> float | None:
    """Seconds of `Retry-After`, given as a number or as a date; None without one that can be read."""
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
    """A wait where the service names none: it grows with the attempts made (from 1), with half of it left to chance."""
    longest: float = BACKOFF_S * 2 ** (attempt - 1)
    return longest * (0.5 + random.random() / 2)


def wait_after_answer(request: Request, answer: httpx.Response, attempt: int, retries: Retries) -> float | None:
    """Seconds to wait before `request` is sent again; None where the answer stands."""
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
    """Seconds to wait before `request` is sent again after a failed connection; None where the failure stands."""
    was_sent = not isinstance(failure, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
    is_final = isinstance(failure, httpx.UnsupportedProtocol)
    if is_final or attempt >= retries.attempts_max or (was_sent and not request.may_repeat):
        return None
    return min(backoff_s(attempt), retries.wait_max_s)


def failed(request: Request, failure: httpx.TransportError) -> errors.ConnectionFailed:
    """The exception for a request without an answer."""
    reason = str(failure) or type(failure).__name__
    return errors.ConnectionFailed(f"{request.method} {request.path}: {reason}")


def refused(answer: httpx.Response) -> errors.ApiError | None:
    """The exception for an answer whose body was read, or None for a success."""
    if answer.status_code < 400:
        return None
    try:
        body: Any = answer.json()
    except (json.JSONDecodeError, UnicodeDecodeError):
        body = answer.text
    request_id = answer.headers.get("x-request-id")
    return errors.of_answer(answer.status_code, body, request_id, retry_after_s(answer))
