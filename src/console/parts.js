/** Parts that screens share: markup by htm and Preact, loading, empty states, tables, fields, popovers. */

import { html, useCallback, useEffect, useRef, useState } from "./vendor/preact.mjs";
import { Icon } from "./icons.js";
import { word } from "./language.js";
import { firstPages } from "./pages.js";

export { html, render, useCallback, useEffect, useMemo, useRef, useState } from "./vendor/preact.mjs";
export { Icon } from "./icons.js";

/**
 * Runs an asynchronous function when its dependencies change. Returns its value, its error, and a function that runs it again. The
 * previous value stays until the next one arrives, also if running it again fails; an error for other dependencies replaces it.
 * When the dependencies change again, the pending request is cancelled and its result ignored.
 */
export function useLoaded(load, dependencies) {
  const [state, setState] = useState({ isLoading: true });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const controller = new AbortController();
    setState((before) => ({ ...before, isLoading: true }));
    load(controller.signal).then(
      (value) => controller.signal.aborted || setState({ value, loadedFor: dependencies }),
      (error) => controller.signal.aborted || setState(({ value, loadedFor }) =>
        (loadedFor?.every((one, nth) => Object.is(one, dependencies[nth])) ? { value, loadedFor, error } : { error })),
    );
    return () => controller.abort();
  }, [...dependencies, round]);
  return { ...state, reload: useCallback(() => setRound((before) => before + 1), []) };
}

/** Reloads some milliseconds after each result; a slow result is awaited. */
export function usePolling(asked, pause) {
  useEffect(() => {
    if (asked.isLoading) return undefined;
    const timer = setTimeout(asked.reload, pause);
    return () => clearTimeout(timer);
  }, [asked.isLoading]);
}

/** A list of which a button loads one more page: like useLoaded, with `more` and the number of `pages`. See firstPages. */
export function usePages(size, ask, idOf) {
  const pages = useRef(1);
  const asked = useLoaded((signal) => firstPages(pages.current, size, (nth, last) => ask(nth, last, signal), idOf), []);
  const more = () => {
    if (!asked.error) pages.current += 1;
    asked.reload();
  };
  return { ...asked, more, pages: pages.current };
}

/** The button below a list of pages, if there are more. */
export const More = ({ of }) => of.value?.hasMore && html`<div class="row"><button type="button" aria-busy=${String(Boolean(of.isLoading))} onClick=${of.more}>${word("more")}</button></div>`;

/** Debounces a value: returns it once it has not changed for some milliseconds. */
export function useDebounced(value, delay) {
  const [debounced, setDebounced] = useState(value);
  const text = JSON.stringify(value);
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(value), delay);
    return () => clearTimeout(timer);
  }, [text]);
  return debounced;
}

/** Grey lines in place of content that is loading. */
export const Skeleton = ({ lines = 4 }) => html`<div class="skeleton" role="progressbar" aria-label=${word("loading")}>
  ${Array.from({ length: lines }, () => html`<span></span>`)}</div>`;

/** A sentence that needs attention: `kind` is `info`, `warn` or `bad`. */
export const Note = ({ kind = "info", children, role }) => html`<div class="note ${kind}" role=${role}>
  <${Icon} name=${kind === "info" ? "info" : "warn"} /><div>${children}</div></div>`;

/** Shows why something could not be loaded or reloaded, with a button to try again. */
const Failed = ({ of }) => html`<${Note} kind="bad" role="alert"><span>${of.value ? `${word("notReloaded")} ` : ""}${of.error.message}</span>
  ${of.reload && html`<div><button type="button" class="compact" aria-busy=${String(Boolean(of.isLoading))} onClick=${of.reload}>${word("tryAgain")}</button></div>`}<//>`;

/** Placeholder for a missing result: shows that it is loading or why it failed, also if reloading failed. */
export const Waiting = ({ of, lines }) =>
  of.error ? html`<${Failed} of=${of} />` : of.isLoading && !of.value && html`<${Skeleton} lines=${lines} />`;

/** An empty screen or list: its purpose, and the button to start. */
export const Empty = ({ icon, title, text, children }) => html`<div class="empty">
  <${Icon} name=${icon} /><h2>${title}</h2>${text && html`<p>${text}</p>`}${children}</div>`;

export const Badge = ({ kind = "", children }) => html`<span class="badge ${kind}">${children}</span>`;

/** The head of a screen: its title, its purpose, and its buttons. */
export const Head = ({ title, about, children }) => html`<header><div><h1>${title}</h1>${about && html`<p>${about}</p>`}</div>
  <div class="row noprint">${children}</div></header>`;

/** A labelled field; `children` is the control. */
export const Field = ({ label, children }) => html`<label class="field"><span>${label}</span>${children}</label>`;

/** An input whose value is in the URL. A partly typed text stays when the screen is redrawn. */
export function Typed({ given, ...attributes }) {
  const [typed, setTyped] = useState({});
  const value = typed.over === given ? typed.text : given;
  return html`<input ...${attributes} value=${value} onInput=${(event) => setTyped({ over: given, text: event.target.value })} />`;
}

/** Buttons of which one is selected: `[value, label]`. */
export const Segments = ({ label, values, value, onChange }) => html`<div class="segments" role="group" aria-label=${label}>
  ${values.map(([one, shown]) => html`<button type="button" aria-pressed=${String(one === value)} onClick=${() => onChange(one)}>${shown}</button>`)}</div>`;

let popovers = 0;

/**
 * A button with a popover below it, or above it if there is no room. `side` opens the popover to the right of the button.
 * `children` may be a function that receives a function to close it. `isOpened` opens it initially. `title` is for buttons without
 * text.
 */
export function Popover({ button, label, title, className = "", content = "", side = false, isOpened = false, children }) {
  const [id] = useState(() => `popover-${(popovers += 1)}`);
  const [isOpen, setOpen] = useState(false);
  const place = useRef(null);
  const opener = useRef(null);
  const put = (event) => {
    setOpen(event.newState === "open");
    if (event.newState !== "open") return;
    requestAnimationFrame(() => {
      // The popover may have been removed.
      if (!opener.current || !place.current) return;
      const from = opener.current.getBoundingClientRect();
      const { width, height } = place.current.getBoundingClientRect();
      const left = side && innerWidth > 700 ? from.right + 8 : from.left;
      const below = side && innerWidth > 700 ? from.bottom - height : from.bottom + 6;
      const top = below + height > innerHeight - 8 ? Math.max(8, from.top - height - 6) : below;
      place.current.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
      place.current.style.top = `${Math.max(8, side && innerWidth > 700 ? below : top)}px`;
      place.current.querySelector("input, select, button, a")?.focus();
    });
  };
  useEffect(() => { if (isOpened) place.current.showPopover(); }, []);
  const close = () => place.current.hidePopover();
  return html`<button type="button" ref=${opener} class=${className} aria-expanded=${String(isOpen)} popovertarget=${id} aria-label=${label} title=${title}>${button}</button>
    <div id=${id} ref=${place} popover="auto" class=${content} role="group" aria-label=${label} onToggle=${put}>
      ${isOpen && (typeof children === "function" ? children(close) : children)}</div>`;
}

/** Content that may be wider than the page. It then scrolls separately, also with the keyboard. */
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

/** The head of a column. `order` makes it a button: `now` is `ascending`, `descending` or undefined, `onSort` is called on a click. */
const ColumnHead = ({ title, isNumber, order }) => html`<th scope="col" class=${isNumber ? "number" : ""} aria-sort=${order?.now}>
  ${order ? html`<button type="button" class="order" onClick=${order.onSort}>${title}<${Icon} name=${order.now === "ascending" ? "up" : "down"} small /></button>` : title || html`<span class="hidden">${word("actions")}</span>`}</th>`;

/**
 * A table with columns `[title, cell, isNumber, order]`. Rows are buttons if `onPick` is given; `onHover` receives the row under the
 * pointer, or null; `isLit` returns whether to mark a row.
 */
export const Table = ({ columns, rows, onPick, onHover, isLit, caption, empty = word("nothing") }) =>
  rows.length === 0 ? html`<p class="quiet">${empty}</p>` : html`
  <${Scroll} label=${caption}>
    <table>
      ${caption && html`<caption>${caption}</caption>`}
      <thead><tr>${columns.map(([title, , isNumber, order]) => html`<${ColumnHead} title=${title} isNumber=${isNumber} order=${order} />`)}</tr></thead>
      <tbody>
        ${rows.map((row) => html`<tr
          class=${`${onPick || onHover ? "pickable" : ""} ${isLit?.(row) ? "lit" : ""}`} tabindex=${onPick ? 0 : undefined} onClick=${onPick && (() => onPick(row))}
          onMouseEnter=${onHover && (() => onHover(row))} onMouseLeave=${onHover && (() => onHover(null))}
          onKeyDown=${onPick && ((event) => event.key === "Enter" && onPick(row))}
        >${columns.map(([, cell, isNumber]) => html`<td class=${isNumber ? "number" : ""}>${cell(row)}</td>`)}</tr>`)}
      </tbody>
    </table>
  <//>`;

/** A field to drop or choose a file. `file` is the chosen file, `accept` the accepted endings, `text` the purpose. */
export function Drop({ file, title, text, accept, onFile }) {
  const [isOver, setOver] = useState(false);
  const give = (files) => files[0] && onFile(files[0]);
  const over = (event) => { event.preventDefault(); setOver(true); };
  const drop = (event) => { event.preventDefault(); setOver(false); give(event.dataTransfer.files); };
  return html`<label class=${isOver ? "drop over" : "drop"} onDragOver=${over} onDragLeave=${() => setOver(false)} onDrop=${drop}>
    <input type="file" class="hidden" accept=${accept} onChange=${(event) => give(event.target.files)} />
    <${Icon} name=${file ? "check" : "upload"} /><b>${file ? file.name : title}</b><span class="quiet">${text}</span></label>`;
}

/** An external link. Only web pages are linked, because an advert may contain any URL. */
export const Outside = ({ href, children }) =>
  /^https?:\/\//i.test(href ?? "")
    ? html`<a href=${href} rel="noreferrer noopener" target="_blank">${children}</a>`
    : html`<span>${children}</span>`;

/** The complete JSON of the service, folded. */
export const Json = ({ of }) => html`<details><summary>${word("details")}</summary><pre class="long">${JSON.stringify(of, null, 1)}</pre></details>`;
