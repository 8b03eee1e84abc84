/** One home: finds it by its address or a click, values it, and shows sales, diagnostics and adverts around it. */

import { addressOf } from "../addresses.js";
import { call, may } from "../api.js";
import { CsvButton } from "../csvfile.js";
import { HOME_PARAMETERS, NO_PLACE, USUAL, estimateOf, isCertain, placeOf, typeOf, noEffect } from "../dwelling.js";
import { counted, day, distance, euros, number, perM2, squareMetres, word } from "../language.js";
import { MapView, hasMap } from "../map.js";
import { Badge, Empty, Head, Icon, Note, Table, Waiting, html, useEffect, useLoaded, useRef, useDebounced, useState } from "../parts.js";
import { AddressField, context, placeIcon, positionOf, positionText } from "../places.js";
import { IntervalBar, Waterfall } from "../plot.js";
import { Around, Prices } from "./homearound.js";
import { RentAndReport } from "./rentandreport.js";
import { WhatIf } from "./whatif.js";

/** Sales on the map in addition to the comparables. */
const COMPARABLES_KM = "5km";
/** Maximum results of the geocoder to choose from if none is certain. */
const CANDIDATES = 5;
/** Delay after a change before a value is requested, milliseconds. */
const DELAY_MS = 250;
/** From this zoom on, a click selects a home; below it, a click zooms in until buildings can be distinguished. */
const CLICK_ZOOM_MIN = 13;
const BUILDINGS_ZOOM = 15;
/** Sales that are read to find example addresses, and the number of examples. */
const EXAMPLES_READ = 20;
const EXAMPLES_MAX = 3;
/** A value is rounded to this amount if its interval is several times wider, EUR. */
const ROUND_EUR = 1_000;
const ROUND_WIDER_EUR = 5_000;
/** Types of sales that count as homes. */
const HOMES_SOLD = ["Appartement", "Maison"];
const CONFIDENCE = { HIGH: "good", MEDIUM: "accent", LOW: "warn" };

export function Home({ parameters, set }) {
  const [fault, setFault] = useState(null);
  // The entered text that is not a certain address, and the places that it may mean.
  const [asked, setAsked] = useState("");
  const [candidates, setCandidates] = useState([]);
  const [comparables, setComparables] = useState([]);
  const [lit, setLit] = useState(null);
  const [isFar, setFar] = useState(false);
  const handle = useRef(null);
  const pick = (place) => {
    setFar(false);
    setAsked("");
    setFault(null);
    setCandidates([]);
    set({ ...NO_PLACE, town: "", ...place }, true);
  };
  const choose = (feature) => pick({ ...placeOf(feature), town: feature.properties.type === "municipality" ? 1 : "" });
  const find = async (text) => {
    const position = positionOf(text);
    if (position) return pick(position);
    // The value of the previous place would look like that of this address.
    setAsked(text);
    setFault(null);
    setCandidates([]);
    set({ ...NO_PLACE, town: "" });
    if (!may("geocoding")) return setFault(word("positionOnly"));
    try {
      const { features } = await call("GET", `/geocoding/search?limit=${CANDIDATES}&q=${encodeURIComponent(text)}`);
      if (features.length === 0) return setFault(word("nothing"));
      return isCertain(features[0], text) ? pick(placeOf(features[0])) : setCandidates(features);
    } catch (error) {
      return setFault(error.message);
    }
  };
  const click = ({ lat, lon, zoom, id }) => {
    if (zoom >= CLICK_ZOOM_MIN) return id || pick({ lat: lat.toFixed(6), lon: lon.toFixed(6) });
    setFar(true);
    return handle.current.flyTo({ lat, lon, zoom: BUILDINGS_ZOOM });
  };
  const at = parameters.lat && { lat: Number(parameters.lat), lon: Number(parameters.lon) };
  const isHome = at && !parameters.town;
  // The commune of a clicked position, for its prices, and the nearest address.
  const place = useLoaded(async (signal) => {
    if (!at || parameters.city || !may("geocoding")) return { city: parameters.city };
    const found = await call("GET", `/geocoding/reverse?limit=1&lat=${at.lat}&lon=${at.lon}`, undefined, { signal, isQuiet: true });
    const near = found.features[0]?.properties;
    return { city: near?.citycode, near: near && near.type !== "municipality" ? near.label : null };
  }, [parameters.lat, parameters.lon, parameters.city]);
  const spots = comparables.map(({ id, location, address, price_eur: price }) => ({ id, at: [location.lon, location.lat], label: `${addressOf(address)} · ${euros(price)}` }));
  const map = hasMap() && html`<div class="card flush mapcard"><${MapView} view=${at && { ...at, zoom: 15 }} isFitted=${Boolean(at)} home=${at ? [at.lon, at.lat] : undefined} spots=${isHome ? spots : []}
    dataset="dvf" lit=${lit} onLit=${setLit} handle=${handle} onPick=${click} />
    ${isFar && html`<p class="maphint" role="status">${word("clickBuilding")}</p>`}</div>`;
  return html`<div class="page home">
    <${Head} title=${word("home")} about=${word("homeAbout")}>${isHome && html`<button type="button" onClick=${() => print()}><${Icon} name="print" />${word("print")}</button>`}<//>
    <${AddressField} isLarge label=${word(may("geocoding") ? "enterAddress" : "enterPosition")} given=${parameters.label || asked} onPick=${choose} onText=${find} />
    ${fault && html`<${Note} kind="bad" role="alert">${fault}<//>`}
    ${candidates.length > 0 && html`<${Note} kind="warn" role="alert"><b>${word("meant")}</b><ul class="candidates">${candidates.map((one) => html`<li>
      <button type="button" onClick=${() => choose(one)}><${Icon} name=${placeIcon(one)} small />${one.properties.label}</button>
      <small class="quiet">${context(one)}</small></li>`)}</ul><//>`}
    ${parameters.town && at && html`<${Note}><b>${parameters.label}</b> ${word("townOnly")}<//>`}
    ${isHome && !parameters.label && html`<p class="quiet">${place.value?.near ? word("near", { address: place.value.near }) : positionText(at)}</p>`}
    ${isHome && html`<p class="printed">${parameters.label} · ${word(parameters.type === "CLASS_HOUSE" ? "house" : "flat")}, ${number(Number(parameters.surface || USUAL.surface))} m²,${" "}
      ${counted("someRooms", Number(parameters.rooms || USUAL.rooms))} · ${positionText(at)} · ${word("printed")} ${day(Date.now())}</p>`}
    ${isHome ? html`<${Valued} key=${`${parameters.lat} ${parameters.lon}`} at=${at} parameters=${parameters} set=${set} onComparables=${setComparables} lit=${lit} onLit=${setLit} map=${map} />`
      : html`${!parameters.town && candidates.length === 0 && html`<div class="card">
        <${Empty} icon="home" title=${word("homeEmpty")} text=${word(`homeEmpty.${may("geocoding") ? "address" : "position"}${hasMap() ? "OrMap" : ""}`)}>
        <${Examples} onPick=${pick} /><//></div>`}${map}`}
    ${at && html`<${Prices} city=${place.value?.city} type=${typeOf(parameters)} />`}
    ${isHome && may("search") && html`<${Around} at=${at} />`}
  </div>`;
}

/** Addresses of recently sold homes, as examples. */
function Examples({ onPick }) {
  const sold = useLoaded(async (signal) => {
    if (!may("search")) return [];
    const body = { filters: { property_type: HOMES_SOLD }, sortBy: "transaction_date", size: EXAMPLES_READ };
    return (await call("POST", "/v2/protected/opendata/dvf/search", body, { signal, isQuiet: true })).data;
  }, []);
  const isWhole = (sale) => /^\d/.test(sale.address ?? "") && sale.location && sale.surface_m2 && sale.main_rooms;
  const homes = (sold.value ?? []).filter(isWhole).slice(0, EXAMPLES_MAX);
  const labelOf = (sale) => `${addressOf(sale.address)}, ${sale.city.replace(/ Arrondissement$/, "")}`;
  const place = (sale) => {
    const isHouse = sale.property_type === "Maison";
    return {
      lat: sale.location.lat, lon: sale.location.lon, label: labelOf(sale), city: sale.insee_code, type: isHouse ? "CLASS_HOUSE" : "CLASS_FLAT",
      surface: Math.round(sale.surface_m2), rooms: sale.main_rooms, land: isHouse ? sale.land_surface_m2 ?? "" : "",
    };
  };
  return homes.length > 0 && html`<div class="chips centred" role="group" aria-label=${word("homeExamples")}><span>${word("homeExamples")}</span>
    ${homes.map((sale) => html`<button type="button" class="chip" key=${sale.id} onClick=${() => onPick(place(sale))}><span>${labelOf(sale)}</span></button>`)}</div>`;
}

/** Describes the assumptions about a home: all values, or the unstated ones; nothing if all are stated. */
function assumedText(parameters, surface) {
  const rooms = Number(parameters.rooms || USUAL.rooms);
  if (HOME_PARAMETERS.every((name) => !parameters[name])) return word("assumed", { surface: squareMetres(surface), rooms: counted("someRooms", rooms) });
  const values = [!parameters.surface && squareMetres(surface), !parameters.rooms && counted("someRooms", rooms)].filter(Boolean);
  return values.length > 0 ? word("assumedToo", { values: values.join(", ") }) : "";
}

/** The value of a home with its reasons, and the controls for what-if. */
function Valued({ at, parameters, set, onComparables, lit, onLit, map }) {
  const body = useDebounced(estimateOf(at, parameters), DELAY_MS);
  const asked = useLoaded(async (signal) => {
    const { data } = await call("POST", "/v2/protected/estimate/property/lite", body, { signal });
    const places = await placed(data.metadata.comparables ?? [], at, signal);
    return { ...data, places, body, surface: body.habitation.surface.total };
  }, [JSON.stringify(body)]);
  const value = asked.value;
  useEffect(() => {
    onComparables(value ? [...value.places.values()] : []);
    return () => onComparables([]);
  }, [value]);
  // The first value of the place; what-if compares with it.
  const first = useRef(null);
  if (value && !first.current) first.current = { price: value.price, parameters: Object.fromEntries(HOME_PARAMETERS.map((name) => [name, parameters[name] ?? ""])) };
  const difference = value ? value.price - first.current.price : 0;
  const comparables = value?.metadata.comparables ?? [];
  const dots = comparables.map((sale) => ({ id: sale.id, price: (sale.price / sale.surface) * value.surface, label: `${addressOf(value.places.get(sale.id)?.address) || word("sale")} · ${perM2(sale.price / sale.surface)}` }));
  const silent = value ? noEffect(parameters, value.metadata.contributions) : [];
  const { lower, upper } = value?.priceRange ?? {};
  const headline = value && upper - lower > ROUND_WIDER_EUR ? Math.round(value.price / ROUND_EUR) * ROUND_EUR : value?.price;
  const assumed = value && assumedText(parameters, value.surface);
  const isFlat = typeOf(parameters) === "CLASS_FLAT";
  // A flat has no land, which makes its value different from that of the typical home.
  const nameOf = (name) => {
    if (isFlat && name === "landSurface") return word("noLand");
    return name.startsWith("has") ? word(`feature.${name.slice(3)}`) : word(`part.${name}`).replace("part.", "");
  };
  const comparablesPages = async function* () {
    const placeOfSale = ({ address, city } = {}) => ({ address, city });
    yield { rows: comparables.map((sale) => ({ ...sale, ...placeOfSale(value.places.get(sale.id)) })), total: comparables.length };
  };
  const parts = Object.entries(value?.metadata.contributions ?? {}).filter(([, amount]) => amount !== 0);
  return html`<div class="valued">
    <div class="stack"><section class="card value" aria-label=${word("value")} aria-busy=${String(Boolean(asked.isLoading))}>
      <${Waiting} of=${asked} lines=${5} />
      ${value && html`
        <div class="row spread"><h2>${word("estimatedValue")}</h2><${Badge} kind=${`${CONFIDENCE[value.metadata.confidence]} dot`}>${word(`confidence.${value.metadata.confidence}`)}<//></div>
        <div class="row spread end"><p class="big" title=${euros(value.price)}>${euros(headline)}</p>
          <p class="beside quiet"><span>${perM2(value.price / value.surface)}</span>
          ${difference !== 0 && html`<span class=${difference > 0 ? "up" : "down"}>${difference > 0 ? "+" : ""}${euros(difference)} ${word("thanFirst")}</span>`}</p></div>
        <${IntervalBar} value=${value.price} lower=${lower} upper=${upper} dots=${dots} lit=${lit} onHover=${onLit} />
        <p class="quiet"><small>${word("intervalAbout", { share: number(value.metadata.coverage * 100) })}${dots.length > 0 ? ` ${word("dotsAbout", { surface: squareMetres(value.surface) })}` : ""}</small></p>
        ${value.metadata.warning && html`<${Note} kind="warn">${word(`warning.${value.metadata.warning}`)}${value.metadata.nearest_sale_m > 0 ? ` ${word("nearestSale", { distance: distance(value.metadata.nearest_sale_m) })}` : ""}<//>`}
        ${silent.length > 0 && html`<${Note}>${word("noEffect", { names: silent.map((name) => word(name).toLowerCase()).join(", ") })}<//>`}
        ${assumed && html`<${Note}>${assumed}<//>`}
        <${RentAndReport} body=${value.body} price=${value.price} />`}
    </section>
    ${value && html`<section class="card"><h2>${word("contributions")}</h2>
      <${Waterfall} show=${euros} total=${[word("value"), value.price]} parts=${parts.map(([name, amount]) => [nameOf(name), amount])} /></section>`}</div>
    <${WhatIf} parameters=${parameters} set=${set} onReset=${difference !== 0 && (() => set(first.current.parameters))} />
    ${value && html`<section class="card"><div class="row spread"><h2>${word("comparables")}</h2>
        ${comparables.length > 0 && html`<${CsvButton} name="toise-comparables" pages=${comparablesPages} />`}</div>
      <${Table} rows=${comparables} onHover=${(sale) => onLit(sale?.id ?? null)} isLit=${(sale) => sale.id === lit} empty=${word("noComparables")} columns=${[
        ...(value.places.size > 0 ? [[word("address"), (sale) => addressOf(value.places.get(sale.id)?.address) || word("unknown")]] : []), [word("date"), (sale) => html`<span class="nowrap">${day(sale.date)}</span>`],
        [word("surface"), (sale) => squareMetres(sale.surface), true], [word("price"), (sale) => html`<b>${euros(sale.price)}</b>`, true],
        [word("perM2"), (sale) => perM2(sale.price / sale.surface), true], [word("distance"), (sale) => distance(sale.distance_m), true]]} /></section>`}
    ${map}
  </div>`;
}

/** Sales that were already read, by identifier, because a change of the home needs many of them again. */
const known = new Map();

/** Returns the recorded sales behind comparables by identifier, if the key may search them. */
async function placed(comparables, at, signal) {
  if (!may("search")) return new Map();
  const search = async (id) => {
    if (known.has(id)) return known.get(id);
    const filters = { id, location: { ...at, distance: COMPARABLES_KM } };
    const { data } = await call("POST", "/v2/protected/opendata/dvf/search", { filters, sortBy: "transaction_date", size: 1 }, { signal, isQuiet: true });
    known.set(id, data[0]);
    return data[0];
  };
  const found = await Promise.allSettled(comparables.map((sale) => search(sale.id)));
  return new Map(found.map(({ value }) => value).filter((sale) => sale?.location).map((sale) => [sale.id, sale]));
}
