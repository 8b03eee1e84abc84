/** Rows of an answer: read while it arrives, put in order, found on the map, and written as CSV. */

/**
 * Reads rows of NDJSON, one object a line, up to a maximum of rows and of letters, and then cancels the answer, also in the middle
 * of a line. Gives the rows and whether they are all.
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
    // Only what is new is split: a line of a large geometry comes in many parts.
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

/** Digits of a number that is not whole: sums of such numbers are not exact beyond them. */
const DIGITS = 12;

/** A value of a row as text. */
export function textOf(value) {
  if (isNone(value)) return "";
  if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(DIGITS)));
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const letters = new Intl.Collator(undefined, { numeric: true });

/** Rows in the order of a column: numbers by size, other values by their letters, rows without a value last. */
export function sortedBy(rows, name, isDescending) {
  const sign = isDescending ? -1 : 1;
  return [...rows].sort(({ [name]: one }, { [name]: other }) => {
    if (isNone(one) || isNone(other)) return isNone(one) - isNone(other);
    const isNumber = typeof one === "number" && typeof other === "number";
    return sign * (isNumber ? one - other : letters.compare(String(one), String(other)));
  });
}

/** Columns with numbers alone. */
export const numericColumns = (rows) =>
  Object.keys(rows[0] ?? {}).filter((name) => rows.some((row) => !isNone(row[name])) && rows.every((row) => isNone(row[name]) || typeof row[name] === "number"));

/** The columns `{lat, lon}` of a position, alone or with a common prefix, in degrees; null without one. */
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

/** Bounds that part the values of a column into `count` classes of about as many rows: the least value of each class, each once. */
export function classesOf(rows, name, count) {
  const values = rows.map((row) => row[name]).filter((value) => !isNone(value)).sort((one, other) => one - other);
  return [...new Set(Array.from({ length: count }, (_, nth) => values[Math.floor((nth * values.length) / count)]))].filter((value) => value !== undefined);
}

/** A row without nested objects: their values get dotted names, and lists of objects are left out. */
function flat(row, prefix = "") {
  return Object.entries(row).flatMap(([name, value]) => {
    if (isNone(value)) return [];
    if (Array.isArray(value)) return value.some((one) => typeof one === "object") ? [] : [[prefix + name, value.join(", ")]];
    return typeof value === "object" ? flat(value, `${prefix}${name}.`) : [[prefix + name, value]];
  });
}

/** Cells that a spreadsheet would run as formulas; a negative number is none. The service escapes the same ones in `safe-csv`. */
const FORMULA = /^(?:[=+@\t\r]|-(?!\d+(?:[.,]\d+)?(?:[eE][-+]?\d+)?$))/;

function csvCell(value) {
  const text = isNone(value) ? "" : String(value);
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Rows as CSV, whose columns are all names that occur, in the order in which they do. */
export function csvOf(rows) {
  const all = rows.map((row) => Object.fromEntries(flat(row)));
  const names = [...new Set(all.flatMap(Object.keys))];
  return [names, ...all.map((row) => names.map((name) => row[name]))].map((cells) => `${cells.map(csvCell).join(",")}\n`).join("");
}
