/** The history of a parcel or building: its sales, diagnostics, properties and adverts, oldest first. */

import { call } from "../api.js";
import { day, number, word } from "../language.js";
import { More, Waiting, html, usePages, useRef, useState } from "../parts.js";
import { Match } from "./match.js";

/** Events on a page. */
const SIZE = 20;
/** Kinds of events, with the names of the kinds of alerts. */
const KIND = { SALE: "dvf", DIAGNOSTIC: "dpe", PROPERTY: "properties", ADVERT: "adverts" };
const PATH = { parcel: "/v2/protected/parcels/", building: "/v2/protected/buildings/" };

/** The history of a place, loaded when it is opened. `kind` is `parcel` or `building`. */
export function PlaceHistory({ kind, id }) {
  const [isAsked, setAsked] = useState(false);
  const title = word(`historyOf.${kind}`, { id });
  return html`<details onToggle=${(event) => event.target.open && setAsked(true)}><summary>${title}</summary>
    ${isAsked && html`<${Events} title=${title} path=${PATH[kind] + encodeURIComponent(id)} />`}</details>`;
}

function Events({ title, path }) {
  const cursors = useRef([]);
  const asked = usePages(SIZE, async (nth, last, signal) => {
    const cursor = cursors.current[nth];
    if (nth > 0 && !cursor) return [];
    const { data } = await call("GET", `${path}?${new URLSearchParams({ size: SIZE, ...(cursor && { cursor }) })}`, undefined, { signal });
    cursors.current[nth + 1] = data.cursor;
    return data.events;
  }, ({ kind, record }) => `${kind} ${record.id ?? record.numero_dpe ?? record.flxId ?? record.url}`);
  return html`<${Waiting} of=${asked} />
    ${asked.value && html`<ul aria-label=${title}>${asked.value.entries.map((event) => html`<${Match} kind=${KIND[event.kind]} match=${shownOf(event)} note=${noteOn(event)} />`)}</ul>`}
    <${More} of=${asked} />`;
}

/** Adverts in a history are in short form, without a title. */
const shownOf = ({ kind, record }) => (kind === "ADVERT" ? { ...record, title: record.source, currentPrice: record.price?.latest } : record);

/** Notes when a property or advert was first seen, and why a record that does not name the place is listed. */
const noteOn = ({ kind, date, link, score }) => [
  kind === "PROPERTY" || kind === "ADVERT" ? `${word(`${kind.toLowerCase()}.seen`)} ${day(date)}` : "",
  ["ADDRESS", "POSITION", "FORMER_PARCEL"].includes(link) ? word(`link.${link}`) : "",
  score === undefined ? "" : word("placeScore", { percent: number(100 * score) }),
].filter(Boolean).join(" · ");
