"""The twelve queries, as HTTP bodies and as SQL over the same files.

A query is drawn from a row of the data, so that it has a result. Each asks for twenty whole records in order and the
exact number of matching rows.
"""

import datetime
import math
from dataclasses import dataclass, field

EARTH_RADIUS_M = 6_371_008.8
PAGE = 20
DEEP_PAGES = 50


@dataclass
class Question:
    """A query with its parameters."""

    name: str
    table: str
    filters: dict
    where: list
    sort_by: str
    descending: bool = True
    placed: bool = True
    pages_before: int = 0
    id_column: str = field(init=False)

    def __post_init__(self):
        self.id_column = {"dvf": "id", "dpe": "numero_dpe"}[self.table]

    @property
    def body(self):
        return {
            "filters": self.filters,
            "sortBy": self.sort_by,
            "sortOrder": "desc" if self.descending else "asc",
            "size": PAGE,
        }

    @property
    def condition(self):
        return " and ".join(self.where) or "true"

    @property
    def order(self):
        direction = "desc" if self.descending else "asc"
        return f"{self.sort_by} {direction} nulls last, {self.id_column}"


def quoted(value):
    if isinstance(value, datetime.date):
        return f"date '{value}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


def equals(column, value):
    return {column: value}, [f"{column} = {quoted(value)}"]


def one_of(column, values):
    return {column: values}, [f"{column} in ({', '.join(quoted(value) for value in values)})"]


def between(column, least, greatest):
    if isinstance(least, datetime.date):
        told = {"from": str(least), "to": str(greatest)}
    else:
        told = {"min": least, "max": greatest}
    return {column: told}, [f"{column} between {quoted(least)} and {quoted(greatest)}"]


def within(lat, lon, metres):
    """The contract's planar distance; DuckDB also gets the box around the circle, to skip row groups."""
    span_lat = math.degrees(metres / EARTH_RADIUS_M) * 1.000001 + 1e-9
    span_lon = span_lat / math.cos(math.radians(lat))
    north = f"radians(lat - {lat!r})"
    east = f"radians(lon - {lon!r}) * {math.cos(math.radians(lat))!r}"
    return {"location": {"lat": lat, "lon": lon, "distance": f"{metres}m"}}, [
        f"lat between {lat - span_lat!r} and {lat + span_lat!r}",
        f"lon between {lon - span_lon!r} and {lon + span_lon!r}",
        f"{EARTH_RADIUS_M} * sqrt({north} * {north} + {east} * {east}) <= {metres}",
    ]


def question(name, table, clauses, sort_by, **rest):
    filters, where = {}, []
    for told, sql in clauses:
        filters.update(told)
        where.extend(sql)
    return Question(name, table, filters, where, sort_by, **rest)


SALE_COLUMNS = "id, insee_code, departement_code, property_type, price_eur, surface_m2, lat, lon, transaction_date"
DIAGNOSTIC_COLUMNS = (
    "numero_dpe, code_postal_ban, code_departement_ban, type_batiment, surface_habitable_logement, "
    "conso_5_usages_par_m2_ep, lat, lon"
)


def draw(connection, source, rounds, seed):
    """Returns `rounds` lists of twelve queries each, drawn from rows of the data."""

    def rows(table, columns, known):
        sql = (
            f"select {columns} from (select {columns} from {source(table)} where {known}) "
            f"using sample reservoir({rounds} rows) repeatable ({seed})"
        )
        cursor = connection.execute(sql)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row)) for row in cursor.fetchall()]

    sales = rows("dvf", SALE_COLUMNS, "surface_m2 is not null and lat is not null and price_eur is not null")
    diagnostics = rows(
        "dpe",
        DIAGNOSTIC_COLUMNS,
        "surface_habitable_logement is not null and lat is not null and code_postal_ban is not null "
        "and conso_5_usages_par_m2_ep is not null",
    )
    if len(sales) < rounds or len(diagnostics) < rounds:
        raise SystemExit("too few rows in the lake to draw questions from")
    return [of_rows(sale, diagnostic) for sale, diagnostic in zip(sales, diagnostics)]


def of_rows(sale, dpe):
    price, surface = round(sale["price_eur"]), sale["surface_m2"]
    dwelling, energy = dpe["surface_habitable_logement"], dpe["conso_5_usages_par_m2_ep"]
    return [
        question("sales of a commune, ranges, by price", "dvf", [
            equals("insee_code", sale["insee_code"]),
            between("price_eur", price * 0.5, price * 2.0),
            between("surface_m2", surface * 0.6, surface * 1.6),
        ], "price_eur"),
        question("sales 2 km around, by date", "dvf", [
            within(sale["lat"], sale["lon"], 2000),
        ], "transaction_date"),
        question("sales of a department and type, by EUR/m²", "dvf", [
            equals("departement_code", sale["departement_code"]),
            one_of("property_type", [sale["property_type"]]),
        ], "price_per_m2_living_eur", descending=False),
        question("sales anywhere, three ranges, by surface", "dvf", [
            between("price_eur", price * 0.95, price * 1.05),
            between("surface_m2", surface * 0.9, surface * 1.1),
        ], "surface_m2", placed=False),
        question("all sales, newest first", "dvf", [], "transaction_date", placed=False),
        question("sales anywhere of rare kinds, by price", "dvf", [
            one_of("transaction_type", ["Vente en l'etat futur d'achevement", "Echange"]),
            one_of("property_type", ["Appartement", "Maison"]),
        ], "price_eur", placed=False),
        question(f"sales anywhere, page {DEEP_PAGES + 1} by cursor", "dvf", [
            one_of("property_type", [sale["property_type"]]),
            between("transaction_date", datetime.date(2022, 1, 1), sale["transaction_date"]
                    if sale["transaction_date"] > datetime.date(2022, 6, 1) else datetime.date(2022, 6, 1)),
        ], "price_eur", placed=False, pages_before=DEEP_PAGES),
        question("a sale by id", "dvf", [equals("id", sale["id"])], "transaction_date"),
        question("diagnostics of a postal code, type, surface", "dpe", [
            equals("code_postal_ban", dpe["code_postal_ban"]),
            one_of("type_batiment", [dpe["type_batiment"]]),
            between("surface_habitable_logement", dwelling * 0.8, dwelling * 1.25),
        ], "conso_5_usages_par_m2_ep"),
        question("diagnostics 1 km around, classes F and G", "dpe", [
            within(dpe["lat"], dpe["lon"], 1000),
            one_of("etiquette_dpe", ["F", "G"]),
        ], "date_etablissement_dpe"),
        question("diagnostics anywhere, two ranges, by emissions", "dpe", [
            between("conso_5_usages_par_m2_ep", energy * 0.9, energy * 1.1),
            between("surface_habitable_logement", dwelling * 0.95, dwelling * 1.05),
        ], "emission_ges_5_usages_par_m2", descending=False, placed=False),
        question("a diagnostic by number", "dpe", [equals("numero_dpe", dpe["numero_dpe"])], "date_etablissement_dpe"),
    ]
