/** What is open over the results of the map: a record, or the market of a commune or department. Both are in the page's URL, so that
    links, reloading and the browser's Back button lead to them. */

import { call, may } from "../api.js";
import { word } from "../language.js";
import { COMMUNE_CHARS, MarketSheet, useMarket } from "../marketsheet.js";
import { Icon, Note, Waiting, html, useEffect, useLoaded, useRef } from "../parts.js";
import { DATASETS } from "../datasets.js";
import { Record } from "./record.js";

/** URL parameters that close what is open. */
export const CLOSED = { record: "", place: "" };

/** Returns the record with an identifier: `kept` if it is that record, otherwise loaded from the service. */
export function useRecord(dataset, id, kept) {
  const isKept = kept !== null && dataset.card(kept).id === id;
  const asked = useLoaded(async (signal) => (id && !isKept ? { id, record: await dataset.find(id, signal) } : null), [id, isKept]);
  if (isKept) return { record: kept };
  return id && asked.value?.id === id ? { record: asked.value.record } : { isLoading: true, error: asked.error, reload: asked.reload };
}

/** Moves the focus into what was opened, and back to its result when it is closed. `opened` is the identifier. */
export function useOpenedFocus(panel, opened) {
  const before = useRef(opened);
  useEffect(() => {
    const former = before.current;
    before.current = opened;
    // If the user is typing elsewhere when it closes, the focus stays there.
    if (opened === former || (!opened && document.activeElement.matches("input, select, textarea"))) return;
    const own = panel.current.querySelector(opened ? ".sheethead button" : `.result[data-id="${CSS.escape(former)}"]`);
    // Right after the page is loaded there is no list yet.
    (own ?? panel.current.querySelector(".results"))?.focus();
  }, [opened]);
}

/** Closes what is open on Escape, unless the key belongs to a field or a popover. */
export function useEscape(isOpened, close) {
  useEffect(() => {
    if (!isOpened) return undefined;
    const onKey = (event) => {
      const isTaken = event.target.closest?.("input, select, textarea") || document.querySelector(":popover-open, dialog[open]");
      if (event.key === "Escape" && !isTaken) close();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [isOpened]);
}

const Sheet = ({ title, code, close, children }) => html`<div class="sheet" role="region" aria-label=${title}>
  <div class="row tight sheethead">
    <button type="button" class="quiet square compact" aria-label=${word("back")} title=${word("back")} onClick=${close}><${Icon} name="back" /></button>
    <h2>${title}</h2>${code && html`<span class="quiet">${code}</span>`}</div>${children}</div>`;

/** `of` is the record as useRecord gives it; `area` what was clicked on the map, with its figures. */
export function Opened({ name, of, place, area, close }) {
  if (place) return html`<${PlaceSheet} key=${place} code=${place} area=${area?.code === place ? area : null} close=${close} />`;
  if (of.record) return html`<${Sheet} title=${DATASETS[name].card(of.record).title} close=${close}><${Record} name=${name} record=${of.record} /><//>`;
  return html`<${Sheet} title=${word(`${name}.one`)} close=${close}><div class="sheetbody">
    ${of.isLoading ? html`<${Waiting} of=${of} lines=${8} />` : html`<${Note} kind="warn" role="alert">${word("error.none")}<//>`}</div><//>`;
}

/** Returns the name of a commune by its code; undefined for a department or without the scope. */
async function communeName(code, signal) {
  if (code.length < COMMUNE_CHARS || !may("geocoding")) return null;
  const path = `/geocoding/search?limit=1&type=municipality&citycode=${encodeURIComponent(code)}&q=${encodeURIComponent(code)}`;
  const { features } = await call("GET", path, undefined, { signal, isQuiet: true });
  return features[0]?.properties.city;
}

/** The market of a commune or department. */
function PlaceSheet({ code, area, close }) {
  const market = useMarket(code);
  const named = useLoaded((signal) => (area ? Promise.resolve(area.name) : communeName(code, signal)), [code]);
  const { rows = [], isDepartment } = market.value ?? {};
  const name = named.value ?? (isDepartment ? code : rows[0]?.name ?? code);
  return html`<${Sheet} title=${name} code=${name === code ? "" : code} close=${close}><${MarketSheet} code=${code} area=${area} asked=${market} /><//>`;
}
