/** Filters made from the OpenAPI document: one control for each thing that the contract can filter by. */

import { Field, Typed, html, useLoaded, useState } from "./parts.js";
import { call } from "./api.js";
import { FIELD_NAMES, commonStart } from "./fieldnames.js";
import { language, word } from "./language.js";

/** How deep filters are nested at most. */
const DEPTH_MAX = 6;
/** Begins the names of parameters of the address that are filters. */
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

/** What a schema asks for: its kind and, of a choice, the values. `null` if it holds other things. */
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

/** Fields of a schema of filters: path, kind, description. Places are left out: the map has them. */
function fieldsOf(document, schema, path = []) {
  const found = resolve(document, schema);
  if (!found || found.deprecated || path.length > DEPTH_MAX) return [];
  const leaf = path.length > 0 && leafOf(document, found);
  if (leaf) return [{ ...leaf, path, name: path.filter((part) => part !== 0).join("."), about: found.description ?? "" }];
  if (found.type === "array") return fieldsOf(document, found.items, [...path, 0]);
  const properties = found.properties ?? {};
  if ("lat" in properties || "geoDistance" in properties || "pin" in properties) return [];
  return Object.entries(properties).flatMap(([name, inner]) => fieldsOf(document, inner, [...path, name]));
}

/** The fields of the filters of a search: `path` of the API, `inner` properties of its body. */
export function useFields(path, inner) {
  return useLoaded(async () => {
    const document = await openapi();
    const body = document.paths[path].post.requestBody.content["application/json"].schema;
    let schema = resolve(document, body);
    for (const name of inner) schema = resolve(document, schema.properties[name]);
    return fieldsOf(document, schema);
  }, [path]);
}

const parameter = (field, bound) => PREFIX + field.name + (bound ? `.${bound}` : "");
const named = (field) => (field.bounds ? field.bounds.map((bound) => parameter(field, bound)) : [parameter(field)]);
const isSet = (field, parameters) => named(field).some((name) => parameters[name]);

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

/** Puts one value into another, object by object; entries of arrays belong together by their place. */
export function merged(into, from) {
  if (typeof into !== "object" || typeof from !== "object" || into === null || from === null) return from ?? into;
  const both = Array.isArray(from) ? [...into] : { ...into };
  const isList = Array.isArray(from) && from.some((item) => typeof item !== "object");
  if (isList) return from;
  for (const [name, value] of Object.entries(from)) both[name] = name in both ? merged(both[name], value) : value;
  return both;
}

/** The filters that an address asks for, as the contract writes them; undefined without any. */
export function filtersOf(fields, parameters) {
  const given = fields.filter((field) => isSet(field, parameters));
  const nested = ({ path, ...field }) => path.reduceRight(
    (value, part) => (part === 0 ? [value] : { [part]: value }), valueOf({ ...field, path }, parameters));
  return given.length ? given.map(nested).reduce(merged) : undefined;
}

/** Parameters of an address without its filters, for going over to other data. */
export const withoutFilters = (parameters) =>
  Object.fromEntries(Object.keys(parameters).filter((name) => name.startsWith(PREFIX)).map((name) => [name, ""]));

/** The filters of an address alone, to take them to another screen. */
export const onlyFilters = (parameters) =>
  Object.fromEntries(Object.entries(parameters).filter(([name, value]) => name.startsWith(PREFIX) && value));

/** A name of the contract for people: that of the console, else words apart, the first in capitals. */
function spoken(name) {
  const known = FIELD_NAMES[name];
  if (known) return known[language === "fr" ? 1 : 0];
  const words = name.split(".").slice(-2).join(" ").replaceAll("_", " ").replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const spokenValue = (value, values = [value]) => {
  const known = word(`value.${value}`);
  return known === `value.${value}` ? String(value).slice(commonStart(values).length).replaceAll("_", " ") : known;
};

/** The controls: the usual fields and those in use, and a list of the others that the console has a name for. `usual` are
    names of fields. */
export function Filters({ fields, usual, parameters, set }) {
  const [added, setAdded] = useState([]);
  const isShown = (field) => usual.includes(field.name) || added.includes(field.name) || isSet(field, parameters);
  const order = (field) => (usual.indexOf(field.name) + usual.length + 1) % (usual.length + 1);
  const shown = fields.filter(isShown).sort((one, other) => order(one) - order(other));
  const others = fields.filter((field) => field.name in FIELD_NAMES && !isShown(field));
  others.sort((one, other) => spoken(one.name).localeCompare(spoken(other.name)));
  return html`${shown.map((field) => html`<${Control} key=${field.name} field=${field} parameters=${parameters} set=${set} />`)}
    ${others.length > 0 && html`<${Field} label=${word("moreFilters")}><select value="" onChange=${(event) => {
      setAdded([...added, event.target.value]);
      event.target.value = "";
    }}><option value="">–</option>${others.map((field) => html`<option value=${field.name} title=${field.about}>${spoken(field.name)}</option>`)}</select><//>`}`;
}

function Control({ field, parameters, set }) {
  const label = spoken(field.name);
  const name = parameter(field);
  const change = (event) => set({ [event.target.name]: event.target.value });
  if (field.bounds) {
    const type = field.kind === "days" ? "date" : "number";
    return html`<fieldset title=${field.about}><legend>${label}</legend>${field.bounds.map((bound, nth) => html`<${Typed}
      type=${type} step="any" name=${parameter(field, bound)} given=${parameters[parameter(field, bound)] ?? ""} onChange=${change}
      placeholder=${word(nth ? "max" : "min")} aria-label=${`${label}: ${word(nth ? "max" : "min")}`} />`)}</fieldset>`;
  }
  if (field.kind === "choice") return html`<${Choice} field=${field} label=${label} chosen=${parameters[name]?.split(",") ?? []} set=${set} />`;
  if (field.kind === "one" || field.kind === "flag") {
    const values = field.values ?? ["true", "false"];
    return html`<${Field} label=${label}><select name=${name} title=${field.about} value=${parameters[name] ?? ""} onChange=${change}>
      <option value="">–</option>${values.map((value) => html`<option value=${value}>${spokenValue(value, values)}</option>`)}</select><//>`;
  }
  return html`<${Field} label=${label}><${Typed} name=${name} title=${field.about} given=${parameters[name] ?? ""} onChange=${change}
    type=${field.kind === "number" ? "number" : "text"} step="any" pattern=${field.pattern} size="10" /><//>`;
}

/** Several of a few values. */
function Choice({ field, label, chosen, set }) {
  const toggle = (value) => {
    const next = chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value];
    set({ [parameter(field)]: next.join(",") });
  };
  return html`<details class="choice" title=${field.about} lang=${language}>
    <summary><span>${label}</span> ${chosen.length ? chosen.map((value) => spokenValue(value, field.values)).join(", ") : "–"}</summary>
    <fieldset><legend class="hidden">${label}</legend>${field.values.map((value) => html`<label><input type="checkbox" value=${value}
      checked=${chosen.includes(value)} onChange=${() => toggle(value)} /> ${spokenValue(value, field.values)}</label>`)}</fieldset></details>`;
}
