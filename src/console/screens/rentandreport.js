/** The rent of a valued home with its gross yield, and its report as a file. */

import { call, callRaw } from "../api.js";
import { rentOf, reportOf } from "../dwelling.js";
import { saveFile } from "../files.js";
import { euros, language, number, word } from "../language.js";
import { Icon, Note, html, useState } from "../parts.js";
import { attempt } from "../toasts.js";

export function RentAndReport({ body, price }) {
  // A rent and the home that it was requested for; it is not shown for another home.
  const [answered, setAnswered] = useState(null);
  const [busy, setBusy] = useState("");
  const home = JSON.stringify(rentOf(body, price));
  const { rent, isUnknown } = answered?.home === home ? answered : {};
  const during = (name, act, done) => async () => {
    setBusy(name);
    await attempt(act, done);
    setBusy("");
  };
  const askRent = during("rent", async () => {
    try {
      const { data } = await call("POST", "/v2/protected/estimate/rent", rentOf(body, price));
      setAnswered({ home, rent: data });
    } catch (error) {
      if (error.reason !== "error.rents") throw error;
      setAnswered({ home, isUnknown: true });
    }
  });
  const name = `${word("reportName")}.pdf`;
  const saveReport = during("report", async () => {
    const response = await callRaw("GET", `/v2/protected/reports/home?${reportOf(body, language)}`);
    saveFile(await response.blob(), name);
  }, word("isDownloaded", { name }));
  const range = rent?.rentRange;
  return html`<div class="row noprint">
      <button type="button" disabled=${busy !== ""} aria-busy=${String(busy === "rent")} onClick=${askRent}><${Icon} name="chart" small />${word("askRent")}</button>
      <button type="button" disabled=${busy !== ""} aria-busy=${String(busy === "report")} onClick=${saveReport}><${Icon} name="download" small />${word("report")}</button></div>
    ${isUnknown && html`<${Note} kind="warn" role="status">${word("error.rents")}<//>`}
    ${rent && html`<${Note} role="status"><b>${word("rentAMonth", { rent: euros(rent.rent) })}</b> (${euros(range.lower)} – ${euros(range.upper)})
      ${rent.grossYield && html`, ${word("market.yield").toLowerCase()} ${number(rent.grossYield.percent, 1)} %`}<//>`}`;
}
