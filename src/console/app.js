/** The console: shows the screen that the page's URL names, in the shell around every screen. */

import { begin, may, onSession, resume, who } from "./api.js";
import { language, onLanguage, word } from "./language.js";
import { Waiting, html, render, useEffect, useLoaded, useState } from "./parts.js";
import { Rail, screenName } from "./rail.js";
import { Toasts, toast } from "./toasts.js";
import { Entry } from "./screens/entry.js";

/** Every screen with the scope that its calls need; keys without the scope do not see the screen. A screen is loaded when it
    is first shown, so that no other screen waits for the map. */
const SCREENS = {
  map: { load: () => import("./screens/market.js"), name: "Market", scope: "search" },
  home: { load: () => import("./screens/home.js"), name: "Home", scope: "ai" },
  portfolios: { load: () => import("./screens/portfolios.js"), name: "Portfolios", scope: "ai" },
  alerts: { load: () => import("./screens/alerts.js"), name: "Alerts", scope: "alerts" },
  query: { load: () => import("./screens/query.js"), name: "Query", scope: "sql" },
  operations: { load: () => import("./screens/operations.js"), name: "Operations" },
  pairs: { load: () => import("./screens/pairs.js"), name: "Pairs", scope: "admin" },
  welcome: { load: () => import("./screens/welcome.js"), name: "Welcome" },
};
/** The screen that every key has and no menu lists. */
const WELCOME = "welcome";

/** The names of the screens that the session's key may use. */
const offered = () => Object.keys(SCREENS).filter((name) => name !== WELCOME && (!SCREENS[name].scope || may(SCREENS[name].scope)));

/** Screen and parameters in the URL: `#/map?dataset=dvf&…`. If the key may not use the screen, the first one is shown instead. */
function readAddress() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const names = offered();
  return path === WELCOME || names.includes(path) ? { screen: path, parameters: Object.fromEntries(new URLSearchParams(query)) } : { screen: names[0], parameters: {} };
}

/** Shows a message if the URL names a screen that the key may not use, because another one is shown. */
function sayIfRefused() {
  const [path] = location.hash.replace(/^#\/?/, "").split("?");
  if (!who() || path === WELCOME || !Object.hasOwn(SCREENS, path) || offered().includes(path)) return;
  toast(word("screenRefused", { screen: screenName(path), scope: SCREENS[path].scope }), true);
}

/** Changes parameters of the URL; empty ones are removed. An unchanged URL is not written again, because that would cancel a pending
    step in the browser's history. */
function writeAddress(screen, parameters, isNew) {
  const kept = Object.entries(parameters).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  const address = `#/${screen}${kept.length ? `?${new URLSearchParams(kept)}` : ""}`;
  if (isNew) location.hash = address;
  else if (location.hash !== address) history.replaceState(null, "", address);
}

function Shown({ screen, parameters, set }) {
  const made = useLoaded(() => SCREENS[screen].load(), []);
  const Screen = made.value?.[SCREENS[screen].name];
  return Screen ? html`<${Screen} parameters=${parameters} set=${set} />` : html`<div class="page"><${Waiting} of=${made} lines=${6} /></div>`;
}

function Console() {
  const [, redraw] = useState(0);
  const [address, setAddress] = useState(readAddress);
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  // The palette is loaded after the first screen is drawn. If that fails, it is loaded again when it is opened.
  const palette = useLoaded(() => import("./palette.js").catch((error) => {
    if (!isPaletteOpen) return;
    toast(error.message, true);
    setPaletteOpen(false);
  }), [isPaletteOpen]);
  useEffect(() => {
    const again = () => redraw((round) => round + 1);
    const follow = () => { sayIfRefused(); setAddress(readAddress()); };
    const stop = [onSession(() => { follow(); again(); }), onLanguage(again)];
    sayIfRefused();
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
    // A screen that is being left must not navigate back.
    if (readAddress().screen !== screen) return;
    const next = { ...readAddress().parameters, ...changed };
    writeAddress(screen, next, isNew);
    setAddress({ screen, parameters: next });
  };
  document.title = `${screenName(screen)} · toise`;
  return html`<div class="shell">
    <a class="skip" href="#content" onClick=${(event) => { event.preventDefault(); document.getElementById("content").focus(); }}>${word("skip")}</a>
    <${Rail} screens=${offered()} screen=${screen} onSearch=${() => setPaletteOpen(true)} />
    <main id="content" tabindex="-1"><${Shown} key=${screen + language} screen=${screen} parameters=${parameters} set=${set} /></main>
    ${isPaletteOpen && palette.value && html`<${palette.value.Palette} screens=${offered()} onClose=${() => setPaletteOpen(false)} />`}
    <${Toasts} /></div>`;
}

// The first screen is loaded while the session begins. If that fails, the error appears when the screen is shown.
const first = /^#\/(\w+)/.exec(location.hash)?.[1];
SCREENS[Object.hasOwn(SCREENS, first) ? first : "map"].load().catch(() => {});
// A link may carry a code that begins one session. It is removed from the URL immediately.
const code = /^#code=(\w+)$/.exec(location.hash)?.[1];
if (code) history.replaceState(null, "", location.pathname);
const begun = code ? begin({ code }).catch(() => resume().then(() => who() || toast(word("codeUsed"), true))) : resume();
begun.catch((error) => toast(error.message, true)).finally(() => render(html`<${Console} />`, document.getElementById("app")));
