/** The rows of a query on the map: a point for each, coloured by a numeric column, and one opened row. */

import { counted, number, word } from "./language.js";
import { MapView } from "./map.js";
import { classColours } from "./mapstyle.js";
import { Icon, html, useState } from "./parts.js";
import { classesOf, numericColumns, textOf } from "./rows.js";
import { useTheme } from "./theme.js";

/** Number of columns whose values are shown at the pointer. */
const SAID_MAX = 4;

/** `position` names the columns of latitude and longitude. */
export function RowsMap({ rows, position }) {
  useTheme();
  const names = Object.keys(rows[0]);
  const isPlace = (name) => name === position.lat || name === position.lon;
  const numbers = numericColumns(rows).filter((name) => !isPlace(name));
  const [by, setBy] = useState(numbers.at(-1) ?? "");
  const [picked, setPicked] = useState(null);
  const [lit, setLit] = useState(null);
  const ramp = classColours();
  const bounds = by ? classesOf(rows, by, ramp.length) : [];
  const colourOf = (value) => ramp[Math.max(0, bounds.findLastIndex((bound) => value >= bound))];
  const label = (row) => names.filter((name) => !isPlace(name) && textOf(row[name])).slice(0, SAID_MAX).map((name) => `${name} ${textOf(row[name])}`).join(" · ");
  const spots = rows.map((row, nth) => ({ id: nth + 1, at: [row[position.lon], row[position.lat]], label: label(row), colour: typeof row[by] === "number" ? colourOf(row[by]) : undefined }))
    .filter(({ at }) => at.every((degrees) => typeof degrees === "number"));
  return html`<div class="row spread">
      ${numbers.length > 0 && html`<label class="row tight"><span class="quiet">${word("colour")}</span><select value=${by} onChange=${(event) => setBy(event.target.value)}>
        ${["", ...numbers].map((name) => html`<option value=${name}>${name || word("none")}</option>`)}</select></label>`}
      ${spots.length < rows.length && html`<p class="quiet">${counted("pointsShown", spots.length)}</p>`}</div>
    <div class="mapcard"><${MapView} spots=${spots} isFitted lit=${picked ?? lit} onLit=${setLit} onPick=${({ id }) => setPicked(id ?? null)} /></div>
    ${bounds.length > 0 && html`<ol class="classes" aria-label=${by}>${bounds.map((bound, nth) => html`<li><svg width="12" height="12" aria-hidden="true"><circle cx="6" cy="6" r="5" fill=${colourOf(bound)}></circle></svg>${number(bound, 2)}${nth === bounds.length - 1 ? "+" : "\u00a0–"}</li>`)}</ol>`}
    ${picked && html`<div class="row tight"><dl class="facts">${names.map((name) => html`<dt>${name}</dt><dd>${textOf(rows[picked - 1][name])}</dd>`)}</dl>
      <button type="button" class="quiet square compact" aria-label=${word("close")} onClick=${() => setPicked(null)}><${Icon} name="close" small /></button></div>`}`;
}
