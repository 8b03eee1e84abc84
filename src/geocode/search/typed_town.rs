//! Looks up a street in all towns that the end of a query begins to name, while it is being typed.
//!
//! Thousands of towns begin with `Saint`, and readings hold only the largest of them. This search begins with the
//! street instead and keeps the streets in such towns. It takes milliseconds over all of France.

use super::align::StreetQuery;
use super::elsewhere::{Misspelled, evidence_elsewhere};
use super::likenesses::Likenesses;
use super::query::{Agreement, Query, QueryContext, Reading, bit, is_within};
use super::{Candidate, Geocoder, SearchRequest, candidate};
use crate::places;

impl Geocoder {
    /// Looks up the street in the towns whose names begin with the last words of the query.
    pub(super) fn read_begun_towns(
        &self,
        query: &Query,
        narrowing: &QueryContext<'_>,
        request: &SearchRequest,
        likenesses: &mut Likenesses,
        candidates: &mut Vec<Candidate>,
    ) {
        let is_begun = |one: &&Reading| one.is_prefix && one.postal_code == Agreement::Absent;
        let begun = query.readings.iter().filter(is_begun);
        let Some(longest) = begun.max_by_key(|one| one.used.count_ones()) else {
            return;
        };
        // The words may as well belong to the street, so they are no evidence for a town.
        let reading = Reading {
            places: Vec::new(),
            evidence: evidence_elsewhere(0.0),
            ..longest.clone()
        };
        let named = query.tokens.iter().enumerate();
        let named = named.filter(|(at, _)| reading.used & bit(*at) != 0);
        let towns = places::begun(&places::key(named.map(|(_, token)| token.text.as_str())));
        let allowed = narrowing.places.as_ref();
        let is_allowed = |place: u32| {
            towns.contains(&place) && allowed.is_none_or(|allowed| is_within(place, allowed))
        };
        let described = StreetQuery::new(query, &reading, false);
        let found = self.streets_with_rarest(
            &described,
            likenesses,
            request,
            0,
            Misspelled::Unknown,
            is_allowed,
        );
        let begin = candidates.len();
        for (number, street) in found {
            let view = self.segments[number].words_view();
            if let Some(fit) = described.fit(likenesses, &view, number, street, 0.0) {
                candidates.push(candidate(number, street, fit, &reading));
            }
        }
        self.keep_first(query, &reading, request, candidates, begin);
        self.finish_streets(query, &reading, request, candidates, begin);
    }
}
