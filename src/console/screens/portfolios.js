/** Portfolios: homes that are stored under a name and valued again automatically. Shows the list, one portfolio, and a form to upload a file. */

import { call, upload } from "../api.js";
import { CsvButton, patiently } from "../csvfile.js";
import { saveFile } from "../files.js";
import { ago, counted, day, distance, euros, moment, number, word } from "../language.js";
import { Badge, Drop, Empty, Field, Head, Icon, Note, Segments, Table, Waiting, html, useEffect, useLoaded, useState } from "../parts.js";
import { positionText } from "../places.js";
import { attempt } from "../toasts.js";

const PATH = "/v2/protected/portfolios";
/** Interval of reloading a portfolio that waits for its values, milliseconds. */
const AGAIN_MS = 2_000;
/** Homes on a page. */
const SIZE = 50;
/** Days whose changes are shown. */
const CHANGED_DAYS = 30;
const DAY_MS = 86_400_000;
/** Default change of a value that counts, percent. */
const MOVED_PERCENT = 5;
/** Homes on a page of a download. */
const CSV_PAGE = 1_000;
const ENDINGS = ".csv,.tsv,.json,.ndjson,.parquet,.gz,.zip";
/** An example file with the usual columns. */
const EXAMPLE = `key,type,surface_m2,room_count,address,postcode,city
A-1,flat,62,3,12 rue Droite,48000,Mende
A-2,house,110,5,8 rue de la Gare,48000,Mende
`;
const CHANGE_KIND = { value: "accent", diagnostic: "warn", comparable: "" };

export function Portfolios({ parameters, set }) {
  const listed = useLoaded((signal) => call("GET", PATH, undefined, { signal }), []);
  const list = listed.value?.data ?? [];
  const chosen = list.find(({ name }) => name === parameters.name);
  const open = (name) => set({ name, new: "", changed: "" }, true);
  const create = () => set({ new: 1, name: "" }, true);
  if (parameters.new) return html`<div class="page"><${NewPortfolio} onMade=${(name) => { listed.reload(); open(name); }} onLeave=${() => set({ new: "" }, true)} /></div>`;
  return html`<div class="page">
    <${Head} title=${word("portfolios")} about=${word("portfoliosAbout")}><button type="button" class="primary" onClick=${create}><${Icon} name="upload" />${word("newPortfolio")}</button><//>
    <${Waiting} of=${listed} lines=${6} />
    ${listed.value && list.length === 0 && html`<div class="card"><${Empty} icon="portfolios" title=${word("portfoliosEmpty")} text=${word("portfoliosEmptyText")}>
      <button type="button" onClick=${create}>${word("newPortfolio")}</button><//></div>`}
    ${list.length > 0 && html`<div class=${chosen ? "split chosen" : "split"}>
      <ul class="choices" aria-label=${word("portfolios")}>${list.map((one) => html`<li key=${one.name}><button type="button" class="choice" aria-pressed=${String(one === chosen)} onClick=${() => open(one.name)}>
        <span class="row spread"><b>${one.name}</b><${Status} of=${one} /></span>
        <span class="quiet">${counted("someHomes", one.home_count)}</span><span class="quiet">${one.valued_at ? `${word("valuedAt")} ${ago(one.valued_at)}` : ""}</span></button></li>`)}</ul>
      ${chosen ? html`<${Portfolio} key=${chosen.name} name=${chosen.name} listed=${chosen.status}
          isChanged=${Boolean(parameters.changed)} set=${set} onChange=${listed.reload} />`
        : html`<div class="card placeholder"><${Empty} icon="portfolios" title=${word("choosePortfolio")} /></div>`}
    </div>`}
  </div>`;
}

const Status = ({ of }) => html`<${Badge} kind=${of.status === "valued" ? "good dot" : "accent dot"}>${word(`portfolio.${of.status}`)}<//>`;

const Figure = ({ label, value, about }) => html`<div class="card figure"><span class="label">${label}</span><b>${value}</b>${about && html`<small class="quiet">${about}</small>`}</div>`;

/** One portfolio: its totals, and its homes with their values and matches. `listed` is its status in the list. */
function Portfolio({ name, listed, isChanged, set, onChange }) {
  const [cursors, setCursors] = useState([]);
  const cursor = cursors.at(-1);
  const since = new Date(Date.now() - CHANGED_DAYS * DAY_MS).toISOString().slice(0, 10);
  const query = new URLSearchParams({ size: SIZE, ...(isChanged && { changesSince: since }), ...(cursor && { cursor }) });
  const path = `${PATH}/${encodeURIComponent(name)}`;
  const asked = useLoaded((signal) => call("GET", `${path}?${query}`, undefined, { signal }), [String(query)]);
  const found = asked.value?.data;
  const isWaiting = found?.status === "waiting";
  useEffect(() => {
    if (!isWaiting && !asked.error) return undefined;
    const timer = setTimeout(() => { asked.reload(); onChange(); }, AGAIN_MS);
    return () => clearTimeout(timer);
  }, [found, asked.error]);
  useEffect(() => { if (found && found.status !== listed) onChange(); }, [found?.status]);
  const show = (changed) => { setCursors([]); set({ changed: changed ? 1 : "" }); };
  const remove = () => confirm(word("portfolioRemoveAsk", { name })) && attempt(async () => {
    await call("DELETE", path);
    set({ name: "" });
    onChange();
  }, word("isRemoved"));
  const pages = async function* (signal) {
    let next;
    do {
      const one = new URLSearchParams({ size: CSV_PAGE, ...(isChanged && { changesSince: since }), ...(next && { cursor: next }) });
      const { data } = await patiently(() => call("GET", `${path}?${one}`, undefined, { signal }), signal);
      yield { rows: data.homes, total: isChanged ? data.changes.homes : data.home_count };
      next = data.hasMore && data.cursor;
    } while (next);
  };
  const { totals, changes } = found ?? {};
  return html`<div class="stack">
    <section class="card"><div class="row spread"><h2>${name}</h2><span class="row">${found && html`<${Status} of=${found} />`}
        <button type="button" class="danger compact" onClick=${remove}><${Icon} name="trash" small />${word("remove")}</button></span></div>
      <${Waiting} of=${asked} lines=${5} />
      ${isWaiting && html`<${Note} role="status">${word("portfolioWaits")}<//>`}
      ${found?.history_lost && html`<${Note} kind="warn">${word("portfolioLost")}<//>`}
      ${found?.homes_lost && html`<${Note} kind="bad">${word("portfolioHomesLost")}<//>`}
      ${found && html`<p class="quiet"><small>${word("stored")} ${moment(found.updated_at)}${found.webhook_url ? ` · ${word("webhook")} ${found.webhook_url}` : ""} · ${word("countsFrom", { percent: number(found.moved_percent, 1) })}</small></p>`}
      ${totals && html`<div class="figures">
        <${Figure} label=${word("value")} value=${euros(totals.value)} about=${`${euros(totals.lower)} – ${euros(totals.upper)}`} />
        <${Figure} label=${word("valuedHomes")} value=${number(totals.valued)} about=${totals.errors > 0 ? `${number(totals.errors)} ${word("withoutValue")}` : ""} />
        ${changes && html`<${Figure} label=${word("changedHomes", { days: CHANGED_DAYS })} value=${number(changes.homes)}
          about=${changes.values > 0 ? `${euros(changes.value_before)} → ${euros(changes.value)}` : ""} />`}</div>`}
    </section>
    ${found && !isWaiting && html`<section class="card"><div class="row spread"><h2>${word("homes")}</h2><span class="row">
        <${Segments} label=${word("homes")} value=${isChanged} onChange=${show}
          values=${[[false, word("all")], [true, word("changedOnly", { days: CHANGED_DAYS })]]} />
        ${found.homes.length > 0 && html`<${CsvButton} key=${query} name=${`toise-${name}`} pages=${pages} />`}</span></div>
      <${Table} rows=${found.homes} empty=${word("nothingChanged")} columns=${columnsOf(found.homes)} />
      <div class="row">${cursors.length > 0 && html`<button type="button" onClick=${() => setCursors(cursors.slice(0, -1))}><${Icon} name="back" small />${word("previous")}</button>`}
        ${found.hasMore && html`<button type="button" onClick=${() => setCursors([...cursors, found.cursor])}>${word("more")}</button>`}</div></section>`}
  </div>`;
}

/** Returns the link to a home with the inputs of its value. */
const homeAddress = (home) => `#/home?${new URLSearchParams({ lat: home.latitude, lon: home.longitude, ...(home.address_label && { label: home.address_label }) })}`;

/** Whether only the street or town of a home's address was found, so its position and value are less exact. */
const Precision = ({ of }) => ["STREET", "TOWN"].includes(of) && html` <${Badge} kind="warn">${word(`precision.${of}`)}<//>`;

/** Describes a change, with the number of new comparables if there are several. */
const changeText = (home, change) => word(`change.${change}`) + (change === "comparable" && home.new_comparable_count > 1 ? ` (${number(home.new_comparable_count)})` : "");

/** The columns of homes: the field that a home must have, and the column. */
const columnsOf = (homes) => COLUMNS().filter(([field]) => homes.some((home) => home[field] !== undefined)).map(([, ...column]) => column);

const COLUMNS = () => [
  ["key", word("key.own"), (home) => html`<b>${home.key}</b>${home.latitude !== undefined && html`<br /><a href=${homeAddress(home)}><small>${home.address_label ?? positionText({ lat: home.latitude, lon: home.longitude })}</small></a>`}
    <${Precision} of=${home.address_precision} />`],
  ["key", word("value"), (home) => (home.error ? html`<small class="quiet aside">${home.error}</small>` : html`<span class="nowrap"><b>${euros(home.price)}</b></span><br /><small class="quiet nowrap">${euros(home.lower)} – ${euros(home.upper)}</small>
    ${home.warning && html`<br /><small class="quiet aside">${word(`warning.${home.warning}`)}</small>`}`), true],
  ["changed_at", word("lastChange"), (home) => html`${home.changes?.map((change) => html`<${Badge} kind=${CHANGE_KIND[change]}>${changeText(home, change)}<//> `)}
    ${home.changed_at && html`<br /><small class="quiet nowrap">${day(home.changed_at)}${home.changes?.includes("value") && home.previous_price !== undefined ? ` · ${euros(home.previous_price)} → ${euros(home.price)}` : ""}</small>`}`],
  ["dpe_class", word("energyClass"), (home) => home.dpe_class && html`<span class="face energy small ${home.dpe_class}">${home.dpe_class}</span>`],
  ["sale_price", word("sale"), (home) => home.sale_price !== undefined && html`<span class="nowrap">${euros(home.sale_price)}</span><br /><small class="quiet nowrap">${day(home.sale_date)}</small>`, true],
  ["comparable_price", word("latestComparable"), (home) => home.comparable_price !== undefined && html`<span class="nowrap">${euros(home.comparable_price)}</span><br /><small class="quiet nowrap">${day(home.comparable_date)} · ${distance(home.comparable_distance_m)}</small>`, true],
];

const saveExample = () => saveFile(new Blob([EXAMPLE], { type: "text/csv" }), `${word("portfolioExampleName")}.csv`);

/** Returns a warning of the service about a file, in the user's language if it is known. */
function warningText(message) {
  const [, count, column, street] = /^rows located by their town alone: (\d+); the column "(.*)" was not read; if it holds the street, name it (\w+)$/.exec(message) ?? [];
  return count ? counted("streetUnread", Number(count), { column, street }) : message;
}

/** The form that uploads a file. The response names the rows that cannot be valued, and the columns that were not read. */
function NewPortfolio({ onMade, onLeave }) {
  const [fault, setFault] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const [stored, setStored] = useState(null);
  const [file, setFile] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    if (!file) return setFault(word("portfolioNoFile"));
    const of = new FormData(event.target);
    const webhookUrl = of.get("webhook");
    const query = new URLSearchParams({ movedPercent: of.get("moved"), ...(webhookUrl && { webhookUrl }) });
    setBusy(true);
    setFault(null);
    try {
      const { data } = await upload(`${PATH}/${encodeURIComponent(of.get("name"))}?${query}`, file);
      if (data.faulty === 0 && data.warnings.length === 0) onMade(data.name);
      else setStored(data);
    } catch (error) {
      setFault(error.message);
    }
    return setBusy(false);
  };
  if (stored) {
    return html`<${Head} title=${stored.name} /><section class="card">
      ${stored.warnings.map((one) => html`<${Note} kind="warn" role="alert">${warningText(one)}<//>`)}
      ${stored.faulty > 0 && html`<${Note} kind="warn" role="alert">${counted("faultyRows", stored.faulty, { all: number(stored.home_count) })}<//>
      <${Table} rows=${stored.faults} columns=${[[word("row"), (one) => number(one.row), true], [word("key.own"), (one) => one.key], [word("reason"), (one) => one.message]]} />`}
      <div class="row"><button type="button" class="primary" onClick=${() => onMade(stored.name)}>${word("openPortfolio")}</button></div></section>`;
  }
  return html`<${Head} title=${word("newPortfolio")} about=${word("newPortfolioAbout")} />
    <form class="card form" onSubmit=${submit}>
      <${Field} label=${word("name")}><input name="name" required /><//>
      <${Drop} file=${file} title=${word("portfolioDrop")} text=${word("portfolioFormats")} accept=${ENDINGS}
        onFile=${(chosen) => { setFile(chosen); setFault(null); }} />
      <p class="quiet row"><small>${word("portfolioColumns")} <code>key, type, surface_m2, address, postcode, city</code></small>
        <button type="button" class="quiet compact" onClick=${saveExample}><${Icon} name="download" small />${word("portfolioExample")}</button></p>
      <${Field} label=${word("movedPercent")}><input type="number" name="moved" min="0.1" max="100" step="any" defaultValue=${MOVED_PERCENT} required /><//>
      <${Field} label=${`${word("webhook")} (${word("optional")})`}><input type="url" name="webhook" placeholder="https://…" /><//>
      ${fault && html`<${Note} kind="bad" role="alert">${fault}<//>`}
      <div class="row"><button class="primary" disabled=${isBusy} aria-busy=${String(isBusy)}>${word("storePortfolio")}</button><button type="button" class="quiet" onClick=${onLeave}>${word("cancel")}</button></div></form>`;
}
