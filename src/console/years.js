/** The choice of years over the map: all, one, or one after the other, which sets the date filter; or two that are compared. */

import { parameter } from "./filters.js";
import { word } from "./language.js";
import { Icon, html, useEffect, useLoaded, useState } from "./parts.js";

/** Maximum years shown, the newest ones. */
const YEARS_MAX = 8;
/** Time for which each year is shown during playback, milliseconds. */
const PLAY_MS = 2_500;
/** The last year counts as complete from this month on. */
const LAST_MONTH = 12;

/** Returns the years of a dataset in order, and the last complete one; `dates` returns its first and last date. Empty until they are known. */
export function useYears(dates) {
  const asked = useLoaded(async (signal) => dates?.(signal) ?? [], []);
  const [first, last] = (asked.value ?? []).map((date) => (date ?? "").split("-").map(Number));
  if (!first?.[0] || !last?.[0]) return { isKnown: !asked.isLoading, years: [] };
  const years = Array.from({ length: last[0] - first[0] + 1 }, (_, nth) => first[0] + nth);
  return { isKnown: true, years, whole: last[1] < LAST_MONTH && years.length > 2 ? last[0] - 1 : last[0] };
}

/** `field` is the field of the filter, `of` has the years of the dataset. */
export function Years({ field, of, parameters, set }) {
  const [isPlaying, setPlaying] = useState(false);
  const years = of.years.slice(-YEARS_MAX);
  const [from, to] = ["from", "to"].map((bound) => parameter({ name: field }, bound));
  const chosen = years.find((year) => parameters[from] === `${year}-01-01` && parameters[to] === `${year}-12-31`);
  const choose = (year) => set({ [from]: year ? `${year}-01-01` : "", [to]: year ? `${year}-12-31` : "" });
  useEffect(() => {
    if (!isPlaying) return undefined;
    const timer = setTimeout(() => {
      const next = years[years.indexOf(chosen) + 1];
      if (next) choose(next);
      else setPlaying(false);
    }, chosen ? PLAY_MS : 0);
    return () => clearTimeout(timer);
  }, [isPlaying, chosen]);
  if (years.length < 2) return null;
  const play = () => {
    if (!isPlaying && chosen === years.at(-1)) choose(years[0]);
    setPlaying(!isPlaying);
  };
  return html`<div class="years" role="group" aria-label=${word("years")}>
    <button type="button" class="quiet square compact" aria-label=${word(isPlaying ? "stopYears" : "playYears")} onClick=${play}><${Icon} name=${isPlaying ? "pause" : "play"} small /></button>
    <div class="segments">${[undefined, ...years].map((year) => html`<button type="button" aria-pressed=${String(year === chosen && (year !== undefined || !parameters[from]))}
      onClick=${() => { setPlaying(false); choose(year); }}>${year ?? word("allYears")}</button>`)}</div></div>`;
}

/**
 * Two lists of periods. A period cannot be compared with itself: choosing it swaps the two. `onChange` receives both, `label` and
 * `labels` name the lists, and `text` formats a period.
 */
export function Comparison({ periods, compared, onChange, label, labels, text = String }) {
  const choose = (nth, period) => {
    const next = compared.with(nth, period);
    onChange(next[0] === next[1] ? compared.toReversed() : next);
  };
  const list = (nth) => html`<select aria-label=${labels[nth]} value=${compared[nth]} onChange=${(event) => choose(nth, periods[event.target.selectedIndex])}>
    ${periods.map((period) => html`<option value=${period}>${text(period)}</option>`)}</select>`;
  return html`<div class="years compared" role="group" aria-label=${label}>${list(0)}<span aria-hidden="true">→</span>${list(1)}</div>`;
}
