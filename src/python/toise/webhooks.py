"""Verifies that a delivery of an alert comes from the service, and reads it.

The signature is that of Standard Webhooks: HMAC-SHA256 of `id.timestamp.body` under the secret of the account. It
covers the bytes of the body as they arrived, so pass these, and not a decoded value that was written again.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, cast

from .errors import WebhookRefused
from .types import AdvertDelivery, PropertyDelivery

__all__ = ["ReceivedDelivery", "WebhookVerifier"]

ID_HEADER: Final = "webhook-id"
TIMESTAMP_HEADER: Final = "webhook-timestamp"
SIGNATURE_HEADER: Final = "webhook-signature"
KEY_HEADER: Final = "x-webhook-key"
NEXT_KEY_HEADER: Final = "x-webhook-key-next"
TOLERANCE_S: Final = 300
"""Maximum difference between the clock of the service and ours, in seconds."""
SECRET_PREFIX: Final = "whsec_"
VERSION_PREFIX: Final = "v1,"


@dataclass(frozen=True)
class ReceivedDelivery:
    """A verified delivery.

    Attributes:
        id: identifier, the same for all attempts. Remember it: the same delivery may arrive more than once.
        timestamp_s: when this attempt was made, seconds since 1970.
        about: `"properties"` or `"adverts"`, or `"unknown"` for a delivery without records.
        body: the decoded body; `body["data"]` contains the lists `created` and `updated`.
    """

    id: str
    timestamp_s: int
    about: Literal["properties", "adverts", "unknown"]
    body: PropertyDelivery | AdvertDelivery


class WebhookVerifier:
    """Verifies deliveries with the secrets of an account (`toise accounts show`).

    Args:
        secrets: the signing secret (`whsec_…`); several while one is being replaced.
        key: the webhook key of the account, to check `x-webhook-key` too.
        tolerance_s: maximum difference between the clock of the service and ours, in seconds.

    Raises:
        ValueError: a secret is not `whsec_` and base64, or there is none.
    """

    def __init__(
        self, secrets: str | Iterable[str], *, key: str | None = None, tolerance_s: float = TOLERANCE_S
    ) -> None:
        texts = [secrets] if isinstance(secrets, str) else list(secrets)
        self._secrets = [_decoded(text) for text in texts]
        if not self._secrets:
            raise ValueError("at least one secret is needed")
        self._key = key
        self._tolerance_s = tolerance_s

    def verify(
        self, body: bytes, headers: Mapping[str, str], *, now_s: float | None = None
    ) -> ReceivedDelivery:
        """Verifies one delivery and reads it.

        Args:
            body: the bytes of the body as they arrived.
            headers: the headers, with names in any case.
            now_s: the current time, seconds since 1970; by default that of the system.

        Raises:
            WebhookRefused: the key, time or signature is wrong, or the signed body is not a delivery.
        """
        found = {name.lower(): value for name, value in headers.items()}
        keys = [found.get(name, "") for name in (KEY_HEADER, NEXT_KEY_HEADER)]
        if self._key is not None and not any(_same(key, self._key) for key in keys):
            raise WebhookRefused(f"{KEY_HEADER} is missing or wrong")
        identifier, timestamp = found.get(ID_HEADER, ""), found.get(TIMESTAMP_HEADER, "")
        if not identifier:
            raise WebhookRefused(f"{ID_HEADER} is missing")
        if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 15):
            raise WebhookRefused(f"{TIMESTAMP_HEADER} is missing or not a number of seconds")
        if abs((time.time() if now_s is None else now_s) - int(timestamp)) > self._tolerance_s:
            raise WebhookRefused(f"{TIMESTAMP_HEADER} is more than {self._tolerance_s:g} s from now")
        given = found.get(SIGNATURE_HEADER, "").split(" ")
        expected = [signature(secret, identifier, timestamp, body) for secret in self._secrets]
        # Every pair is compared, so that the time taken reveals nothing.
        answers = [_same(one, right) for one in given for right in expected]
        if not any(answers):
            raise WebhookRefused("no signature matches: the secret differs, or the body was changed")
        return ReceivedDelivery(identifier, int(timestamp), *_read(body))


def signature(secret: bytes, identifier: str, timestamp: str, body: bytes) -> str:
    """Returns the signature of a delivery under a decoded secret, as in `webhook-signature`."""
    signed = b".".join([identifier.encode(), timestamp.encode(), body])
    digest = hmac.new(secret, signed, hashlib.sha256).digest()
    return VERSION_PREFIX + base64.b64encode(digest).decode()


def _decoded(text: str) -> bytes:
    try:
        secret = base64.b64decode(text.strip().removeprefix(SECRET_PREFIX), validate=True)
    except binascii.Error as error:
        raise ValueError("a secret is whsec_ and base64") from error
    if not secret or not text.strip().startswith(SECRET_PREFIX):
        raise ValueError("a secret is whsec_ and base64")
    return secret


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


def _read(
    body: bytes,
) -> tuple[Literal["properties", "adverts", "unknown"], PropertyDelivery | AdvertDelivery]:
    try:
        value = json.loads(body)
        entries = [*value["data"]["created"], *value["data"]["updated"]]
        keys = {key for entry in entries for key in entry}
    except (ValueError, KeyError, TypeError) as error:
        raise WebhookRefused("the body is signed and is no delivery of an alert") from error
    if "properties" in keys:
        return "properties", cast(PropertyDelivery, value)
    if "adverts" in keys:
        return "adverts", cast(AdvertDelivery, value)
    return "unknown", cast(PropertyDelivery, value)
