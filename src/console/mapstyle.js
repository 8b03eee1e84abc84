/** The style of the map: the colour ramp of each figure in both themes, the layers of the data, and the base map. */

import { number, perM2 } from "./language.js";
import { colours } from "./theme.js";

/** Values of a figure at the steps of its colours. */
export const STEPS = {
  price_per_m2: [1000, 2000, 3500, 6000, 9500, 14000],
  poor_share: [5, 10, 20, 35, 50],
  over_sold: [-10, 0, 10, 20, 35],
  change: [-30, -15, -5, 0, 5, 15, 30],
  energy: [1, 2, 3, 4, 5, 6, 7],
};
export const UNITS = { price_per_m2: "\u00a0€", poor_share: "\u00a0%", over_sold: "\u00a0%", change: "\u00a0%" };
/** Figures that are differences and have a sign. */
const SIGNED = ["over_sold", "change"];
/** Colours at the steps. Higher values are darker on a light background and brighter on a dark one; colour-blind people can distinguish all. */
const RAMPS = {
  light: {
    price_per_m2: ["#cfe8ea", "#8ccad3", "#449ab8", "#2f65a3", "#45398a", "#6d1a5c"],
    poor_share: ["#fbe9cf", "#f7c588", "#ea9048", "#c8562a", "#822516"],
    over_sold: ["#3b74b4", "#d9dde3", "#f2b48c", "#d9694a", "#962b2b"],
    change: ["#1b4f8f", "#4f8ac6", "#a9cbe8", "#fbf4df", "#f6c48a", "#d9802b", "#8a4208"],
  },
  dark: {
    price_per_m2: ["#1d3a55", "#1f6480", "#2a969f", "#57b893", "#a3d07c", "#f2e58a"],
    poor_share: ["#3b2a22", "#7a4526", "#bf6a2f", "#f09d52", "#ffe0a8"],
    over_sold: ["#5d9be0", "#4a505b", "#a9684d", "#e2805f", "#ffb79d"],
    change: ["#a6d3ff", "#5b9be0", "#36608f", "#5c574d", "#9a6a2c", "#dc9437", "#ffd08a"],
  },
};
/** Colours of the label of a diagnostic, from A to G. */
const ENERGY = ["#1c9a63", "#52b153", "#8fc46a", "#f0d93a", "#efae2c", "#e8803a", "#d7382f"];

const ENERGY_LETTERS = "ABCDEFG";

const isDark = () => document.documentElement.dataset.theme === "dark";

/** Returns the colours of a figure in the page's theme. */
export const rampOf = (figure) => (figure === "energy" ? ENERGY : RAMPS[isDark() ? "dark" : "light"][figure]);

/** Returns the colours for a number of classes, lowest first. */
export const classColours = () => rampOf("price_per_m2");

/** The colour of a place whose change is not known; it is not in the ramp. */
export const unknownColour = () => (isDark() ? "#2c323b" : "#d4d6da");

/** Formats a value of a figure. */
export const figureText = (figure, value) =>
  figure === "price_per_m2" ? perM2(value) : figure === "energy" ? ENERGY_LETTERS[value - 1] : `${SIGNED.includes(figure) && value > 0 ? "+" : ""}${number(value, 1)}${UNITS[figure]}`;

/** Formats a step of a figure for a legend. */
export const stepText = (figure, step) => (figure === "energy" ? ENERGY_LETTERS[step - 1] : `${figure === "change" && step > 0 ? "+" : ""}${number(step)}`);

const interpolated = (figure, value) => ["interpolate", ["linear"], value, ...STEPS[figure].flatMap((step, nth) => [step, rampOf(figure)[nth]])];
const coloured = (figure) => ["case", ["has", figure], interpolated(figure, ["get", figure]), "#8a919d"];

/** Paint of places by their change, which is their feature state. */
export const changePaint = () => ({
  "fill-color": ["case", ["==", ["feature-state", "change"], null], unknownColour(), interpolated("change", ["number", ["feature-state", "change"], 0])],
  "fill-opacity": 0.85, "fill-outline-color": "rgba(0,0,0,0)",
});

/** Returns the figures of a dataset that colour areas, the default one first. */
export const figuresOf = (dataset, by) =>
  dataset === "dpe" ? ["poor_share"] : dataset === "dvf" ? ["price_per_m2", "change"] : by === "areas" ? ["price_per_m2", "over_sold"] : ["price_per_m2"];

/** Returns the figure of single points in a tile set. */
export const pointFigure = (set) => Object.keys(set.vector_layers.find((layer) => layer.id === "points").fields).find((name) => name in STEPS);

/** Returns the map layers of a tile set; `by` is `hexagons` or `areas`, `figure` determines the colours. */
export function dataLayers(set, by, figure) {
  const [halo] = colours("--halo");
  return [
    { id: by, type: "fill", source: "data", "source-layer": by, paint: { "fill-color": coloured(figure), "fill-opacity": ["case", ["has", figure], 0.82, 0.3], "fill-outline-color": "rgba(0,0,0,0)" } },
    {
      id: "points", type: "circle", source: "data", "source-layer": "points",
      paint: {
        "circle-color": coloured(pointFigure(set)), "circle-stroke-color": halo, "circle-stroke-width": 1.2, "circle-opacity": ["case", ["has", pointFigure(set)], 1, 0.35],
        "circle-radius": ["interpolate", ["linear"], ["zoom"], 14, 4.5, 18, 9],
      },
    },
  ];
}

/** The layer of single results: the results in the list next to the map. A result may have its own colour. */
export function spotLayer() {
  const [accent, halo] = colours("--accent", "--halo");
  const isLit = ["boolean", ["feature-state", "lit"], false];
  return {
    id: "spots", type: "circle", source: "spots",
    paint: {
      "circle-color": ["case", isLit, accent, ["has", "colour"], ["to-color", ["get", "colour"]], halo], "circle-radius": ["case", isLit, 9, 5],
      "circle-stroke-color": ["case", isLit, halo, ["has", "colour"], halo, accent], "circle-stroke-width": ["case", isLit, 2.5, ["has", "colour"], 1, 2.5],
    },
  };
}

/** Paint of the base map in the page's colours. */
export function basePaint() {
  const [sea, land, border, text, quiet, halo, accent] = colours("--sea", "--land", "--border", "--text", "--quiet", "--halo", "--accent");
  const hit = { "fill-color": land, "fill-opacity": 0 };
  const lit = { "line-color": accent, "line-width": 2.5 };
  return {
    sea: { "background-color": sea },
    land: { "fill-color": land },
    "department-areas": hit, "commune-areas": hit, "department-lit": lit, "commune-lit": lit,
    "commune-lines": { "line-color": border, "line-width": 0.5, "line-opacity": ["interpolate", ["linear"], ["zoom"], 8, 0.25, 10, 0.7] },
    "department-lines": { "line-color": border, "line-width": ["interpolate", ["linear"], ["zoom"], 4, 0.5, 9, 1.6] },
    "commune-labels": { "text-color": text, "text-halo-color": halo, "text-halo-width": 1.6 },
    "department-labels": { "text-color": quiet, "text-halo-color": halo, "text-halo-width": 1.4 },
  };
}

/** Returns the style of the base map: outlines, and below them the map of another service if the settings name one. */
export function baseStyle(outlines, raster) {
  const paint = basePaint();
  const { fontFamily } = getComputedStyle(document.body);
  const label = (kind, size, zooms) => ({
    id: `${kind}-labels`, type: "symbol", source: "outlines", "source-layer": "labels", ...zooms,
    filter: ["==", ["get", "kind"], kind], paint: paint[`${kind}-labels`],
    // Without glyphs in the style, MapLibre draws letters from the fonts of the system.
    layout: {
      "text-field": ["get", "name"], "text-font": [fontFamily], "text-size": size, "text-max-width": 8, "text-padding": 6,
      "symbol-sort-key": ["-", 0, ["get", "population"]],
    },
  });
  const layer = (id, type, source, more) => ({ id, type, source: "outlines", "source-layer": source, paint: paint[id], ...more });
  const none = ["==", ["get", "code"], ""];
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
      layer("department-areas", "fill", "departments", { maxzoom: 8 }),
      layer("commune-areas", "fill", "communes", { minzoom: 8 }),
      layer("commune-lines", "line", "communes", { minzoom: 8 }),
      layer("department-lines", "line", "departments"),
      layer("department-lit", "line", "departments", { filter: none, maxzoom: 8 }),
      layer("commune-lit", "line", "communes", { filter: none, minzoom: 8 }),
      ...(raster ? [] : [label("commune", ["interpolate", ["linear"], ["zoom"], 5, 11, 12, 14], {}), label("department", 12, { minzoom: 6, maxzoom: 9 })]),
    ],
  };
}
