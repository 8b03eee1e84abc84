"""Both clients against a served demo: every group of calls, and invalid input."""

from __future__ import annotations

import asyncio
import queue
import time

import pytest

import toise
from conftest import Answer
from toise import ItemError, errors


def test_public_calls_need_no_key(demo):
    with toise.Client(demo["address"], key="") as client:
        assert client.is_ready()
        assert client.version()
        assert "seloger.com" in client.portals()


def test_a_search_goes_over_pages_and_sees_no_property_twice(client):
    found = client.properties.search({"offer": [{"type": "OFFER_BUY"}]}, sort_by="PRICE", order_by="ASC")
    records = found.records()
    assert len(records) == found.total() > 100
    assert len({record["flxId"] for record in records}) == len(records)
    prices = [record["price"]["latest"].get("value") for record in records if "latest" in record.get("price", {})]
    assert prices == sorted(prices)
    assert client.properties.search(limit=7).to_arrow().num_rows == 7
    assert sum(1 for _ in client.properties.search_lite(limit=30)) == 30


def test_properties_are_read_by_every_door(client):
    (one,) = client.properties.search({"type": ["CLASS_FLAT"]}, limit=1)
    assert client.properties.get(one["flxId"])["flxId"] == one["flxId"]
    advert = one["adverts"][0]["flxId"]
    assert client.properties.get_by_advert(advert)["flxId"] == one["flxId"]
    assert client.adverts.get(advert)["propertyFlxId"] == one["flxId"]
    unknown = "00000000-0000-7000-8000-000000000000"
    assert [found["flxId"] for found in client.properties.get_many([unknown, one["flxId"]])] == [one["flxId"]]
    assert all(similar["flxId"] != one["flxId"] for similar in client.properties.similar(one["flxId"], 3))
    assert client.properties.similar(one["flxId"], 3, filter={"type": ["CLASS_HOUSE"]}) == []
    with pytest.raises(errors.NotFound):
        client.properties.get(unknown)
    assert client.properties.count({"type": ["CLASS_FLAT"]}) > 0
    figures = client.properties.analytics("PRICE", {"type": ["CLASS_FLAT"]})
    assert figures["valued"] > 0
    assert client.properties.report(one["flxId"], "OTHER", "a test")["report_id"]


def test_market_indicators_count_what_was_sold(client):
    rows = client.market({"level": "department", "location": {"departments": ["75"]}, "offer": "OFFER_BUY"})
    sold = {row["type"]: row["sales"] for row in rows}
    flats = client.sales.search({"departement_code": "75", "property_type": ["Appartement"], "is_open_market": True})
    assert sold["CLASS_FLAT"] == flats.total() > 100
    assert all(row["rent_per_m2"] is None for row in rows)


def test_open_data_is_searched_with_its_exact_total(client):
    sales = client.sales.search({"departement_code": "75"}, sort_by="price_eur", sort_order="asc")
    rows = sales.records()
    assert len(rows) == sales.total() > 100
    prices = [row["price_eur"] for row in rows if "price_eur" in row]
    assert prices == sorted(prices)
    table = client.diagnostics.search({"etiquette_dpe": ["F", "G"]}, limit=150).to_pandas()
    assert set(table["etiquette_dpe"]) == {"F", "G"}
    assert len(table) == 150


def test_a_fault_names_its_field(client):
    with pytest.raises(errors.InvalidRequest, match=r"filters\.departement_code") as caught:
        client.sales.search({"departement_code": "Paris"}).records()
    assert caught.value.code == 10002
    assert caught.value.request_id
    with pytest.raises(errors.InvalidRequest, match="cursor"):
        client.sales.search({"departement_code": "75"})._fetch("made up")


def test_a_key_that_is_none_or_not_granted_is_told_apart(demo, client):
    with pytest.raises(errors.AuthenticationFailed):
        toise.Client(demo["address"], "wrong").consumption()
    with pytest.raises(errors.NotGranted):
        client.admin.accounts()


def test_matches_come_alone_and_together(client):
    (home,) = client.diagnostics.search({"type_batiment": ["maison"]}, limit=1)
    description = {
        "filters": {"code_insee_ban": home["code_insee_ban"], "type_batiment": "maison"},
        "scoring_targets": {"conso_5_usages_par_m2_ep": round(home["conso_5_usages_par_m2_ep"])},
        "size": 3,
    }
    one = client.diagnostics.match(description["filters"], description["scoring_targets"], size=3)
    assert home["numero_dpe"] in [candidate["dpe"]["numero_dpe"] for candidate in one["data"]]
    # More than fit into one request.
    many = client.diagnostics.match_many([description] * 1001)
    assert len(many) == 1001
    assert many[0] == many[1000] == one


def test_homes_are_valued_alone_and_together_with_faults_in_their_place(client):
    home = toise.home("CLASS_FLAT", 50, lon=2.3795, lat=48.8631, rooms=2)
    value = client.estimate(home)
    assert value["priceRange"]["lower"] < value["price"] < value["priceRange"]["upper"]
    absurd = toise.home("CLASS_FLAT", -5, lon=2.3795, lat=48.8631)
    first, second, third = client.estimate_many([home, absurd, home])
    assert not isinstance(first, ItemError)
    assert not isinstance(third, ItemError)
    assert first["price"] == third["price"] == value["price"]
    assert isinstance(second, ItemError)
    assert second.index == 1
    assert "surface" in second.message


def test_a_call_repeated_under_its_key_costs_once(client):
    home = toise.home("CLASS_FLAT", 61, lon=2.3795, lat=48.8631, rooms=2)
    before = client.consumption()["total_credits"]
    for _ in range(3):
        client.estimate(home, idempotency_key=f"once-{before}")
    assert client.consumption()["total_credits"] == before + 1
    with pytest.raises(errors.Conflict):
        client.estimate(toise.home("CLASS_FLAT", 62, lon=2.3, lat=48.8), idempotency_key=f"once-{before}")


def test_addresses_are_found_alone_in_batches_tables_and_files(client, tmp_path):
    (home,) = client.diagnostics.search({"type_batiment": ["maison"]}, sort_by="numero_dpe", limit=1)
    best = client.geocoding.search("mende", type="municipality")[0]
    assert best["properties"]["citycode"] == "48095"
    near = client.geocoding.reverse(home["location"]["lat"], home["location"]["lon"], distance_max_m=1000)
    assert near
    batch = client.geocoding.batch([{"operation": "search", "q": "mende"}, {"operation": "search", "q": "?"}] * 60)
    assert len(batch) == 120
    assert isinstance(batch[119], ItemError)
    assert batch[119].index == 119
    options = toise.FileOptions(columns=["où"], postcode="cp")
    rows = [{"où": "Mende", "cp": "48000"}, {"où": "", "cp": ""}]
    found = client.geocoding.rows(rows, options)
    assert [row["result_status"] for row in found] == ["ok", "skipped"]
    assert found[0]["result_citycode"] == "48095"
    source = tmp_path / "in.csv"
    source.write_text("où;cp\nMende;48000\n", encoding="utf-8")
    target = client.geocoding.file(source, tmp_path / "out.csv", options)
    assert target.read_text(encoding="utf-8").splitlines()[1].startswith("Mende;48000;44.5")


def test_a_file_may_be_geocoded_in_the_background(client, tmp_path):
    source = tmp_path / "in.csv"
    source.write_text("town\n" + "Mende\n" * 500, encoding="utf-8")
    projects = client.geocoding.projects
    project = projects.create()
    projects.set_pipeline(project["id"], toise.FileOptions(columns=["town"]))
    with pytest.raises(errors.Conflict):
        projects.start(project["id"])
    projects.upload(project["id"], source)
    projects.start(project["id"])
    assert projects.wait(project["id"], wait_s=60)["status"] == "completed"
    target = projects.download(project, tmp_path / "out.csv")
    assert len(target.read_text(encoding="utf-8").splitlines()) == 501
    projects.delete(project["id"])
    with pytest.raises(errors.NotFound):
        projects.status(project["id"])


def test_alerts_are_kept_changed_and_ended(client):
    alerts = client.properties.alerts
    flats = {"type": ["CLASS_FLAT"]}
    preview = alerts.preview(flats, days=365)
    assert len(preview["per_day"]) == 365
    name = alerts.create("flats", flats, "http://127.0.0.1:9/hook", metadata={"customer": 7})
    kept = alerts.get(name)
    assert kept["activated"]
    assert kept["context"]["metadata"] == {"customer": 7}
    alerts.update(name, match=["ALERT_MATCH_CREATED", "ALERT_MATCH_MERGED"])
    assert len(alerts.get(name)["match"]) == 2
    alerts.delete(name)
    assert not alerts.get(name)["activated"]
    alerts.activate(name)
    payload = {
        "search_name": "many",
        "search_query": {"filterProperty": flats},
        "webhook_url": "http://127.0.0.1:9/hook",
        "match": ["ALERT_MATCH_CREATED"],
    }
    good, bad = alerts.create_many([payload, {**payload, "webhook_url": "ftp://x"}])
    assert isinstance(good, str)
    assert isinstance(bad, ItemError)
    assert {name, good} <= {alert["alert_id"] for alert in alerts.all()}
    assert alerts.history(good).records() == []
    for alert in (name, good):
        alerts.delete(alert)


def test_a_delivery_arrives_and_is_verified(demo, operator, scripted):
    account = operator.admin.create_account(f"receiver-{time.time_ns()}")
    key = operator.admin.create_key({"kind": "production", "account_id": account["account_id"]})
    verifier = toise.WebhookVerifier(account["signing_secret"], key=account["webhook_key"])
    arrived: queue.Queue[toise.ReceivedDelivery] = queue.Queue()

    def receive(request):
        arrived.put(verifier.verify(request.body, request.headers))
        return Answer(204, b"")

    server = scripted(receive)
    advert = {
        "url": f"https://portal.example/ads/{time.time_ns()}",
        "source": "portal.example",
        "type": "CLASS_FLAT",
        "offer": {"type": "OFFER_BUY"},
        "location": {"postalCode": "48000"},
        "currentPrice": {"value": 123_000},
    }
    with toise.Client(demo["address"], key["key"]) as client:
        match = ["ALERT_MATCH_CREATED", "ALERT_MATCH_ADVERT_EVENT"]
        filter = {"type": ["CLASS_FLAT"], "location": {"postalCode": "48000"}}
        alert = client.adverts.alerts.create("Mende", filter, server.url, match=match)
        (outcome,) = operator.admin.ingest([advert])
        assert outcome["outcome"] == "created"
        created = arrived.get(timeout=20)
        assert created.about == "adverts"
        assert created.body["data"]["created"][0]["adverts"][0]["flxId"] == outcome["flxId"]
        operator.admin.ingest([{**advert, "currentPrice": {"value": 120_000}}])
        event = arrived.get(timeout=20).body["data"]["updated"][0]["adverts"][0]["event"]
        assert event["type"] == "PRICE"
        assert event["previous"]["price"] == 123_000
        assert [found["flxId"] for found in client.adverts.alerts.history(alert)] == [outcome["flxId"]]
        assert len(client.adverts.alerts.deliveries(alert).records()) == 2
        replay = client.adverts.alerts.replay(alert, "2020-01-01", "2099-01-01")
        assert replay["items"] >= 1
        assert arrived.get(timeout=20).body["data"]["created"]
        client.adverts.alerts.delete(alert)
    operator.admin.revoke_key(key["key_id"])


def test_the_asynchronous_client_answers_the_same(demo, client):
    async def ask():
        async with toise.AsyncClient(demo["address"], demo["key"]) as other:
            found = other.sales.search({"departement_code": "75"}, limit=250)
            home = toise.home("CLASS_HOUSE", 120, lon=3.5, lat=44.5, rooms=5)
            return await asyncio.gather(
                found.records(),
                found.total(),
                other.properties.count(),
                other.estimate(home),
                other.geocoding.search("mende"),
            )

    # Properties that another test ingested may appear during this test.
    least = client.properties.count()
    sales, total, count, value, addresses = asyncio.run(ask())
    expected = client.sales.search({"departement_code": "75"}, limit=250)
    assert sales == expected.records()
    assert total == expected.total()
    assert least <= count <= client.properties.count()
    assert value["price"] == client.estimate(toise.home("CLASS_HOUSE", 120, lon=3.5, lat=44.5, rooms=5))["price"]
    assert addresses == client.geocoding.search("mende")


def test_areas_are_stored_and_filter_what_is_in_them(client):
    square = [[2.3, 48.8], [2.4, 48.8], [2.4, 48.9], [2.3, 48.9], [2.3, 48.8]]
    area = {"type": "Polygon", "coordinates": [square]}
    assert client.areas.put("a square", area)["area"] == area
    assert "a square" in [one["name"] for one in client.areas.all()]
    assert client.areas.get("a square")["area"] == area
    named = client.sales.search({"area": "a square"}, limit=1).total()
    assert named == client.sales.search({"area": area}, limit=1).total() > 0
    client.areas.delete("a square")
    with pytest.raises(errors.NotFound):
        client.areas.get("a square")
    # This demo has none.
    assert client.layers() == []


def test_a_home_has_a_report_with_the_letterhead_of_the_account(client):
    home = toise.home("CLASS_FLAT", 50, lon=2.3795, lat=48.8631, rooms=2)
    report = client.reports.home(home)
    assert report["estimate"]["price"] == client.estimate(home)["price"]
    client.reports.put_letterhead("Agence du Port")
    assert client.reports.letterhead()["text"] == "Agence du Port"
    page = client.reports.file(home, format="html", language="en").decode()
    assert "Agence du Port" in page
    assert "Estimated value" in page
    assert client.reports.file(home).startswith(b"%PDF")
    client.reports.delete_letterhead()
