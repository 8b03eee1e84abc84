/** What the console's modules without markup do, run by `node --test`. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { addressOf } from "../../src/console/addresses.js";
import { NOWHERE, bedroomsOf, estimateOf, isSure, placeOf, unfelt } from "../../src/console/dwelling.js";
import { FIELD_NAMES, commonStart } from "../../src/console/fieldnames.js";
import { readRows } from "../../src/console/rows.js";

const found = (type, confidence) => ({
  geometry: { coordinates: [3.5, 44.5] }, properties: { type, confidence, label: "12 Rue Droite 48000 Mende", citycode: "48095" },
});

test("an address is taken only if the geocoder is sure of it and it is where a home is", () => {
  assert.ok(isSure(found("housenumber", "HIGH"), "12 rue Droite, Mende"));
  assert.ok(isSure(found("street", "HIGH"), "rue Droite, Mende"));
  assert.ok(!isSure(found("street", "HIGH"), "12 rue Droite, Mende"), "its number is not in the base");
  assert.ok(!isSure(found("municipality", "HIGH"), "Mende"), "the centre of a town is no address");
  assert.ok(!isSure(found("municipality", "LOW"), "12 rue Inconnue, Mende"));
  assert.ok(!isSure(found("housenumber", "MEDIUM"), "12 rue Droite, Mende"));
  assert.deepEqual(placeOf(found("housenumber", "HIGH")), { lat: 44.5, lon: 3.5, label: "12 Rue Droite 48000 Mende", city: "48095" });
  assert.deepEqual(Object.keys(NOWHERE), Object.keys(placeOf(found("street", "HIGH"))), "nothing of a place stays");
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
});

test("what if sends what was chosen: class, floor and features of a flat, land of a house", () => {
  const at = { lat: 44.5, lon: 3.5 };
  const flat = estimateOf(at, { energy: "C", floor: "0", has: "Terrace,Lift,Nonsense", land: "300" });
  assert.deepEqual(flat.habitation.climate, { epcEnergy: "ENERGY_CLASSIFICATION_C" });
  assert.deepEqual(flat.habitation.features, { propertyFloor: 0 });
  assert.deepEqual(flat.habitation.characteristics, { hasTerrace: true, hasLift: true });
  assert.equal(estimateOf(at, { has: "Pool" }).habitation.characteristics, undefined, "a flat is not asked for with a pool");
  assert.deepEqual(unfelt({ energy: "C", floor: "2" }, { epcEnergy: 0 }), ["energyClass", "floor"]);
  assert.deepEqual(unfelt({ energy: "C", floor: "2" }, { epcEnergy: 900, hasLift: -300 }), []);
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
});

test("filters and their values have names that people read", () => {
  assert.equal(commonStart(["ENERGY_CLASSIFICATION_A", "ENERGY_CLASSIFICATION_B"]), "ENERGY_CLASSIFICATION_");
  assert.equal(commonStart(["CLASS_FLAT", "CLASS_HOUSE"]), "CLASS_");
  assert.equal(commonStart(["avant 1948", "1948-1974"]), "");
  for (const [name, words] of Object.entries(FIELD_NAMES)) assert.ok(words.length === 2 && words.every((one) => one && !one.includes("_")), name);
});
