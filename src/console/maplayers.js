/** Layers on the map: the choice of layers, their features in the visible box, their legend, and the attributes of a feature.
    The features come from SQL, which has the geometry of every layer. */

import { call, callRaw, may } from "./api.js";
import { counted, word } from "./language.js";
import { Icon, Waiting, html, useLoaded, useRef, useDebounced } from "./parts.js";
import { readRows, textOf } from "./rows.js";
import { geometryOfHex } from "./wkb.js";

/** The URL parameter with the names of the layers, separated by commas. */
export const SHOWN = "layers";
/** Maximum layers drawn at the same time. */
const SHOWN_MAX = 3;
/** Maximum features of a layer that are drawn, and maximum characters of their rows that are read. */
const FEATURES_MAX = 5_000;
const CHARS_MAX = 16_000_000;
/** Maximum time of a query, seconds. */
const TIME_S = 30;
/** Features are also read beyond each edge of the map, by this share of its size, so that a small move needs no query. */
const MARGIN = 0.25;
/** Delay after a move before features are read, milliseconds. */
const DELAY_MS = 300;
/** After this time, a move reloads the list of layers, because one may have been imported again. Milliseconds. */
const KNOWN_MS = 60_000;
/** Colours of the layers, in their order; they can be distinguished on the backgrounds of both themes. */
const COLOURS = ["#c2187a", "#d9730d", "#0d9488", "#8b5cf6", "#4d7c0f", "#0284c7"];

/** Returns the layers in the URL. */
const namesOf = (parameters) => (parameters[SHOWN] ?? "").split(",").filter(Boolean).slice(0, SHOWN_MAX);

/** Returns whether a box, `[west, south, east, north]`, is within another. */
const isWithin = (inner, outer) => inner[0] >= outer[0] && inner[1] >= outer[1] && inner[2] <= outer[2] && inner[3] <= outer[3];

function widened([west, south, east, north]) {
  const [x, y] = [(east - west) * MARGIN, (north - south) * MARGIN];
  return [west - x, south - y, east + x, north + y];
}

/** Returns the query for the features of a layer in a box; if there are too many, it selects some from the whole box. */
function queryOf(layer, [west, south, east, north]) {
  const all = `select * exclude (bbox) from ${layer.table}`;
  if (layer.count <= FEATURES_MAX) return all;
  // Neighbours have consecutive numbers. Multiplying them by a prime modulo another one shuffles them.
  return `${all} where bbox['xmin'] <= ${east} and bbox['xmax'] >= ${west} and bbox['ymin'] <= ${north} and bbox['ymax'] >= ${south}
    order by feature * 7919 % 100003 limit ${FEATURES_MAX + 1}`;
}

/** Reads the features of a layer around a box: GeoJSON, attributes by number, the box that was read, and whether all were read. */
async function read(layer, box, signal) {
  const around = widened(box);
  const body = { query: queryOf(layer, around), format: "ndjson", limits: { time_s: TIME_S } };
  const response = await callRaw("POST", "/v2/protected/sql", body, { signal, isQuiet: true });
  const { rows, isWhole } = await readRows(response.body, FEATURES_MAX, CHARS_MAX);
  const features = rows.map((row) => ({ type: "Feature", geometry: geometryOfHex(row.geometry), properties: { layer: layer.name, feature: row.feature } }));
  const attributes = new Map(rows.map(({ feature, geometry, ...attributes }) => [feature, attributes]));
  const isAll = isWhole && layer.count <= FEATURES_MAX;
  return { data: { type: "FeatureCollection", features }, attributes, box: isAll ? [-Infinity, -Infinity, Infinity, Infinity] : around, isWhole };
}

const NONE = [];

/**
 * The layers in the URL, `{name, colour, layer, data, attributes, isWhole, error}`, and what they wait for. `box` is the visible box
 * as text, or empty until it is known.
 */
export function useMapLayers(parameters, box) {
  const names = may("sql") ? namesOf(parameters) : NONE;
  const known = useLoaded(async (signal) => (names.length > 0 ? (await call("GET", "/v2/protected/layers", undefined, { signal, isQuiet: true })).data : NONE),
    [names.length > 0, Math.floor(Date.now() / KNOWN_MS)]);
  // If the list cannot be reloaded, the layers stay unchanged.
  const list = useRef(null);
  if (known.value) list.current = known.value;
  const kept = useRef(new Map());
  const debounced = useDebounced(box, DELAY_MS);
  const drawn = useLoaded(async (signal) => {
    if (!debounced || !list.current) return NONE;
    const now = debounced.split(",").map(Number);
    const one = async (layer, nth) => {
      const before = kept.current.get(layer.name);
      const isEnough = before && !before.error && before.importedAt === layer.importedAt && (before.at === debounced || (before.isWhole && isWithin(now, before.box)));
      const found = isEnough ? before : await read(layer, now, signal).catch((error) => ({ error, data: { type: "FeatureCollection", features: [] }, attributes: new Map() }));
      if (!signal.aborted) kept.current.set(layer.name, isEnough ? found : { ...found, at: debounced, importedAt: layer.importedAt });
      return { name: layer.name, colour: COLOURS[nth % COLOURS.length], layer, ...found };
    };
    const wanted = list.current.map((layer, nth) => [layer, nth]).filter(([{ name }]) => names.includes(name));
    return Promise.all(wanted.map(([layer, nth]) => one(layer, nth)));
  }, [names.join(), list.current, debounced]);
  return { list: (names.length > 0 && drawn.value) || NONE, waiting: known.error && !list.current ? known : drawn };
}

/** Checkboxes that switch layers on and off. */
export function LayerSwitches({ layers, parameters, set }) {
  if (layers.length === 0) return null;
  if (!may("sql")) return html`<p class="quiet"><small>${word("layersNeedSql")}</small></p>`;
  const names = namesOf(parameters);
  const change = (name, isOn) => set({ [SHOWN]: (isOn ? [...names, name] : names.filter((one) => one !== name)).join() });
  return html`<fieldset><legend>${word("layersOnMap")}</legend>${layers.map(({ name }) => html`<label class="check" key=${name}><input type="checkbox" checked=${names.includes(name)}
      disabled=${!names.includes(name) && names.length >= SHOWN_MAX} onChange=${(event) => change(name, event.target.checked)} /> ${name}</label>`)}</fieldset>`;
}

/** Name, number of features and licence of the layers on the map. */
export function LayerLegend({ of, parameters, set }) {
  const names = namesOf(parameters);
  if (names.length === 0 || !may("sql")) return null;
  const hide = (name) => set({ [SHOWN]: names.filter((one) => one !== name).join() });
  return html`<section class="legend drawn" aria-label=${word("layersOnMap")}><ul>${of.list.map(({ name, colour, layer, attributes, isWhole, error }) => html`<li key=${name}>
      <svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" rx="2" fill=${colour}></rect></svg>
      <div><b>${name}</b> <small class="quiet">${counted("layerAbout", layer.count)} · ${layer.licence}</small>
        ${error ? html`<small class="fault" role="alert">${error.message}</small>` : !isWhole && html`<small class="quiet">${attributes.size > 0 ? counted("layerPart", attributes.size) : word("layerTooLarge")}</small>`}</div>
      <button type="button" class="quiet square compact" aria-label=${word("layerHide", { name })} title=${word("layerHide", { name })} onClick=${() => hide(name)}><${Icon} name="close" small /></button></li>`)}</ul>
    ${of.list.length === 0 && html`<${Waiting} of=${of.waiting} lines=${1} />`}</section>`;
}

/** The attributes of a feature; `picked` names its layer and its number. */
export function FeatureCard({ list, picked, close }) {
  const attributes = list.find(({ name }) => name === picked.layer)?.attributes.get(picked.feature);
  if (!attributes) return null;
  const known = Object.entries(attributes).filter(([, value]) => value !== null && value !== "");
  return html`<section class="feature" aria-label=${picked.layer} aria-live="polite" tabindex="0"><div class="row tight spread"><h2>${picked.layer}</h2>
      <button type="button" class="quiet square compact" aria-label=${word("close")} onClick=${close}><${Icon} name="close" small /></button></div>
    ${known.length === 0 ? html`<p class="quiet">${word("noAttributes")}</p>`
      : html`<dl class="facts">${known.map(([name, value]) => html`<dt>${name}</dt><dd>${textOf(value)}</dd>`)}</dl>`}</section>`;
}
