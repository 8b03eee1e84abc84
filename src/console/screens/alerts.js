/** Alerts: saved searches whose new matches are sent to a webhook. Shows the list, and one alert with its deliveries and the responses
    of its receiver. */

import { KINDS, alertsOf, findAlert } from "../alertlist.js";
import { call } from "../api.js";
import { described } from "../filters.js";
import { ago, counted, day, labelled, moment, number, word } from "../language.js";
import { Badge, Empty, Field, Head, Icon, Json, More, Note, Waiting, html, useLoaded, usePages, useRef, usePolling, useState } from "../parts.js";
import { attempt, toast } from "../toasts.js";
import { Match } from "./match.js";
import { NewAlert } from "./newalert.js";

/** Interval of reloading deliveries and matches, milliseconds per page shown. */
const TAIL_MS = 2_000;
/** Deliveries or matches on a page. */
const PAGE = 20;
/** Days of matches that a replay sends, and their maximum number. */
const REPLAY_DAYS = 7;
const REPLAY_MAX = 100;
const DAY_MS = 86_400_000;
const STATUS = { DELIVERED: "good", PENDING: "accent", FAILED: "warn", DEAD: "bad" };

const hostOf = (address) => {
  try {
    return new URL(address).host;
  } catch {
    return address;
  }
};

export function Alerts({ parameters, set }) {
  const pages = useRef(1);
  const alerts = useLoaded((signal) => alertsOf(pages.current, signal), []);
  const { alerts: listed = [], hasMore } = alerts.value ?? {};
  // The alert in the URL, such as a new one, may be on a later page.
  const isApart = Boolean(parameters.alert && hasMore) && !listed.some((alert) => alert.alert_id === parameters.alert);
  const apart = useLoaded(async (signal) => (isApart ? findAlert(parameters.alert, signal) : null), [isApart && parameters.alert, alerts.value]);
  const list = isApart && apart.value?.alert_id === parameters.alert ? [apart.value, ...listed] : listed;
  const chosen = list.find((alert) => alert.alert_id === parameters.alert);
  const open = (alert) => set({ alert: alert.alert_id, new: "" }, true);
  const next = () => {
    if (alerts.isLoading) return;
    if (!alerts.error) pages.current += 1;
    alerts.reload();
  };
  const create = () => set({ new: 1, alert: "" }, true);
  if (parameters.new) {
    return html`<div class="page"><${NewAlert} parameters=${parameters} set=${set} onMade=${alerts.reload} /></div>`;
  }
  return html`<div class="page">
    <${Head} title=${word("alerts")} about=${word("alertsAbout")}><button type="button" class="primary" onClick=${create}><${Icon} name="plus" />${word("newAlertShort")}</button><//>
    <${Waiting} of=${alerts} lines=${6} />
    ${isApart && apart.error && html`<${Waiting} of=${apart} />`}
    ${alerts.value && list.length === 0 && html`<div class="card"><${Empty} icon="alerts" title=${word("alertsEmpty")} text=${word("alertsEmptyText")}>
      <button type="button" onClick=${create}>${word("alertsStart")}</button><//></div>`}
    ${list.length > 0 && html`<div class=${chosen ? "split chosen" : "split"}>
      <div><ul class="choices" aria-label=${word("alerts")}>${list.map((alert) => html`<li key=${alert.alert_id}><button type="button" class="choice" aria-pressed=${String(alert === chosen)} onClick=${() => open(alert)}>
        <span class="row spread"><b>${alert.search_name}</b><${Badge} kind=${alert.activated ? "good dot" : "dot"}>${word(alert.activated ? "active" : "paused")}<//></span>
        <span class="quiet">${word(alert.kind)} · ${hostOf(alert.webhook_url)}</span><span class="quiet">${word("alertCreated")} ${day(alert.created_at)}</span></button></li>`)}</ul>
        ${hasMore && html`<button type="button" class="more" aria-busy=${String(Boolean(alerts.isLoading))} onClick=${next}>${word("more")}</button>`}</div>
      ${chosen ? html`<${Followed} key=${chosen.alert_id} alert=${chosen} onChange=${alerts.reload} />` : html`<div class="card placeholder"><${Empty} icon="alerts" title=${word("chooseAlert")} /></div>`}
    </div>`}
  </div>`;
}

/** One alert: its search, its deliveries as they happen, and its matches. */
function Followed({ alert, onChange }) {
  const { base } = KINDS[alert.kind];
  const path = `${base}/${alert.alert_id}`;
  const [isBusy, setBusy] = useState(false);
  const [isEdited, setEdited] = useState(false);
  const list = (of) => async (nth, last, signal) => (await call("GET", `${of}?skip=${nth * PAGE}&take=${PAGE}`, undefined, { signal, isQuiet: true })).data;
  const history = usePages(PAGE, list(`${base}/history/${alert.alert_id}`), (match) => match.flxId ?? match.numero_dpe ?? match.id);
  const deliveries = usePages(PAGE, list(`${path}/deliveries`), (one) => one.delivery_id);
  usePolling(history, TAIL_MS * history.pages);
  usePolling(deliveries, TAIL_MS * deliveries.pages);
  const run = (act, done) => async () => {
    setBusy(true);
    await attempt(act, done);
    setBusy(false);
  };
  const toggle = run(async () => {
    await (alert.activated ? call("DELETE", path) : call("GET", `${path}/activate`));
    onChange();
  }, word(alert.activated ? "isPaused" : "isResumed", { name: alert.search_name }));
  const replay = run(async () => {
    const now = new Date();
    await call("POST", `${path}/replay`, { from: new Date(now - REPLAY_DAYS * DAY_MS).toISOString(), to: now.toISOString(), max_items: REPLAY_MAX });
    deliveries.reload();
  }, word("isReplayed", { days: REPLAY_DAYS }));
  const test = run(async () => {
    const { delivered, duration_ms: ms, error } = (await call("POST", `${path}/test`)).data;
    toast(delivered ? word("isTested", { ms }) : word("isTestRefused", { error }), !delivered);
  });
  const { entries: sent = [] } = deliveries.value ?? {};
  const { entries: matches = [], hasMore } = history.value ?? {};
  return html`<section class="card" aria-label=${alert.search_name}>
    <div class="row spread"><h2>${alert.search_name}</h2><span class="row">
      <button type="button" aria-expanded=${String(isEdited)} onClick=${() => setEdited(!isEdited)}><${Icon} name="edit" />${word("edit")}</button>
      <button type="button" disabled=${isBusy} onClick=${test}><${Icon} name="send" />${word("test")}</button>
      <button type="button" disabled=${isBusy} onClick=${replay}><${Icon} name="replay" />${word("replay", { days: REPLAY_DAYS })}</button>
      <button type="button" disabled=${isBusy} onClick=${toggle}><${Icon} name=${alert.activated ? "pause" : "play"} />${word(alert.activated ? "pause" : "resume")}</button></span></div>
    ${isEdited && html`<${EditAlert} path=${path} alert=${alert} onEnd=${(isChanged) => { setEdited(false); isChanged && onChange(); }} />`}
    <div class="chips">${described(alert.search_query.filterProperty ?? alert.search_query.filterAd ?? alert.search_query.filters).map(([name, value]) => html`<${Badge}>${labelled(name, value)}<//>`)}</div>
    <p class="quiet">${word("goesTo")} <code>${alert.webhook_url}</code></p>
    <h3>${word("deliveries")}</h3>
    <${Waiting} of=${deliveries} />
    ${deliveries.value && sent.length === 0 && html`<p class="quiet">${word("noDeliveries")}</p>`}
    <ol class="timeline">${sent.map((one) => html`<li key=${one.delivery_id} class=${STATUS[one.status?.toUpperCase()] ?? ""}>
      <div class="row spread"><span><b>${counted("someMatches", one.items)}</b> <${Badge} kind=${STATUS[one.status?.toUpperCase()] ?? ""}>${word(`delivery.${one.status?.toUpperCase()}`)}<//></span>
        <time class="quiet nowrap" datetime=${one.created_at} title=${moment(one.created_at)}>${ago(one.created_at)}</time></div>
      <p class="quiet"><small>${counted("attemptsMade", one.attempts)}${one.last_error ?? one.last_status ? ` · ${labelled(word("answer"), one.last_error ?? one.last_status)}` : ""}</small></p>
      <${Json} of=${one} /></li>`)}</ol>
    <${More} of=${deliveries} />
    <h3>${word("matches")}${matches.length > 0 ? ` (${number(matches.length)}${hasMore ? "+" : ""})` : ""}</h3>
    <${Waiting} of=${history} />
    ${history.value && matches.length === 0 && html`<p class="quiet">${word("noMatches")}</p>`}
    <ul>${matches.map((match) => html`<${Match} kind=${alert.kind} match=${match} />`)}</ul>
    <${More} of=${history} />
    <${Json} of=${alert} />
  </section>`;
}

/** Changes the name or receiver of an alert; its earlier matches are kept. */
function EditAlert({ path, alert, onEnd }) {
  const [fault, setFault] = useState(null);
  const change = async (event) => {
    event.preventDefault();
    const of = new FormData(event.target);
    try {
      await call("PATCH", path, { search_name: of.get("name"), webhook_url: of.get("url") });
      toast(word("isChanged", { name: of.get("name") }));
      onEnd(true);
    } catch (error) {
      setFault(error.message);
    }
  };
  return html`<form class="form" onSubmit=${change}>
    <${Field} label=${word("name")}><input name="name" required maxlength="100" defaultValue=${alert.search_name} /><//>
    <${Field} label=${word("webhook")}><input name="url" type="url" required defaultValue=${alert.webhook_url} /><//>
    ${fault && html`<${Note} kind="bad" role="alert">${fault}<//>`}
    <div class="row"><button class="primary">${word("save")}</button><button type="button" class="quiet" onClick=${() => onEnd(false)}>${word("cancel")}</button></div></form>`;
}
