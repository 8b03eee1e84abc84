/** What the console's modules without markup do, run by `node --test`. */

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { MAPPING, MEANINGS, mapRow, missingMeanings, suggestMeanings, tally } from "../../src/console/advertcolumns.js";
import { addressOf } from "../../src/console/addresses.js";
import { SALES_MIN, changeOf, changesOf, comparedQuarters, comparedYears, pricedQuarters, rebased } from "../../src/console/comparison.js";
import { NO_PLACE, bedroomsOf, estimateOf, isCertain, metresBetween, placeOf, rentOf, reportOf, noEffect } from "../../src/console/dwelling.js";
import { FIELD_NAMES, commonStart } from "../../src/console/fieldnames.js";
import { reading } from "../../src/console/metrics.js";
import { firstPages } from "../../src/console/pages.js";
import { reasonOf } from "../../src/console/refusals.js";
import { classesOf, csvOf, numericColumns, positionColumns, readRows, sortedBy, textOf } from "../../src/console/rows.js";
import { completionsOf } from "../../src/console/sqlcompletion.js";
import { readTable } from "../../src/console/tablefile.js";
import { isochroneOf, reachOf, reachPath, reachText } from "../../src/console/traveltime.js";
import { geometryOfHex } from "../../src/console/wkb.js";

const found = (type, confidence) => ({
  geometry: { coordinates: [3.5, 44.5] }, properties: { type, confidence, label: "12 Rue Droite 48000 Mende", citycode: "48095" },
});

test("an address is taken only if the geocoder is sure of it and it is where a home is", () => {
  assert.ok(isCertain(found("housenumber", "HIGH"), "12 rue Droite, Mende"));
  assert.ok(isCertain(found("street", "HIGH"), "rue Droite, Mende"));
  assert.ok(!isCertain(found("street", "HIGH"), "12 rue Droite, Mende"), "its number is not in the base");
  assert.ok(!isCertain(found("municipality", "HIGH"), "Mende"), "the centre of a town is no address");
  assert.ok(!isCertain(found("municipality", "LOW"), "12 rue Inconnue, Mende"));
  assert.ok(!isCertain(found("housenumber", "MEDIUM"), "12 rue Droite, Mende"));
  assert.deepEqual(placeOf(found("housenumber", "HIGH")), { lat: 44.5, lon: 3.5, label: "12 Rue Droite 48000 Mende", city: "48095" });
  assert.deepEqual(Object.keys(NO_PLACE), Object.keys(placeOf(found("street", "HIGH"))), "nothing of a place stays");
});

test("distances around a home are those on the ground", () => {
  const [paris, north, east] = [{ lat: 48.85, lon: 2.35 }, { lat: 48.851, lon: 2.35 }, { lat: 48.85, lon: 2.351 }];
  assert.ok(Math.abs(metresBetween(paris, north) - 111.2) < 0.5);
  assert.ok(Math.abs(metresBetween(paris, east) - 73.2) < 0.5, "a degree of longitude is shorter than one of latitude");
  assert.equal(metresBetween(paris, paris), 0);
});

test("a report and a rent are asked of the home that was valued", () => {
  const at = { lat: 44.5, lon: 3.5 };
  const flat = estimateOf(at, { energy: "C", floor: "0", has: "Terrace,Lift" });
  const asked = Object.fromEntries(new URLSearchParams(reportOf(flat, "fr")));
  assert.deepEqual(asked, {
    longitude: "3.5", latitude: "44.5", type: "CLASS_FLAT", surface_m2: "60", room_count: "3", bedroom_count: "2",
    epc_energy: "ENERGY_CLASSIFICATION_C", floor: "0", has_terrace: "true", has_lift: "true", lang: "fr", format: "pdf",
  });
  const house = new URLSearchParams(reportOf(estimateOf(at, { type: "CLASS_HOUSE", land: "300" }), "en"));
  assert.equal(house.get("land_surface_m2"), "300");
  assert.equal(house.get("floor"), null, "what nobody said is not asked with");
  const rent = rentOf(flat, 150_000);
  assert.equal(rent.price, 150_000);
  assert.equal(rent.offer, undefined, "the offer of an estimate is a sale");
  assert.deepEqual(rent.habitation, flat.habitation);
});

test("an estimate is asked with what was said and what the contract requires, and nothing else", () => {
  const at = { lat: 44.5, lon: 3.5 };
  const body = estimateOf(at, {});
  assert.deepEqual(Object.keys(body.habitation), ["surface", "roomCount", "bedroomCount"]);
  assert.deepEqual(body, {
    location: { locationCoordinate: { location: [3.5, 44.5] } }, type: "CLASS_FLAT", offer: { type: "OFFER_BUY" },
    habitation: { surface: { total: 60 }, roomCount: 3, bedroomCount: 2 },
  });
  const told = estimateOf(at, { type: "CLASS_HOUSE", surface: "95", rooms: "5", bedrooms: "3" });
  assert.deepEqual([told.type, told.habitation], ["CLASS_HOUSE", { surface: { total: 95 }, roomCount: 5, bedroomCount: 3 }]);
  assert.equal(estimateOf(at, { rooms: "1", bedrooms: "0" }).habitation.bedroomCount, 0);
  assert.equal(bedroomsOf(0), 0);
  assert.equal(estimateOf(at, { type: "toString" }).type, "CLASS_FLAT", "an address may name any class");
});

test("what if sends what was chosen: class, floor and features of a flat, land of a house", () => {
  const at = { lat: 44.5, lon: 3.5 };
  const flat = estimateOf(at, { energy: "C", floor: "0", has: "Terrace,Lift,Nonsense", land: "300" });
  assert.deepEqual(flat.habitation.climate, { epcEnergy: "ENERGY_CLASSIFICATION_C" });
  assert.deepEqual(flat.habitation.features, { propertyFloor: 0 });
  assert.deepEqual(flat.habitation.characteristics, { hasTerrace: true, hasLift: true });
  assert.equal(estimateOf(at, { has: "Pool" }).habitation.characteristics, undefined, "a flat is not asked for with a pool");
  assert.deepEqual(noEffect({ energy: "C", floor: "2" }, { epcEnergy: 0 }), ["energyClass", "floor"]);
  assert.deepEqual(noEffect({ energy: "C", floor: "2" }, { epcEnergy: 900, hasLift: -300 }), []);
  assert.equal(flat.land, undefined);
  const house = estimateOf(at, { type: "CLASS_HOUSE", energy: "Z", floor: "3", land: "300" });
  assert.deepEqual(house.land, { surface: 300 });
  assert.deepEqual(Object.keys(house.habitation), ["surface", "roomCount", "bedroomCount"]);
  assert.equal(estimateOf(at, { rooms: "2", bedrooms: "5" }).habitation.bedroomCount, 2, "there are not more bedrooms than rooms");
});

test("addresses in capitals are written as people write them, and others stay", () => {
  assert.equal(addressOf("348 AV FRANCOIS NARDI"), "348 Avenue Francois Nardi");
  assert.equal(addressOf("9027 CHE DE L HUBAC"), "9027 Chemin de l’Hubac");
  assert.equal(addressOf("7B RUE JEANNE D ARC"), "7b Rue Jeanne d’Arc");
  assert.equal(addressOf("12 Rue Droite 48000 Mende"), "12 Rue Droite 48000 Mende");
  assert.equal(addressOf(undefined), "");
});

const streamOf = (texts) => new ReadableStream({
  start(stream) {
    for (const text of texts) stream.enqueue(new TextEncoder().encode(text));
    stream.close();
  },
});

test("rows are read up to a maximum, however the answer is cut into pieces", async () => {
  const pieces = ['{"a":1}\n{"a"', ':2}\n', '{"a":3}\n'];
  assert.deepEqual(await readRows(streamOf(pieces), 3), { rows: [{ a: 1 }, { a: 2 }, { a: 3 }], isWhole: true });
  assert.deepEqual(await readRows(streamOf(pieces), 2), { rows: [{ a: 1 }, { a: 2 }], isWhole: false });
  assert.deepEqual(await readRows(streamOf([]), 2), { rows: [], isWhole: true });
  assert.deepEqual((await readRows(streamOf(['{"a":"é"}']), 2)).rows, [{ a: "é" }]);
  assert.deepEqual(await readRows(streamOf(pieces), 3, 14), { rows: [{ a: 1 }, { a: 2 }], isWhole: false }, "and up to a maximum of letters");
});

test("geometries of layers are read from the form in which SQL gives them", () => {
  const whole = (value) => Buffer.from(new Uint32Array([value]).buffer).toString("hex");
  const at = (...degrees) => Buffer.from(new Float64Array(degrees).buffer).toString("hex");
  const begin = (kind) => `01${whole(kind)}`;
  const point = begin(1) + at(3.5, 44.5);
  const line = whole(2) + at(3, 44, 3.5, -44.5);
  const ring = whole(4) + at(0, 0, 1, 0, 1, 1, 0, 0);
  const corners = [[0, 0], [1, 0], [1, 1], [0, 0]];
  assert.deepEqual(geometryOfHex(point), { type: "Point", coordinates: [3.5, 44.5] });
  assert.deepEqual(geometryOfHex(point.toUpperCase()), { type: "Point", coordinates: [3.5, 44.5] });
  assert.deepEqual(geometryOfHex(begin(2) + line), { type: "LineString", coordinates: [[3, 44], [3.5, -44.5]] });
  assert.deepEqual(geometryOfHex(begin(3) + whole(2) + ring + ring), { type: "Polygon", coordinates: [corners, corners] });
  assert.deepEqual(geometryOfHex(begin(4) + whole(2) + point + point), { type: "MultiPoint", coordinates: [[3.5, 44.5], [3.5, 44.5]] });
  assert.deepEqual(geometryOfHex(begin(6) + whole(1) + begin(3) + whole(1) + ring), { type: "MultiPolygon", coordinates: [[corners]] });
  assert.deepEqual(geometryOfHex(begin(7) + whole(2) + point + begin(2) + line).geometries.map(({ type }) => type), ["Point", "LineString"]);
});

test("what is within reach is kept in the address and asked as the contract has it", () => {
  const reach = { mode: "walk", minutes: 10, lon: 3.5, lat: -44.51806 };
  assert.equal(reachText({ mode: "walk", minutes: "10", lon: "3.50000", lat: -44.518058 }), "reach:walk,10,3.5,-44.51806");
  assert.deepEqual(reachOf("reach:walk,10,3.5,-44.51806"), reach);
  assert.equal(reachPath(reach), "/v2/protected/isochrones?lat=-44.51806&lon=3.5&minutes=10&mode=walk");
  assert.deepEqual(isochroneOf(reach), { isochrone: { pin: { lat: -44.51806, lon: 3.5 }, minutes: 10, mode: "walk" } });
  for (const other of [undefined, "", "@reach:car,15,3,44", "3,44;4,44;4,45", "reach:boat,15,3,44", "reach:car,15,3"]) assert.equal(reachOf(other), null, other);
});

test("filters and their values have names that people read", () => {
  assert.equal(commonStart(["ENERGY_CLASSIFICATION_A", "ENERGY_CLASSIFICATION_B"]), "ENERGY_CLASSIFICATION_");
  assert.equal(commonStart(["CLASS_FLAT", "CLASS_HOUSE"]), "CLASS_");
  assert.equal(commonStart(["avant 1948", "1948-1974"]), "");
  for (const [name, words] of Object.entries(FIELD_NAMES)) assert.ok(words.length === 2 && words.every((one) => one && !one.includes("_")), name);
});

test("rows are put in order by numbers or letters, and those without a value come last", () => {
  const rows = [{ a: 10, b: "é2" }, { a: null, b: "é10" }, { a: 9, b: null }];
  assert.deepEqual(sortedBy(rows, "a", false).map(({ a }) => a), [9, 10, null]);
  assert.deepEqual(sortedBy(rows, "a", true).map(({ a }) => a), [10, 9, null]);
  assert.deepEqual(sortedBy(rows, "b", false).map(({ b }) => b), ["é2", "é10", null]);
  assert.deepEqual(rows[0], { a: 10, b: "é2" }, "the rows themselves stay as they are");
});

test("a position is a latitude and a longitude in degrees, with the same prefix", () => {
  assert.deepEqual(positionColumns([{ lon: 3.5, lat: 44.5 }, { lon: null, lat: null }]), { lat: "lat", lon: "lon" });
  assert.deepEqual(positionColumns([{ home_latitude: 44.5, home_longitude: 3.5, work_lat: 1 }]), { lat: "home_latitude", lon: "home_longitude" });
  assert.equal(positionColumns([{ lat: 44.5, home_lon: 3.5 }]), null);
  assert.equal(positionColumns([{ lat: "44.5", lon: "3.5" }]), null);
  assert.equal(positionColumns([{ lat: 6_800_000, lon: 700_000 }]), null, "metres are not degrees");
  assert.equal(positionColumns([]), null);
  assert.deepEqual(numericColumns([{ a: 1, b: null, c: "1" }, { a: null, b: null, c: 2 }]), ["a"]);
});

test("classes hold about as many rows each, and each bound is there once", () => {
  const rows = [5, 1, 4, 2, 3, 6].map((a) => ({ a }));
  assert.deepEqual(classesOf(rows, "a", 3), [1, 3, 5]);
  assert.deepEqual(classesOf([{ a: 7 }, { a: 7 }, { a: null }], "a", 6), [7]);
  assert.deepEqual(classesOf([], "a", 6), []);
});

test("a change needs enough sales in both years, and is a percentage of the former price", () => {
  const [before, after] = [{ price_per_m2: 2000, count: SALES_MIN }, { price_per_m2: 2500, count: SALES_MIN }];
  assert.deepEqual(changeOf(before, after), { change: 25, before: 2000 });
  assert.equal(changeOf({ ...before, count: SALES_MIN - 1 }, after), null);
  assert.equal(changeOf(before, { ...after, count: SALES_MIN - 1 }), null);
  assert.equal(changeOf(before, { count: 50 }), null);
  assert.equal(changeOf(undefined, after), null);
  const years = { years: [2020, 2021, 2022, 2023], whole: 2022 };
  assert.deepEqual(comparedYears({}, years), [2021, 2022]);
  assert.deepEqual(comparedYears({ before: "2020", after: "1999" }, years), [2020, 2022]);
});

test("two quarters of a market are compared, by default the last one and that of a year before", () => {
  const quarter = (period, price, sales, more) => ({ period, price_per_m2_median: price, priced_sales: sales, sales, ...more });
  const rows = [quarter("2024-Q1", 2_000, 20), quarter("2023-Q1", 1_600, 10, { asking_price_per_m2: 1_800 }), quarter("2023-Q2", 1_900, SALES_MIN - 1), quarter("2024-Q2", null, 0, { asking_price_per_m2: 2_700 })];
  const quarters = pricedQuarters(rows);
  assert.deepEqual(quarters, ["2023-Q1", "2023-Q2", "2024-Q1"]);
  assert.deepEqual(comparedQuarters(quarters, []), ["2023-Q1", "2024-Q1"]);
  assert.deepEqual(comparedQuarters(quarters.slice(1), []), ["2023-Q2", "2024-Q1"]);
  assert.deepEqual(comparedQuarters(quarters, ["2023-Q2", "1999-Q1"]), ["2023-Q2", "2024-Q1"]);
  assert.deepEqual(comparedQuarters(quarters, ["2024-Q1", "1999-Q1"]), ["2023-Q1", "2024-Q1"], "a quarter is not compared with itself");
  const [price, sales, ...others] = changesOf(rows, ["2023-Q1", "2024-Q1"]);
  assert.deepEqual(price, { figure: "price_per_m2_median", before: 1_600, after: 2_000, change: 25 });
  assert.deepEqual([sales.figure, sales.change, others], ["sales", 100, []], "a figure that one quarter lacks is left out");
  assert.equal(changesOf(rows, ["2023-Q2", "2024-Q1"])[0].change, null, "a median of few sales says little");
});

test("indexes are compared from the first period that all have", () => {
  const lines = [{ label: "a", values: [90, 120, 150] }, { label: "b", values: [null, 80, 100] }];
  assert.deepEqual(rebased(lines), { base: 1, lines: [{ label: "a", values: [75, 100, 125] }, { label: "b", values: [null, 100, 125] }] });
  const apart = [{ values: [100, null] }, { values: [null, 100] }];
  assert.deepEqual(rebased(apart), { lines: apart });
  assert.deepEqual(rebased([]), { lines: [] });
});

test("a file of rows has all their columns, and no cell that a spreadsheet would run", () => {
  const rows = [{ id: "a", place: { lat: 44.5, lon: -3.5 }, tags: ["x", "y"], adverts: [{ url: "u" }] }, { id: "b", title: '=1+1, "so"', note: null, more: "-5" }];
  assert.equal(csvOf(rows), 'id,place.lat,place.lon,tags,title,more\na,44.5,-3.5,"x, y",,\nb,,,,"\'=1+1, ""so""",-5\n');
  const cell = (text) => csvOf([{ text }]).slice("text\n".length, -1);
  for (const formula of ["=1", "+1", "@a", "-a", "-1+2", "\ta"]) assert.equal(cell(formula), `'${formula}`);
  for (const number of ["-1.5", "-2,5", "-2.1e-7", "12"]) assert.equal(cell(number).replaceAll('"', ""), number);
});

test("usual refusals have words, and others keep those of the service", () => {
  const name = (...refusal) => reasonOf(...refusal).name;
  assert.deepEqual(reasonOf(403, 10004, 'x-api-key: this key is granted neither the scope "sql" nor the endpoint "sql.query"'), { name: "error.scope", values: { scope: "sql", request: undefined } });
  assert.equal(name(429, 10006, "monthly quota exceeded; it resets in 5 s"), "error.quota");
  assert.equal(name(429, 10005, "too many estimates at once for this key; retry shortly"), "error.tooMany");
  assert.equal(name(422, 10002, "location: no rents to estimate from: ingest adverts of homes to rent"), "error.rents");
  assert.equal(name(503, 10000, "no model to estimate with: train one"), "error.noModel");
  assert.equal(name(422, 10002, "filters.area: isochrones are not available here: the setting geocoding.isochrones names no service"), "error.noTravel");
  assert.equal(name(503, 10000, "the upstream isochrone service does not respond; retry after 10 s"), "error.travelSilent");
  assert.equal(reasonOf(500, 10000, "internal error (request 01a2-b)").values.request, "01a2-b");
  assert.equal(name(422, 10002, "query: line 2, column 7: no such column"), undefined);
  const words = readFileSync(new URL("../../src/console/words.js", import.meta.url), "utf8");
  const used = readFileSync(new URL("../../src/console/refusals.js", import.meta.url), "utf8").match(/"error\.\w+"/g);
  for (const one of used) assert.ok(words.includes(`${one}:`), one);
});

test("completion offers what may stand at the caret", () => {
  const columns = [["dvf", "city"], ["dvf", "price_eur"], ["dvf", "lat"], ["dpe", "class"], ["dpe", "lat"]].map(([table, name]) => ({ table, name, type: "Utf8" }));
  const schema = { columns, functions: [{ name: "count", type: "aggregate" }] };
  const texts = (query, isAsked) => completionsOf(query.replace("|", ""), query.indexOf("|"), schema, isAsked)?.items.map(({ text }) => text) ?? null;
  assert.equal(texts("select ci| from dvf")[0], "city");
  assert.deepEqual(texts("select eur| from dvf"), ["price_eur"], "a part of a name will do");
  assert.equal(texts("cas|")[0], "case", "keywords come first as long as no table is read");
  assert.deepEqual(texts("select * from d|"), ["dvf", "dpe"]);
  assert.deepEqual(texts("with mine as (select 1) select * from |", true), ["mine", "dvf", "dpe"]);
  assert.deepEqual(texts("select p.| from dpe p"), ["class", "lat"], "the columns of an alias");
  assert.deepEqual(texts("select * from dvf join dpe as e on e.l|"), ["lat"]);
  assert.ok(texts("select c| from dvf").includes("count(") && texts("select c|(*) from dvf").includes("count"));
  assert.ok(!texts("select | from dvf", true).includes("class"), "no columns of tables that are not read");
  for (const quiet of ["select |", "select city|", "select 'ci|", "select 1 -- ci|", "select 12e|", 'select "ci|', "select /* ci|"]) assert.equal(texts(quiet), null, quiet);
});

test("a reading of the metrics has the size, the age and the editions of each table", () => {
  const read = reading(`toise_ready 1
toise_lake_rows{table="dvf"} 120
toise_table_age_seconds{table="dvf"} 3600
toise_refresh_failed{table="dvf"} 1
toise_refresh_age_seconds 60
toise_edition_timestamp_seconds{table="dvf",state="held"} 1790812800
toise_edition_timestamp_seconds{table="dvf",state="available"} 1793491200
`);
  assert.deepEqual(read.tables, { dvf: { rows: 120, age: 3600, failed: 1, held: 1790812800, available: 1793491200 } });
  assert.equal(read.refreshAge, 60);
  assert.equal(reading("toise_ready 1\n").refreshAge, null, "there was no refresh");
});

test("a reading of the metrics has the age of the backup and the merges of adverts", () => {
  const read = reading(`toise_backup_age_seconds 120
toise_candidate_pairs_waiting 3
toise_properties{adverts="1"} 90
toise_properties{adverts="2"} 8
toise_properties{adverts="3"} 2
toise_merged_pairs 14
toise_merged_pairs_contradicting{field="price"} 0
toise_merged_pairs_contradicting{field="floor"} 1
toise_merged_pairs_contradicting{field="surface"} 2
`);
  assert.equal(read.backupAge, 120);
  assert.deepEqual(read.merges, { waiting: 3, counted: { properties: 100, several: 10, merged: 14, contradicting: [["surface", 2], ["floor", 1]] } });
  const first = reading("toise_ready 1\n");
  assert.deepEqual([first.backupAge, first.merges], [null, { waiting: null, counted: null }], "nothing is known yet");
});

const inProject = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

test("the columns of an import are those of the mapping, under names that the service knows too", () => {
  const mapping = inProject(`data/mappings/${MAPPING}.toml`);
  const table = inProject("src/contract/columns.rs").replaceAll(/\\\n\s*/g, "");
  const constants = {
    place: "PLACE", rent: "RENT", "offer.type": "OFFER", reference: "REFERENCE", house_number: "HOUSE_NUMBER", street: "STREET", "currentPrice.value": "PRICE", "location.postalCode": "POSTAL_CODE",
    "location.city": "CITY", "location.address": "ADDRESS", "location.locationCoordinate.location[1]": "LATITUDE", "location.locationCoordinate.location[0]": "LONGITUDE",
  };
  for (const [column, [field, , names]] of Object.entries(MEANINGS)) {
    assert.match(mapping, new RegExp(`["{]${column}[?}"]`), column);
    const line = table.split("\n").find((one) => one.includes(`(${constants[field] ?? `"${field}"`}, "`));
    const known = /, "([^"]+)"\)/.exec(line)[1].split(/\s+/);
    for (const name of names.split(" ")) assert.ok(known.includes(name), `${field}: ${name}`);
  }
});

test("a column is suggested by its name, and the more usual of two names counts", () => {
  const columns = ["URL", "Prix", "Nb pièces", "Code Postal", "area", "surface", "couleur"];
  assert.deepEqual(suggestMeanings(columns), { URL: "url", Prix: "prix", "Nb pièces": "nb_pieces", "Code Postal": "code_postal", surface: "surface" });
  assert.deepEqual(missingMeanings({ a: "prix" }), ["importNeedsUrl", "importNeedsPlace"]);
  assert.deepEqual(missingMeanings({ a: "url", b: "latitude" }), ["importNeedsPlace"]);
  assert.deepEqual(missingMeanings({ a: "url", b: "latitude", c: "longitude" }), []);
  assert.deepEqual(mapRow({ a: "x", b: "1", c: "2" }, { a: "url", b: "", d: "prix" }), { url: "x" });
  assert.deepEqual(tally([{ text: "b", row: 1 }, { text: "a", row: 2 }, { text: "a", row: 3 }]), [["a", 2, 2], ["b", 1, 1]]);
});

test("a file is read with its encoding, delimiter and quoted cells", () => {
  const read = (text, encoding = "utf8") => readTable(new Uint8Array(Buffer.from(text, encoding)));
  assert.deepEqual(read('\ufeffurl;titre\r\nhttps://a.example/1;"T3; ""vue""\n2e étage"\r\n;\r\nhttps://a.example/2;\r\n'), {
    encoding: "UTF-8", delimiter: ";", columns: ["url", "titre"],
    rows: [{ url: "https://a.example/1", titre: 'T3; "vue"\n2e étage' }, { url: "https://a.example/2" }],
  });
  const old = read("\xe9tage,prix\n2,250 000", "latin1");
  assert.deepEqual([old.encoding, old.rows], ["Windows-1252", [{ étage: "2", prix: "250 000" }]]);
  assert.equal(read("\ufeffa\tb\n1\t2", "utf16le").encoding, "UTF-16");
  assert.deepEqual(read('{"url": "u", "prix": 1}\n{"url": "v"}\n').rows, [{ url: "u", prix: 1 }, { url: "v" }]);
  assert.deepEqual(read('[{"url": "u"}]').columns, ["url"]);
  for (const [text, fault] of [["", "importNoRows"], ["a,b\n", "importNoRows"], ['a\n"b', "importOpenQuote"], ["[1]", "importNotRows"], ['{"a":', "importNotJson"], ["PK\x03\x04", "importOtherFormat"]]) {
    assert.throws(() => read(text), { message: fault }, text);
  }
});

test("the answer of one endless row is left as soon as it has too many letters", async () => {
  let given = 0;
  let isLeft = false;
  const endless = new ReadableStream({
    pull(stream) {
      given += 1;
      stream.enqueue(new TextEncoder().encode(given === 1 ? '{"a":1}\n{"geometry":"' : "0".repeat(1_000)));
    },
    cancel() { isLeft = true; },
  });
  assert.deepEqual(await readRows(endless, 10, 5_000), { rows: [{ a: 1 }], isWhole: false });
  assert.ok(isLeft && given < 20, `${given} pieces were read`);
});

test("values of rows are shown as text, nested ones as JSON", () => {
  assert.deepEqual([null, true, 0.1 + 0.2, 2024, "é", { a: [1, null] }].map(textOf), ["", "true", "0.3", "2024", "é", '{"a":[1,null]}']);
});

test("one thing has the singular, in French also none, and every counted thing has both", async () => {
  const kept = new Map();
  globalThis.localStorage = { getItem: (name) => kept.get(name) ?? "en", setItem: (name, value) => kept.set(name, value) };
  globalThis.document = { documentElement: {} };
  const { bytes, counted, switchLanguage } = await import("../../src/console/language.js");
  assert.deepEqual([0, 1, 2, 1_200].map((count) => counted("someRooms", count)), ["0 rooms", "1 room", "2 rooms", "1,200 rooms"]);
  assert.equal(counted("faultyRows", 1, { all: 2 }), "1 of 2 homes cannot be valued. It is stored with the reason.");
  switchLanguage();
  assert.deepEqual([0, 1, 2].map((count) => counted("someRooms", count)), ["0 pièce", "1 pièce", "2 pièces"]);
  assert.equal(counted("pairsWaiting", 0), "0 paire de biens attend une décision");
  assert.deepEqual([999, 1_500, 1_500_000, 64 * 2 ** 20].map(bytes), ["999\u00a0o", "1,5\u00a0ko", "1,5\u00a0Mo", "67\u00a0Mo"], "a megabyte has a million bytes");
  const { WORDS } = await import("../../src/console/words.js");
  const folder = new URL("../../src/console/", import.meta.url);
  const files = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".js"));
  const names = files.flatMap((name) => [...readFileSync(new URL(name, folder), "utf8").matchAll(/counted\("(\w+)"/g)].map(([, one]) => one));
  assert.ok(names.length > 10, names.join());
  for (const name of names) for (const form of ["one", "many"]) assert.equal(WORDS[`${name}.${form}`]?.filter(Boolean).length, 2, `${name}.${form}`);
});

test("the page names every module that its first drawing needs, and waits for no others", () => {
  const folder = new URL("../../src/console/", import.meta.url);
  const needed = new Set(["app.js"]);
  for (const name of needed) {
    if (name.startsWith("vendor/")) continue;
    const text = readFileSync(new URL(name, folder), "utf8");
    for (const [, path] of text.matchAll(/^(?:import|export) (?:[^;]*? from )?"([^"]+)";/gm)) needed.add(new URL(path, new URL(name, "http://here/")).pathname.slice(1));
  }
  const page = readFileSync(new URL("index.html", folder), "utf8");
  const named = [...page.matchAll(/(?:modulepreload" href|module" src)="([^"]+)"/g)].map(([, path]) => path);
  assert.deepEqual(named.sort(), [...needed].sort());
  const styles = [...page.matchAll(/stylesheet" href="vendor\/[^"]+"(.*)>/g)].map(([, rest]) => rest.trim());
  assert.deepEqual(styles, ['media="print"', 'media="print"'], "a library's style sheet would hold up the first drawing");
});

test("alerts are listed page by page until each kind has ended", async () => {
  const counts = { properties: 250, adverts: 100, dvf: 1, dpe: 0 };
  const asked = [];
  const { fetch } = globalThis;
  globalThis.fetch = async (path) => {
    const { pathname, searchParams } = new URL(path, "http://here");
    const [, kind] = /protected\/(?:opendata\/)?(\w+)\/search\/alerts\/all$/.exec(pathname);
    const skip = Number(searchParams.get("skip"));
    asked.push(`${kind} ${skip}`);
    return Response.json({ data: Array.from({ length: Math.min(100, counts[kind] - skip) }, (_, nth) => ({ alert_id: `${kind}-${skip + nth}` })) });
  };
  const { alertsOf } = await import("../../src/console/alertlist.js");
  const first = await alertsOf(1);
  assert.deepEqual([first.alerts.length, first.hasMore], [201, true]);
  assert.deepEqual(first.alerts.at(-1), { alert_id: "dvf-0", kind: "dvf" }, "alerts on open data are among them");
  assert.deepEqual([first.alerts[0], first.alerts[100]], [{ alert_id: "properties-0", kind: "properties" }, { alert_id: "adverts-0", kind: "adverts" }]);
  asked.length = 0;
  const all = await alertsOf(4);
  assert.deepEqual([all.alerts.length, new Set(all.alerts.map((one) => one.alert_id)).size, all.hasMore], [351, 351, false]);
  assert.deepEqual(asked, ["properties 0", "adverts 0", "dvf 0", "dpe 0", "properties 100", "adverts 100", "properties 200"], "a kind that has ended is not asked again");
  globalThis.fetch = fetch;
});

test("an entry that arrives between two pages of a list is listed once", async () => {
  const kept = Array.from({ length: 120 }, (_, nth) => 120 - nth);
  const asked = [];
  const ask = async (nth, last) => {
    asked.push([nth, last]);
    const page = kept.slice(nth * 50, nth * 50 + 50);
    // An entry arrives after the first page, and pushes the others.
    if (nth === 0) kept.unshift(121);
    return page;
  };
  const id = (entry) => entry;
  const two = await firstPages(2, 50, ask, id);
  assert.deepEqual([two.entries.length, new Set(two.entries).size, two.hasMore], [99, 99, true]);
  assert.deepEqual(asked, [[0, undefined], [1, 71]]);
  const all = await firstPages(9, 50, async (nth) => kept.slice(nth * 50, nth * 50 + 50), id);
  assert.deepEqual([all.entries, all.hasMore], [kept, false], "no page is asked for after the last one");
});

test("every finding about the data folder has French words", async () => {
  const { MESSAGES, VALUES, findingText, inFrench } = await import("../../src/console/findings.js");
  const doctor = (name) => readFileSync(new URL(`../../src/app/doctor/${name}`, import.meta.url), "utf8").replace(/\\\n\s*/g, "");
  const [source, module] = [doctor("findings.rs"), doctor("mod.rs")];
  for (const text of [...MESSAGES.map(([message]) => message), ...Object.keys(VALUES)]) assert.ok((source + module).includes(`"${text}"`), text);
  const parts = /pub enum FaultyPart \{([^}]*)\}/.exec(module)[1].matchAll(/^ *(\w+),/gm);
  for (const [, part] of parts) assert.match(inFrench("reason", part.toLowerCase()), /^(?!undefined).+ : reason$/, part);
  assert.equal(inFrench("/data/a.parquet: has 10 bytes instead of 20", "table"), "un fichier d’une table manque ou est endommagé : /data/a.parquet a 10 octets au lieu de 20");
  for (const [, text] of source.split("#[cfg(test)]")[0].matchAll(/"((?:no |the |to try|sales were)[^"]{8,})"/g)) {
    // The first sentence is for a folder that does not exist, which no server has.
    assert.ok(text.startsWith("no data folder") || text in VALUES || MESSAGES.some(([message]) => message === text), text);
  }
  assert.equal(inFrench("the last backup is 12 days old"), "la dernière sauvegarde date de 12 jours");
  assert.equal(inFrench("no energy diagnostics: homes have no energy classes"), "il manque les diagnostics énergétiques : les biens n’ont pas de classe énergétique");
  assert.equal(inFrench("no API key works: nobody can call the server"), "aucune clé d’API ne fonctionne : personne ne peut appeler le serveur");
  assert.equal(inFrench("the last refresh of addresses failed: 503: no answer"), "la dernière mise à jour des adresses a échoué : 503: no answer");
  assert.equal(inFrench("something new"), "something new");
  assert.match(findingText({ message: "no backup is known" }), /^(No backup is known|Aucune sauvegarde n’est connue)\.$/);
});
