#!/usr/bin/env python3
"""Makes the pictures of the console in docs/images/, still and moving, from a demo.

Usage: docs/tools/screenshots.py TOISE [--data DIR] [--only NAME,NAME]

TOISE is the executable. Its demo runs in a temporary folder, or in DIR, which is filled if it is empty; an unoptimised
build takes long for that. Needs Chromium, and Playwright and Pillow for Python (`pip install playwright pillow`). All
data is invented. Look at each picture before you commit it: nothing else checks what it shows.
"""

import argparse
import contextlib
import http.server
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

from PIL import Image, ImageDraw
from playwright.sync_api import expect, sync_playwright

IMAGES = pathlib.Path(__file__).resolve().parents[1] / "images"
# Chromium draws the map without a graphics card.
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--hide-scrollbars"]
WAIT_MS = 120_000
READY_TIMEOUT_S = 1_800
# Time after the last request until a screen is drawn, and a map with its tiles.
DRAW_MS = 1_000
DRAW_MAP_MS = 4_000
DESKTOP = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
# Films are made at one size and shown at another.
STAGE = {"width": 1200, "height": 750}
FILM_WIDTH = 880
BYTES_MAX = 150_000
QUALITIES = range(85, 20, -10)
PARIS = {"lat": 48.8585, "lon": 2.352, "zoom": 11.5}
QUERY = """select date_trunc('quarter', transaction_date) as quarter,
  round(median(price_per_m2_living_eur)) as price_per_m2
from dvf where property_type = 'Appartement' and departement_code = '75'
group by 1 order by 1"""
# Adverts that arrive while an alert waits: title, postal code, price, surface, rooms.
ADVERTS = [
    ("Bright three rooms, rue de Charonne", "75011", 568_000, 56, 3),
    ("Studio with balcony, Voltaire", "75011", 259_000, 24, 1),
    ("Two rooms to renovate, Parmentier", "75011", 355_000, 39, 2),
    ("Two rooms with lift, Oberkampf", "75011", 412_000, 41, 2),
]


class Receiver(http.server.BaseHTTPRequestHandler):
    """Accepts every webhook."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def demo(executable, data):
    """Runs a demo, and yields what it prints when it is ready."""
    command = [executable, "--data", str(data), "--json", "demo", "--listen", "127.0.0.1:0"]
    command += ["--allow-webhook-hosts", "127.0.0.1", "--set", "limits.production_rate_per_s=1000"]
    with (data / "ready.json").open("w+", encoding="utf-8") as output:
        server = subprocess.Popen(command, stdout=output, env={**os.environ, "RUST_LOG": "error"})
        try:
            end = time.monotonic() + READY_TIMEOUT_S
            while not (ready := (data / "ready.json").read_text(encoding="utf-8")):
                if server.poll() is not None or time.monotonic() > end:
                    raise RuntimeError("the demo is not ready")
                time.sleep(0.2)
            yield json.loads(ready)
        finally:
            server.terminate()
            server.wait(60)


def ask(ready, method, path, key, body=None):
    """The JSON response of the service."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"x-api-key": ready[key], "content-type": "application/json"}
    request = urllib.request.Request(ready["address"] + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.loads(response.read() or b"null")


def send_advert(ready, nth):
    title, postal_code, price, surface, rooms = ADVERTS[nth]
    advert = {
        "url": f"https://portal.example/ads/{time.time_ns()}", "source": "portal.example", "type": "CLASS_FLAT",
        "title": title, "description": title, "offer": {"type": "OFFER_BUY"},
        "location": {"postalCode": postal_code, "city": "Paris",
                     "locationCoordinate": {"location": [2.372 + nth / 400, 48.857 + nth / 500]}},
        "currentPrice": {"value": price}, "habitation": {"surface": {"total": surface}, "roomCount": rooms},
    }
    ask(ready, "POST", "/v2/protected/admin/adverts", "admin_key", {"adverts": [advert]})


def settle(page):
    """Waits until a screen has loaded everything: no placeholder, no message, no request for a while."""
    expect(page.locator(".skeleton, [aria-busy=true], .toast")).to_have_count(0)
    with contextlib.suppress(Exception):
        # Screens that follow something never rest; they have loaded by then.
        page.wait_for_load_state("networkidle", timeout=8_000)
    page.wait_for_timeout(DRAW_MAP_MS if page.locator(".maplibregl-canvas").count() else DRAW_MS)


def save(image, name, **options):
    """Writes an image in the best quality that keeps it small."""
    path = IMAGES / f"{name}.webp"
    for quality in QUALITIES:
        content = io.BytesIO()
        image.save(content, "webp", quality=quality, method=6, **options)
        if content.tell() <= BYTES_MAX:
            break
    path.write_bytes(content.getvalue())
    print(f"{path.name}: {content.tell()} bytes, quality {quality}", flush=True)


class Film:
    """Frames of a screen with the pointer drawn, because a headless browser shows none."""

    def __init__(self, page):
        self.page = page
        self.at = (STAGE["width"] * 0.55, STAGE["height"] * 0.62)
        self.frames, self.durations = [], []

    def frame(self, ms):
        image = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        x, y = self.at
        arrow = [(0, 0), (0, 20), (5, 16), (8, 23), (11, 22), (8, 15), (14, 15)]
        ImageDraw.Draw(image).polygon([(x + dx, y + dy) for dx, dy in arrow], fill="black", outline="white")
        size = (FILM_WIDTH, round(FILM_WIDTH * image.height / image.width))
        self.frames.append(image.resize(size, Image.LANCZOS))
        self.durations.append(ms)

    def go(self, x, y, steps=3):
        """Moves the pointer."""
        (x0, y0), self.at = self.at, (x, y)
        for step in range(1, steps + 1):
            self.at = (x0 + (x - x0) * step / steps, y0 + (y - y0) * step / steps)
            self.frame(70)

    def click(self, target, wait_ms=250, ms=400):
        """Clicks on an element, or a place, and shows what follows; nothing if `ms` is 0."""
        if isinstance(target, tuple):
            x, y = target
        else:
            target.scroll_into_view_if_needed()
            box = target.bounding_box(timeout=WAIT_MS)
            x, y = box["x"] + min(box["width"] / 2, 120), box["y"] + box["height"] / 2
        self.go(x, y)
        self.page.mouse.click(x, y)
        if ms:
            self.page.wait_for_timeout(wait_ms)
            self.frame(ms)

    def type(self, text, at_once=2, ms=110):
        for start in range(0, len(text), at_once):
            self.page.keyboard.type(text[start:start + at_once])
            self.frame(ms)

    def save(self, name):
        first, *others = self.frames
        save(first, name, save_all=True, append_images=others, duration=self.durations, loop=0, minimize_size=True)


class Studio:
    """The console in a browser, signed in with every scope."""

    def __init__(self, browser, ready, webhook):
        self.browser, self.ready, self.webhook = browser, ready, webhook
        first = browser.new_context(locale="en-GB")
        page = first.new_page()
        page.goto(ready["console"])
        expect(page.get_by_role("navigation")).to_be_visible()
        # The demo's link works once; other windows get its session.
        self.state = first.storage_state()
        self.home = self.find_home(page)

    def find_home(self, page):
        """The address of a flat that was sold, as the geocoder writes it, and its position."""
        asked = {"filters": {"insee_code": "75111", "property_type": ["Appartement"],
                             "surface_m2": {"min": 40, "max": 60}}, "sortBy": "transaction_date", "size": 50}
        sales = ask(self.ready, "POST", "/v2/protected/opendata/dvf/search", "key", asked)["data"]
        for sale in sales:
            at = sale["location"]
            path = f"/geocoding/reverse?limit=1&lat={at['lat']}&lon={at['lon']}"
            for found in ask(self.ready, "GET", path, "key")["features"]:
                # A plain number and a street read well in a picture.
                if re.match(r"\d+ Rue ", found["properties"]["label"]):
                    lon, lat = found["geometry"]["coordinates"]
                    of = found["properties"]
                    return {"label": of["label"], "city": of["citycode"], "lat": lat, "lon": lon}
        raise RuntimeError("no address of the 11th arrondissement is found")

    def window(self, theme="light", size=None):
        context = self.browser.new_context(
            viewport=size or DESKTOP, device_scale_factor=1, locale="en-GB", color_scheme=theme,
            storage_state=self.state)
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        return page

    def open(self, screen, theme="light", size=None, **parameters):
        page = self.window(theme, size)
        query = urllib.parse.urlencode(parameters)
        page.goto(f"{self.ready['address']}/console/#/{screen}{'?' + query if query else ''}")
        settle(page)
        return page

    def shoot(self, page, name):
        settle(page)
        save(Image.open(io.BytesIO(page.screenshot())).convert("RGB"), name)
        page.context.close()

    def described(self):
        return {**self.home, "surface": 52, "rooms": 3, "energy": "D"}

    # Stills.

    def map(self):
        self.shoot(self.open("map", **PARIS), "map")

    def map_phone(self):
        self.shoot(self.open("map", "dark", PHONE, **PARIS), "map-phone-dark")

    def market(self):
        page = self.open("map", **PARIS)
        page.get_by_role("combobox", name="Go to an address or commune").press_sequentially("Toulouse", delay=60)
        page.get_by_role("option", name="Toulouse").first.click()
        settle(page)
        page.evaluate("document.activeElement.blur()")
        self.shoot(page, "market")

    def value(self):
        self.shoot(self.open("home", **self.described()), "home")

    def value_phone(self):
        self.shoot(self.open("home", size=PHONE, **self.described()), "home-phone")

    def alerts(self):
        base = "/v2/protected/properties/search/alerts"
        offer = [{"type": "OFFER_BUY"}]
        searches = {
            "Large flats in Lyon": {"type": ["CLASS_FLAT"], "offer": offer, "location": [{"department": "69"}]},
            "Houses near Nantes": {"type": ["CLASS_HOUSE"], "offer": offer, "location": [{"department": "44"}]},
            "Flats of the 11th": {"type": ["CLASS_FLAT"], "offer": offer, "location": [{"postalCode": "75011"}]},
        }
        page = self.window()
        page.goto(f"{self.ready['address']}/console/#/alerts")
        for name, search in searches.items():
            body = {"search_query": {"filterProperty": search}, "match": ["ALERT_MATCH_CREATED", "ALERT_MATCH_MERGED"],
                    "search_name": name, "webhook_url": self.webhook}
            ask(self.ready, "PUT", base, "key", body)
        for nth in range(3):
            send_advert(self.ready, nth)
            time.sleep(3)
        page.reload()
        page.get_by_role("button", name="Flats of the 11th").first.click()
        expect(page.get_by_text("3 matches").or_(page.get_by_text("Matches (3)")).first).to_be_visible()
        self.shoot(page, "alerts")

    def sql(self):
        page = self.open("query")
        page.get_by_role("textbox", name="SQL").fill(QUERY)
        page.get_by_role("button", name="Run").click()
        expect(page.get_by_role("region", name="results").locator(".plot canvas")).to_be_visible()
        self.shoot(page, "sql")

    def operations(self):
        page = self.open("operations", "dark")
        # The plots begin when the screen is opened, so there is something to be seen after some requests.
        asked = {"filters": {"insee_code": "75111"}, "size": 10}
        for _ in range(45):
            for _ in range(4):
                ask(self.ready, "POST", "/v2/protected/opendata/dvf/search", "key", asked)
            page.wait_for_timeout(700)
        self.shoot(page, "operations-dark")

    # Films.

    def film_value(self):
        """From an address to an estimate."""
        page = self.open("home", size=STAGE)
        film = Film(page)
        film.frame(600)
        film.click(page.get_by_role("combobox", name="Number, street and town"))
        # Without its postal code.
        film.type(re.sub(r" \d{5}", "", self.home["label"]), at_once=3)
        option = page.get_by_role("option").first
        expect(option).to_be_visible()
        film.frame(500)
        film.click(option, ms=0)
        settle(page)
        film.frame(1_800)
        slider = page.get_by_role("slider", name="Surface").bounding_box()
        film.click((slider["x"] + 0.32 * slider["width"], slider["y"] + slider["height"] / 2), ms=0)
        settle(page)
        film.frame(1_400)
        film.click(page.get_by_role("button", name="C", exact=True), ms=0)
        settle(page)
        film.frame(1_400)
        film.click(page.get_by_role("button", name="Terrace"), ms=0)
        settle(page)
        film.frame(3_000)
        film.save("address-to-estimate")

    def film_alert(self):
        """From an area on the map to an alert and what it delivers."""
        view = {**PARIS, "lat": 48.862, "lon": 2.355, "zoom": 11.6}
        page = self.open("map", size=STAGE, dataset="properties", **{"f.type": "CLASS_FLAT"}, **view)
        film = Film(page)
        film.frame(900)
        film.click(page.get_by_role("button", name="Area, layers"))
        film.click(page.get_by_role("button", name="Draw an area"))
        for place in ((700, 250), (990, 270), (1010, 510), (680, 480), (700, 250)):
            film.click(place, ms=200)
        settle(page)
        film.frame(1_200)
        film.click(page.get_by_role("link", name="Alert on this search"), ms=0)
        expect(page.get_by_role("region", name="Preview")).to_contain_text("matches in the last 30 days")
        settle(page)
        film.frame(1_500)
        film.click(page.get_by_label("Name"), ms=200)
        film.type("Flats near Voltaire", at_once=4)
        film.click(page.get_by_label("Webhook address"), ms=200)
        film.type(self.webhook, at_once=8)
        film.click(page.get_by_role("button", name="Create"), ms=0)
        alert = page.get_by_role("region", name="Flats near Voltaire")
        expect(alert).to_contain_text("Nothing has been sent yet")
        settle(page)
        film.frame(1_000)
        send_advert(self.ready, 3)
        expect(alert).to_contain_text("delivered")
        settle(page)
        film.frame(3_000)
        film.save("alert-from-the-map")


PICTURES = {
    name: getattr(Studio, name)
    for name in ("map", "map_phone", "market", "value", "value_phone", "alerts", "sql", "operations", "film_value",
                 "film_alert")
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("toise")
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--only", default=",".join(PICTURES), help=f"of {', '.join(PICTURES)}")
    arguments = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium:
        sys.exit("Chromium is not installed")
    expect.set_options(timeout=WAIT_MS)
    receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    webhook = f"http://127.0.0.1:{receiver.server_port}/"
    with contextlib.ExitStack() as stack:
        data = arguments.data or pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        data.mkdir(parents=True, exist_ok=True)
        ready = stack.enter_context(demo(arguments.toise, data))
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        studio = Studio(browser, ready, webhook)
        for name in arguments.only.split(","):
            PICTURES[name](studio)
        browser.close()


if __name__ == "__main__":
    main()
