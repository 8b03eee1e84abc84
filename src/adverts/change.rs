//! History of an advert: which timestamps a sighting changes, and which events it causes.
//!
//! Called by [`super::prepare`]. The content of an advert comes from its latest sighting. Its [`AdvertHistory`] holds
//! what no single sighting shows.

use toise_contract::enums::EnumAdvertEvent;
use toise_contract::listings::Advert;
use toise_contract::listings::codes::Timestamp;
use toise_contract::listings::deliveries::{AdvertEvent, PreviousState};
use toise_contract::listings::scalars::Eur;

/// Data that is stored about an advert in addition to its content.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdvertHistory {
    /// The latest sighting, from which the content comes.
    pub observed_at: Timestamp,
    /// Whether toise set that time because the sender gave none.
    pub is_stamped: bool,
    /// The earliest sighting.
    pub first_seen_at: Timestamp,
    /// The sighting that last changed its content.
    pub modified_at: Timestamp,
    /// When the advert appeared, or last came back online.
    pub published_at: Timestamp,
    /// The last sighting that found it online.
    pub online_at: Option<Timestamp>,
    /// When it went offline.
    pub offline_at: Option<Timestamp>,
    /// The first known price.
    pub initial_price: Option<Eur>,
    /// The price before its last change.
    pub previous_price: Option<Eur>,
}

/// The part of a sighting that the history needs.
#[derive(Clone, Copy, Debug)]
pub struct Sighting {
    /// When the advert was seen.
    pub observed_at: Timestamp,
    /// Whether toise set that time because the sender gave none.
    pub is_stamped: bool,
    /// The earliest sighting the sender knows of.
    pub first_seen_at: Timestamp,
    /// Whether the advert was online.
    pub is_online: bool,
    /// The asking price; `None` for a price on request.
    pub price: Option<Eur>,
}

impl Sighting {
    /// Creates the sighting that reported this content.
    pub fn from_advert(content: &Advert, observed_at: Timestamp, first_seen_at: Timestamp) -> Self {
        Self {
            observed_at,
            is_stamped: false,
            first_seen_at,
            is_online: content.is_online.unwrap_or(true),
            price: content.current_price.as_ref().and_then(|price| price.value),
        }
    }
}

impl AdvertHistory {
    /// Returns the history after the first sighting.
    pub fn begin(sighting: Sighting) -> Self {
        let Sighting {
            observed_at,
            is_stamped,
            first_seen_at,
            is_online,
            price,
        } = sighting;
        Self {
            observed_at,
            is_stamped,
            first_seen_at,
            modified_at: observed_at,
            published_at: first_seen_at,
            online_at: is_online.then_some(observed_at),
            offline_at: (!is_online).then_some(observed_at),
            initial_price: price,
            previous_price: None,
        }
    }

    /// Returns the history with every time after `latest` set to `latest`.
    pub fn no_later_than(self, latest: Timestamp) -> Self {
        let bounded = |moment: Timestamp| moment.min(latest);
        Self {
            observed_at: bounded(self.observed_at),
            first_seen_at: bounded(self.first_seen_at),
            modified_at: bounded(self.modified_at),
            published_at: bounded(self.published_at),
            online_at: self.online_at.map(bounded),
            offline_at: self.offline_at.map(bounded),
            ..self
        }
    }

    /// Returns whether a sighting at `observed_at` is older than the latest known one; see [`AdvertHistory::before`].
    pub fn is_later_than(&self, observed_at: Timestamp) -> bool {
        self.observed_at > observed_at
    }

    /// Returns the history with the first sighting moved back to `first_seen_at`, if that is earlier. `published_at`
    /// moves with it, unless the advert was republished.
    fn with_earlier(self, first_seen_at: Timestamp) -> Self {
        let is_republished = self.published_at > self.first_seen_at;
        let first_seen_at = self.first_seen_at.min(first_seen_at);
        Self {
            first_seen_at,
            published_at: if is_republished {
                self.published_at
            } else {
                first_seen_at
            },
            ..self
        }
    }

    /// Returns the history after a sighting that is older than the latest known one, and the events it adds.
    ///
    /// A sighting older than all known ones becomes the first, and its price becomes the initial price. Changes between
    /// it and the previous first sighting become events at the time of that previous first sighting. A sighting between
    /// two known ones only moves `first_seen_at`: the prices between changes are not stored, so its price cannot be
    /// ordered among them.
    pub fn before(self, sighting: Sighting, states_price: bool) -> (Self, Vec<AdvertEvent>) {
        let first = self.first_seen_at;
        let mut next = self.with_earlier(sighting.first_seen_at);
        let mut events = Vec::new();
        if sighting.observed_at >= first {
            return (next, events);
        }
        let mut push_event = |event_type, previous| {
            events.push(AdvertEvent {
                event_type,
                occurred_at: first,
                previous,
            });
        };
        if !sighting.is_online {
            next.published_at = self.published_at;
            let previous = PreviousState {
                is_online: Some(false),
                ..PreviousState::default()
            };
            push_event(EnumAdvertEvent::Republished, previous);
        }
        let price = sighting.price.filter(|_| states_price);
        if price.is_some() && price != self.initial_price {
            if self.initial_price.is_some() {
                next.previous_price = self.previous_price.or(price);
                let previous = PreviousState {
                    price,
                    ..PreviousState::default()
                };
                push_event(EnumAdvertEvent::Price, previous);
            }
            next.initial_price = price;
        }
        (next, events)
    }

    /// Returns the history after a later sighting, and the events it causes: availability first, then the price.
    ///
    /// `was` is the stored content; `is_changed` says whether the sighting changed any of it.
    pub fn after(
        self,
        was: &Advert,
        sighting: Sighting,
        is_changed: bool,
    ) -> (Self, Vec<AdvertEvent>) {
        let was = Sighting::from_advert(was, self.observed_at, self.first_seen_at);
        let at = sighting.observed_at;
        let mut next = self.with_earlier(sighting.first_seen_at);
        let mut events = Vec::new();
        let mut push_event = |event_type, previous| {
            events.push(AdvertEvent {
                event_type,
                occurred_at: at,
                previous,
            });
        };
        next.observed_at = at;
        next.is_stamped = sighting.is_stamped;
        if is_changed {
            next.modified_at = at;
        }
        if sighting.is_online {
            next.online_at = Some(at);
            next.offline_at = None;
        }
        if sighting.is_online != was.is_online {
            let previous = PreviousState {
                is_online: Some(was.is_online),
                ..PreviousState::default()
            };
            if sighting.is_online {
                next.published_at = at;
                push_event(EnumAdvertEvent::Republished, previous);
            } else {
                next.offline_at = Some(at);
                push_event(EnumAdvertEvent::Unpublished, previous);
            }
        }
        if sighting.price != was.price {
            if was.price.is_some() {
                next.previous_price = was.price;
            }
            next.initial_price = next.initial_price.or(sighting.price);
            let previous = PreviousState {
                price: was.price,
                ..PreviousState::default()
            };
            push_event(EnumAdvertEvent::Price, previous);
        }
        (next, events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use toise_contract::read::read;

    fn advert(price: Value, is_online: bool) -> Advert {
        read(&json!({"currentPrice": {"value": price}, "isOnline": is_online})).unwrap()
    }

    fn day(day: u32) -> Timestamp {
        Timestamp::parse(&format!("2026-03-{day:02}")).unwrap()
    }

    fn begin(advert: &Advert) -> AdvertHistory {
        AdvertHistory::begin(Sighting::from_advert(advert, day(1), day(1)))
    }

    fn events(events: &[AdvertEvent]) -> Value {
        serde_json::to_value(events).unwrap()
    }

    #[test]
    fn a_price_cut_of_one_euro_is_an_event_with_the_previous_price() {
        let (was, is) = (advert(json!(200_000), true), advert(json!(199_999), true));
        let (next, caused) =
            begin(&was).after(&was, Sighting::from_advert(&is, day(2), day(2)), true);
        assert_eq!(
            events(&caused),
            json!([{"type": "PRICE", "occurredAt": "2026-03-02T00:00:00.000Z", "previous": {"price": 200_000}}])
        );
        assert_eq!(next.initial_price, Eur::new(200_000.0));
        assert_eq!(next.previous_price, Eur::new(200_000.0));
        assert_eq!(next.modified_at, day(2));
        assert_eq!(next.published_at, day(1));
    }

    #[test]
    fn unpublished_then_republished_at_another_price_gives_three_events() {
        let (online, offline) = (advert(json!(900), true), advert(json!(900), false));
        let (gone, caused) = begin(&online).after(
            &online,
            Sighting::from_advert(&offline, day(2), day(2)),
            true,
        );
        assert_eq!(events(&caused)[0]["type"], "UNPUBLISHED");
        assert_eq!(events(&caused)[0]["previous"], json!({"isOnline": true}));
        assert_eq!(
            (gone.offline_at, gone.online_at),
            (Some(day(2)), Some(day(1)))
        );
        let back = advert(json!(950), true);
        let (republished, caused) =
            gone.after(&offline, Sighting::from_advert(&back, day(5), day(5)), true);
        assert_eq!(events(&caused)[0]["type"], "REPUBLISHED");
        assert_eq!(events(&caused)[1]["type"], "PRICE");
        assert_eq!(
            (republished.offline_at, republished.published_at),
            (None, day(5))
        );
    }

    #[test]
    fn an_unchanged_sighting_causes_no_event() {
        let same = advert(json!(900), true);
        let (next, caused) =
            begin(&same).after(&same, Sighting::from_advert(&same, day(9), day(9)), false);
        assert!(caused.is_empty());
        assert_eq!(
            (next.observed_at, next.modified_at, next.online_at),
            (day(9), day(1), Some(day(9)))
        );
    }

    #[test]
    fn a_sighting_older_than_all_others_becomes_the_first() {
        let is = advert(json!(200_000), true);
        let known = AdvertHistory::begin(Sighting::from_advert(&is, day(9), day(8)));
        let was = advert(json!(220_000), true);
        let (next, caused) = known.before(Sighting::from_advert(&was, day(2), day(2)), true);
        assert_eq!((next.first_seen_at, next.published_at), (day(2), day(2)));
        assert_eq!(next.initial_price, Eur::new(220_000.0));
        assert_eq!(next.previous_price, Eur::new(220_000.0));
        assert_eq!((next.observed_at, next.modified_at), (day(9), day(9)));
        assert_eq!(
            events(&caused),
            json!([{"type": "PRICE", "occurredAt": "2026-03-08T00:00:00.000Z", "previous": {"price": 220_000}}])
        );
        let between = advert(json!(230_000), true);
        let (same, caused) = next.before(Sighting::from_advert(&between, day(5), day(5)), true);
        assert_eq!((same, caused), (next, Vec::new()));
        let offline = advert(json!(220_000), false);
        let (next, caused) = next.before(Sighting::from_advert(&offline, day(1), day(1)), true);
        assert_eq!(events(&caused)[0]["type"], "REPUBLISHED");
        assert_eq!((next.first_seen_at, next.published_at), (day(1), day(2)));
    }

    #[test]
    fn a_price_that_becomes_known_or_unknown_is_an_event() {
        let (unknown, known) = (advert(Value::Null, true), advert(json!(900), true));
        let (next, caused) = begin(&unknown).after(
            &unknown,
            Sighting::from_advert(&known, day(2), day(2)),
            true,
        );
        assert_eq!(events(&caused)[0]["previous"], json!({}));
        assert_eq!(
            (next.initial_price, next.previous_price),
            (Eur::new(900.0), None)
        );
        let (_, caused) = next.after(
            &known,
            Sighting::from_advert(&unknown, day(3), day(3)),
            true,
        );
        assert_eq!(events(&caused)[0]["previous"], json!({"price": 900}));
    }
}
