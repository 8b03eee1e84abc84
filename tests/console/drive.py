"""Drives the console of a demo in a real browser: drive.py CHROMIUM READY_JSON [FOLDER_FOR_SCREENSHOTS]

Gets in by the demo's link, finds a sale, goes to a commune, values a home and asks what if, runs commands of the
palette, makes alerts and sees a delivery arrive, compares the prices of two years, asks SQL by completed names and
sees its rows on the map, reads an advert that tries to run a script, makes and revokes keys, imports a file of
adverts and decides pairs as an operator, and is signed out when the key is revoked. A key with few scopes sees its
screens and no refusal, and every key is first told what it may do. Layers are drawn on the map, and homes are searched
within reach of a point. The guide is searched and shows its pictures. A newcomer gets on by visible words alone, in
both languages (newcomer.py). Every screen must fit 360 pixels and be accessible in either theme (reach.py); the file
of axe-core named by TOISE_AXE checks most of it, and is left out without one.
"""

import contextlib
import csv
import http.server
import json
import os
import pathlib
import re
import sys
import threading
import time
import urllib.parse
import urllib.request

import newcomer
import reach
from playwright.sync_api import expect, sync_playwright

FLAGS = [
    "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
]
WAIT_MS = 60_000

chromium, ready_file = sys.argv[1:3]
pictures = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
ready = json.loads(pathlib.Path(ready_file).read_text(encoding="utf-8"))
address = ready["address"]


def ask(method, path, key, body=None):
    """The JSON answer of the service."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"x-api-key": key, "content-type": "application/json"}
    request = urllib.request.Request(address + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read() or b"null")


class Receiver(http.server.BaseHTTPRequestHandler):
    """Takes every webhook."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def advert(nth, price, title):
    return {
        "url": f"https://portal.example/ads/{nth}", "source": "portal.example", "type": "CLASS_FLAT", "title": title,
        "offer": {"type": "OFFER_BUY"}, "location": {"postalCode": "75011", "city": "Paris"}, "description": title,
        "currentPrice": {"value": price}, "habitation": {"surface": {"total": 41 + nth}, "roomCount": 2},
    }


def thin(nth, price):
    """An advert that says too little to be merged with another like it."""
    return {
        "url": f"https://thin.example/ads/{nth}", "source": "thin.example", "type": "CLASS_FLAT",
        "offer": {"type": "OFFER_BUY"},
        "location": {"postalCode": "75011", "city": "Paris"}, "currentPrice": {"value": price},
        "habitation": {"surface": {"total": 31}, "roomCount": 2},
    }


# An agency's export. One column has no usual name, one storey is no number, and one row has no address.
EXPORT = """URL;Titre;Prix;m² hab.;Code postal;Ville;Étage
https://agence.example/annonces/1;Appartement T3;250 000 €;61,5;48000;Mende;2
https://agence.example/annonces/2;Maison T5;310 000 €;120;48000;Mende;dernier
;Studio;90 000 €;20;48000;Mende;1
"""
IMPORTED = """select current_price_value as price, habitation_surface_total as surface, location_postal_code as postal
    from adverts where url = 'https://agence.example/annonces/1'"""


axe_file = os.environ.get("TOISE_AXE")
axe = pathlib.Path(axe_file).read_text(encoding="utf-8") if axe_file else None


# Pages that axe-core looks at: it tries styles that the page's policy refuses.
judging = []


def violations(page):
    """What is not accessible on the screen as it stands: rule, and the first elements that break it."""
    judging.append(page)
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']}).then((result) => result.violations)")
    # What the browser says of axe-core's styles arrives a little later.
    page.wait_for_timeout(300)
    judging.clear()
    return [(one["id"], one["help"], [node["html"][:200] for node in one["nodes"][:3]]) for one in found]


def said_at(line):
    """A message of the browser's console, and the address that it is about."""
    return f"{line.text} {line.location.get('url', '')}".strip()


def rows_of(download):
    """The rows of a CSV file that the browser saved."""
    with pathlib.Path(download.path()).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def rest(page):
    """Waits until the address of the page has stayed the same for two seconds."""
    known, since = page.url, time.monotonic()
    while time.monotonic() - since < 2:
        page.wait_for_timeout(200)
        if page.url != known:
            known, since = page.url, time.monotonic()


def look(page, name, faults):
    """Looks at the screen in both themes and at two widths: it fits, and anyone can use it."""
    for theme in ("light", "dark"):
        for width in (1280, 360):
            page.set_viewport_size({"width": width, "height": 800})
            page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
            page.evaluate("scrollTo(0, 0)")
            page.wait_for_timeout(1_500 if pictures else 300)
            wide = page.evaluate("document.documentElement.scrollWidth")
            if wide > width:
                faults.append(f"{name} is {wide} pixels wide at {width}")
            if axe:
                found = violations(page)
                if found:
                    # On a busy machine, the screen may not have its new width yet.
                    page.wait_for_timeout(2_000)
                    found = violations(page)
                faults.extend(f"{name}, {theme}, {width}: {one}" for one in found)
            faults.extend(f"{name}, {theme}, {width}: {one}" for one in reach.contrast(page))
            if pictures:
                pictures.mkdir(parents=True, exist_ok=True)
                page.screenshot(path=pictures / f"{name}-{theme}-{width}.png")
    for width in (390, 1024, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_timeout(100)
        wide = page.evaluate("document.documentElement.scrollWidth")
        if wide > width:
            faults.append(f"{name} is {wide} pixels wide at {width}")
    page.set_viewport_size({"width": 1280, "height": 800})
    faults.extend(f"{name}: {one}" for one in reach.stops_without_focus(page))


def until(page, holds, otherwise):
    """Waits until a condition holds."""
    for _ in range(WAIT_MS // 500):
        if holds():
            return
        page.wait_for_timeout(500)
    raise AssertionError(otherwise)


@contextlib.contextmanager
def shown_on_failure():
    """If a step fails, prints the address and the text of each page that the caller added to the list."""
    pages = []
    try:
        yield pages
    except BaseException:
        for page in pages:
            print(page.url, page.locator("body").inner_text()[:2_000], sep="\n", file=sys.stderr)
        raise


def forward(page, shown):
    """Goes forward in the history. A busy browser may drop the step, so it is taken again until `shown` is visible."""
    for _ in range(3):
        page.go_forward()
        try:
            return expect(shown).to_be_visible(timeout=WAIT_MS // 3)
        except AssertionError:
            continue
    raise AssertionError(f"going forward does not lead back, but to {page.url}")


def session_of(page):
    """What the console knows of its session."""
    return page.evaluate("fetch('/console-session').then((answer) => answer.json())")["data"]


receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=receiver.serve_forever, daemon=True).start()
webhook = f"http://127.0.0.1:{receiver.server_port}/"

with sync_playwright() as playwright, shown_on_failure() as watched:
    browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
    context = browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB")
    page = context.new_page()
    watched.append(page)
    page.set_default_timeout(WAIT_MS)
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda line: line.type == "error" and not judging and faults.append(said_at(line)))

    # In by the link, whose code leaves the address and works once.
    page.goto(ready["console"])
    expect(page.get_by_role("navigation")).to_be_visible(timeout=WAIT_MS)
    assert "code=" not in page.url, page.url
    assert page.evaluate("document.cookie") == "", "a script can read the session"
    # The data of a demo are invented, and the console says so and where real ones come from.
    invented = page.get_by_role("button", name="Invented data")
    invented.click()
    source = page.get_by_role("link", name="Where real data comes from")
    expect(source).to_have_attribute("href", re.compile("data-sources$"))
    page.keyboard.press("Escape")

    # The map, its results, a filter, a record, its value.
    results = page.get_by_role("region", name="results")
    cards = results.get_by_role("listitem")
    count = results.get_by_role("status")
    expect(cards.first).to_be_visible(timeout=WAIT_MS)
    before = count.inner_text()
    page.get_by_role("button", name="Type", exact=True).click()
    page.get_by_role("checkbox", name="House").check()
    expect(count).not_to_have_text(before, timeout=WAIT_MS)
    assert "f.property_type=Maison" in page.url, page.url
    page.get_by_role("button", name="Done").click()
    page.reload()
    expect(cards.first).to_contain_text("House", timeout=WAIT_MS)
    expect(page.get_by_role("button", name="Type: House")).to_be_visible()
    # A filter that is not shown at first, from the list of all that the contract has.
    page.get_by_role("button", name="Add filter").click()
    page.get_by_role("searchbox", name="Add filter").fill("main")
    page.get_by_role("button", name="Main rooms", exact=True).last.click()
    page.get_by_label("Main rooms: minimum").fill("3")
    # What is half typed stays when an answer arrives meanwhile.
    most = page.get_by_label("Main rooms: maximum")
    with page.expect_response(lambda answer: answer.url.endswith("/dvf/search")):
        page.get_by_label("Main rooms: minimum").press("Tab")
        most.press_sequentially("12")
    page.wait_for_timeout(500)
    expect(most).to_have_value("12")
    expect(page).to_have_url(re.compile(r"f\.main_rooms\.min=3"))
    page.get_by_role("button", name="Remove").click()
    expect(page).not_to_have_url(re.compile(r"f\.main_rooms"))
    # What follows the filter that went has the focus.
    expect(page.get_by_role("button", name="Add filter")).to_be_focused()
    # Departments in place of hexagons, over the outlines.
    with page.expect_response(lambda answer: "/tiles/dvf/" in answer.url and "by=areas" in answer.url) as tiles:
        page.get_by_role("button", name="Departments").click()
    assert tiles.value.ok, tiles.value.status
    # One year in place of all.
    years = page.get_by_role("group", name="Years")
    years.get_by_role("button", name="2024").click()
    expect(page).to_have_url(re.compile(r"f\.transaction_date\.from=2024-01-01.*to=2024-12-31"))
    years.get_by_role("button", name="All").click()
    expect(page).not_to_have_url(re.compile(r"f\.transaction_date"))
    # An area is drawn by its corners: the results are those in it, until it is removed.
    area = page.get_by_role("button", name=re.compile("^Area"))
    area.click()
    page.get_by_role("button", name="Draw an area").click()
    expect(page.locator(".maplibregl-canvas")).to_have_css("cursor", "crosshair")
    for at in ((700, 300), (900, 300), (800, 500), (700, 300)):
        page.mouse.click(*at)
    expect(page).to_have_url(re.compile(r"area=-?\d"))
    expect(page.locator(".count p").first).to_contain_text("in the area", timeout=WAIT_MS)
    # It is kept under a name, and chosen and deleted by it.
    area.click()
    page.get_by_role("textbox", name="Name, to keep it").fill("Test square")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page).to_have_url(re.compile(r"area=(@|%40)Test"))
    expect(page.locator(".count p").first).to_contain_text("in the area", timeout=WAIT_MS)
    page.get_by_role("button", name="Remove the area").click()
    expect(page.locator(".count p").first).to_contain_text("in all", timeout=WAIT_MS)
    area.click()
    page.get_by_role("list", name="Saved areas").get_by_role("button", name="Test square", exact=True).click()
    expect(page.locator(".count p").first).to_contain_text("in the area", timeout=WAIT_MS)
    expect(area).to_contain_text("Test square")
    inside = page.locator(".count p b").first.inner_text()
    area.click()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete: Test square").click()
    expect(page).not_to_have_url(re.compile("area="))
    # A layer of points finds what is near them; over the whole country, the count is that of the API.
    page.get_by_role("combobox", name="Layer").select_option("town_centres")
    expect(page).to_have_url(re.compile(r"layer=town_centres(,|%2C)500"))
    page.get_by_role("spinbutton", name="Metres at most").fill("900")
    page.get_by_role("spinbutton", name="Metres at most").press("Enter")
    near = {"filters": {"layer": {"name": "town_centres", "relation": "within", "meters": 900}}, "size": 1}
    total = ask("POST", "/v2/protected/opendata/dvf/search", ready["key"], near)["total"]
    assert total > 0
    assert inside != "0"
    page.keyboard.press("Escape")
    page.evaluate("location.hash = '#/map?layer=town_centres,900'")
    expect(page.locator(".count p b").first).to_have_text(f"{total:,}", timeout=WAIT_MS)
    area.click()
    page.get_by_role("combobox", name="Layer").select_option("")
    page.keyboard.press("Escape")
    page.evaluate("location.hash = '#/map?lat=46.50000&lon=2.50000&zoom=5.20'")
    expect(page.locator(".count p").first).to_contain_text("in all", timeout=WAIT_MS)
    look(page, "map", faults)
    # A stored layer is drawn, with its number and licence; a click on a feature shows its attributes.
    where = "select name, bbox['xmin'] as lon, bbox['ymin'] as lat from layer_town_centres where name = 'Mende' limit 1"
    town = ask("POST", "/v2/protected/sql", ready["sql_key"], {"query": where})["data"][0]
    layers = ask("GET", "/v2/protected/layers", ready["key"])["data"]
    features = next(one["count"] for one in layers if one["name"] == "town_centres")
    # Without sales, none is in the way.
    page.goto(f"{address}/console/#/map?lat={town['lat']:.5f}&lon={town['lon']:.5f}&zoom=12&f.price_eur.min=900000000")
    area.click()
    page.get_by_role("checkbox", name="town_centres").check()
    page.keyboard.press("Escape")
    drawn = page.get_by_role("region", name="Layers on the map")
    expect(drawn).to_contain_text(f"{features:,} features · Licence Ouverte 2.0", timeout=WAIT_MS)
    expect(page).to_have_url(re.compile("layers=town_centres"))
    card = page.get_by_role("region", name="town_centres")
    page.wait_for_timeout(3_000)

    def shows_feature():
        page.mouse.click(886, 400)
        page.wait_for_timeout(500)
        return card.count() > 0

    until(page, shows_feature, "a click on a feature shows nothing")
    expect(card).to_contain_text("Mende")
    expect(card).to_contain_text("population")
    look(page, "layers", faults)
    card.get_by_role("button", name="Close").click()
    expect(card).to_have_count(0)
    drawn.get_by_role("button", name="Hide town_centres").click()
    expect(drawn).to_have_count(0)
    page.goto(f"{address}/console/#/map?lat={town['lat']:.5f}&lon={town['lon']:.5f}&zoom=12")
    # Within reach of a point: a server without a service says so, another one searches there. Tiles do not take it.
    travels = []
    of_tiles = []
    page.on("request", lambda one: "/tiles/" in one.url and of_tiles.append(urllib.parse.unquote(one.url)))

    def travel(route):
        body = route.request.post_data_json
        asked_area = body["filters"].get("area")
        if not isinstance(asked_area, dict) or "isochrone" not in asked_area:
            return route.continue_()
        travels.append(body["filters"].pop("area")["isochrone"])
        if travels[-1]["mode"] == "walk":
            return route.continue_(post_data=json.dumps(body))
        none = "filters.area: isochrones are not available here: the setting geocoding.isochrones names no service"
        refusal = json.dumps({"error": {"code": 10002, "message": none}})
        return route.fulfill(status=422, content_type="application/json", body=refusal)

    shapes = []

    def shape(route):
        asked_for = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(route.request.url).query))
        shapes.append(asked_for)
        if asked_for["mode"] == "car":
            none = "mode: isochrones are not available here: the setting geocoding.isochrones names no service"
            refusal = json.dumps({"error": {"code": 10002, "message": none}})
            return route.fulfill(status=422, content_type="application/json", body=refusal)
        lon, lat = float(asked_for["lon"]), float(asked_for["lat"])
        ring = [[lon - 0.01, lat - 0.01], [lon + 0.01, lat - 0.01], [lon, lat + 0.01], [lon - 0.01, lat - 0.01]]
        found = json.dumps({"data": {"area": {"type": "Polygon", "coordinates": [ring]}}})
        return route.fulfill(status=200, content_type="application/json", body=found)

    page.route("**/dvf/search", travel)
    page.route("**/v2/protected/isochrones?*", shape)
    area.click()
    page.get_by_role("button", name="Click the point").click()
    expect(page.get_by_text("Click where the journey begins.")).to_be_visible()
    page.mouse.click(886, 400)
    expect(page).to_have_url(re.compile("area=reach"))
    expect(results.get_by_role("alert")).to_contain_text("Travel times are not available", timeout=WAIT_MS)
    assert travels[-1]["mode"] == "car", travels
    assert travels[-1]["minutes"] == 15, travels
    area.click()
    page.get_by_role("spinbutton", name="Minutes at most").fill("10")
    page.get_by_role("combobox", name="Travel").select_option("walk")
    page.get_by_role("button", name="Middle of the map").click()
    expect(page.locator(".count p").first).to_contain_text("in the area", timeout=WAIT_MS)
    expect(area).to_contain_text("10 min on foot")
    expect(page.get_by_text("The map still shows everything.")).to_be_visible()
    assert travels[-1]["minutes"] == 10, travels
    until(page, lambda: shapes and shapes[-1]["minutes"] == "10", "the shape of what is within reach is not asked for")
    assert abs(travels[-1]["pin"]["lat"] - town["lat"]) < 0.001, (travels, town)
    assert not any("isochrone" in url for url in of_tiles), of_tiles
    page.unroute_all(behavior="wait")
    page.evaluate("location.hash = '#/map?lat=46.50000&lon=2.50000&zoom=5.20'")
    expect(page.locator(".count p").first).to_contain_text("in all", timeout=WAIT_MS)
    # A commune is completed while it is typed, and its market opens.
    place = page.get_by_role("combobox", name="Go to an address or commune")
    place.press_sequentially("Mend")
    page.get_by_role("option", name="Mende").first.click()
    market = page.get_by_role("region", name="Mende")
    expect(market).to_contain_text("48095", timeout=WAIT_MS)
    look(page, "market", faults)
    # It is in the address: it opens again when the page is reloaded, and the browser goes back to what was before.
    expect(page).to_have_url(re.compile("place=48095"))
    page.reload()
    expect(market).to_contain_text("48095", timeout=WAIT_MS)
    page.go_back()
    expect(market).to_have_count(0)
    # The map writes where it moved, which would end a step of the browser that has just begun.
    rest(page)
    forward(page, market)
    market.get_by_role("button", name="Back").click()
    expect(page).not_to_have_url(re.compile("place="))
    rest(page)
    # Enter takes the first completion, even if it has not arrived yet, and a position goes there.
    place.fill("Mende")
    page.keyboard.press("Enter")
    expect(market).to_contain_text("48095", timeout=WAIT_MS)
    place.fill("44.5180, 3.5000")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"lat=44\.518.*lon=3\.5.*zoom=17"))
    expect(market).to_have_count(0)
    # The figures of a market by quarter are a file.
    page.goto(address + "/console/#/map?place=59")
    with page.expect_download(timeout=WAIT_MS) as download:
        page.get_by_role("region", name="Nord").get_by_role("button", name="Save the rows as CSV").click()
    assert download.value.suggested_filename == "toise-market-59.csv"
    quarters = rows_of(download.value)
    assert len(quarters) > 4, quarters
    assert all(re.fullmatch(r"\d{4}-Q[1-4]", row["period"]) for row in quarters), quarters[:2]
    page.goto(address + "/console/#/map?f.property_type=Maison")
    # All rows that pass the filters are a file, page by page.
    expect(page.get_by_role("button", name="Type: House")).to_be_visible()
    expect(cards.first).to_contain_text("House", timeout=WAIT_MS)
    with page.expect_download(timeout=WAIT_MS) as download:
        results.get_by_role("button", name="Save the rows as CSV").click()
    assert download.value.suggested_filename == "toise-dvf.csv"
    rows = rows_of(download.value)
    filters = {"property_type": ["Maison"]}
    houses = ask("POST", "/v2/protected/opendata/dvf/search", ready["key"], {"filters": filters, "size": 1})
    assert len(rows) == houses["total"] > 100, (len(rows), houses["total"])
    assert {row["property_type"] for row in rows} == {"Maison"}
    # The map is saved as a picture, with its legend.
    page.get_by_role("button", name="Share").click()
    with page.expect_download(timeout=WAIT_MS) as download:
        page.get_by_role("button", name="Save the map as PNG").click()
    assert pathlib.Path(download.value.path()).read_bytes().startswith(b"\x89PNG")
    # A record takes the focus, Escape gives it back to its result, and the address opens it again.
    second = cards.nth(1).get_by_role("button")
    second.press("Enter")
    back = results.get_by_role("button", name="Back")
    expect(back).to_be_focused()
    page.keyboard.press("Escape")
    expect(second).to_be_focused()
    cards.first.get_by_role("button").press("Enter")
    expect(page).to_have_url(re.compile("record="))
    title = results.get_by_role("heading", level=2).inner_text()
    page.reload()
    expect(results.get_by_role("heading", level=2)).to_have_text(title, timeout=WAIT_MS)
    # What happened on its parcel has at least the sale itself.
    results.get_by_text(re.compile("^What happened on parcel")).first.click()
    happened = results.get_by_role("list", name=re.compile("^What happened on parcel"))
    expect(happened.get_by_role("link", name=title).first).to_be_visible(timeout=WAIT_MS)
    look(page, "record", faults)
    page.get_by_role("link", name="Estimate its value").click()
    value = page.get_by_role("region", name="Value")
    expect(value).to_contain_text("Estimated value", timeout=WAIT_MS)
    expect(value).to_contain_text("€")
    expect(page.locator(".waterfall li.whole")).to_contain_text("€")
    look(page, "home", faults)
    # What if: each change asks once, with what was said and nothing else.
    with page.expect_request(lambda asked: asked.url.endswith("/estimate/property/lite")) as asked:
        page.get_by_role("slider", name="Surface").fill("187")
    body = asked.value.post_data_json
    assert body["habitation"]["surface"]["total"] == 187, body
    assert "characteristics" not in body["habitation"], body
    assert "climate" not in body["habitation"], body
    expect(value).to_contain_text("than initially", timeout=WAIT_MS)
    with page.expect_request(lambda asked: asked.url.endswith("/estimate/property/lite")) as asked:
        page.get_by_role("button", name="C", exact=True).click()
    assert asked.value.post_data_json["habitation"]["climate"] == {"epcEnergy": "ENERGY_CLASSIFICATION_C"}
    page.get_by_role("button", name="Reset").click()
    expect(value).not_to_contain_text("than initially", timeout=WAIT_MS)
    # Its comparable sales are a file too.
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the rows as CSV").click()
    assert pathlib.Path(download.value.path()).read_text(encoding="utf-8").startswith("id,date,price,surface,")
    # No control covers its pin on the map.
    pin = page.locator(".maplibregl-marker").bounding_box()
    control = page.get_by_role("button", name="Zoom in").bounding_box()
    assert pin["x"] + pin["width"] < control["x"], (pin, control)
    # Its report is a file. The demo has no homes to rent, so it has no rent, and says what is missing.
    with page.expect_download() as download:
        value.get_by_role("button", name="Report as PDF").click()
    assert download.value.suggested_filename == "report.pdf"
    assert pathlib.Path(download.value.path()).read_bytes().startswith(b"%PDF")
    judging.append(page)
    value.get_by_role("button", name="Rent and yield").click()
    expect(value.get_by_role("status")).to_contain_text("rents here are not known", timeout=WAIT_MS)
    page.wait_for_timeout(300)
    judging.clear()
    # The centre of a town is no home: it has no value, and the former one goes.
    field = page.get_by_role("combobox", name="Number, street and town")
    field.fill("")
    field.press_sequentially("Mende")
    expect(page.get_by_role("option", name="Mende").first).to_be_visible(timeout=WAIT_MS)
    field.press("ArrowDown")
    field.press("Enter")
    expect(page.get_by_text("Its centre is not a home")).to_be_visible(timeout=WAIT_MS)
    expect(page.get_by_text("Estimated value")).to_have_count(0)

    # A weak address is a question, and what was typed stays.
    field.fill("12 rue Inconnue, Mende")
    field.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Which place do you mean?", timeout=WAIT_MS)
    expect(field).to_have_value("12 rue Inconnue, Mende")
    expect(page.get_by_text("Estimated value")).to_have_count(0)

    # The palette goes to screens and communes, and runs commands.
    palette = page.get_by_role("combobox", name="Search or run a command")
    page.keyboard.press("Control+k")
    expect(palette).to_be_focused()
    palette.press_sequentially("dark")
    palette.press("Enter")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.keyboard.press("Control+k")
    palette.press_sequentially("Mende")
    expect(page.get_by_role("option", name="Mende").first).to_be_visible(timeout=WAIT_MS)
    if axe:
        faults.extend(f"palette: {one}" for one in violations(page))
    palette.press("Enter")
    expect(page).to_have_url(re.compile(r"#/map\?.*zoom=12.*place=48095"), timeout=WAIT_MS)
    expect(market).to_contain_text("48095", timeout=WAIT_MS)
    page.keyboard.press("Control+k")
    palette.press_sequentially("light")
    palette.press("Enter")
    # It finds a home for sale by the words of its adverts.
    mende = {"postalCode": "48000", "city": "Mende"}
    house = {**advert(41, 700_000, "Villa Zanzibar"), "type": "CLASS_HOUSE", "location": mende}
    ask("POST", "/v2/protected/admin/adverts", ready["admin_key"], {"adverts": [house]})
    words = {"filterProperty": {}, "fullTexts": ["zanzibar"]}
    named = {"search": words, "sortBy": "RELEVANCE", "orderBy": "DESC", "size": 1}
    until(page, lambda: ask("POST", "/v2/protected/properties/search", ready["key"], named)["data"]["count"] == 1,
        "the advert is not found by its words")
    page.keyboard.press("Control+k")
    palette.press_sequentially("zanzibar")
    page.get_by_role("option", name="Villa Zanzibar").click(timeout=WAIT_MS)
    expect(page.get_by_role("region", name="Villa Zanzibar")).to_be_visible(timeout=WAIT_MS)
    page.goto(address + "/console/#/map?place=48095")
    expect(market).to_contain_text("48095", timeout=WAIT_MS)
    # If it cannot be loaded, a message says so.
    page.route("**/palette.js", lambda route: route.fulfill(status=422))
    page.reload()
    expect(market).to_contain_text("48095", timeout=WAIT_MS)
    page.keyboard.press("Control+k")
    expect(page.get_by_role("log")).to_contain_text("palette.js", timeout=WAIT_MS)
    page.unroute_all(behavior="wait")

    # Single diagnostics are coloured by their class, and the legend says so.
    spot = "select lat, lon, code_insee_ban as code from dpe where lat is not null and etiquette_dpe is not null"
    spot = ask("POST", "/v2/protected/sql", ready["sql_key"], {"query": f"{spot} limit 1"})["data"][0]
    page.goto(f"{address}/console/#/map?dataset=dpe&lat={spot['lat']:.5f}&lon={spot['lon']:.5f}&zoom=16")
    legend = page.locator("figure.legend figcaption")
    expect(legend).to_have_text("Energy class", timeout=WAIT_MS)
    page.goto(f"{address}/console/#/map?dataset=dpe&lat={spot['lat']:.5f}&lon={spot['lon']:.5f}&zoom=9")
    expect(legend).to_have_text("Share of classes F and G", timeout=WAIT_MS)
    page.goto(f"{address}/console/#/map?place={spot['code']}")
    expect(results).to_contain_text("Diagnostics F and G", timeout=WAIT_MS)
    # What has a name comes first of a diagnostic's many fields.
    page.goto(f"{address}/console/#/map?dataset=dpe")
    cards.first.get_by_role("button").press("Enter")
    expect(results.get_by_text(re.compile("^Other fields: "))).to_be_visible(timeout=WAIT_MS)

    # An alert, its preview, and what it delivers.
    known = advert(40, 800_000, "Appartement au calme")
    ask("POST", "/v2/protected/admin/adverts", ready["admin_key"], {"adverts": [known]})
    page.goto(address + "/console/#/map?dataset=properties&f.type=CLASS_FLAT")
    page.get_by_role("link", name="Alert on this search").click()
    expect(page.get_by_role("button", name="Type: Flat")).to_be_visible(timeout=WAIT_MS)
    page.get_by_role("button", name="Postal code").click()
    page.get_by_role("textbox", name="Postal code").fill("75011")
    page.get_by_role("button", name="Done").click()
    page.get_by_label("Name").fill("Flats of the 11th")
    page.get_by_label("Webhook address").fill(webhook)
    preview = page.get_by_role("region", name="Preview")
    expect(preview).to_contain_text(re.compile("match(es)? in the last 30 days"), timeout=WAIT_MS)
    assert preview.locator(".plot").bounding_box()["width"] > 300, "the preview is drawn too narrow to be read"
    look(page, "new-alert", faults)
    page.get_by_role("button", name="Create").click()
    alert = page.get_by_role("region", name="Flats of the 11th")
    expect(alert).to_contain_text("Nothing has been sent yet", timeout=WAIT_MS)
    hostile = "<img src=x onerror='window.broken=1'> \u202e javascript:alert(1)"
    ask("POST", "/v2/protected/admin/adverts", ready["admin_key"], {"adverts": [advert(1, 410_000, hostile)]})
    expect(alert).to_contain_text("delivered", timeout=WAIT_MS)
    look(page, "alerts", faults)
    alert.get_by_role("button", name="Send a test").click()
    expect(page.get_by_role("log")).to_contain_text("The receiver accepted the test", timeout=WAIT_MS)
    alert.get_by_role("button", name="Edit").click()
    alert.get_by_label("Webhook address").fill("ftp://example.com/")
    alert.get_by_role("button", name="Save").click()
    expect(alert.get_by_role("alert")).to_be_visible(timeout=WAIT_MS)
    look(page, "edited-alert", faults)
    alert.get_by_label("Webhook address").fill(webhook)
    alert.get_by_label("Name").fill("Flats near Bastille")
    alert.get_by_role("button", name="Save").click()
    alert = page.get_by_role("region", name="Flats near Bastille")
    expect(alert).to_contain_text("delivered", timeout=WAIT_MS)
    # A list that cannot be loaded again stays, and a button tries once more.
    refusal = {"error": {"code": 10002, "message": "not now"}}
    page.route("**/search/alerts/all?*", lambda route: route.fulfill(status=422, json=refusal))
    alert.get_by_role("button", name="Pause").click()
    failed = page.get_by_role("alert").filter(has_text="could not be refreshed")
    expect(failed).to_contain_text("not now", timeout=WAIT_MS)
    expect(page.get_by_role("button", name=re.compile("Flats near Bastille.*active"))).to_be_visible()
    page.unroute_all(behavior="wait")
    failed.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("button", name=re.compile("Flats near Bastille.*paused"))).to_be_visible(timeout=WAIT_MS)
    expect(failed).to_have_count(0)

    # An alert on an area shows how many corners it has.
    corners = [[2.36, 48.85], [2.4, 48.85], [2.4, 48.87], [2.36, 48.87], [2.36, 48.85]]
    area = {"type": "Polygon", "coordinates": [corners]}
    search = {"filterProperty": {"location": [{"locationCoordinate": {"location": {"area": area}}}]}}
    made = ask("PUT", "/v2/protected/properties/search/alerts", ready["key"], {"search_query": search,
        "match": ["ALERT_MATCH_CREATED"], "search_name": "An area", "webhook_url": webhook})
    # One on adverts is listed with it.
    offices = {"filterAd": {"type": ["CLASS_OFFICE"]}}
    ask("PUT", "/v2/protected/adverts/search/alerts", ready["key"], {"search_query": offices,
        "match": ["ALERT_MATCH_CREATED"], "search_name": "Offices on a portal", "webhook_url": webhook})
    page.goto(f"{address}/console/#/alerts?alert={made['data']['alert_id']}")
    page.reload()
    expect(page.get_by_role("region", name="An area")).to_contain_text("Area: 4 corners", timeout=WAIT_MS)
    expect(page.get_by_role("list", name="Alerts")).to_contain_text("Offices on a portal")

    # An alert on sales is made from the map, with its filters, and shows them and its matches, page by page.
    page.goto(f"{address}/console/#/map?dataset=dvf&f.price_eur.max=300000")
    page.get_by_role("link", name="Alert on this search").click()
    expect(page.get_by_role("button", name="Price: ≤ €300,000")).to_be_visible(timeout=WAIT_MS)
    preview = page.get_by_role("region", name="Preview")
    expect(preview).to_contain_text("already imported", timeout=WAIT_MS)
    look(page, "new-alert-on-sales", faults)
    page.get_by_label("Name").fill("Sales below 300,000")
    page.get_by_label("Webhook address").fill(webhook)
    page.get_by_role("button", name="Create").click()
    alert = page.get_by_role("region", name="Sales below 300,000")
    expect(alert).to_contain_text("Price: ≤ €300,000", timeout=WAIT_MS)
    expect(alert).to_contain_text("Nothing has been sent yet")
    expect(page.get_by_role("button", name=re.compile("Sales below 300,000.*active.*Recorded sales"))).to_be_visible()

    def sales_of(route):
        skip = int(urllib.parse.parse_qs(urllib.parse.urlsplit(route.request.url).query)["skip"][0])
        sales = [{"id": f"sale-{nth}", "address": f"{nth} RUE DROITE", "city": "Mende", "postal_code": "48000",
            "insee_code": "48095", "transaction_date": "2025-03-04T00:00:00.000Z", "transaction_type": "Vente",
            "property_type": "Maison", "price_eur": 120000, "surface_m2": 80, "main_rooms": 4, "parcel_ids": [],
            "is_new_build": False} for nth in range(skip, min(skip + 20, 25))]
        return route.fulfill(json={"data": sales})

    page.route("**/opendata/dvf/search/alerts/history/*", sales_of)
    expect(alert.get_by_role("heading", name="Matches (20+)")).to_be_visible(timeout=WAIT_MS)
    alert.get_by_role("button", name="More", exact=True).click()
    expect(alert.get_by_role("heading", name="Matches (25)")).to_be_visible(timeout=WAIT_MS)
    last = alert.get_by_role("link", name="24 Rue Droite")
    expect(last).to_have_attribute("href", "#/map?dataset=dvf&record=sale-24")
    expect(alert.get_by_role("button", name="More", exact=True)).to_have_count(0)
    page.unroute_all(behavior="wait")

    # After the first hundred alerts of a kind, a button loads more; the alert of a link is shown before that.
    def alerts_of(route):
        asked = urllib.parse.urlsplit(route.request.url)
        if asked.path.endswith("/many-100"):
            known = {"status": 422, "json": refusal} if is_refused else {"json": {"data": listed_alert(100)}}
            return route.fulfill(**known)
        skip = int(urllib.parse.parse_qs(asked.query)["skip"][0])
        return route.fulfill(json={"data": [listed_alert(nth) for nth in range(skip, min(skip + 100, 101))]})

    def listed_alert(nth):
        return {"alert_id": f"many-{nth}", "search_name": f"Alert {nth}", "activated": True, "webhook_url": webhook,
            "created_at": "2026-01-02T03:04:05Z", "search_query": {"filterProperty": {}}}

    page.route(re.compile(r"/properties/search/alerts/(all\?|many-100$)"), alerts_of)
    page.route(re.compile(r"/alerts/(history/)?many-100(/|\?)"), lambda route: route.fulfill(json={"data": []}))
    is_refused = True
    page.goto(f"{address}/console/#/alerts?alert=many-100")
    page.reload()
    failed = page.get_by_role("alert").filter(has_text="not now")
    expect(failed).to_be_visible(timeout=WAIT_MS)
    is_refused = False
    failed.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("region", name="Alert 100")).to_contain_text("Nothing has been sent yet", timeout=WAIT_MS)
    listed = page.get_by_role("list", name="Alerts").get_by_role("listitem")
    expect(listed.first).to_contain_text("Alert 100")
    page.get_by_role("button", name="More", exact=True).click()
    expect(page.get_by_role("button", name="More", exact=True)).to_have_count(0)
    expect(listed.filter(has_text="Alert 100")).to_have_count(1)
    expect(listed.first).to_contain_text("Alert 0")
    # The server does not know the alert, so nothing may still ask for it.
    page.goto(f"{address}/console/#/welcome")
    expect(listed).to_have_count(0)
    page.unroute_all(behavior="wait")

    # The hostile advert is text.
    time.sleep(1.5)
    price = "f.price.latest.value"
    page.goto(f"{address}/console/#/map?dataset=properties&{price}.min=409999&{price}.max=410001")
    cards.filter(has_text="onerror").get_by_role("button").click()
    expect(results.get_by_role("heading", level=2)).to_contain_text("onerror", timeout=WAIT_MS)
    assert page.evaluate("window.broken") is None, "a script of an advert ran"

    # The change of prices between two years: tiles of both, and the prices of a place under the pointer.
    most = """with yearly as (select departement_code as code, year(transaction_date) as y, count(*) as n from dvf
        where price_per_m2_living_eur > 0 group by 1, 2)
        select o.code, o.y as before, l.y as after from yearly o join yearly l on o.code = l.code and o.y < l.y
        order by least(o.n, l.n) desc, 1, 2, 3 limit 1"""
    sold = ask("POST", "/v2/protected/sql", ready["sql_key"], {"query": most})["data"][0]
    before, after = sold["before"], sold["after"]
    middle = "select median(lat) as lat, median(lon) as lon from dvf where departement_code = $1"
    at = ask("POST", "/v2/protected/sql", ready["sql_key"], {"query": middle, "parameters": [sold["code"]]})["data"][0]
    page.goto(f"{address}/console/#/map?lat={at['lat']:.4f}&lon={at['lon']:.4f}&zoom=7.5")
    expect(page.get_by_role("group", name="Years", exact=True)).to_be_visible(timeout=WAIT_MS)
    asked = []
    page.on("request", lambda one: "/tiles/dvf/" in one.url and asked.append(urllib.parse.unquote(one.url)))
    page.get_by_role("button", name="Change", exact=True).click()
    compared = page.get_by_role("group", name="Years compared")
    compared.get_by_label("Earlier year").select_option(str(before))
    compared.get_by_label("Later year").select_option(str(after))
    expect(page.get_by_text(f"Change in €/m², {before} to {after}")).to_be_visible()
    expect(page).to_have_url(re.compile(f"figure=change.*before={before}.*after={after}"))
    expect(page.get_by_text("fewer than 10 sales in a year").first).to_be_visible()
    tip = page.locator(".maplibregl-popup.tip")

    def shows_prices():
        # Around the middle of the map beside the panel, where a single sale may be in the way.
        for nth in range(49):
            page.mouse.move(886 + 20 * (nth % 7 - 3), 400 + 20 * (nth // 7 - 3))
            if tip.count() > 0 and re.search(r"% · €[\d,]+ → €[\d,]+/m²", tip.inner_text()):
                return True
        return False

    until(page, shows_prices, "no change under the pointer")
    for year in (before, after):
        assert any(f'"{year}-01-01"' in url and "by=areas" in url for url in asked), (year, asked[-2:])
    # A year is not compared with itself.
    compared.get_by_label("Earlier year").select_option(str(after))
    expect(page.get_by_text(f"Change in €/m², {after} to {before}")).to_be_visible()
    look(page, "change", faults)
    page.get_by_role("button", name="Hexagons").click()
    expect(compared).to_have_count(0)

    # SQL.
    page.goto(address + "/console/#/query")
    page.get_by_role("button", name="Run").click()
    rows = page.get_by_role("region", name="results")
    expect(rows.locator(".plot canvas")).to_be_visible(timeout=WAIT_MS)
    rows.get_by_role("button", name="Table").click()
    expect(rows.get_by_role("row").nth(1)).to_be_visible()
    look(page, "query", faults)
    editor = page.get_by_label("SQL", exact=True)
    # Completion opens while a name is typed. The arrows choose, Enter and Tab take, Escape leaves the text as it is.
    offered = page.get_by_role("listbox", name="Completions")
    editor.fill("")
    editor.press_sequentially("sel")
    expect(offered.get_by_role("option").first).to_contain_text("select")
    expect(page.get_by_role("combobox", name="SQL")).to_have_attribute("aria-activedescendant", re.compile(".+-0"))
    if axe:
        # A text area with a list is announced as what it is only by this role, which the rule does not know on it.
        faults.extend(f"completion: {one}" for one in violations(page) if one[0] != "aria-allowed-role")
    editor.press("Enter")
    expect(editor).to_have_value("select")
    editor.press_sequentially(" city, count(*) as sales from d")
    expect(offered.get_by_role("option", name="dvf")).to_be_visible()
    editor.press("Escape")
    expect(offered).to_be_hidden()
    editor.press("Control+Space")
    offered.get_by_role("option", name="dvf").click()
    editor.press_sequentially(" s where s.property_t")
    editor.press("Tab")
    expect(editor).to_have_value("select city, count(*) as sales from dvf s where s.property_type")
    expect(page.get_by_role("textbox", name="SQL")).to_be_focused()
    editor.press("Control+z")
    expect(editor).to_have_value("select city, count(*) as sales from dvf s where s.property_t")
    editor.fill("sel")
    editor.press("Control+Space")
    editor.press("ArrowDown")
    expect(editor).to_have_attribute("aria-activedescendant", re.compile(".+-1"))
    editor.press("Escape")
    expect(editor).to_have_value("sel")
    # Rows are put in order by a column: rising, falling, and as they came.
    editor.fill("select * from (values ('Mende', 10), ('Alès', 9), ('Florac', null)) as t (town, sales)")
    editor.press("Control+Enter")
    towns = rows.get_by_role("row").locator("td:first-child")
    expect(towns).to_have_text(["Mende", "Alès", "Florac"], timeout=WAIT_MS)
    rows.get_by_role("button", name="sales").click()
    expect(towns).to_have_text(["Alès", "Mende", "Florac"])
    rows.get_by_role("button", name="sales").click()
    expect(towns).to_have_text(["Mende", "Alès", "Florac"])
    expect(rows.get_by_role("columnheader", name="sales")).to_have_attribute("aria-sort", "descending")
    # Of more rows than a page shows, the first are shown.
    editor.fill("select id from dvf limit 1001")
    editor.press("Control+Enter")
    expect(rows.get_by_role("status")).to_contain_text(re.compile("^1,000 .*the first rows"), timeout=WAIT_MS)
    expect(rows.get_by_role("row").nth(1)).to_be_visible()
    # Rows with a position are points on the map, coloured by a column.
    editor.fill("select lat, lon, city, price_eur, surface_m2 from dvf where lat is not null limit 300")
    editor.press("Control+Enter")
    rows.get_by_role("button", name="Map").click(timeout=WAIT_MS)
    expect(rows.locator(".maplibregl-canvas")).to_be_visible(timeout=WAIT_MS)
    rows.get_by_label("Colour").select_option("price_eur")
    expect(rows.get_by_role("list", name="price_eur").get_by_role("listitem")).to_have_count(6)
    look(page, "query-map", faults)
    editor.fill("select city,\nnothing_like_it from dvf")
    editor.press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("line 2", timeout=WAIT_MS)
    page.get_by_role("button", name="Go to line 2, column 1").click()
    expect(editor).to_be_focused()
    editor.fill("drop table dvf")
    editor.press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("only queries", timeout=WAIT_MS)
    editor.fill("select count(*) as homes from dvf")
    page.get_by_role("button", name="Save", exact=True).click()
    page.reload()
    page.get_by_role("button", name="Saved", exact=True).click()
    page.get_by_role("button", name="select count(*) as homes from dvf", exact=True).click()
    expect(editor).to_have_value("select count(*) as homes from dvf")
    with page.expect_download(timeout=WAIT_MS) as download:
        page.get_by_role("button", name="Download csv").click()
    assert download.value.suggested_filename == "toise.csv"

    # A portfolio: a file with a row that cannot be valued, its sums, and its homes.
    page.goto(address + "/console/#/portfolios")
    page.get_by_role("button", name="Store a file").first.click()
    look(page, "new-portfolio", faults)
    page.get_by_label("Name").fill("mende")
    homes = "key,type,surface_m2,room_count,longitude,latitude\nA-1,flat,62,3,3.5,44.52\nA-2,flat,none,2,3.5,44.52\n"
    file = {"name": "homes.csv", "mimeType": "text/csv", "buffer": homes.encode()}
    page.get_by_label("Drop a file of homes here").set_input_files(files=file)
    expect(page.get_by_text("homes.csv")).to_be_visible()

    def warned(route):
        if route.request.method != "PUT":
            return route.continue_()
        answer = route.fetch()
        body = answer.json()
        unread = 'the column "Rue du bien" was not read; if it holds the street, name it street'
        body["data"]["warnings"].append(f"rows located by their town alone: 1; {unread}")
        return route.fulfill(response=answer, json=body)

    page.route("**/portfolios/mende?*", warned)
    page.get_by_role("button", name="Store", exact=True).click()
    said = page.get_by_role("alert")
    expect(said.filter(has_text="1 of 2 homes cannot be valued")).to_be_visible(timeout=WAIT_MS)
    expect(said.filter(has_text="1 home is placed by its town alone")).to_contain_text("Rue du bien")
    page.unroute_all(behavior="wait")
    expect(page.get_by_role("table")).to_contain_text("surface_m2")
    page.get_by_role("button", name="Open the portfolio").click()
    expect(page.get_by_role("row", name=re.compile("A-1"))).to_contain_text("€", timeout=WAIT_MS)
    expect(page.get_by_role("row", name=re.compile("A-2"))).to_contain_text("surface_m2")
    expect(page.get_by_role("button", name=re.compile("^mende.*valued"))).to_be_visible(timeout=WAIT_MS)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the rows as CSV").click()
    rows = rows_of(download.value)
    assert [row["key"] for row in rows] == ["A-1", "A-2"], rows
    assert int(rows[0]["price"]) > 0, rows
    look(page, "portfolios", faults)
    page.get_by_role("button", name="Changed in 30 days").click()
    expect(page.get_by_text("No home has changed.")).to_be_visible(timeout=WAIT_MS)
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete").click()
    # The other one is that of the demo.
    expect(page.get_by_role("heading", name="Choose a portfolio")).to_be_visible(timeout=WAIT_MS)
    page.get_by_role("button", name=re.compile("^demo.*200 homes")).click()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="Which homes do you watch?")).to_be_visible(timeout=WAIT_MS)

    # A key with few scopes is offered its own screens, and none of their calls is refused.
    few = ask("POST", "/v2/protected/admin/keys", ready["admin_key"],
        {"kind": "production", "account_id": session_of(page)["account_id"], "name": "few", "grants": ["search"]})
    hall = browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB").new_page()
    hall.set_default_timeout(WAIT_MS)
    hall.on("pageerror", lambda error: faults.append(str(error)))
    hall.on(
        "console",
        lambda line: line.type == "error" and not judging and faults.append(f"a key with few scopes: {said_at(line)}"),
    )
    hall.goto(address + "/console/")
    hall.get_by_label("API key").fill(few["data"]["key"])
    hall.get_by_role("button", name="Open the console").click()
    expect(hall.get_by_role("navigation").get_by_role("link")).to_have_text(["Map", "Usage"])
    # It is told first what it may do, and is offered nothing else.
    expect(hall.get_by_role("region", name="This key may").get_by_role("listitem")).to_have_count(1)
    expect(hall.get_by_text("Not with this key: analytics, ai, geocoding, alerts, sql.")).to_be_visible()
    steps = hall.get_by_role("region", name="Next steps").get_by_role("link")
    expect(steps).to_have_text(["See what was sold, on the map", "See calls and credits"])
    look(hall, "welcome", faults)
    steps.first.click()
    expect(hall.get_by_role("region", name="results").get_by_role("listitem").first).to_be_visible()
    hall.get_by_role("button", name=re.compile("^Area")).click()
    expect(hall.get_by_text("a key needs the scope sql")).to_be_visible()
    hall.keyboard.press("Escape")
    hidden = ("home", "alerts", "query", "pairs", "portfolios")
    for screen in (*hidden, "map?dataset=properties", "map?dataset=dpe", "operations"):
        hall.goto(f"{address}/console/#/{screen}")
        hall.wait_for_timeout(700)
    expect(hall.get_by_role("heading", name="Usage")).to_be_visible()
    hall.goto(f"{address}/console/#/pairs")
    expect(hall.get_by_role("log", name="Messages")).to_contain_text("it lacks the scope admin")
    # No key of a single scope is refused anything either, whatever screen its address names.
    for scope in ("ai", "alerts", "analytics", "geocoding", "sql"):
        grants = {"kind": "production", "account_id": session_of(page)["account_id"], "name": scope, "grants": [scope]}
        one = ask("POST", "/v2/protected/admin/keys", ready["admin_key"], grants)
        visitor = browser.new_context(viewport={"width": 1280, "height": 800}, locale="fr-FR").new_page()
        visitor.set_default_timeout(WAIT_MS)
        visitor.on("pageerror", lambda error: faults.append(str(error)))
        visitor.on(
            "console",
            lambda line, scope=scope: line.type == "error" and faults.append(f"{scope}: {said_at(line)}"),
        )
        visitor.goto(address + "/console/")
        visitor.get_by_label("Clé d’API").fill(one["data"]["key"])
        visitor.get_by_role("button", name="Ouvrir la console").click()
        expect(visitor.get_by_role("navigation")).to_be_visible()
        steps = visitor.get_by_role("region", name="Et maintenant").get_by_role("link")
        expect(steps.first).to_be_visible()
        screens = "links => links.map((link) => link.getAttribute('href').split('?')[0])"
        listed = visitor.get_by_role("navigation").get_by_role("link").evaluate_all(screens)
        assert set(steps.evaluate_all(screens)) <= set(listed), (scope, listed)
        for screen in ("map", "home?lat=44.52&lon=3.5", "alerts", "query", "operations"):
            visitor.goto(f"{address}/console/#/{screen}")
            visitor.wait_for_timeout(500)
        visitor.close()

    # A newcomer, who has a key and sees the console for the first time.
    account = session_of(page)["account_id"]
    grants = ["search", "ai", "alerts", "geocoding", "sql"]
    first = ask("POST", "/v2/protected/admin/keys", ready["admin_key"],
        {"kind": "production", "account_id": account, "name": "newcomer", "grants": grants})
    house = "select number, name, city, postal_code from ban where kind = 'address' and suffix is null order by id"
    house = ask("POST", "/v2/protected/sql", ready["sql_key"], {"query": f"{house} limit 1"})["data"][0]
    street = f"{house['number']} {house['name']}"
    home = {"typed": f"{street} {house['city']}", "found": f"{street} {house['postal_code']} {house['city']}"}
    for language in newcomer.WORDS:
        visitor = browser.new_context(viewport={"width": 1280, "height": 800}, locale=language).new_page()
        visitor.set_default_timeout(WAIT_MS)
        visitor.on("pageerror", lambda error: faults.append(str(error)))
        visitor.on("console", lambda line: line.type == "error" and faults.append(f"newcomer: {line.text}"))
        newcomer.visit(visitor, language, address + "/console/", first["data"]["key"], home, webhook)
        visitor.close()

    # An operator makes a key, changes its limit and revokes it; the page shows what the service did.
    desk = browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB").new_page()
    desk.set_default_timeout(WAIT_MS)
    desk.on("pageerror", lambda error: faults.append(str(error)))
    # A limit that is refused is asked for on purpose.
    desk.on(
        "console",
        lambda line: line.type == "error" and not judging and "422" not in line.text and faults.append(said_at(line)),
    )
    desk.on("dialog", lambda dialog: dialog.accept())
    desk.goto(address + "/console/")
    expect(desk.get_by_label("API key")).to_be_visible()
    look(desk, "entry", faults)
    desk.get_by_label("API key").fill(ready["admin_key"])
    desk.get_by_role("button", name="Open the console").click()
    expect(desk.get_by_role("navigation").get_by_role("link")).to_have_text(["Operations", "Pairs"])
    desk.get_by_role("link", name="See the state of the server and its data").click()
    expect(desk.get_by_text("95 % of requests")).to_be_visible()
    # What the data folder lacks, with the command that helps.
    todo = desk.get_by_role("region", name="What to do")
    lacking = todo.get_by_role("listitem").filter(has_text="The sales are invented")
    expect(lacking).to_contain_text("toise start --departments 48")
    look(desk, "operations", faults)
    # What is loaded, how old it is, and what to do; over all of it, that the last refresh failed.
    failed = 'toise_refresh_failed{table="dvf"} 1\ntoise_refresh_age_seconds 7200\n'

    def ailing(route):
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text() + failed)

    desk.route("**/admin/metrics", ailing)
    expect(desk.get_by_role("alert")).to_contain_text("The last refresh failed 2 hours ago: recorded sales")
    desk.get_by_role("button", name="Data", exact=True).click()
    expect(desk.get_by_role("row", name="dvf recorded sales")).to_contain_text("refresh failed")
    expect(desk.get_by_role("row", name="dpe energy diagnostics")).to_contain_text("loaded")
    expect(lacking).to_contain_text("toise start")
    look(desk, "data", faults)
    # How many pairs of properties wait for a decision.
    merges = desk.get_by_role("region", name="Merges of adverts")
    expect(merges).to_contain_text("Pairs waiting for a decision")
    desk.unroute_all(behavior="wait")
    expect(desk.get_by_role("alert")).to_have_count(0)
    # A file of adverts is dropped: what was understood is shown, a meaning is corrected, and its rows are sent.
    importing = desk.get_by_role("region", name="Import adverts")
    data = desk.evaluate_handle(
        """([name, bytes]) => {
            const data = new DataTransfer();
            data.items.add(new File([new Uint8Array(bytes)], name));
            return data;
        }""",
        ["agence.csv", list(EXPORT.encode("cp1252"))],
    )
    importing.locator("label").dispatch_event("drop", {"dataTransfer": data})
    expect(importing).to_contain_text("Windows-1252, cells separated by semicolons")
    expect(importing.get_by_label("Meaning: Prix")).to_have_value("prix")
    expect(importing.get_by_label("Meaning: m² hab.")).to_have_value("")
    expect(importing).to_contain_text("250 000 €")
    importing.get_by_label("Meaning: m² hab.").select_option("Surface")
    look(desk, "import", faults)
    importing.get_by_role("button", name="Import 3 rows").click()
    expect(importing).to_contain_text("Created: 2", timeout=WAIT_MS)
    expect(importing).to_contain_text("Refused: 1")
    expect(importing).to_contain_text("url: is required")
    expect(importing).to_contain_text("habitation.floor: cannot be read from column etage")
    imported = ask("POST", "/v2/protected/sql", ready["sql_key"], {"query": IMPORTED})["data"]
    assert imported == [{"price": 250000, "surface": 61.5, "postal": "48000"}], imported
    importing.get_by_role("button", name="Another file").click()
    expect(importing.get_by_text("Drop a file of adverts here")).to_be_visible()
    desk.get_by_role("button", name="Model").click()
    expect(desk.get_by_text("knows sales through")).to_be_visible()
    desk.get_by_role("button", name="Keys").click()
    desk.get_by_role("button", name="New key").click()
    making = desk.get_by_role("dialog", name="New key")
    making.get_by_label("Name").fill("reader")
    # It has the usual scopes at first, each with what it allows.
    expect(making.get_by_role("checkbox", name="alerts")).to_be_checked()
    expect(making.get_by_role("checkbox", name="admin")).not_to_be_checked()
    expect(making.get_by_role("checkbox", name="geocoding")).to_have_accessible_description("find addresses")
    making.get_by_role("checkbox", name="alerts").uncheck()
    making.get_by_label("Expires").fill("2099-01-31")
    # A limit that is refused leaves the form as it is.
    making.get_by_label("Rate").fill("5000000000")
    making.get_by_role("button", name="Create").click()
    expect(making.get_by_role("alert")).to_contain_text("rate")
    expect(making.get_by_role("checkbox", name="search")).to_be_checked()
    making.get_by_label("Rate").fill("100")
    making.get_by_role("button", name="Create").click()
    expect(desk.get_by_text("New key, shown once")).to_be_visible()
    expect(desk.locator("code").filter(has_text=re.compile(r"^toise_live_\w{40}")).first).to_be_visible()
    row = desk.get_by_role("row", name="reader")
    expect(row).to_contain_text("31 Jan 2099")
    expect(row).to_contain_text("geocoding")
    expect(row).not_to_contain_text("alerts")
    row.get_by_role("button", name="Change").click()
    changing = desk.get_by_role("dialog", name="Change: reader")
    changing.get_by_label("Rate").fill("7")
    changing.get_by_label("Calls a month").fill("9")
    changing.get_by_role("button", name="Save").click()
    expect(row.get_by_role("cell", name="7", exact=True)).to_be_visible()
    expect(row.get_by_role("cell", name="9", exact=True)).to_be_visible()
    # A quota that is left empty is none. A new key gets the default, unless it is made without one.
    row.get_by_role("button", name="Change").click()
    expect(changing.get_by_label("Calls a month")).to_have_value("9")
    changing.get_by_label("Calls a month").fill("")
    changing.get_by_role("button", name="Save").click()
    expect(row.get_by_role("cell", name="∞", exact=True)).to_be_visible()
    expect(row.get_by_role("cell", name="7", exact=True)).to_be_visible()
    desk.get_by_role("button", name="New key").click()
    making.get_by_label("Name").fill("limitless")
    making.get_by_role("checkbox", name="search").check()
    making.get_by_role("checkbox", name="Unlimited calls a month").check()
    expect(making.get_by_role("spinbutton", name="Calls a month")).to_be_disabled()
    look(desk, "new-key", faults)
    making.get_by_role("button", name="Create").click()
    expect(desk.get_by_role("row", name="limitless").get_by_role("cell", name="∞", exact=True)).to_be_visible()
    look(desk, "keys", faults)
    row.get_by_role("button", name="Revoke").click()
    expect(row).to_contain_text("revoked")
    desk.get_by_role("button", name="Audit").click()
    expect(desk.get_by_role("row").nth(1)).to_contain_text("key")

    # Pairs that are perhaps one home, of the demo or added here: one is decided by a button, the next by a key; it is
    # there at once.
    adverts = [thin(nth, 300_000 + nth // 2) for nth in range(4)]
    ask("POST", "/v2/protected/admin/adverts", ready["admin_key"], {"adverts": adverts})
    desk.goto(address + "/console/#/pairs")
    said = desk.get_by_role("status").filter(has_text=re.compile("waits? for a decision"))
    expect(said).to_be_visible()
    expect(desk.get_by_role("region", name="Advert 1")).to_contain_text(re.compile(r"\d{5} \w"))
    look(desk, "pairs", faults)

    def compared_adverts():
        return [desk.get_by_role("region", name=f"Advert {nth}").inner_text() for nth in (1, 2)]

    decided = compared_adverts()
    desk.route("**/properties/candidates?*", lambda route: route.fulfill(status=422, json=refusal))
    desk.get_by_role("button", name="Same home").click()
    expect(said).to_contain_text("One home now")
    # It does not come back if the list cannot be read again and all others are put off.
    expect(desk.get_by_role("alert").filter(has_text="could not be refreshed")).to_be_visible()
    for _ in range(20):
        desk.keyboard.press("3")
        assert compared_adverts() != decided, decided
    desk.unroute_all(behavior="wait")
    desk.keyboard.press("2")
    expect(said).to_contain_text("Kept apart")

    # The guide has a search over all pages, tables of contents and pictures, and its policy refuses none of them.
    page.goto(address + "/docs/guide/")
    page.get_by_role("searchbox", name="Search the guide").press_sequentially("webhook signature")
    hits = page.get_by_role("search").get_by_role("link")
    expect(hits.first).to_be_visible(timeout=WAIT_MS)
    hits.first.click()
    expect(page).to_have_url(re.compile(r"/docs/guide/[a-z-]+#"))
    page.goto(address + "/docs/guide/console")
    page.get_by_role("navigation", name="On this page").get_by_role("link", name="Sessions").click()
    expect(page).to_have_url(re.compile("#sessions$"))
    assert page.evaluate("document.images.length > 0 && [...document.images].every((one) => one.naturalWidth > 0)")

    # A revoked key throws its session out.
    ask("DELETE", f"/v2/protected/admin/keys/{session_of(page)['key_id']}", ready["admin_key"])
    time.sleep(1)
    page.goto(f"{address}/console/#/map")
    page.reload()
    expect(page.get_by_label("API key")).to_be_visible(timeout=WAIT_MS)
    # What the revoked session was refused is no fault of the page.
    faults = [fault for fault in faults if "401" not in fault and "422" not in fault]
    assert not faults, faults
    browser.close()
print("the console works in the browser")
