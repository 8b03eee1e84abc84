"""Webhook verification: the published test vector, another library, and every kind of invalid delivery."""

from __future__ import annotations

import base64
import json
import time
from datetime import UTC, datetime

import pytest

from toise import WebhookVerifier
from toise.errors import WebhookRefused
from toise.webhooks import signature

# The test vector of the Standard Webhooks libraries.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
VECTOR = ("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", b'{"test": 2432232314}')
VECTOR_SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
BODY = json.dumps({"data": {"created": [{"alert_id": "a", "properties": ["p"]}], "updated": []}}).encode()


def decoded(secret: str) -> bytes:
    return base64.b64decode(secret.removeprefix("whsec_"))


def headers(body: bytes = BODY, secret: str = SECRET, at: float | None = None) -> dict[str, str]:
    timestamp = str(int(time.time() if at is None else at))
    return {
        "Webhook-Id": "d-1",
        "Webhook-Timestamp": timestamp,
        "Webhook-Signature": signature(decoded(secret), "d-1", timestamp, body),
        "X-Webhook-Key": "key",
    }


def test_the_published_vector_is_signed_alike():
    assert signature(decoded(SECRET), *VECTOR) == VECTOR_SIGNATURE


def test_what_another_library_signs_is_accepted():
    standard = pytest.importorskip("standardwebhooks")
    now = datetime.now(UTC)
    signed = standard.Webhook(SECRET).sign("d-2", now, BODY.decode())
    given = {"webhook-id": "d-2", "webhook-timestamp": str(int(now.timestamp())), "webhook-signature": signed}
    assert WebhookVerifier(SECRET).verify(BODY, given).about == "properties"


def test_a_delivery_is_read():
    delivery = WebhookVerifier(SECRET, key="key").verify(BODY, headers())
    assert delivery.id == "d-1"
    assert delivery.body["data"]["created"][0]["alert_id"] == "a"


def test_either_secret_may_have_signed_while_one_is_replaced():
    other = "whsec_" + base64.b64encode(b"another secret").decode()
    given = headers()
    given["Webhook-Signature"] = headers(secret=other)["Webhook-Signature"] + " " + given["Webhook-Signature"]
    assert WebhookVerifier([SECRET]).verify(BODY, given)
    assert WebhookVerifier([other, SECRET]).verify(BODY, headers())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"X-Webhook-Key": "other"}, "x-webhook-key"),
        ({"Webhook-Id": ""}, "webhook-id"),
        ({"Webhook-Id": "d-9"}, "no signature"),
        ({"Webhook-Timestamp": "soon"}, "number of seconds"),
        ({"Webhook-Timestamp": "٣"}, "number of seconds"),
        ({"Webhook-Timestamp": "-1"}, "number of seconds"),
        ({"Webhook-Signature": "v1,AAAA"}, "no signature"),
        ({"Webhook-Signature": "v2," + "A" * 44}, "no signature"),
        ({"Webhook-Signature": ""}, "no signature"),
        ({"Webhook-Signature": "v1,é"}, "no signature"),
    ],
)
def test_what_is_wrong_is_refused(change, reason):
    with pytest.raises(WebhookRefused, match=reason):
        WebhookVerifier(SECRET, key="key").verify(BODY, headers() | change)


def test_a_changed_body_and_an_old_delivery_are_refused():
    with pytest.raises(WebhookRefused, match="no signature"):
        WebhookVerifier(SECRET).verify(BODY + b" ", headers())
    for at in (time.time() - 301, time.time() + 302):
        with pytest.raises(WebhookRefused, match="from now"):
            WebhookVerifier(SECRET).verify(BODY, headers(at=at))


@pytest.mark.parametrize("body", [b"", b"[]", b'{"data": 1}', b'{"data": {"created": [1], "updated": []}}', b"\xff"])
def test_a_signed_body_that_is_no_delivery_is_refused(body):
    with pytest.raises(WebhookRefused, match="no delivery"):
        WebhookVerifier(SECRET).verify(body, headers(body))


@pytest.mark.parametrize("secret", ["", "whsec_", "secret", "whsec_%%%", []])
def test_a_secret_is_checked(secret):
    with pytest.raises(ValueError, match="secret"):
        WebhookVerifier(secret)
