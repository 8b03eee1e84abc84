/** The palette (Ctrl-K): goes to a screen, an address, a commune or an alert, or runs a command, by what is typed. */

import { alertsOf } from "./alertlist.js";
import { end, may } from "./api.js";
import { switchLanguage, word } from "./language.js";
import { Icon, html, useEffect, useLoaded, useRef, useState } from "./parts.js";
import { context, placeIcon, useCompletions } from "./places.js";
import { copyCall, screenName } from "./rail.js";
import { placeOf } from "./dwelling.js";
import { chooseTheme } from "./theme.js";
import { attempt } from "./toasts.js";

/** Zoom at which a commune is shown, and an address. */
const COMMUNE_ZOOM = 12;
const ADDRESS_ZOOM = 16;

const plain = (text) => text.normalize("NFD").replace(/\p{Mn}/gu, "").toLowerCase();
const go = (screen, parameters) => () => { location.hash = `#/${screen}${parameters ? `?${new URLSearchParams(parameters)}` : ""}`; };

/** Where a result of the geocoder leads: an address to its value, a commune to its market on the map. */
function opens(feature) {
  const place = placeOf(feature);
  const isCommune = feature.properties.type === "municipality";
  if (!isCommune && may("ai")) return go("home", place);
  const zoom = isCommune ? COMMUNE_ZOOM : ADDRESS_ZOOM;
  return go("map", { lat: place.lat, lon: place.lon, zoom, by: "areas", ...(isCommune && { place: place.city }) });
}

export function Palette({ screens, onClose }) {
  const [text, setText] = useState("");
  const [nth, setNth] = useState(0);
  const place = useRef(null);
  const places = useCompletions(text);
  const alerts = useLoaded(async (signal) => (may("alerts") ? alertsOf(1, signal, true) : null), []);
  useEffect(() => {
    place.current.showModal();
    place.current.querySelector("input").focus();
  }, []);
  const commands = [
    ["sun", word("theme.toLight"), () => chooseTheme("light")], ["moon", word("theme.toDark"), () => chooseTheme("dark")],
    ["language", word("language"), switchLanguage], ["code", word("asCurl"), copyCall], ["leave", word("leave"), () => attempt(end)],
  ];
  const matching = (list) => list.filter(([, label]) => plain(label).includes(plain(text.trim())));
  const canOpen = may("ai") || may("search");
  const groups = [
    [word("screens"), matching(screens.map((name) => [name, screenName(name), go(name)]))],
    [word("places"), canOpen ? places.map((one) => [placeIcon(one), one.properties.label, opens(one), context(one)]) : []],
    [word("alerts"), text.trim() ? matching((alerts.value?.alerts ?? []).map((one) => ["alerts", one.search_name, go("alerts", { alert: one.alert_id })])) : []],
    [word("commands"), matching(commands)],
  ].filter(([, list]) => list.length > 0);
  const all = groups.flatMap(([, list]) => list);
  const at = Math.min(nth, all.length - 1);
  const run = ([, , act]) => { onClose(); act(); };
  const onKey = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && all.length) { event.preventDefault(); setNth((at + step + all.length) % all.length); }
    if (event.key === "Enter" && all[at]) { event.preventDefault(); run(all[at]); }
  };
  useEffect(() => place.current.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }), [at]);
  let count = -1;
  return html`<dialog class="palette" ref=${place} aria-label=${word("palette")} onClose=${onClose} onClick=${(event) => event.target === place.current && onClose()}>
    <div class="within"><${Icon} name="search" /><input type="text" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant=${`palette-${at}`}
      aria-label=${word("palette")} placeholder=${word(may("geocoding") ? "paletteHint" : "paletteHintFew")} autocomplete="off" spellcheck="false" autofocus
      value=${text} onInput=${(event) => { setText(event.target.value); setNth(0); }} onKeyDown=${onKey} /><kbd>Esc</kbd></div>
    <ul class="options" id="palette-list" role="listbox" aria-label=${word("palette")}>${groups.map(([title, list]) => html`
      <li class="group" role="presentation">${title}</li>
      ${list.map((one) => {
        count += 1;
        const own = count;
        return html`<li role="option" id=${`palette-${own}`} aria-selected=${String(own === at)} onClick=${() => run(one)} onMouseMove=${() => setNth(own)}>
          <${Icon} name=${one[0]} /><span>${one[1]}</span>${one[3] && html`<small>${one[3]}</small>`}</li>`;
      })}`)}
    </ul>
    ${all.length === 0 && html`<p class="quiet none">${word("nothing")}</p>`}
  </dialog>`;
}
