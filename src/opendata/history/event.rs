//! The events of a history: their order, and their positions in cursors.

use std::cmp::Ordering;

use bytes::Bytes;

use super::{History, HistoryRequest, Link};
use crate::source::cell::date_of;
use crate::{CursorPosition, Dataset, SortValue};

/// An identifier that sorts after all others.
const AFTER_ALL: &str = "\u{10ffff}";

toise_base::named! {
    /// The kind of an event. Events of one day have the order of their kinds, whose numbers are in cursors.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum EventKind {
        /// A recorded sale.
        Sale = "SALE",
        /// An energy diagnostic.
        Diagnostic = "DIAGNOSTIC",
        /// A property that was seen for the first time.
        Property = "PROPERTY",
        /// An advert that was seen for the first time.
        Advert = "ADVERT",
    }
}

impl EventKind {
    /// Returns the kind of the records of a table.
    pub fn of(dataset: Dataset) -> Self {
        match dataset {
            Dataset::Dvf => Self::Sale,
            Dataset::Dpe => Self::Diagnostic,
        }
    }
}

/// An event: a record, and the day that it is about.
#[derive(Clone, Debug)]
pub struct Event {
    /// The kind of event.
    pub kind: EventKind,
    /// Day of the sale, day on which the diagnostic was established, or day of the first sighting; days since
    /// 1970-01-01.
    pub day: Option<i32>,
    /// Why it belongs to the place.
    pub link: Link,
    /// How likely it is that a diagnostic that names no building belongs to this one, 0 to 1, two decimals. `None` for
    /// any other event.
    pub score: Option<f64>,
    /// Identifier of the record.
    pub id: String,
    /// The record as JSON text.
    pub record: Bytes,
}

impl Event {
    /// Returns the date in the contract's format.
    pub fn date(&self) -> Option<String> {
        self.day
            .map(|day| format!("{}T00:00:00.000Z", date_of(day)))
    }

    /// Returns the sort key: by day, then by kind, then by identifier; events without a day come last.
    fn order(&self) -> (bool, Option<i32>, u8, &str) {
        (self.day.is_none(), self.day, self.kind as u8, &self.id)
    }

    /// Returns the position of the event, as a cursor carries it.
    fn position(&self) -> CursorPosition {
        CursorPosition {
            value: self.day.map(SortValue::Day),
            id: format!("{}{}", self.kind as u8, self.id),
            state: None,
        }
    }

    /// Returns whether the event comes after a position.
    fn is_after(&self, position: &CursorPosition) -> bool {
        let day = match &position.value {
            Some(SortValue::Day(day)) => Some(*day),
            _ => None,
        };
        let (kind, id) = position.id.split_at_checked(1).unwrap_or_default();
        self.order() > (day.is_none(), day, kind.parse().unwrap_or_default(), id)
    }
}

impl History {
    /// Adds events of other tables to the page that answers `request`. `events` are all those of the place, on any page.
    pub fn add(&mut self, request: &HistoryRequest, events: Vec<Event>) {
        self.total += events.len() as u64;
        let after = request.after.as_ref();
        let is_here = |event: &Event| after.is_none_or(|after| event.is_after(after));
        self.events.extend(events.into_iter().filter(is_here));
        self.next = cut(&mut self.events, request.size, self.next.is_some());
    }
}

/// Sorts events and keeps the first ones, as many as a page has. Returns the position at which the next page continues;
/// `has_more` says that there are events after these.
pub(super) fn cut(events: &mut Vec<Event>, size: usize, has_more: bool) -> Option<CursorPosition> {
    events.sort_by(|one, other| one.order().cmp(&other.order()));
    let has_more = has_more || events.len() > size;
    events.truncate(size);
    events.last().filter(|_| has_more).map(Event::position)
}

/// Returns the position in a table's records after which its events later than `event` start.
pub(super) fn after_in(dataset: Dataset, event: &CursorPosition) -> CursorPosition {
    let (of_last, id) = event.id.split_at_checked(1).unwrap_or_default();
    let own = (EventKind::of(dataset) as u8).to_string();
    let id = match own.as_str().cmp(of_last) {
        Ordering::Less => AFTER_ALL,
        Ordering::Equal => id,
        Ordering::Greater => "",
    };
    CursorPosition {
        value: event.value.clone(),
        id: id.to_owned(),
        state: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Place, PlaceFacts};

    fn event(kind: EventKind, day: Option<i32>, id: &str) -> Event {
        Event {
            kind,
            day,
            link: Link::Address,
            score: None,
            id: id.to_owned(),
            record: Bytes::new(),
        }
    }

    /// Reads all pages of a history of sales to which listings are added; returns the identifiers and each total.
    fn pages(size: usize, sales: &[Event], listed: &[Event]) -> (Vec<String>, Vec<u64>) {
        let (mut ids, mut totals, mut after) = (Vec::new(), Vec::new(), None);
        loop {
            let request = HistoryRequest {
                place: Place::parcel("48095000AB0001").unwrap(),
                size,
                after: after.take(),
            };
            let is_later = |sale: &&Event| {
                let after = request.after.as_ref();
                after.is_none_or(|after| sale.is_after(after))
            };
            let mut events: Vec<Event> = sales.iter().filter(is_later).cloned().collect();
            let next = cut(&mut events, size, false);
            let mut page = History {
                place: PlaceFacts::default(),
                events,
                total: sales.len() as u64,
                next,
            };
            page.add(&request, listed.to_vec());
            ids.extend(page.events.into_iter().map(|event| event.id));
            totals.push(page.total);
            match page.next {
                Some(next) => after = Some(next),
                None => return (ids, totals),
            }
        }
    }

    #[test]
    fn listings_are_among_the_records_of_open_data_on_pages_of_any_size() {
        let sales = [
            event(EventKind::Sale, Some(10), "a"),
            event(EventKind::Sale, Some(20), "b"),
            event(EventKind::Diagnostic, Some(20), "c"),
            event(EventKind::Sale, Some(40), "d"),
            event(EventKind::Diagnostic, None, "e"),
        ];
        let listed = [
            event(EventKind::Advert, Some(20), "h"),
            event(EventKind::Property, Some(20), "g"),
            event(EventKind::Advert, Some(30), "f"),
            event(EventKind::Advert, None, "z"),
        ];
        for size in 1..=10 {
            let (ids, totals) = pages(size, &sales, &listed);
            assert_eq!(ids.concat(), "abcghfdez", "{size}");
            assert!(totals.iter().all(|total| *total == 9), "{size}");
            assert_eq!(totals.len(), 9_usize.div_ceil(size));
        }
    }
}
