/** Short messages at the edge of the page: what an action did, or why it failed. */

import { html, useEffect, useState } from "./vendor/preact.mjs";
import { Icon } from "./icons.js";
import { word } from "./language.js";

/** How long a message stays, milliseconds. */
const STAYS_MS = 6_000;
let shown = [];
let number = 0;
const listeners = new Set();

function change(next) {
  shown = next;
  for (const listener of listeners) listener(shown);
}

/** Shows a message; `isFault` marks a failure. */
export function toast(text, isFault = false) {
  number += 1;
  const one = { id: number, text, isFault };
  change([...shown.slice(-3), one]);
  setTimeout(() => change(shown.filter(({ id }) => id !== one.id)), STAYS_MS);
}

/** Runs an action, and shows `done` if it succeeded or why it failed. Returns whether it succeeded. */
export async function attempt(act, done) {
  try {
    await act();
  } catch (error) {
    toast(error.message, true);
    return false;
  }
  if (done) toast(done);
  return true;
}

/** Copies a text and shows `done`. Browsers allow it only for pages loaded over TLS or from the same machine. */
export async function copy(text, done) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    return toast(word("error.copy"), true);
  }
  return toast(done);
}

export function Toasts() {
  const [list, setList] = useState(shown);
  useEffect(() => {
    listeners.add(setList);
    return () => listeners.delete(setList);
  }, []);
  return html`<div class="toasts" role="log" aria-live="polite" aria-label=${word("messages")}>${list.map(({ id, text, isFault }) => html`
    <div key=${id} class=${isFault ? "toast bad" : "toast"}><${Icon} name=${isFault ? "warn" : "check"} />${text}</div>`)}</div>`;
}
