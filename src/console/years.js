/** The years of a dataset over the map: all of them, one, or one after the other. They set the filter of the date. */

import { parameter } from "./filters.js";
import { word } from "./language.js";
import { Icon, html, useEffect, useLoaded, useState } from "./parts.js";

/** Years shown at most, the newest. */
const YEARS_MAX = 8;
/** How long a year is shown while they play, milliseconds. */
const PLAY_MS = 2_500;

/** `dates` gives the first and the last date of the dataset; `field` is that of the filter. */
export function Years({ field, dates, parameters, set }) {
  const [isPlaying, setPlaying] = useState(false);
  const asked = useLoaded(dates, [field]);
  const [first, last] = (asked.value ?? []).map((date) => Number(date?.slice(0, 4)));
  const years = first && last > first ? Array.from({ length: Math.min(YEARS_MAX, last - first + 1) }, (_, nth) => last - nth).reverse() : [];
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
