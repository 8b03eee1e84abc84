/** SQL: the tables and columns there are, a query, its rows as a table and a plot, and as a file. */

import { call, callRaw } from "../api.js";
import { number, word } from "../language.js";
import { Granted, Table, Waiting, html, useLoaded, useState } from "../parts.js";
import { LinePlot } from "../plot.js";
import { readRows } from "../rows.js";

const PATH = "/v2/protected/sql";
const ROWS_SHOWN = 1_000;
/** Longest time of a query that is shown, seconds. */
const TIME_S = 30;
const COLUMNS = "select table_name, column_name, data_type from information_schema.columns where table_schema = 'public' order by 1, ordinal_position";
const EXAMPLE = "select date_trunc('quarter', transaction_date) as quarter, median(price_per_m2_living_eur) as price\nfrom dvf where property_type = 'Appartement' group by 1 order by 1";
// Formulas in the texts of adverts must not run in the spreadsheet that opens the file.
const FILES = [["safe-csv", "csv"], ["parquet", "parquet"], ["geojson", "geojson"]];

export function Query({ parameters, set }) {
  const columns = useLoaded((signal) => call("POST", PATH, { query: COLUMNS }, { signal, isQuiet: true }), []);
  const [text, setText] = useState(parameters.query ?? EXAMPLE);
  const [state, setState] = useState({});
  const attempt = async (act) => {
    setState({ isLoading: true });
    try {
      setState({ value: await act() });
    } catch (error) {
      setState({ error });
    }
  };
  const run = (event) => {
    event.preventDefault();
    set({ query: text });
    attempt(async () => {
      // Only as many rows as are shown are read; a limit would refuse longer answers as a whole.
      const answer = await callRaw("POST", PATH, { query: text, format: "ndjson", limits: { time_s: TIME_S } });
      return readRows(answer.body, ROWS_SHOWN);
    });
  };
  const download = (format, ending) => attempt(async () => {
    const answer = await callRaw("POST", PATH, { query: text, format });
    const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(await answer.blob()), download: `toise.${ending}` });
    link.click();
    URL.revokeObjectURL(link.href);
    return state.value;
  });
  const { rows = [], isWhole } = state.value ?? {};
  const names = Object.keys(rows[0] ?? {});
  const tables = Map.groupBy ? Map.groupBy(columns.value?.data ?? [], (column) => column.table_name) : new Map();
  const onKey = (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && run(event);
  return html`<${Granted} scope="sql"><div class="query">
    <aside><h2>${word("columns")}</h2><${Waiting} of=${columns} />
      ${[...tables].map(([name, all]) => html`<details><summary>${name}</summary><ul>${all.map((column) => html`<li>
        <button type="button" class="plain" onClick=${() => setText(`${text} ${column.column_name}`)}>${column.column_name}</button>
        <small>${column.data_type}</small></li>`)}</ul></details>`)}</aside>
    <form onSubmit=${run}>
      <textarea rows="8" spellcheck="false" aria-label="SQL" value=${text} onInput=${(event) => setText(event.target.value)} onKeyDown=${onKey}></textarea>
      <p><button>${word("run")}</button>
        ${FILES.map(([format, ending]) => html`<button type="button" class="plain" onClick=${() => download(format, ending)}>${word("download")} ${ending}</button>`)}</p>
      <${Waiting} of=${state} />
      ${state.value && html`<p role="status">${!isWhole && `${word("firstRows")} `}${number(rows.length)} ${word("rows")}</p><${Drawn} rows=${rows} names=${names} />
        <${Table} rows=${rows} columns=${names.map((name) => [name, (row) => shown(row[name]), typeof rows[0][name] === "number"])} />`}
    </form>
  </div><//>`;
}

const shown = (value) => (value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));

/** A plot where the first column is a time and others are numbers. */
function Drawn({ rows, names }) {
  const times = rows.map((row) => Date.parse(row[names[0]]));
  const numeric = names.slice(1).filter((name) => rows.every((row) => row[name] === null || typeof row[name] === "number"));
  const isTime = typeof rows[0]?.[names[0]] === "string" && times.every(Number.isFinite);
  if (!isTime || numeric.length === 0 || rows.length < 2) return null;
  return html`<${LinePlot} title=${numeric.join(", ")} times=${times} lines=${numeric.slice(0, 3).map((name) => ({ label: name, values: rows.map((row) => row[name]) }))} />`;
}
