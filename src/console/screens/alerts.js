/** Alerts: made from a search, tried on the past, and followed to what the receiver answered. */

import { call } from "../api.js";
import { Filters, filtersOf, merged, useFields, withoutFilters } from "../filters.js";
import { day, euros, number, word } from "../language.js";
import { Field, Granted, Table, Waiting, html, useEffect, useLoaded, useState } from "../parts.js";
import { LinePlot } from "../plot.js";

/** The two kinds of alerts: where they are, and what one of its matches is called and costs. */
const KINDS = {
  properties: { base: "/v2/protected/properties/search/alerts", price: (home) => home.price?.latest?.value },
  adverts: { base: "/v2/protected/adverts/search/alerts", price: (advert) => advert.currentPrice?.value },
};
/** Where alerts are made: on properties, which the map shows. */
const BASE = KINDS.properties.base;
/** What an alert asks for unless its filters say otherwise, and the filters that come first. */
const HOMES_FOR_SALE = { offer: [{ type: "OFFER_BUY" }] };
const USUAL = ["type", "location.postalCode", "price.latest.value"];
/** How often deliveries are looked at again, milliseconds. */
const TAIL_MS = 2_000;

export function Alerts({ parameters, set }) {
  const alerts = useLoaded(async (signal) => {
    const all = Object.entries(KINDS).map(async ([kind, { base }]) => {
      const { data } = await call("GET", `${base}/all?take=100`, undefined, { signal });
      return data.map((alert) => ({ ...alert, kind }));
    });
    return (await Promise.all(all)).flat();
  }, []);
  const open = (alert) => set({ alert: alert.alert_id }, true);
  const list = alerts.value ?? [];
  const chosen = list.find((alert) => alert.alert_id === parameters.alert);
  return html`<${Granted} scope="alerts">
    <${NewAlert} parameters=${parameters} set=${set} onMade=${alerts.again} />
    <${Waiting} of=${alerts} />
    <${Table} caption=${word("alerts")} rows=${list} onPick=${open} columns=${[
      [word("name"), (alert) => alert.search_name], [word("kind"), (alert) => word(alert.kind)], [word("status"), (alert) => word(alert.activated ? "active" : "pause")],
      [word("webhook"), (alert) => alert.webhook_url], [word("date"), (alert) => day(alert.created_at)]]} />
    ${chosen && html`<${Followed} key=${chosen.alert_id} alert=${chosen} onChange=${alerts.again} />`}
  <//>`;
}

/** A search and where its matches go. The filters are in the address, so that a search of the map can be taken over. */
function NewAlert({ parameters, set, onMade }) {
  const [shown, setShown] = useState({});
  const fields = useFields("/v2/protected/properties/search", ["search", "filterProperty"]);
  const read = (form) => {
    const given = fields.value && filtersOf(fields.value, parameters);
    const filterProperty = given ? merged(HOMES_FOR_SALE, given) : HOMES_FOR_SALE;
    return { of: Object.fromEntries(new FormData(form)), search_query: { filterProperty } };
  };
  const attempt = (act) => async (event) => {
    event.preventDefault();
    const form = event.target.form ?? event.target;
    try {
      setShown(await act(read(form), form));
    } catch (error) {
      setShown({ fault: error.message });
    }
  };
  const preview = attempt(async ({ search_query }) => ({ preview: (await call("POST", `${BASE}/preview`, { search_query, days: 30 })).data }));
  const create = attempt(async ({ of, search_query }, form) => {
    const match = ["ALERT_MATCH_CREATED", "ALERT_MATCH_MERGED"];
    await call("PUT", BASE, { search_query, match, search_name: of.name, webhook_url: of.url });
    form.reset();
    set(withoutFilters(parameters));
    onMade();
    return {};
  });
  const days = shown.preview?.per_day ?? [];
  return html`<form class="filters" onSubmit=${create}>
    <${Field} label=${word("name")}><input name="name" required maxlength="100" /><//>
    <${Waiting} of=${fields} />
    ${fields.value && html`<${Filters} fields=${fields.value} usual=${USUAL} parameters=${parameters} set=${set} />`}
    <${Field} label=${word("webhook")}><input name="url" type="url" required size="30" /><//>
    <button type="button" onClick=${preview}>${word("preview")}</button><button>${word("create")}</button>
    ${shown.fault && html`<p class="fault" role="alert">${shown.fault}</p>`}
    ${shown.preview && html`<p role="status">${number(shown.preview.count)} ${word("matches")}</p>
      <${LinePlot} title=${`${word("matches")}, ${word("perDay")}`} times=${days.map((one) => Date.parse(one.date))}
        lines=${[{ label: word("matches"), values: days.map((one) => one.count) }]} />`}
  </form>`;
}

/** One alert: what it matched, and its deliveries as they happen. */
function Followed({ alert, onChange }) {
  const { base, price } = KINDS[alert.kind];
  const path = `${base}/${alert.alert_id}`;
  const history = useLoaded((signal) => call("GET", `${base}/history/${alert.alert_id}?take=50`, undefined, { signal, isQuiet: true }), [alert.alert_id]);
  const deliveries = useLoaded((signal) => call("GET", `${path}/deliveries?take=50`, undefined, { signal, isQuiet: true }), [alert.alert_id]);
  useEffect(() => {
    const timer = setInterval(() => { deliveries.again(); history.again(); }, TAIL_MS);
    return () => clearInterval(timer);
  }, []);
  const toggle = async () => {
    await (alert.activated ? call("DELETE", path) : call("GET", `${path}/activate`));
    onChange();
  };
  const replay = async () => {
    const now = new Date();
    const from = new Date(now - 7 * 86_400_000);
    await call("POST", `${path}/replay`, { from: from.toISOString(), to: now.toISOString(), max_items: 100 });
    deliveries.again();
  };
  return html`<section><h2>${alert.search_name}</h2>
    <button type="button" onClick=${toggle}>${word(alert.activated ? "pause" : "resume")}</button>
    <button type="button" onClick=${replay}>${word("retry")} (7 ${word("days")})</button>
    <pre class="long">${JSON.stringify(alert.search_query, null, 1)}</pre>
    <h3>${word("deliveries")}</h3><${Waiting} of=${deliveries} />
    <${Table} rows=${deliveries.value?.data ?? []} columns=${[
      [word("date"), (one) => one.created_at], [word("status"), (one) => one.status],
      [word("attempts"), (one) => one.attempts, true], [word("answer"), (one) => one.last_error ?? one.last_status ?? ""],
      [word("rows"), (one) => one.items, true],
      ["", (one) => html`<details><summary>JSON</summary><pre class="long">${JSON.stringify(one, null, 1)}</pre></details>`]]} />
    <h3>${word("matches")}</h3>
    <${Table} rows=${history.value?.data ?? []} columns=${[
      [word("name"), (match) => match.title ?? match.adverts?.[0]?.title], [word("address"), (match) => match.location?.city],
      [word("price"), (match) => euros(price(match)), true]]} />
  </section>`;
}
