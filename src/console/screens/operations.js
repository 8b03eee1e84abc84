/** Operations: health and load, tables and their freshness, credits; for operators also imports, the model, pages and keys. */

import { call, callRaw, may } from "../api.js";
import { ago, bytes, moment, number, short, word } from "../language.js";
import { p95, reading } from "../metrics.js";
import { Badge, Empty, Head, Json, More, Segments, Skeleton, Table, Waiting, html, useEffect, useLoaded, usePages, useRef, usePolling, useState } from "../parts.js";
import { LinePlot } from "../plot.js";
import { Importing } from "./importing.js";
import { Accounts, Keys } from "./keys.js";
import { ModelCard } from "./model.js";
import { Findings, Layers, Merges, NotRefreshed, Tables } from "./tables.js";

const ADMIN = "/v2/protected/admin";
/** Interval of reading metrics, milliseconds, and the number of readings kept. */
const METRICS_MS = 2_000;
const READINGS_MAX = 150;
/** Days in the plot of credits. */
const CREDIT_DAYS = 30;
const DAY_MS = 86_400_000;
const MIB = 2 ** 20;
/** Entries on a page of each list. */
const PAGE = 50;

const skipping = (name) => async (nth, last, signal) => (await call("GET", `${ADMIN}/${name}?skip=${nth * PAGE}&take=${PAGE}`, undefined, { signal, isQuiet: true })).data;

/** Placeholder until the first reading of the metrics; later warns if there is no newer one. */
const Awaited = ({ of }) => (of.value ? html`<${Waiting} of=${of} />` : html`<div class="card"><${Waiting} of=${of} lines=${6} /></div>`);

/** The parts of the screen. Operators see all, others only their credits. */
const PARTS = {
  health: (asked) => html`<${Awaited} of=${asked} />${asked.value && html`<${Health} readings=${asked.value}><${Findings} backupAge=${asked.value.at(-1).backupAge} /><//>`}`, usage: () => html`<${Usage} />`,
  data: (asked) => html`<${Awaited} of=${asked} />${asked.value && html`<${Tables} reading=${asked.value.at(-1)} />`}<${Findings} /><${Importing} />
    ${asked.value && html`<${Merges} of=${asked.value.at(-1).merges} />`}<${Layers} /><${Reports} /><${Jobs} />`, model: () => html`<${ModelCard} />`,
  keys: () => html`<${Keys} /><${Accounts} />`, audit: () => html`<${Audit} />`,
};

/** Reads the metrics while an operator has the screen open; others get none. */
function useReadings() {
  const kept = useRef([]);
  const asked = useLoaded(async (signal) => {
    if (!may("admin")) return null;
    const response = await callRaw("GET", `${ADMIN}/metrics`, undefined, { signal, isQuiet: true });
    kept.current = [...kept.current, reading(await response.text())].slice(-READINGS_MAX);
    return kept.current;
  }, []);
  usePolling({ ...asked, isLoading: asked.isLoading || !may("admin") }, METRICS_MS);
  return asked;
}

export function Operations({ parameters, set }) {
  const asked = useReadings();
  const names = may("admin") ? Object.keys(PARTS) : ["usage"];
  const shown = names.includes(parameters.part) ? parameters.part : names[0];
  return html`<div class="page">
    <${Head} title=${word(may("admin") ? "operations" : "usage")} about=${word(may("admin") ? "operationsAbout" : "usageAbout")}>
      ${names.length > 1 && html`<${Segments} label=${word("operations")} value=${shown} onChange=${(part) => set({ part }, true)} values=${names.map((name) => [name, word(`part.of.${name}`)])} />`}<//>
    <${NotRefreshed} reading=${asked.value?.at(-1)} />
    ${PARTS[shown](asked)}</div>`;
}

const Figure = ({ label, value, about, kind }) => html`<div class="card figure"><span class="label">${label}</span><b class=${kind ?? ""}>${value}</b>${about && html`<small class="quiet">${about}</small>`}</div>`;

/** `children` are between the figures and the plots. */
function Health({ readings, children }) {
  const [version, setVersion] = useState("");
  useEffect(() => {
    call("GET", "/version", undefined, { isQuiet: true }).then((response) => setVersion(response.data.version), () => setVersion(""));
  }, []);
  const now = readings.at(-1);
  const pairs = readings.slice(1).map((one, nth) => [readings[nth], one]);
  const rate = (name) => pairs.map(([before, after]) => ((after[name] - before[name]) * 1000) / (after.at - before.at));
  const latency = pairs.map(([before, after]) => p95(before.durations, after.durations));
  const latest = latency.findLast((value) => value !== null);
  const times = pairs.map(([, after]) => after.at);
  const plot = (title, lines, isStepped) => html`<div class="card"><${LinePlot} height=${150} title=${title} times=${times} from0 isStepped=${isStepped} lines=${lines} /></div>`;
  return html`
    <div class="figures">
      <${Figure} label=${word("status")} value=${word(now.ready ? "ready" : "notReady")} kind=${now.ready ? "good" : "bad"} about=${`toise ${version}`} />
      <${Figure} label=${word("metrics")} value=${`${number(rate("requests").at(-1) ?? 0, 1)}/s`} about=${`${short(now.requests)} ${word("sinceStart")}`} />
      <${Figure} label=${word("latency")} value=${latest === undefined ? "–" : `${number(latest)} ms`} about=${word("latencyAbout")} />
      <${Figure} label=${word("errors")} value=${number(now.failed)} kind=${now.failed > 0 ? "bad" : ""} about=${word("errorsAbout")} />
      <${Figure} label=${word("memory")} value=${bytes(now.memory * MIB)} about=${`${word("diskFree")} ${bytes(now.free)}`} />
      <${Figure} label=${word("deliveries")} value=${number(now.deliveries)} about=${word("deliveriesAbout")} />
    </div>
    ${children}
    ${pairs.length < 2 ? html`<div class="card"><${Skeleton} lines=${6} /></div>` : html`<h2 class="hidden">${word("metrics")}</h2><div class="grid2">
      ${plot(`${word("metrics")}/s`, [{ label: word("metrics"), values: rate("requests") }, { label: "5xx", values: rate("failed") }])}
      ${plot(`${word("latency")} (ms)`, [{ label: "ms", values: latency }])}
      ${plot(word("memoryMib"), [{ label: "MiB", values: pairs.map(([, after]) => after.memory) }])}
      ${plot(word("queries"), [{ label: word("queries"), values: pairs.map(([, after]) => after.queries) }], true)}
    </div>`}`;
}

/** Credits of the key's account: this month by type, and the last days as a plot. */
function Usage() {
  const asked = useLoaded((signal) => call("GET", "/v2/protected/consumption", undefined, { signal }), []);
  const from = new Date(Date.now() - (CREDIT_DAYS - 1) * DAY_MS).toISOString().slice(0, 10);
  const to = new Date().toISOString().slice(0, 10);
  const daily = useLoaded((signal) => call("GET", `/v2/protected/consumption/days?from_date=${from}&to_date=${to}`, undefined, { signal, isQuiet: true }), []);
  const rows = asked.value?.data?.consumption_per_type ?? [];
  const used = daily.value?.data ?? [];
  const days = Array.from({ length: CREDIT_DAYS }, (_, nth) => Date.parse(from) + nth * DAY_MS);
  const byDay = (field) => days.map((at) => {
    const date = new Date(at).toISOString().slice(0, 10);
    return used.filter((row) => row.day === date).reduce((sum, row) => sum + (row[field] ?? 0), 0);
  });
  const calls = rows.reduce((sum, row) => sum + row.calls, 0);
  return html`<div class="figures">
      <${Figure} label=${word("creditsMonth")} value=${asked.value ? number(asked.value.data?.total_credits ?? 0) : "–"} />
      <${Figure} label=${word("callsMonth")} value=${asked.value ? number(calls) : "–"} /></div>
    <section class="card"><${Waiting} of=${asked} />
      ${asked.value && rows.length === 0 && html`<${Empty} icon="operations" title=${word("usageEmpty")} text=${word("usageEmptyText")} />`}
      ${rows.length > 0 && html`<h2 class="hidden">${word("perDay")}</h2><${Waiting} of=${daily} />${daily.value && html`<div class="grid2">
        <${LinePlot} title=${word("creditsPerDay")} times=${days} lines=${[{ label: word("credits"), values: byDay("credits"), isBars: true }]} />
        <${LinePlot} title=${word("callsPerDay")} times=${days} lines=${[{ label: word("calls"), values: byDay("calls"), isBars: true }]} /></div>`}
      <${Table} rows=${[...rows].sort((one, other) => other.credits - one.credits || other.calls - one.calls)} columns=${[[word("type"), (row) => html`<code>${row.type.split("_").map((part, nth) => (nth ? html`<wbr />_${part}` : part))}</code>`], [word("calls"), (row) => number(row.calls), true],
        [word("credits"), (row) => number(row.credits), true]]} />`}</section>`;
}

/** Reports of imports and ingestions; each opens with its details. */
function Reports() {
  const asked = usePages(PAGE, skipping("reports"), ({ name }) => name);
  const rejected = (report) => Object.values(report.rejected ?? {}).reduce((sum, tally) => sum + (tally.count ?? 0), 0);
  const rows = asked.value?.entries ?? [];
  return html`<section class="card"><h2>${word("imports")}</h2><${Waiting} of=${asked} />
    ${asked.value && rows.length === 0 && html`<${Empty} icon="box" title=${word("importsEmpty")} text=${word("importsEmptyText")} />`}
    ${rows.length > 0 && html`<${Table} rows=${rows} columns=${[
      [word("name"), ({ name, report }) => html`<b>${report.table ?? name}</b>`], [word("date"), ({ report }) => html`<span class="nowrap" title=${moment(report.started_at)}>${ago(report.started_at)}</span>`],
      [`${word("rows")} ${word("read")}`, ({ report }) => number(report.rows_read), true], [word("rejected"), ({ report }) => number(rejected(report)), true],
      [word("recordsMade"), ({ report }) => number(report.records), true], [word("added"), ({ report }) => number(report.outcome?.added), true],
      [word("replaced"), ({ report }) => number(report.outcome?.replaced), true], [word("duration"), ({ report }) => (report.seconds === undefined ? "" : `${number(report.seconds, 1)} s`), true],
      ["", ({ report }) => html`<${Json} of=${report} />`]]} />`}
    <${More} of=${asked} />
  </section>`;
}

/** Pages that are being collected or were collected recently. */
function Jobs() {
  const asked = usePages(PAGE, skipping("jobs"), (job) => job.job_id);
  return html`<section class="card"><h2>${word("jobs")}</h2><${Waiting} of=${asked} />
    ${asked.value && html`<${Table} rows=${asked.value.entries} empty=${word("jobsEmpty")} columns=${[
      [word("created"), (job) => html`<span class="nowrap" title=${moment(job.created_at)}>${ago(job.created_at)}</span>`], [word("page"), (job) => job.url], [word("status"), (job) => html`<${Badge}>${job.status}<//>`],
      [word("attempts"), (job) => job.attempts, true], [word("reason"), (job) => job.reason ?? ""]]} />`}<${More} of=${asked} /></section>`;
}

/** The audit log, newest entries first. */
function Audit() {
  const asked = usePages(PAGE, async (nth, last, signal) => (await call("GET", `${ADMIN}/audit?take=${PAGE}${last ? `&before=${last.entry}` : ""}`, undefined, { signal })).data, ({ entry }) => entry);
  return html`<section class="card"><h2>${word("audit")}</h2><p class="quiet">${word("auditAbout")} <code>toise audit</code></p><${Waiting} of=${asked} />
    ${asked.value && html`<${Table} rows=${asked.value.entries} columns=${[
      [word("date"), (entry) => html`<span class="nowrap" title=${moment(entry.at)}>${ago(entry.at)}</span>`], [word("actor"), (entry) => html`<span class="nowrap">${entry.actor}</span>`], [word("action"), (entry) => html`<span class="nowrap">${entry.action}</span>`],
      [word("subject"), (entry) => html`<code class="subject">${entry.subject ?? ""}</code>`], [word("outcome"), (entry) => html`<${Badge} kind=${/^(done|2)/.test(entry.outcome) ? "good" : entry.outcome === "begun" ? "" : "bad"}>${word(`outcome.${entry.outcome}`).replace("outcome.", "")}<//>`]]} />`}<${More} of=${asked} /></section>`;
}
