/** The area within reach of a point in some minutes, as stored in the page's URL: `reach:car,15,LON,LAT`. */

/** Modes of travel of the contract, and the maximum minutes. */
export const MODES = ["car", "walk"];
export const MINUTES_MAX = 60;
const REACH = /^reach:(car|walk),(\d+(?:\.\d+)?),(-?\d+(?:\.\d+)?),(-?\d+(?:\.\d+)?)$/;
/** Digits of a degree that are kept: about a metre. */
const DIGITS = 5;

/** Parses a parameter to `{mode, minutes, lon, lat}`; null if it is something else. */
export function reachOf(text) {
  const [, mode, ...numbers] = REACH.exec(text ?? "") ?? [];
  if (!mode) return null;
  const [minutes, lon, lat] = numbers.map(Number);
  return { mode, minutes, lon, lat };
}

/** Returns the parameter for it. */
export const reachText = ({ mode, minutes, lon, lat }) => `reach:${mode},${minutes},${[lon, lat].map((degrees) => Number(Number(degrees).toFixed(DIGITS))).join(",")}`;

/** Returns the path of the API that returns its shape. */
export const reachPath = ({ mode, minutes, lon, lat }) => `/v2/protected/isochrones?${new URLSearchParams({ lat, lon, minutes, mode })}`;

/** Returns the area as the API expects it. */
export const isochroneOf = ({ mode, minutes, lon, lat }) => ({ isochrone: { pin: { lat, lon }, minutes, mode } });
