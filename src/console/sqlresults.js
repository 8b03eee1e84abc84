/** The rows of a query: as a table that can be sorted, as a plot, or on the map. */

import { counted, number, word } from "./language.js";
import { Icon, Segments, Skeleton, Table, html, useEffect, useLoaded, useState } from "./parts.js";
import { Bars, LinePlot } from "./plot.js";
import { may } from "./api.js";
import { numericColumns, positionColumns, sortedBy, textOf } from "./rows.js";

/** Maximum rows drawn as bars. */
const BARS_MAX = 40;
/** Maximum columns drawn as lines. */
const LINES_MAX = 3;

/** Returns how rows can be plotted: as lines if the first column is a time without duplicates and others are numbers; as bars of the last number if they are few. */
function plotOf(rows) {
  const [first] = Object.keys(rows[0] ?? {});
  const numbers = numericColumns(rows).filter((name) => name !== first);
  if (rows.length < 2 || numbers.length === 0) return null;
  const times = rows.map((row) => Date.parse(row[first]));
  const isTime = typeof rows[0][first] === "string" && /^\d{4}-\d\d/.test(rows[0][first]) && times.every(Number.isFinite);
  if (isTime && new Set(times).size < times.length) return null;
  if (isTime) {
    const order = times.map((_, nth) => nth).sort((one, other) => times[one] - times[other]);
    const lines = numbers.slice(0, LINES_MAX).map((name) => ({ label: name, values: order.map((nth) => rows[nth][name]) }));
    return { isTime, title: lines.map(({ label }) => label).join(", "), times: order.map((nth) => times[nth]), lines };
  }
  const last = numbers.at(-1);
  return rows.length <= BARS_MAX && rows.every((row) => row[last] >= 0) ? { title: last, bars: rows.map((row) => [textOf(row[first]), row[last]]) } : null;
}

const Plot = ({ of }) => of.isTime ? html`<${LinePlot} height=${280} title=${of.title} times=${of.times} lines=${of.lines} />`
  : html`<div class="plotted"><h3>${of.title}</h3><${Bars} show=${(value) => number(value, 1)} rows=${of.bars} /></div>`;

/** A table that can be sorted by its columns: ascending, descending, or in the order of the query. */
function Sorted({ rows }) {
  const [by, setBy] = useState({});
  const press = (name) => setBy(by.name !== name ? { name } : by.isDescending ? {} : { name, isDescending: true });
  const numbers = numericColumns(rows);
  const column = (name) => [name, (row) => textOf(row[name]), numbers.includes(name), {
    now: by.name === name ? (by.isDescending ? "descending" : "ascending") : undefined, onSort: () => press(name),
  }];
  return html`<${Table} rows=${by.name === undefined ? rows : sortedBy(rows, by.name, by.isDescending)} columns=${Object.keys(rows[0] ?? {}).map(column)} />`;
}

/** The map, loaded when it is first shown. */
function Mapped({ rows, position }) {
  const made = useLoaded(() => import("./sqlmap.js"), []);
  const Shown = made.value?.RowsMap;
  return Shown ? html`<${Shown} rows=${rows} position=${position} />` : html`<${Skeleton} lines=${8} />`;
}

/** `of` has the rows, whether they are complete, and the seconds that the query took. */
export function Results({ of }) {
  const { rows, isWhole, seconds } = of;
  const plot = plotOf(rows);
  const position = may("search") ? positionColumns(rows) : null;
  const views = [...(plot ? ["chart"] : []), ...(position ? ["map"] : []), "table"];
  const usual = plot?.isTime ? "chart" : "table";
  const [view, setView] = useState(usual);
  useEffect(() => setView(usual), [of]);
  return html`<section class="card" aria-label=${word("results")}><div class="row spread"><p role="status"><b>${number(rows.length)}</b> ${counted("someRows", rows.length)} · ${number(seconds, 2)} s${!isWhole ? ` · ${word("firstRows")}` : ""}</p>
    ${views.length > 1 && html`<${Segments} label=${word("view")} value=${view} onChange=${setView} values=${views.map((one) => [one, html`<${Icon} name=${one} small /> ${word(one)}`])} />`}</div>
    ${view === "chart" && plot ? html`<${Plot} of=${plot} />` : view === "map" && position ? html`<${Mapped} rows=${rows} position=${position} />` : html`<${Sorted} key=${seconds} rows=${rows} />`}</section>`;
}
