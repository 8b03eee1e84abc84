/** Calls the public API with the session's cookie, and remembers the last call for "as curl". */

import { word } from "./language.js";
import { reasonOf } from "./refusals.js";

let session = null;
const listeners = new Set();
/** The last call of the screen: method, path and body. */
export let lastCall = null;

/** Seconds before a rate-limited call is retried, if the response does not say it. */
const RETRY_S = 1;

/** An error response of the service, in the console's own words if it has any, otherwise with the service's message. */
class Refusal extends Error {
  constructor(response, { message, code }) {
    const { name, values } = reasonOf(response.status, code, message);
    super(name ? word(name, values) : message);
    this.reason = name;
    this.status = response.status;
    this.retryAfterS = Number(response.headers.get("retry-after")) || RETRY_S;
  }
}

/** Returns the current session; null if there is none. */
export const who = () => session;

/** Returns whether the session's key has a scope. */
export const may = (scope) => session !== null && session.scopes.includes(scope);

/** Calls a function whenever a session begins or ends. Returns a function that unsubscribes. */
export function onSession(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function setSession(next) {
  session = next;
  for (const listener of listeners) listener();
}

async function refusalOf(response) {
  let error = { message: `${response.status} ${response.statusText}` };
  try {
    error = (await response.json()).error ?? error;
  } catch {
    // The body is not an error of the service, so only the status is shown.
  }
  return new Refusal(response, error);
}

/** Fetches a path; a network failure becomes an error with a readable message. */
async function fetchOrFail(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    throw error.name === "AbortError" ? error : new Error(word("error.network"));
  }
}

async function request(method, path, body, options = {}) {
  const headers = { ...options.headers };
  const isFile = body instanceof Blob;
  if (body !== undefined) headers["content-type"] = isFile ? "application/octet-stream" : "application/json";
  if (session) headers["x-console-token"] = session.token;
  const response = await fetchOrFail(path, {
    method, headers, body: body === undefined || isFile ? body : JSON.stringify(body), signal: options.signal,
  });
  if (response.status === 401 && session) setSession(null);
  if (!response.ok) throw await refusalOf(response);
  return response;
}

/** Calls the public API and returns the JSON of the response; null if it has no body. */
export async function call(method, path, body, options = {}) {
  if (!options.isQuiet) lastCall = { method, path, body };
  const response = await request(method, path, body, options);
  return response.status === 204 ? null : response.json();
}

/** Calls the public API and returns the response itself, for downloads. */
export function callRaw(method, path, body, options = {}) {
  if (!options.isQuiet) lastCall = { method, path, body };
  return request(method, path, body, options);
}

/** Uploads a file and returns the JSON of the response. */
export async function upload(path, file) {
  lastCall = { method: "PUT", path, file: file.name };
  return (await request("PUT", path, file)).json();
}

/** Returns a call as a shell command; the key stays a variable. */
export function asCurl({ method, path, body, file }) {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const parts = ["curl -s", method === "GET" ? "" : `-X ${method}`, quoted(location.origin + path), '-H "x-api-key: $KEY"'];
  if (body !== undefined) parts.push("-H 'content-type: application/json'", "-d", quoted(JSON.stringify(body)));
  if (file) parts.push("--data-binary", quoted(`@${file}`));
  return parts.filter(Boolean).join(" ");
}

/** Begins a session with a key, or with the code from a link. */
export async function begin(given) {
  const response = await request("POST", "/console-session", given);
  setSession((await response.json()).data);
}

/** Resumes the session of the cookie, if there is one. */
export async function resume() {
  try {
    const response = await request("GET", "/console-session");
    setSession((await response.json()).data);
  } catch (error) {
    // The key of the session was revoked, so another one is needed.
    if (!(error instanceof Refusal)) throw error;
  }
}

/** Ends the session. */
export async function end() {
  await request("DELETE", "/console-session");
  setSession(null);
}
