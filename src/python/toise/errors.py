"""The exceptions: one per kind of error response, with the body that the service sent.

`ApiError` and its subclasses are responses of the service; `ConnectionFailed` means that there was none. All of them
derive from `ToiseError`.
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
"""The code of an exceeded monthly quota, which has the same status as the rate limit."""


class ToiseError(Exception):
    """Base of all exceptions that this package raises."""


class ConnectionFailed(ToiseError):
    """No response: the service could not be reached, or the connection broke. The cause is in `__cause__`."""


class ApiError(ToiseError):
    """The service answered with an error.

    Attributes:
        status: HTTP status, 400 or more.
        code: code of the contract, such as 10002; 0 if the body has none, for example from a proxy.
        message: message of the service; for an invalid request, the JSON path of the fault and what is allowed there.
        body: the whole body: a decoded JSON value, or text if it is not JSON.
        request_id: the `x-request-id` to quote in a report, if the response has one.
        retry_after_s: seconds after which to try again, if the response gives them.
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
    """400, 405, 408, 413, 415 or 422: the request cannot be read or is invalid. Sending it again will not help."""


class AuthenticationFailed(ApiError):
    """401: the key is missing, unknown, revoked or expired."""


class NotGranted(ApiError):
    """403: the key is valid but has no grant for this endpoint."""


class NotFound(ApiError):
    """404: no such record or route, or a record of another account."""


class Conflict(ApiError):
    """409: the idempotency key was used for another request, or the state of the project does not allow the call."""


class RateLimited(ApiError):
    """429, code 10005: too many calls at a time, even after all retries."""


class QuotaExceeded(RateLimited):
    """429, code 10006: the monthly quota of the key is used up. Never retried."""


class ServiceFailed(ApiError):
    """500 or more: the service failed or is overloaded, even after all retries."""


class PageRejected(ApiError):
    """422 for a listing's URL: the page gives no listing. Do not request it again.

    Attributes:
        reason: the reason as a word, such as `not_a_listing`.
    """

    def __init__(self, status: int, body: Any, **about: Any) -> None:
        super().__init__(status, body, **about)
        data = body.get("data") if isinstance(body, dict) else None
        self.reason = str(data.get("reason", "")) if isinstance(data, dict) else ""
        self.message = f"the page is no listing: {self.reason}"
        self.args = (f"{status}: {self.message}",)


class StillCollecting(ToiseError):
    """A page is still being collected after the maximum wait. Call again later; this costs nothing.

    Attributes:
        retry_after_s: seconds after which to call again, as the service suggests.
    """

    def __init__(self, retry_after_s: float) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(f"the page is still being collected; ask again in {retry_after_s:g} s")


class WebhookRefused(ToiseError):
    """A delivery cannot be trusted: its key, time or signature is wrong. Answer it with 401."""


@dataclass(frozen=True)
class ItemError:
    """The error of one item of a call with many items. It is in the place of the item's result and is not raised.

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
        """Creates it from an error of the contract."""
        return ItemError(index, error["code"], error["message"])


STATUSES: dict[int, type[ApiError]] = {
    401: AuthenticationFailed,
    403: NotGranted,
    404: NotFound,
    409: Conflict,
    429: RateLimited,
}
"""The exceptions of statuses that have their own."""


def of_answer(status: int, body: Any, request_id: str | None, retry_after_s: float | None) -> ApiError:
    """Returns the exception for a response with a status of 400 or more."""
    kind = STATUSES.get(status, ServiceFailed if status >= 500 else InvalidRequest)
    if status == 422 and isinstance(body, dict) and "data" in body:
        kind = PageRejected
    error = kind(status, body, request_id=request_id, retry_after_s=retry_after_s)
    if isinstance(error, RateLimited) and error.code == QUOTA_CODE:
        return QuotaExceeded(status, body, request_id=request_id, retry_after_s=retry_after_s)
    return error
