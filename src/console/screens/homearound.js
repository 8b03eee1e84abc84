/** Around a home: the price series of its commune and department, and sales, diagnostics and adverts near it. */

import { addressOf } from "../addresses.js";
import { call, may } from "../api.js";
import { rebased } from "../comparison.js";
import { metresBetween } from "../dwelling.js";
import { day, distance, euros, labelled, number, perM2, squareMetres, word } from "../language.js";
import { marketOf, periodsOf, quarterText, series } from "../marketsheet.js";
import { spokenValue } from "../filters.js";
import { Outside, Segments, Table, Waiting, html, useLoaded, useState } from "../parts.js";
import { LinePlot } from "../plot.js";

/** Radius for sales and diagnostics of the building and its neighbours, metres; and for adverts, whose positions are less exact,
    kilometres. */
const NEAR_M = 150;
const ADVERTS_KM = 1;
const ROWS = 10;

/** Prices of the commune and of its department by quarter, and their price index. */
export function Prices({ city, type }) {
  const department = city && (city.startsWith("97") ? city.slice(0, 3) : city.slice(0, 2));
  const asked = useLoaded(async (signal) => {
    if (!city || !may("analytics")) return null;
    const [commune, around] = await Promise.all([marketOf(city, signal), marketOf(department, signal)]);
    return [...(commune.isDepartment ? [] : [commune.rows]), around.rows];
  }, [city]);
  if (asked.error) return html`<${Waiting} of=${asked} />`;
  const places = (asked.value ?? []).map((rows) => rows.filter((row) => row.type === type)).filter((rows) => rows.length > 1);
  if (places.length === 0) return null;
  const periods = periodsOf(places.flat());
  const linesOf = (column) => places.map((rows) => ({ label: rows[0].name, ...series(rows, type, column, periods) }))
    .filter(({ values }) => values.filter((value) => value !== null).length > 1);
  const plot = (title, lines) => lines.length > 0 && html`<${LinePlot} title=${title} times=${lines[0].times} lines=${lines} />`;
  const index = rebased(linesOf("index"));
  const title = index.base === undefined ? word("index") : word("indexFrom", { quarter: quarterText(periods[index.base]) });
  return html`<section class="card"><h2>${labelled(word("paths"), places.map((rows) => rows[0].name).join(", "))}</h2>
    <div class="grid2">${plot(word("figure.price_per_m2"), linesOf("price_per_m2_median"))}${plot(title, index.lines)}</div></section>`;
}

export function Around({ at }) {
  const [shown, setShown] = useState("sales");
  const location = { ...at, distance: `${NEAR_M}m` };
  const open = (name, sortBy) => (signal) => call("POST", `/v2/protected/opendata/${name}/search`, { filters: { location }, sortBy, size: ROWS }, { signal, isQuiet: true });
  const key = [at.lat, at.lon];
  const sales = useLoaded(open("dvf", "transaction_date"), key);
  const diagnostics = useLoaded(open("dpe", "date_etablissement_dpe"), key);
  const adverts = useLoaded((signal) => {
    const filterProperty = {
      offer: [{ type: "OFFER_BUY" }], meta: { isTotallyOffline: false },
      location: [{ locationCoordinate: { location: { geoDistance: { pin: at, distanceKm: ADVERTS_KM } } } }],
    };
    return call("POST", "/v2/protected/properties/search", { search: { filterProperty }, sortBy: "FIRST_SEEN_AT", orderBy: "DESC", size: ROWS }, { signal, isQuiet: true });
  }, key);
  // Records a few metres away are in the building.
  const away = (place) => [word("distance"), (record) => (place(record) ? html`<span class="nowrap">${distance(metresBetween(at, place(record)))}</span>` : ""), true];
  const positionOf = (home) => {
    const [lon, lat] = home.location?.locationCoordinate?.location ?? [];
    return lat === undefined ? null : { lat, lon };
  };
  const lists = {
    sales: { of: sales, total: sales.value?.total, rows: sales.value?.data, columns: [
      [word("address"), (sale) => addressOf(sale.address)], [word("type"), (sale) => spokenValue(sale.property_type)], [word("date"), (sale) => html`<span class="nowrap">${day(sale.transaction_date)}</span>`],
      [word("surface"), (sale) => squareMetres(sale.surface_m2), true], [word("perM2"), (sale) => perM2(sale.price_per_m2_living_eur), true], [word("price"), (sale) => html`<b>${euros(sale.price_eur)}</b>`, true], away((sale) => sale.location)] },
    diagnostics: { of: diagnostics, total: diagnostics.value?.total, rows: diagnostics.value?.data, columns: [
      [word("energyClass"), (found) => html`<span class="face energy small ${found.etiquette_dpe}">${found.etiquette_dpe}</span>`], [word("address"), (found) => found.adresse_ban],
      [word("date"), (found) => html`<span class="nowrap">${day(found.date_etablissement_dpe)}</span>`], [word("surface"), (found) => squareMetres(found.surface_habitable_logement), true], away((found) => found.location)] },
    offers: { of: adverts, total: adverts.value?.data.count, rows: adverts.value?.data.items, columns: [
      [word("name"), (home) => html`<${Outside} href=${home.adverts?.[0]?.url}>${home.title}<//>`], [word("type"), (home) => spokenValue(home.type)],
      [word("surface"), (home) => squareMetres(home.habitation?.surface?.total), true], [word("perM2"), (home) => perM2(home.price?.latest?.valuePerArea), true],
      [word("price"), (home) => html`<b>${euros(home.price?.latest?.value)}</b>`, true], away(positionOf)] },
  };
  const list = lists[shown];
  return html`<section class="card"><div class="row spread"><h2>${word("around")}</h2>
      <${Segments} label=${word("around")} value=${shown} onChange=${setShown} values=${Object.entries(lists).map(([name, { total }]) => [name, html`${word(`around.${name}`)} ${total !== undefined && html`<span class="quiet">${number(total)}</span>`}`])} /></div>
    <p class="quiet"><small>${word(shown === "offers" ? "aroundKm" : "aroundM", { distance: shown === "offers" ? ADVERTS_KM : NEAR_M })}</small></p>
    <${Waiting} of=${list.of} />${list.rows && html`<${Table} rows=${list.rows} columns=${list.columns} />`}</section>`;
}
