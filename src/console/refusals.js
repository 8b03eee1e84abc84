/** The error responses for which the console has its own words. Others are shown with the service's message. */

/** Names in words.js by the code, status or message of an error; the first match applies. */
const REASONS = [
  ["error.key", ({ code }) => code === 10001],
  ["error.scope", ({ code, message }) => code === 10004 && /the scope "/.test(message)],
  ["error.quota", ({ code }) => code === 10006],
  ["error.tooMany", ({ status }) => status === 429],
  ["error.expired", ({ code }) => code === 10009],
  ["error.tooLarge", ({ status }) => status === 413],
  ["error.noModel", ({ message }) => message.startsWith("no model to estimate with")],
  ["error.tooLong", ({ message }) => message.startsWith("the request took too long")],
  ["error.noTravel", ({ message }) => message.includes("isochrones are not available here")],
  ["error.travelSilent", ({ message }) => message.startsWith("the upstream isochrone service")],
  ["error.busy", ({ status }) => status === 503],
  ["error.failed", ({ status, message }) => status === 500 && /request [\w-]+/.test(message)],
  ["error.none", ({ status, message }) => status === 404 && message.startsWith("no such")],
  ["error.rents", ({ message }) => /^location: (no rents to estimate from|too few adverts of homes to rent)/.test(message)],
  ["error.noSales", ({ message }) => message.startsWith("type: the model knows no sale")],
  ["error.webhook", ({ message }) => /^webhook_?url: /i.test(message)],
  ["error.text", ({ message }) => message.startsWith("q: must have 3 to 200 characters")],
];

/** Returns the name of the words for an error and their values; no name if the service's message is to be shown. */
export function reasonOf(status, code, message) {
  const [name] = REASONS.find(([, fits]) => fits({ status, code, message })) ?? [];
  const [, scope] = /the scope "(\w+)"/.exec(message) ?? [];
  const [, request] = /request ([\w-]+)/.exec(message) ?? [];
  return { name, values: { scope, request } };
}
