"""Fourteen queries of properties, as HTTP bodies and as SQL conditions over the same rows.

A query is drawn from a property, so that it has a result. A page has a hundred whole records in order, and the exact
number of matching properties.
"""

import json
import math
import random
from dataclasses import dataclass

EARTH_RADIUS_M = 6_371_008.8
PAGE = 100

# Sort keys of the contract, with their columns.
SORTS = {
    "PRICE": "price_latest_value", "FIRST_SEEN_AT": "meta_first_seen_at", "LAST_SEEN_AT": "meta_last_seen_at",
}


@dataclass
class Question:
    """A query. `kind` is page, count, words (a page by relevance), or id."""

    name: str
    search: dict
    where: list
    sort: str = "LAST_SEEN_AT"
    descending: bool = True
    kind: str = "page"
    placed: bool = True
    pages_before: int = 0
    rank: str = ""

    @property
    def body(self):
        if self.kind == "count":
            return {"search": self.search}
        order = "DESC" if self.descending else "ASC"
        sort = "RELEVANCE" if self.kind == "words" else self.sort
        return {"search": self.search, "sortBy": sort, "orderBy": order, "size": PAGE}

    @property
    def path(self):
        return "/v2/protected/properties/search" + ("/count" if self.kind == "count" else "")

    @property
    def condition(self):
        return " and ".join(self.where) or "true"


def quoted(value):
    return "'" + str(value).replace("'", "''") + "'"


def price(least, most):
    bounds = {"min": round(least), "max": round(most)}
    return {"price": {"latest": {"value": bounds}}}, f"price_latest_value between {bounds['min']} and {bounds['max']}"


def surface(least, most):
    bounds = {"min": round(least), "max": round(most)}
    told = {"habitation": {"surface": {"total": bounds}}}
    return told, f"habitation_surface_total between {bounds['min']} and {bounds['max']}"


def kind_of(home):
    return {"type": [home["type"]]}, f"type = {quoted(home['type'])}"


def offer_of(home):
    return {"offer": [{"type": home["offer_type"]}]}, f"offer_type = {quoted(home['offer_type'])}"


def place(column, key, home):
    value = home[column]
    return {"location": [{key: value}]}, f"{column} = {quoted(value)}"


ONLINE = {"meta": {"isTotallyOffline": False}}, "not meta_is_totally_offline"


def around(home, metres):
    """The contract's planar distance; PostGIS finds candidates with the box around the circle."""
    lat, lon = home["lat"], home["lon"]
    span_lat = math.degrees(metres / EARTH_RADIUS_M) * 1.000001 + 1e-9
    span_lon = span_lat / math.cos(math.radians(lat))
    told = {"geoDistance": {"pin": {"lat": lat, "lon": lon}, "distanceKm": metres / 1000}}
    east = f"radians(lon - {lon!r}) * {math.cos(math.radians(lat))!r}"
    north = f"radians(lat - {lat!r})"
    return {"location": [{"locationCoordinate": {"location": told}}]}, (
        f"position && st_makeenvelope({lon - span_lon!r}, {lat - span_lat!r}, {lon + span_lon!r}, {lat + span_lat!r}, 4326) "
        f"and {EARTH_RADIUS_M} * sqrt(({north})^2 + ({east})^2) <= {metres}"
    )


def box(home, half):
    return box_of(home["lat"] + half, home["lat"] - half, home["lon"] - half, home["lon"] + half)


def box_of(north, south, west, east):
    told = {"geoBoundingBox": {"topLeft": {"lat": north, "lon": west}, "bottomRight": {"lat": south, "lon": east}}}
    return {"location": [{"locationCoordinate": {"location": told}}]}, (
        f"position && st_makeenvelope({west!r}, {south!r}, {east!r}, {north!r}, 4326) "
        f"and lat between {south!r} and {north!r} and lon between {west!r} and {east!r}"
    )


# The vertices of a drawn area, and the least and the greatest distance of one from the centre, in degrees of latitude.
AREA_VERTICES = 200
AREA_RADII = (0.01, 0.03)


def drawn(home):
    """The vertices of a star around a home. The first one is repeated at the end."""
    chance = random.Random(home["flx_id"])
    wide = 1 / math.cos(math.radians(home["lat"]))
    ring = []
    for number in range(AREA_VERTICES):
        turn, radius = math.tau * number / AREA_VERTICES, chance.uniform(*AREA_RADII)
        ring.append([round(home["lon"] + radius * wide * math.cos(turn), 6), round(home["lat"] + radius * math.sin(turn), 6)])
    return [*ring, ring[0]]


def area(home):
    polygon = {"type": "Polygon", "coordinates": [drawn(home)]}
    shape = f"st_setsrid(st_geomfromgeojson({quoted(json.dumps(polygon))}), 4326)"
    return {"location": [{"locationCoordinate": {"location": {"area": polygon}}}]}, f"st_covers({shape}, position)"


def box_of_area(home):
    """The smallest box around the area of a home."""
    lons, lats = zip(*drawn(home))
    return box_of(max(lats), min(lats), min(lons), max(lons))


def merged(one, other):
    joined = dict(one)
    for key, value in other.items():
        joined[key] = merged(joined[key], value) if isinstance(value, dict) and key in joined else value
    return joined


def question(name, clauses, *, words=None, **rest):
    filters, where = {}, []
    for told, sql in clauses:
        filters = merged(filters, told)
        where.append(sql)
    search = {"filterProperty": filters}
    if words:
        key, text = words
        search[key] = [text]
        column, config, query = {
            "keywords": ("words", "plain", "phraseto_tsquery"), "fullTexts": ("stems", "stemmed", "plainto_tsquery"),
        }[key]
        where.append(f"{column} @@ {query}('{config}', {quoted(text)})")
        rest["rank"] = f"ts_rank({column}, {query}('{config}', {quoted(text)}))"
    return Question(name, search, where, **rest)


def draw(connection, rounds, seed):
    """Returns `rounds` lists of fourteen queries."""
    columns = ("flx_id::text, type, offer_type, location_department, location_insee_code, location_postal_code, lat, lon, "
               "price_latest_value, habitation_surface_total, habitation_room_count")
    connection.execute(f"select setseed({seed % 1000 / 1000})")
    rows = connection.execute(
        f"select {columns} from properties where lat is not null and price_latest_value > 0 "
        "and habitation_surface_total > 0 and habitation_room_count > 0 and location_insee_code is not null "
        "and location_postal_code is not null "
        f"order by random() limit {rounds}"
    )
    names = [column.name for column in rows.description]
    return [of_home(dict(zip(names, row))) for row in rows.fetchall()]


def of_home(home):
    asked, size, rooms = home["price_latest_value"], home["habitation_surface_total"], home["habitation_room_count"]
    room_count = {"habitation": {"roomCount": {"min": rooms}}}, f"habitation_room_count >= {rooms}"
    insee = place("location_insee_code", "inseeCode", home)
    department = place("location_department", "department", home)
    source = {"adverts": [{"source": {"website": "toits-et-murs.example"}, "isOnline": True}]}, (
        "exists (select 1 from property_adverts a where a.flx_id = properties.flx_id "
        "and a.source = 'toits-et-murs.example' and a.is_online)"
    )
    return [
        question("a commune, price and surface, by price",
                 [insee, price(asked * 0.5, asked * 2), surface(size * 0.5, size * 2)], sort="PRICE", descending=False),
        question("a postal code, type, offer, online, latest first",
                 [place("location_postal_code", "postalCode", home), kind_of(home), offer_of(home), ONLINE]),
        question("2 km around, price, by price", [around(home, 2000), price(asked * 0.6, asked * 1.6)], sort="PRICE"),
        question("a box of 0.1 degrees, rooms, newest first", [box(home, 0.05), room_count], sort="FIRST_SEEN_AT"),
        question("a drawn area of 200 vertices, price, by price", [area(home), price(asked * 0.6, asked * 1.6)], sort="PRICE"),
        question("the box around that area, price, by price",
                 [box_of_area(home), price(asked * 0.6, asked * 1.6)], sort="PRICE"),
        question("a department, type, offer, by price",
                 [department, kind_of(home), offer_of(home)], sort="PRICE", descending=False),
        question("a department, online, page 11 by cursor", [department, ONLINE], sort="PRICE", pages_before=10),
        question("a department, online on one portal", [department, source]),
        question("anywhere, price and surface, online",
                 [ONLINE, price(asked * 0.9, asked * 1.1), surface(size * 0.8, size * 1.2)], placed=False),
        question("anywhere, type, rooms, online: the count alone", [ONLINE, kind_of(home), room_count], kind="count", placed=False),
        question("a department, two words as they stand, by price",
                 [department], words=("keywords", "double vitrage"), sort="PRICE", descending=False),
        question("anywhere, words by relevance (toise: with typing errors)", [], words=("fullTexts", "gardien velos"),
                 kind="words", placed=False),
        question("a property by id", [({}, f"flx_id = {quoted(home['flx_id'])}")], kind="id"),
    ]
