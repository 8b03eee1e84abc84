/**
 * Searches all pages of the guide. The first search loads their sections from `sections.json`; nothing is sent.
 * "/" goes to the field, the arrow keys go through the results, Escape closes them.
 */

const RESULTS_MAX = 12;
/** Characters shown before the first match in a text, and in all. */
const BEFORE = 50;
const SHOWN = 170;
/** Points for each word: in the heading, in the title of the page, in the text. */
const POINTS = { heading: 10, title: 5, text: 1 };

const box = document.querySelector("[role=search]");
const field = box.querySelector("input");
const found = box.querySelector(".found");
let loading;

/** A text in which case and accents do not matter; every character keeps its place. */
function plain(text) {
  const letter = (one) => {
    const base = one.normalize("NFD")[0].toLowerCase();
    return base.length === one.length ? base : one;
  };
  return Array.from(text, letter).join("");
}

function load() {
  loading ??= fetch("sections.json").then((response) => {
    if (!response.ok) throw new Error(`status ${response.status}`);
    return response.json();
  }).then((sections) => sections.map((section) => ({
    ...section,
    plain: { heading: plain(section.heading), title: plain(section.title), text: plain(section.text) },
  })));
  return loading;
}

/** The points of a section; 0 if a word is missing. */
function points(section, words) {
  let sum = 0;
  for (const word of words) {
    const hits = Object.keys(POINTS).filter((part) => section.plain[part].includes(word));
    if (hits.length === 0) return 0;
    for (const part of hits) sum += POINTS[part];
  }
  return sum;
}

function search(sections, words) {
  const rated = sections.map((section) => ({ section, points: points(section, words) }));
  return rated.filter((one) => one.points > 0).sort((a, b) => b.points - a.points);
}

/** Appends a text to an element, with the words marked. */
function appendMarked(element, text, words) {
  const looked = plain(text);
  let at = 0;
  while (at < text.length) {
    const places = words.map((word) => [looked.indexOf(word, at), word.length]).filter(([place]) => place >= 0);
    if (places.length === 0) break;
    const [place, length] = places.reduce((a, b) => (b[0] < a[0] ? b : a));
    const mark = document.createElement("mark");
    mark.textContent = text.slice(place, place + length);
    element.append(text.slice(at, place), mark);
    at = place + length;
  }
  element.append(text.slice(at));
}

/** The part of a text around the first word that is in it. */
function excerpt(section, words) {
  const places = words.map((word) => section.plain.text.indexOf(word)).filter((place) => place >= 0);
  const first = places.length ? Math.min(...places) : 0;
  const start = first > BEFORE ? section.text.indexOf(" ", first - BEFORE) + 1 : 0;
  const end = start + SHOWN;
  return `${start > 0 ? "… " : ""}${section.text.slice(start, end)}${end < section.text.length ? " …" : ""}`;
}

function link(section, words) {
  const link = document.createElement("a");
  link.href = `${section.page || "./"}#${section.id}`;
  const head = document.createElement("strong");
  const isTitle = section.heading === section.title;
  appendMarked(head, isTitle ? section.title : `${section.title} › ${section.heading}`, words);
  const text = document.createElement("span");
  appendMarked(text, excerpt(section, words), words);
  link.append(head, text);
  return link;
}

function note(text) {
  const line = document.createElement("p");
  line.setAttribute("role", "status");
  line.textContent = text;
  return line;
}

async function show() {
  const words = plain(field.value).split(/\s+/).filter(Boolean);
  found.hidden = words.length === 0;
  if (words.length === 0) return;
  const asked = field.value;
  let shown;
  try {
    const results = search(await load(), words);
    const count = results.length === 1 ? "1 section" : `${results.length} sections`;
    const links = results.slice(0, RESULTS_MAX).map((one) => link(one.section, words));
    shown = [note(results.length ? count : "No section has all these words."), ...links];
  } catch (error) {
    loading = undefined;
    shown = [note(`The search does not work: ${error.message}`)];
  }
  // The field may have changed while the sections were loaded.
  if (field.value === asked) found.replaceChildren(...shown);
}

function close() {
  found.hidden = true;
}

/** Moves the focus through the field and the results. */
function move(step) {
  const places = [field, ...found.querySelectorAll("a")];
  const next = places.indexOf(document.activeElement) + step;
  places[Math.min(Math.max(next, 0), places.length - 1)].focus();
}

field.addEventListener("input", show);
field.addEventListener("focus", show);
found.addEventListener("click", (event) => {
  if (event.target.closest("a")) close();
});
box.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    close();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    move(event.key === "ArrowDown" ? 1 : -1);
  } else if (event.key === "Enter" && event.target === field) {
    found.querySelector("a")?.click();
  }
});
document.addEventListener("click", (event) => {
  if (!box.contains(event.target)) close();
});
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest?.("input, textarea");
  if (event.key === "/" && !isTyping) {
    event.preventDefault();
    field.focus();
  }
});
// On a narrow screen the table of contents would push the page down.
if (matchMedia("(max-width: 60em)").matches) document.querySelector(".contents details")?.removeAttribute("open");
box.hidden = false;
