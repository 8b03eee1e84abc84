/** Data about one home: its position with the geocoder's confidence, and the bodies of requests about it. This module neither
    draws nor calls the service, so tests can run it alone. */

/** URL parameters that remove the place. */
export const NO_PLACE = { lat: "", lon: "", label: "", city: "" };
/** Kinds of geocoding results that are an address, not the centre of a town. */
const ADDRESSES = ["housenumber", "street", "locality"];

/** Returns the URL parameters for a result of the geocoder. */
export function placeOf({ geometry, properties }) {
  const [lon, lat] = geometry.coordinates;
  return { lat, lon, label: properties.label, city: properties.citycode };
}

/** Length of a degree of latitude, metres. */
const DEGREE_M = 111_195;

/** Returns the distance in metres between two positions `{lat, lon}` that are at most a few kilometres apart. */
export const metresBetween = (one, other) =>
  DEGREE_M * Math.hypot(other.lat - one.lat, (other.lon - one.lon) * Math.cos((one.lat * Math.PI) / 180));

/**
 * Returns whether a result is the address in the text: the geocoder must be confident, and the house number must match if there is
 * one. The middle of a street or town is not the position of a home.
 */
export function isCertain({ properties }, text) {
  const wanted = /^\s*\d/.test(text) ? ADDRESSES.slice(0, 1) : ADDRESSES;
  return properties.confidence === "HIGH" && wanted.includes(properties.type);
}

/** Features that a home of each class may have: the name of the contract's field without `has`. An unstated feature is neither yes nor no. */
export const FEATURES = {
  CLASS_FLAT: ["Balcony", "Terrace", "Lift", "Parking", "Garage", "Cellar"],
  CLASS_HOUSE: ["Balcony", "Terrace", "Parking", "Garage", "Cellar", "Pool"],
};
/** Returns the class of the home that the URL describes. */
export const typeOf = ({ type }) => (Object.hasOwn(FEATURES, type ?? "") ? type : USUAL.type);
/** Energy classes of diagnostics. */
export const ENERGY_CLASSES = ["A", "B", "C", "D", "E", "F", "G"];

/** Returns the body of an estimate for a place and the URL parameters. Unstated values are left out. */
export function estimateOf(at, parameters) {
  const given = (name, usual) => Number(parameters[name] || usual);
  const rooms = given("rooms", USUAL.rooms);
  const type = typeOf(parameters);
  const isFlat = type === USUAL.type;
  const features = (parameters.has ?? "").split(",").filter((one) => FEATURES[type].includes(one));
  return {
    location: { locationCoordinate: { location: [at.lon, at.lat] } },
    type, offer: { type: "OFFER_BUY" },
    habitation: {
      surface: { total: given("surface", USUAL.surface) }, roomCount: rooms, bedroomCount: Math.min(rooms, given("bedrooms", bedroomsOf(rooms))),
      ...(ENERGY_CLASSES.includes(parameters.energy) && { climate: { epcEnergy: `ENERGY_CLASSIFICATION_${parameters.energy}` } }),
      ...(isFlat && parameters.floor && { features: { propertyFloor: Number(parameters.floor) } }),
      ...(features.length > 0 && { characteristics: Object.fromEntries(features.map((one) => [`has${one}`, true])) }),
    },
    ...(!isFlat && parameters.land && { land: { surface: Number(parameters.land) } }),
  };
}

/** Returns the body that requests the rent of the home of an estimate, with the gross yield at a price. */
export function rentOf({ offer, ...home }, price) {
  return { ...home, price };
}

/** Returns the query string that requests the report of the home of an estimate. */
export function reportOf({ location, type, habitation, land }, language) {
  const [longitude, latitude] = location.locationCoordinate.location;
  const snakeCase = (name) => name.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
  const characteristics = Object.entries(habitation.characteristics ?? {}).map(([name, value]) => [snakeCase(name), value]);
  const known = Object.entries({
    longitude, latitude, type, surface_m2: habitation.surface.total, room_count: habitation.roomCount, bedroom_count: habitation.bedroomCount,
    epc_energy: habitation.climate?.epcEnergy, floor: habitation.features?.propertyFloor, land_surface_m2: land?.surface,
    ...Object.fromEntries(characteristics), lang: language, format: "pdf",
  }).filter(([, value]) => value !== undefined);
  return new URLSearchParams(known).toString();
}

/** Default values of the form; the estimate requires them. */
export const USUAL = { type: "CLASS_FLAT", surface: 60, rooms: 3 };
/** URL parameters that describe the home, not its position. */
export const HOME_PARAMETERS = ["type", "surface", "rooms", "bedrooms", "floor", "energy", "land", "has"];
/** Returns the usual number of bedrooms for a number of rooms: all but the living room. */
export const bedroomsOf = (rooms) => Math.max(0, rooms - 1);

/** Returns the chosen inputs that do not affect the value, because the model learned no effect of them: `energyClass`, `floor`. */
export const noEffect = (parameters, contributions) => [
  ...(parameters.energy && !contributions.epcEnergy ? ["energyClass"] : []),
  ...(parameters.floor && typeOf(parameters) !== "CLASS_HOUSE" && !contributions.hasLift ? ["floor"] : []),
];
