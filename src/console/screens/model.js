/** The valuation model and its report card: errors by place and time, and how many prices are within their intervals. */

import { call } from "../api.js";
import { day, labelled, number, squareMetres, word } from "../language.js";
import { Empty, Table, Waiting, html, useLoaded } from "../parts.js";
import { Bars } from "../plot.js";

/** Maximum places shown; those with the most sales come first. */
const PLACES_MAX = 25;

const percent = (value) => (value === null || value === undefined ? "" : `${number(value, 1)} %`);

export function ModelCard() {
  const asked = useLoaded((signal) => call("GET", "/v2/protected/admin/model", undefined, { signal, isQuiet: true }), []);
  const { model, report_card: card } = asked.value?.data ?? {};
  return html`<section class="card"><h2>${word("model")}</h2><${Waiting} of=${asked} />
    ${asked.value && !model && html`<${Empty} icon="home" title=${word("noModel")} text=${word("noModelText")}><code>toise train</code><//>`}
    ${model && html`<p><code>${model.version}</code> · ${word("trained")} ${day(model.trained_at)} · ${number(model.sales)} ${word("sales").toLowerCase()}${" · "}
      ${word("knownThrough")} ${day(model.data_through)} · ${word("interval")} ${number(model.coverage * 100)} %</p>`}
    ${model && !card && html`<p class="quiet">${word("noReportCard")} <code>toise evaluate estimate</code></p>`}</section>
    ${card && html`<section class="card"><${Judged} report=${card.report} /></section>`}`;
}

/** Returns the name of a segment of the report card in the user's language; unknown names are returned unchanged. */
function segmentText({ factor, name }) {
  const numbers = name.match(/\d+/g) ?? [];
  if (factor === "class") return word(name);
  if (factor === "quarter") return word("quarter", { year: numbers[0], nth: numbers[1] });
  if (factor === "estimate") return word("decile", { nth: numbers[0] });
  if (factor === "surface") return numbers.length > 2 ? `${numbers[0]} – ${squareMetres(Number(numbers[1]))}` : `≥ ${squareMetres(Number(numbers[0]))}`;
  return labelled(factor, name);
}

function Judged({ report }) {
  const means = [[word("estimator"), report.all], ...report.baselines.map(([name, quality]) => [word(name), quality])];
  const of = (factor) => report.segments.filter((segment) => segment.factor === factor).sort((one, other) => other.sales - one.sales);
  const covered = report.segments.filter((segment) => segment.coverage !== undefined && segment.factor !== "department" && segment.factor !== "commune");
  const places = (factor, title) => of(factor).length > 0 && html`<h3>${title}</h3>
    <${Bars} show=${percent} rows=${of(factor).slice(0, PLACES_MAX).map((segment) => [`${segment.name} (${number(segment.sales)})`, segment.mdape ?? 0])} />`;
  const months = report.horizon?.horizons ?? [];
  return html`<h2>${word("reportCard")}</h2>
    <p>${word("judgedOn", { from: day(report.test[0]), to: day(report.test[1]) })} · ${word("model")} <code>${report.model.version}</code></p>
    <${Table} rows=${means} columns=${[[word("means"), ([name]) => name], [word("sales"), ([, of]) => number(of.sales), true],
      [word("medianError"), ([, of]) => percent(of.mdape), true], [word("within10"), ([, of]) => percent(of.within_10), true],
      [word("within20"), ([, of]) => percent(of.within_20), true], [word("bias"), ([, of]) => percent(of.bias), true],
      [word("coverage"), ([, of]) => of.coverage === undefined ? "" : percent(of.coverage), true]]} />
    <h3>${word("calibration")} (${word("target")} ${number(report.coverage * 100)} %)</h3>
    <${Bars} show=${percent} most=${100} mark=${report.coverage * 100} rows=${[[word("total"), report.all.coverage ?? 0],
      ...covered.slice(0, PLACES_MAX).map((segment) => [segmentText(segment), segment.coverage])]} />
    ${places("department", word("byDepartment"))}${places("commune", word("byCommune"))}
    ${months.length > 0 && html`<h3>${word("byHorizon")}</h3>
      <${Bars} show=${percent} rows=${months.map((row) => [`${row.month} (${number(row.sales)})`, row.mdape])} />`}`;
}
