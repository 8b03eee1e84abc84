/** A button that saves rows as CSV, page by page, with its progress. rows.js writes the text. */

import { saveFile } from "./files.js";
import { number, word } from "./language.js";
import { Icon, html, useEffect, useRef, useState } from "./parts.js";
import { csvOf } from "./rows.js";
import { toast } from "./toasts.js";

/** Rows of a file. */
export const CSV_ROWS_MAX = 10_000;
const TRIES = 5;

/** Retries a rate-limited call after the time that the service states. */
export async function patiently(act, signal) {
  for (let tried = 1; ; tried += 1) {
    try {
      return await act();
    } catch (error) {
      if (error.reason !== "error.tooMany" || tried === TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, error.retryAfterS * 1000));
      signal.throwIfAborted();
    }
  }
}

function saveRows(rows, total, name) {
  saveFile(new Blob([csvOf(rows)], { type: "text/csv" }), name);
  toast(total > rows.length ? word("csvFirst", { name, count: number(rows.length), total: number(total) }) : word("isDownloaded", { name }));
}

/** `pages` is an asynchronous generator of `{rows, total}`; `name` is the name of the file without its ending. */
export function CsvButton({ name, pages }) {
  const [progress, setProgress] = useState(null);
  const asked = useRef(null);
  useEffect(() => () => asked.current?.abort(), []);
  const save = async () => {
    asked.current = new AbortController();
    const { signal } = asked.current;
    const rows = [];
    let total = 0;
    setProgress({ done: 0 });
    try {
      for await (const page of pages(signal)) {
        rows.push(...page.rows);
        total = page.total;
        setProgress({ done: rows.length, total: Math.min(total, CSV_ROWS_MAX) });
        if (rows.length >= CSV_ROWS_MAX) break;
      }
      saveRows(rows.slice(0, CSV_ROWS_MAX), total, `${name}.csv`);
    } catch (error) {
      if (!signal.aborted) toast(error.message, true);
    }
    setProgress(null);
  };
  const label = word(progress ? "csvCancel" : "csvSave");
  if (!progress) return html`<button type="button" class="compact" aria-label=${label} title=${label} onClick=${save}><${Icon} name="download" small />CSV</button>`;
  const { done, total } = progress;
  return html`<button type="button" class="compact" aria-label=${label} title=${label} onClick=${() => asked.current.abort()}><${Icon} name="close" small />
    <span role="status" class="number">${total ? word("importProgress", { done: number(done), total: number(total) }) : word("loading")}</span></button>`;
}
