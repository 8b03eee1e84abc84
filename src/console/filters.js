/** Builds filters from the OpenAPI document: one field for each condition of the contract. filterchips.js draws them. */

import { call } from "./api.js";
import { layerText } from "./areas.js";
import { FIELD_NAMES, RECORD_NAMES, commonStart } from "./fieldnames.js";
import { counted, language, number, day, valueWord, word } from "./language.js";
import { useLoaded } from "./parts.js";

/** Maximum depth of nested filters. */
const DEPTH_MAX = 6;
/** Prefix of the URL parameters that are filters. */
const PREFIX = "f.";

let asked = null;
/** The OpenAPI document, loaded once. */
const openapi = () => {
  asked ??= call("GET", "/openapi.json", undefined, { isQuiet: true }).catch((error) => {
    asked = null;
    throw error;
  });
  return asked;
};

const resolve = (document, schema) =>
  schema?.$ref ? { ...document.components.schemas[schema.$ref.split("/").pop()], ...schema, $ref: undefined } : schema;

/** Returns the kind of a schema and, for a choice, its values; null if it contains other schemas. */
function leafOf(document, schema) {
  const items = resolve(document, schema.items);
  if (schema.type === "array" && items?.enum) return { kind: "choice", values: items.enum };
  if (schema.type === "array" && items?.type === "string") return { kind: "texts" };
  if (schema.enum) return { kind: "one", values: schema.enum };
  if (schema.type === "boolean") return { kind: "flag" };
  if (schema.type === "string") return { kind: "text", pattern: schema.pattern };
  if (schema.type === "number" || schema.type === "integer") return { kind: "number" };
  const names = Object.keys(schema.properties ?? {}).sort().join();
  if (names !== "max,min" && names !== "from,to") return null;
  const bounds = names === "from,to" ? ["from", "to"] : ["min", "max"];
  const isDays = resolve(document, schema.properties[bounds[0]]).type === "string";
  return { kind: isDays ? "days" : "range", bounds };
}

/** Returns the fields of a schema of filters: path, kind, description. Places are left out, because the map has them. */
function fieldsOf(document, schema, path = []) {
  const found = resolve(document, schema);
  if (!found || found.deprecated || path.length > DEPTH_MAX) return [];
  const leaf = path.length > 0 && leafOf(document, found);
  if (leaf) return [{ ...leaf, path, name: path.filter((part) => part !== 0).join("."), about: language === "en" ? found.description : undefined }];
  if (found.type === "array") return fieldsOf(document, found.items, [...path, 0]);
  const properties = found.properties ?? {};
  if ("lat" in properties || "geoDistance" in properties || "pin" in properties) return [];
  return Object.entries(properties).flatMap(([name, inner]) => fieldsOf(document, inner, [...path, name]));
}

/** Returns the filter fields of a search: `path` is the path of the API, `inner` the properties of its body that lead to the filters. */
export function useFields(path, inner) {
  return useLoaded(async () => {
    const document = await openapi();
    const body = document.paths[path].post.requestBody.content["application/json"].schema;
    let schema = resolve(document, body);
    for (const name of inner) schema = resolve(document, schema.properties[name]);
    return fieldsOf(document, schema);
  }, [path]);
}

export const parameter = (field, bound) => PREFIX + field.name + (bound ? `.${bound}` : "");
const named = (field) => (field.bounds ? field.bounds.map((bound) => parameter(field, bound)) : [parameter(field)]);
export const isSet = (field, parameters) => named(field).some((name) => parameters[name]);

function valueOf(field, parameters) {
  const text = parameters[parameter(field)];
  if (field.bounds) {
    const bounds = field.bounds.map((bound) => [bound, parameters[parameter(field, bound)]]).filter(([, given]) => given);
    return Object.fromEntries(bounds.map(([bound, given]) => [bound, field.kind === "range" ? Number(given) : given]));
  }
  if (field.kind === "choice" || field.kind === "texts") return text.split(",");
  if (field.kind === "flag") return text === "true";
  return field.kind === "number" ? Number(text) : text;
}

/** Merges one value into another, object by object; entries of arrays are merged by position. */
export function merged(into, from) {
  if (typeof into !== "object" || typeof from !== "object" || into === null || from === null) return from ?? into;
  const both = Array.isArray(from) ? [...into] : { ...into };
  const isList = Array.isArray(from) && from.some((item) => typeof item !== "object");
  if (isList) return from;
  for (const [name, value] of Object.entries(from)) both[name] = name in both ? merged(both[name], value) : value;
  return both;
}

/** Returns the filters of the URL as the API expects them; undefined if there are none. */
export function filtersOf(fields, parameters) {
  const given = fields.filter((field) => isSet(field, parameters));
  const nested = ({ path, ...field }) => path.reduceRight(
    (value, part) => (part === 0 ? [value] : { [part]: value }), valueOf({ ...field, path }, parameters));
  return given.length ? given.map(nested).reduce(merged) : undefined;
}

/** Returns URL parameters that remove the filters, for a change of dataset. */
export const withoutFilters = (parameters) =>
  Object.fromEntries(Object.keys(parameters).filter((name) => name.startsWith(PREFIX)).map((name) => [name, ""]));

/** Returns only the parameters of filters, to pass them to another screen. */
export const onlyFilters = (parameters) =>
  Object.fromEntries(Object.entries(parameters).filter(([name, value]) => name.startsWith(PREFIX) && value));

/** Returns a readable name for a name of the contract: the console's own, otherwise its words with a capital at the beginning. */
export function spoken(name) {
  const known = FIELD_NAMES[name] ?? RECORD_NAMES[name];
  if (known) return known[language === "fr" ? 1 : 0];
  const words = name.split(".").slice(-2).join(" ").replaceAll("_", " ").replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export const spokenValue = (value, values = [value]) => valueWord(value) ?? String(value).slice(commonStart(values).length).replaceAll("_", " ");

/** Units of the fields whose names do not contain one. */
const EURO = "\u00a0€";
const UNITS = [[/price.*(per|PerArea|_m2)/i, `${EURO}/m²`], [/price/i, EURO], [/surface/i, "\u00a0m²"]];

/** Returns the unit of a field's numbers; empty without one. */
export const unitOf = (field) => (field.kind === "range" ? UNITS.find(([pattern]) => pattern.test(field.name))?.[1] ?? "" : "");

/** Formats bounds with their unit. English puts the euro sign before each number. */
function boundsText(from, to, unit) {
  const isBefore = language === "en" && unit.startsWith(EURO);
  const [before, after] = isBefore ? ["€", unit.slice(EURO.length)] : ["", unit];
  return from && to ? `${before}${from} – ${before}${to}${after}` : `${from ? "≥" : "≤"} ${before}${from || to}${after}`;
}

/** Describes the condition of a filter in a few words. */
export function summaryOf(field, parameters) {
  if (field.bounds) {
    const [from, to] = field.bounds.map((bound) => parameters[parameter(field, bound)])
      .map((given) => given && (field.kind === "days" ? day(given) : number(Number(given), 2)));
    return boundsText(from, to, unitOf(field));
  }
  const given = parameters[parameter(field)];
  const chosen = field.kind === "choice" || field.kind === "texts" ? given.split(",") : [given];
  return chosen.map((value) => spokenValue(value, field.values)).join(", ");
}

/** Returns the parameters without the filter of a field. */
export const cleared = (field) => Object.fromEntries(named(field).map((name) => [name, ""]));

/** Returns whether a filter has bounds; an empty one has none. */
const isRange = (value) => typeof value === "object" && /^((min|max|from|to),?)+$/.test(Object.keys(value).join());

/** Counts the corners of a GeoJSON area, whose rings repeat the first corner at the end. */
const cornersOf = (rings) => (typeof rings[0][0][0] === "number" ? rings.reduce((sum, ring) => sum + ring.length - 1, 0) : rings.reduce((sum, inner) => sum + cornersOf(inner), 0));

/** Converts filters of the API to readable pairs `[name, value]`. */
export function described(filters, path = []) {
  if (filters === null || filters === undefined) return [];
  if (path.at(-1) === "layer" && filters.name) return [[word("layer"), layerText(filters)]];
  // The corners of an area are too many to list.
  if (Array.isArray(filters.coordinates)) return [[word("area"), counted("corners", cornersOf(filters.coordinates))]];
  const field = { name: path.join("."), kind: "range" };
  if (isRange(filters)) {
    const [from, to] = [filters.min ?? filters.from, filters.max ?? filters.to].map((end) => (typeof end === "number" ? number(end, 2) : end && day(end)));
    return [[spoken(field.name), boundsText(from, to, typeof (filters.min ?? filters.max) === "number" ? unitOf(field) : "")]];
  }
  if (Array.isArray(filters) && filters.length > 0 && filters.every((one) => typeof one !== "object")) return [[spoken(field.name), filters.map((one) => spokenValue(one)).join(", ")]];
  if (Array.isArray(filters)) return filters.flatMap((one) => described(one, path));
  if (typeof filters === "object") return Object.entries(filters).flatMap(([name, inner]) => described(inner, [...path, name]));
  return [[spoken(field.name), spokenValue(String(filters))]];
}
