//! A filter on a layer: positions inside or outside the geodata that the operator imported under a name, or within a
//! distance of it.
//!
//! A request names the layer. [`resolve`] gives the tests of a filter the geometries of their layers before the filter
//! is compiled. Saved searches keep the name and are resolved again whenever the layer is replaced.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::{ClauseTest, Filter};
use crate::fault::Fault;
use crate::walk::{JsonPath, number, object, text};
use toise_geo::distance::covering_span_degrees;

/// Maximum distance from a layer, metres.
pub const LAYER_METERS_MAX: f64 = 100_000.0;
/// Spellings of the relations to a layer.
pub const LAYER_RELATIONS: [&str; 3] = ["inside", "outside", "within"];
/// The keys of a filter on a layer.
const KEYS: [&str; 3] = ["name", "relation", "meters"];

/// The geometries of a layer, for tests of positions in degrees. Boxes are given by their southern, northern, western
/// and eastern edge.
pub trait LayerShape: fmt::Debug + Send + Sync {
    /// Returns a text that differs for every content of the layer.
    fn version(&self) -> &str;
    /// Returns whether the layer has a polygon.
    fn has_polygons(&self) -> bool;
    /// Returns the box around all features.
    fn bounds(&self) -> [f64; 4];
    /// Returns whether a position is in a polygon, border included, on a line, or at a point.
    fn contains(&self, lat: f64, lon: f64) -> bool;
    /// Returns whether a feature is within a planar distance of a position, boundary included.
    fn is_within(&self, lat: f64, lon: f64, meters: f64) -> bool;
    /// Returns whether a feature may have a position in a box; false only if none has.
    fn may_meet(&self, bounds: [f64; 4]) -> bool;
}

/// The reason that a filter cannot use a layer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayerError {
    /// There is no layer of this name, or its geometries do not fit the relation: the request can be corrected.
    #[error("{0}")]
    Unusable(String),
    /// The layer cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

/// The layers of a data folder, as they are now.
pub trait LayerSource: fmt::Debug + Send + Sync {
    /// Returns the geometries of a layer. May block, to read a layer that is not in memory.
    ///
    /// # Errors
    /// There is no layer of this name, or it cannot be read.
    fn shape(&self, name: &str) -> Result<Arc<dyn LayerShape>, LayerError>;
}

/// Relation of a position to a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LayerRelation {
    /// In a feature, border included.
    Inside,
    /// In no feature.
    Outside,
    /// Within a planar distance of a feature, boundary included.
    Within {
        /// Distance, metres.
        meters: f64,
    },
}

/// The test of a position against a layer. It holds for no position until it is resolved.
#[derive(Clone)]
pub struct LayerTest {
    /// Name of the layer.
    pub name: String,
    /// The relation.
    pub relation: LayerRelation,
    shape: Option<Arc<dyn LayerShape>>,
}

impl LayerTest {
    /// Creates a test that is not resolved.
    pub fn new(name: impl Into<String>, relation: LayerRelation) -> Self {
        Self {
            name: name.into(),
            relation,
            shape: None,
        }
    }

    /// Reads `{"name", "relation"?, "meters"?}`.
    ///
    /// # Errors
    /// The first fault in document order; then a missing key, or a distance without `within`.
    pub fn read(value: &Value, at: JsonPath<'_>) -> Result<Self, Fault> {
        let (mut name, mut relation, mut meters) = (None, None, None);
        for (key, value) in object(value, at)? {
            let here = JsonPath::Key(&at, key);
            match key.as_str() {
                "name" => name = Some(text(value, here)?),
                "relation" => {
                    let mut known = LAYER_RELATIONS.into_iter();
                    let known = known.find(|relation| value == relation);
                    let rule = format!("must be one of: {}", LAYER_RELATIONS.join(", "));
                    relation = Some(known.ok_or_else(|| here.fault(rule))?);
                }
                "meters" => {
                    let given = number(value, here).ok();
                    let given = given.filter(|given| *given > 0.0 && *given <= LAYER_METERS_MAX);
                    let rule = format!("must be a number above 0, at most {LAYER_METERS_MAX}");
                    meters = Some(given.ok_or_else(|| here.fault(rule))?);
                }
                _ => return Err(at.unknown_key(key, KEYS)),
            }
        }
        let name = name.ok_or_else(|| JsonPath::Key(&at, "name").fault("is required"))?;
        let at_meters = JsonPath::Key(&at, "meters");
        let relation = match (relation, meters) {
            (Some("within"), Some(meters)) => LayerRelation::Within { meters },
            (Some("within"), None) => {
                return Err(at_meters.fault("is required if relation is within"));
            }
            (_, Some(_)) => return Err(at_meters.fault("is allowed only if relation is within")),
            (Some("outside"), None) => LayerRelation::Outside,
            _ => LayerRelation::Inside,
        };
        Ok(Self::new(name, relation))
    }

    /// Returns whether the test has the geometries of its layer.
    pub fn is_resolved(&self) -> bool {
        self.shape.is_some()
    }

    /// Gives the test the geometries of its layer as they are now. May block.
    ///
    /// # Errors
    /// There is no such layer, it cannot be read, or it has no polygons to be inside or outside of.
    pub fn resolve(&mut self, layers: &dyn LayerSource) -> Result<(), LayerError> {
        let shape = layers.shape(&self.name)?;
        let needs_polygons = !matches!(self.relation, LayerRelation::Within { .. });
        if needs_polygons && !shape.has_polygons() {
            return Err(LayerError::Unusable(format!(
                "layer {:?} has no polygons to be inside or outside of: use the relation within, with meters",
                self.name
            )));
        }
        self.shape = Some(shape);
        Ok(())
    }

    /// Returns whether a position in degrees satisfies the test.
    pub fn holds(&self, lat: f64, lon: f64) -> bool {
        let Some(shape) = &self.shape else {
            return false;
        };
        match self.relation {
            LayerRelation::Inside => shape.contains(lat, lon),
            LayerRelation::Outside => {
                lat.is_finite() && lon.is_finite() && !shape.contains(lat, lon)
            }
            LayerRelation::Within { meters } => shape.is_within(lat, lon, meters),
        }
    }

    /// Returns a box outside which no position satisfies the test: southern, northern, western and eastern edge. `None`
    /// if positions everywhere may.
    pub fn bounds(&self) -> Option<[f64; 4]> {
        let shape = self.shape.as_ref()?;
        match self.relation {
            LayerRelation::Inside => Some(shape.bounds()),
            LayerRelation::Outside => None,
            LayerRelation::Within { meters } => {
                let [south, north, west, east] = shape.bounds();
                let (lat_span, _) = covering_span_degrees(0.0, meters);
                Some(widened(
                    [south - lat_span, north + lat_span, west, east],
                    meters,
                ))
            }
        }
    }

    /// Returns whether positions in a box may satisfy the test; false only if none does. The box is given by its
    /// southern, northern, western and eastern edge.
    pub fn may_hold_in(&self, bounds: [f64; 4]) -> bool {
        let Some(shape) = &self.shape else {
            return false;
        };
        match self.relation {
            LayerRelation::Inside => shape.may_meet(bounds),
            LayerRelation::Outside => true,
            LayerRelation::Within { meters } => {
                let [south, north, west, east] = widened(bounds, meters);
                let (lat_span, _) = covering_span_degrees(0.0, meters);
                shape.may_meet([south - lat_span, north + lat_span, west, east])
            }
        }
    }
}

/// Moves the western and eastern edge of a box outwards by a distance, measured where a degree of longitude is
/// shortest.
fn widened([south, north, west, east]: [f64; 4], meters: f64) -> [f64; 4] {
    let farthest = south.abs().max(north.abs()).min(90.0);
    let (_, lon_span) = covering_span_degrees(farthest, meters);
    [south, north, west - lon_span, east + lon_span]
}

impl PartialEq for LayerTest {
    fn eq(&self, other: &Self) -> bool {
        let version = |test: &Self| test.shape.as_ref().map(|shape| shape.version().to_owned());
        self.name == other.name
            && self.relation == other.relation
            && version(self) == version(other)
    }
}

/// Names the version too, so that the text differs when the layer has changed: answers are cached under it.
impl fmt::Debug for LayerTest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.shape.as_ref().map(|shape| shape.version());
        let mut debug = formatter.debug_struct("LayerTest");
        debug.field("name", &self.name);
        debug.field("relation", &self.relation);
        debug.field("version", &version).finish()
    }
}

/// Gives all tests of a filter the geometries of their layers as they are now. May block.
///
/// # Errors
/// As for [`LayerTest::resolve`]; the tests before the failed one stay resolved.
pub fn resolve(filter: &mut Filter, layers: &dyn LayerSource) -> Result<(), LayerError> {
    for clause in filter {
        match &mut clause.test {
            ClauseTest::InLayer(test) => test.resolve(layers)?,
            ClauseTest::Any(filters) => {
                for filter in filters {
                    resolve(filter, layers)?;
                }
            }
            ClauseTest::SomeItem(filter) => resolve(filter, layers)?,
            _ => {}
        }
    }
    Ok(())
}

/// Returns the tests of a filter on layers.
pub fn layer_tests(filter: &[super::Clause]) -> Vec<&LayerTest> {
    let mut found = Vec::new();
    for clause in filter {
        match &clause.test {
            ClauseTest::InLayer(test) => found.push(test),
            ClauseTest::Any(filters) => {
                found.extend(filters.iter().flat_map(|filter| layer_tests(filter)));
            }
            ClauseTest::SomeItem(filter) => found.extend(layer_tests(filter)),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Result<LayerTest, String> {
        LayerTest::read(&value, JsonPath::Body).map_err(|fault| fault.to_string())
    }

    #[test]
    fn the_default_relation_is_inside_and_a_distance_goes_with_within() {
        let relation = |value| read(value).unwrap().relation;
        assert_eq!(relation(json!({"name": "flood"})), LayerRelation::Inside);
        assert_eq!(
            relation(json!({"name": "flood", "relation": "outside"})),
            LayerRelation::Outside
        );
        assert_eq!(
            relation(json!({"meters": 500, "name": "flood", "relation": "within"})),
            LayerRelation::Within { meters: 500.0 }
        );
        for (value, expected) in [
            (json!("flood"), "body: must be an object"),
            (json!({}), "name: is required"),
            (json!({"name": 7}), "name: must be a string"),
            (
                json!({"name": "flood", "relation": "near"}),
                "relation: must be one of: inside, outside, within",
            ),
            (
                json!({"name": "flood", "relation": "within"}),
                "meters: is required if relation is within",
            ),
            (
                json!({"name": "flood", "meters": 5}),
                "meters: is allowed only if relation is within",
            ),
            (
                json!({"name": "flood", "relation": "within", "meters": 0}),
                "meters: must be a number above 0, at most 100000",
            ),
            (
                json!({"name": "flood", "radius": 5}),
                "radius: unknown field; must be one of: name, relation, meters",
            ),
        ] {
            assert_eq!(read(value), Err(expected.to_owned()));
        }
    }

    #[test]
    fn a_test_that_is_not_resolved_holds_nowhere() {
        for relation in [LayerRelation::Inside, LayerRelation::Outside] {
            let test = LayerTest::new("flood", relation);
            assert!(!test.holds(48.0, 2.0) && !test.may_hold_in([48.0, 49.0, 2.0, 3.0]));
        }
    }
}
