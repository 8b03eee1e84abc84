/** The server's data: the tables and their age, how adverts were merged, the layers; and how an operator can fix what is missing, old or
    wrong. */

import { call, may } from "../api.js";
import { fieldName } from "../evidence.js";
import { findingText } from "../findings.js";
import { ago, bytes, day, labelled, moment, number, word } from "../language.js";
import { Badge, Empty, Icon, Note, Table, Waiting, html, useLoaded } from "../parts.js";

const DAY_S = 86_400;
/** If a higher share of merged pairs contradict each other, something is wrong with the adverts, percent. */
const CONTRADICTING_MAX = 2;
/** Open data of a usual server, and the days after which each is old: sales are published twice a year, the others weekly. */
const OLD_AFTER_DAYS = { dvf: 200, dpe: 60, ban: 120 };

/** Describes the content of a table; empty if the name says it. */
const said = (name) => [`table.${name}`, name].includes(word(`table.${name}`)) ? "" : word(`table.${name}`);
const since = (seconds) => Date.now() - seconds * 1000;
const edition = (seconds) => day(seconds * 1000);

/** Returns the state of a table: kind and text of the badge; null if it is not loaded and not required. */
function stateOf(name, table) {
  if (!table.rows) return name in OLD_AFTER_DAYS ? { kind: "warn", text: word("notLoaded") } : null;
  if (table.failed) return { kind: "bad", text: word("refreshFailed") };
  if (table.available > table.held) return { kind: "warn", text: word("newerEdition", { day: edition(table.available) }) };
  if (table.age > OLD_AFTER_DAYS[name] * DAY_S) return { kind: "warn", text: word("isOld") };
  return { kind: "good", text: word("loaded") };
}

/** The findings of `toise doctor`: what is missing, old or wrong in the data folder, with the command to run; and the age of the last
    backup, if there is one. */
export function Findings({ backupAge }) {
  const asked = useLoaded((signal) => call("GET", "/v2/protected/admin/findings", undefined, { signal, isQuiet: true }), []);
  const found = asked.value?.data ?? [];
  return html`<section class="card" aria-label=${word("whatHelps")}><h2>${word("whatHelps")}</h2><${Waiting} of=${asked} lines=${2} />
    ${asked.value && found.length === 0 && html`<p class="quiet">${word("nothingMissing")}</p>`}
    ${backupAge !== undefined && backupAge !== null && html`<p class="quiet">${labelled(word("lastBackup"), ago(since(backupAge)))}</p>`}
    ${found.length > 0 && html`<ul class="helps">${found.map((one) => html`<li key=${one.message}><${Badge} kind=${one.severity === "problem" ? "bad" : ""}>${word(`finding.${one.severity}`)}<//>
      <span class="long">${findingText(one)}</span>${one.command && html`<code class="long">${one.command}</code>`}</li>`)}</ul>`}</section>`;
}

/** Warns at the top of the screen if the last refresh of a table failed. */
export function NotRefreshed({ reading }) {
  const failed = Object.entries(reading?.tables ?? {}).filter(([, table]) => table.failed).map(([name]) => said(name) || name);
  return failed.length > 0 && html`<${Note} kind="bad" role="alert"><span>${word("notRefreshed", { ago: reading.refreshAge === null ? "" : ago(since(reading.refreshAge)), tables: failed.join(", ") })}</span>
    <span>${word("notRefreshedNext")} <code>toise refresh</code></span><//>`;
}

/** The newest record of each table. */
async function newestOf(signal) {
  if (!may("search")) return {};
  const first = async (name, field) => {
    const response = await call("POST", `/v2/protected/opendata/${name}/search`, { filters: {}, sortBy: field, size: 1 }, { signal, isQuiet: true });
    return response.data[0]?.[field];
  };
  const search = { search: { filterProperty: {} }, sortBy: "LAST_SEEN_AT", orderBy: "DESC", size: 1 };
  const [dvf, dpe, properties] = await Promise.allSettled([
    first("dvf", "transaction_date"), first("dpe", "date_etablissement_dpe"),
    call("POST", "/v2/protected/properties/search", search, { signal, isQuiet: true }).then(({ data }) => data.items[0]?.meta?.lastSeenAt),
  ]);
  return { dvf: dvf.value, dpe: dpe.value, properties: properties.value };
}

/** `reading` is a reading of the metrics. */
export function Tables({ reading }) {
  const newest = useLoaded(newestOf, []);
  const rows = Object.entries({ ...Object.fromEntries(Object.keys(OLD_AFTER_DAYS).map((name) => [name, {}])), ...reading.tables }).sort();
  const state = ([name, table]) => {
    const found = stateOf(name, table);
    return found ? html`<${Badge} kind=${found.kind}>${found.text}<//>` : "";
  };
  const age = ([, { age: seconds, rows: count }]) => (count && seconds !== undefined ? html`<span class="nowrap" title=${moment(since(seconds))}>${ago(since(seconds))}</span>` : "");
  return html`<section class="card"><h2>${word("tables")}</h2>
    <${Table} rows=${rows} columns=${[
      [word("name"), ([name]) => html`<b>${name}</b> <span class="quiet">${said(name)}</span>`], [word("status"), state], [word("upToDate"), age],
      ...(rows.some(([, { held }]) => held) ? [[word("edition"), ([, { held }]) => (held ? html`<span class="nowrap">${edition(held)}</span>` : "")]] : []),
      ...(may("search") ? [[word("newest"), ([name]) => html`<span class="nowrap" title=${day(newest.value?.[name])}>${ago(newest.value?.[name])}</span>`]] : []),
      [word("rows"), ([, table]) => number(table.rows), true], [word("size"), ([, table]) => bytes(table.bytes), true],
      [word("files"), ([, table]) => number(table.files), true], [word("publications"), ([, table]) => number(table.publications), true]]} /></section>`;
}

/** How adverts were merged into properties, with the pairs that wait for a decision. */
export function Merges({ of: { waiting, counted: known } }) {
  if (!known && waiting === null) return null;
  const share = known?.merged > 0 ? (100 * known.contradicting.reduce((sum, [, pairs]) => sum + pairs, 0)) / known.merged : 0;
  const fields = known?.contradicting.map(([field, pairs]) => `${fieldName(field)} ${number(pairs)}`).join(", ");
  return html`<section class="card" aria-label=${word("mergesTitle")}><div class="row spread"><h2>${word("mergesTitle")}</h2>
      ${waiting > 0 && html`<a class="button" href="#/pairs"><${Icon} name="pairs" />${word("reviewPairs")}</a>`}</div>
    <dl class="tiles wide">${known && html`<div><dt>${word("properties")}</dt><dd>${number(known.properties)}</dd></div>
      <div><dt>${word("severalAdverts")}</dt><dd>${number(known.several)}</dd></div>
      <div><dt>${word("contradictingPairs")}</dt><dd>${number(share, 1)}\u00a0% ${share > CONTRADICTING_MAX && html`<${Badge} kind="bad">${word("tooMany")}<//>`}</dd><dd class="quiet"><small>${fields}</small></dd></div>`}
      ${waiting !== null && html`<div><dt>${word("toDecide")}</dt><dd>${number(waiting)}</dd></div>`}</dl></section>`;
}

/** The layers that were imported, for keys that may read them. */
export function Layers() {
  const asked = useLoaded(async (signal) => (may("search") ? call("GET", "/v2/protected/layers", undefined, { signal, isQuiet: true }) : null), []);
  if (!may("search")) return null;
  const rows = asked.value?.data ?? [];
  const name = (layer) => (may("sql") ? html`<a href=${`#/map?${new URLSearchParams({ layers: layer.name })}`}>${layer.name}</a>` : html`<b>${layer.name}</b>`);
  return html`<section class="card" aria-label=${word("layersTitle")}><h2>${word("layersTitle")}</h2><${Waiting} of=${asked} lines=${2} />
    ${asked.value && rows.length === 0 && html`<${Empty} icon="area" title=${word("layersEmpty")} text=${word("layersEmptyText")}><code>toise import layer</code><//>`}
    ${rows.length > 0 && html`<${Table} rows=${rows} columns=${[[word("name"), name], [word("layerFeatures"), (layer) => number(layer.count), true],
      [word("layerSource"), (layer) => html`<span class="subject">${layer.source}</span>`], [word("layerLicence"), (layer) => layer.licence],
      [word("layerImported"), (layer) => html`<span class="nowrap" title=${moment(layer.importedAt)}>${ago(layer.importedAt)}</span>`]]} />`}</section>`;
}
