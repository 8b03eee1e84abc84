/** The map screen: filters of the contract, results in a panel over the map, and one opened record or place. */

import { may } from "../api.js";
import { comparedYears } from "../comparison.js";
import { CsvButton } from "../csvfile.js";
import { DATASETS, pagesOf } from "../datasets.js";
import { ANYWHERE, PlaceButton, onlyPlace, placeOf as conditionsOn, placeOfTiles, useOutline } from "../areas.js";
import { AREA } from "../drawing.js";
import { FilterChips } from "../filterchips.js";
import { filtersOf, merged, onlyFilters, parameter, useFields, withoutFilters } from "../filters.js";
import { number, word } from "../language.js";
import { Legend, MapView } from "../map.js";
import { FeatureCard, LayerLegend, useMapLayers } from "../maplayers.js";
import { figuresOf } from "../mapstyle.js";
import { Empty, Icon, Popover, Segments, Waiting, html, useEffect, useLoaded, useRef, useState } from "../parts.js";
import { AddressField } from "../places.js";
import { placeOf } from "../dwelling.js";
import { saveFile } from "../files.js";
import { attempt, copy } from "../toasts.js";
import { reachOf, reachText } from "../traveltime.js";
import { Comparison, Years, useYears } from "../years.js";
import { CLOSED, Opened, useEscape, useOpenedFocus, useRecord } from "./opened.js";
import { Card } from "./record.js";

/** Areas are departments below this zoom, and communes from it on. */
const COMMUNES_ZOOM = 8;
/** Radius of a click, metres. */
const NEAR_M = 60;
/** From this zoom on, results are limited to a circle about the size of the map, in pixels and metres. */
const LOCAL_ZOOM = 8;
const RADIUS_PX = 360;
const RADIUS_M_MAX = 50_000;
/** Width below which the panel becomes a sheet at the bottom, pixels, and the share of the screen that it covers. */
const PHONE_PX = 700;
const SHEET_SHARE = 0.45;
const PANEL_PX = 400;
/** Height of the controls at an edge, pixels. */
const EDGE_PX = 36;
/** Zooms for results of the geocoder. */
const PLACE_ZOOM = { municipality: 12, street: 16, housenumber: 17 };
/** Commands that load an empty dataset. */
const START = { dvf: "toise start --departments 48", dpe: "toise start --departments 48", properties: "toise ingest" };
/** Overseas departments: longitude, latitude and zoom. */
const OVERSEAS = { Guadeloupe: [-61.4, 16.2, 8.6], Martinique: [-61.02, 14.65, 9], Guyane: [-53.1, 4, 6.3], "La Réunion": [55.53, -21.12, 9], Mayotte: [45.15, -12.83, 10] };

export function Market({ parameters, set }) {
  const name = Object.hasOwn(DATASETS, parameters.dataset ?? "") ? parameters.dataset : "dvf";
  return html`<h1 class="hidden">${word("map")}</h1><${DatasetMap} key=${name} name=${name} parameters=${parameters} set=${set} />`;
}

/** Returns the view of the map in the URL; undefined without one. */
function viewOf({ lat, lon, zoom }) {
  const view = { lat: Number(lat), lon: Number(lon), zoom: Number(zoom) };
  return zoom && Object.values(view).every(Number.isFinite) && Math.abs(view.lat) <= 90 ? view : undefined;
}

/** Returns the pixels at each side of the map that the panel covers. */
function useInset() {
  const measure = () => (innerWidth > PHONE_PX ? { left: PANEL_PX, top: EDGE_PX, right: 0, bottom: EDGE_PX } : { left: 0, top: EDGE_PX, right: 0, bottom: Math.round(innerHeight * SHEET_SHARE) });
  const [inset, setInset] = useState(measure);
  useEffect(() => {
    const follow = () => setInset(measure());
    addEventListener("resize", follow);
    return () => removeEventListener("resize", follow);
  }, []);
  return inset;
}

function DatasetMap({ name, parameters, set }) {
  const dataset = DATASETS[name];
  const fields = useFields(dataset.path, dataset.inner);
  const given = fields.value && filtersOf(fields.value, parameters);
  const place = conditionsOn(parameters);
  const inPlace = (where) => (where ? merged(given ?? {}, dataset.within(where)) : given);
  const withBase = (those) => (those && dataset.base ? merged(dataset.base, those) : those ?? dataset.base);
  const chosen = inPlace(place);
  const filters = withBase(chosen);
  const reach = reachOf(parameters[AREA]);
  const ofTiles = reach ? withBase(inPlace(placeOfTiles(parameters))) : filters;
  const years = useYears(dataset.dates);
  const by = parameters.by === "areas" || parameters.figure === "change" ? "areas" : "hexagons";
  const figures = figuresOf(name, by).filter((one) => one !== "change" || !years.isKnown || years.years.length > 1);
  const figure = figures.includes(parameters.figure) ? parameters.figure : figures[0];
  // A change compares the prices of two years, regardless of the dates in the filters.
  const isCompared = figure === "change";
  const compared = isCompared && years.isKnown ? comparedYears(parameters, years) : null;
  const [earlier, later] = (compared ?? []).map((year) => dataset.toTiles(merged(ofTiles ?? {}, dataset.priced(year))));
  const anyDate = () => Object.fromEntries(["from", "to"].map((bound) => [parameter({ name: dataset.dated }, bound), ""]));
  const view = viewOf(parameters);
  const inset = useInset();
  const handle = useRef(null);
  const [isTall, setTall] = useState(false);
  const [isDrawing, setDrawing] = useState(false);
  const [endDrawing, setEndDrawing] = useState(null);
  const outline = useOutline(parameters[AREA]);
  // Mode and minutes of travel while the starting point has to be clicked.
  const [travel, setTravel] = useState(null);
  const [box, setBox] = useState("");
  const layers = useMapLayers(parameters, box);
  const [feature, setFeature] = useState(null);
  // The layer of the feature may have been hidden, or the map may have moved away.
  const isShown = Boolean(feature) && layers.list.some(({ name, attributes }) => name === feature.layer && attributes.has(feature.feature));
  // The record opened here and the clicked area, with data that the URL does not contain.
  const [kept, setKept] = useState(null);
  const [clicked, setClicked] = useState(null);
  const [listed, setListed] = useState([]);
  const [lit, setLit] = useState(null);
  const [onScreen, setOnScreen] = useState({ values: [] });
  const panel = useRef(null);
  const opened = parameters.place || parameters.record || "";
  const of = useRecord(dataset, parameters.place ? "" : parameters.record, kept);
  const records = opened && of.record ? [of.record] : listed;
  const spots = records.map((record) => ({ at: dataset.place(record), ...dataset.card(record) })).filter(({ at }) => at)
    .map(({ at, id, title, price }) => ({ id, at, label: [title, price].filter(Boolean).join(" · ") }));
  const openRecord = (record) => {
    setKept(record);
    set({ ...CLOSED, record: dataset.card(record).id }, true);
  };
  const openPlace = (area, there) => {
    setClicked(area);
    set({ ...CLOSED, place: area.code, ...there }, true);
  };
  const close = () => opened && set(CLOSED, true);
  useOpenedFocus(panel, opened);
  useEscape(Boolean(opened) && !isDrawing && !travel && !isShown, close);
  useEscape(Boolean(travel), () => setTravel(null));
  useEscape(isShown, () => setFeature(null));
  const pick = (spot) => {
    if (travel) {
      setTravel(null);
      return set({ [AREA]: reachText({ ...travel, lon: spot.lon, lat: spot.lat }) });
    }
    setFeature(spot.id ? null : spot.feature ?? null);
    if (spot.feature && !spot.id) return undefined;
    if (!spot.id) return spot.area ? openPlace(spot.area) : close();
    const known = listed.find((record) => dataset.card(record).id === spot.id);
    if (known) return openRecord(known);
    return attempt(async () => {
      const { records: found } = await dataset.search(filters, dataset.near(spot, NEAR_M));
      const record = found.find((one) => dataset.card(one).id === spot.id) ?? found[0];
      if (record) openRecord(record);
    });
  };
  const goToPosition = ({ lat, lon }, zoom = PLACE_ZOOM.housenumber) => set({ ...CLOSED, lat, lon, zoom }, true);
  const goTo = (feature) => {
    const { lat, lon, city } = placeOf(feature);
    const zoom = PLACE_ZOOM[feature.properties.type] ?? PLACE_ZOOM.street;
    if (feature.properties.type !== "municipality") return goToPosition({ lat, lon }, zoom);
    return openPlace({ code: city, name: feature.properties.city, isBare: true }, { lat, lon, zoom });
  };
  // A resized map reports that it moved. Writing the same URL again would cancel a pending step in the browser's history.
  const moved = (to) => {
    const written = (there) => there && [there.lat.toFixed(5), there.lon.toFixed(5), there.zoom.toFixed(2)];
    const [lat, lon, zoom] = written(to);
    if (String([lat, lon, zoom]) !== String(written(view))) set({ lat, lon, zoom });
  };
  // Single points have their own figure.
  const coloured = onScreen.ofPoints ?? figure;
  const legend = { figure: coloured, title: compared ? word("changeBetween", { from: compared[0], to: compared[1] }) : word(`figure.${coloured}`) };
  const draw = () => {
    setEndDrawing(null);
    setDrawing(true);
  };
  return html`<div class="mapscreen">
    <${MapView} dataset=${name} by=${by} figure=${figure} filters=${later ?? (ofTiles && dataset.toTiles(ofTiles))} earlier=${earlier} view=${view} inset=${inset} handle=${handle}
      isReady=${Boolean(fields.value) && Boolean(compared) === isCompared}
      spots=${spots} lit=${opened && of.record ? dataset.card(of.record).id : lit} onLit=${setLit} onPick=${pick} onFigures=${setOnScreen} onBox=${setBox}
      layers=${layers.list} home=${reach ? [reach.lon, reach.lat] : undefined} outline=${outline} isDrawing=${isDrawing} onDrawn=${(drawn) => { setDrawing(false); set({ [AREA]: drawn ?? "" }); }} onEndable=${(end) => setEndDrawing(() => end)}
      onMove=${moved} />
    <section ref=${panel} class=${`panel ${isTall ? "tall" : ""} ${opened ? "opened" : ""}`} aria-label=${word("results")}>
      <button type="button" class="grab" aria-label=${word("resize")} aria-expanded=${String(isTall)} onClick=${() => setTall(!isTall)}></button>
      <div class="panelhead">
        ${may("geocoding") && html`<${AddressField} label=${word("goTo")} onPick=${goTo} onPosition=${goToPosition} />`}
        <${Segments} label=${word("dataset")} value=${name} values=${Object.keys(DATASETS).map((one) => [one, word(`${one}.short`)])}
          onChange=${(one) => set({ ...withoutFilters(parameters), ...CLOSED, dataset: one })} />
        <${Waiting} of=${fields} lines=${1} />
        ${fields.value && html`<${FilterChips} fields=${fields.value} usual=${dataset.usual} parameters=${parameters} set=${set} />`}
      </div>
      ${opened && html`<${Opened} name=${name} of=${of} place=${parameters.place} area=${clicked} close=${close} />`}
      ${fields.value && html`<${Results} isHidden=${Boolean(opened)} key=${name} name=${name} filters=${filters} view=${view} isInArea=${Boolean(place?.area)} lit=${lit} onLit=${setLit} onList=${setListed}
            onPick=${openRecord} alert=${may("alerts") && `#/alerts?${new URLSearchParams({ new: 1, dataset: name, ...onlyFilters(parameters), ...onlyPlace(parameters) })}`}
            onClear=${chosen && (() => set({ ...withoutFilters(parameters), ...ANYWHERE }))} />`}
    </section>
    <div class="maptools">
      <${Segments} label=${word("gathered")} value=${by} onChange=${(one) => set({ by: one, ...(one === "hexagons" && isCompared && { figure: "" }) })}
        values=${[["hexagons", word("hexagons")], ["areas", word(view && view.zoom >= COMMUNES_ZOOM ? "communes" : "departments")]]} />
      ${figures.length > 1 && html`<${Segments} label=${word("colour")} value=${figure} values=${figures.map((one) => [one, word(`figure.${one}.short`)])} onChange=${(one) => set({ figure: one, ...(one === "change" && anyDate()) })} />`}
      ${isDrawing || travel ? html`<button type="button" class="compact" aria-label=${word("cancelArea")} title=${word("cancelArea")} onClick=${() => { setDrawing(false); setTravel(null); }}><${Icon} name="area" small /><span class="wide">${word("cancelArea")}</span></button>`
        : html`<${PlaceButton} parameters=${parameters} set=${set} onDraw=${draw} onPoint=${setTravel} middle=${view && { lon: view.lon, lat: view.lat }} />`}
      <${Popover} className="compact" content="menu" label=${word("overseas")} title=${word("overseas")} button=${html`<${Icon} name="globe" small /><span class="wide">${word("overseas")}</span>`}>
        ${(close) => html`<button type="button" onClick=${() => { close(); set({ lat: "", lon: "", zoom: "" }); }}>${word("mainland")}</button>
          ${Object.entries(OVERSEAS).map(([place, [lon, lat, zoom]]) => html`<button type="button" onClick=${() => { close(); set({ lon, lat, zoom }); }}>${place}</button>`)}`}<//>
      <${Popover} className="compact" content="menu" label=${word("share")} title=${word("share")} button=${html`<${Icon} name="link" small /><span class="wide">${word("share")}</span>`}>
        ${(close) => html`<button type="button" onClick=${() => { close(); copy(location.href, word("linkCopied")); }}><${Icon} name="link" small />${word("copyLink")}</button>
          <button type="button" onClick=${() => { close(); attempt(async () => saveFile(await handle.current.save(legend), "toise.png")); }}><${Icon} name="download" small />${word("savePicture")}</button>`}<//>
    </div>
    ${isDrawing && html`<div class="maphint"><span role="status">${word("drawingArea")}</span>
      ${endDrawing && html`<button type="button" class="primary compact" onClick=${endDrawing}>${word("done")}</button>`}</div>`}
    ${travel && html`<div class="maphint"><span role="status">${word("reachClick")}</span></div>`}
    ${isShown && !isDrawing && !travel && html`<${FeatureCard} list=${layers.list} picked=${feature} close=${() => setFeature(null)} />`}
    <div class="mapfoot"><${LayerLegend} of=${layers} parameters=${parameters} set=${set} />
      ${reach && html`<p class="legend"><small>${word("reachTiles")}</small></p>`}
      <${Legend} ...${legend} figures=${onScreen.values} />
      ${compared ? html`<${Comparison} periods=${years.years} compared=${compared} onChange=${([before, after]) => set({ before, after })}
        label=${word("comparedYears")} labels=${[word("earlierYear"), word("laterYear")]} />`
        : dataset.dated && html`<${Years} field=${dataset.dated} of=${years} parameters=${parameters} set=${set} />`}</div>
  </div>`;
}

/** The results around the map's centre, newest first; further pages by cursor. */
function Results({ name, isHidden, filters, view, isInArea, lit, onLit, onList, onPick, alert, onClear }) {
  const dataset = DATASETS[name];
  const [more, setMore] = useState({ pages: [], cursor: undefined });
  const list = useRef(null);
  // A tile of 512 pixels is the world at zoom 0.
  const metres = view && !isInArea && view.zoom > LOCAL_ZOOM ? Math.min(RADIUS_M_MAX, Math.round((40_075_000 * Math.cos((view.lat * Math.PI) / 180) * RADIUS_PX) / 512 / 2 ** view.zoom)) : null;
  const near = metres ? dataset.near({ lat: view.lat, lon: view.lon }, metres) : {};
  const asked = JSON.stringify([filters, near]);
  const first = useLoaded(async (signal) => {
    const page = await dataset.search(filters, near, null, signal);
    setMore({ pages: [], cursor: undefined });
    return page;
  }, [asked]);
  const records = first.value ? [...first.value.records, ...more.pages] : [];
  useEffect(() => onList(records), [first.value, more.pages]);
  useEffect(() => {
    if (!list.current?.matches(":hover")) list.current?.querySelector(".lit")?.scrollIntoView({ block: "nearest" });
  }, [lit]);
  const cursor = first.value && (more.cursor === undefined ? first.value.cursor : more.cursor);
  const [isBusy, setBusy] = useState(false);
  const newest = useRef(asked);
  newest.current = asked;
  const next = async () => {
    if (isBusy) return;
    setBusy(true);
    await attempt(async () => {
      const page = await dataset.search(filters, near, cursor);
      // A new search starts at its first page.
      if (newest.current === asked) setMore((before) => ({ pages: [...before.pages, ...page.records], cursor: page.cursor }));
    });
    setBusy(false);
  };
  // Loaded results and scroll position are kept while a record is open.
  return html`<div class="list" hidden=${isHidden}><div class="row spread count"><p role="status">${first.value ? html`<b>${number(first.value.total)}</b> ${word(metres ? "resultsHere" : isInArea ? "resultsArea" : "resultsAll")}` : first.isLoading && word("loading")}</p>
      <span class="row tight">${!alert && first.value && html`<span class="nowrap">${word("newestFirst")}</span>`}
        ${alert && html`<a class="button compact" href=${alert}><${Icon} name="alerts" small />${word("newAlert")}</a>`}
        ${records.length > 0 && html`<${CsvButton} key=${asked} name=${`toise-${name}`}
          pages=${(signal) => pagesOf(dataset, filters, near, signal)} />`}</span></div>
    <div class="results" ref=${list} tabindex="-1"><${Waiting} of=${first} lines=${9} />
      ${first.value && records.length === 0 && html`<${Empty} icon="search" title=${word("nothing")} text=${word(onClear ? "nothingFiltered" : metres ? "nothingNear" : `${name}.none`)}>
        ${onClear ? html`<button type="button" onClick=${onClear}>${word("clearFilters")}</button>` : !metres && html`<code>${START[name]}</code>`}<//>`}
      <ul class="cards">${records.map((record) => html`<${Card} key=${dataset.card(record).id} card=${dataset.card(record)} isLit=${dataset.card(record).id === lit} onLit=${onLit} onPick=${() => onPick(record)} />`)}</ul>
      ${cursor && html`<button type="button" class="more" aria-busy=${String(isBusy)} onClick=${next}>${word("more")}</button>`}</div></div>`;
}
