/** The alerts of the account, on properties and on adverts. */

import { call } from "./api.js";

/** The two kinds of alerts: where they are, and what one of its matches is called and costs. */
export const KINDS = {
  properties: { base: "/v2/protected/properties/search/alerts", price: (home) => home.price?.latest?.value },
  adverts: { base: "/v2/protected/adverts/search/alerts", price: (advert) => advert.currentPrice?.value },
};
/** Alerts listed of each kind. */
const LISTED = 100;

/** All alerts, each with its `kind`. */
export async function allAlerts(signal, isQuiet = false) {
  const all = Object.entries(KINDS).map(async ([kind, { base }]) => {
    const { data } = await call("GET", `${base}/all?take=${LISTED}`, undefined, { signal, isQuiet });
    return data.map((alert) => ({ ...alert, kind }));
  });
  return (await Promise.all(all)).flat();
}
