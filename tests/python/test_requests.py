"""Retries, idempotency keys and errors, against a server with scripted responses."""

from __future__ import annotations

import asyncio
import json
import time
from email.utils import formatdate
from urllib.parse import parse_qs, urlsplit

import pytest

import toise
from conftest import Answer
from toise import errors

BUSY = Answer(503, {"error": {"message": "the service is busy", "code": 10000}}, {"retry-after": "0"})
RATE = Answer(429, {"error": {"message": "too many calls", "code": 10005}}, {"retry-after": "1"})
QUOTA = Answer(429, {"error": {"message": "monthly quota exceeded", "code": 10006}}, {"retry-after": "864000"})
VALUE = Answer(200, {"data": {"price": 1, "priceRange": {"lower": 1, "upper": 1}, "metadata": {}}})
COUNT = Answer(200, {"data": {"count": 3}})
HOME = toise.home("CLASS_FLAT", 50, lon=2.38, lat=48.86, rooms=2)


def test_a_busy_service_is_asked_again_and_the_key_stays_the_same(scripted):
    server = scripted([BUSY, BUSY, VALUE])
    assert toise.Client(server.url, "k").estimate(HOME)["price"] == 1
    assert len(server.requests) == 3
    assert len({request.headers["idempotency-key"] for request in server.requests}) == 1
    assert server.requests[0].headers["x-api-key"] == "k"


def test_a_call_of_its_own_gets_a_key_of_its_own(scripted):
    server = scripted([VALUE])
    client = toise.Client(server.url, "k")
    client.estimate(HOME)
    client.estimate(HOME)
    client.estimate(HOME, idempotency_key="mine")
    keys = [request.headers["idempotency-key"] for request in server.requests]
    assert len(set(keys)) == 3
    assert keys[2] == "mine"


def test_retry_after_is_waited_for(scripted):
    server = scripted([RATE, COUNT])
    begun = time.monotonic()
    assert toise.Client(server.url, "k").properties.count() == 3
    assert time.monotonic() - begun >= 1.0


def test_retry_after_may_be_a_date(scripted):
    date = {"retry-after": formatdate(time.time() + 2, usegmt=True)}
    server = scripted([Answer(429, RATE.body, date), COUNT])
    begun = time.monotonic()
    assert toise.Client(server.url, "k").properties.count() == 3
    assert time.monotonic() - begun >= 0.9


def test_the_asynchronous_client_waits_without_blocking(scripted):
    server = scripted([RATE, COUNT])

    async def ask() -> tuple[int, int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.05)
                ticks += 1

        ticking = asyncio.create_task(tick())
        async with toise.AsyncClient(server.url, "k") as client:
            count = await client.properties.count()
        ticking.cancel()
        return count, ticks

    count, ticks = asyncio.run(ask())
    assert count == 3
    assert ticks >= 10


def test_a_wait_beyond_the_limit_is_raised_at_once(scripted):
    server = scripted([QUOTA])
    with pytest.raises(errors.QuotaExceeded) as caught:
        toise.Client(server.url, "k").properties.count()
    assert len(server.requests) == 1
    assert caught.value.retry_after_s == 864000
    assert caught.value.code == 10006


def test_retries_end(scripted):
    server = scripted([BUSY])
    with pytest.raises(errors.ServiceFailed) as caught:
        toise.Client(server.url, "k", retries=toise.Retries(attempts_max=2)).properties.count()
    assert len(server.requests) == 2
    assert caught.value.body == BUSY.body


def test_what_changes_something_is_not_sent_twice(scripted):
    server = scripted([BUSY])
    with pytest.raises(errors.ServiceFailed):
        toise.Client(server.url, "k").properties.alerts.create("a", {}, "https://example.org/")
    assert len(server.requests) == 1


def test_a_broken_connection_is_repeated_where_that_is_safe(scripted):
    server = scripted([Answer(0), COUNT])
    assert toise.Client(server.url, "k").properties.count() == 3
    server = scripted([Answer(0), COUNT])
    with pytest.raises(errors.ConnectionFailed):
        toise.Client(server.url, "k").properties.report("id", "OTHER", "why")
    assert len(server.requests) == 1


def test_a_service_that_is_not_there_is_named(scripted):
    client = toise.Client("http://127.0.0.1:9", "k", retries=toise.Retries(attempts_max=1))
    with pytest.raises(errors.ConnectionFailed, match="/version"):
        client.version()
    assert not client.is_ready()


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, errors.InvalidRequest),
        (401, errors.AuthenticationFailed),
        (403, errors.NotGranted),
        (404, errors.NotFound),
        (409, errors.Conflict),
        (422, errors.InvalidRequest),
        (500, errors.ServiceFailed),
    ],
)
def test_an_error_carries_the_body_of_the_service(scripted, status, kind):
    body = {"error": {"message": "filters.x: must not be", "code": 10002}}
    server = scripted([Answer(status, body, {"x-request-id": "r-1"})])
    with pytest.raises(kind) as caught:
        toise.Client(server.url, "k").properties.get("id")
    error = caught.value
    assert (error.status, error.code, error.message) == (status, 10002, "filters.x: must not be")
    assert (error.body, error.request_id) == (body, "r-1")


def test_an_error_of_a_proxy_is_an_error_too(scripted):
    server = scripted([Answer(502, b"<html>Bad Gateway</html>", {"content-type": "text/html"})])
    with pytest.raises(errors.ServiceFailed) as caught:
        toise.Client(server.url, "k", retries=toise.Retries(attempts_max=1)).version()
    assert caught.value.code == 0
    assert "Bad Gateway" in caught.value.message


def test_a_page_that_is_collected_is_waited_for(scripted):
    pending = Answer(202, {"data": {"status": "pending", "retry_after_s": 0.1}})
    server = scripted([pending, pending, Answer(200, {"data": {"flxId": "a"}})])
    advert = toise.Client(server.url, "k").adverts.by_url("https://portal.example/1")
    assert advert["flxId"] == "a"
    assert len({request.headers["idempotency-key"] for request in server.requests}) == 1
    server = scripted([Answer(202, {"data": {"status": "pending", "retry_after_s": 5}})])
    with pytest.raises(errors.StillCollecting) as caught:
        toise.Client(server.url, "k").adverts.by_url("https://portal.example/1", wait_s=1)
    assert caught.value.retry_after_s == 5


def test_a_rejected_page_says_why(scripted):
    server = scripted([Answer(422, {"data": {"status": "rejected", "reason": "not_a_listing"}})])
    with pytest.raises(errors.PageRejected, match="not_a_listing") as caught:
        toise.Client(server.url, "k").properties.by_url("https://portal.example/1")
    assert caught.value.reason == "not_a_listing"
    assert len(server.requests) == 1


def test_address_and_key_may_come_from_the_environment(scripted, monkeypatch):
    server = scripted([Answer(200, {"data": {"version": "9"}})])
    monkeypatch.setenv("TOISE_URL", server.url + "/")
    monkeypatch.setenv("TOISE_KEY", "from-environment")
    assert toise.Client().version() == "9"
    assert server.requests[0].headers["x-api-key"] == "from-environment"


def test_a_report_is_asked_of_the_home_that_is_valued(scripted):
    server = scripted([Answer(200, {"data": {"date": "2026-01-01"}}), Answer(200, b"%PDF-1.7")])
    client = toise.Client(server.url, "k")
    conditions = ["GENERAL_CONDITION_GOOD", "GENERAL_CONDITION_TO_BE_RENOVATED"]
    home = toise.home(
        "CLASS_HOUSE", 95.5, lon=2.38, lat=48.86, rooms=5, land_surface=300, construction_year=1930,
        general_conditions=conditions, energy="C", climate="D", floor=0, total_floor=2, furniture="UNFURNISHED",
        hasLift=True, hasPool=False,
    )
    assert client.reports.home(home)["date"] == "2026-01-01"
    flat = toise.home("CLASS_FLAT", 50, address="1 rue Droite 48000 Mende")
    assert client.reports.file(flat, language="en") == b"%PDF-1.7"
    first, second = (parse_qs(urlsplit(request.path).query) for request in server.requests)
    assert first == {
        "type": ["CLASS_HOUSE"], "surface_m2": ["95.5"], "longitude": ["2.38"], "latitude": ["48.86"],
        "room_count": ["5"], "bedroom_count": ["4"], "land_surface_m2": ["300"], "construction_year": ["1930"],
        "general_condition": conditions, "epc_energy": ["ENERGY_CLASSIFICATION_C"],
        "epc_climate": ["GREENHOUSE_CLASSIFICATION_D"], "floor": ["0"], "total_floor": ["2"],
        "furniture": ["UNFURNISHED"], "has_lift": ["true"], "has_pool": ["false"],
    }
    assert second == {
        "type": ["CLASS_FLAT"], "surface_m2": ["50"], "address": ["1 rue Droite 48000 Mende"], "room_count": ["0"],
        "bedroom_count": ["0"], "format": ["pdf"], "lang": ["en"],
    }
    assert all(request.headers["idempotency-key"] for request in server.requests)


def test_an_erasure_sends_only_the_contacts_that_were_given(scripted):
    server = scripted([Answer(200, {"data": {"dryRun": True, "places": [], "damaged": 0}})])
    toise.Client(server.url, "k").admin.erase(phone="06 12 34 56 78", name="Jean Dupont", is_dry_run=True)
    (request,) = server.requests
    assert json.loads(request.body) == {"phone": "06 12 34 56 78", "name": "Jean Dupont", "dryRun": True}
