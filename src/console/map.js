/** The map: tiles of a dataset over the outlines of departments and communes, or over the base map that the settings name. */

import * as maplibre from "./vendor/maplibre-gl.mjs";
import { html, useEffect, useRef, useTheme } from "./parts.js";
import { Refusal, call, who } from "./api.js";
import { number, word } from "./language.js";

const FRANCE = [[-5.2, 41.3], [9.6, 51.1]];
/** Colours of a figure from low to high, readable in both themes and by the colour-blind (viridis). */
const RAMP = ["#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"];
const STEPS = {
  price_per_m2: [1500, 2500, 4000, 7000, 11000],
  poor_share: [5, 10, 20, 35, 50],
  over_sold: [-10, 0, 10, 20, 35],
  energy: [1, 2.5, 4, 5.5, 7],
};
const UNITS = { price_per_m2: " €", poor_share: " %", over_sold: " %" };
/** Layers of the data, below the outlines' lines or above them. */
const DATA_LAYERS = ["points", "hexagons", "areas"];
const BELOW = "commune-lines";

const coloured = (figure) => [
  "case", ["has", figure],
  ["interpolate", ["linear"], ["get", figure], ...STEPS[figure].flatMap((step, nth) => [step, RAMP[nth]])],
  "#888",
];

/** Figures of a dataset that colour areas, the usual one first. */
export const figuresOf = (dataset, by) =>
  dataset === "dpe" ? ["poor_share"] : dataset === "properties" && by === "areas" ? ["price_per_m2", "over_sold"] : ["price_per_m2"];

/** The layers of a tile set; `by` is `hexagons` or `areas`, `figure` what colours them. */
function layers(set, by, figure) {
  const fields = set.vector_layers.find((layer) => layer.id === "points").fields;
  const ofPoint = Object.keys(fields).find((name) => name in STEPS);
  return [
    {
      id: by, type: "fill", source: "data", "source-layer": by,
      paint: { "fill-color": coloured(figure), "fill-opacity": 0.65 },
    },
    {
      id: "points", type: "circle", source: "data", "source-layer": "points",
      paint: {
        "circle-color": coloured(ofPoint), "circle-stroke-color": "#fff", "circle-stroke-width": 1,
        "circle-radius": ["interpolate", ["linear"], ["zoom"], 14, 4, 18, 9],
      },
    },
  ];
}

/** Paint of the base map in the page's colours. */
function basePaint() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  return {
    sea: { "background-color": colour("--sea") },
    land: { "fill-color": colour("--land") },
    "commune-lines": { "line-color": colour("--border"), "line-width": 0.6 },
    "department-lines": { "line-color": colour("--border"), "line-width": ["interpolate", ["linear"], ["zoom"], 4, 0.6, 9, 1.8] },
    "commune-labels": { "text-color": colour("--text"), "text-halo-color": colour("--land"), "text-halo-width": 1.4 },
    "department-labels": { "text-color": colour("--quiet"), "text-halo-color": colour("--land"), "text-halo-width": 1.4 },
  };
}

/** The style of the base map: outlines, and below them the map of another service, if the settings name one. */
function baseStyle(outlines, raster) {
  const paint = basePaint();
  const label = (kind, size, zooms) => ({
    id: `${kind}-labels`, type: "symbol", source: "outlines", "source-layer": "labels", ...zooms,
    filter: ["==", ["get", "kind"], kind], paint: paint[`${kind}-labels`],
    // Without glyphs in the style, MapLibre draws letters from the fonts of the system.
    layout: {
      "text-field": ["get", "name"], "text-font": ["sans-serif"], "text-size": size, "text-max-width": 8,
      "symbol-sort-key": ["-", 0, ["get", "population"]],
    },
  });
  const line = (id, source, minzoom) => ({ id, type: "line", source: "outlines", "source-layer": source, minzoom, paint: paint[id] });
  return {
    version: 8,
    sources: {
      outlines: { type: "vector", tiles: outlines.tiles.map((path) => location.origin + path), maxzoom: outlines.maxzoom, attribution: outlines.attribution },
      ...(raster && { base: { type: "raster", tiles: [raster.address], tileSize: 256 } }),
    },
    layers: [
      { id: "sea", type: "background", paint: paint.sea },
      ...(raster ? [{ id: "base", type: "raster", source: "base" }]
        : [{ id: "land", type: "fill", source: "outlines", "source-layer": "departments", paint: paint.land }]),
      line("commune-lines", "communes", 8),
      line("department-lines", "departments", 0),
      ...(raster ? [] : [label("commune", ["interpolate", ["linear"], ["zoom"], 5, 11, 12, 14], {}), label("department", 12, { minzoom: 6, maxzoom: 9 })]),
    ],
  };
}

const isTiles = (address) => address.includes("{z}");
const escaped = (text) => text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);

/** A map in an element, once the outlines are known; a base map by style has the data alone over it. */
async function makeMap(container, view) {
  const base = who()?.base_map;
  const outlines = await call("GET", "/v2/protected/tiles/outlines", undefined, { isQuiet: true });
  const isStyle = base && !isTiles(base.address);
  const made = new maplibre.Map({
    container, attributionControl: false, maxZoom: 18, style: isStyle ? base.address : baseStyle(outlines, base),
    ...(view ? { center: [view.lon, view.lat], zoom: view.zoom } : { bounds: FRANCE }),
  });
  made.addControl(new maplibre.NavigationControl({ showCompass: false }));
  made.addControl(new maplibre.ScaleControl());
  made.addControl(new maplibre.AttributionControl({ compact: true, customAttribution: base && escaped(base.attribution) }));
  made.getCanvas().setAttribute("aria-label", word("map"));
  // The data do not wait for the base map's tiles; a style that does not come is replaced by the outlines.
  await new Promise((resolve) => {
    made.once("style.load", resolve);
    if (isStyle) made.once("error", () => made.style?.loaded() || made.setStyle(baseStyle(outlines)));
  });
  return made;
}

/** A map that the service refuses stays empty; the screen beside it says why. */
const absent = (error) => {
  if (!(error instanceof Refusal)) throw error;
  return null;
};

/**
 * `dataset` and `filters` choose the tiles, `by` and `figure` how they are gathered and coloured; `onMove` is told the
 * centre and zoom; `onPick` the position and the identifier, if a point was hit, or what is known of an area; `marks` are
 * positions `[lon, lat]` to show, the first of them larger, all in view if `isFitted`; `isReady` is false while filters are not known yet.
 */
export function MapView({ dataset, filters, by = "hexagons", figure, view, onMove, onPick, marks, isFitted = false, isReady = true }) {
  const place = useRef(null);
  const map = useRef(null);
  const handlers = useRef({});
  const theme = useTheme();
  handlers.current = { onMove, onPick };
  useEffect(() => {
    let isWanted = true;
    map.current = makeMap(place.current, view).then((made) => {
      if (!isWanted) {
        made.remove();
        return null;
      }
      made.on("moveend", () => {
        // A map that is being left still moves.
        const { lng, lat } = made.getCenter();
        if (isWanted) handlers.current.onMove?.({ lon: lng, lat, zoom: made.getZoom() });
      });
      made.on("click", (event) => {
        const known = ["points", "areas"].filter((id) => made.getLayer(id));
        const [hit] = known.length ? made.queryRenderedFeatures(event.point, { layers: known }) : [];
        handlers.current.onPick?.({ lon: event.lngLat.lng, lat: event.lngLat.lat, id: hit?.properties.id, area: hit?.properties.code && hit.properties });
      });
      return made;
    }).catch(absent);
    const pending = map.current;
    return () => {
      isWanted = false;
      pending.then((made) => made?.remove());
    };
  }, []);
  // An address may lead elsewhere; one that the map wrote itself is rounded.
  useEffect(() => {
    map.current.then((made) => {
      if (!made || !view) return;
      const { lng, lat } = made.getCenter();
      const isThere = Math.abs(lng - view.lon) < 1e-4 && Math.abs(lat - view.lat) < 1e-4 && Math.abs(made.getZoom() - view.zoom) < 0.02;
      if (!isThere && !isFitted) made.jumpTo({ center: [view.lon, view.lat], zoom: view.zoom });
    });
  }, [view?.lon, view?.lat, view?.zoom]);
  useEffect(() => {
    if (!dataset || !isReady) return undefined;
    let isWanted = true;
    const chosen = figure ?? figuresOf(dataset, by)[0];
    Promise.all([call("GET", `/v2/protected/tiles/${dataset}`, undefined, { isQuiet: true }), map.current]).then(([set, made]) => {
      if (!isWanted || !made) return;
      for (const id of DATA_LAYERS) if (made.getLayer(id)) made.removeLayer(id);
      if (made.getSource("data")) made.removeSource("data");
      const more = `&by=${by}${filters ? `&filters=${encodeURIComponent(JSON.stringify(filters))}` : ""}`;
      const tiles = set.tiles.map((path) => location.origin + path + more);
      made.addSource("data", { type: "vector", tiles, minzoom: set.minzoom, maxzoom: set.maxzoom });
      const [fill, points] = layers(set, by, chosen);
      made.addLayer(fill, made.getLayer(BELOW) ? BELOW : undefined);
      made.addLayer(points, made.getLayer("commune-labels") ? "commune-labels" : undefined);
    }).catch(absent);
    return () => {
      isWanted = false;
    };
  }, [dataset, JSON.stringify(filters), by, figure, isReady]);
  useEffect(() => {
    map.current.then((made) => {
      for (const [id, paint] of Object.entries(basePaint())) {
        if (made?.getLayer(id)) for (const [name, value] of Object.entries(paint)) made.setPaintProperty(id, name, value);
      }
    });
  }, [theme]);
  useEffect(() => {
    let shown = [];
    let isWanted = true;
    let fit = null;
    const paper = matchMedia("print");
    map.current.then((made) => {
      if (!isWanted || !made) return;
      shown = (marks ?? []).map((at, nth) => new maplibre.Marker({ scale: nth ? 0.6 : 1, color: nth ? "#9a3412" : "#0b5cad" }).setLngLat(at).addTo(made));
      for (const mark of shown) mark.getElement().setAttribute("aria-hidden", "true");
      const around = new maplibre.LngLatBounds();
      for (const at of marks ?? []) around.extend(at);
      fit = () => {
        made.resize();
        if (isFitted && shown.length > 1) made.fitBounds(around, { padding: 50, maxZoom: 15, animate: false });
      };
      fit();
      // On paper the map has another shape.
      paper.addEventListener("change", fit);
    });
    return () => {
      isWanted = false;
      paper.removeEventListener("change", fit);
      shown.forEach((mark) => mark.remove());
    };
  }, [JSON.stringify(marks)]);
  return html`<div class="map" ref=${place} role="region" aria-label=${word("map")}></div>`;
}

/** What the colours mean. */
export function Legend({ figure }) {
  return html`<figure class="legend"><figcaption>${word(`figure.${figure}`)}</figcaption>${STEPS[figure].map((step, nth) => html`<span>
    <svg width="14" height="14" aria-hidden="true"><rect width="14" height="14" fill=${RAMP[nth]}></rect></svg> ${number(step)}${UNITS[figure]}</span>`)}</figure>`;
}
