/** The palette (Ctrl-K): finds a screen, an address, a commune, an alert, a portfolio, a home for sale or a command by the typed
    text. */

import { alertsOf } from "./alertlist.js";
import { call, end, may } from "./api.js";
import { DATASETS, FOR_SALE } from "./datasets.js";
import { switchLanguage, word } from "./language.js";
import { Icon, html, useEffect, useLoaded, useRef, useDebounced, useState } from "./parts.js";
import { context, isSearched, placeIcon, useCompletions } from "./places.js";
import { copyCall, screenName } from "./rail.js";
import { placeOf } from "./dwelling.js";
import { chooseTheme } from "./theme.js";
import { attempt } from "./toasts.js";

/** Zoom for a commune, and for an address. */
const COMMUNE_ZOOM = 12;
const ADDRESS_ZOOM = 16;
/** Delay after the last key press before homes are searched, milliseconds, and maximum homes. */
const HOMES_DELAY_MS = 400;
const HOMES_MAX = 5;
/** Matches the identifier of a property. */
const IDENTIFIER = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

const plain = (text) => text.normalize("NFD").replace(/\p{Mn}/gu, "").toLowerCase();
const go = (screen, parameters) => () => { location.hash = `#/${screen}${parameters ? `?${new URLSearchParams(parameters)}` : ""}`; };

/** Returns the link for a result of the geocoder: an address leads to its value, a commune to its market on the map. */
function opens(feature) {
  const place = placeOf(feature);
  const isCommune = feature.properties.type === "municipality";
  if (!isCommune && may("ai")) return go("home", place);
  const zoom = isCommune ? COMMUNE_ZOOM : ADDRESS_ZOOM;
  return go("map", { lat: place.lat, lon: place.lon, zoom, by: "areas", ...(isCommune && { place: place.city }) });
}

/** Homes for sale that have all words of a text, as entries; none without the scope. Results for an earlier text are not shown. */
function useHomes(text) {
  const wanted = text.trim();
  const debounced = useDebounced(wanted, HOMES_DELAY_MS);
  const found = useLoaded(async (signal) => {
    if (!may("search") || !isSearched(debounced) || IDENTIFIER.test(debounced)) return [];
    const body = { search: { filterProperty: FOR_SALE, fullTexts: [debounced] }, sortBy: "RELEVANCE", orderBy: "DESC", size: HOMES_MAX };
    return (await call("POST", "/v2/protected/properties/search", body, { signal, isQuiet: true })).data.items.map(DATASETS.properties.card);
  }, [debounced]);
  const open = (id) => go("map", { dataset: "properties", record: id });
  if (may("search") && IDENTIFIER.test(wanted)) return [["home", `${word("properties.one")} ${wanted}`, open(wanted)]];
  return found.isLoading || debounced !== wanted ? [] : (found.value ?? []).map((home) => [home.icon, home.title, open(home.id), [home.place, home.price].filter(Boolean).join(" · ")]);
}

export function Palette({ screens, onClose }) {
  const [text, setText] = useState("");
  const [nth, setNth] = useState(0);
  const place = useRef(null);
  const places = useCompletions(text);
  const homes = useHomes(text);
  const alerts = useLoaded(async (signal) => (may("alerts") ? alertsOf(1, signal, true) : null), []);
  const portfolios = useLoaded(async (signal) => (may("ai") ? (await call("GET", "/v2/protected/portfolios", undefined, { signal, isQuiet: true })).data : []), []);
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
    [word("portfolios"), text.trim() ? matching((portfolios.value ?? []).map(({ name }) => ["portfolios", name, go("portfolios", { name })])) : []],
    [word("commands"), matching(commands)],
    [word("properties.short"), homes],
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
