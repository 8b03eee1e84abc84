/** The editor of queries: numbered lines, the line of an error, and completion at the caret. */

import { completionsOf } from "./sqlcompletion.js";
import { word } from "./language.js";
import { Icon, html, useEffect, useRef, useState } from "./parts.js";

const LIST = "query-completions";
/** Margin between the list and the edges of the window, pixels. */
const EDGE_PX = 8;
const ICONS = { table: "table", column: "columns", function: "code", keyword: "query" };

/** Replaces a part of a field as if it were typed, so that it can be undone. */
export function replaceText(area, from, to, text) {
  area.focus();
  area.setSelectionRange(from, to);
  if (document.execCommand("insertText", false, text)) return;
  area.setRangeText(text, from, to, "end");
  area.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Returns the position of a character of a field in the window: left edge, top and bottom of its line, pixels. */
function placeOf(area, position) {
  const style = getComputedStyle(area);
  const lines = area.value.slice(0, position).split("\n");
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `${style.fontSize} ${style.fontFamily}`;
  const box = area.getBoundingClientRect();
  const height = parseFloat(style.lineHeight);
  const top = box.top + parseFloat(style.paddingTop) + (lines.length - 1) * height - area.scrollTop;
  return { left: box.left + parseFloat(style.paddingLeft) + pen.measureText(lines.at(-1).replaceAll("\t", "  ")).width - area.scrollLeft, top, bottom: top + height };
}

/** `schema` is the schema for completion; `fault` is the line and column of an error. */
export function Editor({ place, text, schema, onText, onRun, fault }) {
  const numbers = useRef(null);
  const list = useRef(null);
  const isInserting = useRef(false);
  const [offered, setOffered] = useState(null);
  const [nth, setNth] = useState(0);
  const lines = text.split("\n").length;
  const items = offered?.items ?? [];
  const close = () => setOffered(null);
  const look = (isAsked) => {
    const { value, selectionStart, selectionEnd } = place.current;
    setOffered(selectionStart === selectionEnd ? completionsOf(value, selectionEnd, schema, isAsked) : null);
    setNth(0);
  };
  const accept = (item) => {
    isInserting.current = true;
    replaceText(place.current, offered.from, offered.to, item.text);
    isInserting.current = false;
    close();
  };
  const onInput = (event) => {
    onText(event.target.value);
    const isTyped = event.inputType === "insertText" || (offered && event.inputType?.startsWith("delete"));
    if (isTyped && !isInserting.current && !event.isComposing) look(false);
    else close();
  };
  const onKey = (event) => {
    if (event.isComposing) return;
    const isHeld = event.ctrlKey || event.metaKey;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const act = event.key === "Enter" && isHeld ? () => { close(); onRun(); }
      : event.code === "Space" && event.ctrlKey ? () => look(true)
        : !offered ? null
          : step && !isHeld ? () => setNth((nth + step + items.length) % items.length)
            : (event.key === "Enter" || event.key === "Tab") && !isHeld && !event.shiftKey ? () => accept(items[nth])
              : event.key === "Escape" ? close : null;
    if (act) {
      event.preventDefault();
      act();
    } else if (["ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown"].includes(event.key)) close();
  };
  useEffect(() => {
    if (!offered) return void (list.current.matches(":popover-open") && list.current.hidePopover());
    const put = () => {
      const at = placeOf(place.current, offered.from);
      const { width, height } = list.current.getBoundingClientRect();
      const low = (visualViewport?.height ?? innerHeight) - EDGE_PX;
      list.current.style.left = `${Math.max(EDGE_PX, Math.min(at.left, innerWidth - width - EDGE_PX))}px`;
      list.current.style.top = `${at.bottom + 2 + height > low ? Math.max(EDGE_PX, at.top - height - 2) : at.bottom + 2}px`;
    };
    if (!list.current.matches(":popover-open")) list.current.showPopover();
    put();
    addEventListener("scroll", put, true);
    addEventListener("resize", put);
    return () => {
      removeEventListener("scroll", put, true);
      removeEventListener("resize", put);
    };
  }, [offered]);
  useEffect(() => list.current.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }), [offered, nth]);
  // A field of several lines is not a combobox until it has a list.
  const roles = offered ? { role: "combobox", "aria-expanded": "true", "aria-activedescendant": `${LIST}-${nth}` } : {};
  return html`<div class="editor"><ol class="numbers" ref=${numbers} aria-hidden="true">${Array.from({ length: lines }, (_, at) => html`<li class=${fault?.line === at + 1 ? "bad" : ""}>${at + 1}</li>`)}</ol>
    <textarea ref=${place} rows=${Math.max(8, Math.min(20, lines + 1))} wrap="off" spellcheck="false" autocapitalize="off" autocomplete="off" aria-label="SQL" value=${text}
      aria-autocomplete="list" aria-haspopup="listbox" aria-controls=${LIST} ...${roles} onInput=${onInput} onKeyDown=${onKey} onBlur=${close} onMouseDown=${close}
      onScroll=${(event) => { numbers.current.scrollTop = event.target.scrollTop; }}></textarea>
    <ul ref=${list} id=${LIST} popover="manual" class="options offered" role="listbox" aria-label=${word("completions")}>${items.map((item, at) => html`
      <li key=${item.kind + item.name} role="option" id=${`${LIST}-${at}`} aria-selected=${String(at === nth)} onMouseDown=${(event) => { event.preventDefault(); accept(item); }} onMouseMove=${() => nth !== at && setNth(at)}>
        <${Icon} name=${ICONS[item.kind]} small /><code>${item.name}</code><small>${item.about?.toLowerCase() ?? word(`sql.${item.kind}`)}</small></li>`)}</ul></div>`;
}
