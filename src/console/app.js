/** The console: which screen an address shows, and what stands around every screen. */

import { begin, end, may, onSession, resume, who } from "./api.js";
import { language, switchLanguage, word } from "./language.js";
import { CurlButton, html, render, useEffect, useState } from "./parts.js";
import { Entry } from "./screens/entry.js";
import { Market } from "./screens/market.js";
import { Home } from "./screens/home.js";
import { Alerts } from "./screens/alerts.js";
import { Operations } from "./screens/operations.js";
import { Pairs } from "./screens/pairs.js";
import { Query } from "./screens/query.js";

const SCREENS = { map: Market, home: Home, alerts: Alerts, operations: Operations, pairs: Pairs, query: Query };
/** Screens of operators alone, which other keys are not offered. */
const OF_OPERATORS = ["pairs"];
const THEME = "toise-theme";

/** Screen and parameters of the address: `#/map?dataset=dvf&…`. */
function readAddress() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { screen: path in SCREENS ? path : "map", parameters: Object.fromEntries(new URLSearchParams(query)) };
}

/** Changes parameters of the address; an empty one is left out. */
function writeAddress(screen, parameters, isNew) {
  const kept = Object.entries(parameters).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  const address = `#/${screen}${kept.length ? `?${new URLSearchParams(kept)}` : ""}`;
  if (isNew) location.hash = address;
  else history.replaceState(null, "", address);
}

function applyTheme(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem(THEME, theme);
}

function Console() {
  const [, redraw] = useState(0);
  const [address, setAddress] = useState(readAddress);
  useEffect(() => onSession(() => redraw((round) => round + 1)), []);
  useEffect(() => {
    const follow = () => setAddress(readAddress());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  const { screen, parameters } = address;
  const set = (changed, isNew = false) => {
    // A screen that is being left must not call the reader back.
    if (readAddress().screen !== screen) return;
    const next = { ...parameters, ...changed };
    writeAddress(screen, next, isNew);
    setAddress({ screen, parameters: next });
  };
  const isDark = () => document.documentElement.dataset.theme === "dark" ||
    (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  const Screen = SCREENS[screen];
  return html`
    <a class="skip" href="#content" onClick=${(event) => { event.preventDefault(); document.getElementById("content").focus(); }}>${word("skip")}</a>
    <header>
      <strong>toise</strong>
      ${who() && html`<nav aria-label="toise">${Object.keys(SCREENS).filter((name) => may("admin") || !OF_OPERATORS.includes(name)).map((name) => html`<a
        href="#/${name}" aria-current=${name === screen ? "page" : undefined}>${word(name)}</a>`)}</nav>`}
      <span class="tools">
        ${who() && html`<${CurlButton} />`}
        <button type="button" class="plain" onClick=${() => applyTheme(isDark() ? "light" : "dark")}>${word("lightDark")}</button>
        <button type="button" class="plain" lang=${language === "fr" ? "en" : "fr"}
          onClick=${() => { switchLanguage(); redraw((round) => round + 1); }}>${word("language")}</button>
        ${who() && html`<button type="button" class="plain" onClick=${end}>${word("leave")}</button>`}
      </span>
    </header>
    <main id="content" tabindex="-1">
      ${who() && html`<h1 class="hidden">${word(screen)}</h1>`}
      ${who() ? html`<${Screen} key=${screen + language} parameters=${parameters} set=${set} />` : html`<${Entry} />`}
    </main>`;
}

const theme = localStorage.getItem(THEME);
if (theme) document.documentElement.dataset.theme = theme;
// A link may carry a code, which is worth a session once; it leaves the address at once.
const code = /^#code=(\w+)$/.exec(location.hash)?.[1];
if (code) history.replaceState(null, "", location.pathname);
const begun = code ? begin({ code }).catch(() => resume()) : resume();
begun.finally(() => render(html`<${Console} />`, document.getElementById("app")));
