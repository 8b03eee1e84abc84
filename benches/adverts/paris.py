#!/usr/bin/env python3
"""Convert thin adverts of Paris from a public repository to adverts for `toise ingest`.

    python3 paris.py MIRROR OUT        # writes OUT/paris.ndjson

MIRROR is as for recipe.py, with a clone of J-J-Allison/Web-Scraping-Immobilier. The adverts are of December 2025, of
two portals of one group, and have price, surface, rooms, bedrooms, arrondissement, district and energy class. The
column of the storey repeats the rooms in nearly every row, so it is left out. The adverts themselves are not
redistributed.
"""

import argparse
import csv
import io
import json
import pathlib
import re
import subprocess
import zipfile

REPOSITORY = "J-J-Allison+Web-Scraping-Immobilier"
# The last commit that contains the archive.
ARCHIVE = "07e7d3f~1:Données_Paris.zip"
CLASSES = {"Appartement": "FLAT", "Duplex": "FLAT", "Studio": "FLAT", "Loft": "FLAT", "Triplex": "FLAT",
           "Maison": "HOUSE", "Villa": "HOUSE"}


def number(text):
    """The first number of a French text, without spaces between thousands."""
    found = re.search(r"\d+(?:[.,]\d+)?", re.sub(r"\s", "", text or ""))
    return float(found[0].replace(",", ".")) if found else None


def advert(row):
    """The advert as in the contract; None without a price."""
    price = number(row["Price"])
    if not price:
        return None
    url = re.split(r"[?#]", row["URL"])[0]
    code, address = row["PostalCode"], row["Address"]
    place = {"city": row["City"]}
    if re.fullmatch(r"75\d{3}", code):
        place |= {"postalCode": code, "inseeCode": "75116" if code == "75116" else "751" + code[3:]}
    if ", Paris" in address:
        place["district"] = address.split(",")[0]
    home = {}
    if surface := number(row["Surface_m2"]):
        home["surface"] = {"total": surface}
    for column, field in (("Rooms", "roomCount"), ("Bedrooms", "bedroomCount")):
        if count := number(row[column]):
            home[field] = int(count)
    if row["Energy_Class"] in set("ABCDEFG"):
        home["climate"] = {"epcEnergy": "ENERGY_CLASSIFICATION_" + row["Energy_Class"]}
    return {
        "url": url, "source": "bellesdemeures.com" if "bellesdemeures" in url else "seloger.com",
        "lastSeenAt": "2025-12-01T12:00:00Z", "type": "CLASS_" + CLASSES.get(row["Type"], "OTHER"),
        "location": place, "habitation": home, "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": price},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mirror", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    arguments = parser.parse_args()
    clone = arguments.mirror / REPOSITORY / "repo"
    data = subprocess.run(["git", "-C", clone, "show", ARCHIVE], check=True, capture_output=True).stdout
    arguments.out.mkdir(parents=True, exist_ok=True)
    written = 0
    target = (arguments.out / "paris.ndjson").open("w", encoding="utf-8")
    with target, zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in sorted(name for name in archive.namelist() if re.search(r"Paris_\d+[^/]*\.csv$", name)):
            with archive.open(name) as file:
                for row in csv.DictReader(io.TextIOWrapper(file, encoding="utf-8-sig")):
                    if made := advert(row):
                        target.write(json.dumps(made, ensure_ascii=False) + "\n")
                        written += 1
    print(f"{written} sightings")


if __name__ == "__main__":
    main()
