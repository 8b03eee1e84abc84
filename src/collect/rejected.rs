//! Rejections of URLs: a code and its details, written as one string in the store and in responses.

use std::fmt;

use super::extract::Rejection;

toise_base::named! {
    /// Code of a rejection.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RejectionCode {
        /// The listing is offline.
        Gone = "gone",
        /// The page holds no listing, or several.
        NotAListing = "not_a_listing",
        /// `robots.txt` forbids the request.
        Robots = "robots",
        /// The address, or one it leads to, is not public.
        NotPublic = "not_public",
        /// The portal is not one of those covered.
        NotCovered = "not_covered",
        /// The page requires a login.
        LoginRequired = "login_required",
        /// The portal refuses the request or blocks programs.
        Refused = "refused",
        /// There is a redirect loop, or there are too many redirects.
        Redirects = "redirects",
        /// The page is larger than any listing.
        TooLarge = "too_large",
        /// The response is not a page.
        Unparsable = "unparsable",
        /// The portal could not be reached.
        Unreachable = "unreachable",
    }
}

impl RejectionCode {
    /// Returns the meaning of the code, as the API's description states it.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Gone => "the listing is offline; if its advert was known, it is now offline too",
            Self::NotAListing => "the page contains no listing, or several",
            Self::Robots => "the portal's robots.txt forbids it",
            Self::NotPublic => "the address, or one that it redirects to, is not public",
            Self::NotCovered => "the portal is not covered by this service",
            Self::LoginRequired => "the page requires a login",
            Self::Refused => "the portal refuses the request, or blocks programs",
            Self::Redirects => "the redirects form a loop, or are too many",
            Self::TooLarge => "the page is larger than any listing",
            Self::Unparsable => "the answer is not a web page",
            Self::Unreachable => "the portal could not be reached, even after several attempts",
        }
    }
}

/// Reason why a URL was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    code: Option<RejectionCode>,
    text: String,
}

impl Rejected {
    /// Creates a rejection from a code and its details.
    pub fn new(code: RejectionCode, why: impl fmt::Display) -> Self {
        Self {
            code: Some(code),
            text: format!("{}: {why}", code.as_str()),
        }
    }

    /// Reads a rejection from its text in the store.
    pub fn stored(text: String) -> Self {
        let word = text.split_once(": ").map(|(word, _)| word);
        Self {
            code: word.and_then(RejectionCode::parse),
            text,
        }
    }

    /// Returns the code; `None` if another version stored a code that is not known here.
    pub fn code(&self) -> Option<RejectionCode> {
        self.code
    }

    /// Returns the text: the code's word, a colon and the details.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl From<&Rejection> for Rejected {
    fn from(rejection: &Rejection) -> Self {
        let code = match rejection {
            Rejection::Unparsable(_) => RejectionCode::Unparsable,
            Rejection::LoginRequired => RejectionCode::LoginRequired,
            Rejection::BotWall => RejectionCode::Refused,
            Rejection::NotAListing(_) => RejectionCode::NotAListing,
        };
        Self {
            code: Some(code),
            text: rejection.to_string(),
        }
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejection_comes_back_from_the_store_with_its_code() {
        for code in RejectionCode::ALL {
            let rejected = Rejected::new(code, "why: not");
            assert_eq!(Rejected::stored(rejected.to_string()), rejected);
        }
        for rejection in [
            Rejection::Unparsable("empty".into()),
            Rejection::LoginRequired,
            Rejection::BotWall,
            Rejection::NotAListing("two".into()),
        ] {
            let rejected = Rejected::from(&rejection);
            assert_eq!(Rejected::stored(rejected.to_string()), rejected);
        }
        let unknown = Rejected::stored("moon: full".into());
        assert_eq!((unknown.code(), unknown.as_str()), (None, "moon: full"));
    }
}
