/** The tables of the server: what is loaded, how old it is, and what an operator can do about it. */

import { call, may } from "../api.js";
import { ago, bytes, day, moment, number, word } from "../language.js";
import { Badge, Note, Table, html, useLoaded } from "../parts.js";

const DAY_S = 86_400;
/** Open data that a server usually has, and days after which each is old: sales are published twice a year, the others every week. */
const OLD_AFTER_DAYS = { dvf: 200, dpe: 60, ban: 120 };
/** The department with the fewest inhabitants, for examples. */
const SMALLEST = 48;

/** What a table holds; empty where its name says it. */
const said = (name) => [`table.${name}`, name].includes(word(`table.${name}`)) ? "" : word(`table.${name}`);
const since = (seconds) => Date.now() - seconds * 1000;
const edition = (seconds) => day(seconds * 1000);

/** What is missing or old in a table: kind of the badge, its text, and the command that helps; null if all is well. */
function findingOf(name, table) {
  if (!table.rows) return name in OLD_AFTER_DAYS ? { kind: "warn", text: word("notLoaded"), command: `toise import ${name} --departments ${SMALLEST}` } : null;
  if (table.failed) return { kind: "bad", text: word("refreshFailed"), command: "toise refresh" };
  if (table.available > table.held) return { kind: "warn", text: word("newerEdition", { day: edition(table.available) }), command: "toise refresh" };
  if (table.age > OLD_AFTER_DAYS[name] * DAY_S) return { kind: "warn", text: word("isOld"), command: "toise refresh" };
  return null;
}

/** A sentence over all parts of the screen if the last refresh failed for a table. */
export function NotRefreshed({ reading }) {
  const failed = Object.entries(reading?.tables ?? {}).filter(([, table]) => table.failed).map(([name]) => said(name) || name);
  return failed.length > 0 && html`<${Note} kind="bad" role="alert"><span>${word("notRefreshed", { ago: reading.refreshAge === null ? "" : ago(since(reading.refreshAge)), tables: failed.join(", ") })}</span>
    <span>${word("notRefreshedNext")} <code>toise refresh</code></span><//>`;
}

/** The newest thing that each table knows. */
async function newestOf(signal) {
  if (!may("search")) return {};
  const first = async (name, field) => {
    const answer = await call("POST", `/v2/protected/opendata/${name}/search`, { filters: {}, sortBy: field, size: 1 }, { signal, isQuiet: true });
    return answer.data[0]?.[field];
  };
  const search = { search: { filterProperty: {} }, sortBy: "LAST_SEEN_AT", orderBy: "DESC", size: 1 };
  const [dvf, dpe, properties] = await Promise.allSettled([
    first("dvf", "transaction_date"), first("dpe", "date_etablissement_dpe"),
    call("POST", "/v2/protected/properties/search", search, { signal, isQuiet: true }).then(({ data }) => data.items[0]?.meta?.lastSeenAt),
  ]);
  return { dvf: dvf.value, dpe: dpe.value, properties: properties.value };
}

/** `reading` is one of the metrics. */
export function Tables({ reading }) {
  const newest = useLoaded(newestOf, []);
  const rows = Object.entries({ ...Object.fromEntries(Object.keys(OLD_AFTER_DAYS).map((name) => [name, {}])), ...reading.tables }).sort();
  const todo = rows.map(([name, table]) => [name, findingOf(name, table)]).filter(([, finding]) => finding);
  const state = ([name, table]) => {
    const finding = findingOf(name, table);
    return finding ? html`<${Badge} kind=${finding.kind}>${finding.text}<//>` : table.rows ? html`<${Badge} kind="good">${word("loaded")}<//>` : "";
  };
  const age = ([, { age: seconds, rows: count }]) => (count && seconds !== undefined ? html`<span class="nowrap" title=${moment(since(seconds))}>${ago(since(seconds))}</span>` : "");
  return html`<section class="card"><h2>${word("tables")}</h2>
    <${Table} rows=${rows} columns=${[
      [word("name"), ([name]) => html`<b>${name}</b> <span class="quiet">${said(name)}</span>`], [word("status"), state], [word("upToDate"), age],
      ...(rows.some(([, { held }]) => held) ? [[word("edition"), ([, { held }]) => (held ? html`<span class="nowrap">${edition(held)}</span>` : "")]] : []),
      ...(may("search") ? [[word("newest"), ([name]) => html`<span class="nowrap" title=${day(newest.value?.[name])}>${ago(newest.value?.[name])}</span>`]] : []),
      [word("rows"), ([, table]) => number(table.rows), true], [word("size"), ([, table]) => bytes(table.bytes), true],
      [word("files"), ([, table]) => number(table.files), true], [word("publications"), ([, table]) => number(table.publications), true]]} />
    ${todo.length > 0 && html`<h3>${word("whatHelps")}</h3><ul class="helps">${todo.map(([name, { text, command }]) => html`<li><b>${name}</b><span class="quiet">${text}</span><code>${command}</code></li>`)}</ul>`}</section>`;
}
