/** The market of a commune or department: prices, sales and index by quarter, and current asking prices, rents and yields. */

import { call, may } from "./api.js";
import { SALES_MIN, changesOf, comparedQuarters, pricedQuarters } from "./comparison.js";
import { CsvButton } from "./csvfile.js";
import { euros, number, perM2, word } from "./language.js";
import { figureText } from "./mapstyle.js";
import { Note, Segments, Table, Waiting, html, useLoaded, useState } from "./parts.js";
import { LinePlot } from "./plot.js";
import { Comparison } from "./years.js";

const CLASSES = ["CLASS_FLAT", "CLASS_HOUSE"];
/** Communes that are recorded by arrondissement. Their arrondissements have rows of their own; the figures of several are not added to one median. */
const BY_ARRONDISSEMENT = { 75056: "75", 69123: "69", 13055: "13" };
/** Length of the code of a commune; that of a department is shorter. */
export const COMMUNE_CHARS = 5;

const startOf = (period) => Date.UTC(Number(period.slice(0, 4)), (Number(period.slice(6)) - 1) * 3);

/** Returns the rows of a place's market by quarter, for both classes. */
export async function marketOf(code, signal) {
  const isCommune = code.length === COMMUNE_CHARS && !BY_ARRONDISSEMENT[code];
  const department = BY_ARRONDISSEMENT[code] ?? code;
  const body = isCommune ? { level: "commune", by: "quarter", location: { communes: [code] } }
    : { level: "department", by: "quarter", location: { departments: [department] } };
  const { data } = await call("POST", "/v2/protected/analytics/market", body, { signal, isQuiet: true });
  return { rows: data, isDepartment: BY_ARRONDISSEMENT[code] !== undefined };
}

/** Returns the periods of rows, in order. */
export const periodsOf = (rows) => [...new Set(rows.map((row) => row.period))].sort();

/** Returns the values of a column at each period; null if there is none. */
export function series(rows, type, column, periods = periodsOf(rows)) {
  const found = new Map(rows.filter((row) => row.type === type).map((row) => [row.period, row[column]]));
  return { times: periods.map(startOf), values: periods.map((period) => found.get(period) ?? null) };
}

/** Formats a quarter of the market. */
export const quarterText = (period) => word("quarter", { year: period.slice(0, 4), nth: period.slice(6) });

const has = (values) => values.filter((value) => value !== null).length > 1;

/** Returns the change from the year before to the last year of a price series, percent. */
function yearChange({ times, values }) {
  const known = times.map((time, nth) => [time, values[nth]]).filter(([, value]) => value !== null);
  const last = known.at(-1);
  const before = last && known.findLast(([time]) => time <= last[0] - 360 * 86_400_000);
  return before ? (last[1] / before[1] - 1) * 100 : null;
}

/** Returns the share of a place's diagnostics in the classes F and G, percent; undefined without diagnostics or without the scope. */
async function poorShareOf(code, signal) {
  if (!may("search")) return undefined;
  const place = code.length < COMMUNE_CHARS ? { code_departement_ban: code } : { code_insee_ban: code };
  const count = async (filters) => (await call("POST", "/v2/protected/opendata/dpe/search", { filters: { ...place, ...filters }, size: 1 }, { signal, isQuiet: true })).total;
  const [all, poor] = await Promise.all([count({}), count({ etiquette_dpe: ["F", "G"] })]);
  return all > 0 ? (100 * poor) / all : undefined;
}

/** Names and formats of the compared figures. */
const FIGURES = {
  price_per_m2_median: ["figure.price_per_m2", perM2], index: ["index", (value) => number(value, 1)], sales: ["sales", number],
  asking_price_per_m2: ["market.askingPrice", perM2], rent_per_m2: ["market.rent", (value) => `${euros(value)}/m²`],
};

/** Two quarters of a market compared. `rows` are of one class of homes. */
function Quarters({ rows }) {
  const [chosen, setChosen] = useState([]);
  const quarters = pricedQuarters(rows);
  if (quarters.length < 2) return null;
  const compared = comparedQuarters(quarters, chosen);
  return html`<section aria-label=${word("comparedQuarters")}><div class="row spread"><h3>${word("comparedQuarters")}</h3>
      <${Comparison} periods=${quarters} compared=${compared} onChange=${setChosen} text=${quarterText}
        label=${word("comparedQuarters")} labels=${[word("earlierQuarter"), word("laterQuarter")]} /></div>
    <${Table} rows=${changesOf(rows, compared)} columns=${[[word("figure"), ({ figure }) => word(FIGURES[figure][0])],
      ...compared.map((quarter, nth) => [quarterText(quarter), (one) => FIGURES[one.figure][1](nth ? one.after : one.before), true]),
      [word("figure.change.short"), ({ change }) => (change === null ? html`<small class="quiet">${word("tooFewPriced", { count: SALES_MIN })}</small>` : html`<b>${figureText("change", change)}</b>`), true]]} /></section>`;
}

/** Loads the market of a place, if the key may read it. */
export const useMarket = (code) => useLoaded(async (signal) => (may("analytics") ? marketOf(code, signal) : null), [code]);

/** Formats a difference in percent, with its sign. */
const signed = (percent) => `${percent > 0 ? "+" : ""}${number(percent, 1)}\u00a0%`;

/** The figures of the place with a code: `asked` is its market; `area` is the clicked area, with the figures on the map. */
export function MarketSheet({ code, area, asked }) {
  const [type, setType] = useState(null);
  const poorShare = useLoaded((signal) => poorShareOf(BY_ARRONDISSEMENT[code] ?? code, signal), [code]).value;
  const { rows = [], isDepartment } = asked.value ?? {};
  const counts = CLASSES.map((one) => rows.filter((row) => row.type === one).reduce((sum, row) => sum + (row.sales ?? 0), 0));
  const shown = type ?? CLASSES[counts[1] > counts[0] ? 1 : 0];
  const column = (name) => series(rows, shown, name);
  const price = column("price_per_m2_median");
  const sales = column("sales");
  const index = column("index");
  const latest = (name) => column(name).values.findLast((value) => value !== null);
  const change = yearChange(price);
  const premium = latest("energy_premium_fg");
  const figures = [
    ["latestPrice", perM2(latest("price_per_m2_median"))], ["yearChange", change === null ? "" : signed(change)],
    ["salesAll", rows.length > 0 && number(counts[CLASSES.indexOf(shown)])], ["askingPrice", perM2(latest("asking_price_per_m2"))],
    ["rent", latest("rent_per_m2") ? `${euros(latest("rent_per_m2"))}/m²` : ""], ["yield", latest("gross_yield") ? `${number(latest("gross_yield"), 1)}\u00a0%` : ""],
    ["daysOnMarket", number(latest("days_on_market"))], ["priceCuts", latest("price_cut_share") ? `${number(latest("price_cut_share"))}\u00a0%` : ""],
    ["poorShare", poorShare !== undefined && area?.poor_share === undefined && figureText("poor_share", poorShare)], ["poorPremium", premium === undefined ? "" : signed(premium)],
  ].filter(([, value]) => value);
  return html`<div class="sheetbody">
    ${area && !area.isBare && html`<dl class="tiles"><div><dt>${word("rowsHere")}</dt><dd>${number(area.count)}</dd></div>
      ${["price_per_m2", "poor_share", "over_sold", "change"].filter((figure) => area[figure] !== undefined).map((figure) => html`
        <div><dt>${word(`figure.${figure}`)}</dt><dd>${figureText(figure, area[figure])}</dd></div>`)}</dl>`}
    <${Waiting} of=${asked} lines=${8} />
    ${!may("analytics") && html`<p class="quiet">${word("marketNeedsAnalytics")}</p>`}
    ${isDepartment && html`<${Note}>${word("byArrondissement")}<//>`}
    ${asked.value && rows.length === 0 && html`<p class="quiet">${word("noSalesHere")}</p>`}
    ${rows.length > 0 && html`<div class="row spread"><${Segments} label=${word("type")} value=${shown} onChange=${setType} values=${CLASSES.map((one) => [one, word(one === "CLASS_FLAT" ? "flats" : "houses")])} />
      <${CsvButton} name=${`toise-market-${code}`} pages=${async function* () { yield { rows, total: rows.length }; }} /></div>`}
    ${figures.length > 0 && html`<dl class="tiles">${figures.map(([name, value]) => html`<div><dt>${word(`market.${name}`)}</dt><dd>${value}</dd></div>`)}</dl>`}
    ${rows.length > 0 && html`
      ${has(price.values) && html`<${LinePlot} height=${160} title=${word("figure.price_per_m2")} times=${price.times} lines=${[{ label: "€/m²", values: price.values }]} />`}
      ${sales.values.some((value) => value) && html`<${LinePlot} height=${120} title=${word("market.salesByQuarter")} times=${sales.times} lines=${[{ label: word("sales"), values: sales.values, isBars: true }]} />`}
      <${Quarters} rows=${rows.filter((row) => row.type === shown)} />
      ${!has(price.values) && has(index.values) && html`<${LinePlot} height=${140} title=${word("index")} times=${index.times} lines=${[{ label: word("index"), values: index.values }]} />`}`}
  </div>`;
}
