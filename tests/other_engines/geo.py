"""Opens geodata written by toise with GeoPandas, and prints the results as one JSON object.

    geo.py FILE...
"""

import json
import sys

import geopandas

saw = {}
for path in sys.argv[1:]:
    kind = path.rsplit(".", 1)[1]
    read = geopandas.read_parquet if kind == "parquet" else geopandas.read_file
    frame = read(path)
    placed = frame[frame.geometry.notna()]
    saw[kind] = {
        "rows": len(frame),
        "placed": len(placed),
        "crs": frame.crs.to_string(),
        "columns": sorted(frame.columns),
        # Both are exact, because the geometry was made from these columns.
        "agrees": bool((placed.geometry.x == placed.lon).all() and (placed.geometry.y == placed.lat).all()),
    }
    if kind == "parquet":
        west, south, east, north = placed.total_bounds
        middle = (west, south, (west + east) / 2, (south + north) / 2)
        saw[kind]["in_a_box"] = len(geopandas.read_parquet(path, bbox=middle))
        saw[kind]["in_the_box"] = int(((placed.lon <= middle[2]) & (placed.lat <= middle[3])).sum())
print(json.dumps(saw))
