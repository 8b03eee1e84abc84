/** Operations: health and load, tables and their freshness, imports, collected pages, the model; keys and credits. */

import { call, callRaw, may } from "../api.js";
import { day, number, word } from "../language.js";
import { Granted, Table, Waiting, html, useEffect, useLoaded, useState } from "../parts.js";
import { LinePlot } from "../plot.js";
import { Accounts, Keys } from "./keys.js";
import { ModelCard } from "./model.js";

const ADMIN = "/v2/protected/admin";
/** How often metrics are read, milliseconds, and how many readings are kept. */
const METRICS_MS = 2_000;
const READINGS_MAX = 150;
/** Days of the plot of credits. */
const CREDIT_DAYS = 30;
const DAY_MS = 86_400_000;
const MIB = 2 ** 20;

export const Operations = () => html`<${Granted} scope="admin"><${Health} /></${Granted}><${Usage} />
  ${may("admin") && html`<${Reports} /><${ModelCard} /><${Jobs} /><${Keys} /><${Accounts} />`}`;

/** The samples of a metric: labels and value. */
function samples(text, name) {
  return text.split("\n").filter((line) => line.startsWith(name) && " {".includes(line[name.length])).map((line) => {
    const labels = Object.fromEntries([...line.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, value]) => [label, value]));
    return { labels, value: Number(line.slice(line.lastIndexOf(" ") + 1)) };
  });
}

const total = (text, name) => samples(text, name).reduce((sum, one) => sum + one.value, 0);

/** Requests by upper bound of their duration, all paths together. */
function durations(text) {
  const bounds = new Map();
  for (const { labels, value } of samples(text, "toise_http_request_duration_seconds_bucket")) {
    bounds.set(labels.le, (bounds.get(labels.le) ?? 0) + value);
  }
  return [...bounds].map(([bound, count]) => [bound === "+Inf" ? Infinity : Number(bound), count]).sort((one, other) => one[0] - other[0]);
}

/** The bound that 95 % of the requests between two readings stayed within, milliseconds. */
function p95(before, after) {
  const earlier = new Map(before);
  const between = after.map(([bound, count]) => [bound, count - (earlier.get(bound) ?? 0)]);
  const all = between.at(-1)?.[1] ?? 0;
  const found = between.find(([, count]) => count >= 0.95 * all);
  return all && Number.isFinite(found[0]) ? found[0] * 1000 : null;
}

function reading(text) {
  const tables = {};
  for (const [name, metric] of [["rows", "toise_lake_rows"], ["bytes", "toise_lake_bytes"], ["files", "toise_lake_files"], ["publications", "toise_lake_sequence"]]) {
    for (const { labels, value } of samples(text, metric)) tables[labels.table] = { ...tables[labels.table], [name]: value };
  }
  const requests = samples(text, "toise_http_requests_total");
  const failed = requests.filter(({ labels }) => (labels.status ?? "").startsWith("5"));
  return {
    at: Date.now(), tables, ready: total(text, "toise_ready"), durations: durations(text),
    requests: requests.reduce((sum, one) => sum + one.value, 0), failed: failed.reduce((sum, one) => sum + one.value, 0),
    memory: total(text, "process_resident_memory_bytes") / MIB, queries: total(text, "toise_query_pool_jobs"),
    deliveries: total(text, "toise_outbox_waiting"),
  };
}

function Health() {
  const [readings, setReadings] = useState([]);
  const [version, setVersion] = useState("");
  useEffect(() => {
    call("GET", "/version", undefined, { isQuiet: true }).then((answer) => setVersion(answer.data.version));
    const read = async () => {
      try {
        const answer = await callRaw("GET", `${ADMIN}/metrics`, undefined, { isQuiet: true });
        const next = reading(await answer.text());
        setReadings((before) => [...before, next].slice(-READINGS_MAX));
      } catch {
        // The server is away or the session has ended: the plots pause.
      }
    };
    read();
    const timer = setInterval(read, METRICS_MS);
    return () => clearInterval(timer);
  }, []);
  const now = readings.at(-1);
  const pairs = readings.slice(1).map((one, nth) => [readings[nth], one]);
  const rate = (name) => pairs.map(([before, after]) => ((after[name] - before[name]) * 1000) / (after.at - before.at));
  const times = pairs.map(([, after]) => after.at);
  return html`<section><h2>${word("health")}</h2>
    ${now && html`<p>toise ${version} · ${now.ready ? `✓ ${word("ready")}` : `✗ ${word("notReady")}`} · ${number(now.memory)} MiB${" · "}
      ${number(now.queries)} ${word("queries").toLowerCase()} · ${number(now.deliveries)} ${word("deliveries").toLowerCase()}</p>`}
    ${pairs.length > 1 && html`<div class="plots">
      <${LinePlot} title=${`${word("metrics")}/s`} times=${times} lines=${[{ label: word("metrics"), values: rate("requests") }, { label: `5xx`, values: rate("failed") }]} />
      <${LinePlot} title=${`${word("latency")} (ms)`} times=${times} lines=${[{ label: "ms", values: pairs.map(([before, after]) => p95(before.durations, after.durations)) }]} />
      <${LinePlot} title=${`${word("memory")} (MiB)`} times=${times} lines=${[{ label: "MiB", values: pairs.map(([, after]) => after.memory) }]} />
      <${LinePlot} title=${word("queries")} times=${times} isStepped lines=${[{ label: word("queries"), values: pairs.map(([, after]) => after.queries) }]} />
    </div>`}
    ${now && html`<${Tables} tables=${now.tables} />`}
  </section>`;
}

/** Tables with their sizes, and the newest thing that each knows. */
function Tables({ tables }) {
  const newest = useLoaded(async (signal) => {
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
  }, []);
  const rows = Object.entries(tables).sort();
  return html`<${Table} caption=${word("tables")} rows=${rows} columns=${[
    [word("name"), ([name]) => name], [word("rows"), ([, of]) => number(of.rows), true],
    [`${word("size")} (MiB)`, ([, of]) => number(of.bytes / MIB, 1), true], [word("files"), ([, of]) => number(of.files), true],
    [word("publications"), ([, of]) => number(of.publications), true], [word("newest"), ([name]) => day(newest.value?.[name])]]} />`;
}

/** Credits of the key's account: this month by type, and the last days as a plot. */
function Usage() {
  const asked = useLoaded((signal) => call("GET", "/v2/protected/consumption", undefined, { signal }), []);
  const from = new Date(Date.now() - (CREDIT_DAYS - 1) * DAY_MS).toISOString().slice(0, 10);
  const to = new Date().toISOString().slice(0, 10);
  const daily = useLoaded((signal) => call("GET", `/v2/protected/consumption/days?from_date=${from}&to_date=${to}`, undefined, { signal, isQuiet: true }), []);
  const rows = asked.value?.data?.consumption_per_type ?? [];
  const used = daily.value?.data ?? [];
  const types = [...new Set(used.map((row) => row.type))]
    .map((type) => [type, used.filter((row) => row.type === type).reduce((sum, row) => sum + row.credits, 0)])
    .sort((one, other) => other[1] - one[1]).slice(0, 3).map(([type]) => type);
  const days = Array.from({ length: CREDIT_DAYS }, (_, nth) => Date.parse(from) + nth * DAY_MS);
  const credits = (type) => days.map((at) => {
    const date = new Date(at).toISOString().slice(0, 10);
    return used.filter((row) => row.day === date && row.type === type).reduce((sum, row) => sum + row.credits, 0);
  });
  return html`<section><h2>${word("usage")}</h2><${Waiting} of=${asked} />
    <${Table} rows=${rows} columns=${[[word("type"), (row) => row.type], [word("calls"), (row) => number(row.calls), true],
      [word("credits"), (row) => number(row.credits), true]]} />
    ${types.length > 0 && html`<${LinePlot} title=${word("creditsPerDay")} times=${days} isStepped
      lines=${types.map((type) => ({ label: type, values: credits(type) }))} />`}</section>`;
}

/** Reports of imports and ingestions; one opens with all it says. */
function Reports() {
  const asked = useLoaded((signal) => call("GET", `${ADMIN}/reports?take=20`, undefined, { signal, isQuiet: true }), []);
  const rejected = (report) => Object.values(report.rejected ?? {}).reduce((sum, tally) => sum + (tally.count ?? 0), 0);
  return html`<section><h2>${word("imports")}</h2><${Waiting} of=${asked} />
    <${Table} rows=${asked.value?.data ?? []} columns=${[
      [word("name"), ({ name, report }) => report.table ?? name], [word("date"), ({ report }) => day(report.started_at)],
      [`${word("rows")} ${word("read")}`, ({ report }) => number(report.rows_read), true], [word("rejected"), ({ report }) => number(rejected(report)), true],
      [word("recordsMade"), ({ report }) => number(report.records), true], [word("added"), ({ report }) => number(report.outcome?.added), true],
      [word("replaced"), ({ report }) => number(report.outcome?.replaced), true], [word("duration"), ({ report }) => report.seconds === undefined ? "" : `${number(report.seconds, 1)} s`, true],
      ["JSON", ({ name, report }) => html`<details><summary>${name}</summary><pre class="long">${JSON.stringify(report, null, 1)}</pre></details>`]]} />
  </section>`;
}

/** Pages that are collected, or were lately. */
function Jobs() {
  const asked = useLoaded((signal) => call("GET", `${ADMIN}/jobs?take=50`, undefined, { signal, isQuiet: true }), []);
  return html`<section><h2>${word("jobs")}</h2><${Waiting} of=${asked} />
    ${asked.value && html`<${Table} rows=${asked.value.data} columns=${[
      [word("created"), (job) => job.created_at], [word("page"), (job) => job.url], [word("status"), (job) => job.status],
      [word("attempts"), (job) => job.attempts, true], [word("reason"), (job) => job.reason ?? ""]]} />`}</section>`;
}
