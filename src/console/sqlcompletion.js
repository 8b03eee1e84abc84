/** Completions at the caret of a query: tables, columns, functions and keywords. Contains no markup; sqleditor.js shows them. */

const KEYWORDS = [
  "select", "distinct", "from", "where", "group by", "order by", "having", "limit", "offset", "qualify", "join", "left join", "full join", "cross join", "on", "using", "as",
  "and", "or", "not", "in", "is null", "is not null", "between", "like", "ilike", "exists", "case", "when", "then", "else", "end", "with", "union all", "union", "except",
  "intersect", "by", "asc", "desc", "nulls last", "nulls first", "over", "partition by", "filter", "interval", "cast", "true", "false", "null", "describe", "summarize",
];
/** Maximum completions. */
const OFFERED_MAX = 60;
/** Minimum characters to find names by a part in their middle. */
const WITHIN_CHARS_MIN = 2;
const STRINGS_AND_COMMENTS = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\//g;
const NOT_AN_ALIAS = [...new Set([...KEYWORDS.map((one) => one.split(" ")[0]), "inner", "right", "natural", "for"])].filter((one) => one !== "as");
const READ = new RegExp(`\\b(?:from|join)\\s+([a-z_]\\w*)(?:\\s+(?:as\\s+)?(?!(?:${NOT_AN_ALIAS.join("|")})\\b)([a-z_]\\w*))?`, "gi");

/** Returns whether the position after this text is inside a string, a quoted name or a comment. */
function isQuoted(before) {
  const open = before.replace(STRINGS_AND_COMMENTS, (found) => (/^--[^\n]*$/.test(found) ? "'" : " "));
  return /['"]|\/\*/.test(open);
}

/** Returns the tables of a query by their aliases. */
function tablesOf(query) {
  const named = new Map();
  for (const [, table, alias] of query.replace(STRINGS_AND_COMMENTS, " ").matchAll(READ)) {
    named.set(table.toLowerCase(), table.toLowerCase());
    if (alias) named.set(alias.toLowerCase(), table.toLowerCase());
  }
  return named;
}

/** Returns how well a name matches a word: 0 at its beginning, 1 at the beginning of a part, 2 in the middle, null not at all. */
function fit(name, word) {
  const text = name.toLowerCase();
  if (text.startsWith(word)) return 0;
  if (text.includes(`_${word}`)) return 1;
  return word.length >= WITHIN_CHARS_MIN && text.includes(word) ? 2 : null;
}

/**
 * Returns the completions at the caret: `{from, to, items}`, where each item `{kind, name, about, text}` replaces the text from `from`
 * to `to`; null if there are none. `schema` is `{columns: [{table, name, type}], functions: [{name, type}]}`. Unless `isAsked`, there
 * are none without a word or for a complete one.
 */
export function completionsOf(query, caret, schema, isAsked = false) {
  const before = query.slice(0, caret);
  if (isQuoted(before)) return null;
  const word = /[a-z_]\w*$/i.exec(before)?.[0].toLowerCase() ?? "";
  const from = caret - word.length;
  const lead = before.slice(0, from);
  const qualifier = /([a-z_]\w*)\.$/i.exec(lead)?.[1].toLowerCase();
  if (/\d$/.test(lead) || (!word && !qualifier && !isAsked)) return null;
  const read = tablesOf(query);
  const parts = [...query.replace(STRINGS_AND_COMMENTS, " ").matchAll(/(?:\bwith|,)\s*([a-z_]\w*)\s+as\s*\(/gi)].map(([, name]) => ({ kind: "table", name }));
  const tables = [...parts, ...[...new Set(schema.columns.map(({ table }) => table))].map((name) => ({ kind: "table", name }))];
  const ofTables = (wanted) => schema.columns.filter(({ table }) => wanted.includes(table)).map(({ name, type }) => ({ kind: "column", name, about: type }));
  const ofRead = ofTables([...read.values()]);
  const columns = ofRead.length ? ofRead : schema.columns.map(({ table, name }) => ({ kind: "column", name, about: table }));
  const functions = schema.functions.map(({ name, type }) => ({ kind: "function", name, about: type, text: query[caret] === "(" ? name : `${name}(` }));
  const keywords = KEYWORDS.map((name) => ({ kind: "keyword", name }));
  const known = qualifier ? ofTables([read.get(qualifier) ?? qualifier]) : /\b(?:from|join)\s+$/i.test(lead) ? tables
    : ofRead.length ? [...columns, ...functions, ...keywords, ...tables] : [...keywords, ...columns, ...functions, ...tables];
  const names = new Set();
  const fitting = known.map((item) => ({ item, by: fit(item.name, word) }))
    .filter(({ item, by }) => by !== null && !names.has(item.kind + item.name) && names.add(item.kind + item.name));
  const isWhole = fitting.some(({ item }) => item.name.toLowerCase() === word);
  if (fitting.length === 0 || (isWhole && !isAsked)) return null;
  const items = fitting.sort((one, other) => one.by - other.by).slice(0, OFFERED_MAX).map(({ item }) => ({ ...item, text: item.text ?? item.name }));
  return { from, to: caret, items };
}
