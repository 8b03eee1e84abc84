/** A new alert: a search, tried on the last days, and where its matches go. The filters are in the address, so that a search
    of the map can be taken over. */

import { KINDS } from "../alertlist.js";
import { call } from "../api.js";
import { DATASETS } from "../datasets.js";
import { ANYWHERE, placeOf, placeText } from "../areas.js";
import { FilterChips } from "../filterchips.js";
import { filtersOf, merged, useFields, withoutFilters } from "../filters.js";
import { counted, word } from "../language.js";
import { Field, Head, Icon, Note, Waiting, html, useLoaded, useRested, useState } from "../parts.js";
import { LinePlot } from "../plot.js";
import { toast } from "../toasts.js";
import { Match } from "./match.js";

/** Where alerts are made: on properties, which the map shows. */
const { base: BASE, price } = KINDS.properties;
/** What an alert asks for unless its filters say otherwise, and the filters that come first. */
const HOMES_FOR_SALE = { offer: [{ type: "OFFER_BUY" }] };
const USUAL = ["type", "location.postalCode", "price.latest.value", "habitation.surface.total"];
const PREVIEW_DAYS = 30;
const EXAMPLES_MAX = 5;
/** Rest after a change before the preview is asked for, milliseconds. */
const REST_MS = 400;

export function NewAlert({ parameters, set, onMade }) {
  const [fault, setFault] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const fields = useFields("/v2/protected/properties/search", ["search", "filterProperty"]);
  const given = fields.value && filtersOf(fields.value, parameters);
  const place = placeOf(parameters);
  const inPlace = place ? DATASETS.properties.within(place) : {};
  const search = { filterProperty: [given ?? {}, inPlace].reduce(merged, HOMES_FOR_SALE) };
  const create = async (event) => {
    event.preventDefault();
    if (isBusy) return;
    const of = new FormData(event.target);
    setBusy(true);
    try {
      const { data } = await call("PUT", BASE, { search_query: search, match: ["ALERT_MATCH_CREATED", "ALERT_MATCH_MERGED"], search_name: of.get("name"), webhook_url: of.get("url") });
      toast(word("isCreated", { name: of.get("name") }));
      onMade();
      set({ ...withoutFilters(parameters), ...ANYWHERE, new: "", alert: data?.alert_id ?? "" }, true);
    } catch (error) {
      setFault(error.message);
      setBusy(false);
    }
  };
  return html`<${Head} title=${word("newAlertTitle")} about=${word("newAlertAbout")}>
      <button type="button" class="quiet" onClick=${() => set({ ...withoutFilters(parameters), ...ANYWHERE, new: "" }, true)}>${word("cancel")}</button><//>
    <div class="grid2 newalert">
      <form class="card form" onSubmit=${create}>
        <h2>${word("alertSearch")}</h2>
        <${Waiting} of=${fields} lines=${2} />
        ${fields.value && html`<${FilterChips} fields=${fields.value} usual=${USUAL} parameters=${parameters} set=${set} />`}
        ${place && html`<div class="row spread"><span><${Icon} name="area" small /> ${word("areaChosen", { place: placeText(parameters) })}</span>
          <button type="button" class="quiet compact" onClick=${() => set(ANYWHERE)}>${word("removeArea")}</button></div>`}
        <h2>${word("alertReceiver")}</h2>
        <${Field} label=${word("name")}><input name="name" required maxlength="100" placeholder=${word("alertNameHint")} /><//>
        <${Field} label=${word("webhook")}><input name="url" type="url" required placeholder="https://example.com/toise" /><//>
        <p class="quiet"><small>${word("webhookHint")} <code>toise webhook</code></small></p>
        ${fault && html`<${Note} kind="bad" role="alert">${fault}<//>`}
        <div class="row"><button class="primary" aria-busy=${String(isBusy)}><${Icon} name="alerts" />${word("create")}</button></div>
      </form>
      ${fields.value && html`<${Preview} search=${search} />`}
    </div>`;
}

/** What the search would have found in the last days. */
function Preview({ search }) {
  const rested = useRested(search, REST_MS);
  const asked = useLoaded((signal) => call("POST", `${BASE}/preview`, { search_query: rested, days: PREVIEW_DAYS }, { signal }), [JSON.stringify(rested)]);
  const { count = 0, per_day: days = [], items = [] } = asked.value?.data ?? {};
  return html`<section class="card preview" aria-label=${word("preview")}><h2>${word("preview")}</h2><${Waiting} of=${asked} lines=${6} />
    ${asked.value && html`<p role="status">${counted("previewFound", count, { days: PREVIEW_DAYS })}</p>
      ${count > 0 && html`<${LinePlot} height=${150} title=${`${word("matches")}, ${word("perDay")}`} times=${days.map((one) => Date.parse(one.date))}
        lines=${[{ label: word("matches"), values: days.map((one) => one.count), isBars: true }]} />`}
      ${items.length > 0 && html`<h3>${word("examples")}</h3><ul>${items.slice(0, EXAMPLES_MAX).map((match) => html`<${Match} match=${match} price=${price} />`)}</ul>`}
      ${count === 0 && html`<p class="quiet">${word("previewNone")}</p>`}`}</section>`;
}
