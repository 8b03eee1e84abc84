/** The datasets of the map: how to search each, and how to show one of its records on a card. */

import { addressOf } from "./addresses.js";
import { call } from "./api.js";
import { spokenValue, merged } from "./filters.js";
import { patiently } from "./csvfile.js";
import { counted, day, euros, perM2, squareMetres } from "./language.js";

/** Records on a page of the list. */
const PAGE = 25;

/** Searches sales or diagnostics. */
const openData = (name, sortBy) => async (filters, near, cursor, signal, size = PAGE) => {
  const body = { filters: { ...filters, ...near }, sortBy, size, ...(cursor && { cursor }) };
  const response = await call("POST", `/v2/protected/opendata/${name}/search`, body, { signal });
  return { records: response.data, total: response.total, cursor: response.hasMore ? response.cursor : null };
};
/** Returns a sale or diagnostic by its identifier; undefined if there is none. */
const openRecord = (name, field) => (id, signal) =>
  call("POST", `/v2/protected/opendata/${name}/search`, { filters: { [field]: id }, size: 1 }, { signal, isQuiet: true }).then(({ data }) => data[0]);
/** Returns the first and the last date of a dataset. */
const span = (name, field) => (signal) => Promise.all(["asc", "desc"].map((sortOrder) =>
  call("POST", `/v2/protected/opendata/${name}/search`, { filters: {}, sortBy: field, sortOrder, size: 1 }, { signal, isQuiet: true }).then(({ data }) => data[0]?.[field])));
/** Records on a page of a download: the maximum of the service. */
const CSV_PAGE = 100;

/** Yields all records of a search as rows of a file, page by page. */
export async function* pagesOf({ search, row = (record) => record }, filters, near, signal) {
  let cursor = null;
  do {
    const page = await patiently(() => search(filters, near, cursor, signal, CSV_PAGE), signal);
    yield { rows: page.records.map(row), total: page.total };
    cursor = page.cursor;
  } while (cursor);
}

/** Returns the filter for an area or a relation to a layer. */
const inPlace = (place) => place;
const around = ({ lat, lon }, metres) => ({ location: { lat, lon, distance: `${metres}m` } });
const joined = (...parts) => parts.filter(Boolean).join(" · ");
const roomsOf = (count) => (count ? counted("someRooms", count) : "");
const KINDS = { Maison: "house", Appartement: "flat", Terrain: "land", Tertiaire: "shop", CLASS_HOUSE: "house", CLASS_FLAT: "flat" };
const kindIcon = (type) => KINDS[type] ?? "box";

/** Filters for homes for sale that are still online, unless the URL says otherwise. */
export const FOR_SALE = { offer: [{ type: "OFFER_BUY" }], meta: { isTotallyOffline: false } };

/**
 * How to search each dataset and show its records. The filters come from the OpenAPI document: `path` and `inner` say where they
 * are there, `usual` which come first, `base` which apply by default. `card` is what a list shows: identifier, title, line
 * below it, price if any, figure next to the price, date, icon or energy class. `dated` is the date field, if the map shows
 * single years, and `dates` returns its first and last value. `priced` selects records with a price in one year. `search`
 * returns a page, `find` the record with an identifier, and `row` the row of a record in a file.
 */
export const DATASETS = {
  dvf: {
    path: "/v2/protected/opendata/dvf/search", inner: ["filters"], base: undefined,
    usual: ["property_type", "price_eur", "surface_m2", "transaction_date"],
    toTiles: (filters) => filters, near: around, within: inPlace, search: openData("dvf", "transaction_date"), find: openRecord("dvf", "id"), dated: "transaction_date", dates: span("dvf", "transaction_date"),
    priced: (year) => ({ transaction_date: { from: `${year}-01-01`, to: `${year}-12-31` }, price_per_m2_living_eur: { min: 1 } }),
    card: (sale) => ({
      id: sale.id, title: addressOf(sale.address) || sale.city, place: joined(spokenValue(sale.property_type), sale.address && sale.city?.replace(/ Arrondissement$/, "")),
      facts: joined(squareMetres(sale.surface_m2), roomsOf(sale.main_rooms)), price: euros(sale.price_eur), figure: perM2(sale.price_per_m2_living_eur), date: day(sale.transaction_date),
      icon: kindIcon(sale.property_type),
    }),
    place: (sale) => sale.location && [sale.location.lon, sale.location.lat],
  },
  dpe: {
    path: "/v2/protected/opendata/dpe/search", inner: ["filters"], base: undefined,
    usual: ["etiquette_dpe", "surface_habitable_logement", "date_etablissement_dpe"],
    toTiles: (filters) => filters, near: around, within: inPlace, search: openData("dpe", "date_etablissement_dpe"), find: openRecord("dpe", "numero_dpe"), dated: "date_etablissement_dpe", dates: span("dpe", "date_etablissement_dpe"),
    card: (found) => ({
      id: found.numero_dpe, title: found.adresse_ban ?? found.adresse_brut, place: found.type_batiment && spokenValue(found.type_batiment),
      facts: squareMetres(found.surface_habitable_logement), date: day(found.date_etablissement_dpe), energy: found.etiquette_dpe,
    }),
    place: (found) => found.location && [found.location.lon, found.location.lat],
  },
  properties: {
    path: "/v2/protected/properties/search", inner: ["search", "filterProperty"], base: FOR_SALE,
    usual: ["type", "price.latest.value", "habitation.surface.total", "habitation.roomCount"],
    toTiles: (filterProperty) => ({ filterProperty }),
    search: async (filters, near, cursor, signal, size = PAGE) => {
      const filterProperty = merged(filters ?? {}, near);
      const body = { search: { filterProperty }, sortBy: "FIRST_SEEN_AT", orderBy: "DESC", size, ...(cursor && { searchAfterHash: cursor }) };
      const { data } = await call("POST", "/v2/protected/properties/search", body, { signal });
      return { records: data.items, total: data.count, cursor: data.items.length === size ? data.searchAfterHash : null };
    },
    find: (id, signal) => call("GET", `/v2/protected/properties/${encodeURIComponent(id)}`, undefined, { signal, isQuiet: true }).then(({ data }) => data),
    within: (place) => ({ location: [{ locationCoordinate: { location: place } }] }),
    near: ({ lat, lon }, metres) => ({
      location: [{ locationCoordinate: { location: { geoDistance: { pin: { lat, lon }, distanceKm: metres / 1000 } } } }],
    }),
    card: (home) => ({
      id: home.flxId, title: home.title || spokenValue(home.type), place: joined([home.location?.postalCode, home.location?.city].filter(Boolean).join(" ")),
      facts: joined(squareMetres(home.habitation?.surface?.total), roomsOf(home.habitation?.roomCount)), price: euros(home.price?.latest?.value), figure: perM2(home.price?.latest?.valuePerArea),
      date: day(home.meta?.firstSeenAt), icon: kindIcon(home.type), prices: [home.price?.initial?.value, home.price?.latest?.value],
    }),
    place: (home) => home.location?.locationCoordinate?.location,
    row: (home) => {
      const [lon, lat] = home.location?.locationCoordinate?.location ?? [];
      return { flxId: home.flxId, url: home.adverts?.[0]?.url, lat, lon, ...home };
    },
  },
};
