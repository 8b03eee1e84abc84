/** Rows of a response: reads them while they arrive, sorts them, finds their position, and writes them as CSV. */

/**
 * Reads rows of NDJSON, one object per line, up to a maximum of rows and characters, and then cancels the response, also in the
 * middle of a line. Returns the rows and whether they are complete.
 */
export async function readRows(body, most, mostLetters = Infinity) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const rows = [];
  let rest = "";
  let letters = 0;
  const part = async () => {
    await reader.cancel();
    return { rows, isWhole: false };
  };
  for (;;) {
    const { done, value } = await reader.read();
    const lines = (value ?? "").split("\n");
    // Only the new text is split, because the line of a large geometry arrives in many parts.
    lines[0] = rest + lines[0];
    rest = done ? "" : lines.pop();
    for (const line of lines.filter(Boolean)) {
      letters += line.length;
      if (rows.length === most || letters > mostLetters) return part();
      rows.push(JSON.parse(line));
    }
    if (done) return { rows, isWhole: true };
    if (letters + rest.length > mostLetters) return part();
  }
}

const isNone = (value) => value === null || value === undefined;

/** Digits of a fractional number: sums of such numbers are not exact beyond them. */
const DIGITS = 12;

/** Returns a value of a row as text. */
export function textOf(value) {
  if (isNone(value)) return "";
  if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(DIGITS)));
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const letters = new Intl.Collator(undefined, { numeric: true });

/** Sorts rows by a column: numbers by size, other values alphabetically, rows without a value last. */
export function sortedBy(rows, name, isDescending) {
  const sign = isDescending ? -1 : 1;
  return [...rows].sort(({ [name]: one }, { [name]: other }) => {
    if (isNone(one) || isNone(other)) return isNone(one) - isNone(other);
    const isNumber = typeof one === "number" && typeof other === "number";
    return sign * (isNumber ? one - other : letters.compare(String(one), String(other)));
  });
}

/** Returns the columns that contain only numbers. */
export const numericColumns = (rows) =>
  Object.keys(rows[0] ?? {}).filter((name) => rows.some((row) => !isNone(row[name])) && rows.every((row) => isNone(row[name]) || typeof row[name] === "number"));

/** Returns the columns `{lat, lon}` of a position in degrees, with or without a common prefix; null if there are none. */
export function positionColumns(rows) {
  const names = numericColumns(rows);
  const isWithin = (name, most) => rows.every((row) => isNone(row[name]) || Math.abs(row[name]) <= most);
  for (const lat of names) {
    const [, prefix] = /^(.*?)lat(?:itude)?$/i.exec(lat) ?? [];
    const lon = prefix !== undefined && names.find((name) => name.startsWith(prefix) && /^(?:lon|lng|longitude)$/i.test(name.slice(prefix.length)));
    if (lon && isWithin(lat, 90) && isWithin(lon, 180)) return { lat, lon };
  }
  return null;
}

/** Returns the bounds that split the values of a column into `count` classes of similar size: the lowest value of each class, each once. */
export function classesOf(rows, name, count) {
  const values = rows.map((row) => row[name]).filter((value) => !isNone(value)).sort((one, other) => one - other);
  return [...new Set(Array.from({ length: count }, (_, nth) => values[Math.floor((nth * values.length) / count)]))].filter((value) => value !== undefined);
}

/** Flattens a row: values of nested objects get dotted names, and lists of objects are left out. */
function flat(row, prefix = "") {
  return Object.entries(row).flatMap(([name, value]) => {
    if (isNone(value)) return [];
    if (Array.isArray(value)) return value.some((one) => typeof one === "object") ? [] : [[prefix + name, value.join(", ")]];
    return typeof value === "object" ? flat(value, `${prefix}${name}.`) : [[prefix + name, value]];
  });
}

/** Matches cells that a spreadsheet would run as formulas; negative numbers are not. The service escapes the same cells in `safe-csv`. */
const FORMULA = /^(?:[=+@\t\r]|-(?!\d+(?:[.,]\d+)?(?:[eE][-+]?\d+)?$))/;

function csvCell(value) {
  const text = isNone(value) ? "" : String(value);
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Writes rows as CSV. The columns are all names that occur, in order of appearance. */
export function csvOf(rows) {
  const all = rows.map((row) => Object.fromEntries(flat(row)));
  const names = [...new Set(all.flatMap(Object.keys))];
  return [names, ...all.map((row) => names.map((name) => row[name]))].map((cells) => `${cells.map(csvCell).join(",")}\n`).join("");
}
