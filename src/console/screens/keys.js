/** Accounts and keys: made, limited, revoked; signing secrets replaced. A text that is told once is shown once. */

import { call } from "../api.js";
import { day, number, word } from "../language.js";
import { Field, Table, Waiting, html, useLoaded, useState } from "../parts.js";

const ADMIN = "/v2/protected/admin";
const SCOPES = ["search", "refetch", "analytics", "ai", "geocoding", "alerts", "sql", "admin"];
/** Limits of a key: name in the contract and word. */
const LIMITS = [["rate", "rate"], ["monthly_quota", "quota"], ["max_concurrent_estimates", "concurrent"]];

/** Runs a change and shows its refusal; gives what runs it, and what to show. */
function useAttempt() {
  const [shown, setShown] = useState(null);
  const attempt = async (act) => {
    try {
      setShown(await act());
    } catch (error) {
      setShown({ fault: error.message });
    }
  };
  const told = shown && html`<p role="status">${shown.fault ? html`<span class="fault">${shown.fault}</span>`
    : html`${shown.told}: <code class="long">${shown.text}</code>`}</p>`;
  return [attempt, told];
}

const list = (path) => (signal) => call("GET", `${ADMIN}/${path}`, undefined, { signal, isQuiet: true });

/** Whole numbers of the limits that a form names; those left empty are left out. */
const limitsOf = (of) => Object.fromEntries(LIMITS.map(([name]) => [name, of.get(name)]).filter(([, given]) => given).map(([name, given]) => [name, Number(given)]));

const LimitFields = ({ of = {} }) => LIMITS.map(([name, label]) => html`<${Field} label=${word(label)}>
  <input type="number" min="0" name=${name} size="8" defaultValue=${of[name] ?? ""} /><//>`);

const ScopeFields = ({ held = [] }) => html`<fieldset><legend>${word("scopes")}</legend>${SCOPES.map((scope) => html`<label>
  <input type="checkbox" name="scope" value=${scope} defaultChecked=${held.includes(scope)} /> ${scope}</label>`)}</fieldset>`;

export function Keys() {
  const accounts = useLoaded(list("accounts"), []);
  const keys = useLoaded(list("keys"), []);
  const [changed, setChanged] = useState(null);
  const [attempt, told] = useAttempt();
  const create = (event) => {
    event.preventDefault();
    const form = event.target;
    const of = new FormData(form);
    const body = { kind: of.get("kind"), account_id: of.get("account"), name: of.get("name"), grants: of.getAll("scope"), ...limitsOf(of) };
    attempt(async () => {
      const { data } = await call("POST", `${ADMIN}/keys`, body);
      form.reset();
      keys.again();
      return { told: word("newKey"), text: data.key };
    });
  };
  const change = (event) => {
    event.preventDefault();
    const of = new FormData(event.target);
    // Grants of single endpoints have no box: they stay.
    const single = changed.grants.filter((grant) => !SCOPES.includes(grant));
    attempt(async () => {
      await call("PATCH", `${ADMIN}/keys/${changed.key_id}`, { grants: [...of.getAll("scope"), ...single], ...limitsOf(of) });
      setChanged(null);
      keys.again();
    });
  };
  const revoke = (key) => {
    if (!confirm(`${word("revoke")} ${key.name ?? key.key_id}?`)) return;
    attempt(async () => {
      await call("DELETE", `${ADMIN}/keys/${key.key_id}`);
      keys.again();
    });
  };
  const nameOf = new Map((accounts.value?.data ?? []).map((account) => [account.account_id, account.name]));
  const acts = (key) => key.revoked_at ? `${word("revoked")} ${day(key.revoked_at)}` : html`
    <button type="button" class="plain" onClick=${() => setChanged(key)}>${word("change")}</button>
    <button type="button" class="plain" onClick=${() => revoke(key)}>${word("revoke")}</button>`;
  return html`<section><h2>${word("keys")}</h2><${Waiting} of=${keys} />
    <${Table} rows=${keys.value?.data ?? []} columns=${[
      [word("name"), (key) => key.name ?? key.key_id.slice(0, 8)], [word("account"), (key) => nameOf.get(key.account_id)], [word("kind"), (key) => key.kind],
      [word("scopes"), (key) => key.grants.join(", ")], [word("rate"), (key) => number(key.rate), true],
      [word("quota"), (key) => (key.monthly_quota === undefined ? "" : number(key.monthly_quota)), true],
      [word("created"), (key) => day(key.created_at)], [word("expires"), (key) => day(key.expires_at)], [word("change"), acts]]} />
    ${changed && html`<form class="filters" key=${changed.key_id} onSubmit=${change}>
      <h3>${word("change")}: ${changed.name ?? changed.key_id}</h3>
      <${ScopeFields} held=${changed.grants} /><${LimitFields} of=${changed} />
      <button>${word("save")}</button><button type="button" class="plain" onClick=${() => setChanged(null)}>${word("close")}</button></form>`}
    <form class="filters" onSubmit=${create}>
      <${Field} label=${word("account")}><select name="account">${(accounts.value?.data ?? []).map((one) => html`<option value=${one.account_id}>${one.name}</option>`)}</select><//>
      <${Field} label=${word("name")}><input name="name" required /><//>
      <${Field} label=${word("kind")}><select name="kind">${["production", "test"].map((kind) => html`<option value=${kind}>${kind}</option>`)}</select><//>
      <${ScopeFields} /><${LimitFields} />
      <button>${word("create")}</button>
    </form>${told}</section>`;
}

export function Accounts() {
  const accounts = useLoaded(list("accounts"), []);
  const usage = useLoaded(list("usage"), []);
  const [attempt, told] = useAttempt();
  const create = (event) => {
    event.preventDefault();
    const form = event.target;
    attempt(async () => {
      const { data } = await call("POST", `${ADMIN}/accounts`, { name: new FormData(form).get("name") });
      form.reset();
      accounts.again();
      return { told: word("newSecret"), text: data.signing_secret };
    });
  };
  const rotate = (account) => {
    if (!confirm(`${word("rotate")} ${account.name}?`)) return;
    attempt(async () => {
      const { data } = await call("POST", `${ADMIN}/accounts/${account.account_id}/secrets/rotate`);
      return { told: word("newSecret"), text: data.signing_secret };
    });
  };
  const credits = new Map((usage.value?.data ?? []).map((row) => [row.account_id, row.total_credits]));
  return html`<section><h2>${word("account")}</h2><${Waiting} of=${accounts} />
    <${Table} rows=${accounts.value?.data ?? []} columns=${[[word("name"), (row) => row.name], [word("created"), (row) => day(row.created_at)],
      [word("credits"), (row) => number(credits.get(row.account_id)), true],
      [word("rotate"), (row) => html`<button type="button" class="plain" onClick=${() => rotate(row)}>${word("rotate")}</button>`]]} />
    <form class="filters" onSubmit=${create}><${Field} label=${word("newAccount")}><input name="name" required /><//><button>${word("create")}</button></form>${told}</section>`;
}
