"""Measures the console's first paint, and its map after pans and zooms, in a headless Chromium.

The browser signs in with a key, opens the map of sales at inhabited places, and moves it as a person would: drags it
with the mouse in some direction, and zooms in and out with the wheel. A move ends with the frame drawn after the last
requested tile has arrived; its time is counted from the end of the gesture. The browser draws without a graphics card
and shares the machine's cores with the service, so drawing takes more time than on a usual computer.

The map normally continues to glide after a gesture. The browser asks for reduced motion, so that it stops at once.
"""

import argparse
import pathlib
import random
import sys
import time

from playwright.sync_api import expect, sync_playwright

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
import results  # noqa: E402
from service import Service, percentile  # noqa: E402

FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking"]
# Initial centres and zooms: a country, a region, towns, streets.
VIEWS = [(46.6, 2.5, 6), (45.7, 4.8, 8), (43.6, 1.44, 10), (48.86, 2.35, 12), (47.2, -1.55, 13), (43.3, 5.38, 15)]
WAIT_MS = 60_000
# Turns of the wheel in one gesture: about one and a half zoom levels.
WHEEL_TURNS = 2
# Without a new tile for this time, a move is considered complete.
SETTLED_S = 0.4

# Everything that has arrived is drawn two frames later.
FRAMES = "new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chromium", required=True, help="the browser's executable")
    parser.add_argument("--toise", required=True, help="the toise executable")
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--sales", type=int, required=True)
    parser.add_argument("--moves", type=int, default=20, help="moves from each place to begin at")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="also write benches/results/console.json")
    return parser.parse_args()


class Tiles:
    """Counts the tiles that a page has received; the map requests them in a worker."""

    def __init__(self, page):
        self.page, self.count = page, 0
        page.on("requestfinished", self.note)

    def note(self, request):
        self.count += "/tiles/" in request.url

    def settle(self):
        """Waits until no more tiles arrive. Returns the seconds until the last one was drawn, or None if there was
        none."""
        started = time.perf_counter()
        seen, last = self.count, None
        while time.perf_counter() - (last or started) < SETTLED_S:
            self.page.wait_for_timeout(5)
            if self.count > seen:
                seen = self.count
                self.page.evaluate(FRAMES)
                last = time.perf_counter()
        return last and last - started


def move(page, box, way, nth):
    """Makes a pan or a zoom; returns its kind. All pans go in the same direction, and each zoom in goes further than
    the last zoom out, so that the area shown is always new."""
    def at(share):
        return box["x"] + box["width"] * (0.5 + share * way[0]), box["y"] + box["height"] * (0.5 + share * way[1])

    if nth % 4 < 2:
        page.mouse.move(*at(-0.42))
        page.mouse.down()
        page.mouse.move(*at(0.42), steps=3)
        page.mouse.up()
        return "pan"
    page.mouse.move(*at(0))
    for _ in range(WHEEL_TURNS):
        page.mouse.wheel(0, -700 if nth % 4 == 2 else 650)
    return "zoom"


def main():
    options = arguments()
    draw = random.Random(options.seed)
    service = Service(options.toise, options.data)
    origin = f"http://{service.address}"
    paints, times = [], {"pan": [], "zoom": []}
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=options.chromium, args=FLAGS)
            context = browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB", reduced_motion="reduce")
            page = context.new_page()
            tiles = Tiles(page)
            page.goto(f"{origin}/console/")
            page.locator("input[name=key]").fill(service.headers["x-api-key"])
            page.locator("form.entry button").click()
            expect(page.get_by_role("navigation")).to_be_visible(timeout=WAIT_MS)
            for lat, lon, zoom in VIEWS:
                page.goto("about:blank")
                page.goto(f"{origin}/console/#/map?dataset=dvf&lat={lat}&lon={lon}&zoom={zoom}")
                expect(page.locator("canvas.maplibregl-canvas")).to_be_visible(timeout=WAIT_MS)
                tiles.settle()
                paints.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
                box = page.locator("canvas.maplibregl-canvas").bounding_box()
                way = draw.choice([-1, 1]), draw.choice([-1, 1])
                for nth in range(options.moves):
                    kind = move(page, box, way, nth)
                    if (taken := tiles.settle()) is not None:
                        times[kind].append(taken * 1_000)
            browser.close()
    finally:
        service.stop()
    rows = [results.row("first paint", results.figure(percentile(paints, 0.5), "ms"),
                        results.figure(max(paints), "ms", "max"))]
    print(f"first paint  median {percentile(paints, 0.5):.0f} ms, at most {max(paints):.0f} ms")
    for kind, taken in times.items():
        rows.append(results.row(f"{kind}, until its last tile is drawn",
                                results.figure(percentile(taken, 0.5), "ms"),
                                results.figure(percentile(taken, 0.95), "ms", "p95")))
        print(f"{kind}  {len(taken)} times  median {percentile(taken, 0.5):.0f} ms  p95 {percentile(taken, 0.95):.0f} ms")
    if options.json:
        results.write("console", f"benches/load/console.sh {options.sales} --moves {options.moves} --json", rows, {"moves": options.moves})


if __name__ == "__main__":
    main()
