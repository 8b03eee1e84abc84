/** Where a search applies: in an area (drawn, stored under a name, or within reach of a point) and in relation to a layer. Both
    are in the page's URL. */

import { call } from "./api.js";
import { AREA, geometryOf, ringOf } from "./drawing.js";
import { counted, labelled, number, word } from "./language.js";
import { LayerSwitches } from "./maplayers.js";
import { Field, Icon, Popover, Typed, Waiting, html, useLoaded } from "./parts.js";
import { attempt } from "./toasts.js";
import { MINUTES_MAX, MODES, isochroneOf, reachOf, reachPath, reachText } from "./traveltime.js";

/** The URL parameter of the layer: `NAME`, `NAME,outside` or `NAME,METRES`. */
export const LAYER = "layer";
/** URL parameters that remove area and layer. */
export const ANYWHERE = { [AREA]: "", [LAYER]: "" };
/** Prefix of the parameter of an area that is stored under a name. */
const STORED = "@";
/** Default travel time, minutes. */
const MINUTES = 15;
/** Default distance from a layer, and the maximum of the contract, metres. */
const METRES = 500;
const METRES_MAX = 100_000;

const pathOf = (name) => `/v2/protected/areas/${encodeURIComponent(name)}`;
const storedName = (area) => (area?.startsWith(STORED) ? area.slice(STORED.length) : null);

/** Returns the layer of a parameter as the API expects it; null without one. */
export function layerOf(text) {
  if (!text) return null;
  const [name, relation] = text.split(",");
  if (!relation || relation === "inside") return { name };
  return relation === "outside" ? { name, relation } : { name, relation: "within", meters: Number(relation) };
}

/** Returns area and layer of the URL as the API expects them; null without either. */
export function placeOf(parameters) {
  const ring = ringOf(parameters[AREA]);
  const reach = reachOf(parameters[AREA]);
  const area = storedName(parameters[AREA]) ?? (ring ? geometryOf(ring) : reach && isochroneOf(reach));
  const layer = layerOf(parameters[LAYER]);
  return area || layer ? { ...(area && { area }), ...(layer && { layer }) } : null;
}

/** The same for tiles, which do not support areas within reach. */
export const placeOfTiles = (parameters) => placeOf(reachOf(parameters[AREA]) ? { ...parameters, [AREA]: "" } : parameters);

/** Returns only the parameters of area and layer, to pass them to another screen. */
export const onlyPlace = (parameters) => Object.fromEntries([AREA, LAYER].filter((name) => parameters[name]).map((name) => [name, parameters[name]]));

/** Describes the layer of a filter in a few words. */
export function layerText({ name, relation, meters }) {
  if (relation === "within") return word("layerWithin", { name, metres: number(meters) });
  return relation === "outside" ? word("layerOutside", { name }) : name;
}

/** Describes area and layer of the URL in a few words; empty without either. */
export function placeText(parameters) {
  const { area, layer } = placeOf(parameters) ?? {};
  const reach = reachOf(parameters[AREA]);
  const said = reach ? word(`within.${reach.mode}`, { minutes: number(reach.minutes) }) : area && word("areaDrawn");
  return [typeof area === "string" ? area : said, layer && layerText(layer)].filter(Boolean).join(" · ");
}

/** Returns the outline of the URL's area as GeoJSON; null without an area, and while a stored one is loading. */
export function useOutline(area) {
  const [name, reach] = [storedName(area), reachOf(area)];
  const path = name ? pathOf(name) : reach && reachPath(reach);
  const loaded = useLoaded(async (signal) => path && { path, outline: (await call("GET", path, undefined, { signal, isQuiet: true })).data.area }, [path]);
  const ring = ringOf(area);
  if (ring) return geometryOf(ring);
  return path && loaded.value?.path === path ? loaded.value.outline : null;
}

/**
 * The button that opens the choice of area and layer. `onDraw` starts drawing an area. `onPoint` receives mode and minutes, and lets
 * the user click a point. `middle` is the centre of the map, if it is known.
 */
export function PlaceButton({ parameters, set, onDraw, onPoint, middle }) {
  const text = placeText(parameters);
  const label = text ? labelled(word("area"), text) : word("areaAndLayers");
  return html`<${Popover} className=${text ? "compact set" : "compact"} content="control" label=${label} title=${label} button=${html`<${Icon} name="area" small /><span class="wide">${label}</span>`}>
    ${(close) => html`<${Choices} parameters=${parameters} set=${set} close=${close} middle=${middle} onDraw=${() => { close(); onDraw(); }} onPoint=${(travel) => { close(); onPoint(travel); }} />`}<//>`;
}

/** The form for an area within reach of a point: a clicked one, or the centre of the map. */
function Reach({ given, middle, onReach, onPoint }) {
  const submit = (event) => {
    event.preventDefault();
    const travel = Object.fromEntries(new FormData(event.target));
    return event.submitter?.value === "middle" ? onReach({ ...travel, ...middle }) : onPoint(travel);
  };
  return html`<form class="form" onSubmit=${submit}><h3>${word("reach")}</h3>
    <div class="columns two"><${Field} label=${word("minutesMost")}><${Typed} name="minutes" type="number" min="1" max=${MINUTES_MAX} required given=${String(given?.minutes ?? MINUTES)} /><//>
      <${Field} label=${word("travelMode")}><select name="mode">${MODES.map((mode) => html`<option value=${mode} selected=${mode === given?.mode}>${word(`mode.${mode}`)}</option>`)}</select><//></div>
    <div class="row"><button class="compact" value="point"><${Icon} name="pin" small />${word("reachPoint")}</button>
      ${middle && html`<button class="compact" value="middle">${word("reachMiddle")}</button>`}</div></form>`;
}

function Choices({ parameters, set, close, middle, onDraw, onPoint }) {
  const areas = useLoaded((signal) => call("GET", "/v2/protected/areas", undefined, { signal, isQuiet: true }), []);
  const layers = useLoaded((signal) => call("GET", "/v2/protected/layers", undefined, { signal, isQuiet: true }), []);
  const ring = ringOf(parameters[AREA]);
  const chosen = storedName(parameters[AREA]);
  const save = (event) => {
    event.preventDefault();
    const name = new FormData(event.target).get("name").trim();
    return attempt(async () => {
      await call("PUT", pathOf(name), geometryOf(ring));
      set({ [AREA]: STORED + name });
      areas.reload();
    }, word("areaSaved", { name }));
  };
  const remove = (name) => confirm(word("areaRemoveAsk", { name })) && attempt(async () => {
    await call("DELETE", pathOf(name));
    if (chosen === name) set({ [AREA]: "" });
    areas.reload();
  }, word("areaRemoved", { name }));
  return html`<div class="form"><h3>${word("area")}</h3>
    <div class="row"><button type="button" class="compact" onClick=${onDraw}><${Icon} name="area" small />${word("drawArea")}</button>
      ${parameters[AREA] && html`<button type="button" class="quiet compact" onClick=${() => { close(); set({ [AREA]: "" }); }}>${word("removeArea")}</button>`}</div>
    ${ring && html`<form class="row" onSubmit=${save}><input name="name" required maxlength="100" placeholder=${word("areaName")} aria-label=${word("areaName")} />
      <button class="compact">${word("save")}</button></form>`}
    <${Waiting} of=${areas} lines=${2} />
    ${areas.value?.data.length > 0 && html`<ul class="areas" aria-label=${word("areasStored")}>${areas.value.data.map(({ name }) => html`<li class="row spread" key=${name}>
      <button type="button" class="quiet" aria-pressed=${String(name === chosen)} onClick=${() => { close(); set({ [AREA]: STORED + name }); }}>${name}</button>
      <button type="button" class="quiet square compact" aria-label=${labelled(word("remove"), name)} onClick=${() => remove(name)}><${Icon} name="trash" small /></button></li>`)}</ul>`}
    <${Reach} given=${reachOf(parameters[AREA])} middle=${middle} onPoint=${onPoint} onReach=${(reach) => { close(); set({ [AREA]: reachText(reach) }); }} />
    <h3>${word("layer")}</h3>
    <${Waiting} of=${layers} lines=${2} />
    ${layers.value && html`<${LayerChoice} layers=${layers.value.data} chosen=${layerOf(parameters[LAYER])} set=${set} />
      <${LayerSwitches} layers=${layers.value.data} parameters=${parameters} set=${set} />`}</div>`;
}

/** The choice of a layer and of its relation to the results. A layer without polygons has no inside. */
function LayerChoice({ layers, chosen, set }) {
  if (layers.length === 0) return html`<p class="quiet"><small>${word("layersNone")} <code>toise import layer</code></small></p>`;
  const hasInside = (layer) => layer?.geometryTypes.some((type) => type.endsWith("Polygon"));
  const layer = layers.find(({ name }) => name === chosen?.name);
  const relations = hasInside(layer) ? ["inside", "outside", "within"] : ["within"];
  const relation = chosen?.relation ?? "inside";
  const choose = (name) => set({ [LAYER]: name && !hasInside(layers.find((one) => one.name === name)) ? `${name},${METRES}` : name });
  const relate = (to) => set({ [LAYER]: to === "inside" ? chosen.name : `${chosen.name},${to === "within" ? METRES : to}` });
  return html`<select aria-label=${word("layer")} onChange=${(event) => choose(event.target.value)}>
      <option value="" selected=${!chosen}>${word("layerNone")}</option>
      ${layers.map(({ name }) => html`<option value=${name} selected=${name === chosen?.name}>${name}</option>`)}</select>
    ${layer && html`${relations.length > 1 && html`<fieldset><legend class="hidden">${word("layer")}</legend>${relations.map((one) => html`<label class="check"><input type="radio" name="relation" value=${one}
        checked=${relation === one} onChange=${() => relate(one)} /> ${word(`layer.${one}`)}</label>`)}</fieldset>`}
      ${relation === "within" && html`<${Field} label=${word("layerMetres")}><input type="number" min="0" max=${METRES_MAX} value=${chosen.meters}
        onChange=${(event) => event.target.checkValidity() && event.target.value && set({ [LAYER]: `${chosen.name},${event.target.value}` })} /><//>`}
      <p class="quiet"><small>${counted("layerAbout", layer.count)} · ${layer.source} · ${layer.licence}</small></p>`}`;
}
