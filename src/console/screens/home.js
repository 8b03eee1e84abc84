/** One home: found by its address or a click, valued, with what was sold, diagnosed and offered around it. */

import { call } from "../api.js";
import { day, euros, number, word } from "../language.js";
import { MapView } from "../map.js";
import { Field, Granted, Table, Waiting, html, useLoaded, useState } from "../parts.js";
import { LinePlot, Waterfall } from "../plot.js";

const NEAR_M = 150;

export function Home({ parameters, set }) {
  const [fault, setFault] = useState(null);
  const find = async (event) => {
    event.preventDefault();
    const text = new FormData(event.target).get("address");
    setFault(null);
    try {
      const found = await call("GET", `/geocoding/search?limit=1&q=${encodeURIComponent(text)}`);
      const [first] = found.features;
      if (!first) throw new Error(word("nothing"));
      const [lon, lat] = first.geometry.coordinates;
      set({ lat, lon, label: first.properties.label, city: first.properties.citycode }, true);
    } catch (error) {
      setFault(error.message);
    }
  };
  const at = parameters.lat && { lat: Number(parameters.lat), lon: Number(parameters.lon) };
  return html`<div class="home">
    <form class="filters" onSubmit=${find}>
      <${Field} label=${word("address")}><input name="address" size="40" required placeholder=${word("enterAddress")} /><//>
      <button>${word("search")}</button>
      <${Choice} name="type" label=${word("type")} parameters=${parameters} set=${set} values=${[["CLASS_FLAT", word("flat")], ["CLASS_HOUSE", word("house")]]} />
      <${Amount} name="surface" label=${word("surface")} parameters=${parameters} set=${set} usual="60" />
      <${Amount} name="rooms" label=${word("rooms")} parameters=${parameters} set=${set} usual="3" />
      <button type="button" class="plain" onClick=${() => print()}>${word("print")}</button>
    </form>
    ${fault && html`<p class="fault" role="alert">${fault}</p>`}
    ${parameters.label && html`<p>${word("understood")} <b>${parameters.label}</b></p>`}
    <div class="mapped"><${MapView} view=${at && { ...at, zoom: 16 }} marks=${at ? [[at.lon, at.lat]] : []} dataset="dvf"
      onPick=${({ lat, lon }) => set({ lat: lat.toFixed(6), lon: lon.toFixed(6), label: "" }, true)} /></div>
    ${at && html`<${Valued} at=${at} parameters=${parameters} /><${Around} at=${at} />`}
  </div>`;
}

const Choice = ({ name, label, parameters, set, values }) => html`<${Field} label=${label}>
  <select value=${parameters[name] ?? values[0][0]} onChange=${(event) => set({ [name]: event.target.value })}>
    ${values.map(([value, shown]) => html`<option value=${value}>${shown}</option>`)}</select><//>`;

const Amount = ({ name, label, parameters, set, usual }) => html`<${Field} label=${label}>
  <input type="number" min="1" size="5" value=${parameters[name] ?? usual} onChange=${(event) => set({ [name]: event.target.value })} /><//>`;

function Valued({ at, parameters }) {
  const rooms = Number(parameters.rooms ?? 3);
  const body = {
    location: { locationCoordinate: { location: [at.lon, at.lat] } },
    type: parameters.type ?? "CLASS_FLAT", offer: { type: "OFFER_BUY" },
    habitation: { surface: { total: Number(parameters.surface ?? 60) }, roomCount: rooms, bedroomCount: Math.max(0, rooms - 1), characteristics: { hasTerrace: false } },
  };
  const asked = useLoaded((signal) => call("POST", "/v2/protected/estimate/property/lite", body, { signal }), [JSON.stringify(body)]);
  const value = asked.value?.data;
  return html`<${Granted} scope="ai"><section>
    <h2>${word("value")}</h2><${Waiting} of=${asked} />
    ${value && html`<p class="big">${euros(value.price)}</p>
      <p>${word("interval")} ${number(value.metadata.coverage * 100)} %: ${euros(value.priceRange.lower)} – ${euros(value.priceRange.upper)} · ${value.metadata.confidence}</p>
      ${value.metadata.warning && html`<p class="fault">${value.metadata.warning}</p>`}
      <h3>${word("contributions")}</h3><${Waterfall} show=${euros} parts=${Object.entries(value.metadata.contributions ?? {})} />
      <h3>${word("comparables")}</h3><${Table} rows=${value.metadata.comparables ?? []} columns=${[
        [word("date"), (sale) => day(sale.date)], [word("surface"), (sale) => number(sale.surface), true],
        [word("price"), (sale) => euros(sale.price), true], ["m", (sale) => number(sale.distance_m), true]]} />`}
    <${Prices} city=${parameters.city} />
  </section><//>`;
}

/** Prices of the commune by quarter. */
function Prices({ city }) {
  const asked = useLoaded(
    (signal) => (city ? call("POST", "/v2/protected/analytics/market", { level: "commune", by: "quarter", location: { communes: [city] } }, { signal, isQuiet: true }) : Promise.resolve(null)),
    [city],
  );
  const rows = asked.value?.data ?? [];
  const periods = [...new Set(rows.map((row) => row.period))].sort();
  if (periods.length < 2) return null;
  const of = (type) => periods.map((period) => rows.find((row) => row.period === period && row.type === type)?.price_per_m2_median ?? null);
  const start = (period) => Date.UTC(Number(period.slice(0, 4)), (Number(period.slice(6)) - 1) * 3);
  return html`<${LinePlot} title=${`${rows[0].name}: ${word("legend")}`} times=${periods.map(start)}
    lines=${[{ label: word("flat"), values: of("CLASS_FLAT") }, { label: word("house"), values: of("CLASS_HOUSE") }]} />`;
}

function Around({ at }) {
  const location = { ...at, distance: `${NEAR_M}m` };
  const open = (name, sortBy) => (signal) => call("POST", `/v2/protected/opendata/${name}/search`, { filters: { location }, sortBy, size: 10 }, { signal, isQuiet: true });
  const key = [at.lat, at.lon];
  const sales = useLoaded(open("dvf", "transaction_date"), key);
  const diagnostics = useLoaded(open("dpe", "date_etablissement_dpe"), key);
  return html`<section><h2>${word("nearbySales")}</h2><${Waiting} of=${sales} />
    ${sales.value && html`<${Table} rows=${sales.value.data} columns=${[
      [word("date"), (sale) => day(sale.transaction_date)], [word("type"), (sale) => sale.property_type], [word("address"), (sale) => sale.address],
      [word("surface"), (sale) => number(sale.surface_m2), true], [word("price"), (sale) => euros(sale.price_eur), true]]} />`}
    <h2>${word("nearbyDiagnostics")}</h2><${Waiting} of=${diagnostics} />
    ${diagnostics.value && html`<${Table} rows=${diagnostics.value.data} columns=${[
      [word("date"), (found) => day(found.date_etablissement_dpe)], [word("energyClass"), (found) => found.etiquette_dpe],
      [word("address"), (found) => found.adresse_ban], [word("surface"), (found) => number(found.surface_habitable_logement), true]]} />`}
  </section>`;
}
