/** A record of the map: a card in the list, and the opened record with all its data. */

import { addressOf } from "../addresses.js";
import { may } from "../api.js";
import { DATASETS } from "../datasets.js";
import { FIELD_NAMES, RECORD_NAMES } from "../fieldnames.js";
import { spoken, spokenValue } from "../filters.js";
import { day, euros, labelled, number, perM2, squareMetres, valueWord, word } from "../language.js";
import { Badge, Icon, Outside, html } from "../parts.js";
import { LinePlot } from "../plot.js";
import { PlaceHistory } from "./placehistory.js";

/** Returns the first price, if it differs from the last one, and the change since then, percent. */
function change([before, after] = []) {
  const percent = before && after ? Math.round((after / before - 1) * 100) : 0;
  return percent !== 0 && html`<span class="nowrap"><s class="quiet">${euros(before)}</s> <${Badge} kind=${percent < 0 ? "good" : "warn"}>${percent > 0 ? "+" : ""}${percent}\u00a0%<//></span>`;
}

const Face = ({ card }) => card.energy ? html`<span class="face energy ${card.energy}">${card.energy}</span>` : html`<span class="face"><${Icon} name=${card.icon} /></span>`;

/** One result of the list; hovering over it marks its point on the map. */
export const Card = ({ card, isLit, onLit, onPick }) => html`<li><button type="button" class=${isLit ? "result lit" : "result"} data-id=${card.id} onClick=${onPick}
  onMouseEnter=${() => onLit(card.id)} onMouseLeave=${() => onLit(null)} onFocus=${() => onLit(card.id)} onBlur=${() => onLit(null)}>
  <${Face} card=${card} />
  <span class="what"><b>${card.title}</b><span class="quiet">${card.place}</span><span class="quiet">${card.facts}</span></span>
  <span class="sums">${card.price && html`<b class="number">${card.price}</b>`}${card.figure && html`<span class="number quiet">${card.figure}</span>`}
    ${change(card.prices)}<span class="nowrap quiet">${card.date}</span></span></button></li>`;

/** Types of sales that count as homes and can be valued. */
const HOMES = ["Appartement", "Maison"];

/** Maximum parcels of a sale whose history is offered; a farm may have hundreds. */
const PARCELS_MAX = 5;

/** The parcels and the building that a record names. */
const placesOf = (record) => [
  ...(record.parcel_ids ?? []).slice(0, PARCELS_MAX).map((id) => ["parcel", id]),
  ...(/^[0-9A-Z]{12}$/.test(record.id_rnb ?? "") ? [["building", record.id_rnb]] : []),
];

/** Formats a value of a record. */
function shown(field, value) {
  if (typeof value === "boolean") return valueWord(value);
  if (typeof value === "number" && /annee|year/i.test(field)) return String(value);
  if (typeof value === "number" && /price.*(per|_m2)/i.test(field)) return perM2(value);
  if (typeof value === "number" && /price|cout|cost/i.test(field)) return euros(value);
  if (typeof value === "number" && /surface/i.test(field)) return squareMetres(value, 1);
  if (typeof value === "number") return number(value, 4);
  if (field === "address") return addressOf(value);
  return /^\d{4}-\d\d-\d\d(?:T|$)/.test(value) ? day(value) : spokenValue(value);
}

/** Simple values of a record. */
const simple = (record) => Object.entries(record).filter(([, value]) => ["string", "number", "boolean"].includes(typeof value) && value !== "");
const isNamed = ([field]) => field in FIELD_NAMES || field in RECORD_NAMES;

/** Values under the names of the filters. */
const Facts = ({ of }) => html`<dl class="facts">${of.map(([field, value]) => html`<dt>${spoken(field)}</dt><dd>${shown(field, value)}</dd>`)}</dl>`;

export function Record({ name, record }) {
  const card = DATASETS[name].card(record);
  // A diagnostic has more than 200 fields; those with a name in the console come first.
  const [named, others] = [simple(record).filter(isNamed), simple(record).filter((one) => !isNamed(one))];
  const [lon, lat] = DATASETS[name].place(record) ?? [];
  const surface = record.surface_m2 ?? record.surface_habitable_logement ?? record.habitation?.surface?.total;
  const rooms = record.main_rooms ?? record.habitation?.roomCount;
  const type = /house|maison/i.test(record.type ?? record.property_type ?? record.type_batiment ?? "") ? "CLASS_HOUSE" : "";
  const land = type && (record.land_surface_m2 ?? record.land?.surface);
  const energy = record.etiquette_dpe ?? record.habitation?.climate?.epcEnergy?.split("_").pop();
  const home = new URLSearchParams(Object.entries({ lat, lon, surface: surface && Math.round(surface), rooms, type, land, energy }).filter(([, value]) => value));
  return html`<div class="sheetbody">
      <div class="row spread"><span class="row tight"><${Face} card=${card} /><span class="quiet">${card.place}${card.facts && html`<br />${card.facts}`}</span></span>
        <span class="sums">${card.price && html`<b class="number">${card.price}</b>`}<span class="number quiet">${card.figure}</span></span></div>
      ${lat && may("ai") && (name !== "dvf" || HOMES.includes(record.property_type)) && html`<a class="button primary" href="#/home?${home}">${word("estimate")}</a>`}
      ${name === "properties" && html`<${Listing} home=${record} />`}
      <details open=${name !== "properties"}><summary>${word("details")}</summary><${Facts} of=${named} /></details>
      ${others.length > 0 && html`<details><summary>${labelled(word("otherFields"), number(others.length))}</summary><${Facts} of=${others} /></details>`}
      ${placesOf(record).map(([kind, id]) => html`<${PlaceHistory} key=${id} kind=${kind} id=${id} />`)}
    </div>`;
}

/** Data of portals about a home: its prices over time and its adverts. */
function Listing({ home }) {
  const seen = (moment) => Date.parse(moment);
  const points = [
    [seen(home.meta?.firstSeenAt), home.price?.initial?.value],
    [seen(home.meta?.lastSeenAt), home.price?.latest?.value],
  ].filter(([at, value]) => at && value);
  const isChanged = points.length > 1 && points[0][1] !== points[1][1];
  return html`
    ${isChanged && html`<${LinePlot} height=${140} title=${word("history")} isStepped times=${points.map(([at]) => at)}
      lines=${[{ label: word("price"), values: points.map(([, value]) => value) }]} />`}
    <p class="long">${home.description}</p>
    <h3>${word("adverts")}</h3>
    <ul class="adverts">${(home.adverts ?? []).map((advert) => html`<li class="row spread"><span><${Outside} href=${advert.url}>${advert.source}<//>
      <br /><small class="quiet">${word("since")} ${day(advert.firstSeenAt)}</small></span>
      <span class="sums"><b class="number">${euros(advert.price?.latest?.value)}</b><${Badge} kind=${advert.isOnline ? "good dot" : "dot"}>${word(advert.isOnline ? "online" : "offline")}<//></span></li>`)}</ul>`;
}
