/** The console: which screen an address shows, and the shell around every screen. */

import { begin, may, onSession, resume, who } from "./api.js";
import { language, onLanguage, word } from "./language.js";
import { Palette } from "./palette.js";
import { html, render, useEffect, useState } from "./parts.js";
import { Rail } from "./rail.js";
import { Toasts, toast } from "./toasts.js";
import { Entry } from "./screens/entry.js";
import { Market } from "./screens/market.js";
import { Home } from "./screens/home.js";
import { Alerts } from "./screens/alerts.js";
import { Operations } from "./screens/operations.js";
import { Pairs } from "./screens/pairs.js";
import { Query } from "./screens/query.js";

/** Every screen, and the scope that its calls need. Keys without it are not offered the screen. */
const SCREENS = {
  map: { Screen: Market, scope: "search" },
  home: { Screen: Home, scope: "ai" },
  alerts: { Screen: Alerts, scope: "alerts" },
  query: { Screen: Query, scope: "sql" },
  operations: { Screen: Operations },
  pairs: { Screen: Pairs, scope: "admin" },
};

/** Names of the screens of the session's key. */
const offered = () => Object.keys(SCREENS).filter((name) => !SCREENS[name].scope || may(SCREENS[name].scope));

/** Screen and parameters of the address: `#/map?dataset=dvf&…`. A screen that is not offered gives way to the first one. */
function readAddress() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const names = offered();
  return names.includes(path) ? { screen: path, parameters: Object.fromEntries(new URLSearchParams(query)) } : { screen: names[0], parameters: {} };
}

/** Changes parameters of the address; an empty one is left out. */
function writeAddress(screen, parameters, isNew) {
  const kept = Object.entries(parameters).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  const address = `#/${screen}${kept.length ? `?${new URLSearchParams(kept)}` : ""}`;
  if (isNew) location.hash = address;
  else history.replaceState(null, "", address);
}

function Console() {
  const [, redraw] = useState(0);
  const [address, setAddress] = useState(readAddress);
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  useEffect(() => {
    const again = () => redraw((round) => round + 1);
    const follow = () => setAddress(readAddress());
    const stop = [onSession(() => { follow(); again(); }), onLanguage(again)];
    const onKey = (event) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || !who()) return;
      event.preventDefault();
      setPaletteOpen(true);
    };
    addEventListener("hashchange", follow);
    addEventListener("keydown", onKey);
    return () => {
      stop.forEach((one) => one());
      removeEventListener("hashchange", follow);
      removeEventListener("keydown", onKey);
    };
  }, []);
  if (!who()) return html`<${Entry} /><${Toasts} />`;
  const { screen, parameters } = address;
  const set = (changed, isNew = false) => {
    // A screen that is being left must not call the reader back.
    if (readAddress().screen !== screen) return;
    const next = { ...readAddress().parameters, ...changed };
    writeAddress(screen, next, isNew);
    setAddress({ screen, parameters: next });
  };
  const { Screen } = SCREENS[screen];
  document.title = `${word(screen)} · toise`;
  return html`<div class="shell">
    <a class="skip" href="#content" onClick=${(event) => { event.preventDefault(); document.getElementById("content").focus(); }}>${word("skip")}</a>
    <${Rail} screens=${offered()} screen=${screen} onSearch=${() => setPaletteOpen(true)} />
    <main id="content" tabindex="-1"><${Screen} key=${screen + language} parameters=${parameters} set=${set} /></main>
    ${isPaletteOpen && html`<${Palette} screens=${offered()} onClose=${() => setPaletteOpen(false)} />`}
    <${Toasts} /></div>`;
}

// A link may carry a code, which is worth a session once; it leaves the address at once.
const code = /^#code=(\w+)$/.exec(location.hash)?.[1];
if (code) history.replaceState(null, "", location.pathname);
const begun = code ? begin({ code }).catch(() => resume().then(() => who() || toast(word("codeUsed"), true))) : resume();
begun.finally(() => render(html`<${Console} />`, document.getElementById("app")));
