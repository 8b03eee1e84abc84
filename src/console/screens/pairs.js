/** Pairs of properties that are perhaps one home, one at a time, for an operator to decide: by button or by the keys 1 to 3. */

import { call } from "../api.js";
import { fieldName, foundWords } from "../evidence.js";
import { day, euros, number, word } from "../language.js";
import { Granted, Outside, Table, Waiting, html, useEffect, useLoaded, useRef, useState } from "../parts.js";

const BASE = "/v2/protected/admin/properties";
/** Pairs that are loaded at once: the next one appears without waiting. */
const LOADED = 20;
/** Weights below this are not shown, bits. */
const SHOWN_BITS = 0.05;
/** Status of a decision that somebody else has made already. */
const CONFLICT = 409;

/** What the two adverts say of themselves, one row each. */
const LINES = [
  ["name", (advert) => html`<${Outside} href=${advert.url}>${advert.title || advert.url || word("none")}<//>`],
  ["portal", (advert) => advert.source ?? ""],
  ["price", (advert) => euros(advert.price)],
  ["surface", (advert) => (advert.surface === null ? "" : `${number(advert.surface, 1)} m²`)],
  ["rooms", (advert) => number(advert.rooms)],
  ["place", (advert) => advert.place],
  ["lastSeen", (advert) => `${day(advert.lastSeenAt)} · ${word(advert.isOnline ? "online" : "offline")}`],
  ["pictures", (advert) => advert.pictures.map((picture, nth) => html`<${Outside} href=${picture}>${nth + 1}<//> `)],
];

const keyOf = (pair) => pair.adverts.map((advert) => advert.flxId).join();
const signed = (bits) => `${bits > 0 ? "+" : ""}${number(bits, 1)}`;

const Evidence = ({ title, rows }) => html`<${Table} caption=${title} rows=${rows} columns=${[
  [word("field"), (one) => fieldName(one.field)], [word("found"), (one) => foundWords(one.found)],
  [word("bits"), (one) => signed(one.bits), true]]} />`;

/** The pair itself: both adverts, what agrees, what differs, and what keeps them apart. */
function Pair({ pair }) {
  const { comparison, adverts, contradictions, dissenters, common } = pair;
  const shown = comparison.evidence.filter((one) => Math.abs(one.bits) >= SHOWN_BITS).sort((one, other) => Math.abs(other.bits) - Math.abs(one.bits));
  const names = (kinds) => kinds.map(fieldName).join(", ");
  return html`
    <${Table} caption=${`${word("probability")} ${number(100 * comparison.probability, 1)} % (${signed(comparison.bits)} ${word("bits")})`}
      rows=${LINES} columns=${[["", ([name]) => word(name)], [`${word("advert")} 1`, ([, cell]) => cell(adverts[0])], [`${word("advert")} 2`, ([, cell]) => cell(adverts[1])]]} />
    ${contradictions.length > 0 && html`<p class="fault">${word("contradicts")}: ${names(contradictions)}</p>`}
    ${dissenters.map((one) => html`<p class="fault">${word("dissents")} ${one.against === adverts[0].flxId ? 1 : 2}
      ${" "}(${one.contradictions.length ? names(one.contradictions) : word("littleInCommon")}): <${Outside} href=${one.url}>${one.title || one.url || one.flxId}<//></p>`)}
    <div class="sides">
      <${Evidence} title=${word("agrees")} rows=${shown.filter((one) => one.bits > 0)} />
      <${Evidence} title=${word("differs")} rows=${shown.filter((one) => one.bits < 0)} />
    </div>
    ${common.length > 0 && html`<p class="quiet">${word("common")}: ${names(common)}</p>`}
    <p class="quiet">${word("beforehand")}: ${signed(comparison.priorBits + comparison.lookalikeBits)} ${word("bits")}</p>`;
}

function Deciding() {
  const asked = useLoaded((signal) => call("GET", `${BASE}/candidates?limit=${LOADED}`, undefined, { signal }), []);
  // Pairs that were decided, and may still be in the list that is loaded, or were put off.
  const [passed, setPassed] = useState([]);
  const [told, setTold] = useState(null);
  const isBusy = useRef(false);
  const { pairs = [], waiting = 0 } = asked.value?.data ?? {};
  const left = pairs.filter((one) => !passed.includes(keyOf(one)));
  const pair = left[0] ?? (asked.isLoading ? undefined : pairs[0]);
  const pass = () => {
    setPassed([...passed, keyOf(pair)]);
    asked.again();
  };
  const decide = async (act, done) => {
    if (!pair || isBusy.current) return;
    isBusy.current = true;
    const [one, other] = pair.adverts.map((advert) => advert.propertyFlxId);
    try {
      await call("POST", `${BASE}/${one}/${act}`, { propertyFlxId: other });
      setTold({ text: `${word(done)}: ${one}, ${other}` });
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
    // After the last one, those that were put off come again.
    3: () => pair && !isBusy.current && setPassed(left.length > 1 ? [...passed, keyOf(pair)] : []),
  };
  useEffect(() => {
    const press = (event) => {
      const isTyping = event.target.closest?.("input, select, textarea");
      if (isTyping || event.repeat || event.ctrlKey || event.metaKey || event.altKey || !(event.key in acts)) return;
      event.preventDefault();
      acts[event.key]();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  });
  return html`<section><h2>${word("pairsTitle")}</h2>
    <p class="quiet">${word("pairsHint")}</p><${Waiting} of=${asked} />
    <p role="status">${asked.value && `${number(waiting)} ${word("pairsWaiting")}. `}
      ${told && (told.fault ? html`<span class="fault">${told.fault}</span>` : told.text)}</p>
    ${pair && html`<p class="filters">
      <button type="button" onClick=${acts[1]}>${word("sameHome")} <kbd>1</kbd></button>
      <button type="button" onClick=${acts[2]}>${word("differentHomes")} <kbd>2</kbd></button>
      <button type="button" class="plain" onClick=${acts[3]}>${word("later")} <kbd>3</kbd></button></p>
    <${Pair} pair=${pair} />`}
    ${asked.value && !pair && !asked.isLoading && html`<p class="quiet">${word("noPairs")}</p>`}</section>`;
}

export const Pairs = () => html`<${Granted} scope="admin"><${Deciding} /><//>`;
