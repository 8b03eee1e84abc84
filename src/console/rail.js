/** The navigation rail: the screens of the key, the palette, and the menu of the session. On a phone it is a bar. */

import { asCurl, end, lastCall, may, who } from "./api.js";
import { Mark } from "./icons.js";
import { labelled, language, switchLanguage, word } from "./language.js";
import { Icon, Popover, Segments, html, useState } from "./parts.js";
import { chooseTheme, chosenTheme } from "./theme.js";
import { attempt, copy, toast } from "./toasts.js";

/** Copies the last call of the screen as a shell command. */
export const copyCall = () => (lastCall ? copy(asCurl(lastCall), word("callCopied")) : toast(word("noCall"), true));

/** Returns the name of a screen. Keys without the scope of operators see only their usage on the screen of operations. */
export const screenName = (name) => word(name === "operations" && !may("admin") ? "usage" : name);

export const isApple = /Mac|iPhone|iPad/.test(navigator.platform);

/** Screens in the bar on a phone: the first of these that the key may use. The others are in the menu. */
const BAR_MAX = 4;
const BAR_ORDER = ["map", "home", "alerts", "portfolios", "query", "operations", "pairs"];
const inBar = (screens) => BAR_ORDER.filter((name) => screens.includes(name)).slice(0, BAR_MAX);

const ScreenLink = ({ name, screen, className }) => html`<a class=${className} href=${`#/${name}`} aria-current=${name === screen ? "page" : undefined}>
  <${Icon} name=${name} /><span>${screenName(name)}</span></a>`;

export function Rail({ screens, screen, onSearch }) {
  const barred = inBar(screens);
  const others = screens.filter((name) => !barred.includes(name));
  return html`<header class="rail">
    <a class="brand" href=${`#/${screens[0]}`} aria-label="toise"><${Mark} /></a>
    <button type="button" class="item search" onClick=${onSearch} title=${isApple ? "⌘K" : "Ctrl+K"}><${Icon} name="search" /><span>${word("search")}</span></button>
    <nav aria-label="toise">${screens.map((name) => html`
      <${ScreenLink} name=${name} screen=${screen} className=${barred.includes(name) ? "item" : "item desk"} />`)}</nav>
    <span class="spring"></span>
    ${who().has_invented_data && html`<${Invented} />`}
    <${Popover} className=${others.includes(screen) ? "item holds" : "item"} content="menu" side label=${word("menu")}
      button=${html`<${Icon} name="account" /><span>${word("menu")}</span>`}>
      ${(close) => html`<${SessionMenu} others=${others} screen=${screen} close=${close} onSearch=${onSearch} />`}<//>
  </header>`;
}

/** Warns that the data are invented, and says where to get real data. */
const Invented = () => html`<${Popover} className="invented" content="control" side label=${word("invented")} title=${`${word("inventedAbout")} toise start --departments 48`} button=${word("invented")}>
  <div class="form"><p>${word("inventedAbout")} <code class="nowrap">toise start --departments 48</code></p>
    <a href="../docs/guide/data-sources" target="_blank" rel="noopener">${word("inventedSources")}</a></div><//>`;

function SessionMenu({ others, screen, close, onSearch }) {
  const [theme, setTheme] = useState(chosenTheme());
  const act = (what) => () => { close(); what(); };
  return html`
    ${others.length > 0 && html`<nav class="phone" aria-label=${word("screens")} onClick=${close}>
      ${others.map((name) => html`<${ScreenLink} name=${name} screen=${screen} />`)}<hr /></nav>`}
    <button type="button" onClick=${act(onSearch)}><${Icon} name="search" />${word("palette")}</button>
    <button type="button" onClick=${act(copyCall)}><${Icon} name="code" />${word("asCurl")}</button>
    <a href="../docs/guide/" target="_blank" rel="noopener"><${Icon} name="info" />${word("guide")}</a>
    <button type="button" lang=${language === "fr" ? "en" : "fr"} onClick=${act(switchLanguage)}><${Icon} name="language" />${word("language")}</button>
    <hr />
    <${Segments} label=${word("theme")} value=${theme} onChange=${(one) => { chooseTheme(one); setTheme(one); }}
      values=${["light", "dark", "system"].map((one) => [one, word(`theme.${one}`)])} />
    <hr />
    <small class="quiet">${labelled(word("scopes"), who().scopes.join(", "))}</small>
    <a href="#/welcome" onClick=${close}><${Icon} name="key" />${word("mayDoLink")}</a>
    <button type="button" onClick=${act(() => attempt(end))}><${Icon} name="leave" />${word("leave")}</button>`;
}
