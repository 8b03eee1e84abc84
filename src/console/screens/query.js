/** SQL: tables and columns, an editor, rows as a table, a plot or a map, and as a file. */

import { call, callRaw } from "../api.js";
import { saveFile } from "../files.js";
import { labelled, word } from "../language.js";
import { Badge, Empty, Head, Icon, Note, Popover, Skeleton, Waiting, html, useEffect, useLoaded, useRef, useState } from "../parts.js";
import { isApple } from "../rail.js";
import { readRows } from "../rows.js";
import { Editor, replaceText } from "../sqleditor.js";
import { Results } from "../sqlresults.js";
import { attempt } from "../toasts.js";

const PATH = "/v2/protected/sql";
const ROWS_SHOWN = 1_000;
/** Maximum time of a query whose rows are shown, seconds. */
const TIME_S = 30;
/** Lists the columns of tables, and the functions, which have a kind but no table. */
const NAMES = `select table_name, column_name, data_type, ordinal_position as nth from information_schema.columns where table_schema = 'public'
union all select distinct null, routine_name, function_type, 0 from information_schema.routines order by 1, 4, 2`;
/** Example queries: name in words.js, and text. */
const EXAMPLES = [
  ["example.quarters", "select date_trunc('quarter', transaction_date) as quarter, median(price_per_m2_living_eur) as price\nfrom dvf where property_type = 'Appartement'\ngroup by 1 order by 1"],
  ["example.communes", "select insee_code, any_value(city) as city, count(*) as sales, round(median(price_per_m2_living_eur)) as price_per_m2\nfrom dvf where property_type in ('Appartement', 'Maison')\ngroup by 1 order by sales desc limit 50"],
  ["example.energy", "select etiquette_dpe as class, count(*) as diagnostics, round(avg(surface_habitable_logement), 1) as surface\nfrom dpe group by 1 order by 1"],
  ["example.map", "select lat, lon, city, transaction_date, surface_m2, price_eur, round(price_per_m2_living_eur) as price_per_m2\nfrom dvf where property_type = 'Maison' and price_per_m2_living_eur is not null\norder by transaction_date desc limit 1000"],
  ["example.newest", "select transaction_date, city, property_type, surface_m2, price_eur\nfrom dvf order by transaction_date desc limit 100"],
];
// Formulas in the texts of adverts must not run in the spreadsheet that opens the file.
const FILES = [["safe-csv", "csv"], ["parquet", "parquet"], ["geojson", "geojson"]];
const KEPT = "toise-queries";
/** Number of queries that the browser stores. */
const KEPT_MAX = 50;

const kept = () => {
  try {
    return JSON.parse(localStorage.getItem(KEPT)) ?? [];
  } catch {
    return [];
  }
};

/** Matches the line and column of an error, counted from 1. */
const placeOfError = (message) => {
  const [, line, column] = /line (\d+), column (\d+)/i.exec(message ?? "") ?? [];
  return line && { line: Number(line), column: Number(column) };
};

/** The schema for completion. */
const schemaOf = (known) => ({
  columns: (known?.data ?? []).filter((one) => one.table_name).map((one) => ({ table: one.table_name, name: one.column_name, type: one.data_type })),
  functions: (known?.data ?? []).filter((one) => !one.table_name).map((one) => ({ name: one.column_name, type: one.data_type })),
});

export function Query({ parameters, set }) {
  const known = useLoaded((signal) => call("POST", PATH, { query: NAMES }, { signal, isQuiet: true }), []);
  const [text, setText] = useState(parameters.query ?? EXAMPLES[0][1]);
  const [state, setState] = useState({});
  const [saved, setSaved] = useState(kept);
  const editor = useRef(null);
  const asked = useRef(null);
  useEffect(() => () => asked.current?.abort(), []);
  const run = async () => {
    // Otherwise the response to the previous query could replace the response to this one.
    asked.current?.abort();
    asked.current = new AbortController();
    const { signal } = asked.current;
    set({ query: text });
    setState({ isLoading: true });
    const began = performance.now();
    try {
      // Only the rows that are shown are read; with a limit, longer results would be refused as a whole.
      const response = await callRaw("POST", PATH, { query: text, format: "ndjson", limits: { time_s: TIME_S } }, { signal });
      const value = await readRows(response.body, ROWS_SHOWN);
      if (!signal.aborted) setState({ value: { ...value, seconds: (performance.now() - began) / 1000 } });
    } catch (error) {
      if (!signal.aborted) setState({ error });
    }
  };
  const download = (format, ending) => attempt(async () => {
    const response = await callRaw("POST", PATH, { query: text, format });
    saveFile(await response.blob(), `toise.${ending}`);
  }, word("isDownloaded", { name: `toise.${ending}` }));
  const keep = (next) => {
    localStorage.setItem(KEPT, JSON.stringify(next));
    setSaved(next);
  };
  const save = () => {
    const name = text.trim().split("\n")[0].slice(0, 60);
    attempt(() => keep([{ name, text }, ...saved.filter((one) => one.text !== text)].slice(0, KEPT_MAX)), word("isSaved"));
  };
  const insert = (name) => replaceText(editor.current, editor.current.selectionStart, editor.current.selectionEnd, name);
  const fault = placeOfError(state.error?.message);
  const goToFault = () => {
    const before = text.split("\n").slice(0, fault.line - 1).reduce((sum, line) => sum + line.length + 1, 0);
    editor.current.focus();
    editor.current.setSelectionRange(before + fault.column - 1, before + fault.column - 1);
  };
  return html`<div class="page query">
    <${Head} title=${word("query")} about=${word("queryAbout")}>
      <${Popover} label=${word("examples")} content="menu" button=${html`${word("examples")}<${Icon} name="down" small />`}>${(close) => EXAMPLES.map(([name, query]) => html`
        <button type="button" onClick=${() => { close(); setText(query); }}><${Icon} name="query" small />${word(name)}</button>`)}<//>
      <${Popover} label=${word("savedQueries")} content="menu" button=${html`${word("savedQueries")}${saved.length > 0 && html` <${Badge}>${saved.length}<//>`}<${Icon} name="down" small />`}>${(close) => html`
        ${saved.length === 0 && html`<p class="quiet none">${word("noSaved")}</p>`}
        ${saved.map((one) => html`<div class="row tight"><button type="button" onClick=${() => { close(); setText(one.text); }}><code>${one.name}</code></button>
          <button type="button" class="quiet square compact" aria-label=${labelled(word("remove"), one.name)} onClick=${() => attempt(() => keep(saved.filter((other) => other !== one)))}><${Icon} name="trash" small /></button></div>`)}`}<//><//>
    <div class="workbench">
      <${Schema} known=${known} onPick=${insert} />
      <div class="bench">
        <form class="card flush" onSubmit=${(event) => { event.preventDefault(); run(); }}>
          <${Editor} place=${editor} text=${text} schema=${schemaOf(known.value)} onText=${setText} onRun=${run} fault=${fault} />
          <div class="row spread bar"><span class="row"><button class="primary"><${Icon} name="play" small />${word("run")} <kbd>${isApple ? "⌘" : "Ctrl"} ↵</kbd></button>
            <button type="button" onClick=${save}><${Icon} name="save" small />${word("save")}</button></span>
            <span class="row">${FILES.map(([format, ending]) => html`<button type="button" class="compact" aria-label=${`${word("download")} ${ending}`} onClick=${() => download(format, ending)}><${Icon} name="download" small />${ending}</button>`)}</span></div>
        </form>
        ${state.error && html`<${Note} kind="bad" role="alert"><span>${state.error.message}</span>${fault && html`<div><button type="button" class="compact" onClick=${goToFault}>${word("atLine", fault)}</button></div>`}<//>`}
        ${state.isLoading && html`<div class="card"><${Skeleton} lines=${6} /></div>`}
        ${state.value && html`<${Results} of=${state.value} />`}
        ${!state.value && !state.error && !state.isLoading && html`<div class="card"><${Empty} icon="table" title=${word("queryEmpty")} text=${word("queryEmptyText")} /></div>`}
      </div>
    </div></div>`;
}

/** Tables and their columns; clicking a column inserts it into the query. */
function Schema({ known, onPick }) {
  const [wanted, setWanted] = useState("");
  const tables = Map.groupBy((known.value?.data ?? []).filter((column) => column.table_name), (column) => column.table_name);
  const text = wanted.toLowerCase();
  const shown = [...tables].map(([name, all]) => [name, name.includes(text) ? all : all.filter((column) => column.column_name.includes(text))]).filter(([, all]) => all.length > 0);
  return html`<aside class="card schema" aria-label=${word("tables")}><h2>${word("tables")}</h2>
    <input type="search" placeholder=${word("search")} aria-label=${word("findColumn")} value=${wanted} onInput=${(event) => setWanted(event.target.value)} />
    <${Waiting} of=${known} lines=${6} />
    <div class="tree">${shown.map(([name, all]) => html`<details key=${name} open=${text.length > 1}><summary><${Icon} name="table" small />${name} <small>${all.length}</small></summary><ul>${all.map((column) => html`<li>
      <button type="button" class="quiet compact" title=${word("insert")} onClick=${() => onPick(column.column_name)}><code>${column.column_name}</code><small>${column.data_type.toLowerCase()}</small></button></li>`)}</ul></details>`)}</div></aside>`;
}
