//! The identity of an advert: its URL on the portal, without the parts that do not identify it.
//!
//! `http://www.portail.example/annonce/12/?utm_source=mail#photos` and `https://m.portail.example/annonce/12` are one
//! advert. Ignored: scheme, case of the host, `www.` and `m.`, the default port, tracking parameters, the order of the
//! others, the fragment, trailing slashes, the spelling of percent-escapes. The case of the path is significant.
//!
//! A portal may have additional rules, such as search parameters that its URLs carry along ([`IdentityRules`]). They
//! apply to every advert, whether it is ingested, loaded in bulk or collected.

use std::collections::HashMap;

use url::Url;

/// Maximum length of an advert's URL, in bytes.
pub const URL_BYTES_MAX: usize = 2_048;

/// The rule that an advert's URL must follow, as error messages quote it.
pub const URL_RULE: &str =
    "must be an http or https address of at most 2048 bytes, without user name";

/// Host prefixes that do not change the portal.
const HOST_PREFIXES: [&str; 2] = ["www.", "m."];

/// Prefixes of the names of tracking parameters.
const TRACKING_PREFIXES: [&str; 9] = [
    "utm_", "at_", "mtm_", "pk_", "mc_", "_hs", "hsa_", "matomo_", "piwik_",
];

/// Full names of tracking parameters.
const TRACKING_NAMES: [&str; 21] = [
    "gclid", "gclsrc", "gbraid", "wbraid", "dclid", "fbclid", "msclkid", "yclid", "twclid",
    "ttclid", "li_fat_id", "igshid", "igsh", "srsltid", "epik", "ef_id", "s_kwcid", "xtor",
    "cmpid", "_ga", "_gl",
];

/// Stands for every parameter in [`UrlRules::ignore_parameters`].
const EVERY_PARAMETER: &str = "*";

/// Rules for the parameters of a portal's URLs, in addition to the rules for all portals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UrlRules {
    /// Parameters that do not identify the listing; `*` for all.
    pub ignore_parameters: Vec<String>,
    /// The only parameters that identify the listing; empty for all.
    pub only_parameters: Vec<String>,
}

impl UrlRules {
    /// Returns whether a parameter identifies the listing.
    pub fn keeps(&self, parameter: &str) -> bool {
        let is_in = |names: &[String]| names.iter().any(|name| name == parameter);
        let is_ignored = self
            .ignore_parameters
            .iter()
            .any(|name| name == EVERY_PARAMETER || name == parameter);
        !is_ignored && (self.only_parameters.is_empty() || is_in(&self.only_parameters))
    }
}

/// The additional rules of portals, by host; may be empty.
#[derive(Clone, Debug, Default)]
pub struct IdentityRules {
    by_host: HashMap<String, UrlRules>,
}

impl IdentityRules {
    /// Collects the rules of hosts; `www.` and `m.` are implied.
    pub fn new(rules: impl IntoIterator<Item = (String, UrlRules)>) -> Self {
        let by_host = rules
            .into_iter()
            .map(|(host, rules)| (bare_host(&host).to_owned(), rules));
        Self {
            by_host: by_host.collect(),
        }
    }

    /// Parses a URL with the rules of its portal; `None` if it breaks [`URL_RULE`].
    pub fn parse(&self, text: &str) -> Option<ListingUrl> {
        ListingUrl::parse_with(text, |host| self.by_host.get(bare_host(host)))
    }
}

/// Returns a host without leading labels such as `www.`, which name the same portal.
pub fn bare_host(host: &str) -> &str {
    let mut host = host.trim_end_matches('.');
    for prefix in HOST_PREFIXES {
        // `m.fr` is a host, not the mobile version of `fr`.
        if let Some(rest) = host.strip_prefix(prefix).filter(|rest| rest.contains('.')) {
            host = rest;
        }
    }
    host
}

/// The parsed URL of an advert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListingUrl {
    key: String,
    address: String,
}

impl ListingUrl {
    /// Parses a URL with the rules for all portals only; `None` if it breaks [`URL_RULE`].
    pub fn parse(text: &str) -> Option<Self> {
        Self::parse_with(text, |_| None)
    }

    fn parse_with<'r>(
        text: &str,
        rules: impl FnOnce(&str) -> Option<&'r UrlRules>,
    ) -> Option<Self> {
        let text = text.trim();
        if text.len() > URL_BYTES_MAX {
            return None;
        }
        let mut url = Url::parse(text).ok()?;
        if !matches!(url.scheme(), "http" | "https")
            || !url.username().is_empty()
            || url.password().is_some()
        {
            return None;
        }
        url.set_fragment(None);
        let rules = url.host_str().and_then(rules);
        let kept: Vec<(String, String)> = url
            .query_pairs()
            .filter(|(name, _)| !is_tracking_parameter(name))
            .filter(|(name, _)| rules.is_none_or(|rules| rules.keeps(name)))
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        let key = key(&url, &kept)?;
        if kept.len() < url.query_pairs().count() {
            if kept.is_empty() {
                url.set_query(None);
            } else {
                url.query_pairs_mut().clear().extend_pairs(&kept);
            }
        }
        Some(Self {
            key,
            address: url.into(),
        })
    }

    /// Returns the URL without tracking parameters and fragment, as records contain it.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the identifying part: host, path, and parameters sorted by name.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the digest of [`ListingUrl::key`]; with 128 bits, two adverts never share one in practice.
    pub fn digest(&self) -> UrlDigest {
        let mut digest = [0; 16];
        digest.copy_from_slice(&blake3::hash(self.key.as_bytes()).as_bytes()[..16]);
        digest
    }
}

/// Digest of the identifying part of a URL.
pub type UrlDigest = [u8; 16];

fn is_tracking_parameter(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    TRACKING_NAMES.contains(&name.as_str())
        || TRACKING_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

fn key(url: &Url, parameters: &[(String, String)]) -> Option<String> {
    // The parser has already lower-cased the host and encoded international names in ASCII.
    let mut key = bare_host(url.host_str()?).to_owned();
    if let Some(port) = url.port() {
        key.push_str(&format!(":{port}"));
    }
    key.push_str(&normalise_escapes(url.path().trim_end_matches('/')));
    let mut sorted: Vec<&(String, String)> = parameters.iter().collect();
    sorted.sort_by(|one, other| one.0.cmp(&other.0));
    for (index, (name, value)) in sorted.into_iter().enumerate() {
        key.push(if index == 0 { '?' } else { '&' });
        key.extend(url::form_urlencoded::byte_serialize(name.as_bytes()));
        key.push('=');
        key.extend(url::form_urlencoded::byte_serialize(value.as_bytes()));
    }
    Some(key)
}

/// Decodes the escapes of unreserved characters and writes the others in upper case (RFC 3986, 6.2.2).
fn normalise_escapes(path: &str) -> String {
    let mut normalised = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find('%') {
        normalised.push_str(&rest[..at]);
        let digits = rest.get(at + 1..at + 3);
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (byte, digits) {
            (Some(byte), _) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                normalised.push(char::from(byte));
            }
            (Some(byte), _) => normalised.push_str(&format!("%{byte:02X}")),
            (None, _) => {
                normalised.push('%');
                rest = &rest[at + 1..];
                continue;
            }
        }
        rest = &rest[at + 3..];
    }
    normalised.push_str(rest);
    normalised
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_of(text: &str) -> String {
        ListingUrl::parse(text).unwrap().key
    }

    #[test]
    fn one_advert_has_one_key_however_its_url_is_written() {
        let spellings = [
            "https://portail.example/annonce/12",
            "http://www.portail.example/annonce/12/",
            "HTTPS://M.Portail.Example:443/annonce/12#photos",
            "http://www.m.portail.example./annonce/12//",
            " https://portail.example/annonce/12?utm_source=a&UTM_Medium=b&gclid=c&fbclid= ",
            "https://portail.example/%61nnonce/1%32?",
        ];
        for text in spellings {
            assert_eq!(key_of(text), "portail.example/annonce/12", "{text}");
        }
        assert_eq!(
            key_of("https://portail.example/?id=2&b=%c3%a9&xtor=1"),
            key_of("https://portail.example?b=é&id=2")
        );
        assert_eq!(
            key_of("https://p.example/caf%c3%a9"),
            key_of("https://p.example/café")
        );
    }

    #[test]
    fn identifying_parts_are_kept() {
        let different = [
            "https://portail.example/annonce/12",
            "https://portail.example/annonce/13",
            "https://portail.example/Annonce/12",
            "https://autre.example/annonce/12",
            "https://portail.example:8443/annonce/12",
            "https://portail.example/annonce/12?ref=7",
            "https://portail.example/annonce/12?ref=8",
            "https://portail.example/annonce%2F12",
            "https://lyon.portail.example/annonce/12",
        ];
        let mut keys: Vec<String> = different.iter().map(|text| key_of(text)).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), different.len(), "{keys:?}");
        assert_eq!(key_of("https://m.fr/1"), "m.fr/1");
    }

    #[test]
    fn records_carry_the_url_without_tracking_parameters() {
        let url =
            ListingUrl::parse("https://www.portail.example/12/?utm_source=a&ref=7#x").unwrap();
        assert_eq!(url.address(), "https://www.portail.example/12/?ref=7");
        let url = ListingUrl::parse("https://portail.example/12?fbclid=1").unwrap();
        assert_eq!(url.address(), "https://portail.example/12");
        let same = ListingUrl::parse("http://portail.example/12/").unwrap();
        assert_eq!(url.digest(), same.digest());
    }

    #[test]
    fn rules_of_a_portal_hold_for_its_hosts_alone() {
        let rules = |ignore: &[&str], only: &[&str]| UrlRules {
            ignore_parameters: ignore.iter().map(|name| (*name).into()).collect(),
            only_parameters: only.iter().map(|name| (*name).into()).collect(),
        };
        let all = IdentityRules::new([
            ("portail.example".into(), rules(&["*"], &[])),
            (
                "www.neuf.example".into(),
                rules(&["page"], &["unit", "page"]),
            ),
        ]);
        let key = |text: &str| all.parse(text).unwrap().key;
        assert_eq!(
            key("https://www.portail.example/12?q=lyon&page=3"),
            "portail.example/12"
        );
        assert_eq!(
            key("https://neuf.example/12?unit=7&q=x&page=3"),
            "neuf.example/12?unit=7"
        );
        assert_eq!(key("https://autre.example/12?q=x"), "autre.example/12?q=x");
        let url = all
            .parse("https://www.portail.example/12?q=lyon#x")
            .unwrap();
        assert_eq!(url.address(), "https://www.portail.example/12");
    }

    #[test]
    fn invalid_urls_are_refused() {
        let long = format!("https://portail.example/{}", "a".repeat(URL_BYTES_MAX));
        for text in [
            "",
            "portail.example/12",
            "ftp://portail.example/12",
            "https://a:b@portail.example/",
            "https://",
            &long,
        ] {
            assert_eq!(ListingUrl::parse(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_cleaned_url_keeps_its_key(text in "https?://(www\\.)?[a-z]{1,5}\\.fr(:80)?/[a-zA-Z0-9%/]{0,12}(\\?(utm_a|id|b)=[a-z%+]{0,3}(&gclid=1)?)?(#[a-z]*)?") {
            if let Some(url) = ListingUrl::parse(&text) {
                let again = ListingUrl::parse(url.address()).unwrap();
                proptest::prop_assert_eq!(&again.key, &url.key);
                proptest::prop_assert_eq!(again.address, url.address);
            }
        }
    }
}
