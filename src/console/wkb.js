/** Reads geometries of layers from SQL rows: well-known binary in hexadecimal digits, always little-endian and two-dimensional. */

const TYPES = ["Point", "LineString", "Polygon", "MultiPoint", "MultiLineString", "MultiPolygon", "GeometryCollection"];
/** Returns the value of a hexadecimal digit by its character code. */
const digit = (code) => (code <= 57 ? code - 48 : (code | 32) - 87);

function bytesOf(hex) {
  const bytes = new Uint8Array(hex.length / 2);
  for (let nth = 0; nth < bytes.length; nth += 1) bytes[nth] = 16 * digit(hex.charCodeAt(2 * nth)) + digit(hex.charCodeAt(2 * nth + 1));
  return bytes;
}

/** Converts a geometry to GeoJSON. */
export function geometryOfHex(hex) {
  const view = new DataView(bytesOf(hex).buffer);
  let at = 0;
  const whole = () => view.getUint32((at += 4) - 4, true);
  const degrees = () => view.getFloat64((at += 8) - 8, true);
  const list = (one) => Array.from({ length: whole() }, () => one());
  const position = () => [degrees(), degrees()];
  const line = () => list(position);
  const rings = () => list(line);
  const geometry = () => {
    // The byte order.
    at += 1;
    const type = TYPES[whole() - 1];
    if (type === "GeometryCollection") return { type, geometries: list(geometry) };
    const read = { Point: position, LineString: line, Polygon: rings }[type] ?? (() => list(() => geometry().coordinates));
    return { type, coordinates: read() };
  };
  return geometry();
}
