/** Reads files of rows in the browser: CSV, JSON and NDJSON. `toise ingest` reads more formats and larger files. */

/** Maximum size of a file, bytes: its rows are held in memory. */
const BYTES_MAX = 64 * 2 ** 20;
const DELIMITERS = [",", ";", "\t", "|"];
const QUOTE = '"';

/** A file that cannot be read; the message is a name of words.js. */
export class Unreadable extends Error {}

/** Decodes bytes, and returns the text and its encoding. Anything that is not UTF-8 is read as Windows-1252, in which all bytes are valid. */
function decoded(bytes) {
  const [first, second] = bytes;
  const marked = first === 0xff && second === 0xfe ? "utf-16le" : first === 0xfe && second === 0xff ? "utf-16be" : null;
  if (marked) return { encoding: "UTF-16", text: new TextDecoder(marked).decode(bytes) };
  try {
    return { encoding: "UTF-8", text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return { encoding: "Windows-1252", text: new TextDecoder("windows-1252").decode(bytes) };
  }
}

/** Returns the cells of each line; a quoted cell may contain delimiters and line ends. Empty lines are skipped. */
function cellsOf(text, delimiter) {
  const lines = [];
  let line = [];
  let at = 0;
  while (at < text.length) {
    let cell = "";
    if (text[at] === QUOTE) {
      let from = at + 1;
      for (;;) {
        const end = text.indexOf(QUOTE, from);
        if (end < 0) throw new Unreadable("importOpenQuote");
        cell += text.slice(from, end);
        at = end + 1;
        if (text[at] !== QUOTE) break;
        cell += QUOTE;
        from = at + 1;
      }
    }
    const rest = at;
    while (at < text.length && text[at] !== delimiter && text[at] !== "\n" && text[at] !== "\r") at += 1;
    line.push((cell + text.slice(rest, at)).trim());
    if (text[at] === delimiter) {
      at += 1;
      if (at < text.length) continue;
      line.push("");
    }
    if (text[at] === "\r" && text[at + 1] === "\n") at += 1;
    at += 1;
    if (line.some(Boolean)) lines.push(line);
    line = [];
  }
  return lines;
}

/** Returns the delimiter that occurs most often in the header. */
function delimiterOf(text) {
  const header = text.slice(0, 1 + (text + "\n").search(/[\r\n]/)).replaceAll(/"[^"]*"/g, "");
  const counts = DELIMITERS.map((one) => header.split(one).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))];
}

function readCsv(text) {
  const delimiter = delimiterOf(text);
  const [header = [], ...lines] = cellsOf(text, delimiter);
  // A column without a name cannot be chosen.
  const rows = lines.map((cells) => Object.fromEntries(header.map((name, nth) => [name, cells[nth] ?? ""]).filter(([name, cell]) => name && cell !== "")));
  return { delimiter, columns: [...new Set(header.filter(Boolean))], rows };
}

function readJson(text) {
  let rows;
  try {
    rows = text.trimStart().startsWith("[") ? JSON.parse(text) : text.split("\n").filter((line) => line.trim()).map((line) => JSON.parse(line));
  } catch {
    throw new Unreadable("importNotJson");
  }
  if (!rows.every((row) => row !== null && typeof row === "object" && !Array.isArray(row))) throw new Unreadable("importNotRows");
  return { columns: [...new Set(rows.flatMap(Object.keys))], rows };
}

/**
 * Reads a table: its encoding, the delimiter of CSV, the names of its columns, and its rows as objects without empty cells.
 * Throws `Unreadable`.
 */
export function readTable(bytes) {
  if (bytes.length > BYTES_MAX) throw new Unreadable("importTooLarge");
  // Spreadsheets and archives are zip files; Parquet begins with its name.
  const start = String.fromCharCode(...bytes.slice(0, 4));
  if (start === "PAR1" || start.startsWith("PK") || bytes[0] === 0x1f) throw new Unreadable("importOtherFormat");
  const { encoding, text } = decoded(bytes);
  const read = /^\s*[[{]/.test(text) ? readJson(text) : readCsv(text);
  if (read.rows.length === 0) throw new Unreadable("importNoRows");
  return { encoding, ...read };
}
