/** Accounts and keys: creates, limits and revokes keys, and replaces signing secrets. A secret is shown once. */

import { call } from "../api.js";
import { ago, day, labelled, number, word } from "../language.js";
import { Badge, Field, Icon, Note, Table, Waiting, html, useEffect, useLoaded, useRef, useState } from "../parts.js";
import { attempt, copy } from "../toasts.js";

const ADMIN = "/v2/protected/admin";
const SCOPES = ["search", "refetch", "analytics", "ai", "geocoding", "alerts", "sql", "admin"];
/** Default scopes of a new key, as on the command line. */
const USUAL_SCOPES = SCOPES.filter((scope) => scope !== "sql" && scope !== "admin");
/** The limit that is optional. */
const QUOTA = "monthly_quota";
/** The checkbox of a new key for no limit; for an existing key, the field is left empty. */
const UNLIMITED = "unlimited";
/** Limits of a key: name in the contract, word, and minimum. */
const LIMITS = [["rate", "rate", 1], [QUOTA, "quota", 0], ["max_concurrent_estimates", "concurrent", 1]];

const list = (path) => (signal) => call("GET", `${ADMIN}/${path}`, undefined, { signal, isQuiet: true });

/** Returns the limits in a form as whole numbers; empty fields are left out. */
const limitsOf = (of) => Object.fromEntries(LIMITS.map(([name]) => [name, of.get(name)]).filter(([, given]) => given).map(([name, given]) => [name, Number(given)]));

/** The fields for the limits of a new key, which has defaults, or of the key `of`. */
function LimitFields({ of }) {
  const [isUnlimited, setUnlimited] = useState(false);
  return html`<div class="columns">${LIMITS.map(([name, label, least]) => html`<${Field} label=${word(label)}>
    <input type="number" min=${least} name=${name} required=${Boolean(of) && name !== QUOTA} disabled=${isUnlimited && name === QUOTA}
      defaultValue=${of?.[name] ?? ""} placeholder=${word(name === QUOTA && (of || isUnlimited) ? "unlimited" : of ? "" : "default")} /><//>`)}</div>
    ${!of && html`<label class="check"><input type="checkbox" name=${UNLIMITED} checked=${isUnlimited} onChange=${(event) => setUnlimited(event.target.checked)} /> <span>${word("quotaNone")}</span></label>`}`;
}

/** The scopes of a key, each with its description. */
const ScopeFields = ({ held }) => html`<fieldset><legend>${word("mayDo")}</legend><div class="scopes">${SCOPES.map((scope) => html`<div><label class="check">
  <input type="checkbox" name="scope" value=${scope} aria-describedby=${`scope-${scope}`} defaultChecked=${held.includes(scope)} /> <code>${scope}</code></label>
  <small class="quiet" id=${`scope-${scope}`}>${word(`may.${scope}`)}</small></div>`)}</div></fieldset>`;

/** A secret that is shown once, with a button that copies it. */
const Secret = ({ label, text }) => html`<${Note} role="status"><b>${label}</b><code class="long">${text}</code>
  <div><button type="button" class="compact" onClick=${() => copy(text, word("copied"))}>${word("copy")}</button></div><//>`;

/** A dialog with a form; it closes when it is submitted or cancelled. */
function Sheet({ title, onClose, onSubmit, fault, act, children }) {
  const place = useRef(null);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => place.current.showModal(), []);
  const submit = async (event) => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    await onSubmit(event);
    setBusy(false);
  };
  return html`<dialog ref=${place} aria-label=${title} onClose=${onClose}><form class="form" onSubmit=${submit}><h2>${title}</h2>${children}
    ${fault && html`<${Note} kind="bad" role="alert">${fault}<//>`}
    <div class="row"><button class="primary" aria-busy=${String(isBusy)}>${act}</button><button type="button" class="quiet" onClick=${() => place.current.close()}>${word("cancel")}</button></div></form></dialog>`;
}

export function Keys() {
  const accounts = useLoaded(list("accounts"), []);
  const keys = useLoaded(list("keys"), []);
  // The open form: `new`, or the key that is being changed.
  const [opened, setOpened] = useState(null);
  const [fault, setFault] = useState(null);
  const [secret, setSecret] = useState(null);
  const close = () => { setOpened(null); setFault(null); };
  const submit = (act) => async (event) => {
    try {
      await act(new FormData(event.target));
      keys.reload();
      close();
    } catch (error) {
      setFault(error.message);
    }
  };
  const create = submit(async (of) => {
    const body = { kind: of.get("kind"), account_id: of.get("account"), name: of.get("name"), grants: of.getAll("scope"), ...(of.get("expires") && { expires_at: of.get("expires") }), ...(of.get(UNLIMITED) && { [QUOTA]: null }), ...limitsOf(of) };
    setSecret((await call("POST", `${ADMIN}/keys`, body)).data.key);
  });
  const change = submit(async (of) => {
    // Grants of single endpoints have no checkbox, so they are kept.
    const single = opened.grants.filter((grant) => !SCOPES.includes(grant));
    await call("PATCH", `${ADMIN}/keys/${opened.key_id}`, { grants: [...of.getAll("scope"), ...single], [QUOTA]: null, ...limitsOf(of) });
  });
  const revoke = (key) => confirm(word("revokeAsk", { name: key.name ?? key.key_id })) && attempt(async () => {
    await call("DELETE", `${ADMIN}/keys/${key.key_id}`);
    keys.reload();
  });
  const nameOf = new Map((accounts.value?.data ?? []).map((account) => [account.account_id, account.name]));
  const acts = (key) => key.revoked_at ? html`<${Badge} kind="bad">${word("revoked")} ${day(key.revoked_at)}<//>` : html`<span class="row tight">
    <button type="button" class="compact" onClick=${() => setOpened(key)}>${word("change")}</button>
    <button type="button" class="danger compact" onClick=${() => revoke(key)}>${word("revoke")}</button></span>`;
  return html`<section class="card"><div class="row spread"><h2>${word("keys")}</h2>
      <button type="button" class="primary" onClick=${() => setOpened("new")}><${Icon} name="key" />${word("newKeyShort")}</button></div>
    ${secret && html`<${Secret} label=${word("newKey")} text=${secret} />`}<${Waiting} of=${keys} />
    ${keys.value && html`<${Table} rows=${keys.value.data} columns=${[
      [word("name"), (key) => html`<b>${key.name ?? key.key_id.slice(0, 8)}</b><br /><small class="quiet"><code>${key.prefix}…</code><br />${nameOf.get(key.account_id)} · ${word(`kind.${key.kind}`)}</small>`],
      [word("scopes"), (key) => html`<span class="chips small">${key.grants.map((grant) => html`<${Badge} kind=${grant === "admin" ? "warn" : ""}>${grant}<//>`)}</span>`], [word("rate"), (key) => number(key.rate), true],
      [word("quota"), (key) => (key[QUOTA] === undefined ? "∞" : number(key[QUOTA])), true],
      [word("lastUsed"), (key) => html`<span class="nowrap">${ago(key.last_used_at) || "–"}</span>`], [word("expires"), (key) => html`<span class="nowrap">${day(key.expires_at?.slice(0, 10)) || "–"}</span>`], ["", acts]]} />`}
    ${opened === "new" && html`<${Sheet} title=${word("newKeyShort")} act=${word("create")} fault=${fault} onClose=${close} onSubmit=${create}>
      <div class="columns"><${Field} label=${word("name")}><input name="name" required /><//>
        <${Field} label=${word("account")}><select name="account">${(accounts.value?.data ?? []).map((one) => html`<option value=${one.account_id}>${one.name}</option>`)}</select><//>
        <${Field} label=${word("kind")}><select name="kind">${["production", "test"].map((kind) => html`<option value=${kind}>${word(`kind.${kind}`)}</option>`)}</select><//>
        <${Field} label=${`${word("expires")} (${word("optional")})`}><input type="date" name="expires" /><//></div>
      <${ScopeFields} held=${USUAL_SCOPES} /><${LimitFields} /><//>`}
    ${opened?.key_id && html`<${Sheet} key=${opened.key_id} title=${labelled(word("change"), opened.name ?? opened.key_id)} act=${word("save")} fault=${fault} onClose=${close} onSubmit=${change}>
      <${ScopeFields} held=${opened.grants} /><${LimitFields} of=${opened} /><//>`}</section>`;
}

export function Accounts() {
  const accounts = useLoaded(list("accounts"), []);
  const usage = useLoaded(list("usage"), []);
  const [secret, setSecret] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const create = async (event) => {
    event.preventDefault();
    if (isBusy) return;
    const form = event.target;
    setBusy(true);
    await attempt(async () => {
      const { data } = await call("POST", `${ADMIN}/accounts`, { name: new FormData(form).get("name") });
      form.reset();
      accounts.reload();
      setSecret(data.signing_secret);
    });
    setBusy(false);
  };
  const rotate = (account) => confirm(word("rotateAsk", { name: account.name })) && attempt(async () => {
    const { data } = await call("POST", `${ADMIN}/accounts/${account.account_id}/secrets/rotate`);
    setSecret(data.signing_secret);
  });
  const credits = new Map((usage.value?.data ?? []).map((row) => [row.account_id, row.total_credits]));
  return html`<section class="card"><h2>${word("accounts")}</h2>
    ${secret && html`<${Secret} label=${word("newSecret")} text=${secret} />`}<${Waiting} of=${accounts} />
    ${accounts.value && html`<${Table} rows=${accounts.value.data} columns=${[[word("name"), (row) => html`<b>${row.name}</b>`], [word("created"), (row) => day(row.created_at)],
      [word("credits"), (row) => number(credits.get(row.account_id) ?? 0), true],
      ["", (row) => html`<button type="button" class="compact" onClick=${() => rotate(row)}>${word("rotate")}</button>`, true]]} />`}
    <form class="row" onSubmit=${create}><input name="name" required aria-label=${word("newAccount")} placeholder=${word("newAccount")} /><button aria-busy=${String(isBusy)}>${word("create")}</button></form></section>`;
}
