//! Sessions of the console: a browser that sent a key once is identified by a cookie for 8 hours.
//!
//! A session holds the text of its key, only in memory. The key is verified with every request, so a revoked key ends
//! its sessions immediately. Scripts cannot read the cookie, and it is never sent from another site. In addition, a
//! call that changes something must carry the session's token in a header, which no other site can know. Sessions end
//! with the process. Their lifetime is measured by the monotonic clock, so setting the system clock forward does not
//! end them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use rand::distr::{Alphanumeric, SampleString};
use subtle::ConstantTimeEq;
use uuid::Uuid;
use warp::http::header::COOKIE;
use warp::http::{HeaderMap, Method};

use super::error::ApiError;
use toise_base::clock::Clock;

/// Name of the cookie.
pub const COOKIE_NAME: &str = "toise_session";
/// Header with the token of the session.
pub const TOKEN_HEADER: &str = "x-console-token";
/// How long a session lasts.
pub const SESSION_LASTS: Duration = Duration::from_secs(8 * 3_600);
/// How long a code can be exchanged for a session.
const CODE_LASTS: Duration = Duration::from_secs(15 * 60);
/// Maximum number of sessions; a new one replaces the one that ends first.
const SESSIONS_MAX: usize = 10_000;
/// Maximum number of sessions of a key; a new one replaces the one of the key that ends first.
const SESSIONS_OF_KEY_MAX: usize = 20;
/// Maximum number of codes that can be redeemed at a time.
const CODES_MAX: usize = 100;
/// Random characters of cookies, tokens and codes.
const SECRET_CHARS: usize = 43;

/// The sessions of a process. Cheap to clone.
#[derive(Clone)]
pub struct Sessions {
    clock: Clock,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    sessions: HashMap<String, Session>,
    /// The key of each code, and the time until which the code can be exchanged (monotonic).
    codes: HashMap<String, (String, Duration)>,
}

struct Session {
    key_id: Uuid,
    key: String,
    token: String,
    /// When it ends, monotonic time.
    until: Duration,
    /// When it ends, by the wall clock, as reported to the client.
    ends_at: DateTime<Utc>,
}

impl State {
    /// Removes the session that ends first, among those of a key or among all.
    fn end_first(&mut self, key_id: Option<Uuid>) {
        let sessions = self.sessions.iter();
        let sessions = sessions.filter(|(_, of)| key_id.is_none_or(|key_id| of.key_id == key_id));
        let first = sessions.min_by_key(|(_, of)| of.until);
        if let Some(first) = first.map(|(cookie, _)| cookie.clone()) {
            self.sessions.remove(&first);
        }
    }
}

/// A session that was just begun.
#[derive(Debug)]
pub struct NewSession {
    /// Value of the cookie.
    pub cookie: String,
    /// The token that calls which change something must carry in [`TOKEN_HEADER`].
    pub token: String,
    /// When it ends.
    pub ends_at: DateTime<Utc>,
}

impl Sessions {
    /// Creates an empty set of sessions.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            state: Arc::default(),
        }
    }

    /// Creates a code that [`Self::redeem`] exchanges once for the key. If `CODES_MAX` codes are open already, the new
    /// code cannot be exchanged.
    pub fn code_for(&self, key: &str) -> String {
        let code = random_text();
        let now = self.clock.monotonic();
        let mut state = self.state.lock();
        state.codes.retain(|_, (_, until)| *until > now);
        if state.codes.len() < CODES_MAX {
            state
                .codes
                .insert(code.clone(), (key.to_owned(), now + CODE_LASTS));
        }
        code
    }

    /// Returns the key of a code and invalidates the code; `None` if the code is unknown or expired.
    pub fn redeem(&self, code: &str) -> Option<String> {
        let (key, until) = self.state.lock().codes.remove(code)?;
        (until > self.clock.monotonic()).then_some(key)
    }

    /// Begins a session for a key that was verified.
    pub fn begin(&self, key_id: Uuid, key: String) -> NewSession {
        let (cookie, token) = (random_text(), random_text());
        let now = self.clock.monotonic();
        let ends_at = self.clock.now() + SESSION_LASTS;
        let mut state = self.state.lock();
        state.sessions.retain(|_, session| session.until > now);
        let of_key = state.sessions.values();
        let of_key = of_key.filter(|session| session.key_id == key_id).count();
        if of_key >= SESSIONS_OF_KEY_MAX {
            state.end_first(Some(key_id));
        } else if state.sessions.len() >= SESSIONS_MAX {
            state.end_first(None);
        }
        let session = Session {
            key_id,
            key,
            token: token.clone(),
            until: now + SESSION_LASTS,
            ends_at,
        };
        state.sessions.insert(cookie.clone(), session);
        NewSession {
            cookie,
            token,
            ends_at,
        }
    }

    /// Ends the session of a request, if it has one.
    pub fn end(&self, headers: &HeaderMap) {
        if let Some(cookie) = cookie(headers) {
            self.state.lock().sessions.remove(cookie);
        }
    }

    /// Returns the token and the end of the session of a request, if it has one.
    pub fn of(&self, headers: &HeaderMap) -> Option<(String, DateTime<Utc>)> {
        let state = self.state.lock();
        let session = state.sessions.get(cookie(headers)?)?;
        let lasts = session.until > self.clock.monotonic();
        lasts.then(|| (session.token.clone(), session.ends_at))
    }

    /// Returns the key of the session of a request; `None` without a session.
    ///
    /// # Errors
    /// The call changes something and does not carry the token.
    pub fn key(&self, method: &Method, headers: &HeaderMap) -> Result<Option<String>, ApiError> {
        let Some(cookie) = cookie(headers) else {
            return Ok(None);
        };
        let state = self.state.lock();
        let found = state.sessions.get(cookie);
        let Some(session) = found.filter(|session| session.until > self.clock.monotonic()) else {
            return Ok(None);
        };
        let changes = !matches!(*method, Method::GET | Method::HEAD);
        let token = headers
            .get(TOKEN_HEADER)
            .map_or(&[][..], |value| value.as_bytes());
        if changes && !bool::from(token.ct_eq(session.token.as_bytes())) {
            return Err(ApiError::Unauthorised(
                "of a console session needs the header x-console-token",
            ));
        }
        Ok(Some(session.key.clone()))
    }
}

/// Returns random text with as many random bits as a key has, from the same generator.
fn random_text() -> String {
    Alphanumeric.sample_string(&mut rand::rng(), SECRET_CHARS)
}

/// Returns the session cookie of a request.
fn cookie(headers: &HeaderMap) -> Option<&str> {
    let lists = headers.get_all(COOKIE).iter();
    lists
        .filter_map(|list| list.to_str().ok())
        .flat_map(|list| list.split(';'))
        .find_map(|pair| pair.trim().strip_prefix(COOKIE_NAME)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(cookie: &str, token: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(
            COOKIE,
            format!("other=1; {COOKIE_NAME}={cookie}").parse().unwrap(),
        );
        if let Some(token) = token {
            headers.insert(TOKEN_HEADER, token.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_session_reads_with_its_cookie_and_changes_with_its_token() {
        let clock = Clock::steered(DateTime::UNIX_EPOCH);
        let sessions = Sessions::new(clock.clone());
        let new = sessions.begin(Uuid::now_v7(), "key".into());
        let key = |method: Method, headers: &HeaderMap| sessions.key(&method, headers);
        assert_eq!(
            key(Method::GET, &with(&new.cookie, None))
                .unwrap()
                .as_deref(),
            Some("key")
        );
        assert_eq!(key(Method::GET, &with("made-up", None)).unwrap(), None);
        assert_eq!(key(Method::GET, &HeaderMap::new()).unwrap(), None);
        assert!(key(Method::POST, &with(&new.cookie, None)).is_err());
        assert!(key(Method::DELETE, &with(&new.cookie, Some("made-up"))).is_err());
        let headers = with(&new.cookie, Some(&new.token));
        assert_eq!(key(Method::POST, &headers).unwrap().as_deref(), Some("key"));
        clock.advance_ms(9 * 3_600_000);
        assert_eq!(key(Method::POST, &headers).unwrap(), None);
    }

    #[test]
    fn a_key_ends_no_sessions_but_its_own_and_a_clock_that_jumps_ends_none() {
        let clock = Clock::steered(DateTime::UNIX_EPOCH);
        let sessions = Sessions::new(clock.clone());
        let (modest, greedy) = (Uuid::now_v7(), Uuid::now_v7());
        let lasts = |new: &NewSession| sessions.of(&with(&new.cookie, None)).is_some();
        let one = sessions.begin(modest, "modest".into());
        let code = sessions.code_for("modest");
        let many: Vec<NewSession> = (0..SESSIONS_MAX + 1)
            .map(|_| {
                clock.advance_ms(1);
                sessions.begin(greedy, "greedy".into())
            })
            .collect();
        assert!(lasts(&one));
        let left = many.iter().filter(|new| lasts(new)).count();
        assert_eq!(left, SESSIONS_OF_KEY_MAX);
        assert!(many[many.len() - SESSIONS_OF_KEY_MAX..].iter().all(lasts));
        clock.jump_ms(24 * 3_600_000);
        let again = sessions.begin(modest, "modest".into());
        assert!(lasts(&one) && lasts(&again));
        assert_eq!(sessions.redeem(&code).as_deref(), Some("modest"));
    }

    #[test]
    fn a_code_works_once_and_not_for_long() {
        let clock = Clock::steered(DateTime::UNIX_EPOCH);
        let sessions = Sessions::new(clock.clone());
        let code = sessions.code_for("key");
        assert_eq!(sessions.redeem(&code).as_deref(), Some("key"));
        assert_eq!(sessions.redeem(&code), None);
        let late = sessions.code_for("key");
        clock.advance_ms(16 * 60_000);
        assert_eq!(sessions.redeem(&late), None);
    }
}
