/** Lines over time, drawn by uPlot in the page's colours, with a table for whoever cannot see them. */

import uPlot from "./vendor/uplot.mjs";
import { html, useEffect, useRef, useTheme } from "./parts.js";
import { day, number, tick, word } from "./language.js";

const COLOURS = ["--accent", "--second", "--third"];

/** `times` in milliseconds; each line `{label, values}` with as many values, null where there is none. */
export function LinePlot({ title, times, lines, isStepped }) {
  const place = useRef(null);
  const theme = useTheme();
  useEffect(() => {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const axis = { stroke: colour("--text"), grid: { stroke: colour("--line"), width: 1 } };
    const paths = isStepped ? uPlot.paths.stepped({ align: 1 }) : undefined;
    const series = lines.map((line, nth) => ({
      label: line.label, stroke: colour(COLOURS[nth % COLOURS.length]), width: 2, paths, spanGaps: true,
      value: (_, value) => number(value),
    }));
    const size = () => ({ width: place.current.clientWidth, height: 220 });
    const plot = new uPlot(
      {
        ...size(), title,
        axes: [
          { ...axis, space: 70, values: (_, ticks, nth, space, apart) => ticks.map((seconds) => tick(seconds, apart)) },
          { ...axis, size: 70, values: (_, ticks, nth, space, apart) => ticks.map((value) => number(value, apart < 1 ? 2 : 0)) },
        ],
        scales: { y: { range: (_, least, most) => (least === 0 && most === 0 ? [0, 1] : uPlot.rangeNum(least, most, 0.1, true)) } },
        series: [{ label: word("date"), value: (_, seconds) => seconds && day(seconds * 1000) }, ...series],
      },
      [times.map((time) => time / 1000), ...lines.map((line) => line.values)],
      place.current,
    );
    const watcher = new ResizeObserver(() => plot.setSize(size()));
    watcher.observe(place.current);
    return () => {
      watcher.disconnect();
      plot.destroy();
    };
  }, [JSON.stringify([times, lines, title]), theme]);
  return html`<div class="plot" ref=${place} role="img" aria-label=${title}></div>`;
}

/** Amounts added up from left to right, as bars: `[label, amount]`, then their `total` as `[label, amount]`. */
export function Waterfall({ parts, total, show }) {
  let sum = 0;
  const bars = parts.map(([label, amount]) => {
    const from = Math.min(sum, sum + amount);
    sum += amount;
    return { label, amount, from, name: amount < 0 ? "less" : "more" };
  });
  if (total) bars.push({ label: total[0], amount: total[1], from: 0, name: "whole" });
  const most = Math.max(...bars.map((bar) => bar.from + Math.abs(bar.amount)), 1);
  const least = Math.min(0, ...bars.map((bar) => bar.from));
  const percent = (value) => `${((value - least) / (most - least)) * 100}%`;
  const width = (value) => `${(Math.abs(value) / (most - least)) * 100}%`;
  return html`<ol class="waterfall">${bars.map((bar) => html`<li class=${bar.name}>
    <span>${bar.label}</span>
    <span class="track" aria-hidden="true"><svg width="100%" height="14"><rect x=${percent(bar.from)} width=${width(bar.amount)}
      height="14" class=${bar.name}></rect></svg></span>
    <span class="number">${bar.name === "more" ? "+" : ""}${show(bar.amount)}</span></li>`)}</ol>`;
}

/** Bars beside their names: `[label, value]`; `mark` is a value that all should reach. */
export function Bars({ rows, show, mark, most }) {
  const top = most ?? Math.max(...rows.map(([, value]) => value), mark ?? 0, 1e-9);
  const percent = (value) => `${(Math.min(value, top) / top) * 100}%`;
  return html`<ol class="waterfall">${rows.map(([label, value]) => html`<li>
    <span>${label}</span>
    <span class="track" aria-hidden="true"><svg width="100%" height="14"><rect width=${percent(value)} height="14" class="more"></rect>
      ${mark !== undefined && html`<line x1=${percent(mark)} x2=${percent(mark)} y1="0" y2="14" class="mark"></line>`}</svg></span>
    <span class="number">${show(value)}</span></li>`)}</ol>`;
}
