"""Compares toise with PostgreSQL and PostGIS: same sales, same vector tiles, in turn.

Tiles are drawn around sales, so that busy tiles are as frequent as in real use. At each zoom every tile is requested
four times: twice from each side, in turn. The first request is *cold*: neither side has made the tile before. Its data
is in memory, because other tiles were requested first. The second request is *warm*: toise responds from its cache, and
PostgreSQL (or Martin in front of it) as usual. Tiles contain hexagons with the median price below zoom 14, and points
from zoom 14.

toise is timed from outside, end to end: HTTP over a persistent connection, key check, tile. If Martin is given, it
serves the functions below over HTTP. Otherwise PostgreSQL receives the queries of Martin over its own protocol:
ST_AsMVT over rows that an index on their place in Web Mercator finds. The hexagons of both sides have the same size,
but their grids have different origins.
"""

import argparse
import http.client
import pathlib
import random
import subprocess
import sys
import time

import duckdb
import postgres_server
sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
import results  # noqa: E402
from service import Service, percentile  # noqa: E402

POINTS_ZOOM = 14
POINTS_MAX = 5_000
ZOOMS = [5, 7, 9, 11, 13, 14, 16]
COLUMNS = [("id", "text"), ("lat", "float8"), ("lon", "float8"), ("price_per_m2_living_eur", "float8")]

FINISH = [
    "create extension if not exists postgis",
    """create table sales as select id, price_per_m2_living_eur as price_per_m2,
         st_transform(st_setsrid(st_makepoint(lon, lat), 4326), 3857) as place
       from loaded where lat is not null order by place""",
    "drop table loaded",
    "create index on sales using gist (place)",
    "vacuum (analyze) sales",
    # Sixteen hexagons from corner to corner of a tile, as in toise. The figures of a hexagon cover all of it.
    """create function hexagons(z integer, x integer, y integer) returns bytea language sql stable parallel safe as $$
         with bounds as (select st_tileenvelope(z, x, y) as box, 40075016.68557849 / 2 ^ z / 32 as side),
              cells as (select geom, sales.price_per_m2 from bounds, st_hexagongrid(side, box) grid
                        join sales on st_intersects(sales.place, grid.geom)),
              gathered as (select geom, count(*) as count, percentile_cont(0.5) within group (order by price_per_m2) as price_per_m2
                           from cells group by geom)
         select st_asmvt(tile, 'hexagons') from
           (select st_asmvtgeom(geom, box, 4096, 64) as geom, count, round(price_per_m2) as price_per_m2
            from gathered, bounds) tile $$""",
    f"""create function points(z integer, x integer, y integer) returns bytea language sql stable parallel safe as $$
         select st_asmvt(tile, 'points') from
           (select id, round(price_per_m2) as price_per_m2, st_asmvtgeom(place, st_tileenvelope(z, x, y), 4096, 0) as geom
            from sales where place && st_tileenvelope(z, x, y) limit {POINTS_MAX}) tile $$""",
]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--toise", required=True, help="the toise executable")
    parser.add_argument("--data", required=True, type=pathlib.Path, help="data folder; made when missing")
    parser.add_argument("--sales", type=int, default=5_000_000)
    parser.add_argument("--postgres", required=True, type=pathlib.Path, help="folder of PostgreSQL; made when missing")
    parser.add_argument("--bin", required=True, type=pathlib.Path, help="folder of PostgreSQL's programs")
    parser.add_argument("--martin", help="executable of Martin, which then serves PostgreSQL's tiles")
    parser.add_argument("--tiles", type=int, default=60, help="tiles of each zoom")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="also write benches/results/tiles.json")
    return parser.parse_args()


def make_lake(options):
    if (options.data / "lake" / "_dvf" / "snapshot.json").exists():
        return
    print(f"making {options.sales:,} sales", file=sys.stderr)
    command = [options.toise, "--data", str(options.data), "synth", "--lake", "--dvf", str(options.sales)]
    subprocess.run(command, check=True, stdout=sys.stderr)


def fill(connection, options):
    """Loads and indexes the sales, unless this was done before."""
    if connection.execute("select to_regclass('filled')").fetchone()[0]:
        return
    print("filling PostgreSQL", file=sys.stderr)
    names = ", ".join(name for name, _ in COLUMNS)
    connection.execute(f"create table loaded ({', '.join(f'{name} {kind}' for name, kind in COLUMNS)})")
    query = f"select {names} from '{options.data}/lake/dvf/*.parquet'"
    postgres_server.copy(connection, "loaded", duckdb.connect(), query, options.data)
    for statement in FINISH:
        connection.execute(statement)
    connection.execute("create table filled ()")


class Martin:
    """Martin in front of PostgreSQL, on loopback. Its cache is off: otherwise it would ask PostgreSQL only once."""

    def __init__(self, executable, port):
        database = f"postgres://bench@127.0.0.1:{port}/postgres"
        command = [executable, "--listen-addresses", "127.0.0.1:0", "--cache-size", "0", database]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if "127.0.0.1:" in line:
                self.address = line.split("127.0.0.1:")[1].split()[0].strip("/.,\"")
                break
        self.connection = http.client.HTTPConnection(f"127.0.0.1:{self.address}")

    def tile(self, name, z, x, y):
        self.connection.request("GET", f"/{name}/{z}/{x}/{y}")
        answer = self.connection.getresponse()
        tile = answer.read()
        if answer.status not in (200, 204):
            raise SystemExit(f"Martin answered {answer.status}: {tile[:300]!r}")
        return tile

    def stop(self):
        self.process.terminate()
        self.process.wait()


def drawn(options, connection):
    """Draws tiles of each zoom around sales."""
    rng = random.Random(options.seed)
    count = options.tiles * len(ZOOMS)
    places = connection.execute(
        "select st_x(place), st_y(place) from sales tablesample bernoulli (1) repeatable (%s) limit %s",
        (options.seed, 50 * count)).fetchall()
    rng.shuffle(places)
    world = 40075016.68557849
    tiles = []
    for zoom in ZOOMS:
        known = set()
        for east, north in places:
            known.add((zoom, int((east / world + 0.5) * 2**zoom), int((0.5 - north / world) * 2**zoom)))
            if len(known) == options.tiles:
                break
        tiles.append(sorted(known, key=lambda _: rng.random()))
    return tiles


def main():
    options = arguments()
    make_lake(options)
    server = postgres_server.Server(options)
    connection = server.start()
    toise = martin = None
    try:
        fill(connection, options)
        toise = Service(options.toise, options.data)
        martin = Martin(options.martin, server.port) if options.martin else None

        def ask_toise(zoom, x, y):
            started = time.perf_counter()
            toise.connection.request("GET", f"/v2/protected/tiles/dvf/{zoom}/{x}/{y}", headers=toise.headers)
            answer = toise.connection.getresponse()
            tile = answer.read()
            if answer.status != 200:
                raise SystemExit(f"toise answered {answer.status}: {tile[:300]!r}")
            return time.perf_counter() - started, tile

        def ask_peer(zoom, x, y):
            name = "points" if zoom >= POINTS_ZOOM else "hexagons"
            started = time.perf_counter()
            if martin:
                tile = martin.tile(name, zoom, x, y)
            else:
                tile = connection.execute(f"select {name}(%s, %s, %s)", (zoom, x, y), binary=True).fetchone()[0]
            return time.perf_counter() - started, tile

        rows = []
        for zoom, tiles in zip(ZOOMS, drawn(options, connection)):
            # Afterwards, the data of both sides is in memory.
            ask_toise(0, 0, 0)
            ask_peer(*tiles[0])
            took = {"toise": [[], []], "peer": [[], []]}
            for tile in tiles[1:]:
                for turn in (0, 1):
                    for side, ask in (("toise", ask_toise), ("peer", ask_peer)):
                        took[side][turn].append(1000 * ask(*tile)[0])
            figures = []
            for side in ("toise", "peer"):
                name = side if side == "toise" else "Martin" if martin else "PostGIS"
                for turn, times in zip(("cold", "warm"), took[side]):
                    for statistic, share in (("median", 0.5), ("p95", 0.95)):
                        figures.append(results.figure(percentile(times, share), "ms", statistic, f"{name}, {turn}"))
            rows.append(results.row(f"zoom {zoom}", *figures))
            shown = "  ".join(f"{one['name']} {one['statistic']} {one['value']:.1f}" for one in figures)
            print(f"zoom {zoom:2}  {shown}")
        if options.json:
            results.write("tiles", f"benches/versus/tiles.sh {options.sales}", rows, {"sales": options.sales, "tiles": options.tiles})
    finally:
        if toise:
            toise.stop()
        if martin:
            martin.stop()
        connection.close()
        server.stop()


if __name__ == "__main__":
    main()
