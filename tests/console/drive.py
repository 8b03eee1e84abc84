"""Drives the console of a demo in a real browser: drive.py CHROMIUM READY_JSON [FOLDER_FOR_SCREENSHOTS]

Gets in by the demo's link, finds a sale, opens and values a home, makes an alert and sees a delivery arrive, asks
SQL, reads an advert that tries to run a script, makes and revokes keys and decides pairs as an operator, and is thrown
out when the key is revoked. Every screen must fit 360 pixels and have no serious violation of accessibility in either
theme. Accessibility is checked by the file of axe-core named by TOISE_AXE, and left out without one.
"""

import http.server
import json
import os
import pathlib
import re
import sys
import threading
import time
import urllib.request

from playwright.sync_api import expect, sync_playwright

FLAGS = [
    "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
]
WAIT_MS = 60_000
# Violations that a screen may not have.
SERIOUS = {"serious", "critical"}

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


axe_file = os.environ.get("TOISE_AXE")
axe = pathlib.Path(axe_file).read_text(encoding="utf-8") if axe_file else None


# Pages that axe-core looks at: it tries styles that the page's policy refuses.
judging = []


def violations(page):
    """Serious violations on the screen as it stands: rule, and the first elements that break it."""
    judging.append(page)
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']}).then((result) => result.violations)")
    # What the browser says of axe-core's styles arrives a little later.
    page.wait_for_timeout(300)
    judging.clear()
    serious = [one for one in found if one["impact"] in SERIOUS]
    return [(one["id"], one["help"], [node["html"][:200] for node in one["nodes"][:3]]) for one in serious]


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
                faults.extend(f"{name}, {theme}, {width}: {one}" for one in violations(page))
            if pictures:
                pictures.mkdir(parents=True, exist_ok=True)
                page.screenshot(path=pictures / f"{name}-{theme}-{width}.png")
    page.set_viewport_size({"width": 1280, "height": 800})


receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=receiver.serve_forever, daemon=True).start()
webhook = f"http://127.0.0.1:{receiver.server_port}/"

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
    context = browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB")
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda line: line.type == "error" and not judging and faults.append(line.text))

    # In by the link, whose code leaves the address and works once.
    page.goto(ready["console"])
    expect(page.get_by_role("navigation")).to_be_visible(timeout=WAIT_MS)
    assert "code=" not in page.url, page.url
    assert page.evaluate("document.cookie") == "", "a script can read the session"

    # The map, its results, a filter, a record, its value.
    rows = page.locator(".results tbody tr")
    expect(rows.first).to_be_visible(timeout=WAIT_MS)
    before = page.locator(".results p").first.inner_text()
    kinds = page.locator("details.choice").filter(has_text="Type").first
    kinds.locator("summary").click()
    kinds.get_by_role("checkbox", name="Maison").check()
    expect(page.locator(".results p").first).not_to_have_text(before, timeout=WAIT_MS)
    assert "f.property_type=Maison" in page.url, page.url
    page.reload()
    expect(rows.first.locator("td").nth(1)).to_have_text("Maison", timeout=WAIT_MS)
    # A filter that is not shown at first, from the list of all that the contract has.
    page.locator("select").filter(has=page.locator("option[value=main_rooms]")).select_option("main_rooms")
    page.get_by_label("main rooms: least", exact=False).fill("3")
    page.get_by_label("main rooms: least", exact=False).press("Tab")
    expect(page).to_have_url(re.compile(r"f\.main_rooms\.min=3"))
    # What is half typed stays when an answer arrives meanwhile.
    most = page.get_by_label("main rooms: most", exact=False)
    with page.expect_response(lambda answer: answer.url.endswith("/dvf/search")):
        kinds.locator("summary").click()
        kinds.get_by_role("checkbox", name="Appartement").check()
        most.press_sequentially("12")
    page.wait_for_timeout(500)
    expect(most).to_have_value("12")
    most.fill("")
    kinds.get_by_role("checkbox", name="Appartement").uncheck()
    # Communes in place of hexagons, over the outlines.
    with page.expect_response(lambda answer: "/tiles/dvf/" in answer.url and "by=areas" in answer.url) as tiles:
        page.locator("select[name=by]").select_option("areas")
    assert tiles.value.ok, tiles.value.status
    look(page, "map", faults)
    rows.first.click()
    page.get_by_role("link", name="Estimate").click()
    expect(page.locator(".big")).to_contain_text("€", timeout=WAIT_MS)
    expect(page.locator(".waterfall li.whole")).to_contain_text("€")
    look(page, "home", faults)

    # An alert, and what it delivers.
    page.goto(address + "/console/#/map?dataset=properties&f.type=CLASS_FLAT")
    page.get_by_role("link", name="Alert on this search").click()
    expect(page.get_by_role("checkbox", name="flat", include_hidden=True)).to_be_checked(timeout=WAIT_MS)
    page.locator("input[name='f.location.postalCode']").fill("75011")
    page.locator("input[name=name]").fill("Flats of the 11th")
    page.locator("input[name=url]").fill(webhook)
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("form .plot")).to_be_visible(timeout=WAIT_MS)
    assert page.locator("form .plot").bounding_box()["width"] > 300, "the preview is drawn too narrow to be read"
    page.get_by_role("button", name="Create").click()
    page.get_by_role("row", name="Flats of the 11th").click()
    hostile = "<img src=x onerror='window.broken=1'> \u202e javascript:alert(1)"
    ask("POST", "/v2/protected/admin/adverts", ready["admin_key"], {"adverts": [advert(1, 410_000, hostile)]})
    section = page.locator("section").filter(has_text="Deliveries")
    expect(section.locator("table").first.locator("tbody tr").first).to_be_visible(timeout=WAIT_MS)

    look(page, "alerts", faults)

    # The hostile advert is text.
    time.sleep(1.5)
    price = "f.price.latest.value"
    page.goto(f"{address}/console/#/map?dataset=properties&{price}.min=409999&{price}.max=410001")
    page.locator(".results tbody tr").filter(has_text="onerror").click()
    expect(page.locator(".results h2")).to_contain_text("onerror", timeout=WAIT_MS)
    assert page.evaluate("window.broken") is None, "a script of an advert ran"

    # SQL.
    page.goto(address + "/console/#/query")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("form table tbody tr").first).to_be_visible(timeout=WAIT_MS)
    expect(page.locator("form .plot canvas")).to_be_visible(timeout=WAIT_MS)
    page.locator("textarea").fill("drop table dvf")
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".fault")).to_contain_text("only queries", timeout=WAIT_MS)

    look(page, "query", faults)

    # An operator makes a key, changes its limit and revokes it; the page shows what the service did.
    desk = browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB").new_page()
    desk.set_default_timeout(WAIT_MS)
    desk.on("pageerror", lambda error: faults.append(str(error)))
    desk.on("dialog", lambda dialog: dialog.accept())
    desk.goto(address + "/console/")
    expect(desk.locator("form.entry")).to_be_visible()
    look(desk, "entry", faults)
    desk.locator("input[name=key]").fill(ready["admin_key"])
    desk.get_by_role("button", name="Open the console").click()
    expect(desk.get_by_role("navigation")).to_be_visible()
    desk.goto(address + "/console/#/operations")
    making = desk.locator("form").filter(has=desk.locator("select[name=kind]"))
    making.locator("input[name=name]").fill("reader")
    making.get_by_role("checkbox", name="search").check()
    # A limit that is refused leaves the form as it is.
    making.locator("input[name=rate]").fill("5000000000")
    making.get_by_role("button", name="Create").click()
    expect(desk.locator("p[role=status] .fault")).to_contain_text("rate")
    expect(making.get_by_role("checkbox", name="search")).to_be_checked()
    making.locator("input[name=rate]").fill("100")
    making.get_by_role("button", name="Create").click()
    expect(desk.locator("p[role=status] code")).to_contain_text("toise_live_")
    row = desk.get_by_role("row", name="reader")
    row.get_by_role("button", name="Change").click()
    changing = desk.locator("form").filter(has=desk.get_by_role("button", name="Save"))
    changing.locator("input[name=rate]").fill("7")
    changing.get_by_role("button", name="Save").click()
    expect(row.get_by_role("cell", name="7", exact=True)).to_be_visible()
    look(desk, "operations", faults)

    # Two pairs that are perhaps one home: one is decided by a button, the other by a key; the next is there at once.
    adverts = [thin(nth, 300_000 + nth // 2) for nth in range(4)]
    ask("POST", "/v2/protected/admin/adverts", ready["admin_key"], {"adverts": adverts})
    desk.goto(address + "/console/#/pairs")
    expect(desk.locator("p[role=status]")).to_contain_text("wait for a decision")
    expect(desk.get_by_role("cell", name="75011 Paris").first).to_be_visible()
    look(desk, "pairs", faults)
    desk.get_by_role("button", name="Same home").click()
    expect(desk.locator("p[role=status]")).to_contain_text("One home now")
    desk.keyboard.press("2")
    expect(desk.locator("p[role=status]")).to_contain_text("Kept apart")
    desk.goto(address + "/console/#/operations")

    row.get_by_role("button", name="Revoke").click()
    expect(row).to_contain_text("revoked")
    expect(desk.locator("section").filter(has_text="knows sales through").first).to_be_visible()

    # A revoked key throws its session out.
    session = page.evaluate("fetch('/console-session').then((answer) => answer.json())")
    ask("DELETE", f"/v2/protected/admin/keys/{session['data']['key_id']}", ready["admin_key"])
    time.sleep(1)
    page.goto(f"{address}/console/#/map")
    page.reload()
    expect(page.locator("form.entry")).to_be_visible(timeout=WAIT_MS)
    # What the revoked session was refused is no fault of the page.
    faults = [fault for fault in faults if "401" not in fault and "422" not in fault]
    assert not faults, faults
    browser.close()
print("the console works in the browser")
