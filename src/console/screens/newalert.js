/** A new alert: a search with a preview of the last days, and its receiver. The filters are in the URL, so that a search of the map
    can be reused. */

import { KINDS } from "../alertlist.js";
import { call } from "../api.js";
import { DATASETS } from "../datasets.js";
import { ANYWHERE, placeOf, placeText } from "../areas.js";
import { FilterChips } from "../filterchips.js";
import { filtersOf, merged, useFields, withoutFilters } from "../filters.js";
import { counted, word } from "../language.js";
import { Field, Head, Icon, Note, Segments, Waiting, html, useLoaded, useDebounced, useState } from "../parts.js";
import { LinePlot } from "../plot.js";
import { toast } from "../toasts.js";
import { Match } from "./match.js";

/** Alerts on sales or diagnostics. */
const openData = (usual) => ({ search: (...filters) => ({ filters: filters.reduce(merged) }), match: ["ALERT_MATCH_CREATED", "ALERT_MATCH_CHANGED"], usual });
/** The datasets of alerts: those of the map. For each, the search with filters, the events reported, and the filters shown first. */
const OF = {
  properties: {
    // For sale, unless the filters say otherwise.
    search: (...filters) => ({ filterProperty: filters.reduce(merged, { offer: [{ type: "OFFER_BUY" }] }) }), match: ["ALERT_MATCH_CREATED", "ALERT_MATCH_MERGED"],
    usual: ["type", "location.postalCode", "price.latest.value", "habitation.surface.total"],
  },
  dvf: openData(["property_type", "postal_code", "price_eur", "surface_m2"]),
  dpe: openData(["etiquette_dpe", "code_postal_ban", "surface_habitable_logement"]),
};
const PREVIEW_DAYS = 30;
const EXAMPLES_MAX = 5;
/** Delay after a change before the preview is requested, milliseconds. */
const DELAY_MS = 400;

export function NewAlert({ parameters, set, onMade }) {
  const kind = Object.hasOwn(OF, parameters.dataset ?? "") ? parameters.dataset : "properties";
  const { match, usual } = OF[kind];
  const { path, inner, within } = DATASETS[kind];
  const [fault, setFault] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const fields = useFields(path, inner);
  const given = fields.value && filtersOf(fields.value, parameters);
  const place = placeOf(parameters);
  const search = OF[kind].search(given ?? {}, place ? within(place) : {});
  const left = { ...withoutFilters(parameters), ...ANYWHERE, new: "", dataset: "" };
  const create = async (event) => {
    event.preventDefault();
    if (isBusy) return;
    const of = new FormData(event.target);
    setBusy(true);
    try {
      const { data } = await call("PUT", KINDS[kind].base, { search_query: search, match, search_name: of.get("name"), webhook_url: of.get("url") });
      toast(word("isCreated", { name: of.get("name") }));
      onMade();
      set({ ...left, alert: data?.alert_id ?? "" }, true);
    } catch (error) {
      setFault(error.message);
      setBusy(false);
    }
  };
  return html`<${Head} title=${word("newAlertTitle")} about=${word("newAlertAbout")}>
      <button type="button" class="quiet" onClick=${() => set(left, true)}>${word("cancel")}</button><//>
    <div class="grid2 newalert">
      <form class="card form" onSubmit=${create}>
        <h2>${word("alertSearch")}</h2>
        <${Segments} label=${word("dataset")} value=${kind} values=${Object.keys(OF).map((one) => [one, word(`${one}.short`)])} onChange=${(one) => set({ ...withoutFilters(parameters), dataset: one })} />
        <${Waiting} of=${fields} lines=${2} />
        ${fields.value && html`<${FilterChips} key=${kind} fields=${fields.value} usual=${usual} parameters=${parameters} set=${set} />`}
        ${place && html`<div class="row spread"><span><${Icon} name="area" small /> ${word("areaChosen", { place: placeText(parameters) })}</span>
          <button type="button" class="quiet compact" onClick=${() => set(ANYWHERE)}>${word("removeArea")}</button></div>`}
        <h2>${word("alertReceiver")}</h2>
        <${Field} label=${word("name")}><input name="name" required maxlength="100" placeholder=${word("alertNameHint")} /><//>
        <${Field} label=${word("webhook")}><input name="url" type="url" required placeholder="https://example.com/toise" /><//>
        <p class="quiet"><small>${word("webhookHint")} <code>toise webhook</code></small></p>
        ${fault && html`<${Note} kind="bad" role="alert">${fault}<//>`}
        <div class="row"><button class="primary" aria-busy=${String(isBusy)}><${Icon} name="alerts" />${word("create")}</button></div>
      </form>
      ${fields.value && html`<${Preview} key=${kind} kind=${kind} search=${search} />`}
    </div>`;
}

/** Preview: the matches of the last days; for sales and diagnostics, all current matches. */
function Preview({ kind, search }) {
  const isOpenData = kind !== "properties";
  const debounced = useDebounced(search, DELAY_MS);
  const asked = useLoaded((signal) => call("POST", `${KINDS[kind].base}/preview`, { search_query: debounced, ...(!isOpenData && { days: PREVIEW_DAYS }) }, { signal }), [JSON.stringify(debounced)]);
  const { count = 0, per_day: days = [], items = [] } = asked.value?.data ?? {};
  return html`<section class="card preview" aria-label=${word("preview")}><h2>${word("preview")}</h2><${Waiting} of=${asked} lines=${6} />
    ${asked.value && html`<p role="status">${isOpenData ? counted("previewKnown", count) : counted("previewFound", count, { days: PREVIEW_DAYS })}</p>
      ${days.length > 0 && count > 0 && html`<${LinePlot} height=${150} title=${`${word("matches")}, ${word("perDay")}`} times=${days.map((one) => Date.parse(one.date))}
        lines=${[{ label: word("matches"), values: days.map((one) => one.count), isBars: true }]} />`}
      ${items.length > 0 && html`<h3>${word("examples")}</h3><ul>${items.slice(0, EXAMPLES_MAX).map((match) => html`<${Match} kind=${kind} match=${match} />`)}</ul>`}
      ${count === 0 && html`<p class="quiet">${word(isOpenData ? "previewNoRecord" : "previewNone")}</p>`}`}</section>`;
}
