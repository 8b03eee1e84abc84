/** The map: tiles of a dataset over a plain background, or over the base map that the settings name. */

import * as maplibre from "./vendor/maplibre-gl.mjs";
import { html, useEffect, useRef } from "./parts.js";
import { call } from "./api.js";
import { word } from "./language.js";

const FRANCE = [[-5.2, 41.3], [9.6, 51.1]];
/** Colours of a figure from low to high, readable in both themes and by the colour-blind (viridis). */
const RAMP = ["#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"];
const STEPS = {
  price_per_m2: [1500, 2500, 4000, 7000, 11000],
  poor_share: [5, 10, 20, 35, 50],
  energy: [1, 2.5, 4, 5.5, 7],
};

const coloured = (figure) => [
  "case", ["has", figure],
  ["interpolate", ["linear"], ["get", figure], ...STEPS[figure].flatMap((step, nth) => [step, RAMP[nth]])],
  "#888",
];

/** The layers of a tile set. */
function layers(set) {
  const figureOf = (id) => {
    const fields = set.vector_layers.find((layer) => layer.id === id).fields;
    return Object.keys(fields).find((name) => name in STEPS);
  };
  return [
    {
      id: "hexagons", type: "fill", source: "data", "source-layer": "hexagons",
      paint: { "fill-color": coloured(figureOf("hexagons")), "fill-opacity": 0.65 },
    },
    {
      id: "points", type: "circle", source: "data", "source-layer": "points",
      paint: {
        "circle-color": coloured(figureOf("points")), "circle-stroke-color": "#fff", "circle-stroke-width": 1,
        "circle-radius": ["interpolate", ["linear"], ["zoom"], 14, 4, 18, 9],
      },
    },
  ];
}

/**
 * `dataset` and `filters` choose the tiles; `onMove` is told the centre and zoom; `onPick` the position and the identifier,
 * if a point was hit; `marks` are positions `[lon, lat]` to show.
 */
export function MapView({ dataset, filters, view, onMove, onPick, marks }) {
  const place = useRef(null);
  const map = useRef(null);
  const handlers = useRef({});
  handlers.current = { onMove, onPick };
  useEffect(() => {
    const made = new maplibre.Map({
      container: place.current, attributionControl: false, maxZoom: 18,
      style: { version: 8, sources: {}, layers: [{ id: "ground", type: "background", paint: { "background-color": "#8883" } }] },
      ...(view ? { center: [view.lon, view.lat], zoom: view.zoom } : { bounds: FRANCE }),
    });
    made.addControl(new maplibre.NavigationControl({ showCompass: false }));
    made.addControl(new maplibre.ScaleControl());
    made.on("moveend", () => {
      const { lng, lat } = made.getCenter();
      handlers.current.onMove?.({ lon: lng, lat, zoom: made.getZoom() });
    });
    made.on("click", (event) => {
      const [hit] = made.getLayer("points") ? made.queryRenderedFeatures(event.point, { layers: ["points"] }) : [];
      handlers.current.onPick?.({ lon: event.lngLat.lng, lat: event.lngLat.lat, id: hit?.properties.id });
    });
    map.current = made;
    return () => made.remove();
  }, []);
  useEffect(() => {
    if (!dataset) return undefined;
    let isWanted = true;
    call("GET", `/v2/protected/tiles/${dataset}`, undefined, { isQuiet: true }).then((set) => {
      const show = () => {
        if (!isWanted) return;
        for (const id of ["points", "hexagons"]) if (map.current.getLayer(id)) map.current.removeLayer(id);
        if (map.current.getSource("data")) map.current.removeSource("data");
        const more = filters ? `&filters=${encodeURIComponent(JSON.stringify(filters))}` : "";
        const tiles = set.tiles.map((path) => location.origin + path + more);
        map.current.addSource("data", { type: "vector", tiles, minzoom: set.minzoom, maxzoom: set.maxzoom });
        for (const layer of layers(set)) map.current.addLayer(layer);
      };
      if (map.current.isStyleLoaded()) show();
      else map.current.once("load", show);
    });
    return () => {
      isWanted = false;
    };
  }, [dataset, JSON.stringify(filters)]);
  useEffect(() => {
    const shown = (marks ?? []).map((at) => new maplibre.Marker().setLngLat(at).addTo(map.current));
    return () => shown.forEach((mark) => mark.remove());
  }, [JSON.stringify(marks)]);
  return html`<div class="map" ref=${place} role="region" aria-label=${word("map")}></div>`;
}

/** What the colours mean. */
export function Legend({ dataset }) {
  const figure = dataset === "dpe" ? "poor_share" : "price_per_m2";
  const unit = dataset === "dpe" ? " %" : " €";
  const title = dataset === "dpe" ? word("legendEnergy") : word("legend");
  return html`<figure class="legend"><figcaption>${title}</figcaption>${STEPS[figure].map((step, nth) => html`<span>
    <svg width="14" height="14" aria-hidden="true"><rect width="14" height="14" fill=${RAMP[nth]}></rect></svg> ${step}${unit}</span>`)}</figure>`;
}
