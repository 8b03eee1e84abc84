/** What is known of one home: where it is, as surely as the geocoder says, and what its value is asked with. Neither draws
    nor calls, so that tests run it alone. */

/** Parameters of an address that names no place. */
export const NOWHERE = { lat: "", lon: "", label: "", city: "" };
/** Kinds of results that are an address, and not the centre of a town. */
const ADDRESSES = ["housenumber", "street", "locality"];

/** Parameters of the address for a result of the geocoder. */
export function placeOf({ geometry, properties }) {
  const [lon, lat] = geometry.coordinates;
  return { lat, lon, label: properties.label, city: properties.citycode };
}

/** Metres of a degree of latitude. */
const DEGREE_M = 111_195;

/** Metres between two positions `{lat, lon}` that are at most some kilometres apart. */
export const metresBetween = (one, other) =>
  DEGREE_M * Math.hypot(other.lat - one.lat, (other.lon - one.lon) * Math.cos((one.lat * Math.PI) / 180));

/**
 * Whether a result is what the text asks for: an address of which the geocoder is sure, with its number if one is asked.
 * The middle of a street or town is not where a home is.
 */
export function isSure({ properties }, text) {
  const wanted = /^\s*\d/.test(text) ? ADDRESSES.slice(0, 1) : ADDRESSES;
  return properties.confidence === "HIGH" && wanted.includes(properties.type);
}

/** What a home of each class may have: the name of the contract's field, without `has`. What nobody said is neither yes nor no. */
export const FEATURES = {
  CLASS_FLAT: ["Balcony", "Terrace", "Lift", "Parking", "Garage", "Cellar"],
  CLASS_HOUSE: ["Balcony", "Terrace", "Parking", "Garage", "Cellar", "Pool"],
};
/** The class of the home that an address describes. */
export const typeOf = ({ type }) => (Object.hasOwn(FEATURES, type ?? "") ? type : USUAL.type);
/** Classes of an energy diagnostic. */
export const ENERGY_CLASSES = ["A", "B", "C", "D", "E", "F", "G"];

/** The body of an estimate of a place with the parameters of the address. What nobody said stays out of it. */
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

/** The body of a rent of the home of an estimate, with the gross yield at a price. */
export function rentOf({ offer, ...home }, price) {
  return { ...home, price };
}

/** The query of a report of the home of an estimate. */
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

/** What the form shows before anything is said: the estimate needs these. */
export const USUAL = { type: "CLASS_FLAT", surface: 60, rooms: 3 };
/** Parameters of the address that describe the home, and not where it is. */
export const DESCRIBED = ["type", "surface", "rooms", "bedrooms", "floor", "energy", "land", "has"];
/** Bedrooms of a home with so many rooms: all but the living room. */
export const bedroomsOf = (rooms) => Math.max(0, rooms - 1);

/** What was chosen and leaves a value as it is, because its model has learned no effect of it: `energyClass`, `floor`. */
export const unfelt = (parameters, contributions) => [
  ...(parameters.energy && !contributions.epcEnergy ? ["energyClass"] : []),
  ...(parameters.floor && typeOf(parameters) !== "CLASS_HOUSE" && !contributions.hasLift ? ["floor"] : []),
];
