/** Pairs of properties that may be one home. The operator decides about one at a time, by button or with the keys 1 to 3. */

import { call } from "../api.js";
import { fieldName, foundWords } from "../evidence.js";
import { counted, day, euros, labelled, number, squareMetres, word } from "../language.js";
import { Badge, Empty, Head, Note, Outside, Waiting, html, useEffect, useLoaded, useRef, useState } from "../parts.js";

const BASE = "/v2/protected/admin/properties";
/** Pairs that are loaded at once, so that the next one appears immediately. */
const LOADED = 20;
/** Weights below this are not shown, bits. */
const SHOWN_BITS = 0.05;
/** HTTP status if somebody else has already decided. */
const CONFLICT = 409;

/** The values of an advert: name, cell, and the value by which two adverts are compared. */
const LINES = [
  ["portal", (advert) => advert.source ?? ""],
  ["price", (advert) => euros(advert.price), (advert) => advert.price],
  ["surface", (advert) => squareMetres(advert.surface, 1), (advert) => advert.surface],
  ["rooms", (advert) => number(advert.rooms), (advert) => advert.rooms],
  ["place", (advert) => advert.place, (advert) => advert.place],
  ["lastSeen", (advert) => day(advert.lastSeenAt)],
  ["pictures", (advert) => (advert.pictures.length ? advert.pictures.map((picture, nth) => html`<${Outside} href=${picture}>${nth + 1}<//> `) : word("noPictures"))],
];

const keyOf = (pair) => pair.adverts.map((advert) => advert.flxId).join();
const signed = (bits) => `${bits > 0 ? "+" : ""}${number(bits, 1)}`;

/** The evidence of a comparison, highest weight first, with a bar as long as the weight. */
function Evidence({ title, rows, kind }) {
  const most = Math.max(...rows.map((one) => Math.abs(one.bits)), 1);
  return html`<section class="card evidence ${kind}"><h3>${title}</h3>${rows.length === 0 && html`<p class="quiet">${word("none")}</p>`}
    <ul>${rows.map((one) => html`<li><span class="row spread"><b>${fieldName(one.field)}</b><span class="number quiet">${signed(one.bits)} ${word("bits")}</span></span>
      <span class="quiet">${foundWords(one.found)}</span><i class="weight"><i style=${{ width: `${(100 * Math.abs(one.bits)) / most}%` }}></i></i></li>`)}</ul></section>`;
}

/** One advert of the pair: its values, with those that differ from the other one in bold. */
const Advert = ({ advert, other, nth }) => html`<section class="card advert" aria-label=${`${word("advert")} ${nth}`}>
  <div class="row spread"><${Badge}>${word("advert")} ${nth}<//><${Badge} kind=${advert.isOnline ? "good dot" : "dot"}>${word(advert.isOnline ? "online" : "offline")}<//></div>
  <h3><${Outside} href=${advert.url}>${advert.title || advert.url || word("none")}<//></h3>
  <dl class="facts">${LINES.map(([name, cell, value]) => html`<dt>${word(name)}</dt><dd class=${value && value(advert) !== value(other) ? "other" : ""}>${cell(advert)}</dd>`)}</dl></section>`;

/** The pair itself: both adverts, what agrees, what differs, and what keeps them apart. */
function Pair({ pair }) {
  const { comparison, adverts, contradictions, dissenters, common } = pair;
  const shown = comparison.evidence.filter((one) => Math.abs(one.bits) >= SHOWN_BITS).sort((one, other) => Math.abs(other.bits) - Math.abs(one.bits));
  const names = (kinds) => kinds.map(fieldName).join(", ");
  const percent = 100 * comparison.probability;
  return html`
    <section class="card"><div class="row spread"><h2>${word("probability")} ${number(percent, 1)} %</h2><span class="quiet">${signed(comparison.bits)} ${word("bits")}</span></div>
      <div class="meter" role="img" aria-label=${`${word("probability")} ${number(percent, 1)} %`}><i style=${{ width: `${percent}%` }}></i></div>
      ${contradictions.length > 0 && html`<${Note} kind="bad">${labelled(word("contradicts"), names(contradictions))}<//>`}
      ${dissenters.map((one) => html`<${Note} kind="warn"><span>${word("dissents")} ${one.against === adverts[0].flxId ? 1 : 2}
        ${" "}${labelled(`(${one.contradictions.length ? names(one.contradictions) : word("littleInCommon")})`, "")}<${Outside} href=${one.url}>${one.title || one.url || one.flxId}<//></span><//>`)}
      <p class="quiet"><small>${labelled(word("beforehand"), `${signed(comparison.priorBits + comparison.lookalikeBits)} ${word("bits")}.`)}${common.length > 0 ? ` ${labelled(word("common"), names(common))}.` : ""}</small></p></section>
    <div class="sides"><${Advert} advert=${adverts[0]} other=${adverts[1]} nth=${1} /><${Advert} advert=${adverts[1]} other=${adverts[0]} nth=${2} /></div>
    <div class="sides">
      <${Evidence} kind="for" title=${word("agrees")} rows=${shown.filter((one) => one.bits > 0)} />
      <${Evidence} kind="against" title=${word("differs")} rows=${shown.filter((one) => one.bits < 0)} />
    </div>`;
}

export function Pairs() {
  const asked = useLoaded((signal) => call("GET", `${BASE}/candidates?limit=${LOADED}`, undefined, { signal }), []);
  // Decided pairs, which may still be in the loaded list, and postponed pairs.
  const [decided, setDecided] = useState([]);
  const [later, setLater] = useState([]);
  const [told, setTold] = useState(null);
  const isBusy = useRef(false);
  const { pairs = [], waiting = 0 } = asked.value?.data ?? {};
  const open = pairs.filter((one) => !decided.includes(keyOf(one)));
  const left = open.filter((one) => !later.includes(keyOf(one)));
  const pair = left[0] ?? (asked.isLoading ? undefined : open[0]);
  const pass = () => {
    setDecided([...decided, keyOf(pair)]);
    asked.reload();
  };
  const decide = async (act, done) => {
    if (!pair || isBusy.current) return;
    isBusy.current = true;
    const [one, other] = pair.adverts.map((advert) => advert.propertyFlxId);
    try {
      await call("POST", `${BASE}/${one}/${act}`, { propertyFlxId: other });
      setTold({ text: labelled(word(done), `${one}, ${other}`) });
      pass();
    } catch (error) {
      setTold({ fault: error.message });
      if (error.status === CONFLICT) pass();
    } finally {
      isBusy.current = false;
    }
  };
  const acts = {
    1: () => decide("merge", "merged"),
    2: () => decide("keep-apart", "keptApart"),
    // After the last pair, the postponed ones are shown again.
    3: () => pair && !isBusy.current && setLater(left.length > 1 ? [...later, keyOf(pair)] : []),
  };
  // A key applies to the pair on the screen, also before the effects of the latest render have run.
  const newest = useRef(acts);
  newest.current = acts;
  useEffect(() => {
    const press = (event) => {
      const isTyping = event.target.closest?.("input, select, textarea, dialog");
      if (isTyping || event.repeat || event.ctrlKey || event.metaKey || event.altKey || !(event.key in newest.current)) return;
      event.preventDefault();
      newest.current[event.key]();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return html`<div class="page">
    <${Head} title=${word("pairsTitle")} about=${word("pairsHint")}><p role="status">${asked.value && `${counted("pairsWaiting", waiting)}. `}
      ${told && (told.fault ? html`<span class="fault">${told.fault}</span>` : told.text)}</p><//>
    <${Waiting} of=${asked} lines=${8} />
    ${pair && html`<div class="row verdict noprint">
      <button type="button" class="primary" onClick=${acts[1]}>${word("sameHome")} <kbd>1</kbd></button>
      <button type="button" onClick=${acts[2]}>${word("differentHomes")} <kbd>2</kbd></button>
      <button type="button" class="quiet" onClick=${acts[3]}>${word("later")} <kbd>3</kbd></button></div>
    <${Pair} pair=${pair} />`}
    ${asked.value && !pair && !asked.isLoading && !asked.error && html`<div class="card"><${Empty} icon="pairs" title=${word("noPairs")} text=${word("noPairsText")} /></div>`}</div>`;
}
