/** The map: tiles of a dataset over the outlines of departments and communes, or over the base map in the settings. */

import * as maplibre from "./vendor/maplibre-gl.mjs";
import { call, may, who } from "./api.js";
import { SALES_MIN, addCompared, compare } from "./comparison.js";
import { positionsOf, useArea } from "./drawing.js";
import { featureLayers, showLayers } from "./featurelayers.js";
import { counted, euros, perM2, word } from "./language.js";
import { pictureOf } from "./mappicture.js";
import { STEPS, UNITS, basePaint, baseStyle, changePaint, dataLayers, figureText, figuresOf, pointFigure, rampOf, spotLayer, stepText, unknownColour } from "./mapstyle.js";
import { html, useEffect, useRef, useState } from "./parts.js";
import { applyStyles, useTheme } from "./theme.js";

applyStyles("vendor/maplibre-gl.css");

const FRANCE = [[-5.2, 41.3], [9.6, 51.1]];
/** Padding around what the map zooms to, pixels. */
const MARGIN = 32;
/** Padding around a pin, and for the controls at the edges. */
const PIN_MARGINS = { top: 48, right: 56, bottom: 72, left: MARGIN };
const ZOOM_MAX = 18;
/** An area that takes at least this share of the map's width is large enough. */
const SHARE_MIN = 0.05;
/** Layers of the data, below the outlines' lines or above them. */
const DATA_LAYERS = ["points", "hexagons", "areas", "earlier"];
const DATA_SOURCES = ["data", "earlier"];
const BELOW = "commune-lines";
/** Colour of the pin of a home. */
const PIN = "#d1432f";
const PLACES = ["commune-areas", "department-areas"];

const isTiles = (address) => address.includes("{z}");
const escaped = (text) => text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
const fit = (map, bounds, padding = Math.min(MARGIN, map.getContainer().clientWidth / 20), maxZoom = ZOOM_MAX) => map.fitBounds(bounds, { padding, maxZoom, animate: false });

/** Creates a map in an element, once the outlines are known. Over a base map with its own style, only the data are drawn. */
async function makeMap(container, view, inset) {
  const base = who()?.base_map;
  const outlines = await call("GET", "/v2/protected/tiles/outlines", undefined, { isQuiet: true });
  const isStyle = base && !isTiles(base.address);
  const made = new maplibre.Map({
    locale: {
      "Map.Title": word("map"), "Marker.Title": word("home"), "NavigationControl.ZoomIn": word("zoomIn"), "NavigationControl.ZoomOut": word("zoomOut"),
      "AttributionControl.ToggleAttribution": word("attribution"),
    },
    container, attributionControl: false, maxZoom: ZOOM_MAX, dragRotate: false, pitchWithRotate: false, style: isStyle ? base.address : baseStyle(outlines, base),
    ...(view && { center: [view.lon, view.lat], zoom: view.zoom }),
  });
  made.touchZoomRotate.disableRotation();
  if (inset) made.setPadding(inset);
  if (view) made.jumpTo({ center: [view.lon, view.lat], zoom: view.zoom });
  else fit(made, FRANCE);
  made.addControl(new maplibre.NavigationControl({ showCompass: false }), "top-right");
  made.addControl(new maplibre.ScaleControl(), "bottom-right");
  made.addControl(new maplibre.AttributionControl({ compact: true, customAttribution: base && escaped(base.attribution) }));
  // The data do not wait for the tiles of the base map. If its style cannot be loaded, the outlines replace it.
  await new Promise((resolve) => {
    made.once("style.load", resolve);
    if (isStyle) made.once("error", () => made.style?.loaded() || made.setStyle(baseStyle(outlines)));
  });
  return made;
}

/** Returns what is under a pixel: a point of the data or of the list, a feature of a layer, an area of the data, and the commune or
    department there. `names` are the names of the layers. */
function under(made, point, names) {
  const known = (ids) => ids.filter((id) => made.getLayer(id));
  const first = (ids) => {
    const found = known(ids).length ? made.queryRenderedFeatures(point, { layers: known(ids) })[0] : undefined;
    return found && { ...found.properties, ...found.state };
  };
  const around = [[point.x - 4, point.y - 4], [point.x + 4, point.y + 4]];
  const near = known(["spots", "points"]);
  const spot = near.length ? made.queryRenderedFeatures(around, { layers: near })[0]?.properties : undefined;
  const drawn = known(names.flatMap(featureLayers));
  const feature = drawn.length ? made.queryRenderedFeatures(around, { layers: drawn })[0]?.properties : undefined;
  return { spot, feature, area: first(["areas", "hexagons"]), place: first(PLACES) };
}

/** Returns the name and figures to show at the pointer; `ofPoint` is the figure of single points. */
function said({ spot, feature, area, place }, figure, ofPoint) {
  if (feature && !spot) return feature.layer;
  if (spot) return spot.label ?? (spot[ofPoint] ? figureText(ofPoint, spot[ofPoint]) : "");
  const shown = area?.[figure] !== undefined ? figureText(figure, area[figure]) : area && figure === "change" ? word("tooFewSales", { count: SALES_MIN }) : "";
  const prices = area?.before ? `${euros(area.before)} → ${perM2(area.price_per_m2)}` : "";
  const count = area?.count === undefined ? "" : counted("someResults", area.count);
  return [area?.name ?? place?.name, shown, prices, count].filter(Boolean).join(" · ");
}

/**
 * Returns what the colours on the screen stand for: the figure of single points if there are any, otherwise `figure`; and its values
 * with their numbers of rows, `[value, count]`.
 */
function figuresShown(made, by, figure, ofPoint) {
  const read = (id, name) => (made.getLayer(id) ? made.queryRenderedFeatures({ layers: [id] }) : [])
    .map(({ properties, state }) => ({ ...properties, ...state })).filter((one) => one[name] !== undefined).map((one) => [one[name], one.count ?? 1]);
  const points = read("points", ofPoint);
  return points.length > 0 ? { ofPoints: ofPoint, values: points } : { values: read(by, figure) };
}

const NO_LAYERS = [];
/** Digits of a degree in a box: about ten metres. */
const BOX_DIGITS = 4;

/**
 * `dataset` and `filters` choose the tiles, `by` and `figure` how they are aggregated and coloured. With `earlier`, the filters of an
 * earlier period, places are coloured by their change since then. Once the map has stopped moving, `onMove` receives centre and zoom,
 * and `onBox` the visible box as text. `onPick` receives the position, the zoom, the identifier of a clicked point, the feature of a
 * layer, and the commune or department there. `layers`, `{name, colour, data}`, are drawn over the data. `spots` are the results of a
 * list, `{id, at: [lon, lat], label, colour}`; `lit` is the identifier of the one to mark, `onLit` receives the one under the pointer.
 * `home` is the position of a pin. `isFitted` zooms to pin and spots. `inset` is the number of pixels at each side that panels cover.
 * `onFigures` receives what the colours on the screen stand for. `isReady` is false while the filters are not known. `outline` is an
 * area to show, as GeoJSON; the map zooms to it if it is not visible or too small. While `isDrawing`, clicks draw an area: `onDrawn`
 * receives its parameter, or null if there is none, and `onEndable` a function that finishes it. `handle` is a reference that receives
 * `save`, which returns the map as a picture with a legend, `{figure, title}`, and `flyTo`.
 */
export function MapView({ dataset, filters, earlier, by = "hexagons", figure, view, home, spots = [], lit, isFitted = false, isReady = true, inset, handle, outline, isDrawing = false, layers = NO_LAYERS, onDrawn, onEndable, onMove, onBox, onPick, onLit, onFigures }) {
  const place = useRef(null);
  const map = useRef(null);
  const handlers = useRef({});
  const fitted = useRef(null);
  const theme = useTheme();
  const [fault, setFault] = useState(null);
  const shown = figure ?? figuresOf(dataset, by)[0];
  handlers.current = { ...handlers.current, onMove, onBox, onPick, onLit, onFigures, onDrawn, onEndable, isDrawing, by, figure: shown };
  useEffect(() => {
    let isWanted = true;
    const tip = new maplibre.Popup({ closeButton: false, closeOnClick: false, className: "tip", offset: 12 });
    map.current = makeMap(place.current, view, inset).then((made) => {
      if (!isWanted) {
        made.remove();
        return null;
      }
      made.on("moveend", ({ isOfAddress }) => {
        // A move that the URL requested is not written back to it: the URL may have changed by now, and both would follow each
        // other forever. A move that the URL interrupted is not written either.
        if (isOfAddress || handlers.current.isLed) return;
        // A map that is being removed may still move.
        const { lng, lat } = made.getCenter();
        if (isWanted) handlers.current.onMove?.({ lon: lng, lat, zoom: made.getZoom() });
      });
      made.on("click", (event) => {
        if (handlers.current.isDrawing) return;
        const { spot, feature, area, place: outline } = under(made, event.point, handlers.current.drawn ?? []);
        handlers.current.onPick?.({ lon: event.lngLat.lng, lat: event.lngLat.lat, zoom: made.getZoom(), id: spot?.id, feature, area: area?.code ? area : outline && { ...outline, isBare: true } });
      });
      made.on("mousemove", (event) => {
        if (handlers.current.isDrawing) return void tip.remove();
        const found = under(made, event.point, handlers.current.drawn ?? []);
        const text = said(found, handlers.current.figure, handlers.current.ofPoint);
        made.getCanvas().style.cursor = found.spot || text ? "pointer" : "";
        handlers.current.onLit?.(found.spot?.id ?? null);
        for (const id of ["commune-lit", "department-lit"]) if (made.getLayer(id)) made.setFilter(id, ["==", ["get", "code"], found.spot ? "" : found.place?.code ?? ""]);
        if (text) tip.setLngLat(event.lngLat).setText(text).addTo(made);
        else tip.remove();
      });
      made.on("mouseout", () => { tip.remove(); handlers.current.onLit?.(null); });
      let isComparing = false;
      made.on("sourcedata", ({ sourceId }) => {
        if (isComparing || !DATA_SOURCES.includes(sourceId) || !made.getSource("earlier")) return;
        isComparing = true;
        requestAnimationFrame(() => {
          isComparing = false;
          if (isWanted && made.getSource("earlier")) compare(made);
        });
      });
      made.on("idle", () => {
        if (!isWanted) return;
        handlers.current.onFigures?.(figuresShown(made, handlers.current.by, handlers.current.figure, handlers.current.ofPoint));
        handlers.current.onBox?.(made.getBounds().toArray().flat().map((degrees) => degrees.toFixed(BOX_DIGITS)).join());
      });
      return made;
    }).catch((error) => {
      if (isWanted) setFault(error.message);
      return null;
    });
    const pending = map.current;
    return () => {
      isWanted = false;
      pending.then((made) => made?.remove());
    };
  }, []);
  if (handle) {
    handle.current = {
      save: (legend) => map.current.then((made) => made && pictureOf(made, legend)),
      flyTo: ({ lon, lat, zoom }) => map.current.then((made) => made?.flyTo({ center: [lon, lat], zoom })),
    };
  }
  const withMap = (act) => {
    let isWanted = true;
    let undo = null;
    map.current.then((made) => {
      if (isWanted && made) undo = act(made, () => isWanted);
    });
    return () => {
      isWanted = false;
      undo?.();
    };
  };
  useEffect(() => withMap((made) => { if (inset) made.setPadding(inset, { isOfAddress: true }); }), [JSON.stringify(inset)]);
  useArea(withMap, outline, isDrawing, (drawn) => handlers.current.onDrawn(drawn), (end) => handlers.current.onEndable(end));
  useEffect(() => outline && withMap((made) => {
    const bounds = new maplibre.LngLatBounds();
    for (const at of positionsOf(outline.coordinates)) bounds.extend(at);
    const shown = made.getBounds();
    const isApart = bounds.getEast() < shown.getWest() || bounds.getWest() > shown.getEast() || bounds.getNorth() < shown.getSouth() || bounds.getSouth() > shown.getNorth();
    const isSmall = bounds.getEast() - bounds.getWest() < SHARE_MIN * (shown.getEast() - shown.getWest());
    if (isApart || isSmall) fit(made, bounds);
  }), [JSON.stringify(outline)]);
  // Moves the map as the page requests. The URL is not changed: neither the new position nor that of an interrupted move is
  // written.
  const lead = (act) => {
    handlers.current.isLed = true;
    try {
      act();
    } finally {
      handlers.current.isLed = false;
    }
  };
  // The URL may name another position; the position that the map itself wrote is rounded.
  const isFirst = useRef(true);
  useEffect(() => {
    const wasFirst = isFirst.current;
    isFirst.current = false;
    return withMap((made) => {
      if (isFitted || (!view && wasFirst)) return;
      if (!view) return void lead(() => fit(made, FRANCE));
      const { lng, lat } = made.getCenter();
      const isThere = Math.abs(lng - view.lon) < 1e-4 && Math.abs(lat - view.lat) < 1e-4 && Math.abs(made.getZoom() - view.zoom) < 0.02;
      if (!isThere) lead(() => made.jumpTo({ center: [view.lon, view.lat], zoom: view.zoom }));
    });
  }, [view?.lon, view?.lat, view?.zoom]);
  useEffect(() => {
    if (!dataset || !isReady) return undefined;
    return withMap((made, isWanted) => {
      call("GET", `/v2/protected/tiles/${dataset}`, undefined, { isQuiet: true }).then((set) => {
        if (!isWanted()) return;
        for (const id of DATA_LAYERS) if (made.getLayer(id)) made.removeLayer(id);
        for (const id of DATA_SOURCES) if (made.getSource(id)) made.removeSource(id);
        const tilesOf = (chosen) => set.tiles.map((path) => `${location.origin}${path}&by=${by}${chosen ? `&filters=${encodeURIComponent(JSON.stringify(chosen))}` : ""}`);
        const below = made.getLayer(BELOW) ? BELOW : undefined;
        handlers.current.ofPoint = pointFigure(set);
        if (earlier) {
          const { maxzoom } = set.vector_layers.find((layer) => layer.id === "areas");
          return void addCompared(made, { later: tilesOf(filters), earlier: tilesOf(earlier), maxzoom, paint: changePaint(), below });
        }
        made.addSource("data", { type: "vector", tiles: tilesOf(filters), minzoom: set.minzoom, maxzoom: set.maxzoom });
        const [fill, points] = dataLayers(set, by, shown);
        made.addLayer(fill, below);
        made.addLayer(points, made.getLayer("spots") ? "spots" : made.getLayer("commune-labels") ? "commune-labels" : undefined);
      }, (error) => isWanted() && setFault(error.message));
    });
  }, [dataset, JSON.stringify([filters, earlier]), by, shown, isReady, theme]);
  useEffect(() => withMap((made) => {
    for (const [id, paint] of Object.entries(basePaint())) {
      if (made.getLayer(id)) for (const [name, value] of Object.entries(paint)) made.setPaintProperty(id, name, value);
    }
    if (made.getLayer("spots")) for (const [name, value] of Object.entries(spotLayer().paint)) made.setPaintProperty("spots", name, value);
  }), [theme]);
  useEffect(() => withMap((made) => {
    const features = spots.map(({ id, at, label, colour }) => ({ type: "Feature", geometry: { type: "Point", coordinates: at }, properties: { id, label, ...(colour && { colour }) } }));
    const data = { type: "FeatureCollection", features };
    if (made.getSource("spots")) made.getSource("spots").setData(data);
    else {
      made.addSource("spots", { type: "geojson", data, promoteId: "id" });
      made.addLayer(spotLayer(), made.getLayer("commune-labels") ? "commune-labels" : undefined);
    }
    const pin = home && new maplibre.Marker({ color: PIN }).setLngLat(home).addTo(made);
    pin?.getElement().setAttribute("aria-hidden", "true");
    const around = new maplibre.LngLatBounds();
    const points = [...(home ? [home] : []), ...spots.map((one) => one.at)];
    for (const at of points) around.extend(at);
    const bring = () => {
      lead(() => made.resize());
      if (isFitted && !around.isEmpty()) fit(made, around, PIN_MARGINS, 15);
    };
    // A new colour of the same points does not move the map.
    const where = JSON.stringify(points);
    if (fitted.current !== where) bring();
    fitted.current = where;
    // In print the map has another shape.
    const paper = matchMedia("print");
    paper.addEventListener("change", bring);
    return () => {
      paper.removeEventListener("change", bring);
      pin?.remove();
    };
  }), [JSON.stringify(spots), JSON.stringify(home)]);
  useEffect(() => withMap((made) => {
    showLayers(made, handlers.current.drawn ?? [], layers, made.getLayer("spots") ? "spots" : made.getLayer("commune-labels") ? "commune-labels" : undefined);
    handlers.current.drawn = layers.map(({ name }) => name);
  }), [layers]);
  useEffect(() => withMap((made) => {
    if (!lit || !made.getSource("spots")) return undefined;
    const feature = { source: "spots", id: lit };
    made.setFeatureState(feature, { lit: true });
    return () => made.getSource("spots") && made.removeFeatureState(feature);
  }), [lit, JSON.stringify(spots)]);
  return html`<div class="map" ref=${place}></div>
    ${fault && html`<p class="mapfault fault" role="alert">${fault}</p>`}`;
}

/** Returns whether the session's key may see a map. */
export const hasMap = () => may("search");

/** Bars of the histogram over the ramp. */
const BARS = 28;

/** Returns the position of a value on a ramp, from 0 to 1. */
function placeOn(steps, value) {
  if (value <= steps[0]) return 0;
  const nth = steps.findIndex((step) => value < step);
  if (nth < 0) return 1;
  return (nth - 1 + (value - steps[nth - 1]) / (steps[nth] - steps[nth - 1])) / (steps.length - 1);
}

/** The legend of the colours, with the number of rows on the screen for each. */
export function Legend({ figure, figures, title }) {
  useTheme();
  const steps = STEPS[figure];
  const ramp = rampOf(figure);
  const bars = Array.from({ length: BARS }, () => 0);
  for (const [value, count] of figures) bars[Math.min(BARS - 1, Math.floor(placeOn(steps, value) * BARS))] += count;
  const most = Math.max(...bars, 1);
  return html`<figure class="legend"><figcaption>${title}</figcaption>
    <svg viewBox="0 0 224 44" width="224" height="44" aria-hidden="true"><defs><linearGradient id="ramp">${ramp.map((colour, nth) => html`<stop offset=${`${(100 * nth) / (ramp.length - 1)}%`} stop-color=${colour}></stop>`)}</linearGradient></defs>
      ${bars.map((count, nth) => html`<rect class="bar" x=${nth * 8 + 1} width="6" rx="1" y=${30 - 28 * Math.sqrt(count / most)} height=${28 * Math.sqrt(count / most)}></rect>`)}
      <rect y="32" width="224" height="10" rx="3" fill="url(#ramp)"></rect></svg>
    <div class="scale">${steps.map((step, nth) => html`<span class=${step === 0 ? "zero" : ""}>${stepText(figure, step)}${nth === steps.length - 1 ? UNITS[figure] ?? "" : ""}</span>`)}</div>
    ${figure === "change" && html`<p class="missing"><svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" rx="2" fill=${unknownColour()}></rect></svg>${word("tooFewSales", { count: SALES_MIN })}</p>`}</figure>`;
}
