"""What can go wrong: one exception per kind of answer, each with the body the service sent.

`ApiError` and its subclasses are answers of the service; `ConnectionFailed` means that there was none. Everything here
derives from `ToiseError`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .types import ErrorError

__all__ = [
    "ApiError",
    "AuthenticationFailed",
    "Conflict",
    "ConnectionFailed",
    "InvalidRequest",
    "ItemError",
    "NotFound",
    "NotGranted",
    "PageRejected",
    "QuotaExceeded",
    "RateLimited",
    "ServiceFailed",
    "StillCollecting",
    "ToiseError",
    "WebhookRefused",
]

QUOTA_CODE = 10006
"""The code of a monthly quota that is used up; it shares its status with the rate limit."""


class ToiseError(Exception):
    """Anything this package raises on purpose."""


class ConnectionFailed(ToiseError):
    """No answer came: the service could not be reached, or the connection broke. The cause is in `__cause__`."""


class ApiError(ToiseError):
    """The service answered with an error.

    Attributes:
        status: HTTP status, 400 or more.
        code: code of the contract, such as 10002; 0 if the body carried none, as that of a proxy.
        message: what the service said; for an invalid request, the JSON path of the fault and what is allowed there.
        body: the whole body: a decoded JSON value, or text where it was none.
        request_id: the `x-request-id` to quote in a report, if the answer had one.
        retry_after_s: seconds after which to try again, if the answer said.
    """

    def __init__(
        self,
        status: int,
        body: Any,
        *,
        request_id: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        error = body.get("error") if isinstance(body, dict) else None
        known = error if isinstance(error, dict) else {}
        self.status = status
        self.code = int(known.get("code", 0))
        self.message = str(known.get("message", body if isinstance(body, str) and body else "no message"))
        self.body = body
        self.request_id = request_id
        self.retry_after_s = retry_after_s
        super().__init__(f"{status}: {self.message}")


class InvalidRequest(ApiError):
    """400, 405, 408, 413, 415 or 422: the request is not readable or not valid; sending it again will not help."""


class AuthenticationFailed(ApiError):
    """401: the key is missing, unknown, revoked or expired."""


class NotGranted(ApiError):
    """403: the key works, and is not granted this endpoint."""


class NotFound(ApiError):
    """404: no such record or route, or a record of another account."""


class Conflict(ApiError):
    """409: the idempotency key was used for another request, or a file project is not in the state for this."""


class RateLimited(ApiError):
    """429, code 10005: too many calls at a time, still after all retries."""


class QuotaExceeded(RateLimited):
    """429, code 10006: the monthly quota of the key is used up. Never retried."""


class ServiceFailed(ApiError):
    """500 or more: a failure or an overload of the service, still after all retries."""


class PageRejected(ApiError):
    """422 on a listing's URL: the page gives no listing. It must not be asked for again.

    Attributes:
        reason: why, in a word, such as `not_a_listing`.
    """

    def __init__(self, status: int, body: Any, **about: Any) -> None:
        super().__init__(status, body, **about)
        data = body.get("data") if isinstance(body, dict) else None
        self.reason = str(data.get("reason", "")) if isinstance(data, dict) else ""
        self.message = f"the page is no listing: {self.reason}"
        self.args = (f"{status}: {self.message}",)


class StillCollecting(ToiseError):
    """A page is still being collected after the time that was given to it; ask again later, it costs nothing.

    Attributes:
        retry_after_s: seconds after which the service suggests to ask again.
    """

    def __init__(self, retry_after_s: float) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(f"the page is still being collected; ask again in {retry_after_s:g} s")


class WebhookRefused(ToiseError):
    """A delivery cannot be trusted: its key, time or signature is wrong. Answer it with 401."""


@dataclass(frozen=True)
class ItemError:
    """Why one item of a call with many items failed. It stands in the place of the item's result and is not raised.

    Attributes:
        index: place of the item among those sent, from 0.
        code: code of the contract.
        message: the fault.
    """

    index: int
    code: int
    message: str

    @staticmethod
    def of(index: int, error: ErrorError) -> ItemError:
        """The error of the contract as a value."""
        return ItemError(index, error["code"], error["message"])


STATUSES: dict[int, type[ApiError]] = {
    401: AuthenticationFailed,
    403: NotGranted,
    404: NotFound,
    409: Conflict,
    429: RateLimited,
}
"""The exception of each status that has one of its own."""


def of_answer(status: int, body: Any, request_id: str | None, retry_after_s: float | None) -> ApiError:
    """The exception for an answer with a status of 400 or more."""
    kind = STATUSES.get(status, ServiceFailed if status >= 500 else InvalidRequest)
    if status == 422 and isinstance(body, dict) and "data" in body:
        kind = PageRejected
    error = kind(status, body, request_id=request_id, retry_after_s=retry_after_s)
    if isinstance(error, RateLimited) and error.code == QUOTA_CODE:
        return QuotaExceeded(status, body, request_id=request_id, retry_after_s=retry_after_s)
    return error
