#!/usr/bin/env python3
"""Builds data/places.csv.gz from the official tables named in data/README.md.

Usage: data/places.py COMMUNES.json.gz CENTRES.csv.gz LA_POSTE.csv.gz CONTOURS.geojson.gz TOWN_CENTRES.csv OUT.csv.gz

One row per place: communes (C), municipal arrondissements (A), former communes that are delegated (D) or associated (S)
parts of a commune, other former names that the post still uses (O), and codes of former communes without a name (F).

The official centre is the middle of the territory, which may be a mountain or the sea. TOWN_CENTRES
(data/town_centres.csv) replaces it if the town is more than 2 km away. A commune without a centre gets the middle of
its contour, else of the contours of its former communes, else the mean of the communes with its postal code. Any other
place without a position gets that of its parent when the table is read.
"""

import csv
import gzip
import io
import json
import re
import sys
import unicodedata

KINDS = {
    "commune-actuelle": "C",
    "arrondissement-municipal": "A",
    "commune-deleguee": "D",
    "commune-associee": "S",
}


def fold(name):
    name = unicodedata.normalize("NFD", name.replace("œ", "oe").replace("Œ", "OE").replace("’", "'"))
    name = "".join(letter for letter in name if not unicodedata.combining(letter)).upper()
    words = re.sub(r"[^A-Z0-9]+", " ", name).split()
    return " ".join({"SAINT": "ST", "SAINTE": "STE"}.get(word, word) for word in words)


def titled(name):
    """Converts a name of La Poste, in capitals without accents: `ST BOIS` becomes `Saint-Bois`."""
    words = [{"ST": "Saint", "STE": "Sainte"}.get(word, word.capitalize()) for word in name.split()]
    small = {"De", "Du", "Des", "La", "Le", "Les", "Sur", "Sous", "En", "Et", "Aux", "Au", "Lès", "D", "L"}
    words = [word.lower() if index and word in small else word for index, word in enumerate(words)]
    if words[0] in {"La", "Le", "Les"} and len(words) > 1:
        return f"{words[0]} {'-'.join(words[1:])}"
    return "-".join(words)


def middles(path):
    """The middle of the box around each contour, by code."""
    found = {}
    for feature in json.load(gzip.open(path))["features"]:
        shape = feature["geometry"]["coordinates"]
        rings = shape if feature["geometry"]["type"] == "Polygon" else [ring for part in shape for ring in part]
        points = [point for ring in rings for point in ring]
        lons, lats = [point[0] for point in points], [point[1] for point in points]
        found[feature["properties"]["code"]] = ((min(lats) + max(lats)) / 2, (min(lons) + max(lons)) / 2)
    return found


def main():
    communes, centres, la_poste, contours, towns, out = sys.argv[1:7]
    rows = json.load(gzip.open(communes))
    points = {}
    for row in csv.DictReader(gzip.open(centres, "rt", encoding="utf-8")):
        points[row["code"]] = (row["lat"], row["lon"])
    for row in csv.DictReader(open(towns, encoding="utf-8")):
        points[row["code"]] = (row["lat"], row["lon"])
    codes = {}
    old = []
    for row in csv.DictReader(gzip.open(la_poste, "rt", encoding="utf-8")):
        codes.setdefault(row["insee"], set()).add(row["postal_code"])
        if row["lat"]:
            points.setdefault(row["insee"], (f"{float(row['lat']):.3f}", f"{float(row['lon']):.3f}"))
        if row["old_commune"]:
            old.append((row["insee"], row["old_commune"], row["postal_code"]))
    middle = middles(contours)
    for row in rows:
        if row["type"] == "commune-actuelle" and row["code"] not in points:
            parts = [row["code"], *row.get("anciensCodes", ())]
            inside = [middle[code] for code in parts if code in middle]
            if inside:
                mean = [sum(axis) / len(inside) for axis in zip(*inside)]
                points[row["code"]] = tuple(f"{value:.3f}" for value in mean)
    known = {row["code"]: row for row in rows if row["type"] == "commune-actuelle"}
    places = []
    names = {}
    for row in rows:
        kind = KINDS[row["type"]]
        parent = row.get("chefLieu") if kind in "DS" else row.get("commune") if kind == "A" else None
        postal = set(row.get("codesPostaux", ()))
        if kind in "CA":
            postal |= codes.get(row["code"], set()) if row["code"] not in {"75056", "69123", "13055"} else set()
        lat, lon = points.get(row["code"], ("", ""))
        names.setdefault(parent or row["code"], set()).add(fold(row["nom"]))
        places.append([row["code"], kind, row["nom"], parent or "", str(row.get("population", "")),
                       "|".join(sorted(postal)), lat, lon])
    listed = {place[0] for place in places}
    for row in rows:
        for code in row.get("anciensCodes", ()):
            if code not in listed and row["type"] == "commune-actuelle":
                listed.add(code)
                places.append([code, "F", "", row["code"], "", "", *points.get(code, ("", ""))])
    seen = set()
    for code, name, postal in old:
        if code in known and fold(name) not in names[code] and (code, name) not in seen:
            seen.add((code, name))
            every = sorted({other for insee, label, other in old if (insee, label) == (code, name)})
            places.append(["", "O", titled(name), code, "", "|".join(every), "", ""])
    # The postal codes of former communes.
    kept = {}
    for code, name, postal in old:
        kept.setdefault((code, fold(name)), set()).add(postal)
    for place in places:
        if place[1] in "DS":
            place[5] = "|".join(sorted(kept.get((place[3], fold(place[2])), ())))
    for place in places:
        if place[1] == "C" and place[5] and not place[6]:
            near = [other for other in places if other[5] == place[5] and other[6]]
            if near:
                place[6] = f"{sum(float(other[6]) for other in near) / len(near):.3f}"
                place[7] = f"{sum(float(other[7]) for other in near) / len(near):.3f}"
    places.sort(key=lambda place: (place[3] or place[0], "CADSOF".index(place[1]), place[0], place[2]))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["code", "kind", "name", "parent", "population", "postal_codes", "lat", "lon"])
    writer.writerows(places)
    with open(out, "wb") as file:
        file.write(gzip.compress(text.getvalue().encode(), 9, mtime=0))
    missing = [place[0] for place in places if place[1] in "CA" and not place[6]]
    print(f"{len(places):,} places; without a centre: {' '.join(missing) or 'none'}")


if __name__ == "__main__":
    main()
