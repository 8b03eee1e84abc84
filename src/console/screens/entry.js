/** Getting in: a key becomes a session. */

import { begin } from "../api.js";
import { word } from "../language.js";
import { Field, html, useState } from "../parts.js";

export function Entry() {
  const [fault, setFault] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    try {
      await begin({ key: new FormData(event.target).get("key") });
    } catch (error) {
      setFault(error.message);
    }
  };
  return html`<form class="entry" onSubmit=${submit}>
    <h1>toise</h1>
    <${Field} label=${word("key")}><input name="key" type="password" required autocomplete="off" spellcheck="false" autofocus /><//>
    <p class="quiet">${word("keyHint")}</p>
    ${fault && html`<p class="fault" role="alert">${fault}</p>`}
    <button>${word("enter")}</button>
  </form>`;
}
