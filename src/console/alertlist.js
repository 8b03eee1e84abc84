/** The alerts of the account: on properties, adverts, sales and diagnostics. */

import { call } from "./api.js";

/** The kinds of alerts: their paths, and how to read the price of a match of those on listings. */
export const KINDS = {
  properties: { base: "/v2/protected/properties/search/alerts", price: (home) => home.price?.latest?.value },
  adverts: { base: "/v2/protected/adverts/search/alerts", price: (advert) => advert.currentPrice?.value },
  dvf: { base: "/v2/protected/opendata/dvf/search/alerts" },
  dpe: { base: "/v2/protected/opendata/dpe/search/alerts" },
};
/** Alerts of one kind on a page: the maximum of the API. */
const PAGE = 100;
const NOT_FOUND = 404;

/** The first pages of the alerts of each kind, each alert with its `kind`, and whether there are more. */
export async function alertsOf(pages, signal, isQuiet = false) {
  const alerts = [];
  let kinds = Object.entries(KINDS);
  for (let skip = 0; skip < pages * PAGE && kinds.length > 0; skip += PAGE) {
    const asked = kinds.map(async ([kind, { base }]) => {
      const { data } = await call("GET", `${base}/all?skip=${skip}&take=${PAGE}`, undefined, { signal, isQuiet });
      return data.map((alert) => ({ ...alert, kind }));
    });
    const read = await Promise.all(asked);
    alerts.push(...read.flat());
    // A page that is not full is the last one of its kind.
    kinds = kinds.filter((_, nth) => read[nth].length === PAGE);
  }
  return { alerts, hasMore: kinds.length > 0 };
}

/** The alert with an identifier and its `kind`; null if there is none. */
export async function findAlert(id, signal) {
  for (const [kind, { base }] of Object.entries(KINDS)) {
    try {
      const { data } = await call("GET", `${base}/${encodeURIComponent(id)}`, undefined, { signal, isQuiet: true });
      return { ...data, kind };
    } catch (error) {
      if (error.status !== NOT_FOUND) throw error;
    }
  }
  return null;
}
