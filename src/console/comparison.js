/** Price changes: between two years on the map (the years, their tiles, and the change of each place; years.js chooses and map.js
    shows them), between two quarters of a market, and of indexes over time. */

/** Minimum sales of a place in each of the two years for its change to be shown; a median of fewer is not reliable. */
export const SALES_MIN = 10;

/** Returns the years to compare, `[earlier, later]`: those in the URL, otherwise the last whole year and the one before. */
export function comparedYears(parameters, { years, whole }) {
  const usual = [Math.max(whole - 1, years[0]), whole];
  return ["before", "after"].map((name, nth) => years.find((year) => year === Number(parameters[name])) ?? usual[nth]);
}

/** Returns the change of a place's median price in percent, and the former price; null with too few sales in a year. */
export function changeOf(before, after) {
  if (!before?.price_per_m2 || !after?.price_per_m2 || before.count < SALES_MIN || after.count < SALES_MIN) return null;
  return { change: (after.price_per_m2 / before.price_per_m2 - 1) * 100, before: before.price_per_m2 };
}

/** Returns the quarters of a market that have a price per m², in order. */
export const pricedQuarters = (rows) => rows.filter((row) => row.price_per_m2_median).map((row) => row.period).sort();

/** Returns the quarters to compare, `[earlier, later]`: the `chosen` ones, otherwise the last quarter and the same one a year before, or
    the first one. */
export function comparedQuarters(quarters, chosen) {
  const last = quarters.at(-1);
  const yearBefore = `${Number(last.slice(0, 4)) - 1}${last.slice(4)}`;
  const usual = [quarters.includes(yearBefore) ? yearBefore : quarters[0], last];
  const compared = usual.map((quarter, nth) => (quarters.includes(chosen[nth]) ? chosen[nth] : quarter));
  return compared[0] === compared[1] ? usual : compared;
}

/** Figures of a market whose change is shown. */
const COMPARED = ["price_per_m2_median", "index", "sales", "asking_price_per_m2", "rent_per_m2"];

/**
 * Returns how the figures of a market changed between two quarters: `{figure, before, after, change}` with the change in percent, for
 * figures that both quarters have. `rows` are of one class of homes. The change of a median of too few sales is null.
 */
export function changesOf(rows, [earlier, later]) {
  const [one, other] = [earlier, later].map((quarter) => rows.find((row) => row.period === quarter) ?? {});
  const isThin = [one, other].some((row) => !(row.priced_sales >= SALES_MIN));
  return COMPARED.filter((figure) => one[figure] && other[figure]).map((figure) => ({
    figure, before: one[figure], after: other[figure], change: figure === "price_per_m2_median" && isThin ? null : (other[figure] / one[figure] - 1) * 100,
  }));
}

/** The tiles of two years as map sources: the later year is drawn, the earlier one is only read. */
export function addCompared(map, { later, earlier, maxzoom, paint, below }) {
  const source = (tiles) => ({ type: "vector", tiles, maxzoom, promoteId: { areas: "code" } });
  const layer = (id, of) => ({ id, type: "fill", source: id, "source-layer": "areas", paint: of });
  map.addSource("data", source(later));
  map.addSource("earlier", source(earlier));
  map.addLayer(layer("earlier", { "fill-opacity": 0 }), below);
  map.addLayer({ ...layer("data", paint), id: "areas" }, below);
}

/** Sets the change of each place that both sources have loaded, as its feature state. */
export function compare(map) {
  const read = (source) => new Map(map.querySourceFeatures(source, { sourceLayer: "areas" }).map(({ properties }) => [properties.code, properties]));
  const before = read("earlier");
  for (const [code, after] of read("data")) {
    const change = changeOf(before.get(code), after);
    if (change) map.setFeatureState({ source: "data", sourceLayer: "areas", id: code }, change);
  }
}

/**
 * Rescales indexes to 100 at the first period in which all have a value, so that they can be compared. `base` is the position of that
 * period; without one, the lines stay unchanged.
 */
export function rebased(lines) {
  const base = lines.length === 0 ? -1 : lines[0].values.findIndex((_, nth) => lines.every(({ values }) => values[nth]));
  if (base < 0) return { lines };
  const scaled = (values) => values.map((value) => (value === null ? null : (100 * value) / values[base]));
  return { base, lines: lines.map((line) => ({ ...line, values: scaled(line.values) })) };
}
