/** The map and what is on it: filters of the contract, results beside the map, one record opened. */

import { call } from "../api.js";
import { day, euros, number, word } from "../language.js";
import { Legend, MapView } from "../map.js";
import { Field, Granted, Outside, Table, Waiting, html, useLoaded, useState } from "../parts.js";
import { LinePlot } from "../plot.js";

const PAGE = 25;
/** A click finds what lies within this many metres. */
const NEAR_M = 60;

const range = (least, most) => {
  const bounds = { ...(least && { min: Number(least) }), ...(most && { max: Number(most) }) };
  return Object.keys(bounds).length ? bounds : undefined;
};
const present = (fields) => {
  const kept = Object.entries(fields).filter(([, value]) => value !== undefined);
  return kept.length ? Object.fromEntries(kept) : undefined;
};

/** What each dataset asks, how its records read, and which filters it has; filters are those of the contract. */
const DATASETS = {
  dvf: {
    filters: (of) => present({
      property_type: of.type && [of.type], price_eur: range(of.pmin, of.pmax), surface_m2: range(of.smin, of.smax),
    }),
    types: [["Appartement", "flat"], ["Maison", "house"]],
    search: async (filters, near, cursor, signal) => {
      const body = { filters: { ...filters, ...near }, sortBy: "transaction_date", size: PAGE, ...(cursor && { cursor }) };
      const answer = await call("POST", "/v2/protected/opendata/dvf/search", body, { signal });
      return { records: answer.data, total: answer.total, cursor: answer.hasMore ? answer.cursor : null };
    },
    near: ({ lat, lon }, metres) => ({ location: { lat, lon, distance: `${metres}m` } }),
    columns: [
      [() => word("date"), (sale) => day(sale.transaction_date)], [() => word("type"), (sale) => sale.property_type],
      [() => word("address"), (sale) => `${sale.address ?? ""} ${sale.city ?? ""}`],
      [() => word("surface"), (sale) => number(sale.surface_m2), true], [() => word("price"), (sale) => euros(sale.price_eur), true],
      [() => word("perM2"), (sale) => euros(sale.price_per_m2_living_eur), true],
    ],
    place: (sale) => sale.location && [sale.location.lon, sale.location.lat],
  },
  dpe: {
    filters: (of) => present({
      etiquette_dpe: of.type && [of.type], surface_habitable_logement: range(of.smin, of.smax),
    }),
    types: [..."ABCDEFG"].map((name) => [name, name]),
    search: async (filters, near, cursor, signal) => {
      const body = { filters: { ...filters, ...near }, sortBy: "date_etablissement_dpe", size: PAGE, ...(cursor && { cursor }) };
      const answer = await call("POST", "/v2/protected/opendata/dpe/search", body, { signal });
      return { records: answer.data, total: answer.total, cursor: answer.hasMore ? answer.cursor : null };
    },
    near: ({ lat, lon }, metres) => ({ location: { lat, lon, distance: `${metres}m` } }),
    columns: [
      [() => word("date"), (found) => day(found.date_etablissement_dpe)],
      [() => word("energyClass"), (found) => html`<b class="class ${found.etiquette_dpe}">${found.etiquette_dpe}</b>`],
      [() => word("address"), (found) => found.adresse_ban ?? found.adresse_brut],
      [() => word("surface"), (found) => number(found.surface_habitable_logement), true],
    ],
    place: (found) => found.location && [found.location.lon, found.location.lat],
  },
  properties: {
    filters: (of) => ({
      filterProperty: {
        offer: [{ type: "OFFER_BUY" }], meta: { isTotallyOffline: false },
        ...present({ type: of.type && [of.type] }),
        ...(range(of.pmin, of.pmax) && { price: { latest: { value: range(of.pmin, of.pmax) } } }),
        ...(range(of.smin, of.smax) && { habitation: { surface: { total: range(of.smin, of.smax) } } }),
      },
    }),
    types: [["CLASS_FLAT", "flat"], ["CLASS_HOUSE", "house"]],
    search: async (filters, near, cursor, signal) => {
      const filterProperty = { ...filters.filterProperty, ...near };
      const body = { search: { filterProperty }, sortBy: "FIRST_SEEN_AT", orderBy: "DESC", size: PAGE, ...(cursor && { searchAfterHash: cursor }) };
      const { data } = await call("POST", "/v2/protected/properties/search", body, { signal });
      return { records: data.items, total: data.count, cursor: data.items.length === PAGE ? data.searchAfterHash : null };
    },
    near: ({ lat, lon }, metres) => ({
      location: [{ locationCoordinate: { location: { geoDistance: { pin: { lat, lon }, distanceKm: metres / 1000 } } } }],
    }),
    columns: [
      [() => word("type"), (home) => word(home.type === "CLASS_HOUSE" ? "house" : "flat")],
      [() => word("name"), (home) => home.title], [() => word("address"), (home) => home.location?.city],
      [() => word("surface"), (home) => number(home.habitation?.surface?.total), true],
      [() => word("price"), (home) => euros(home.price?.latest?.value), true],
    ],
    place: (home) => home.location?.locationCoordinate?.location,
  },
};

export function Market({ parameters, set }) {
  const name = parameters.dataset in DATASETS ? parameters.dataset : "dvf";
  const dataset = DATASETS[name];
  const filters = dataset.filters(parameters);
  const view = parameters.zoom && { lon: Number(parameters.lon), lat: Number(parameters.lat), zoom: Number(parameters.zoom) };
  const [record, setRecord] = useState(null);
  const change = (field) => (event) => set({ [field]: event.target.value });
  const pick = async (spot) => {
    const { records } = await dataset.search(filters ?? {}, dataset.near(spot, NEAR_M));
    setRecord(records.find((one) => [one.id, one.numero_dpe, one.flxId].includes(spot.id)) ?? (spot.id ? records[0] : null));
  };
  return html`<${Granted} scope="search"><div class="market">
    <form class="filters" onSubmit=${(event) => event.preventDefault()}>
      <${Field} label=${word("dataset")}><select value=${name} onChange=${(event) => { setRecord(null); set({ dataset: event.target.value, type: "" }); }}>
        ${Object.keys(DATASETS).map((one) => html`<option value=${one}>${word(one)}</option>`)}</select><//>
      <${Field} label=${name === "dpe" ? word("energyClass") : word("type")}><select value=${parameters.type ?? ""} onChange=${change("type")}>
        <option value="">–</option>${dataset.types.map(([value, label]) => html`<option value=${value}>${word(label)}</option>`)}</select><//>
      ${name !== "dpe" && html`<${Bounds} label=${word("price")} names=${["pmin", "pmax"]} parameters=${parameters} change=${change} />`}
      <${Bounds} label=${word("surface")} names=${["smin", "smax"]} parameters=${parameters} change=${change} />
    </form>
    <div class="mapped">
      <${MapView} dataset=${name} filters=${filters} view=${view} onPick=${pick} marks=${record && dataset.place(record) ? [dataset.place(record)] : []}
        onMove=${(to) => set({ lat: to.lat.toFixed(5), lon: to.lon.toFixed(5), zoom: to.zoom.toFixed(2) })} />
      <${Legend} dataset=${name} />
    </div>
    ${record
      ? html`<${Record} name=${name} record=${record} close=${() => setRecord(null)} />`
      : html`<${Results} key=${name} dataset=${dataset} filters=${filters} view=${view} onPick=${setRecord} />`}
  </div><//>`;
}

const Bounds = ({ label, names, parameters, change }) => html`<fieldset><legend>${label}</legend>
  ${names.map((name, nth) => html`<input type="number" min="0" value=${parameters[name] ?? ""} onChange=${change(name)}
    placeholder=${word(nth ? "max" : "min")} aria-label=${`${label} ${word(nth ? "max" : "min")}`} />`)}</fieldset>`;

/** What is on the map's centre, newest first; more by the cursor. */
function Results({ dataset, filters, view, onPick }) {
  const [more, setMore] = useState({ pages: [], cursor: undefined });
  // About what the map shows: a screen of 800 pixels, 512 to a tile.
  const metres = view && view.zoom > 8 ? Math.min(50_000, Math.round((40_075_000 * Math.cos((view.lat * Math.PI) / 180)) / 2 ** view.zoom)) : null;
  const near = metres ? dataset.near(view, metres) : {};
  const asked = JSON.stringify([filters, near]);
  const first = useLoaded(async (signal) => {
    setMore({ pages: [], cursor: undefined });
    return dataset.search(filters ?? {}, near, null, signal);
  }, [asked]);
  const cursor = more.cursor === undefined ? first.value?.cursor : more.cursor;
  const next = async () => {
    const page = await dataset.search(filters ?? {}, near, cursor);
    setMore((before) => ({ pages: [...before.pages, ...page.records], cursor: page.cursor }));
  };
  return html`<section class="results" aria-live="polite">
    <${Waiting} of=${first} />
    ${first.value && html`<p>${number(first.value.total)} ${word("results")}</p>
      <${Table} columns=${dataset.columns.map(([title, ...rest]) => [title(), ...rest])} rows=${[...first.value.records, ...more.pages]} onPick=${onPick} />
      ${cursor && html`<button type="button" onClick=${next}>${word("more")}</button>`}`}
  </section>`;
}

/** One record: what is known of it, its prices through time, its adverts. */
function Record({ name, record, close }) {
  const [lon, lat] = DATASETS[name].place(record) ?? [];
  const facts = Object.entries(record).filter(([, value]) => ["string", "number", "boolean"].includes(typeof value));
  return html`<section class="results">
    <button type="button" class="plain" onClick=${close}>← ${word("close")}</button>
    ${name === "properties" ? html`<${Listing} home=${record} />` : html`<h2>${record.address ?? record.adresse_ban}</h2>`}
    ${lat && html`<p><a href="#/home?${new URLSearchParams({ lat, lon })}">${word("estimate")} →</a></p>`}
    <dl>${facts.map(([field, value]) => html`<dt>${field}</dt><dd>${String(value)}</dd>`)}</dl>
  </section>`;
}

function Listing({ home }) {
  const seen = (moment) => Date.parse(moment);
  const points = [
    [seen(home.meta?.firstSeenAt), home.price?.initial?.value],
    [seen(home.meta?.lastSeenAt), home.price?.latest?.value],
  ].filter(([at, value]) => at && value);
  return html`<h2>${home.title}</h2>
    <p>${euros(home.price?.latest?.value)} · ${number(home.habitation?.surface?.total)} m² · ${home.location?.postalCode} ${home.location?.city}</p>
    <p class="long">${home.description}</p>
    ${points.length > 1 && html`<${LinePlot} title=${word("history")} isStepped times=${points.map(([at]) => at)}
      lines=${[{ label: word("price"), values: points.map(([, value]) => value) }]} />`}
    <h3>${word("adverts")}</h3>
    <ul>${(home.adverts ?? []).map((advert) => html`<li><${Outside} href=${advert.url}>${advert.source}<//>
      ${" "}${euros(advert.price?.latest?.value)} · ${day(advert.firstSeenAt)} · ${word(advert.isOnline ? "online" : "offline")}</li>`)}</ul>`;
}
