/** How the map draws the features of layers: polygons, lines and points of one colour. */

const sourceOf = (name) => `layer-${name}`;
const KINDS = ["fill", "line", "points"];
const POLYGONS = ["in", ["geometry-type"], ["literal", ["Polygon", "MultiPolygon"]]];
const POINTS = ["in", ["geometry-type"], ["literal", ["Point", "MultiPoint"]]];

/** Returns the map layers that draw the features of a layer. */
export const featureLayers = (name) => KINDS.map((kind) => `${sourceOf(name)}-${kind}`);

function add(map, { name, colour, data }, below) {
  const source = sourceOf(name);
  const [fill, line, points] = featureLayers(name);
  map.addSource(source, { type: "geojson", data });
  map.addLayer({ id: fill, type: "fill", source, filter: POLYGONS, paint: { "fill-color": colour, "fill-opacity": 0.25 } }, below);
  map.addLayer({ id: line, type: "line", source, filter: ["!", POINTS], paint: { "line-color": colour, "line-width": 1.5 } }, below);
  map.addLayer({ id: points, type: "circle", source, filter: POINTS, paint: { "circle-color": colour, "circle-radius": 4, "circle-stroke-color": "#ffffff", "circle-stroke-width": 1 } }, below);
}

/** Shows layers, `{name, colour, data}`, instead of those with the names `before`, below a layer of the map. */
export function showLayers(map, before, layers, below) {
  for (const name of before.filter((one) => !layers.some((layer) => layer.name === one))) {
    for (const id of featureLayers(name)) map.removeLayer(id);
    map.removeSource(sourceOf(name));
  }
  for (const layer of layers) {
    const source = map.getSource(sourceOf(layer.name));
    if (source) source.setData(layer.data);
    else add(map, layer, below);
  }
}
