#!/usr/bin/env python3
"""Convert the output of recipe.py to adverts for `toise ingest`, oldest sighting first.

    python3 adverts.py OUT        # reads OUT/normal/*.ndjson, writes OUT/adverts.ndjson

An advert is identified by its URL without query and fragment, as in the rules of the portals. An advert without a URL
is identified by its source and number. The pairs in labels.csv name adverts by the first 24 hexadecimal digits of the
SHA-256 digest of that address.
"""

import argparse
import json
import pathlib
import re

CLASSES = {
    "flat": "CLASS_FLAT", "house": "CLASS_HOUSE", "new_build": "CLASS_PROGRAM", "parking": "CLASS_PARKING",
    "land": "CLASS_LAND", "building": "CLASS_BUILDING", "shop": "CLASS_SHOP",
}
# The pictures are not available, so only their names show whether two are the same.
HASHES = {"gaussianHash": "", "meanHash": "", "perceptualHash": ""}
ARRONDISSEMENTS = {"Paris": 75100, "Lyon": 69380, "Marseille": 13200}


def address(row):
    """The URL without query and fragment, or with only its number for portals that have several URLs per advert."""
    url = row.get("url")
    if not url:
        return f"https://{row['portal']}.fr/thin/{row['source']}/{row['raw_id']}"
    url = url.split("#")[0].split("?")[0].rstrip("/")
    if row["portal"] == "bienici":
        return "https://www.bienici.com/annonce/" + url.rsplit("/", 1)[1]
    numbered = re.search(r"/(\d+)\.htm$", url)
    if row["portal"] == "seloger" and numbered:
        return f"https://www.seloger.com/annonces/{numbered[1]}.htm"
    return url


def moment(text):
    if len(text) == 10:
        return text + "T12:00:00Z"
    return text if re.search(r"(Z|[+-]\d\d:\d\d)$", text) else text + "Z"


def given(**fields):
    """The fields that have a value."""
    return {name: value for name, value in fields.items() if value not in (None, "", {}, [])}


def location(row):
    city, postal_code = row.get("city"), str(row.get("postal_code") or "")
    insee_code = row.get("insee")
    district = re.match(r"(Paris|Lyon|Marseille) ?(\d+)", city or "")
    if district and not insee_code:
        insee_code = str(ARRONDISSEMENTS[district[1]] + int(district[2]))
    elif city and "Toulon" in city and not postal_code:
        # These rows have a teaser text instead of the name of the town.
        insee_code = insee_code or "83137"
    place = given(
        city=city, postalCode=postal_code if re.fullmatch(r"\d{5}", postal_code) else None,
        inseeCode=insee_code if re.fullmatch(r"[0-9][0-9AB]\d{3}", str(insee_code or "")) else None,
        district=row.get("district"), address=row.get("address"))
    if row.get("lat") is not None and row.get("lon") is not None:
        place["locationCoordinate"] = {"location": [row["lon"], row["lat"]]}
    return place


def habitation(row):
    climate = {}
    for source, name, prefix in (("dpe_letter", "epcEnergy", "ENERGY"), ("ghg_letter", "epcClimate", "GREENHOUSE")):
        if row.get(source):
            climate[name] = f"{prefix}_CLASSIFICATION_{row[source]}"
    climate |= given(epcEnergyScore=row.get("dpe_kwh"), epcClimateScore=row.get("ghg_co2"))
    rooms, floor, year = row.get("rooms"), row.get("floor"), row.get("construction_year")
    return given(
        surface=given(total=row.get("surface") if row.get("kind") != "land" else None),
        roomCount=int(rooms) if rooms and rooms < 1000 else None, bedroomCount=row.get("bedrooms"),
        floor=floor if floor is not None and -10 <= floor <= 200 else None,
        condominiumLotCount=row.get("condo_lots"), climate=climate,
        propertyCondition=given(constructionYear=int(year) if year and 1 <= year <= 2200 else None))


def advert(row):
    """The advert as in the contract."""
    images = [HASHES | {"imageId": picture, "url": picture} for picture in row.get("pictures") or []]
    land = row.get("land_surface") or (row.get("surface") if row.get("kind") == "land" else None)
    seller = row.get("seller_kind")
    return given(
        url=address(row), source=row["portal"] + ".fr", lastSeenAt=moment(row["snapshot_date"]),
        title=row.get("title"), description=row.get("description"), reference=row.get("agency_ref"),
        type=CLASSES.get(row.get("kind"), "CLASS_OTHER"), location=location(row), habitation=habitation(row),
        offer={"type": "OFFER_RENT" if row.get("offer") == "rent" else "OFFER_BUY"},
        land=given(surface=land), medias={"images": images} if images else None,
        seller=given(name=row.get("agency")), isPro=seller != "private" if seller else None,
        charges=given(yearlyCondoniumFees=row.get("condo_charges")),
    ) | {"currentPrice": given(value=row.get("price"), netValue=row.get("price_net")) or None}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path, help="the folder that recipe.py wrote")
    out = parser.parse_args().out
    rows = []
    for path in sorted((out / "normal").glob("*.ndjson")):
        with path.open(encoding="utf-8") as lines:
            rows.extend(map(advert, map(json.loads, lines)))
    rows.sort(key=lambda row: row["lastSeenAt"])
    with (out / "adverts.ndjson").open("w", encoding="utf-8") as target:
        for row in rows:
            target.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(f"{len(rows)} sightings of {len({row['url'] for row in rows})} adverts")


if __name__ == "__main__":
    main()
