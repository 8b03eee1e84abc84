/** The first screen after login: what the key may do, and the screens to start with. */

import { may, who } from "../api.js";
import { word } from "../language.js";
import { Head, Icon, html } from "../parts.js";

/** First steps, with the scope that each needs; the usage of the account needs none. */
const STEPS = [
  ["map", "search", "step.map"], ["home", "ai", "step.home"], ["portfolios", "ai", "step.portfolios"], ["alerts?new=1", "alerts", "step.alerts"],
  ["query", "sql", "step.query"], ["operations", "admin", "step.admin"], ["pairs", "admin", "step.pairs"],
];
/** The usual scopes of users; a missing one is mentioned. */
const USUAL = ["search", "analytics", "ai", "geocoding", "alerts", "sql"];

export function Welcome() {
  const { scopes } = who();
  const missing = scopes.includes("admin") ? [] : USUAL.filter((scope) => !may(scope));
  const steps = [...STEPS.filter(([, scope]) => may(scope)), ...(may("admin") ? [] : [["operations", null, "step.operations"]])];
  return html`<div class="page">
    <${Head} title=${word("welcome")} about=${word("welcomeAbout")} />
    <div class="grid2">
      <section class="card" aria-label=${word("mayDo")}><h2>${word("mayDo")}</h2>
        <ul class="granted">${scopes.map((scope) => html`<li key=${scope}><${Icon} name="check" small /><span>${word(`may.${scope}`)} <code>${scope}</code></span></li>`)}</ul>
        ${missing.length > 0 && html`<p class="quiet"><small>${word("mayNot", { scopes: missing.join(", ") })}</small></p>`}</section>
      <section class="card" aria-label=${word("nextSteps")}><h2>${word("nextSteps")}</h2>
        <ul class="steps">${steps.map(([screen, , name]) => html`<li key=${screen}><a class="button" href=${`#/${screen}`}><${Icon} name=${screen.split("?")[0]} />${word(name)}</a></li>`)}</ul></section>
    </div></div>`;
}
