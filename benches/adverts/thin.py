#!/usr/bin/env python3
"""Measure thin adverts of Paris, and write the tables of the synthetic level `thin`.

    python3 thin.py OUT/paris.ndjson SALES.csv.gz DIAGNOSTICS.csv.gz > src/synth/adverts/thin/measured.rs

OUT/paris.ndjson is the output of paris.py. SALES is the geolocated DVF of Paris, 2020 to 2023. DIAGNOSTICS are energy
diagnostics of a department (Lozère) with the older column names. The tables contain counts and quantiles, but no
adverts.

It is not known which adverts are of the same home. Two measures are used instead:

- *Sure pairs* have the same price, not a multiple of 5,000, and the same surface with decimals, in the same
  arrondissement. Such pairs across arrondissements show how many of them are chance. Sure pairs show how often rooms,
  bedrooms, energy classes and districts of one home differ.
- *Excess* is the number of pairs in one district, minus the number expected from pairs across arrondissements. It
  shows how often prices and surfaces of one home differ, and how many adverts a home has.

Twins are sales of one address within 105 days with the same rooms and surface. Differences of their energy classes are
measured on flats of one house number whose surfaces differ by 1 to 15 %: with a smaller difference, most pairs are one
flat with two diagnostics.
"""

import collections
import csv
import datetime
import gzip
import itertools
import json
import math
import statistics
import subprocess
import sys

Counter = collections.Counter
BANDS = [20, 30, 40, 50, 60, 70, 80, 90, 100, 120, 150, 200]
PRICES = [500_000, 1_000_000]
# The second portal has mostly expensive homes, by price or by price per square metre.
PORTAL_PRICES = [400_000, 800_000, 850_000, 900_000, 950_000, 1_200_000, 1_600_000, 2_500_000]
DEAR_PER_M2 = 15_000
# Minimum number of adverts for a median.
CELL_MIN = 20
SURFACE_MAX, ROOMS_MAX = 300, 8
ENERGY = "ABCDEFG-"
WINDOW_DAYS = 105


def band(value, limits=BANDS):
    return sum(value >= limit for limit in limits)


def adverts(path):
    """Returns one row per URL, from its last sighting."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            one = json.loads(line)
            home, place = one["habitation"], one["location"]
            surface, rooms = home.get("surface", {}).get("total"), home.get("roomCount")
            commune = place.get("inseeCode", "")
            if one["type"] == "CLASS_FLAT" and surface and surface >= 6 and rooms and "75101" <= commune <= "75120":
                found[one["url"]] = {
                    "portal": one["source"], "price": round(one["currentPrice"]["value"]), "surface": surface,
                    "rooms": rooms, "bedrooms": home.get("bedroomCount"), "commune": commune,
                    "district": place.get("district"),
                    "energy": home.get("climate", {}).get("epcEnergy", "-")[-1]}
    return [one for one in found.values() if one["price"] > 50_000]


def pairs(rows, key):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    for group in groups.values():
        yield from itertools.combinations(group, 2)


def same(one, other, field):
    return one[field] is not None and one[field] == other[field]


def twins(path):
    """Returns the share of sales with a twin, and the differences of their prices by band."""
    sales = collections.defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["nature_mutation"] == "Vente" and row["type_local"] == "Appartement" and row["longitude"]:
                sales[row["id_mutation"]].append(row)
    homes = collections.defaultdict(list)
    for flats in sales.values():
        if len({(flat["lot1_numero"], flat["surface_reelle_bati"]) for flat in flats}) == 1:
            flat = flats[0]
            if flat["valeur_fonciere"] and float(flat["valeur_fonciere"]) > 30_000 and flat["surface_reelle_bati"]:
                where = flat["adresse_nom_voie"], flat["longitude"], flat["latitude"]
                plan = flat["surface_reelle_bati"], flat["nombre_pieces_principales"]
                day = datetime.date.fromisoformat(flat["date_mutation"]).toordinal()
                homes[where, plan].append((day, float(flat["valeur_fonciere"])))
    count, having, gaps = 0, 0, Counter()
    for group in homes.values():
        for rank, (day, price) in enumerate(group):
            near = [other for at, (when, other) in enumerate(group) if at != rank and abs(when - day) <= WINDOW_DAYS]
            count, having = count + 1, having + bool(near)
            gaps.update(band(abs(price - other) / max(price, other), [1e-9, 0.01, 0.04, 0.1, 0.2]) for other in near)
    return having / count, [gaps[gap] for gap in range(6)]


def twin_energy(path):
    """Counts pairs of flats of one house number by the difference of their energy classes: 0, 1, 2 or more."""
    flats = collections.defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            number, surface = row["Identifiant__BAN"], row["Surface_habitable_logement"]
            if row["Type_bâtiment"] == "appartement" and number.count("_") >= 2 and surface:
                flats[number].append((float(surface), row["Etiquette_DPE"]))
    gaps = Counter(min(2, abs(ord(one[1]) - ord(other[1]))) for group in flats.values()
                   for one, other in itertools.combinations(group, 2)
                   if 0.01 < abs(one[0] - other[0]) / max(one[0], other[0]) <= 0.15)
    return [gaps[gap] for gap in range(3)]


def quantiles(values, count=20):
    """Returns quantiles. The first and the last omit the outermost half percent, which are mistakes."""
    values = sorted(values)
    shares = [min(0.995, max(0.005, rank / count)) for rank in range(count + 1)]
    return [values[round(share * (len(values) - 1))] for share in shares]


def copies(rows):
    """How adverts of one home differ: shares by field, and the mean number of pairs per advert."""
    odd = [row for row in rows if row["price"] % 5_000 and row["surface"] % 1]
    sure = [two for two in pairs(odd, lambda row: (row["price"], row["surface"], row["commune"]))]
    everywhere = sum(1 for _ in pairs(odd, lambda row: (row["price"], row["surface"])))
    accidents = (everywhere - len(sure)) / 14
    differ = {field: sum(not same(*two, field) and None not in (two[0][field], two[1][field]) for two in sure)
              for field in ("rooms", "bedrooms", "district")}
    known = {field: sum(None not in (one[field], other[field]) for one, other in sure) for field in differ}
    shares = {field: max(0, differ[field] - (accidents if field == "district" else 0)) / known[field] for field in differ}
    lone = {field: sum((one[field] is None) != (other[field] is None) for one, other in sure) / len(sure)
            for field in ("bedrooms", "district")}
    classes = [(one["energy"], other["energy"]) for one, other in sure]
    both = [abs(ord(one) - ord(other)) for one, other in classes if "-" not in (one, other)]
    shares["energy"] = sum(gap > 0 for gap in both) / len(both)
    lone["energy"] = sum((one == "-") != (other == "-") for one, other in classes) / len(sure)

    def excess(chosen, key, kind):
        """Counts pairs of one district by kind, minus those expected from pairs across arrondissements."""
        near, far = Counter(), Counter()
        for one, other in pairs(chosen, key):
            if one["commune"] != other["commune"]:
                far[kind(one, other)] += 1
            elif same(one, other, "district"):
                near[kind(one, other)] += 1
        accident = near[None] / far[None]
        return {name: max(0.0, near[name] - accident * far[name]) for name in near if name is not None}

    def price_gap(one, other):
        gap = abs(one["price"] - other["price"]) / max(one["price"], other["price"])
        return band(gap, [1e-9, 0.01, 0.02, 0.04, 0.07, 0.1]) if gap <= 0.1 else None if gap <= 0.2 else "far"

    def surface_gap(one, other):
        less, more = sorted((one["surface"], other["surface"]))
        if less == more:
            return "decimals" if less % 1 else "whole"
        if (less % 1 == 0 or more % 1 == 0) and more - less < 1:
            return "rounded"
        return "measured" if more - less <= 0.03 * more else None if more - less <= 0.08 * more else "far"

    prices = excess([row for row in rows if row["surface"] % 1], lambda row: (row["surface"], row["rooms"]), price_gap)
    prices = [prices.get(rank, 0) for rank in range(6)]
    surfaces = excess([row for row in rows if row["price"] % 5_000], lambda row: (row["price"], row["rooms"]), surface_gap)
    whole, decimals, rounded, measured = (surfaces[kind] for kind in ("whole", "decimals", "rounded", "measured"))
    # Half of the pairs with one rounded surface start from the whole number, half from the one with decimals.
    with_decimals = (decimals + rounded / 2) / (whole + decimals + rounded)
    surfaces = [[whole, rounded / 2, measured * (1 - with_decimals)], [decimals, rounded / 2, measured * with_decimals]]
    surfaces_equal = (whole + decimals) / (whole + decimals + rounded + measured)
    # The number of pairs of one home that agree in price, surface and rooms, to be divided by their share of all such
    # pairs.
    chosen = [row for row in rows if row["district"]]
    alike = Counter("same" if one["district"] == other["district"] else "other" if one["commune"] == other["commune"] else
                    None for one, other in pairs(chosen, lambda row: (row["price"], row["surface"], row["rooms"])))
    all_pairs = Counter("same" if one["district"] == other["district"] else "other"
                        for one, other in pairs(chosen, lambda row: row["commune"]))
    moved = shares["district"]
    # With a pairs by chance across districts and c pairs of one home, other = a + moved * c and
    # same = a * ratio + (1 - moved) * c.
    ratio = all_pairs["same"] / all_pairs["other"]
    found = (alike["same"] - ratio * alike["other"]) / (1 - moved - ratio * moved)
    equal = (1 - shares["rooms"]) * prices[0] / sum(prices) * surfaces_equal
    return shares, lone, prices, surfaces, found / equal / len(chosen), len(sure), accidents


def main():
    rows = adverts(sys.argv[1])
    twin_share, twin_gaps = twins(sys.argv[2])
    twin_classes = twin_energy(sys.argv[3])
    shares, lone, prices, surfaces, pairs_per_advert, sure, accidents = copies(rows)
    communes = sorted({row["commune"] for row in rows})
    per_m2 = lambda row: math.log(row["price"] / row["surface"])
    overall = {commune: statistics.median(per_m2(row) for row in rows if row["commune"] == commune) for commune in communes}
    offset = [statistics.median(per_m2(row) - overall[row["commune"]] for row in rows if band(row["surface"]) == rank)
              for rank in range(len(BANDS) + 1)]
    cells = collections.defaultdict(list)
    for row in rows:
        cells[row["commune"], band(row["surface"])].append(per_m2(row))
    level = {(commune, rank): statistics.median(cells[commune, rank]) if len(cells[commune, rank]) >= CELL_MIN else
             overall[commune] + offset[rank] for commune in communes for rank in range(len(BANDS) + 1)}
    districts = collections.defaultdict(list)
    for row in rows:
        districts[row["commune"], row["district"]].append(per_m2(row) - level[row["commune"], band(row["surface"])])
    factor = {key: statistics.median(of) if len(of) >= CELL_MIN else 0.0 for key, of in districts.items()}
    rest = collections.defaultdict(list)
    for row in rows:
        rank = band(row["surface"])
        rest[rank].append(per_m2(row) - level[row["commune"], rank] - factor[row["commune"], row["district"]])
    out = ["//! Tables of thin adverts, written by `benches/adverts/thin.py`, whose head says how each was measured.", "//!",
           f"//! Source: {len(rows):,} adverts of flats in Paris of two portals of one group (SeLoger, Belles Demeures), December",
           "//! 2025, from the public repository that `benches/adverts/paris.py` names; sales of Paris, 2020 to 2023 (DVF);",
           "//! energy diagnostics of Lozère (ADEME).",
           f"//! {sure} sure pairs, of which {accidents:.0f} are expected by accident.", ""]

    def table(name, about, kind, value):
        out.extend([f"/// {about}", f"pub(super) const {name}: {kind} = {value};"])

    def rows_of(matrix):
        return "[" + ", ".join("[" + ", ".join(f"{cell}" for cell in line) + "]" for line in matrix) + "]"

    def count(values, key):
        counted = Counter(values)
        return [counted[one] for one in key]

    bands = range(len(BANDS) + 1)
    floats = lambda values: "[" + ", ".join(f"{value:.3f}" for value in values) + "]"
    table("BANDS_M2", "Upper bounds of the bands of surface, square metres; a last band has none.",
          f"[u32; {len(BANDS)}]", BANDS)
    table("ADVERTS", "Adverts by arrondissement and band of surface.", f"[[u16; {len(BANDS) + 1}]; {len(communes)}]",
          rows_of(count([band(row["surface"]) for row in rows if row["commune"] == commune], bands) for commune in communes))
    table("LEVELS", "Median price by arrondissement and band of surface, EUR per square metre.",
          f"[[u16; {len(BANDS) + 1}]; {len(communes)}]",
          rows_of([round(math.exp(level[commune, rank])) for rank in bands] for commune in communes))
    table("RESIDUALS", "Quantiles of the rest of the logarithm of the price per square metre, every twentieth, by band.",
          f"[[f64; 21]; {len(BANDS) + 1}]", "[" + ", ".join(floats(quantiles(rest[rank])) for rank in bands) + "]")
    named = [[(len(districts[key]), round(1000 * factor[key])) for key in sorted(districts, key=str)
              if key[0] == commune and key[1] and len(districts[key]) >= 5] for commune in communes]
    table("DISTRICTS", "Districts by arrondissement: adverts, and what they add to the logarithm of the price, in thousandths.",
          f"[&[(u16, i16)]; {len(communes)}]", "[" + ", ".join(f"&{one}" for one in named) + "]")
    table("SURFACES", "Adverts by surface without decimals, square metres from 0; those above the last count as the last.",
          f"[u16; {SURFACE_MAX + 1}]", count([min(SURFACE_MAX, int(row["surface"])) for row in rows], range(SURFACE_MAX + 1)))
    table("WITH_DECIMALS", "Share of surfaces with a decimal, by band.", f"[f64; {len(BANDS) + 1}]",
          floats(statistics.mean(row["surface"] % 1 > 0 for row in rows if band(row["surface"]) == rank) for rank in bands))
    table("ROOMS", "Rooms from one, by band of surface.", f"[[u16; {ROOMS_MAX}]; {len(BANDS) + 1}]", rows_of(
        count([min(ROOMS_MAX, row["rooms"]) for row in rows if band(row["surface"]) == rank], range(1, ROOMS_MAX + 1))
        for rank in bands))
    table("BEDROOMS", "Bedrooms from none, the last for unknown, by rooms from one.", f"[[u16; {ROOMS_MAX + 1}]; {ROOMS_MAX}]",
          rows_of(count([min(ROOMS_MAX - 1, row["bedrooms"]) if row["bedrooms"] is not None else None for row in rows
                         if min(ROOMS_MAX, row["rooms"]) == rooms], [*range(ROOMS_MAX), None])
                  for rooms in range(1, ROOMS_MAX + 1)))
    table("ENERGY", "Energy classes A to G, the last for unknown, by band of surface.", f"[[u16; 8]; {len(BANDS) + 1}]",
          rows_of(count([row["energy"] for row in rows if band(row["surface"]) == rank], ENERGY) for rank in bands))
    table("PRICE_CLASSES_EUR", "Bounds of the classes of price below, EUR.", f"[u32; {len(PRICES)}]", PRICES)
    by_class = [[row["price"] for row in rows if band(row["price"], PRICES) == rank] for rank in range(len(PRICES) + 1)]
    table("ENDINGS", "Prices in whole thousands by their last two digits of thousands, by class of price.",
          f"[[u16; 100]; {len(PRICES) + 1}]",
          rows_of(count([price // 1_000 % 100 for price in of if price % 1_000 == 0], range(100)) for of in by_class))
    steps = lambda price: next(rank for rank, step in enumerate((1_000, 500, 100, 10, 1)) if price % step == 0)
    table("STEPS", "Prices that are multiples of 1,000, 500, 100, 10 and 1 EUR and of nothing coarser, by class of price.",
          f"[[u16; 5]; {len(PRICES) + 1}]", rows_of(count(map(steps, of), range(5)) for of in by_class))
    table("PORTAL_CLASSES_EUR", "Bounds of the classes of price of the next table, EUR.",
          f"[u32; {len(PORTAL_PRICES)}]", PORTAL_PRICES)
    def first_portal(is_dear, rank):
        seen = [row["portal"] == "seloger.com" for row in rows if band(row["price"], PORTAL_PRICES) == rank
                and (row["price"] >= DEAR_PER_M2 * row["surface"]) == is_dear]
        return statistics.mean(seen) if seen else 1.0

    table("DEAR_PER_M2", "Price from which a home counts as dear in the next table, EUR per square metre.", "f64",
          f"{DEAR_PER_M2:.1f}")
    table("FIRST_PORTAL", "Share of adverts of the first portal, SeLoger, of other and of dear homes.",
          f"[[f64; {len(PORTAL_PRICES) + 1}]; 2]", "[" + ", ".join(
              floats(first_portal(is_dear, rank) for rank in range(len(PORTAL_PRICES) + 1)) for is_dear in (False, True)) + "]")
    table("DISTRICT_UNKNOWN", "Share of adverts without a district.", "f64",
          f"{statistics.mean(not row['district'] for row in rows):.3f}")
    table("PAIRS_PER_ADVERT", "Pairs of adverts of one home, per advert.", "f64", f"{pairs_per_advert:.3f}")
    table("COPY_PRICES", "Copies by how far their prices are apart: equal, within 1, 2, 4, 7 and 10 %.", "[f64; 6]",
          floats(value / sum(prices) for value in prices))
    table("COPY_SURFACES", "Copies of a whole surface, and of one with decimals: equal, rounded on one side, measured "
          "again within 3 %.", "[[f64; 3]; 2]",
          "[" + ", ".join(floats(value / sum(line) for value in line) for line in surfaces) + "]")
    for field, about in (("rooms", "other rooms"), ("bedrooms", "other bedrooms"), ("district", "another district"),
                         ("energy", "another energy class")):
        table(f"COPY_{field.upper()}", f"Share of copies with {about}, where both are known.", "f64", f"{shares[field]:.3f}")
    for field in lone:
        table(f"COPY_{field.upper()}_LONE", f"Share of copies of which only one shows the {field}.", "f64", f"{lone[field]:.3f}")
    table("TWINS", "Share of homes with another of the building on the market, of equal rooms and surface.", "f64",
          f"{twin_share:.3f}")
    table("TWIN_PRICES", "Such homes by how far their prices are apart: equal, within 1, 4, 10, 20 % and farther.", "[f64; 6]",
          floats(value / sum(twin_gaps) for value in twin_gaps))
    table("TWIN_ENERGY", "Such homes by how far their energy classes are apart: 0, 1, 2 or more.", "[f64; 3]",
          floats(value / sum(twin_classes) for value in twin_classes))
    rustfmt = ["rustfmt", "--edition", "2024", "--config", "max_width=120,use_small_heuristics=Max"]
    print(subprocess.run(rustfmt, input="\n".join(out), text=True, check=True, capture_output=True).stdout, end="")


if __name__ == "__main__":
    main()
