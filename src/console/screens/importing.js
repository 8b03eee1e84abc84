/** Imports adverts: reads a file in the browser, shows how it was understood, and sends its rows after confirmation. */

import { MAPPING, MEANINGS, mapRow, missingMeanings, suggestMeanings, tally } from "../advertcolumns.js";
import { call } from "../api.js";
import { bytes, counted, labelled, number, word } from "../language.js";
import { Badge, Drop, Note, Table, html, useEffect, useRef, useState } from "../parts.js";
import { Unreadable, readTable } from "../tablefile.js";

const PATH = `/v2/protected/admin/adverts?mapping=${MAPPING}`;
/** Rows per call, and values shown of a column. */
const ROWS_PER_CALL = 250;
const VALUES_SHOWN = 3;
const VALUE_CHARS_MAX = 60;
const ENDINGS = ".csv,.tsv,.txt,.json,.ndjson,.jsonl";
/** Faults and warnings that are listed. */
const TOLD_MAX = 20;
const OUTCOMES = ["created", "updated", "unchanged", "rejected"];

/** Returns the service's message about a row without the position in the call, and without the value if there is one. */
const faultOf = (message) => message.replace(/^adverts\[\d+\]\.?:?\s*/, "");
const warningOf = (message) => message.replace(/: "[^"]*"$/, "");

const textOf = (value) => (typeof value === "string" ? value : JSON.stringify(value));
const cut = (text) => (text.length > VALUE_CHARS_MAX ? `${text.slice(0, VALUE_CHARS_MAX)}…` : text);

/** Returns the first distinct values of a column. */
function valuesOf(rows, column) {
  const found = new Set();
  for (const row of rows) {
    if (row[column] !== undefined) found.add(cut(textOf(row[column])));
    if (found.size === VALUES_SHOWN) break;
  }
  return [...found];
}

export function Importing() {
  const [file, setFile] = useState(null);
  const [fault, setFault] = useState(null);
  const read = async (given) => {
    setFault(null);
    try {
      const table = readTable(new Uint8Array(await given.arrayBuffer()));
      setFile({ name: given.name, size: given.size, ...table });
    } catch (error) {
      setFault(error instanceof Unreadable ? word(error.message) : error.message);
    }
  };
  return html`<section class="card" aria-label=${word("importAdverts")}><h2>${word("importAdverts")}</h2>
    ${file ? html`<${Understood} key=${file.name} file=${file} onLeave=${() => setFile(null)} />` : html`<${Drop} title=${word("importDrop")} text=${word("importFormats")} accept=${ENDINGS} onFile=${read} />`}
    ${fault && html`<${Note} kind="bad" role="alert">${fault}<//>`}</section>`;
}

/** Shows how a file was understood: its format and the meaning of each column, which can be changed; then the outcome of its rows. */
function Understood({ file, onLeave }) {
  const [chosen, setChosen] = useState(() => suggestMeanings(file.columns));
  // The rows with an outcome, the messages about them, and why sending ended early.
  const [sent, setSent] = useState(null);
  const left = useRef(null);
  useEffect(() => () => left.current?.abort(), []);
  const lacks = missingMeanings(chosen);
  const send = async () => {
    left.current = new AbortController();
    const state = { done: 0, counts: {}, faults: [], warnings: [] };
    setSent({ ...state });
    try {
      while (state.done < file.rows.length) {
        const rows = file.rows.slice(state.done, state.done + ROWS_PER_CALL);
        const { data } = await call("POST", PATH, { adverts: rows.map((row) => mapRow(row, chosen)) }, { signal: left.current.signal, isQuiet: true });
        data.forEach(({ outcome, error, warnings = [] }, nth) => {
          const row = state.done + nth + 1;
          state.counts[outcome] = (state.counts[outcome] ?? 0) + 1;
          if (error) state.faults.push({ text: faultOf(error.message), row });
          for (const warning of warnings) state.warnings.push({ text: warningOf(warning), row });
        });
        state.done += rows.length;
        setSent({ ...state });
      }
    } catch (error) {
      if (!left.current.signal.aborted) setSent({ ...state, error });
    }
  };
  const isSending = sent && !sent.error && sent.done < file.rows.length;
  const total = number(file.rows.length);
  return html`<dl class="facts"><dt>${word("importFile")}</dt><dd>${file.name}, ${bytes(file.size)}</dd>
      <dt>${word("importForm")}</dt><dd>${file.encoding}${file.delimiter ? `, ${word("importDelimiter", { delimiter: word(`delimiter.${file.delimiter}`) })}` : ""}</dd>
      <dt>${word("importRows")}</dt><dd>${total}</dd></dl>
    ${!sent && html`<${Mapping} file=${file} chosen=${chosen} onChoose=${setChosen} />
      ${lacks.length > 0 && html`<${Note} kind="warn" role="status">${lacks.map((one) => html`<span>${word(one)}</span>`)}<//>`}`}
    ${sent && html`<${Outcome} sent=${sent} total=${file.rows.length} />`}
    <div class="row confirm">
      ${(!sent || sent.error) && html`<button type="button" class="primary" disabled=${lacks.includes("importNeedsUrl")} onClick=${send}>${sent ? word("importAgain") : counted("importSend", file.rows.length)}</button>`}
      ${!isSending && html`<button type="button" class=${sent && !sent.error ? "" : "quiet"} onClick=${onLeave}>${word("importOther")}</button>`}</div>`;
}

/** The columns with their first values and meanings. A meaning belongs to one column: choosing it removes it from another. */
function Mapping({ file, chosen, onChoose }) {
  const choose = (column, meaning) => {
    const others = Object.entries(chosen).filter(([one, held]) => one !== column && held !== meaning);
    onChoose(Object.fromEntries(meaning ? [...others, [column, meaning]] : others));
  };
  const select = (column) => html`<select aria-label=${labelled(word("importMeans"), column)} value=${chosen[column] ?? ""} onChange=${(event) => choose(column, event.target.value)}>
    <option value="">${word("importIgnored")}</option>${Object.entries(MEANINGS).map(([meaning, [, name]]) => html`<option value=${meaning} selected=${chosen[column] === meaning}>${word(name)}</option>`)}</select>`;
  return html`<p class="quiet">${word("importAbout")}</p>
    <${Table} rows=${file.columns} columns=${[[word("importColumn"), (column) => html`<b>${column}</b><span class="samples quiet">${valuesOf(file.rows, column).map((value) => html`<span>${value}</span>`)}</span>`],
      [word("importMeans"), select]]} />`;
}

/** How many adverts were created, changed and refused, and why. */
function Outcome({ sent, total }) {
  const told = (name, kind, all) => all.length > 0 && html`<h3>${word(name)}</h3><ul class="helps">${tally(all).slice(0, TOLD_MAX).map(([text, count, row]) => html`
    <li><${Badge} kind=${kind}>${number(count)}<//><span class="long">${text}</span><small class="quiet">${word("importFirstRow", { row: number(row) })}</small></li>`)}</ul>`;
  return html`<div class="form" role="status">
    ${sent.done < total && html`<progress max=${total} value=${sent.done} aria-label=${word("importProgress", { done: number(sent.done), total: number(total) })}></progress>`}
    <div class="row">${OUTCOMES.filter((one) => sent.counts[one]).map((one) => html`<${Badge} kind=${one === "rejected" ? "bad" : one === "unchanged" ? "" : "good"}>${word(`outcome.${one}`, { count: number(sent.counts[one]) })}<//>`)}</div></div>
    ${sent.error && html`<${Note} kind="bad" role="alert"><span>${sent.error.message}</span><span>${word("importSafe")}</span><//>`}
    ${told("importRefused", "bad", sent.faults)}${told("importLeftOut", "warn", sent.warnings)}`;
}
