#!/usr/bin/env python3
"""Builds data/contours_1.bin.gz and data/contours_2.bin.gz from the simplified contours named in data/README.md.

Usage: data/contours.py CONTOURS.geojson.gz FOLDER

Borders are split into arcs that two communes share, simplified to TOLERANCE_M (Douglas-Peucker), and written once. All
numbers are LEB128 varints; signed ones are zigzag-coded:

    "TCT1"  arcs  { points  { x  y } }  communes  { code[5]  rings  { references  { reference } } }

x and y are longitude and latitude in 1/SCALE degrees, stored as differences from the previous point (for the first
point of an arc, from the last point of the previous arc). A reference is twice the number of the arc, plus one if the
ring follows it backwards, stored as the difference from the previous reference. Each file is complete; the first one
contains the first half of the communes.
"""

import collections
import gzip
import json
import math
import sys

SCALE = 5_000
TOLERANCE_M = 100.0
METRES_PER_DEGREE = 111_320


def rings_of(features):
    """Yields the feature and the points of each ring, on the grid, without repeated points."""
    for number, feature in enumerate(features):
        shape = feature["geometry"]["coordinates"]
        for polygon in [shape] if feature["geometry"]["type"] == "Polygon" else shape:
            for ring in polygon:
                points = [(round(x * SCALE), round(y * SCALE)) for x, y, *_ in ring]
                points = [point for at, point in enumerate(points) if at == 0 or point != points[at - 1]]
                if points[0] == points[-1]:
                    points.pop()
                if len(points) >= 3:
                    yield number, points


def simplified(points):
    """Simplifies a line by Douglas-Peucker, with distances in metres."""
    scale_y = METRES_PER_DEGREE / SCALE
    scale_x = scale_y * math.cos(math.radians(points[0][1] / SCALE))
    plane = [(x * scale_x, y * scale_y) for x, y in points]
    kept = {0, len(points) - 1}
    spans = [(0, len(points) - 1)]
    while spans:
        first, last = spans.pop()
        (ax, ay), (bx, by) = plane[first], plane[last]
        dx, dy = bx - ax, by - ay
        length = dx * dx + dy * dy
        farthest, at = TOLERANCE_M, None
        for index in range(first + 1, last):
            x, y = plane[index][0] - ax, plane[index][1] - ay
            share = 0 if length == 0 else max(0, min(1, (x * dx + y * dy) / length))
            distance = math.hypot(x - share * dx, y - share * dy)
            if distance > farthest:
                farthest, at = distance, index
        if at is not None:
            kept.add(at)
            spans += [(first, at), (at, last)]
    return [points[index] for index in sorted(kept)]


def varint(number, out):
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)


def zigzag(number):
    return number << 1 if number >= 0 else (-number << 1) - 1


def packed(features):
    rings = list(rings_of(features))
    neighbours = collections.defaultdict(set)
    for _, points in rings:
        for at, point in enumerate(points):
            neighbours[point].update((points[at - 1], points[(at + 1) % len(points)]))
    nodes = {point for point, others in neighbours.items() if len(others) != 2}
    arcs, numbers = [], {}

    def reference(points):
        forward, backward = tuple(points), tuple(reversed(points))
        if backward in numbers:
            return numbers[backward] * 2 + 1
        if forward not in numbers:
            numbers[forward] = len(arcs)
            arcs.append(points)
        return numbers[forward] * 2

    shapes = [[] for _ in features]
    for number, points in rings:
        cuts = [at for at, point in enumerate(points) if point in nodes]
        if not cuts:
            # An island is cut in two, so that it keeps an area when it is simplified.
            first = min(range(len(points)), key=lambda at: points[at])
            points = points[first:] + points[:first]
            distance = lambda at: (points[at][0] - points[0][0]) ** 2 + (points[at][1] - points[0][1]) ** 2
            cuts = [0, max(range(len(points)), key=distance)]
        else:
            first = cuts[0]
            points = points[first:] + points[:first]
            cuts = [at - first for at in cuts]
        closed = points + points[:1]
        ends = cuts[1:] + [len(points)]
        shapes[number].append([reference(closed[a : b + 1]) for a, b in zip(cuts, ends)])
    out = bytearray(b"TCT1")
    varint(len(arcs), out)
    x = y = 0
    for arc in map(simplified, arcs):
        varint(len(arc), out)
        for px, py in arc:
            varint(zigzag(px - x), out)
            varint(zigzag(py - y), out)
            x, y = px, py
    varint(len(features), out)
    before = 0
    for feature, shape in zip(features, shapes):
        out += feature["properties"]["code"].encode()
        varint(len(shape), out)
        for references in shape:
            varint(len(references), out)
            for one in references:
                varint(zigzag(one - before), out)
                before = one
    return gzip.compress(bytes(out), 9, mtime=0)


def main():
    source, folder = sys.argv[1:3]
    features = json.load(gzip.open(source))["features"]
    features.sort(key=lambda feature: feature["properties"]["code"])
    half = len(features) // 2
    for number, part in enumerate((features[:half], features[half:]), 1):
        data = packed(part)
        with open(f"{folder}/contours_{number}.bin.gz", "wb") as out:
            out.write(data)
        print(f"contours_{number}.bin.gz: {len(part):,} communes, {len(data):,} bytes")


if __name__ == "__main__":
    main()
