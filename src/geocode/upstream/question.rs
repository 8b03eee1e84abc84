//! A normalised query to the upstream service, with the parameters that it shares with our own API.
//!
//! Two queries that differ only in case or spaces are the same, and the cache's key is made of exactly what is sent.
//! Parameters that the public service does not know (`maxdistance`, `with`, `explain`) are applied to its answer.

use url::form_urlencoded::Serializer;

use crate::request::{AddressFilter, ReverseCall, SearchCall};
use toise_geo::places::Places;

/// Part of each key; it changes when the format of the cached answers changes.
const KEY_VERSION: &[u8] = b"1 ";

/// A query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    operation: &'static str,
    parameters: Vec<(&'static str, String)>,
}

impl Question {
    /// Creates the query of a search.
    pub fn search(call: &SearchCall) -> Self {
        let request = &call.request;
        let city = request.within.as_ref().and_then(|places| places.first());
        let city = city.and_then(|place| Places::get().place(*place));
        let text = match city {
            Some(city) => format!("{} {}", request.text, city.name),
            None => request.text.clone(),
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let autocomplete = u8::from(request.autocomplete);
        let mut parameters = vec![
            ("q", words.join(" ").to_lowercase()),
            ("limit", request.limit.to_string()),
            ("autocomplete", autocomplete.to_string()),
        ];
        if let Some((lat, lon)) = request.near {
            // A position that only expresses a preference needs a precision of about a hundred metres.
            parameters.push(("lat", format!("{lat:.3}")));
            parameters.push(("lon", format!("{lon:.3}")));
        }
        let filter = AddressFilter {
            postal_code: request.postal_code.clone(),
            insee_code: request.insee_code.clone(),
            kind: request.kind,
        };
        Self::filtered("search", parameters, filter)
    }

    /// Creates the query of a reverse search.
    pub fn reverse(call: &ReverseCall) -> Self {
        let parameters = vec![
            // Six decimals are precise to about 0.1 m.
            ("lat", format!("{:.6}", call.lat)),
            ("lon", format!("{:.6}", call.lon)),
            ("limit", call.limit.to_string()),
        ];
        Self::filtered("reverse", parameters, call.filter.clone())
    }

    fn filtered(
        operation: &'static str,
        mut parameters: Vec<(&'static str, String)>,
        filter: AddressFilter,
    ) -> Self {
        let filters = [
            ("postcode", filter.postal_code),
            ("citycode", filter.insee_code),
            ("type", filter.kind.map(|kind| kind.as_str().to_owned())),
        ];
        for (name, value) in filters {
            parameters.extend(value.map(|value| (name, value)));
        }
        Self {
            operation,
            parameters,
        }
    }

    /// Returns its URL at a service, whose base address has no slash at its end.
    pub fn url(&self, base: &str) -> String {
        let start = format!("{base}/{}?", self.operation);
        let length = start.len();
        let mut url = Serializer::for_suffix(start, length);
        url.extend_pairs(&self.parameters);
        url.finish()
    }

    /// Returns the key of its answer in the cache.
    pub fn digest(&self, base: &str) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(KEY_VERSION);
        hasher.update(self.url(base).as_bytes());
        *hasher.finalize().as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{parse_reverse, parse_search};

    const BASE: &str = "https://geocoder.example";

    fn search(pairs: &[(&str, &str)]) -> String {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let parameters: Vec<(String, String)> = pairs.iter().map(pair).collect();
        Question::search(&parse_search(&parameters).unwrap()).url(BASE)
    }

    #[test]
    fn only_what_both_services_know_is_forwarded_and_parts_become_one_text() {
        assert_eq!(
            search(&[
                ("q", " 12  Rue de la République"),
                ("lat", "44.51799"),
                ("lon", "3.50112"),
                ("citycode", "2a004"),
                ("type", "housenumber"),
                ("with", "iris"),
            ]),
            "https://geocoder.example/search?q=12+rue+de+la+r%C3%A9publique&limit=10&autocomplete=1&lat=44.518&lon=3.501\
             &citycode=2A004&type=housenumber"
        );
        assert_eq!(
            search(&[
                ("housenumber", "3"),
                ("street", "rue A&B"),
                ("postcode", "48000"),
                ("city", "Mende")
            ]),
            "https://geocoder.example/search?q=3+rue+a%26b+48000+mende&limit=10&autocomplete=0"
        );
        let named = search(&[("q", "rue Droite"), ("city", "mende"), ("limit", "3")]);
        assert_eq!(
            named,
            "https://geocoder.example/search?q=rue+droite+mende&limit=3&autocomplete=1"
        );
    }

    #[test]
    fn a_position_is_asked_to_the_decimetre() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let parameters = [
            pair("lat", "44.51799912345"),
            pair("lon", "3.5"),
            pair("maxdistance", "9"),
        ];
        assert_eq!(
            Question::reverse(&parse_reverse(&parameters).unwrap()).url(BASE),
            "https://geocoder.example/reverse?lat=44.517999&lon=3.500000&limit=1"
        );
    }
}
