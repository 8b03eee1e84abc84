/** SQL: tables and columns, an editor, rows as a table or a plot, and as a file. */

import { call, callRaw } from "../api.js";
import { saveFile } from "../files.js";
import { number, word } from "../language.js";
import { Badge, Empty, Head, Icon, Note, Popover, Segments, Skeleton, Table, Waiting, html, useEffect, useLoaded, useRef, useState } from "../parts.js";
import { Bars, LinePlot } from "../plot.js";
import { isApple } from "../rail.js";
import { readRows } from "../rows.js";
import { attempt, toast } from "../toasts.js";

const PATH = "/v2/protected/sql";
const ROWS_SHOWN = 1_000;
/** Longest time of a query that is shown, seconds. */
const TIME_S = 30;
const COLUMNS = "select table_name, column_name, data_type from information_schema.columns where table_schema = 'public' order by 1, ordinal_position";
/** Queries to begin with: name in the words, and text. */
const EXAMPLES = [
  ["example.quarters", "select date_trunc('quarter', transaction_date) as quarter, median(price_per_m2_living_eur) as price\nfrom dvf where property_type = 'Appartement'\ngroup by 1 order by 1"],
  ["example.communes", "select insee_code, any_value(city) as city, count(*) as sales, round(median(price_per_m2_living_eur)) as price_per_m2\nfrom dvf where property_type in ('Appartement', 'Maison')\ngroup by 1 order by sales desc limit 50"],
  ["example.energy", "select etiquette_dpe as class, count(*) as diagnostics, round(avg(surface_habitable_logement), 1) as surface\nfrom dpe group by 1 order by 1"],
  ["example.newest", "select transaction_date, city, property_type, surface_m2, price_eur\nfrom dvf order by transaction_date desc limit 100"],
];
// Formulas in the texts of adverts must not run in the spreadsheet that opens the file.
const FILES = [["safe-csv", "csv"], ["parquet", "parquet"], ["geojson", "geojson"]];
/** Rows that are drawn as bars. */
const BARS_MAX = 40;
const KEPT = "toise-queries";
/** Queries that the browser keeps. */
const KEPT_MAX = 50;

const kept = () => {
  try {
    return JSON.parse(localStorage.getItem(KEPT)) ?? [];
  } catch {
    return [];
  }
};

/** Line and column that an error names, counted from 1. */
const placeOfError = (message) => {
  const [, line, column] = /line (\d+), column (\d+)/i.exec(message ?? "") ?? [];
  return line && { line: Number(line), column: Number(column) };
};

export function Query({ parameters, set }) {
  const columns = useLoaded((signal) => call("POST", PATH, { query: COLUMNS }, { signal, isQuiet: true }), []);
  const [text, setText] = useState(parameters.query ?? EXAMPLES[0][1]);
  const [state, setState] = useState({});
  const [saved, setSaved] = useState(kept);
  const editor = useRef(null);
  const run = async () => {
    set({ query: text });
    setState({ isLoading: true });
    const began = performance.now();
    try {
      // Only as many rows as are shown are read; a limit would refuse longer answers as a whole.
      const answer = await callRaw("POST", PATH, { query: text, format: "ndjson", limits: { time_s: TIME_S } });
      const value = await readRows(answer.body, ROWS_SHOWN);
      setState({ value: { ...value, seconds: (performance.now() - began) / 1000 } });
    } catch (error) {
      setState({ error });
    }
  };
  const download = (format, ending) => attempt(async () => {
    const answer = await callRaw("POST", PATH, { query: text, format });
    saveFile(await answer.blob(), `toise.${ending}`);
  }, word("isDownloaded", { name: `toise.${ending}` }));
  const keep = (next) => {
    localStorage.setItem(KEPT, JSON.stringify(next));
    setSaved(next);
  };
  const save = () => {
    const name = text.trim().split("\n")[0].slice(0, 60);
    keep([{ name, text }, ...saved.filter((one) => one.text !== text)].slice(0, KEPT_MAX));
    toast(word("isSaved"));
  };
  const insert = (name) => {
    const area = editor.current;
    const [from, to] = [area.selectionStart, area.selectionEnd];
    setText(text.slice(0, from) + name + text.slice(to));
    requestAnimationFrame(() => { area.focus(); area.setSelectionRange(from + name.length, from + name.length); });
  };
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
          <button type="button" class="quiet square compact" aria-label=${word("remove")} onClick=${() => keep(saved.filter((other) => other !== one))}><${Icon} name="trash" small /></button></div>`)}`}<//><//>
    <div class="workbench">
      <${Schema} columns=${columns} onPick=${insert} />
      <div class="bench">
        <form class="card flush" onSubmit=${(event) => { event.preventDefault(); run(); }}>
          <${Editor} place=${editor} text=${text} onText=${setText} onRun=${run} fault=${fault} />
          <div class="row spread bar"><span class="row"><button class="primary"><${Icon} name="play" small />${word("run")} <kbd>${isApple ? "⌘" : "Ctrl"} ↵</kbd></button>
            <button type="button" onClick=${save}><${Icon} name="save" small />${word("save")}</button></span>
            <span class="row">${FILES.map(([format, ending]) => html`<button type="button" class="compact" aria-label=${`${word("download")} ${ending}`} onClick=${() => download(format, ending)}><${Icon} name="download" small />${ending}</button>`)}</span></div>
        </form>
        ${state.error && html`<${Note} kind="bad" role="alert"><span>${state.error.message}</span>${fault && html`<div><button type="button" class="compact" onClick=${goToFault}>${word("atLine", fault)}</button></div>`}<//>`}
        ${state.isLoading && html`<div class="card"><${Skeleton} lines=${6} /></div>`}
        ${state.value && html`<${Rows} of=${state.value} />`}
        ${!state.value && !state.error && !state.isLoading && html`<div class="card"><${Empty} icon="table" title=${word("queryEmpty")} text=${word("queryEmptyText")} /></div>`}
      </div>
    </div></div>`;
}

/** The editor: lines are numbered, and the line of an error is marked. */
function Editor({ place, text, onText, onRun, fault }) {
  const numbers = useRef(null);
  const lines = text.split("\n").length;
  const onKey = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      onRun();
    }
  };
  return html`<div class="editor"><ol class="numbers" ref=${numbers} aria-hidden="true">${Array.from({ length: lines }, (_, nth) => html`<li class=${fault?.line === nth + 1 ? "bad" : ""}>${nth + 1}</li>`)}</ol>
    <textarea ref=${place} rows=${Math.max(8, Math.min(20, lines + 1))} wrap="off" spellcheck="false" autocapitalize="off" aria-label="SQL" value=${text}
      onInput=${(event) => onText(event.target.value)} onKeyDown=${onKey} onScroll=${(event) => { numbers.current.scrollTop = event.target.scrollTop; }}></textarea></div>`;
}

/** Tables and their columns; a column goes into the query. */
function Schema({ columns, onPick }) {
  const [wanted, setWanted] = useState("");
  const tables = Map.groupBy(columns.value?.data ?? [], (column) => column.table_name);
  const text = wanted.toLowerCase();
  const shown = [...tables].map(([name, all]) => [name, name.includes(text) ? all : all.filter((column) => column.column_name.includes(text))]).filter(([, all]) => all.length > 0);
  return html`<aside class="card schema" aria-label=${word("tables")}><h2>${word("tables")}</h2>
    <input type="search" placeholder=${word("findColumn")} aria-label=${word("findColumn")} value=${wanted} onInput=${(event) => setWanted(event.target.value)} />
    <${Waiting} of=${columns} lines=${6} />
    <div class="tree">${shown.map(([name, all]) => html`<details key=${name} open=${text.length > 1}><summary><${Icon} name="table" small />${name} <small>${all.length}</small></summary><ul>${all.map((column) => html`<li>
      <button type="button" class="quiet compact" title=${word("insert")} onClick=${() => onPick(column.column_name)}><code>${column.column_name}</code><small>${column.data_type.toLowerCase()}</small></button></li>`)}</ul></details>`)}</div></aside>`;
}

const shown = (value) => (value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));

/** The rows of an answer as a table; as a plot where the first column is a time and others are numbers, or as bars of the last
    number where the rows are few. */
function Rows({ of }) {
  const { rows, isWhole, seconds } = of;
  const names = Object.keys(rows[0] ?? {});
  const times = rows.map((row) => Date.parse(row[names[0]]));
  const numeric = names.slice(1).filter((name) => rows.every((row) => row[name] === null || typeof row[name] === "number"));
  const isTime = typeof rows[0]?.[names[0]] === "string" && /^\d{4}-\d\d/.test(rows[0][names[0]]) && times.every(Number.isFinite);
  const canBar = !isTime && numeric.length > 0 && rows.length > 1 && rows.length <= BARS_MAX && rows.every((row) => row[numeric.at(-1)] >= 0);
  const canPlot = (isTime && numeric.length > 0 && rows.length > 1) || canBar;
  const [view, setView] = useState(isTime && canPlot ? "chart" : "table");
  useEffect(() => setView(isTime && canPlot ? "chart" : "table"), [of]);
  const order = times.map((_, nth) => nth).sort((one, other) => times[one] - times[other]);
  return html`<section class="card" aria-label=${word("results")}><div class="row spread"><p role="status"><b>${number(rows.length)}</b> ${word("rows")} · ${number(seconds, 2)} s${!isWhole ? ` · ${word("firstRows")}` : ""}</p>
    ${canPlot && html`<${Segments} label=${word("results")} value=${view} onChange=${setView} values=${["chart", "table"].map((one) => [one, html`<${Icon} name=${one} small /> ${word(one)}`])} />`}</div>
    ${canBar && view === "chart" ? html`<div class="plotted"><h3>${numeric.at(-1)}</h3><${Bars} show=${(value) => number(value, 1)} rows=${rows.map((row) => [shown(row[names[0]]), row[numeric.at(-1)]])} /></div>`
      : canPlot && view === "chart" ? html`<${LinePlot} height=${280} title=${numeric.slice(0, 3).join(", ")} times=${order.map((nth) => times[nth])} lines=${numeric.slice(0, 3).map((name) => ({ label: name, values: order.map((nth) => rows[nth][name]) }))} />`
      : html`<${Table} rows=${rows} columns=${names.map((name) => [name, (row) => shown(row[name]), typeof rows[0][name] === "number"])} />`}</section>`;
}
