/** Filters as chips. A chip shows its condition, opens its control, and can be removed. */

import { FIELD_NAMES } from "./fieldnames.js";
import { cleared, isSet, parameter, spoken, spokenValue, summaryOf, unitOf } from "./filters.js";
import { labelled, word } from "./language.js";
import { Icon, Popover, Typed, html, useEffect, useRef, useState } from "./parts.js";

/** Chips for the usual fields and those in use, and a button for the other fields that the console has a name for. `usual` are
    names of fields. */
export function FilterChips({ fields, usual, parameters, set }) {
  const [added, setAdded] = useState([]);
  const isShown = (field) => usual.includes(field.name) || added.includes(field.name) || isSet(field, parameters);
  const order = (field) => (usual.indexOf(field.name) + usual.length + 1) % (usual.length + 1);
  const shown = fields.filter(isShown).sort((one, other) => order(one) - order(other));
  const others = fields.filter((field) => field.name in FIELD_NAMES && !isShown(field));
  const chips = useRef(null);
  // The position of the chip that was removed last: the next chip receives the focus.
  const [removed, setRemoved] = useState(null);
  useEffect(() => {
    const buttons = chips.current.querySelectorAll(":scope > button");
    if (removed) buttons[Math.min(removed.nth, buttons.length - 1)]?.focus();
  }, [removed]);
  const remove = (field, nth) => {
    set(cleared(field));
    setAdded(added.filter((one) => one !== field.name));
    setRemoved({ nth });
  };
  return html`<div ref=${chips} class="chips" role="group" aria-label=${word("filters")}>
    ${shown.map((field, nth) => html`<${Chip} key=${field.name} isOpened=${added.at(-1) === field.name} field=${field} parameters=${parameters} set=${set}
      onRemove=${() => remove(field, nth)} canRemove=${isSet(field, parameters) || added.includes(field.name)} />`)}
    ${others.length > 0 && html`<${Popover} className="chip" label=${word("addFilter")} content="picker" button=${html`<${Icon} name="plus" small /><span>${word("addFilter")}</span>`}>
      ${(close) => html`<${Others} fields=${others} onPick=${(field) => { close(); setAdded([...added, field.name]); }} />`}<//>`}
  </div>`;
}

/** The fields that are not shown yet, filtered by the typed text. */
function Others({ fields, onPick }) {
  const [text, setText] = useState("");
  const found = fields.map((field) => [spoken(field.name), field]).filter(([name]) => name.toLowerCase().includes(text.toLowerCase()))
    .sort(([one], [other]) => one.localeCompare(other));
  return html`<input type="search" placeholder=${word("search")} aria-label=${word("addFilter")} value=${text} onInput=${(event) => setText(event.target.value)} />
    <div class="menu">${found.map(([name, field]) => html`<button type="button" title=${field.about} onClick=${() => onPick(field)}>${name}</button>`)}</div>`;
}

function Chip({ field, parameters, set, onRemove, canRemove, isOpened }) {
  const label = spoken(field.name);
  const holds = isSet(field, parameters);
  return html`<${Popover} className=${holds ? "chip set" : "chip"} label=${holds ? labelled(label, summaryOf(field, parameters)) : label} content="control" isOpened=${isOpened}
    button=${html`<span>${holds ? html`${labelled(label, "")}<b>${summaryOf(field, parameters)}</b>` : label}</span><${Icon} name="down" small />`}>
    ${(close) => html`<div class="form"><h3>${label}</h3>
      <${Control} field=${field} label=${label} parameters=${parameters} set=${set} />
      <div class="row spread"><button type="button" class="quiet compact" disabled=${!canRemove} onClick=${() => { close(); onRemove(); }}>${word("removeFilter")}</button>
        <button type="button" class="compact" onClick=${close}>${word("done")}</button></div></div>`}<//>`;
}

function Control({ field, label, parameters, set }) {
  const name = parameter(field);
  const change = (event) => set({ [event.target.name]: event.target.value });
  if (field.bounds) {
    const isDays = field.kind === "days";
    const names = (isDays ? ["firstDay", "lastDay"] : ["min", "max"]).map((one) => word(one));
    const input = (bound, nth) => html`<${Typed} type=${isDays ? "date" : "number"} step="any" name=${parameter(field, bound)} given=${parameters[parameter(field, bound)] ?? ""} onChange=${change}
      placeholder=${names[nth]} aria-label=${labelled(label, names[nth])} />`;
    // Date inputs show no placeholder.
    const shown = (bound, nth) => (isDays ? html`<div class="field"><span aria-hidden="true">${names[nth]}</span>${input(bound, nth)}</div>` : input(bound, nth));
    return html`<fieldset class="bounds" title=${field.about}><legend class="hidden">${label}</legend>${field.bounds.map(shown)}<span class="quiet">${unitOf(field)}</span></fieldset>`;
  }
  if (field.kind === "choice") return html`<${Choice} field=${field} label=${label} chosen=${parameters[name]?.split(",") ?? []} set=${set} />`;
  if (field.kind === "one" || field.kind === "flag") {
    const values = field.values ?? ["true", "false"];
    return html`<fieldset><legend class="hidden">${label}</legend>${["", ...values].map((value) => html`<label class="check"><input type="radio" name=${name}
      value=${value} checked=${(parameters[name] ?? "") === value} onChange=${change} /> ${value ? spokenValue(value, values) : word("any")}</label>`)}</fieldset>`;
  }
  return html`<${Typed} name=${name} aria-label=${label} title=${field.about} given=${parameters[name] ?? ""} onChange=${change}
    type=${field.kind === "number" ? "number" : "text"} step="any" pattern=${field.pattern} placeholder=${label} />`;
}

/** A choice of several among few values. */
function Choice({ field, label, chosen, set }) {
  const toggle = (value) => {
    const next = chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value];
    set({ [parameter(field)]: next.join(",") });
  };
  return html`<fieldset title=${field.about}><legend class="hidden">${label}</legend>${field.values.map((value) => html`<label class="check"><input type="checkbox" value=${value}
    checked=${chosen.includes(value)} onChange=${() => toggle(value)} /> ${spokenValue(value, field.values)}</label>`)}</fieldset>`;
}
