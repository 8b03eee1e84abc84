//! Synthetic alerts with a realistic mix: seven in ten filter by code, a quarter by box or radius, the rest are
//! national.
//!
//! Communes are drawn in proportion to their inhabitants, and bounds are round numbers. National alerts are narrow,
//! because a national alert on every flat would be useless. An alert depends only on the seed and its number.

use serde_json::{Value, json};

use super::communes::{CommuneSampler, SynthCommune};
use super::random::Stream;
use toise_contract::listings::filters::ListingKind;

/// Number that distinguishes these random streams from those of other data.
const DATASET: u64 = 5;
/// Kilometres per degree of latitude.
const KM_PER_DEGREE: f64 = 111.2;
/// Probability that an alert is located by a code.
const BY_CODE: f64 = 0.7;
/// Probability that it is located by a box or a radius; otherwise it is national.
const BY_SHAPE: f64 = 0.25;

/// A generator of alerts.
#[derive(Debug)]
pub struct AlertGenerator {
    listing: ListingKind,
    seed: u64,
    webhook_url: String,
    places: CommuneSampler,
}

impl AlertGenerator {
    /// Creates a generator of alerts on properties or adverts that all deliver to one URL.
    pub fn new(listing: ListingKind, seed: u64, webhook_url: &str) -> Self {
        Self {
            listing,
            seed,
            webhook_url: webhook_url.to_owned(),
            places: CommuneSampler::new(|place: &SynthCommune| place.population.max(100.0)),
        }
    }

    /// Returns the request body that creates an alert.
    pub fn body(&self, number: u64) -> Value {
        json!({
            "search_query": {(self.listing.filter_key()): self.filter(number)},
            "webhook_url": self.webhook_url,
            "match": ["ALERT_MATCH_CREATED"],
            "search_name": format!("Recherche {number}"),
        })
    }

    /// Returns the filter of an alert.
    pub fn filter(&self, number: u64) -> Value {
        let mut stream = Stream::new(self.seed, DATASET, number);
        let how = stream.unit();
        if how >= BY_CODE + BY_SHAPE {
            return self.national(&mut stream);
        }
        let place = self.places.at(stream.unit());
        let mut filter = self.dwelling(&mut stream, place);
        let places = if how < BY_CODE {
            coded(&mut stream, place)
        } else {
            vec![shape(&mut stream, place)]
        };
        filter["location"] = match self.listing {
            ListingKind::Property => json!(places),
            ListingKind::Advert => places.into_iter().next().unwrap_or_default(),
        };
        filter
    }

    /// Draws the conditions for a home to buy or to rent, within a budget.
    fn dwelling(&self, stream: &mut Stream, place: &SynthCommune) -> Value {
        let class = if stream.chance(place.urbanity) {
            json!(["CLASS_FLAT"])
        } else if stream.chance(0.3) {
            json!(["CLASS_FLAT", "CLASS_HOUSE"])
        } else {
            json!(["CLASS_HOUSE"])
        };
        let area = 5 * stream.between(5, 26);
        let is_rent = stream.chance(0.25);
        let (offer, price) = if is_rent {
            ("OFFER_RENT", 50 * (stream.between(10, 30) + area / 10))
        } else {
            let level = place.price_level * area as f64 / 10_000.0 * (0.8 + 0.6 * stream.unit());
            ("OFFER_BUY", 10_000 * (level as i64).max(3))
        };
        let mut filter = self.online();
        filter["type"] = class;
        filter["offer"] = json!([{"type": offer}]);
        self.ask_price(&mut filter, price);
        let mut habitation = json!({"surface": {"total": {"min": area}}});
        if stream.chance(0.5) {
            habitation["roomCount"] = json!({"min": (area / 22).max(1)});
        }
        if stream.chance(0.2) {
            let classes =
                ["A", "B", "C", "D"].map(|class| format!("ENERGY_CLASSIFICATION_{class}"));
            habitation["climate"] = json!({"epcEnergy": classes});
        }
        filter["habitation"] = habitation;
        filter
    }

    /// Draws the conditions of a national alert: a whole building, a plot, or a home far below its market price.
    fn national(&self, stream: &mut Stream) -> Value {
        let mut filter = self.online();
        filter["offer"] = json!([{"type": "OFFER_BUY"}]);
        let (class, price) = match stream.below(3) {
            0 => ("CLASS_BUILDING", 50_000 * stream.between(2, 30)),
            1 => ("CLASS_LAND", 5_000 * stream.between(2, 20)),
            _ => {
                filter["habitation"] =
                    json!({"surface": {"total": {"min": 10 * stream.between(5, 12)}}});
                ("CLASS_FLAT", 5_000 * stream.between(6, 14))
            }
        };
        filter["type"] = json!([class]);
        self.ask_price(&mut filter, price);
        filter
    }

    /// Returns the condition that production alerts usually start with: online listings only.
    fn online(&self) -> Value {
        match self.listing {
            ListingKind::Property => json!({"meta": {"isTotallyOffline": false}}),
            ListingKind::Advert => json!({"isOnline": true}),
        }
    }

    fn ask_price(&self, filter: &mut Value, most: i64) {
        let value = json!({"value": {"max": most}});
        match self.listing {
            ListingKind::Property => filter["price"] = json!({"latest": value}),
            ListingKind::Advert => filter["currentPrice"] = value,
        }
    }
}

/// Draws a commune by one of its codes, several postal codes, or the department.
fn coded(stream: &mut Stream, place: &SynthCommune) -> Vec<Value> {
    if stream.chance(0.1) {
        return vec![json!({"department": place.department})];
    }
    if stream.chance(0.4) {
        return vec![json!({"inseeCode": place.insee})];
    }
    let codes = place.postal_codes.iter().take(1 + stream.below(4));
    codes.map(|code| json!({"postalCode": code})).collect()
}

/// Draws a circle of 1 to 20 km radius, or a box of that extent, around the centre of a commune.
fn shape(stream: &mut Stream, place: &SynthCommune) -> Value {
    let km = 1.0 + (19.0 * stream.unit() * stream.unit() * 2.0).round() / 2.0;
    let degrees = km / KM_PER_DEGREE;
    let (lat, lon) = (
        place.lat + degrees * (stream.unit() - 0.5),
        place.lon + degrees * (stream.unit() - 0.5),
    );
    let location = if stream.chance(0.6) {
        json!({"geoDistance": {"pin": {"lat": lat, "lon": lon}, "distanceKm": km}})
    } else {
        json!({"geoBoundingBox": {"topLeft": {"lat": lat + degrees, "lon": lon - degrees},
            "bottomRight": {"lat": lat - degrees, "lon": lon + degrees}}})
    };
    json!({"locationCoordinate": {"location": location}})
}

#[cfg(test)]
mod tests {
    use super::*;
    use toise_alerts::request::parse_alert;

    #[test]
    fn every_body_creates_an_alert_and_most_have_a_location() {
        for listing in [ListingKind::Property, ListingKind::Advert] {
            let alerts = AlertGenerator::new(listing, 1, "https://client.example/hook");
            let mut placed = 0;
            for number in 0..2_000 {
                let body = alerts.body(number);
                parse_alert(listing, &body).unwrap_or_else(|fault| panic!("{fault}: {body}"));
                let filter = &body["search_query"][listing.filter_key()];
                placed += usize::from(filter.get("location").is_some());
                assert_eq!(body, alerts.body(number));
            }
            assert!((1_850..1_950).contains(&placed), "{placed}");
        }
    }
}
