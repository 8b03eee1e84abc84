#!/usr/bin/env python3
"""Count the adverts that agree in every column and the district, and how many of them a store has merged.

    python3 alike.py TOISE LAKE ADVERTS.ndjson

TOISE is the executable, LAKE the data folder into which ADVERTS.ndjson was ingested. Districts are not a column of SQL,
so they are read from the file.
"""

import argparse
import collections
import json
import subprocess


def agreeing(advert):
    """The values that must agree; None for an advert without price, surface, district or energy class."""
    home, place = advert.get("habitation", {}), advert.get("location", {})
    values = (
        advert["currentPrice"].get("value"), home.get("surface", {}).get("total"), place.get("district"),
        home.get("climate", {}).get("epcEnergy"),
    )
    if None in values:
        return None
    return values + (advert["type"], home.get("roomCount"), home.get("bedroomCount"), place.get("postalCode"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("toise")
    parser.add_argument("lake")
    parser.add_argument("adverts")
    arguments = parser.parse_args()
    query = "select url, property_flx_id from adverts"
    command = [arguments.toise, "sql", "--json", "--data", arguments.lake, query]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    property_of = {row["url"]: row["property_flx_id"] for row in json.loads(done.stdout)}
    with open(arguments.adverts, encoding="utf-8") as lines:
        last = {advert["url"]: advert for advert in map(json.loads, lines)}
    groups = collections.defaultdict(collections.Counter)
    for url, advert in last.items():
        key = agreeing(advert)
        if key and url in property_of:
            groups[key][property_of[url]] += 1
    alike = [group for group in groups.values() if group.total() > 1]
    adverts = sum(group.total() for group in alike)
    merged = sum(count for group in alike for count in group.values() if count > 1)
    print(f"{adverts} adverts agree with another in every column; {merged} ({100 * merged / max(adverts, 1):.1f} %) are merged "
          "with one of them")


if __name__ == "__main__":
    main()
