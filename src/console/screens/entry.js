/** Login: exchanges a key for a session. */

import { begin } from "../api.js";
import { Mark } from "../icons.js";
import { language, switchLanguage, word } from "../language.js";
import { Field, Note, html, useState } from "../parts.js";

export function Entry() {
  const [fault, setFault] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    // A link to a screen leads there; otherwise the welcome screen is shown first.
    if (!/^#\/\w/.test(location.hash)) history.replaceState(null, "", "#/welcome");
    try {
      await begin({ key: new FormData(event.target).get("key") });
    } catch (error) {
      setFault(error.message);
    }
  };
  return html`<main class="gate" id="content" tabindex="-1"><form class="card entry" onSubmit=${submit}>
    <div class="row brandline"><${Mark} /><h1>toise</h1></div>
    <p class="quiet">${word("entryAbout")}</p>
    <${Field} label=${word("key")}><input name="key" type="password" required autocomplete="off" spellcheck="false" autofocus placeholder="toise_live_…" /><//>
    ${fault && html`<${Note} kind="bad" role="alert">${fault}<//>`}
    <button class="primary">${word("enter")}</button>
    <p class="quiet"><small>${word("keyHint")} ${word("keyWhere")} <code>toise keys create</code></small></p>
    </form><button type="button" class="quiet" lang=${language === "fr" ? "en" : "fr"} onClick=${switchLanguage}>${word("language")}</button></main>`;
}
