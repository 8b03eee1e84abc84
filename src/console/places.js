/** Completes addresses with the geocoder while they are typed. Used by the screens of a home and of the map, and by the palette. */

import { call, may } from "./api.js";
import { Icon, html, useLoaded, useDebounced, useState } from "./parts.js";
import { word } from "./language.js";
import { attempt, toast } from "./toasts.js";

/** Minimum characters for completions, and maximum results. */
const CHARS_MIN = 3;
const RESULTS_MAX = 6;
/** Delay after the last key press before completions are requested, milliseconds. */
const DELAY_MS = 180;
/** Latitude and longitude in the order of maps. */
const POSITION = /^\s*(-?\d{1,2}\.\d+)[,;\s]+(-?\d{1,3}\.\d+)\s*$/;

/** Returns results of the geocoder for a text whose last word may be incomplete. */
const completions = (text, signal) =>
  call("GET", `/geocoding/search?autocomplete=1&limit=${RESULTS_MAX}&q=${encodeURIComponent(text)}`, undefined, { signal, isQuiet: true })
    .then(({ features }) => features);

/** Returns the position that a text contains, if it is one. */
export function positionOf(text) {
  const [, lat, lon] = POSITION.exec(text) ?? [];
  return lat && { lat, lon };
}

/** Returns whether a text is long enough for a search and begins with a letter or a digit. */
export const isSearched = (text) => text.length >= CHARS_MIN && /^[\p{L}\d]/u.test(text);

/** Formats a position in the order of maps, in every language. */
export const positionText = ({ lat, lon }) => `${lat.toFixed(5)}, ${lon.toFixed(5)}`;

/** Returns completions of a text while it is typed; none without the scope. */
export function useCompletions(text) {
  const typed = useDebounced(text.trim(), DELAY_MS);
  const isAsked = may("geocoding") && isSearched(typed) && !positionOf(typed);
  const found = useLoaded(async (signal) => (isAsked ? completions(typed, signal) : []), [typed, isAsked]);
  return found.value ?? [];
}

/** Shown next to a result: the commune's postal code and department. */
export const context = ({ properties }) =>
  properties.type === "municipality" ? [properties.postcode, properties.context].filter(Boolean).join(" · ") : properties.context ?? "";

export const placeIcon = ({ properties }) => (properties.type === "municipality" ? "town" : "pin");

let fields = 0;

/**
 * A field for an address. `onPick` receives the chosen result. If Enter is pressed without a choice, `onText` receives the text;
 * without `onText`, the first completion is chosen, and `onPosition` receives a latitude and longitude. `given` is the initial
 * text.
 */
export function AddressField({ label, given = "", onPick, onText, onPosition, isLarge = false }) {
  const [text, setText] = useState(given);
  const [shownFor, setShownFor] = useState(given);
  const [isOpen, setOpen] = useState(false);
  const [nth, setNth] = useState(-1);
  const [list] = useState(() => `places-${(fields += 1)}`);
  if (given !== shownFor) {
    setShownFor(given);
    setText(given);
  }
  const found = useCompletions(isOpen ? text : "");
  const isShown = isOpen && found.length > 0;
  const pick = (feature) => {
    setText(feature.properties.label);
    setOpen(false);
    onPick(feature);
  };
  const pickFirst = (wanted) => attempt(async () => {
    // The list may still be that of a shorter text.
    const [first] = await completions(wanted);
    return first ? pick(first) : toast(word("nothing"), true);
  });
  const enter = (wanted) => {
    setOpen(false);
    if (!wanted) return undefined;
    if (onText) return onText(wanted);
    const position = positionOf(wanted);
    return position ? onPosition(position) : pickFirst(wanted);
  };
  const onKey = (event) => {
    if (event.key === "Escape") return setOpen(false);
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      return isShown && setNth((nth + step + found.length) % found.length);
    }
    if (event.key !== "Enter") return undefined;
    event.preventDefault();
    if (isShown && nth >= 0) return pick(found[nth]);
    return enter(text.trim());
  };
  return html`<div class=${isLarge ? "completion large" : "completion"}>
    <div class="within"><${Icon} name="search" />
      <input name="address" type="search" role="combobox" autocomplete="off" spellcheck="false" aria-label=${label} placeholder=${label}
        aria-expanded=${String(isShown)} aria-controls=${list} aria-autocomplete="list" aria-activedescendant=${isShown && nth >= 0 ? `${list}-${nth}` : undefined}
        value=${text} onInput=${(event) => { setText(event.target.value); setOpen(true); setNth(-1); }} onKeyDown=${onKey} onBlur=${() => setOpen(false)} /></div>
    <ul id=${list} class="options" role="listbox" aria-label=${word("places")} hidden=${!isShown}>${isShown && found.map((feature, at) => html`
      <li role="option" id=${`${list}-${at}`} aria-selected=${String(at === nth)} onMouseDown=${(event) => event.preventDefault()}
        onClick=${() => pick(feature)} onMouseMove=${() => setNth(at)}><${Icon} name=${placeIcon(feature)} /><span>${feature.properties.label}</span>
        <small>${context(feature)}</small></li>`)}</ul></div>`;
}
