/** Parts that screens share: markup by htm and Preact, loading, tables, fields, the copy of the last call. */

import { html, useCallback, useEffect, useRef, useState } from "./vendor/preact.mjs";
import { asCurl, lastCall, may } from "./api.js";
import { word } from "./language.js";

export { h, html, render, useCallback, useEffect, useMemo, useRef, useState } from "./vendor/preact.mjs";

/**
 * Runs an asynchronous function when its dependencies change, and gives what it returned, its error, and a function that
 * runs it again. A result that arrives after a newer question is dropped, and its request is cancelled.
 */
export function useLoaded(load, dependencies) {
  const [state, setState] = useState({ isLoading: true });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const asked = new AbortController();
    setState((before) => ({ ...before, isLoading: true }));
    load(asked.signal).then(
      (value) => asked.signal.aborted || setState({ value }),
      (error) => asked.signal.aborted || setState({ error }),
    );
    return () => asked.abort();
  }, [...dependencies, round]);
  return { ...state, again: useCallback(() => setRound((before) => before + 1), []) };
}

/** The theme in use, `light` or `dark`; what draws on a canvas draws again when it changes. */
export function useTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const now = () => document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
  const [theme, setTheme] = useState(now);
  useEffect(() => {
    const follow = () => setTheme(now());
    const watcher = new MutationObserver(follow);
    watcher.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    dark.addEventListener("change", follow);
    return () => {
      watcher.disconnect();
      dark.removeEventListener("change", follow);
    };
  }, []);
  return theme;
}

/** What stands in place of a result that is not there: that it loads, or why it does not. */
export const Waiting = ({ of }) =>
  of.error
    ? html`<p class="fault" role="alert">${of.error.message}</p>`
    : of.isLoading && !of.value && html`<p class="quiet" role="status">${word("loading")}</p>`;

/** Copies the call that the screen has just made. */
export function CurlButton() {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    if (!lastCall) return;
    await navigator.clipboard.writeText(asCurl(lastCall));
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return html`<button type="button" class="plain" onClick=${copy}>${isCopied ? word("copied") : word("asCurl")}</button>`;
}

/** A screen that a key without the scope does not see. */
export const Granted = ({ scope, children }) =>
  may(scope) ? children : html`<p class="fault" role="alert">${word("notGranted")} <code>${scope}</code>.</p>`;

/** A labelled field; `children` is the control. */
export const Field = ({ label, children }) => html`<label class="field"><span>${label}</span>${children}</label>`;

/** An input whose value is in the address. What is being typed stays when the screen is drawn again meanwhile. */
export function Typed({ given, ...attributes }) {
  const [typed, setTyped] = useState({});
  const value = typed.over === given ? typed.text : given;
  return html`<input ...${attributes} value=${value} onInput=${(event) => setTyped({ over: given, text: event.target.value })} />`;
}

/** What may be wider than the page: it then scrolls by itself, also by the keyboard. */
function Scroll({ label, children }) {
  const place = useRef(null);
  const [isWide, setWide] = useState(false);
  useEffect(() => {
    const measure = () => setWide(place.current.scrollWidth > place.current.clientWidth);
    const watcher = new ResizeObserver(measure);
    watcher.observe(place.current);
    watcher.observe(place.current.firstElementChild);
    return () => watcher.disconnect();
  }, []);
  return html`<div class="scroll" ref=${place} tabindex=${isWide ? 0 : undefined} role=${isWide ? "group" : undefined}
    aria-label=${isWide ? label ?? word("rows") : undefined}>${children}</div>`;
}

/** A table: columns of `[title, cell, isNumber]`; a row is a button if `onPick` is given. */
export const Table = ({ columns, rows, onPick, caption }) => html`
  <${Scroll} label=${caption}>
    <table>
      ${caption && html`<caption>${caption}</caption>`}
      <thead><tr>${columns.map(([title, , isNumber]) => html`<th scope="col" class=${isNumber ? "number" : ""}>${title}</th>`)}</tr></thead>
      <tbody>
        ${rows.map((row) => html`<tr
          class=${onPick ? "pickable" : ""} tabindex=${onPick ? 0 : undefined} onClick=${onPick && (() => onPick(row))}
          onKeyDown=${onPick && ((event) => event.key === "Enter" && onPick(row))}
        >${columns.map(([, cell, isNumber]) => html`<td class=${isNumber ? "number" : ""}>${cell(row)}</td>`)}</tr>`)}
      </tbody>
    </table>
  <//>
  ${rows.length === 0 && html`<p class="quiet">${word("nothing")}</p>`}`;

/** A link out, only to web pages: an advert may name any address. */
export const Outside = ({ href, children }) =>
  /^https?:\/\//i.test(href ?? "")
    ? html`<a href=${href} rel="noreferrer noopener" target="_blank">${children}</a>`
    : html`<span>${children}</span>`;
