/** The inputs of an estimate, for what-if: every change of a control requests the value again. */

import { ENERGY_CLASSES, FEATURES, USUAL, bedroomsOf, typeOf } from "../dwelling.js";
import { number, squareMetres, word } from "../language.js";
import { Icon, Segments, html, useEffect, useRef, useState } from "../parts.js";

/** Ranges of the sliders; larger values can be typed. */
const SURFACE = { CLASS_FLAT: [9, 200], CLASS_HOUSE: [30, 400] };
const LAND_MAX = 2_000;
const ROOMS_MAX = 10;
const FLOOR_MAX = 20;
/** Delay after a slider stops before its value is used, milliseconds. */
const DELAY_MS = 150;

/** A slider that shows its value immediately, and reports it when it stops. */
function Slider({ label, value, shown, min, max, step = 1, onChange, children }) {
  const [drawn, setDrawn] = useState(null);
  const timer = useRef(0);
  useEffect(() => setDrawn(null), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const slide = (event) => {
    const next = Number(event.target.value);
    setDrawn(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onChange(next), DELAY_MS);
  };
  const now = drawn ?? value;
  return html`<div class="slider"><div class="row spread"><span class="label" aria-hidden="true">${label}</span><b class="number">${shown(now)}</b></div>
    <input type="range" class=${now === null ? "unset" : ""} aria-label=${label} aria-valuetext=${shown(now)} min=${min} max=${max} step=${step} value=${Math.min(max, now ?? min)} onInput=${slide} />${children}</div>`;
}

export function WhatIf({ parameters, set, onReset }) {
  const type = typeOf(parameters);
  const isFlat = type === USUAL.type;
  const rooms = Number(parameters.rooms || USUAL.rooms);
  const has = (parameters.has ?? "").split(",").filter(Boolean);
  const [least, most] = SURFACE[type];
  const surface = Number(parameters.surface || USUAL.surface);
  const toggle = (one) => set({ has: (has.includes(one) ? has.filter((other) => other !== one) : [...has, one]).join(",") });
  return html`<section class="card whatif noprint" aria-label=${word("whatIf")}>
    <div class="row spread"><h2>${word("whatIf")}</h2>${onReset && html`<button type="button" class="quiet compact" onClick=${onReset}><${Icon} name="replay" small />${word("reset")}</button>`}</div>
    <p class="quiet"><small>${word("whatIfAbout")}</small></p>
    <${Segments} label=${word("type")} value=${type} onChange=${(one) => set({ type: one })} values=${[["CLASS_FLAT", word("flat")], ["CLASS_HOUSE", word("house")]]} />
    <${Slider} label=${word("surface")} value=${surface} shown=${(value) => squareMetres(value)} min=${least} max=${Math.max(most, surface)} onChange=${(value) => set({ surface: value })} />
    <div class="columns two">
      <${Slider} label=${word("rooms")} value=${rooms} shown=${(value) => number(value)} min=${1} max=${Math.max(ROOMS_MAX, rooms)} onChange=${(value) => set({ rooms: value, bedrooms: "" })} />
      <${Slider} label=${word("bedrooms")} value=${Number(parameters.bedrooms || bedroomsOf(rooms))} shown=${(value) => number(value)} min=${0} max=${rooms} onChange=${(value) => set({ bedrooms: value })} />
    </div>
    ${isFlat
      ? html`<${Slider} label=${word("floor")} value=${parameters.floor ? Number(parameters.floor) : null} min=${0} max=${FLOOR_MAX} onChange=${(value) => set({ floor: value })}
          shown=${(value) => (value === null ? word("unknown") : value === 0 ? word("groundFloor") : number(value))}>
          ${parameters.floor && html`<button type="button" class="quiet compact" onClick=${() => set({ floor: "" })}>${word("forget")}</button>`}<//>`
      : html`<${Slider} label=${word("part.landSurface")} value=${parameters.land ? Number(parameters.land) : null} min=${0} max=${LAND_MAX} step=${25} onChange=${(value) => set({ land: value })}
          shown=${(value) => (value === null ? word("unknown") : squareMetres(value))}>
          ${parameters.land && html`<button type="button" class="quiet compact" onClick=${() => set({ land: "" })}>${word("forget")}</button>`}<//>`}
    <div><span class="label" id="energy-label">${word("energyClass")}</span>
      <div class="energies" role="group" aria-labelledby="energy-label">${ENERGY_CLASSES.map((one) => html`<button type="button" class="face energy ${one}" aria-pressed=${String(parameters.energy === one)}
        onClick=${() => set({ energy: parameters.energy === one ? "" : one })}>${one}</button>`)}</div></div>
    <div class="chips" role="group" aria-label=${word("features")}>${FEATURES[type].map((one) => html`<button type="button" class="chip" aria-pressed=${String(has.includes(one))}
      onClick=${() => toggle(one)}>${has.includes(one) && html`<${Icon} name="check" small />`}${word(`feature.${one}`)}</button>`)}</div>
    <p class="quiet"><small>${word("unknownAbout")}</small></p>
  </section>`;
}
