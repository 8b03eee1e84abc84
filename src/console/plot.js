/** Plots in the page's colours: lines and bars over time with uPlot, and SVG charts of single figures. */

import uPlot from "./vendor/uplot.mjs";
import { html, useEffect, useRef, useState } from "./parts.js";
import { day, euros, number, short, tick, word } from "./language.js";
import { applyStyles, colours, useTheme } from "./theme.js";

applyStyles("vendor/uplot.css");

const COLOURS = ["--accent", "--second", "--third"];
const HEIGHT = 200;
/** Pixels per character: the value axis is as wide as its longest number. */
const CHARACTER = 7;
/** Steps between ticks of whole numbers: 1, 2, 5, 10, … */
const WHOLE_STEPS = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((one) => one * 10 ** power)).flat();

const spoken = (value, apart) => (Math.abs(value) >= 100_000 ? short(value) : number(value, apart < 1 ? 2 : 0));

/**
 * `times` are in milliseconds. Each line, `{label, values, isBars}`, has as many values; null means none. `from0` starts the value
 * axis at 0, `isStepped` holds each value until the next one. The head names the lines and shows the values under the pointer.
 */
export function LinePlot({ title, times, lines, isStepped, from0 = false, height = HEIGHT }) {
  const place = useRef(null);
  const theme = useTheme();
  const [nth, setNth] = useState(null);
  useEffect(() => {
    const [quiet, line, ...strokes] = colours("--quiet", "--line", ...COLOURS);
    const { fontFamily } = getComputedStyle(document.body);
    const axis = { stroke: quiet, font: `11px ${fontFamily}`, grid: { stroke: line, width: 1 }, ticks: { show: false }, gap: 6 };
    const paths = (one) => (one.isBars ? uPlot.paths.bars({ size: [0.7, 40], radius: 0.15 }) : isStepped ? uPlot.paths.stepped({ align: 1 }) : undefined);
    const fill = (stroke, one) => (one.isBars ? stroke : lines.length === 1 ? stroke.replace("rgb(", "rgba(").replace(")", ", 0.1)") : undefined);
    const series = lines.map((one, at) => ({
      label: one.label, stroke: strokes[at % strokes.length], width: one.isBars ? 0 : 2, paths: paths(one), fill: fill(strokes[at % strokes.length], one),
      spanGaps: true, dash: at > 0 ? [5, 4] : undefined, points: { show: !one.isBars && times.length < 3 },
    }));
    const size = () => ({ width: place.current.clientWidth, height });
    const isBarred = lines.some((one) => one.isBars);
    const isFrom0 = from0 || isBarred;
    // Counts have no ticks between whole numbers.
    const isWhole = lines.every((one) => one.values.every((value) => value === null || Number.isInteger(value)));
    // Leaves room for half a bar at each end.
    const apart = times.length > 1 ? (times[1] - times[0]) / 1000 : 86_400;
    const range = (_, least, most) => {
      if (least === null || (least === 0 && most === 0)) return [0, 1];
      const [low, high] = uPlot.rangeNum(least, most, 0.1, true);
      return [isFrom0 ? Math.min(0, low) : low, high];
    };
    const plot = new uPlot(
      {
        ...size(), legend: { show: false }, padding: [8, 20, 0, 0], cursor: { points: { size: 7 }, y: false, drag: { x: false, y: false } },
        hooks: { setCursor: [(drawn) => setNth(drawn.cursor.idx ?? null)] },
        axes: [
          { ...axis, space: 70, size: 24, grid: { show: false }, values: (_, ticks, at, space, apart) => ticks.map((seconds) => tick(seconds, apart)) },
          { ...axis, ...(isWhole && { incrs: WHOLE_STEPS }), size: (_, values) => 10 + CHARACTER * Math.max(2, ...(values ?? []).map((value) => value.length)),
            values: (_, ticks, at, space, apart) => ticks.map((value) => spoken(value, apart)) },
        ],
        scales: { x: { range: isBarred ? (_, least, most) => [least - apart / 2, most + apart / 2] : undefined }, y: { range } },
        series: [{}, ...series],
      },
      [times.map((time) => time / 1000), ...lines.map((one) => one.values)],
      place.current,
    );
    const watcher = new ResizeObserver(() => plot.setSize(size()));
    watcher.observe(place.current);
    return () => {
      watcher.disconnect();
      plot.destroy();
    };
  }, [JSON.stringify([times, lines]), theme]);
  const isPointed = nth !== null && times[nth] !== undefined;
  const reading = (one) => (isPointed ? ` ${one.values[nth] === null ? "–" : number(one.values[nth], one.values[nth] < 100 ? 1 : 0)}` : "");
  return html`<div class="plotted"><div class="row spread"><h3>${title}</h3><span class="reading">
      ${isPointed && html`<span>${day(times[nth])}</span>`}
      ${(lines.length > 1 || isPointed) && lines.map((one, at) => html`<span class="key n${at}">${lines.length > 1 && one.label}<b class="number">${reading(one)}</b></span>`)}</span></div>
    <div class="plot" ref=${place} role="img" aria-label=${title}></div></div>`;
}

/**
 * A value and its interval on a scale of prices. `dots` are other prices on the scale, such as those of comparable sales:
 * `{id, price, label}`; `lit` is the identifier of the one to mark.
 */
export function IntervalBar({ value, lower, upper, dots = [], lit, onHover }) {
  const margin = (upper - lower) * 0.35;
  const [least, most] = [Math.max(0, lower - margin), upper + margin];
  const percent = (price) => `${Math.max(0, Math.min(100, ((price - least) / (most - least)) * 100))}%`;
  // Keeps the text of a price inside at both ends.
  const inside = (price) => `clamp(3em, ${percent(price)}, 100% - 3em)`;
  const shown = dots.filter(({ price }) => price >= least && price <= most);
  return html`<div class="interval" role="img" aria-label=${`${word("value")} ${euros(value)}, ${word("from")} ${euros(lower)} ${word("to")} ${euros(upper)}`}>
    <div class="ends" aria-hidden="true"><span style=${{ left: inside(lower) }}>${euros(lower)}</span><span style=${{ left: inside(upper) }}>${euros(upper)}</span></div>
    <div class="track"><i class="range" style=${{ left: percent(lower), right: `calc(100% - ${percent(upper)})`, "--value": `${(100 * (value - lower)) / Math.max(1, upper - lower)}%` }}></i>
      ${shown.map((dot) => html`<i key=${dot.id} class=${dot.id === lit ? "sold lit" : "sold"} title=${dot.label} style=${{ left: percent(dot.price) }}
        onMouseEnter=${() => onHover?.(dot.id)} onMouseLeave=${() => onHover?.(null)}></i>`)}
      <i class="mark" style=${{ left: percent(value) }}></i></div>
  </div>`;
}

/** Amounts that add up from left to right, as bars: `[label, amount]`, the first one is the base; then their `total` as `[label, amount]`. */
export function Waterfall({ parts, total, show }) {
  let sum = 0;
  const bars = parts.map(([label, amount]) => {
    const from = Math.min(sum, sum + amount);
    sum += amount;
    return { label, amount, from, name: parts[0][0] === label ? "base" : amount < 0 ? "less" : "more" };
  });
  if (total) bars.push({ label: total[0], amount: total[1], from: 0, name: "whole" });
  const most = Math.max(...bars.map((bar) => bar.from + Math.abs(bar.amount)), 1);
  const least = Math.min(0, ...bars.map((bar) => bar.from));
  const percent = (value) => `${((value - least) / (most - least)) * 100}%`;
  const width = (value) => `${(Math.abs(value) / (most - least)) * 100}%`;
  return html`<ol class="waterfall">${bars.map((bar) => html`<li class=${bar.name}>
    <span>${bar.label}</span>
    <span class="track" aria-hidden="true"><svg width="100%" height="14"><rect x=${percent(bar.from)} width=${width(bar.amount)} rx="3"
      height="14" class=${bar.name}></rect></svg></span>
    <span class="number">${bar.name === "more" ? "+" : ""}${show(bar.amount)}</span></li>`)}</ol>`;
}

/** Bars with their names: `[label, value]`; `mark` is the value that all should reach. */
export function Bars({ rows, show, mark, most }) {
  const top = most ?? Math.max(...rows.map(([, value]) => value), mark ?? 0, 1e-9);
  const percent = (value) => `${(Math.min(value, top) / top) * 100}%`;
  return html`<ol class="waterfall plain">${rows.map(([label, value]) => html`<li>
    <span>${label}</span>
    <span class="track" aria-hidden="true"><svg width="100%" height="14"><rect width=${percent(value)} height="14" rx="3" class="whole"></rect>
      ${mark !== undefined && html`<line x1=${percent(mark)} x2=${percent(mark)} y1="0" y2="14" class="mark"></line>`}</svg></span>
    <span class="number">${show(value)}</span></li>`)}</ol>`;
}
