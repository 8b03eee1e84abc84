/** One home: found by its address or a click, valued, with what was sold, diagnosed and offered around it. */

import { call, may } from "../api.js";
import { NOWHERE, USUAL, bedroomsOf, estimateOf, isSure, placeOf } from "../dwelling.js";
import { day, euros, number, word } from "../language.js";
import { MapView } from "../map.js";
import { Field, Granted, Outside, Table, Typed, Waiting, html, useLoaded, useState } from "../parts.js";
import { LinePlot, Waterfall } from "../plot.js";

/** Sales and diagnostics of the building and its neighbours lie within this many metres; adverts, which are placed less
    exactly, within this many kilometres. */
const NEAR_M = 150;
const ADVERTS_KM = 1;
/** Sales beside the comparables, on the map. */
const COMPARABLES_KM = "5km";
/** Results of the geocoder that are asked about where none is sure. */
const CANDIDATES = 5;
const TYPES = [["CLASS_FLAT", "flat"], ["CLASS_HOUSE", "house"]];

export function Home({ parameters, set }) {
  const [fault, setFault] = useState(null);
  // Places that may be meant, where none is surely.
  const [candidates, setCandidates] = useState([]);
  const [marks, setMarks] = useState([]);
  const find = async (event) => {
    event.preventDefault();
    const text = new FormData(event.target).get("address");
    setFault(null);
    setCandidates([]);
    try {
      const { features } = await call("GET", `/geocoding/search?limit=${CANDIDATES}&q=${encodeURIComponent(text)}`);
      const [first] = features;
      if (!first) throw new Error(word("nothing"));
      if (isSure(first, text)) return set(placeOf(first), true);
      setCandidates(features);
    } catch (error) {
      setFault(error.message);
    }
    // The value of the place before would look like that of this address.
    set(NOWHERE, true);
  };
  const pick = (place) => {
    setFault(null);
    setCandidates([]);
    set(place, true);
  };
  const at = parameters.lat && { lat: Number(parameters.lat), lon: Number(parameters.lon) };
  // The commune of a click, for its prices.
  const place = useLoaded(async (signal) => {
    if (!at || parameters.city) return parameters.city ?? null;
    const found = await call("GET", `/geocoding/reverse?limit=1&lat=${at.lat}&lon=${at.lon}`, undefined, { signal, isQuiet: true });
    return found.features[0]?.properties.citycode ?? null;
  }, [parameters.lat, parameters.lon, parameters.city]);
  return html`<div class="home">
    <form class="filters" onSubmit=${find}>
      <${Field} label=${word("address")}><input name="address" size="40" required placeholder=${word("enterAddress")} /><//>
      <button>${word("search")}</button>
      <${Choice} name="type" label=${word("type")} parameters=${parameters} set=${set} values=${TYPES.map(([value, label]) => [value, word(label)])} />
      <${Amount} name="surface" label=${word("surface")} parameters=${parameters} set=${set} usual=${USUAL.surface} />
      <${Amount} name="rooms" label=${word("rooms")} parameters=${parameters} set=${set} usual=${USUAL.rooms} />
      <${Amount} name="bedrooms" label=${word("bedrooms")} least="0" parameters=${parameters} set=${set} usual=${bedroomsOf(Number(parameters.rooms || USUAL.rooms))} />
      <button type="button" class="plain" onClick=${() => print()}>${word("print")}</button>
    </form>
    ${fault && html`<p class="fault" role="alert">${fault}</p>`}
    ${candidates.length > 0 && html`<div role="alert"><p>${word("meant")}</p><ul class="candidates">${candidates.map((one) => html`<li>
      <button type="button" class="plain" onClick=${() => pick(placeOf(one))}>${one.properties.label}</button>
      <small>${word(`confidence.${one.properties.confidence}`)}</small></li>`)}</ul></div>`}
    ${parameters.label && html`<p>${word("understood")} <b>${parameters.label}</b></p>`}
    ${at && html`<p class="printed">${word(parameters.type === "CLASS_HOUSE" ? "house" : "flat")}, ${number(Number(parameters.surface || USUAL.surface))} m²,${" "}
      ${number(Number(parameters.rooms || USUAL.rooms))} ${word("rooms").toLowerCase()} · ${number(at.lat, 5)}, ${number(at.lon, 5)} · ${word("printed")} ${day(Date.now())}</p>`}
    <div class="mapped"><${MapView} key=${`${parameters.lat} ${parameters.lon}`} view=${at && { ...at, zoom: 15 }} isFitted=${true} marks=${at ? [[at.lon, at.lat], ...marks] : []} dataset="dvf"
      onPick=${({ lat, lon }) => pick({ ...NOWHERE, lat: lat.toFixed(6), lon: lon.toFixed(6) })} /></div>
    ${at && html`<${Valued} at=${at} parameters=${parameters} onComparables=${setMarks} />`}
    ${at && html`<${Prices} city=${place.value} type=${parameters.type || USUAL.type} /><${Around} at=${at} />`}
  </div>`;
}

const Choice = ({ name, label, parameters, set, values }) => html`<${Field} label=${label}>
  <select value=${parameters[name] ?? values[0][0]} onChange=${(event) => set({ [name]: event.target.value })}>
    ${values.map(([value, shown]) => html`<option value=${value}>${shown}</option>`)}</select><//>`;

const Amount = ({ name, label, parameters, set, usual, least = "1" }) => html`<${Field} label=${label}>
  <${Typed} type="number" min=${least} size="5" given=${parameters[name] ?? usual} onChange=${(event) => set({ [name]: event.target.value })} /><//>`;

function Valued({ at, parameters, onComparables }) {
  const body = estimateOf(at, parameters);
  const asked = useLoaded(async (signal) => {
    onComparables([]);
    const { data } = await call("POST", "/v2/protected/estimate/property/lite", body, { signal });
    const places = await placed(data.metadata.comparables ?? [], at, signal);
    onComparables([...places.values()].map(({ location }) => [location.lon, location.lat]));
    return { ...data, places };
  }, [JSON.stringify(body)]);
  const value = asked.value;
  const parts = Object.entries(value?.metadata.contributions ?? {}).filter(([, amount]) => amount !== 0);
  return html`<${Granted} scope="ai"><section>
    <h2>${word("value")}</h2><${Waiting} of=${asked} />
    ${value && html`<p class="big">${euros(value.price)}</p>
      <p>${word("interval")} ${number(value.metadata.coverage * 100)} %: ${euros(value.priceRange.lower)} – ${euros(value.priceRange.upper)} · ${word(`confidence.${value.metadata.confidence}`)}</p>
      ${value.metadata.warning && html`<p class="fault">${value.metadata.warning}</p>`}
      <h3>${word("contributions")}</h3><${Waterfall} show=${euros} total=${[word("value"), value.price]} parts=${parts.map(([name, amount]) => [word(`part.${name}`).replace("part.", ""), amount])} />
      <h3>${word("comparables")}</h3><${Table} rows=${value.metadata.comparables ?? []} columns=${[
        [word("date"), (sale) => day(sale.date)], [word("address"), (sale) => value.places.get(sale.id)?.address ?? ""], [word("surface"), (sale) => number(sale.surface), true],
        [word("price"), (sale) => euros(sale.price), true], [word("perM2"), (sale) => euros(sale.price / sale.surface), true], ["m", (sale) => number(sale.distance_m), true]]} />`}
  </section><//>`;
}

/** The recorded sales behind comparables, by identifier, where the key may search them. */
async function placed(comparables, at, signal) {
  if (!may("search")) return new Map();
  const search = async (id) => {
    const filters = { id, location: { ...at, distance: COMPARABLES_KM } };
    const { data } = await call("POST", "/v2/protected/opendata/dvf/search", { filters, sortBy: "transaction_date", size: 1 }, { signal, isQuiet: true });
    return data[0];
  };
  const found = await Promise.allSettled(comparables.map((sale) => search(sale.id)));
  return new Map(found.map(({ value }) => value).filter((sale) => sale?.location).map((sale) => [sale.id, sale]));
}

/** Prices of the commune and of its department by quarter, and the price index of the department. */
function Prices({ city, type }) {
  const department = city && (city.startsWith("97") ? city.slice(0, 3) : city.slice(0, 2));
  const ask = (level, location, signal) => call("POST", "/v2/protected/analytics/market", { level, by: "quarter", location }, { signal, isQuiet: true });
  // Paris, Lyon and Marseille are recorded by arrondissement: their department stands for them.
  const asked = useLoaded(async (signal) => {
    if (!city || !may("analytics")) return null;
    const [commune, around] = await Promise.all([ask("commune", { communes: [city] }, signal), ask("department", { departments: [department] }, signal)]);
    return { commune: commune.data, department: around.data };
  }, [city]);
  if (asked.error) return html`<${Waiting} of=${asked} />`;
  const rows = (level) => (asked.value?.[level] ?? []).filter((row) => row.type === type && (level === "department" || row.place === city));
  const periods = [...new Set([...rows("commune"), ...rows("department")].map((row) => row.period))].sort();
  if (periods.length < 2) return null;
  const line = (level, label, field) => ({ label, values: periods.map((period) => rows(level).find((row) => row.period === period)?.[field] ?? null) });
  const start = (period) => Date.UTC(Number(period.slice(0, 4)), (Number(period.slice(6)) - 1) * 3);
  const nameOf = (level) => rows(level)[0]?.name;
  const names = ["commune", "department"].map(nameOf).filter(Boolean);
  const times = periods.map(start);
  const medians = [line("commune", nameOf("commune"), "price_per_m2_median"), line("department", nameOf("department"), "price_per_m2_median")];
  const index = [line("commune", nameOf("commune"), "index"), line("department", nameOf("department"), "index")];
  const hasAny = (lines) => lines.filter(({ values }) => values.some((value) => value !== null));
  return html`<section><h2>${word("paths")}: ${names.join(", ")}</h2><div class="plots">
    ${hasAny(medians).length > 0 && html`<${LinePlot} title=${word("figure.price_per_m2")} times=${times} lines=${hasAny(medians)} />`}
    ${hasAny(index).length > 0 && html`<${LinePlot} title=${word("index")} times=${times} lines=${hasAny(index)} />`}
  </div></section>`;
}

function Around({ at }) {
  const location = { ...at, distance: `${NEAR_M}m` };
  const open = (name, sortBy) => (signal) => call("POST", `/v2/protected/opendata/${name}/search`, { filters: { location }, sortBy, size: 10 }, { signal, isQuiet: true });
  const key = [at.lat, at.lon];
  const sales = useLoaded(open("dvf", "transaction_date"), key);
  const diagnostics = useLoaded(open("dpe", "date_etablissement_dpe"), key);
  const adverts = useLoaded((signal) => {
    const filterProperty = {
      offer: [{ type: "OFFER_BUY" }], meta: { isTotallyOffline: false },
      location: [{ locationCoordinate: { location: { geoDistance: { pin: at, distanceKm: ADVERTS_KM } } } }],
    };
    return call("POST", "/v2/protected/properties/search", { search: { filterProperty }, sortBy: "FIRST_SEEN_AT", orderBy: "DESC", size: 10 }, { signal, isQuiet: true });
  }, key);
  return html`<${Granted} scope="search"><section><h2>${word("nearbySales")}</h2><${Waiting} of=${sales} />
    ${sales.value && html`<${Table} rows=${sales.value.data} columns=${[
      [word("date"), (sale) => day(sale.transaction_date)], [word("type"), (sale) => sale.property_type], [word("address"), (sale) => sale.address],
      [word("surface"), (sale) => number(sale.surface_m2), true], [word("price"), (sale) => euros(sale.price_eur), true]]} />`}
    <h2>${word("nearbyDiagnostics")}</h2><${Waiting} of=${diagnostics} />
    ${diagnostics.value && html`<${Table} rows=${diagnostics.value.data} columns=${[
      [word("date"), (found) => day(found.date_etablissement_dpe)], [word("energyClass"), (found) => found.etiquette_dpe],
      [word("address"), (found) => found.adresse_ban], [word("surface"), (found) => number(found.surface_habitable_logement), true]]} />`}
    <h2>${word("onlineOffers")} (${ADVERTS_KM} km)</h2><${Waiting} of=${adverts} />
    ${adverts.value && html`<${Table} rows=${adverts.value.data.items} columns=${[
      [word("name"), (home) => html`<${Outside} href=${home.adverts?.[0]?.url}>${home.title}<//>`], [word("type"), (home) => word(home.type === "CLASS_HOUSE" ? "house" : "flat")],
      [word("surface"), (home) => number(home.habitation?.surface?.total), true], [word("price"), (home) => euros(home.price?.latest?.value), true],
      [word("perM2"), (home) => euros(home.price?.latest?.valuePerArea), true]]} />`}
  </section><//>`;
}
