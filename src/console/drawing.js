/** An area on the map: drawn by clicks, shown as an outline, stored in the page's URL. */

import { useEffect } from "./parts.js";

/** The URL parameter of the area. */
export const AREA = "area";
const SOURCE = "drawn";
const VERTICES_MIN = 3;
/** A click within this many pixels of the first vertex closes the area; touch is less precise. */
const CLOSE_PX = matchMedia("(pointer: coarse)").matches ? 24 : 12;
const COLOUR = "#d1432f";
/** Digits of a degree that are kept: about a metre. */
const DIGITS = 5;

/** Returns the vertices in a parameter, `lon,lat;lon,lat…`; null without an area. */
export function ringOf(text) {
  const ring = (text ?? "").split(";").map((at) => at.split(",").map(Number));
  return ring.length >= VERTICES_MIN && ring.every((at) => at.length === 2 && at.every(Number.isFinite)) ? ring : null;
}

const textOf = (ring) => ring.map((at) => at.map((degrees) => Number(degrees.toFixed(DIGITS))).join(",")).join(";");

/** Returns the area as the API expects it. */
export const geometryOf = (ring) => ({ type: "Polygon", coordinates: [[...ring, ring[0]]] });

/** Shows geometries instead of the previous ones. */
function show(map, geometries) {
  const data = { type: "FeatureCollection", features: geometries.map((geometry) => ({ type: "Feature", properties: {}, geometry })) };
  if (map.getSource(SOURCE)) return void map.getSource(SOURCE).setData(data);
  map.addSource(SOURCE, { type: "geojson", data });
  map.addLayer({ id: `${SOURCE}-fill`, type: "fill", source: SOURCE, filter: ["==", ["geometry-type"], "Polygon"], paint: { "fill-color": COLOUR, "fill-opacity": 0.08 } });
  map.addLayer({ id: `${SOURCE}-line`, type: "line", source: SOURCE, paint: { "line-color": COLOUR, "line-width": 2 } });
  map.addLayer({ id: `${SOURCE}-points`, type: "circle", source: SOURCE, filter: ["==", ["geometry-type"], "Point"], paint: { "circle-radius": 4, "circle-color": COLOUR } });
}

/** Shows an unfinished area: a line with its vertices. */
const showOpen = (map, ring) => show(map, [{ type: "LineString", coordinates: ring }, ...ring.map((at) => ({ type: "Point", coordinates: at }))]);

/** Returns the positions of an outline. */
export const positionsOf = (rings) => (typeof rings[0] === "number" ? [rings] : rings.flatMap(positionsOf));

/**
 * Adds a vertex for each click until the first one is clicked again, or Enter or Escape is pressed. Once there are enough vertices,
 * `onEndable` receives a function that finishes the area. Returns a function that stops drawing.
 */
function draw(map, onDrawn, onEndable) {
  const ring = [];
  const end = () => onDrawn(ring.length >= VERTICES_MIN ? textOf(ring) : null);
  const click = (event) => {
    const first = ring.length >= VERTICES_MIN && map.project(ring[0]);
    if (first && Math.hypot(first.x - event.point.x, first.y - event.point.y) < CLOSE_PX) return end();
    ring.push([event.lngLat.lng, event.lngLat.lat]);
    if (ring.length === VERTICES_MIN) onEndable(end);
    return showOpen(map, ring);
  };
  const move = (event) => ring.length > 0 && showOpen(map, [...ring, [event.lngLat.lng, event.lngLat.lat]]);
  const key = (event) => {
    if (event.key === "Enter") end();
    if (event.key === "Escape") onDrawn(null);
  };
  map.on("click", click);
  map.on("mousemove", move);
  map.doubleClickZoom.disable();
  map.getCanvas().style.cursor = "crosshair";
  addEventListener("keydown", key);
  return () => {
    map.off("click", click);
    map.off("mousemove", move);
    map.doubleClickZoom.enable();
    map.getCanvas().style.cursor = "";
    removeEventListener("keydown", key);
  };
}

/** Shows an outline (GeoJSON or null) on the map that `withMap` passes, or lets the user draw one. */
export function useArea(withMap, outline, isDrawing, onDrawn, onEndable) {
  useEffect(() => withMap((map) => {
    show(map, outline && !isDrawing ? [outline] : []);
    return isDrawing ? draw(map, onDrawn, onEndable) : undefined;
  }), [JSON.stringify(outline), isDrawing]);
}
