/** The service as the console asks it: the public API under the session's cookie, and the last call for "as curl". */

let session = null;
const listeners = new Set();
/** The newest call of the screen: method, path and body. */
export let lastCall = null;

/** A refusal of the service, in its own words. */
class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** What the session may do; null before one has begun. */
export const who = () => session;

/** Whether the session's key has a scope. */
export const may = (scope) => session !== null && session.scopes.includes(scope);

/** Calls a function whenever the session begins or ends; returns what stops that. */
export function onSession(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function setSession(next) {
  session = next;
  for (const listener of listeners) listener();
}

async function refusalOf(answer) {
  let message = `${answer.status} ${answer.statusText}`;
  try {
    message = (await answer.json()).error.message;
  } catch {
    // Not the service's own error: the status must do.
  }
  return new Refusal(answer.status, message);
}

async function request(method, path, body, options = {}) {
  const headers = { ...options.headers };
  const isFile = body instanceof Blob;
  if (body !== undefined) headers["content-type"] = isFile ? "application/octet-stream" : "application/json";
  if (session) headers["x-console-token"] = session.token;
  const answer = await fetch(path, {
    method, headers, body: body === undefined || isFile ? body : JSON.stringify(body), signal: options.signal,
  });
  if (answer.status === 401 && session) setSession(null);
  if (!answer.ok) throw await refusalOf(answer);
  return answer;
}

/** Asks the public API and returns its JSON answer; null where it has no body. */
export async function call(method, path, body, options = {}) {
  if (!options.isQuiet) lastCall = { method, path, body };
  const answer = await request(method, path, body, options);
  return answer.status === 204 ? null : answer.json();
}

/** Asks the public API and returns the answer itself, for downloads. */
export function callRaw(method, path, body, options = {}) {
  if (!options.isQuiet) lastCall = { method, path, body };
  return request(method, path, body, options);
}

/** Stores a file and returns the JSON answer. */
export async function upload(path, file) {
  lastCall = { method: "PUT", path, file: file.name };
  return (await request("PUT", path, file)).json();
}

/** The last call as a line for a shell; the key stays a variable. */
export function asCurl({ method, path, body, file }) {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const parts = ["curl -s", method === "GET" ? "" : `-X ${method}`, quoted(location.origin + path), '-H "x-api-key: $KEY"'];
  if (body !== undefined) parts.push("-H 'content-type: application/json'", "-d", quoted(JSON.stringify(body)));
  if (file) parts.push("--data-binary", quoted(`@${file}`));
  return parts.filter(Boolean).join(" ");
}

/** Begins a session with a key, or with the code of a link. */
export async function begin(given) {
  const answer = await request("POST", "/console-session", given);
  setSession((await answer.json()).data);
}

/** Takes up the session of the cookie, if there is one. */
export async function resume() {
  try {
    const answer = await request("GET", "/console-session");
    setSession((await answer.json()).data);
  } catch (error) {
    // The key of the session was revoked: it takes another to get in.
    if (!(error instanceof Refusal)) throw error;
  }
}

/** Ends the session. */
export async function end() {
  await request("DELETE", "/console-session");
  setSession(null);
}
