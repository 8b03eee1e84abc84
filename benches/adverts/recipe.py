#!/usr/bin/env python3
"""Turn public repositories holding French property adverts into one flat shape.

The adverts themselves are not redistributed: this recipe only names the
repositories, the commits and the paths, and says how each column is read.
Mirror every repository named in ``SOURCES`` as a bare Git directory
``<mirror>/<owner>+<name>/repo`` (or ``…/repo/.git``), then run::

    python3 recipe.py MIRROR OUT [--raw] [--only SOURCE …]

It writes ``OUT/normal/<source>.ndjson`` (one JSON object a line, one line per
advert and snapshot, rows identical to the same address's row in the snapshot
just before them are kept, because they prove the advert was still shown) and,
with ``--raw``, the untouched files under ``OUT/raw/<source>/``.  A table of
counts goes to standard output.  Only the standard library is needed.

Fields of a row (absent ones are left out; numbers are numbers):

``url`` exact address as published; ``portal``; ``source``; ``snapshot_date``
(ISO date or date-time of the observation); ``title``; ``description`` (plain
text); ``price`` (euros, fees included; monthly rent for rents); ``price_net``
(without agency fees); ``fees`` (who pays them: ``seller``, ``purchaser``,
``both``); ``surface`` and ``land_surface`` (m²); ``rooms``; ``bedrooms``;
``floor``; ``kind`` (``flat``, ``house``, ``new_build``, ``parking``,
``land``, ``building``, ``shop``, ``other``); ``offer`` (``sale``, ``rent``);
``city``; ``postal_code``; ``insee``; ``district``; ``address``; ``lat`` and
``lon`` (degrees, WGS 84); ``dpe_letter``; ``dpe_kwh`` (kWh/m²/year);
``ghg_letter``; ``ghg_co2`` (kgCO2/m²/year); ``agency``; ``agency_ref``;
``seller_kind`` (``agency``, ``mandatary``, ``developer``, ``private``,
``notary``); ``pictures`` (addresses); ``published_at``; ``raw_id`` (the
portal's own identifier); ``condo_lots``; ``condo_charges`` (euros a year);
``construction_year``.
"""

from __future__ import annotations

import argparse
import collections
import csv
import html
import io
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
from typing import Callable, Iterable, Iterator, NamedTuple

csv.field_size_limit(10**9)

#: Repositories of one student course: teams scraped the same town (Toulon) in
#: the same week, on several portals.
COURSE = "nidouillet-mba-2026/projet-1-observatoire-immobilier-"

Row = dict[str, object]


class Source(NamedTuple):
    """One file (with its chosen commits) of one repository.

    ``commits`` lists full or abbreviated commits; the word ``all`` stands for
    every commit that touched the path, oldest first.  ``date`` overrides the
    commit's date where the file was scraped earlier than it was committed.
    """

    name: str
    repo: str
    path: str
    commits: list[str]
    reader: Callable[[bytes], Iterable[Row]]
    date: str | None = None


# --------------------------------------------------------------------------
# Reading values
# --------------------------------------------------------------------------

_NUMBER = re.compile(r"\d[\d\s\u00a0\u202f]*(?:[.,]\d+)?")


def number(text: object) -> float | None:
    """First number of a text in French or English notation, else ``None``.

    Spaces of every width group thousands and a comma marks decimals:
    ``"1 490 000 €"`` is 1490000, ``"50,8 m²"`` is 50.8.
    """
    if text is None:
        return None
    found = _NUMBER.search(str(text))
    if not found:
        return None
    digits = re.sub(r"[\s\u00a0\u202f]", "", found.group()).replace(",", ".")
    value = float(digits)
    return value


def positive(text: object) -> float | None:
    """Like :func:`number`, but zero counts as absent."""
    value = number(text)
    return value if value else None


def whole(text: object) -> int | None:
    """A count such as rooms; absent when zero or not a number."""
    value = positive(text)
    return int(value) if value is not None else None


def floor(text: object) -> int | None:
    """Storey of ``"3ème étage"``, ``"Étage 1/4"``, ``"RDC"``; ground is 0."""
    words = str(text or "").lower()
    if re.search(r"rez|rdc", words):
        return 0
    found = re.search(r"étage\s+(\d+)|(\d+)\s*(?:er|e|ème|eme|°)?\s*étage", words)
    return int(found.group(1) or found.group(2)) if found else None


def plain(text: object) -> str | None:
    """HTML to text: tags become line breaks or spaces, entities are decoded."""
    if not text:
        return None
    words = re.sub(r"(?i)<\s*(br|/p|/li|/div)[^>]*>", "\n", str(text))
    words = html.unescape(re.sub(r"<[^>]+>", " ", words))
    words = re.sub(r"[ \t\u00a0\u202f]+", " ", words)
    words = re.sub(r"\s*\n\s*", "\n", words).strip()
    return words or None


def letter(text: object) -> str | None:
    """An energy class from A to G, else ``None`` (``NS``, ``NC``, empty)."""
    value = str(text or "").strip().upper()
    return value if value in set("ABCDEFG") and len(value) == 1 else None


def kind(text: object) -> str | None:
    """Class of home from a type word, a title or a path segment."""
    words = str(text or "").lower()
    for pattern, value in (
        (r"programme", "new_build"),
        (r"parking|garage|\bbox\b", "parking"),
        (r"terrain", "land"),
        (r"appartement|flat|studio|duplex|triplex|\bloft\b|\bt[1-9]\b|chambre", "flat"),
        (r"maison|house|villa|pavillon|propri[ée]t[ée]|chalet|ch[âa]teau|ferme|moulin|manoir", "house"),
        (r"immeuble", "building"),
        (r"local|bureau|commerce|boutique|fonds", "shop"),
    ):
        if re.search(pattern, words):
            return value
    return None


def town(text: object) -> Row:
    """City, postal code and district of the usual spellings.

    ``"83100 Toulon (Brunet)"``, ``"Champ de Mars, Toulon (83000)"``,
    ``"Paris (75015)"``, ``"Toulon"``.
    """
    words = re.sub(r"\s+", " ", str(text or "")).strip()
    found = re.fullmatch(r"(\d{5}) ([^(]+?)(?: \((.+)\))?", words)
    if found:
        return {"postal_code": found[1], "city": found[2].strip(), "district": found[3]}
    found = re.fullmatch(r"(?:(.+?) ?, )?([^,(]+?) \((\d{5})\).*", words)
    if found:
        return {"postal_code": found[3], "city": found[2].strip(), "district": found[1]}
    return {"city": words} if words and not words.isdigit() else {}


def portal_id(url: str) -> str | None:
    """The portal's own identifier, the same whatever else the address holds."""
    bare = re.split(r"[?#]", url)[0].rstrip("/")
    for pattern in (
        r"bienici\.com/annonce/(?:.*/)?([^/]+)$",
        r"seloger(?:neuf)?\.com/.*?(\d{6,})(?:\.htm)?$",
        r"leboncoin\.fr/.*?(\d{6,})(?:\.htm)?$",
        r"pap\.fr/annonces?/.*-?r(\d{6,})$",
        r"paruvendu\.fr/.*/(\w+)$",
        r"notaires\.fr/.*/(\d+)$",
        r"bellesdemeures\.com/.*?(\d{6,})",
        r"etreproprio\.com/immobilier-(\d+)",
        r"/([^/]+)$",
    ):
        found = re.search(pattern, bare)
        if found:
            return found.group(1)
    return None


def portal_of(url: str) -> str:
    """Portal's short name from the host of an address."""
    host = re.sub(r"^www\.|^immobilier\.(?=notaires)", "", url.split("/")[2])
    return host.rsplit(".", 1)[0].replace("-", "").removeprefix("immobilier.")


def rows_of(data: bytes, delimiter: str | None = None) -> Iterator[dict[str, str]]:
    """CSV with or without a byte-order mark, comma or semicolon."""
    text = data.decode("utf-8", "replace").lstrip("\ufeff")
    head = text[:400]
    mark = delimiter or (";" if head.count(";") > head.count(",") else ",")
    yield from csv.DictReader(io.StringIO(text), delimiter=mark)


# --------------------------------------------------------------------------
# Readers, one per shape
# --------------------------------------------------------------------------

_TITLE = re.compile(r"(\d+)\s+pièces?", re.I)


def bienici_api(data: bytes) -> Iterator[Row]:
    """Bien'ici's own search service written to CSV: the richest shape here.

    Descriptions hold ``<br>``; positions are blurred to the district;
    ``energy_class`` may be ``NS``; ``publication_date`` may be 1970-01-01.
    """
    for r in rows_of(data):
        published = r["publication_date"]
        yield {
            "url": r["url"],
            "raw_id": r["id"],
            "title": plain(r["title"]),
            "description": plain(r["description"]),
            "price": positive(r["price"]),
            "price_net": positive(r["price_without_fees"]),
            "fees": r["fees_charged_to"] or None,
            "surface": positive(r["surface_m2"]),
            "land_surface": positive(r["land_surface_m2"]),
            "rooms": whole(r["rooms"]),
            "bedrooms": whole(r["bedrooms"]),
            "floor": int(float(r["floor"])) if r["floor"] else None,
            "kind": kind(r["property_type"]),
            "offer": "sale",
            "city": r["city"],
            "postal_code": r["postal_code"],
            "district": r["district_name"],
            "lat": float(r["latitude_blur"]),
            "lon": float(r["longitude_blur"]),
            "dpe_letter": letter(r["energy_class"]),
            "dpe_kwh": positive(r["energy_value"]),
            "ghg_letter": letter(r["ghg_class"]),
            "ghg_co2": number(r["ghg_value"]) if r["ghg_value"] else None,
            "agency_ref": r["reference"] or None,
            "seller_kind": {"agency": "agency", "mandatary": "mandatary", "developer": "developer", "builder": "developer", "broker": "agency"}.get(r["account_type"]),
            "published_at": published if not published.startswith("1970") else None,
        }


def bienici_titles(data: bytes) -> Iterator[Row]:
    """Bien'ici's answer reduced to title, price, area, district and agency.

    ``source`` names the agency, or the words ``Agence`` and ``Mandataire``.
    """
    for r in rows_of(data):
        seller = (r["source"] or "").strip()
        word = {"Agence": "agency", "Mandataire": "mandatary"}.get(seller)
        yield {
            "url": r["url"],
            "title": r["titre"],
            "price": positive(r["prix"]),
            "surface": positive(r["surface"]),
            "rooms": whole(r.get("nb_pieces") or r.get("pieces")),
            "kind": kind(r["type_bien"]),
            "offer": "sale",
            "city": "Toulon",
            "district": r["quartier"] or None,
            "agency": seller if seller and not word else None,
            "seller_kind": word,
        }


def bienici_page(data: bytes) -> Iterator[Row]:
    """Bien'ici result pages saved by a point-and-click scraper.

    Column names are the page's CSS classes; the address carries the search it
    came from (``?q=%2Frecherche%2F…``) and the text lost its line breaks.
    """
    for r in rows_of(data):
        url = r["detailedSheetLink href"]
        title = r["ad-overview-details__ad-title"]
        surface = re.search(r"([\d\s,.]+)\s*m²", title or "")
        rooms = _TITLE.search(title or "")
        published = r.get("ad-overview-list__details-infos") or ""
        yield {
            "url": url,
            "title": title,
            "description": plain(r.get("ad-overview-description")),
            "price": positive(r["ad-price__the-price"]),
            "surface": positive(surface.group(1)) if surface else None,
            "rooms": whole(rooms.group(1)) if rooms else None,
            "kind": kind(title) or kind(url),
            "offer": "sale",
            **town(r["ad-overview-details__address-title"]),
            "agency": r.get("account-logo__display-name") or None,
            "published_at": french_date(published),
        }


_MONTHS = "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre".split()


def french_date(text: str) -> str | None:
    """``"Publiée le 6 mars 2026"`` to ``2026-03-06``, accents or not."""
    found = re.search(r"(\d{1,2})(?:er)? (\w+) (\d{4})", text or "")
    month = found[2].lower().replace("é", "e").replace("û", "u") if found else ""
    if not found or month not in _MONTHS:
        return None
    return f"{found[3]}-{_MONTHS.index(month) + 1:02}-{int(found[1]):02}"


def bienici_pictures(data: bytes) -> Iterator[Row]:
    """Bien'ici cards with the text and the first picture's address."""
    for r in rows_of(data):
        rooms = _TITLE.search(r["titre"])
        yield {
            "url": r["url"],
            "title": r["titre"],
            "description": plain(r["description"]),
            "price": positive(r["prix"]),
            "surface": positive(r["surface"]),
            "rooms": whole(rooms.group(1)) if rooms else None,
            "kind": kind(r["type"]),
            "offer": "sale",
            "city": "Toulon",
            "district": r["quartier"] or None,
            "pictures": [r["image_url"]] if r["image_url"] else None,
            "published_at": french_date(r["date_publication"]),
        }


def bienici_database(table: str, columns: dict[str, str]) -> Callable[[bytes], Iterator[Row]]:
    """SQLite table of result cards: picture, link, price, title, place."""

    def read(data: bytes) -> Iterator[Row]:
        with tempfile.NamedTemporaryFile(suffix=".db") as file:
            file.write(data)
            file.flush()
            base = sqlite3.connect(file.name)
            base.row_factory = sqlite3.Row
            for r in base.execute(f'select * from "{table}"'):
                title = r[columns["title"]] or ""
                surface = re.search(r"([\d\s\u00a0\u202f,.]+)\s*m²", re.sub(r".*pièces?", "", title))
                rooms = _TITLE.search(title)
                image = r[columns["picture"]]
                yield {
                    "url": r[columns["url"]],
                    "title": title,
                    "price": positive(r[columns["price"]]),
                    "surface": positive(surface.group(1)) if surface else None,
                    "rooms": whole(rooms.group(1)) if rooms else None,
                    "kind": kind(title) or kind(r[columns["url"]]),
                    "offer": "rent" if "/location/" in r[columns["url"]] else "sale",
                    **town(r[columns["place"]]),
                    "pictures": [image] if image and image.startswith("http") else None,
                }
            base.close()

    return read


def bienici_bordeaux(data: bytes) -> Iterator[Row]:
    """Bien'ici cards whose whole text is one field.

    ``description`` begins with agency, number of pictures, title, town, price
    and price a square metre, one a line; it is cut after about 1,000 letters.
    """
    for r in json.loads(data or b"[]"):
        lines = [l.strip() for l in r["description"].replace("\u00a0", " ").split("\n")]
        title, _, place = r["title"].replace("\u00a0", " ").partition("\n")
        start = next((i for i, l in enumerate(lines) if l.endswith("€/m²")), -1) + 1
        reference = re.search(r"[Rr]éférence\s*:?\s*([\w./-]+)", r["description"])
        agency = r["agency"] if r["agency"] not in ("Inconnu", "", None) else None
        yield {
            "url": r["url"],
            "title": title,
            "description": plain("\n".join(lines[start:])),
            "price": positive(r["price"]),
            "surface": positive(r["surface"]),
            "rooms": whole(r["room_count"]),
            "kind": kind(title),
            "offer": "sale",
            **town(place),
            "dpe_letter": letter(r["dpe"]),
            "agency": agency,
            "agency_ref": reference.group(1) if reference else None,
            "seller_kind": "private" if r["is_individual"] else None,
        }


def radar(data: bytes) -> Iterator[Row]:
    """Watcher's list of Bien'ici and Geolocaux adverts around one place.

    Positions are the town's centre; ``description`` is the card's text.
    """
    found = json.loads(data or b"{}")
    for r in found.get("listings", []) if isinstance(found, dict) else found:
        yield {
            "url": r["sourceUrl"],
            "title": r["title"],
            "description": plain(r["description"]),
            "price": positive(r["askingPrice"]),
            "surface": positive(r["surfaceM2"]),
            "rooms": whole(r["rooms"]),
            "kind": kind(r["title"]) or kind(r["sourceUrl"]),
            "offer": "rent" if "location" in r["sourceUrl"] else "sale",
            "city": r["city"],
            "postal_code": r["postalCode"],
            "lat": r.get("latitude"),
            "lon": r.get("longitude"),
            "dpe_letter": letter(r["dpe"]),
        }


def seloger_page(data: bytes) -> Iterator[Row]:
    """SeLoger result pages saved by a point-and-click scraper.

    Columns are CSS classes; which class holds what differs from file to file,
    so values are recognised by what they look like.
    """
    for r in rows_of(data):
        url = r["css-w5uu0r href"]
        values = [v for k, v in r.items() if k and k.startswith("css-9u48bm") and v]
        first = lambda pattern: next((v for v in values if re.search(pattern, v)), None)  # noqa: E731
        heading = r.get("css-1rek4h3") or ""
        pictures = [v.split("?")[0] for k, v in r.items() if k and k.startswith(("css-hc6pk4", "css-hclm2j")) and v]
        yield {
            "url": url,
            "title": " ".join(filter(None, [heading, first("pièce"), first(r"m²(?! de terrain)")])),
            "description": plain(r.get("css-oorffy")),
            "price": positive(re.sub(r"^\D+", "", r.get("css-wesefx") or "")),
            "surface": positive(first(r"m²(?! de terrain)")),
            "land_surface": positive(first(r"m² de terrain")),
            "rooms": whole(first("pièce")),
            "bedrooms": whole(first("chambre")),
            "floor": floor(first(r"[éÉ]tage|[Rr]ez|RDC")),
            "kind": kind(heading) or kind(url),
            "offer": "sale",
            **town(re.sub(r" ,", ",", r.get("css-oaskuq") or r.get("css-1xezftr") or "")),
            "dpe_letter": letter(r.get("css-1kjr4iz")),
            "agency": r.get("css-1tafjuz") or None,
            "pictures": list(dict.fromkeys(pictures)) or None,
        }


def seloger_cards(data: bytes) -> Iterator[Row]:
    """SeLoger and Bien'ici cards whose title is the card's whole text."""
    for r in rows_of(data):
        card = r["titre"]
        bedrooms = re.search(r"(\d+) chambres?", card)
        rooms = _TITLE.search(card)
        place = re.search(r"(?:(?<=étage )|(?<=/\d )|(?<=m² ))([^·€]*?Toulon \(\d{5}\))", card)
        storey = re.search(r"RDC|[Rr]ez[^·]*chaussée|\d+(?:er|ème|e) étage|Étage \d+", card)
        first = re.match(r"\s*1 / \d+ ([A-G])\b", card)
        where = town(place.group(1).strip()) if place else {}
        if not where:
            code = re.search(r"(83\d{3}) (Toulon)(?: \(([^)]+)\))?", card)
            where = {"postal_code": code[1], "city": code[2], "district": code[3]} if code else {"city": "Toulon"}
        yield {
            "url": r["url"],
            "title": card,
            "price": positive(r["prix_eur"]),
            "surface": positive(r["surface_m2"]),
            "rooms": whole(rooms.group(1)) if rooms else None,
            "bedrooms": whole(bedrooms.group(1)) if bedrooms else None,
            "floor": floor(storey.group()) if storey else None,
            "kind": kind(r["type_bien"]) or kind(r["url"]),
            "offer": "sale",
            **where,
            "dpe_letter": letter(first.group(1)) if first else None,
            "snapshot_date": r["date_scrape"][:19],
        }


def seloger_new(data: bytes) -> Iterator[Row]:
    """First page of SeLoger, half of it new-build programmes (SeLoger Neuf)."""
    for r in rows_of(data):
        rooms = _TITLE.search(r["titre"])
        yield {
            "url": r["url"],
            "title": r["titre"],
            "price": positive(r["prix"]),
            "surface": positive(r["surface"]),
            "rooms": whole(rooms.group(1)) if rooms else None,
            "kind": kind(r["titre"]),
            "offer": "sale",
            **town(re.sub(r" ,", ",", r["quartier"] or "")),
        }


def seloger_thin(data: bytes) -> Iterator[Row]:
    """SeLoger without any address: class, price, rooms, area, district."""
    for line, r in enumerate(rows_of(data), 1):
        yield {
            "raw_id": str(line),
            "portal": "seloger",
            "title": r["type_de_bien"],
            "price": positive(re.sub(r"^\D+", "", r["prix_du_bien"] or "")),
            "surface": positive(r["superficie"]),
            "rooms": whole(r["nb_pièce"]),
            "bedrooms": whole(r["nb_chambre"]),
            "kind": kind(r["type_de_bien"]),
            "offer": "sale",
            **town(re.sub(r" ,", ",", r["quartier"] or "")),
            "dpe_letter": letter(r["Cat_energie"]),
        }


def pap_seloger(data: bytes) -> Iterator[Row]:
    """PAP (text, no seller) and SeLoger (no text) in one file.

    Two generations of column names; for SeLoger the postal code stands in the
    place column; PAP shows neighbouring towns as ``"X (83500)à 5km de …"``.
    """
    for r in rows_of(data):
        place = re.sub(r"à \d+km.*", "", r.get("nom_commune") or r.get("localisation") or "").strip()
        code = re.fullmatch(r"\d{5}(?:\.0)?", place)
        slug = re.search(r"/(?:achat|location)/[^/]+/([a-z0-9-]+)-(\d{2})/(?:([^/]+)/)?\d+", r["url"])
        where = town(place)
        if code:
            where = {"postal_code": place[:5]}
        if slug:
            where["city"] = slug[1].replace("-", " ").title()
            if slug[3]:
                where["district"] = slug[3].replace("-", " ").title()
        title = r["titre"]
        from_title = re.search(r"– ([^–(]+) \((\d{5})\)", title)
        if from_title and not where.get("postal_code"):
            where.update(city=from_title[1].strip(), postal_code=from_title[2])
        yield {
            "url": r["url"],
            "title": title or None,
            "description": plain(r["description"]),
            "price": positive(r.get("valeur_fonciere") or r.get("prix")),
            "surface": positive(r.get("surface_reelle_bati") or r.get("surface")),
            "rooms": whole(r.get("nombre_pieces_principales") or r.get("nb_pieces")),
            "kind": kind(r.get("type_local") or r.get("type_bien") or title) or kind(r["url"]),
            "offer": "sale",
            **where,
            "seller_kind": "private" if r["source"] == "pap" else None,
            "snapshot_date": (r.get("date_mutation") or r.get("date_scraped") or "")[:19] or None,
        }


def leboncoin_thin(data: bytes) -> Iterator[Row]:
    """Leboncoin titles, prices and areas: no text, place, picture or seller."""
    for r in rows_of(data):
        yield {
            "url": r["url"],
            "title": r["titre"],
            "price": positive(r["prix"]),
            "surface": positive(r["surface"]),
            "rooms": whole(r["nb_pieces"]),
            "kind": kind(r["type_bien"]) or kind(r["titre"]),
            "offer": "sale",
            "city": "Toulon",
            "district": r["quartier"] if r["quartier"] not in ("Non precise", "") else None,
        }


def leboncoin_rents(data: bytes) -> Iterator[Row]:
    """Leboncoin rents in Paris; UTF-8 that was read as Latin-1 and saved again."""
    found = json.loads(data or b"{}")
    for r in [r for group in found.values() for r in group]:
        mend = lambda v: v.encode("latin-1", "ignore").decode("utf-8", "ignore") if v and "Ã" in v else v  # noqa: E731
        title, text = mend(r["title"]), mend(r["description"])
        words = f"{title} {text}"
        surface = re.search(r"(\d{1,3}(?:[.,]\d+)?) ?m(?:2|²|ètres|\b)", words)
        place = re.fullmatch(r"(.+?)\s+(\d{5})", (mend(r["location"]) or "").strip())
        yield {
            "url": r["url"],
            "title": title,
            "description": plain(re.sub(r"^Description :\s*", "", text or "")),
            "price": positive(r["price"]),
            "surface": positive(surface.group(1)) if surface else None,
            "kind": "flat",
            "offer": "rent",
            "city": place[1] if place else None,
            "postal_code": place[2] if place else None,
            "pictures": [r["img"]] if r.get("img") else None,
        }


def notaires(data: bytes) -> Iterator[Row]:
    """Notaries' portal, Paris and Lyon; text, decimals, no energy figures.

    Where the file has positions they were geocoded from the town's name.
    """
    for r in rows_of(data):
        code = re.search(r"-(\d{5})/", r["URL"])
        place = re.sub(r"^-\s*", "", r["Localisation"]).split(" - ")[0].strip()
        yield {
            "url": r["URL"],
            "title": re.sub(r"\s+", " ", r["Titre"]),
            "description": plain(r["Description"]),
            "price": positive(r["Prix"]),
            "surface": positive(r["Surface_m2"]),
            "rooms": whole(r["Nb_Pieces"]),
            "kind": kind(r["Type_Bien"]),
            "offer": "rent" if "/location/" in r["URL"] else "sale",
            "city": place or None,
            "postal_code": code.group(1) if code else None,
            "lat": float(r["latitude"]) if r.get("latitude") else None,
            "lon": float(r["longitude"]) if r.get("longitude") else None,
            "seller_kind": "notary",
        }


def etreproprio(data: bytes) -> Iterator[Row]:
    """Aggregator of agencies' adverts; text with phone numbers and agency names."""
    for r in rows_of(data):
        yield {
            "url": r["url"],
            "title": r["titre"],
            "description": plain(r["description"]),
            "price": positive(r["prix"]),
            "surface": positive(r["surface_habitable"]),
            "land_surface": positive(r["surface_terrain"]),
            "rooms": whole(r["pieces"]),
            "kind": kind(r["type_bien"]) or kind(r["titre"]) or kind((r["description"] or "")[:200]),
            "offer": "sale",
            "city": r["ville"],
            "postal_code": r["cp"],
            "dpe_letter": letter(r["dpe"]),
            "ghg_letter": letter(r["ges"]),
        }


def paruvendu(data: bytes) -> Iterator[Row]:
    """ParuVendu, the whole of Île-de-France: thin, but the address holds the title."""
    for r in rows_of(data):
        slug = r["url"].split("/")[-2].replace("-", " ")
        found = re.fullmatch(r"(.+?)\s*\((\d{5})\)", r["ville"] or "")
        paris = re.match(r"Paris (\d{1,2})\b", r["ville"] or "")
        day = re.fullmatch(r"(\d\d)/(\d\d)/(\d{4})", r["date_annonce"] or "")
        yield {
            "url": r["url"],
            "raw_id": r["id"],
            "title": slug,
            "price": positive(r["price"]),
            "surface": positive(r["surface"]),
            "rooms": whole(r["pieces"]),
            "kind": kind(r["lb_type_bien"]) or kind(r["url"]),
            "offer": "sale",
            "city": found[1] if found else re.sub(r"\s*\(\d+\)$", "", r["ville"] or "") or None,
            "postal_code": found[2] if found else f"750{int(paris[1]):02}" if paris else None,
            "dpe_letter": letter(r["classe_energie"]),
            "ghg_letter": letter(r["gaz_effet_serre"]),
            "published_at": f"{day[3]}-{day[2]}-{day[1]}" if day else None,
        }


def seloger_2020(city: str, portal: str) -> Callable[[bytes], Iterator[Row]]:
    """SeLoger or Belles Demeures detail pages of 2020, with text, no address.

    A missing value shifts the row by a column, so values are recognised by
    what they look like.
    """

    def read(data: bytes) -> Iterator[Row]:
        for line, r in enumerate(rows_of(data), 1):
            values = [v for v in r.values() if isinstance(v, str) and v and v != "Non reference"]
            short = [v for v in values if len(v) < 120]
            first = lambda pattern: next((v for v in short if re.search(pattern, v)), None)  # noqa: E731
            area = first(r"^\[?'?[\d\s,.]+\s*[mM]²'?\]?$")
            quarter = first(r"^Quartier ")
            year = first(r"^Année de construction")
            yield {
                "raw_id": str(line),
                "portal": portal,
                "title": next(iter(r.values())),
                "description": plain(max(values, key=len)) if values else None,
                "price": positive(first(r"\d\s*€(?!\s*/)")),
                "surface": positive(area),
                "rooms": whole(first(r"^\d+ [Pp]ièces?$")),
                "bedrooms": whole(first(r"^\d+ [Cc]hambres?$")),
                "floor": floor(first(r"étage$")),
                "kind": kind(next(iter(r.values()))),
                "offer": "sale",
                "city": first(rf"^{city} \d+") or city,
                "district": quarter[9:] if quarter else None,
                "construction_year": whole(year),
            }

    return read


def locamoi(data: bytes) -> Iterator[Row]:
    """Rents without address or text; the town stands in the title."""
    for line, r in enumerate(rows_of(data), 1):
        yield {
            "raw_id": str(line),
            "portal": "locamoi",
            "title": r["titre"],
            "price": positive(r["prix"]),
            "surface": positive(r["surface"]),
            "rooms": whole(r["pieces"]),
            "kind": kind(r["type_bien"]),
            "offer": "rent",
            "city": (r["adresse"] or "").split(",")[0].strip() or None,
        }


# --------------------------------------------------------------------------
# The sources
# --------------------------------------------------------------------------

SOURCES = [
    Source("toulon_bienici_api", COURSE + "tool-on", "data/annonces_bienici_api_toulon.csv", ["HEAD"], bienici_api, "2026-03-10"),
    Source("toulon_bienici_titles", "Tomltl/projet-1-observatoire-immobilier-embedding-immo", "data/annonces.csv", ["5cf193c", "3cfe2e7"], bienici_titles),
    Source("toulon_bienici_page", COURSE + "paris-ai-team", "data/annonces_toulon_bienici.csv", ["89c375b2f8909ad69211ac416e0b074a333eccf7"], bienici_page),
    Source("toulon_bienici_page2", COURSE + "paris-ai-team", "data/brutbienici.csv", ["e30108bfbc2bb96cd8be52d72f6e92f5cb1edbe1"], bienici_page),
    Source("toulon_bienici_pictures", COURSE + "super-ai-team", "data/annonces_images.csv", ["b9abf15094fa7ce7abcb3aebfdb3ac083bcde616"], bienici_pictures),
    *[
        Source(f"toulon_seloger_page{i}", COURSE + "bordeaux-ai-builders", f"CSV/seloger{i or ''}.csv", ["b7e330e04112ec27da4540bd26cff7248ba288ed"], seloger_page, "2026-03-07")
        for i in range(10)
    ],
    Source("toulon_seloger_cards", COURSE + "nid-ai-team", "data/annonces.csv", ["5441df7f72f96704f7feb9f6c0d2f80496a932ec", "5fadd98104035ee66bcd881c0b72999619c65de4"], seloger_cards),
    Source("toulon_seloger_new", COURSE + "super-ai-team", "data/seloger.csv", ["HEAD"], seloger_new, "2026-03-10"),
    Source("toulon_seloger_thin", COURSE + "bordeaux-ai-builders", "donnees/raw/seloger_document_base.csv", ["HEAD"], seloger_thin, "2026-03-09"),
    Source("toulon_pap_seloger", COURSE + "aimmo", "data/annonces.csv", ["all"], pap_seloger),
    Source("toulon_leboncoin", COURSE + "paris-ai-team", "acheteur/data/marche_leboncoin.csv", ["all"], leboncoin_thin),
    Source("bordeaux_bienici", "frankouassi90-del/veille-immobiliere-Bordeaux", "data/listings.json", ["all"], bienici_bordeaux),
    Source("sologne_bienici", "tdubour/radar-immo", "data/listings.json", ["all"], radar),
    Source("bordeaux_etreproprio", "xiabizot/python-avance-Webscraping_Immo", "DATA/data_bordeaux_R10_maisons.csv", ["HEAD"], etreproprio),
    Source("chamonix_etreproprio", "xiabizot/python-avance-Webscraping_Immo", "OUTPUT/data_bordeaux_R10_maisons.csv", ["HEAD"], etreproprio),
    Source("paris_lyon_notaires", "btalib001/PythonAvance", "annonces_completes_notaires.csv", ["all"], notaires),
    Source("paris_lyon_notaires_gps", "btalib001/PythonAvance", "immo_gps.csv", ["ea5bc035e2adfb3939591a80aba5c00289e95a01"], notaires),
    Source("paris_bienici", "YukiLand/bienici-scrapper", "data.db", ["HEAD"],
           bienici_database("adsimo", {"url": "link", "picture": "img", "price": "price", "title": "name", "place": "address"})),
    Source("france_bienici", "killiancolla/immo_scraping", "immoDB.db", ["HEAD"],
           bienici_database("offres", {"url": "link", "picture": "image", "price": "price", "title": "name", "place": "place"})),
    Source("idf_paruvendu", "Sou001/webscrapping", "tmp_data/scrapping_final_table.csv", ["HEAD"], paruvendu, "2022-09-04"),
    Source("paris_leboncoin_rents", "lionel-k/flat-on-time", "result-search.json", ["HEAD"], leboncoin_rents),
    Source("paris_leboncoin_rents_before", "lionel-k/flat-on-time", "flats-3.json", ["HEAD"], leboncoin_rents, "2018-01-06"),
    Source("paris_leboncoin_rents_all", "lionel-k/flat-on-time", "flats-leboncoin.json", ["HEAD"], leboncoin_rents),
    Source("paris_seloger_2020", "TAINGL/Projet-SeLoger.com", "csv/csv_scrapping/name_csv_Paris_ls.csv", ["HEAD"], seloger_2020("Paris", "seloger")),
    Source("lyon_seloger_2020", "TAINGL/Projet-SeLoger.com", "csv/csv_scrapping/name_csv_Lyon_ls.csv", ["HEAD"], seloger_2020("Lyon", "seloger")),
    Source("paris_bellesdemeures_2020", "TAINGL/Projet-SeLoger.com", "csv/csv_scrapping/name_csv_Paris_bd.csv", ["HEAD"], seloger_2020("Paris", "bellesdemeures")),
    Source("lyon_bellesdemeures_2020", "TAINGL/Projet-SeLoger.com", "csv/csv_scrapping/name_csv_Lyon_bd.csv", ["HEAD"], seloger_2020("Lyon", "bellesdemeures")),
    Source("france_locamoi", "btalib001/PythonAvance", "locamoi_annonces_avec_prix_m2.csv", ["a784b46ab937d19f71556c6d0765cf72f2cb5285"], locamoi),
]

FIELDS = """url portal source snapshot_date title description price price_net fees surface
land_surface rooms bedrooms floor kind offer city postal_code insee district address lat lon
dpe_letter dpe_kwh ghg_letter ghg_co2 agency agency_ref seller_kind pictures published_at
raw_id condo_lots condo_charges construction_year""".split()


def from_text(row: Row) -> None:
    """Fill condominium and energy figures that stand only in the text."""
    text = str(row.get("description") or "")
    for field, pattern in (
        ("condo_lots", r"(\d{1,4}) lots?\b"),
        ("condo_charges", r"[Cc]harges[^.\n€]{0,60}?(\d[\d \u202f\u00a0]{2,6}(?:[.,]\d\d)?) ?(?:€|euros)[^.\n]{0,25}(?:an\b|annue)"),
    ):
        found = re.search(pattern, text)
        if found and not row.get(field):
            value = positive(found.group(1))
            row[field] = int(value) if field == "condo_lots" and value else value


class Mirror:
    """Reads files of bare repositories under one folder."""

    def __init__(self, root: str) -> None:
        self.root = root

    def git(self, repo: str, *arguments: str) -> bytes:
        directory = os.path.join(self.root, repo.replace("/", "+"), "repo")
        if os.path.isdir(os.path.join(directory, ".git")):
            directory = os.path.join(directory, ".git")
        command = ["git", "--git-dir", directory, *arguments]
        return subprocess.run(command, check=True, capture_output=True).stdout

    def versions(self, source: Source) -> Iterator[tuple[str, str, bytes]]:
        """Commit, its date and the file's bytes, oldest first."""
        if source.commits == ["all"]:
            listed = self.git(source.repo, "log", "--all", "--reverse", "--format=%H %cI", "--", source.path)
        else:
            listed = b"".join(
                self.git(source.repo, "log", "-1", "--format=%H %cI", *([commit, "--", source.path] if commit == "HEAD" else [commit]))
                for commit in source.commits
            )
        for line in listed.decode().splitlines():
            commit, date = line.split(" ")
            try:
                yield commit, date, self.git(source.repo, "show", f"{commit}:{source.path}")
            except subprocess.CalledProcessError:
                continue  # removed by that commit, or not in the snapshot


def convert(source: Source, mirror: Mirror, raw: pathlib.Path | None) -> Iterator[Row]:
    """Rows of all chosen versions of a source in the flat shape."""
    for commit, date, data in mirror.versions(source):
        if raw:
            raw.mkdir(parents=True, exist_ok=True)
            (raw / f"{commit[:8]}-{os.path.basename(source.path)}").write_bytes(data)
        for row in source.reader(data):
            url = (row.get("url") or "").strip()
            if not url and not row.get("raw_id"):
                continue
            row["source"] = source.name
            row["snapshot_date"] = row.get("snapshot_date") or source.date or date
            if url:
                row["url"] = url
                row.setdefault("portal", portal_of(url))
                row["raw_id"] = row.get("raw_id") or portal_id(url)
            from_text(row)
            yield {key: row[key] for key in FIELDS if row.get(key) not in (None, "", [])}


def main() -> None:
    """Command line; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("mirror")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--raw", action="store_true", help="also write the untouched files")
    parser.add_argument("--only", nargs="*", default=[], help="names of sources")
    options = parser.parse_args()
    mirror = Mirror(options.mirror)
    (options.out / "normal").mkdir(parents=True, exist_ok=True)
    print("source rows adverts snapshots portals")
    for source in SOURCES:
        if options.only and source.name not in options.only:
            continue
        rows = list(convert(source, mirror, options.out / "raw" / source.name if options.raw else None))
        with open(options.out / "normal" / f"{source.name}.ndjson", "w", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        adverts = {(r["portal"], r["raw_id"]) for r in rows}
        days = {str(r["snapshot_date"]) for r in rows}
        portals = collections.Counter(portal for portal, _ in adverts)
        print(source.name, len(rows), len(adverts), len(days), dict(portals))


if __name__ == "__main__":
    sys.exit(main())
