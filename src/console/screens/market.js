/** The map and what is on it: filters of the contract, results beside the map, one record opened. */

import { call, may } from "../api.js";
import { Filters, filtersOf, merged, onlyFilters, useFields, withoutFilters } from "../filters.js";
import { day, euros, number, word } from "../language.js";
import { Legend, MapView, figuresOf } from "../map.js";
import { Field, Granted, Outside, Table, Waiting, html, useLoaded, useState } from "../parts.js";
import { LinePlot } from "../plot.js";

const PAGE = 25;
/** A click finds what lies within this many metres. */
const NEAR_M = 60;

/** A search of sales or diagnostics. */
const openData = (name, sortBy) => async (filters, near, cursor, signal) => {
  const body = { filters: { ...filters, ...near }, sortBy, size: PAGE, ...(cursor && { cursor }) };
  const answer = await call("POST", `/v2/protected/opendata/${name}/search`, body, { signal });
  return { records: answer.data, total: answer.total, cursor: answer.hasMore ? answer.cursor : null };
};
const around = ({ lat, lon }, metres) => ({ location: { lat, lon, distance: `${metres}m` } });

/**
 * What each dataset asks and how its records read. The filters are those of the contract's document: `path` and `inner` say
 * where it has them, `usual` which come first, `base` what holds unless it is asked otherwise.
 */
const DATASETS = {
  dvf: {
    path: "/v2/protected/opendata/dvf/search", inner: ["filters"], base: undefined,
    usual: ["property_type", "price_eur", "surface_m2", "transaction_date"],
    toTiles: (filters) => filters, near: around, search: openData("dvf", "transaction_date"),
    columns: [
      [() => word("date"), (sale) => day(sale.transaction_date)], [() => word("type"), (sale) => sale.property_type],
      [() => word("address"), (sale) => `${sale.address ?? ""} ${sale.city ?? ""}`],
      [() => word("surface"), (sale) => number(sale.surface_m2), true], [() => word("price"), (sale) => euros(sale.price_eur), true],
      [() => word("perM2"), (sale) => euros(sale.price_per_m2_living_eur), true],
    ],
    place: (sale) => sale.location && [sale.location.lon, sale.location.lat],
  },
  dpe: {
    path: "/v2/protected/opendata/dpe/search", inner: ["filters"], base: undefined,
    usual: ["etiquette_dpe", "surface_habitable_logement", "date_etablissement_dpe"],
    toTiles: (filters) => filters, near: around, search: openData("dpe", "date_etablissement_dpe"),
    columns: [
      [() => word("date"), (found) => day(found.date_etablissement_dpe)],
      [() => word("energyClass"), (found) => html`<b class="class ${found.etiquette_dpe}">${found.etiquette_dpe}</b>`],
      [() => word("address"), (found) => found.adresse_ban ?? found.adresse_brut],
      [() => word("surface"), (found) => number(found.surface_habitable_logement), true],
    ],
    place: (found) => found.location && [found.location.lon, found.location.lat],
  },
  properties: {
    path: "/v2/protected/properties/search", inner: ["search", "filterProperty"],
    base: { offer: [{ type: "OFFER_BUY" }], meta: { isTotallyOffline: false } },
    usual: ["type", "price.latest.value", "habitation.surface.total", "habitation.roomCount"],
    toTiles: (filterProperty) => ({ filterProperty }),
    search: async (filters, near, cursor, signal) => {
      const filterProperty = merged(filters ?? {}, near);
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
  return html`<${Granted} scope="search"><${DatasetMap} key=${name} name=${name} parameters=${parameters} set=${set} /><//>`;
}

function DatasetMap({ name, parameters, set }) {
  const dataset = DATASETS[name];
  const fields = useFields(dataset.path, dataset.inner);
  const given = fields.value && filtersOf(fields.value, parameters);
  const filters = given && dataset.base ? merged(dataset.base, given) : given ?? dataset.base;
  const by = parameters.by === "areas" ? "areas" : "hexagons";
  const figures = figuresOf(name, by);
  const figure = figures.includes(parameters.figure) ? parameters.figure : figures[0];
  const view = parameters.zoom && { lon: Number(parameters.lon), lat: Number(parameters.lat), zoom: Number(parameters.zoom) };
  const [record, setRecord] = useState(null);
  const [area, setArea] = useState(null);
  const pick = async (spot) => {
    setArea(spot.area ?? null);
    if (spot.area) return;
    const { records } = await dataset.search(filters, dataset.near(spot, NEAR_M));
    setRecord(records.find((one) => [one.id, one.numero_dpe, one.flxId].includes(spot.id)) ?? (spot.id ? records[0] : null));
  };
  const option = (value, label) => html`<option value=${value}>${label}</option>`;
  return html`<div class="market">
    <form class="filters" onSubmit=${(event) => event.preventDefault()}>
      <${Field} label=${word("dataset")}><select value=${name} onChange=${(event) => set({ ...withoutFilters(parameters), dataset: event.target.value })}>
        ${Object.keys(DATASETS).map((one) => option(one, word(one)))}</select><//>
      <${Field} label=${word("gathered")}><select name="by" value=${by} onChange=${(event) => set({ by: event.target.value })}>
        ${["hexagons", "areas"].map((one) => option(one, word(one)))}</select><//>
      ${figures.length > 1 && html`<${Field} label=${word("colour")}><select name="figure" value=${figure} onChange=${(event) => set({ figure: event.target.value })}>
        ${figures.map((one) => option(one, word(`figure.${one}`)))}</select><//>`}
      <${Waiting} of=${fields} />
      ${fields.value && html`<${Filters} fields=${fields.value} usual=${dataset.usual} parameters=${parameters} set=${set} />`}
      ${name === "properties" && may("alerts") && html`<a href="#/alerts?${new URLSearchParams(onlyFilters(parameters))}">${word("newAlert")} →</a>`}
    </form>
    <div class="mapped">
      <${MapView} dataset=${name} by=${by} figure=${figure} filters=${filters && dataset.toTiles(filters)} view=${view} onPick=${pick} isReady=${Boolean(fields.value)}
        marks=${record && dataset.place(record) ? [dataset.place(record)] : []}
        onMove=${(to) => set({ lat: to.lat.toFixed(5), lon: to.lon.toFixed(5), zoom: to.zoom.toFixed(2) })} />
      <${Legend} figure=${figure} />
      ${area && html`<${AreaCard} area=${area} close=${() => setArea(null)} />`}
    </div>
    ${record
      ? html`<${Record} name=${name} record=${record} close=${() => setRecord(null)} />`
      : fields.value && html`<${Results} dataset=${dataset} filters=${filters} view=${view} onPick=${setRecord} />`}
  </div>`;
}

/** What is known of a commune or department on the map. */
const AreaCard = ({ area, close }) => html`<div class="area" role="status"><b>${area.name}</b> (${area.code})
  <button type="button" class="plain" onClick=${close}>${word("close")}</button>
  <dl><dt>${word("results")}</dt><dd>${number(area.count)}</dd>
    ${["price_per_m2", "poor_share", "over_sold"].filter((figure) => area[figure] !== undefined).map((figure) => html`
      <dt>${word(`figure.${figure}`)}</dt><dd>${number(area[figure])}${figure === "price_per_m2" ? " €" : " %"}</dd>`)}</dl></div>`;

/** What is on the map's centre, newest first; more by the cursor. */
function Results({ dataset, filters, view, onPick }) {
  const [more, setMore] = useState({ pages: [], cursor: undefined });
  // About what the map shows: a screen of 800 pixels, 512 to a tile.
  const metres = view && view.zoom > 8 ? Math.min(50_000, Math.round((40_075_000 * Math.cos((view.lat * Math.PI) / 180)) / 2 ** view.zoom)) : null;
  const near = metres ? dataset.near(view, metres) : {};
  const asked = JSON.stringify([filters, near]);
  const first = useLoaded(async (signal) => {
    setMore({ pages: [], cursor: undefined });
    return dataset.search(filters, near, null, signal);
  }, [asked]);
  const cursor = more.cursor === undefined ? first.value?.cursor : more.cursor;
  const next = async () => {
    const page = await dataset.search(filters, near, cursor);
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
