/** What is within reach of a point in some minutes, as the address of the page keeps it: `reach:car,15,LON,LAT`. */

/** Modes of travel, as the contract names them, and minutes at most. */
export const MODES = ["car", "walk"];
export const MINUTES_MAX = 60;
const REACH = /^reach:(car|walk),(\d+(?:\.\d+)?),(-?\d+(?:\.\d+)?),(-?\d+(?:\.\d+)?)$/;
/** Digits of a degree that are kept: about a metre. */
const DIGITS = 5;

/** What a parameter says, `{mode, minutes, lon, lat}`; null if it says something else. */
export function reachOf(text) {
  const [, mode, ...numbers] = REACH.exec(text ?? "") ?? [];
  if (!mode) return null;
  const [minutes, lon, lat] = numbers.map(Number);
  return { mode, minutes, lon, lat };
}

/** The parameter for it. */
export const reachText = ({ mode, minutes, lon, lat }) => `reach:${mode},${minutes},${[lon, lat].map((degrees) => Number(Number(degrees).toFixed(DIGITS))).join(",")}`;

/** The path that answers its shape. */
export const reachPath = ({ mode, minutes, lon, lat }) => `/v2/protected/isochrones?${new URLSearchParams({ lat, lon, minutes, mode })}`;

/** The area as the contract takes it. */
export const isochroneOf = ({ mode, minutes, lon, lat }) => ({ isochrone: { pin: { lat, lon }, minutes, mode } });
