/** The language of the console, and its formats of numbers, days and names. */

import { VALUE_WORDS } from "./valuewords.js";
import { WORDS } from "./words.js";

const KEPT = "toise-language";
const known = localStorage.getItem(KEPT);
export let language = ["en", "fr"].includes(known) ? known : navigator.language.startsWith("fr") ? "fr" : "en";
document.documentElement.lang = language;

/** Returns a word or sentence of words.js by its name; `{name}` in it stands for a value. */
export function word(name, values = {}) {
  const said = WORDS[name]?.[language === "fr" ? 1 : 0] ?? name;
  return spaced(said).replace(/\{(\w+)\}/g, (_, one) => values[one] ?? "");
}

/** Returns the words for a number of things: `NAME.one` in the singular, otherwise `NAME.many`. French uses the singular also for 0.
    `{count}` in them is the formatted number. */
export const counted = (name, count, values) => word(`${name}.${new Intl.PluralRules(language).select(count) === "one" ? "one" : "many"}`, { ...values, count: number(count) });

/** French puts a non-breaking space before these signs. */
const spaced = (text) => (language === "fr" ? text.replace(/ (?=[:;?!](?:\s|$))/g, "\u00a0") : text);

/** Returns a label with its value. */
export const labelled = (label, value) => `${label}${language === "fr" ? "\u00a0" : ""}: ${value}`;

/** Returns the word for a value of the contract; undefined if there is none. */
export const valueWord = (value) => VALUE_WORDS[value]?.[language === "fr" ? 1 : 0] ?? /_CLASSIFICATION_([A-G])$/.exec(value)?.[1];

const listeners = new Set();

/** Calls a function when the language changes. Returns a function that unsubscribes. */
export function onLanguage(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Switches to the other language. */
export function switchLanguage() {
  language = language === "fr" ? "en" : "fr";
  localStorage.setItem(KEPT, language);
  document.documentElement.lang = language;
  for (const listener of listeners) listener();
}

const locale = () => (language === "fr" ? "fr-FR" : "en-GB");

/** Formats a number with at most `digits` decimals; empty if there is none. */
export const number = (value, digits = 0) =>
  value === null || value === undefined ? "" : new Intl.NumberFormat(locale(), { maximumFractionDigits: digits }).format(value);

/** Formats an amount in euros. */
export const euros = (value) =>
  value === null || value === undefined
    ? ""
    : new Intl.NumberFormat(locale(), { style: "currency", currency: "EUR", maximumFractionDigits: 0 }).format(value);

/** Formats the day of a moment; any other text is returned unchanged. */
export function day(value) {
  if (!value) return "";
  const at = new Date(value);
  return Number.isNaN(at.getTime()) ? String(value) : new Intl.DateTimeFormat(locale(), { dateStyle: "medium", timeZone: "Europe/Paris" }).format(at);
}

/** Formats a moment, to the minute. */
export const moment = (value) =>
  value ? new Intl.DateTimeFormat(locale(), { dateStyle: "medium", timeStyle: "short", timeZone: "Europe/Paris" }).format(new Date(value)) : "";

const STEPS = [[60, "second"], [3600, "minute"], [86_400, "hour"], [2_629_800, "day"], [31_557_600, "month"], [Infinity, "year"]];
const SECONDS = { second: 1, minute: 60, hour: 3600, day: 86_400, month: 2_629_800, year: 31_557_600 };

/** Formats how long ago a moment was, in the largest unit that fits. */
export function ago(value) {
  if (!value) return "";
  const seconds = (new Date(value) - Date.now()) / 1000;
  const unit = STEPS.find(([most]) => Math.abs(seconds) < most)[1];
  return new Intl.RelativeTimeFormat(locale(), { numeric: "auto" }).format(Math.round(seconds / SECONDS[unit]), unit);
}

/** Formats a number of bytes in a readable unit. */
export function bytes(value) {
  if (value === null || value === undefined) return "";
  const unit = Math.min(4, Math.floor(Math.log10(Math.max(value, 1)) / 3));
  const names = language === "fr" ? ["o", "ko", "Mo", "Go", "To"] : ["B", "kB", "MB", "GB", "TB"];
  return `${number(value / 1000 ** unit, unit > 0 && value / 1000 ** unit < 10 ? 1 : 0)}\u00a0${names[unit]}`;
}

/** Formats a large number in few characters. */
export const short = (value) => new Intl.NumberFormat(locale(), { notation: "compact", maximumFractionDigits: 1 }).format(value);

/** Formats an area in square metres. */
export const squareMetres = (value, digits = 0) => (value === null || value === undefined ? "" : `${number(value, digits)}\u00a0m²`);

/** Formats a price per square metre. */
export const perM2 = (value) => (value === null || value === undefined ? "" : `${euros(value)}/m²`);

/** Formats a distance in metres or kilometres. */
export const distance = (metres) => (metres < 1000 ? `${number(metres)}\u00a0m` : `${number(metres / 1000, 1)}\u00a0km`);

/** Formats a moment on an axis with a number of seconds between ticks. */
export function tick(seconds, apart) {
  const day = 86_400;
  const shown = apart < 60 ? { hour: "2-digit", minute: "2-digit", second: "2-digit" } : apart < day ? { hour: "2-digit", minute: "2-digit" }
    : apart < 28 * day ? { day: "numeric", month: "short" } : apart < 360 * day ? { month: "short", year: "numeric" } : { year: "numeric" };
  // Days are in UTC.
  return new Intl.DateTimeFormat(locale(), { ...shown, ...(apart >= day && { timeZone: "UTC" }) }).format(new Date(seconds * 1000));
}
