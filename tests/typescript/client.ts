// A client with types generated from the OpenAPI document, as users would write it: on a running demo it reads sales page
// by page, searches properties, values a home, finds an address and manages an alert.
//
// Half of the test is that this file compiles under `strict`. The types must refuse each line after `@ts-expect-error`,
// as the service does.

import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

type Schemas = components["schemas"];

const [address, key] = process.argv.slice(2);
if (!address || !key) {
    throw new Error("usage: node client.js ADDRESS KEY");
}
const api = createClient<paths>({ baseUrl: address, headers: { "x-api-key": key } });

/** The body of a response that must be successful. */
function body<T>(answer: { data?: T; error?: unknown; response: Response }): T {
    if (answer.data === undefined) {
        throw new Error(`${answer.response.url}: ${answer.response.status} ${JSON.stringify(answer.error)}`);
    }
    return answer.data;
}

// Sales, page by page.
const ids = new Set<string>();
let cursor: string | undefined;
do {
    const page = body(
        await api.POST("/v2/protected/opendata/dvf/search", {
            body: { size: 50, filters: { price_eur: { min: 300_000 }, property_type: ["Appartement"] }, cursor },
        }),
    );
    for (const sale of page.data) {
        const price: number | null | undefined = sale.price_eur;
        assert(price && price >= 300_000, `${sale.id}: ${price}`);
        ids.add(sale.id);
    }
    cursor = page.cursor;
    assert(page.total >= ids.size);
} while (cursor && ids.size < 150);
assert(ids.size > 0);

// Properties, and one of them in full.
const search: Schemas["SearchPropertiesPayload"] = {
    size: 5,
    sortBy: "LAST_SEEN_AT",
    orderBy: "DESC",
    search: { filterProperty: { type: ["CLASS_FLAT"], meta: { isTotallyOffline: false } } },
};
const found = body(await api.POST("/v2/protected/properties/search", { body: search })).data;
assert(found.items.length > 0 && found.count >= found.items.length);
for (const property of found.items) {
    const whole = body(
        await api.GET("/v2/protected/properties/{flxId}", { params: { path: { flxId: property.flxId } } }),
    );
    assert.equal(whole.data.flxId, property.flxId);
    assert(whole.data.adverts.length > 0);
}

// A home, with its interval.
const home: Schemas["EstimateRequest"] = {
    location: { locationCoordinate: { location: [2.3522, 48.8566] } },
    type: "CLASS_FLAT",
    habitation: { surface: { total: 52 }, roomCount: 2, bedroomCount: 1 },
    offer: { type: "OFFER_BUY" },
};
const estimate = body(await api.POST("/v2/protected/estimate/property/lite", { body: home })).data;
assert(estimate.priceRange.lower <= estimate.price && estimate.price <= estimate.priceRange.upper);

// The types refuse what the service refuses.
// @ts-expect-error: there is no such class
const wrong: Schemas["EstimateRequest"] = { ...home, type: "CLASS_CASTLE" };
const refused = await api.POST("/v2/protected/estimate/property/lite", { body: wrong });
assert.equal(refused.response.status, 422);
assert(refused.error && refused.error.error.message.includes("type"), JSON.stringify(refused.error));
// @ts-expect-error: a path that the document does not have
const nowhere = await api.GET("/v2/protected/castles");
assert.equal((nowhere as { response: Response }).response.status, 404);

// An address.
const places = body(await api.GET("/geocoding/search", { params: { query: { q: "paris", limit: 1 } } }));
const [place] = places.features;
assert(place);
const [longitude, latitude] = place.geometry.coordinates;
assert(Math.abs(longitude! - 2.35) < 0.2 && Math.abs(latitude! - 48.86) < 0.2, JSON.stringify(place.geometry));

// An alert: created once although it is requested twice under one idempotency key, changed, deactivated.
const alert: Schemas["SaveSearchPropertiesPayload"] = {
    search_query: { filterProperty: { type: ["CLASS_HOUSE"] } },
    webhook_url: "http://127.0.0.1:9/hook",
    match: ["ALERT_MATCH_CREATED"],
    search_name: "Houses",
};
const make = async () =>
    body(
        await api.PUT("/v2/protected/properties/search/alerts", {
            params: { header: { "Idempotency-Key": `houses-${process.pid}` } },
            body: alert,
        }),
    ).data.alert_id;
const alertId = await make();
assert.equal(await make(), alertId);
const path = { alertId };
body(
    await api.PATCH("/v2/protected/properties/search/alerts/{alertId}", {
        params: { path },
        body: { search_name: "Houses, renamed" },
    }),
);
const saved = body(await api.GET("/v2/protected/properties/search/alerts/{alertId}", { params: { path } })).data;
assert.equal(saved.search_name, "Houses, renamed");
await api.DELETE("/v2/protected/properties/search/alerts/{alertId}", { params: { path } });
const gone = await api.GET("/v2/protected/properties/search/alerts/{alertId}", { params: { path } });
assert(gone.response.status === 404 || gone.data?.data.activated === false, JSON.stringify(gone.data));

console.log(`TypeScript client: ${ids.size} sales, ${found.count} properties, an estimate of ${estimate.price} EUR, an alert`);
