//! Cursors: the position at which a page of results ended, passed to the client as an opaque, signed text.
//!
//! A cursor contains the sort value and id of the last row and the number of the search snapshot that it was read from.
//! A truncated HMAC-SHA256 covers these and a digest of the query (table, filters, sort column and order; not the page
//! size). A cursor is valid only with the key of the store that issued it, for the same account and the same query. A
//! client can therefore neither forge a position nor use a cursor of another account or query.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest as _, Sha256};

use super::filter::{Clause, ClauseTest, Filter, LayerRelation};
use super::position::{CursorPosition, SortValue};

/// Length of the truncated signature, in bytes: forging one takes 2^128 attempts.
const SIGNATURE_BYTES: usize = 16;
/// Maximum length of a cursor, in characters; ids and sort values are far shorter.
const CURSOR_CHARS_MAX: usize = 2_048;
/// Separates these signatures from other uses of the key, and gives the version of the layout.
const CONTEXT: &[u8] = b"toise cursor 4";

/// Digest of a query: equal queries have equal digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QueryDigest([u8; 32]);

/// The error for a cursor that is invalid or belongs to another query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be the cursor of a previous response to the same query")]
pub struct CursorFault;

/// Signs and verifies cursors.
#[derive(Clone)]
pub struct CursorKey {
    signer: Hmac<Sha256>,
}

impl std::fmt::Debug for CursorKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("CursorKey(…)")
    }
}

impl CursorKey {
    /// Creates a key from 256 secret bits.
    pub fn new(secret: [u8; 32]) -> Self {
        // A SHA-256 block accepts the secret as it is, so no fallible length check is needed.
        let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
        block[..secret.len()].copy_from_slice(&secret);
        Self {
            signer: Hmac::new(&block),
        }
    }

    /// Returns the key for cursors of one owner, such as an account. Cursors of other owners are invalid with it.
    pub fn of_owner(&self, owner: &[u8; 16]) -> Self {
        let mut signer = self.signer.clone();
        signer.update(owner);
        Self { signer }
    }

    /// Encodes a position in the results of a query as a cursor.
    pub fn encode(&self, position: &CursorPosition, digest: &QueryDigest) -> String {
        let mut bytes = Vec::with_capacity(32 + position.id.len() + SIGNATURE_BYTES);
        match position.state {
            None => bytes.push(0),
            Some(state) => {
                bytes.push(1);
                bytes.extend_from_slice(&state.to_le_bytes());
            }
        }
        match &position.value {
            None => bytes.push(b'0'),
            Some(SortValue::Number(number)) => {
                bytes.push(b'n');
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            Some(SortValue::Day(day)) => {
                bytes.push(b'd');
                bytes.extend_from_slice(&day.to_le_bytes());
            }
            Some(SortValue::Text(text)) => {
                bytes.push(b't');
                bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
                bytes.extend_from_slice(text.as_bytes());
            }
        }
        bytes.extend_from_slice(position.id.as_bytes());
        let signature = self.signed(&bytes, digest).finalize().into_bytes();
        bytes.extend_from_slice(&signature[..SIGNATURE_BYTES]);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Verifies and decodes a cursor that was issued for the same query with the same key.
    pub fn decode(
        &self,
        cursor: &str,
        digest: &QueryDigest,
    ) -> Result<CursorPosition, CursorFault> {
        if cursor.len() > CURSOR_CHARS_MAX {
            return Err(CursorFault);
        }
        let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| CursorFault)?;
        let payload_bytes = bytes
            .len()
            .checked_sub(SIGNATURE_BYTES)
            .ok_or(CursorFault)?;
        let (payload, signature) = bytes.split_at(payload_bytes);
        self.signed(payload, digest)
            .verify_truncated_left(signature)
            .map_err(|_| CursorFault)?;
        read_position(payload).ok_or(CursorFault)
    }

    fn signed(&self, payload: &[u8], digest: &QueryDigest) -> Hmac<Sha256> {
        let mut signer = self.signer.clone();
        signer.update(CONTEXT);
        signer.update(&digest.0);
        signer.update(payload);
        signer
    }
}

fn read_position(payload: &[u8]) -> Option<CursorPosition> {
    let (has_state, payload) = payload.split_first()?;
    let (state, payload) = match has_state {
        0 => (None, payload),
        _ => {
            let (state, rest) = payload.split_first_chunk()?;
            (Some(u64::from_le_bytes(*state)), rest)
        }
    };
    let (tag, rest) = payload.split_first()?;
    let (value, id) = match tag {
        b'0' => (None, rest),
        b'n' => {
            let (number, id) = rest.split_first_chunk()?;
            (Some(SortValue::Number(f64::from_le_bytes(*number))), id)
        }
        b'd' => {
            let (day, id) = rest.split_first_chunk()?;
            (Some(SortValue::Day(i32::from_le_bytes(*day))), id)
        }
        b't' => {
            let (length, rest) = rest.split_first_chunk()?;
            let (text, id) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            let text = String::from_utf8(text.to_vec()).ok()?;
            (Some(SortValue::Text(text)), id)
        }
        _ => return None,
    };
    Some(CursorPosition {
        value,
        id: String::from_utf8(id.to_vec()).ok()?,
        state,
    })
}

/// Returns the digest of a query; it does not depend on the order of filters, of alternatives and of values in a list.
pub fn query_digest(table: &str, filter: &Filter, sort_by: &str, descending: bool) -> QueryDigest {
    text_query_digest(table, filter, sort_by, descending, [&[], &[]])
}

/// Returns the digest of a query that also has texts: keywords that must all occur, and terms of which at least one
/// must occur.
pub fn text_query_digest(
    table: &str,
    filter: &Filter,
    sort_by: &str,
    descending: bool,
    texts: [&[String]; 2],
) -> QueryDigest {
    let mut head = Vec::new();
    write_text(&mut head, table);
    write_text(&mut head, sort_by);
    head.push(u8::from(descending));
    let mut hasher = Sha256::new();
    hasher.update(&head);
    for clause in canonical(filter) {
        hasher.update((clause.len() as u64).to_le_bytes());
        hasher.update(clause);
    }
    if texts.iter().any(|texts| !texts.is_empty()) {
        let mut bytes = Vec::new();
        for texts in texts {
            write_texts(&mut bytes, texts);
        }
        hasher.update(bytes);
    }
    QueryDigest(hasher.finalize().into())
}

/// Returns the clauses of a filter as bytes, in a canonical order.
fn canonical(filter: &Filter) -> Vec<Vec<u8>> {
    let clause = |clause: &Clause| {
        let mut bytes = Vec::new();
        write_text(&mut bytes, &clause.column);
        write_test(&mut bytes, &clause.test);
        bytes
    };
    let mut clauses: Vec<Vec<u8>> = filter.iter().map(clause).collect();
    clauses.sort();
    clauses
}

fn write_filter(bytes: &mut Vec<u8>, filter: &Filter) {
    bytes.extend_from_slice(&(filter.len() as u64).to_le_bytes());
    for clause in canonical(filter) {
        bytes.extend_from_slice(&clause);
    }
}

fn write_texts(bytes: &mut Vec<u8>, texts: &[String]) {
    let mut texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    texts.sort_unstable();
    bytes.extend_from_slice(&(texts.len() as u64).to_le_bytes());
    for text in texts {
        write_text(bytes, text);
    }
}

fn write_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

/// Writes whether each bound exists, and its bytes if it does.
fn write_bounds<const LENGTH: usize>(bytes: &mut Vec<u8>, bounds: [Option<[u8; LENGTH]>; 2]) {
    for bound in bounds {
        bytes.push(u8::from(bound.is_some()));
        bytes.extend(bound.into_iter().flatten());
    }
}

/// Writes numbers; -0 and 0 are the same.
fn write_numbers<const COUNT: usize>(bytes: &mut Vec<u8>, numbers: [f64; COUNT]) {
    for number in numbers {
        bytes.extend_from_slice(&(number + 0.0).to_le_bytes());
    }
}

fn write_test(bytes: &mut Vec<u8>, test: &ClauseTest) {
    match test {
        ClauseTest::Number { min, max } => {
            bytes.push(b'n');
            // -0 and 0 are the same bound.
            let canonical = |bound: f64| (bound + 0.0).to_le_bytes();
            write_bounds(bytes, [min, max].map(|bound| bound.map(canonical)));
        }
        ClauseTest::Day { from, to } => {
            bytes.push(b'd');
            write_bounds(bytes, [from, to].map(|bound| bound.map(i32::to_le_bytes)));
        }
        ClauseTest::OneOf(texts) => {
            bytes.push(b't');
            write_texts(bytes, texts);
        }
        ClauseTest::Moment { from, to } => {
            bytes.push(b'm');
            write_bounds(bytes, [from, to].map(|bound| bound.map(i64::to_le_bytes)));
        }
        ClauseTest::Is(flag) => bytes.extend_from_slice(&[b'f', u8::from(*flag)]),
        ClauseTest::Within { lat, lon, radius_m } => {
            bytes.push(b'w');
            write_numbers(bytes, [*lat, *lon, *radius_m]);
        }
        ClauseTest::InBox {
            top,
            left,
            bottom,
            right,
        } => {
            bytes.push(b'b');
            write_numbers(bytes, [*top, *left, *bottom, *right]);
        }
        ClauseTest::InArea(area) => {
            bytes.push(b'p');
            write_texts(bytes, &[area.to_geojson()]);
        }
        ClauseTest::InLayer(test) => {
            // Not the version: a cursor stays valid when the layer is replaced.
            bytes.push(b'l');
            write_text(bytes, &test.name);
            match test.relation {
                LayerRelation::Inside => bytes.push(b'i'),
                LayerRelation::Outside => bytes.push(b'o'),
                LayerRelation::Within { meters } => {
                    bytes.push(b'w');
                    write_numbers(bytes, [meters]);
                }
            }
        }
        ClauseTest::Any(filters) => {
            bytes.push(b'a');
            let mut alternatives: Vec<Vec<u8>> = filters
                .iter()
                .map(|filter| {
                    let mut bytes = Vec::new();
                    write_filter(&mut bytes, filter);
                    bytes
                })
                .collect();
            alternatives.sort();
            bytes.extend_from_slice(&(alternatives.len() as u64).to_le_bytes());
            for alternative in alternatives {
                bytes.extend_from_slice(&(alternative.len() as u64).to_le_bytes());
                bytes.extend_from_slice(&alternative);
            }
        }
        ClauseTest::SomeItem(filter) => {
            bytes.push(b's');
            write_filter(bytes, filter);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(sort_by: &str) -> QueryDigest {
        query_digest("dvf", &Filter::new(), sort_by, true)
    }

    #[test]
    fn every_kind_of_position_survives_the_round_trip() {
        let key = CursorKey::new([1; 32]);
        for value in [
            None,
            Some(SortValue::Number(-12.5)),
            Some(SortValue::Day(-3)),
            Some(SortValue::Text("très bonne".into())),
        ] {
            let position = CursorPosition {
                value,
                id: "2148E0012345A".into(),
                state: None,
            };
            for state in [None, Some(u64::MAX - 1)] {
                let position = CursorPosition {
                    state,
                    ..position.clone()
                };
                let cursor = key.encode(&position, &digest("id"));
                assert_eq!(key.decode(&cursor, &digest("id")), Ok(position));
            }
        }
    }

    #[test]
    fn other_alternatives_or_texts_give_other_digests() {
        let one = |column: &'static str| vec![Clause::new(column, ClauseTest::Is(true))];
        let any = |filters: Vec<Filter>| vec![Clause::new("", ClauseTest::Any(filters))];
        let of = |filter: &Filter| query_digest("properties", filter, "flx_id", true);
        assert_eq!(
            of(&any(vec![one("a"), one("b")])),
            of(&any(vec![one("b"), one("a")]))
        );
        assert_ne!(
            of(&any(vec![one("a"), one("b")])),
            of(&any(vec![one("a"), one("c")]))
        );
        let both = [one("a"), one("b")].concat();
        assert_ne!(
            of(&any(vec![both.clone(), one("c")])),
            of(&any(vec![one("a"), one("b"), one("c")]))
        );
        assert_ne!(
            of(&both),
            of(&vec![Clause::new("a", ClauseTest::SomeItem(both.clone()))])
        );
        let with = |keywords: &[String], any: &[String]| {
            text_query_digest("properties", &both, "flx_id", true, [keywords, any])
        };
        let texts = ["mer".to_owned()];
        assert_ne!(with(&texts, &[]), with(&[], &texts));
        assert_eq!(with(&[], &[]), of(&both));
    }

    #[test]
    fn a_changed_cursor_another_key_or_another_query_is_refused() {
        let key = CursorKey::new([1; 32]);
        let position = CursorPosition {
            value: Some(SortValue::Day(1)),
            id: "a".into(),
            state: Some(3),
        };
        let cursor = key.encode(&position, &digest("id"));
        for place in 0..cursor.len() {
            let mut changed = cursor.clone().into_bytes();
            changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(key.decode(&changed, &digest("id")), Err(CursorFault));
        }
        assert!(
            CursorKey::new([2; 32])
                .decode(&cursor, &digest("id"))
                .is_err()
        );
        assert!(key.decode(&cursor, &digest("price_eur")).is_err());
        for text in ["", "é", "AAAA", &"A".repeat(3_000)] {
            assert!(key.decode(text, &digest("id")).is_err());
        }
    }

    proptest::proptest! {
        #[test]
        fn any_payload_is_a_position_or_refused(
            state in 0_u8..3, tag in proptest::sample::select(vec![b'0', b'n', b'd', b't', b'x']),
            rest in proptest::collection::vec(proptest::num::u8::ANY, 0..40),
        ) {
            for payload in [rest.clone(), [&[state, tag][..], &rest].concat(), [&[0, tag][..], &rest].concat()] {
                read_position(&payload);
            }
        }
    }
}
