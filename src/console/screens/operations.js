/** Operations: health, keys, credits, alerts that failed. */

import { call, may } from "../api.js";
import { day, number, word } from "../language.js";
import { Field, Table, Waiting, html, useEffect, useLoaded, useState } from "../parts.js";
import { LinePlot } from "../plot.js";

const ADMIN = "/v2/protected/admin";
const SCOPES = ["search", "refetch", "analytics", "ai", "geocoding", "alerts", "sql", "admin"];
/** How often metrics are read, milliseconds, and how many readings are kept. */
const METRICS_MS = 2_000;
const READINGS_MAX = 150;

export const Operations = () => html`<${Health} /><${Usage} />${may("admin") && html`<${Keys} /><${Accounts} />`}`;

/** The sum of a metric over its labels. */
const total = (text, name) =>
  text.split("\n").filter((line) => line.startsWith(name) && " {".includes(line[name.length]))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);

function Health() {
  const [readings, setReadings] = useState([]);
  const [version, setVersion] = useState("");
  useEffect(() => {
    call("GET", "/version", undefined, { isQuiet: true }).then((answer) => setVersion(answer.data.version));
    const read = async () => {
      const answer = await fetch("/metrics");
      if (!answer.ok) return;
      const text = await answer.text();
      const next = {
        at: Date.now(), requests: total(text, "toise_http_requests_total"), ready: total(text, "toise_ready"),
        memory: total(text, "process_resident_memory_bytes") / 2 ** 20,
        rows: text.split("\n").filter((line) => line.startsWith("toise_lake_rows{"))
          .map((line) => [/table="(\w+)"/.exec(line)?.[1], Number(line.slice(line.lastIndexOf(" ") + 1))]),
      };
      setReadings((before) => [...before, next].slice(-READINGS_MAX));
    };
    read();
    const timer = setInterval(read, METRICS_MS);
    return () => clearInterval(timer);
  }, []);
  const now = readings.at(-1);
  const rates = readings.map((one, nth) => nth && ((one.requests - readings[nth - 1].requests) * 1000) / (one.at - readings[nth - 1].at));
  return html`<section><h2>${word("health")}</h2>
    ${now && html`<p>toise ${version} · ${now.ready ? "✓" : "✗"} · ${number(now.memory)} MiB</p>
      <${Table} caption=${word("tables")} rows=${now.rows} columns=${[[word("name"), ([name]) => name], [word("rows"), ([, rows]) => number(rows), true]]} />`}
    ${readings.length > 2 && html`<${LinePlot} title=${`${word("metrics")}/s`} times=${readings.slice(1).map((one) => one.at)}
      lines=${[{ label: word("metrics"), values: rates.slice(1) }]} />`}
  </section>`;
}

function Usage() {
  const asked = useLoaded((signal) => call("GET", "/v2/protected/consumption", undefined, { signal }), []);
  const rows = asked.value?.data?.consumption_per_type ?? [];
  return html`<section><h2>${word("usage")}</h2><${Waiting} of=${asked} />
    <${Table} rows=${rows} columns=${[[word("type"), (row) => row.type], [word("calls"), (row) => number(row.calls), true],
      [word("credits"), (row) => number(row.credits), true]]} /></section>`;
}

function Accounts() {
  const asked = useLoaded((signal) => call("GET", `${ADMIN}/usage`, undefined, { signal, isQuiet: true }), []);
  return html`<section><h2>${word("account")}</h2><${Waiting} of=${asked} />
    <${Table} rows=${asked.value?.data ?? []} columns=${[[word("name"), (row) => row.name], [word("credits"), (row) => number(row.total_credits), true]]} /></section>`;
}

function Keys() {
  const accounts = useLoaded((signal) => call("GET", `${ADMIN}/accounts`, undefined, { signal, isQuiet: true }), []);
  const keys = useLoaded((signal) => call("GET", `${ADMIN}/keys`, undefined, { signal, isQuiet: true }), []);
  const [made, setMade] = useState(null);
  const create = async (event) => {
    event.preventDefault();
    const of = new FormData(event.target);
    const body = { kind: "production", account_id: of.get("account"), name: of.get("name"), grants: of.getAll("scope") };
    try {
      setMade({ key: (await call("POST", `${ADMIN}/keys`, body)).data.key });
      keys.again();
    } catch (error) {
      setMade({ fault: error.message });
    }
  };
  const revoke = async (key) => {
    if (!confirm(`${word("revoke")} ${key.name ?? key.key_id}?`)) return;
    await call("DELETE", `${ADMIN}/keys/${key.key_id}`);
    keys.again();
  };
  return html`<section><h2>${word("keys")}</h2><${Waiting} of=${keys} />
    <${Table} rows=${keys.value?.data ?? []} columns=${[
      [word("name"), (key) => key.name ?? ""], [word("scopes"), (key) => key.grants.join(", ")], [word("rate"), (key) => key.rate, true],
      [word("date"), (key) => day(key.created_at)],
      ["", (key) => key.revoked_at ? word("revoked") : html`<button type="button" class="plain" onClick=${() => revoke(key)}>${word("revoke")}</button>`]]} />
    <form class="filters" onSubmit=${create}>
      <${Field} label=${word("account")}><select name="account">${(accounts.value?.data ?? []).map((one) => html`<option value=${one.account_id}>${one.name}</option>`)}</select><//>
      <${Field} label=${word("name")}><input name="name" required /><//>
      <fieldset><legend>${word("scopes")}</legend>${SCOPES.map((scope) => html`<label><input type="checkbox" name="scope" value=${scope} /> ${scope}</label>`)}</fieldset>
      <button>${word("create")}</button>
      ${made?.key && html`<p role="status"><code class="long">${made.key}</code></p>`}
      ${made?.fault && html`<p class="fault" role="alert">${made.fault}</p>`}
    </form></section>`;
}
