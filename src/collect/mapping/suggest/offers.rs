//! Drafts the offer of a home, sale or rental: from the words and codes of columns, from titles that name a life annuity,
//! otherwise from the prices.

use serde_json::Value;

use super::draft::Draft;
use super::fields::{DISTINCT_MIN, FALLBACK_MIN, PRICE, Sampled, TITLE, covered, first_values};
use super::units::{names_rent, names_sale};
use toise_contract::columns::OFFER;

/// Offers that rows may have without saying so.
const USUAL_OFFERS: [&str; 2] = ["OFFER_BUY", "OFFER_RENT"];
/// Pattern of the words next to the price of a life annuity.
const ANNUITY: &str = r"(?i)\b(?:bouquet|rente|viager)\b";
/// The meaning of [`ANNUITY`].
const ANNUITIES: &str = "map = { \"bouquet\" = \"OFFER_LIFE_ANNUITY_SALE\", \"rente\" = \
\"OFFER_LIFE_ANNUITY_SALE\", \"viager\" = \"OFFER_LIFE_ANNUITY_SALE\" }";
/// Pattern of the word for a life annuity in a title.
const ANNUITY_IN_TITLE: &str = r"(?i)\bviager\b";
/// Codes of transactions: the whole cell is one of them.
const OFFER_CODES: &str = "^[VL]$";
/// The meaning of [`OFFER_CODES`].
const CODED_OFFERS: &str = "map = { \"V\" = \"OFFER_BUY\", \"L\" = \"OFFER_RENT\" }";
/// Words for offers that the `words` conversion does not know.
const OFFERS: &str = "map = { \"rent\" = \"OFFER_RENT\", \"rental\" = \"OFFER_RENT\", \"rented\" = \"OFFER_RENT\", \
\"buy\" = \"OFFER_BUY\", \"sale\" = \"OFFER_BUY\", \"sold\" = \"OFFER_BUY\" }";
/// Price, of a row or the median, from which it cannot be a monthly rent, EUR.
pub(super) const SALE_EUR_MIN: f64 = 20_000.0;
/// Median price up to which prices cannot be those of sales, EUR.
const RENT_EUR_MAX: f64 = 8_000.0;
/// Price of a row up to which it is a rent in a file of sales and rents, EUR: parkings on sale cost more.
const MIXED_RENT_EUR_MAX: f64 = 3_000.0;
/// Minimum share of sales and of rents in a file that has both.
const MIXED_MIN: f64 = 0.2;

impl Sampled<'_> {
    /// Drafts the offer, sale or rental, from columns, or otherwise from the price. `prices` are the drafts of prices
    /// and rents.
    pub(super) fn offers(&self, prices: &[Draft]) -> Vec<Draft> {
        let meanings = [OFFER, "type", "title", "url"];
        let mut drafts = self.by_words(OFFER, OFFERS, &meanings);
        if let Some(column) = self.of(OFFER).first() {
            let codes = Draft::new(OFFER).from(&[&column.path]);
            let codes = codes.with("pattern", OFFER_CODES).with_line(CODED_OFFERS);
            let codes = codes.tried(self.rows, column.filled, 1.0);
            if self.share(codes.read) >= FALLBACK_MIN {
                drafts.insert(0, codes);
            }
        }
        if let Some([column]) = prices.first().map(|price| price.columns.as_slice()) {
            let annuities = Draft::new(OFFER).from(&[column]);
            let annuities = annuities
                .with("pattern", ANNUITY)
                .with_line(ANNUITIES)
                .tried(self.rows, 0, 1.0);
            if annuities.read > 0 {
                drafts.insert(0, annuities);
            }
        }
        // Portals list life annuities among the sales, so the address and the column of offers do not show them.
        for column in self.of(TITLE) {
            let annuities = Draft::new(OFFER)
                .from(&[&column.path])
                .with("pattern", ANNUITY_IN_TITLE)
                .with_line(ANNUITIES)
                .tried(self.rows, 0, 1.0);
            if annuities.read > 0 {
                drafts.insert(0, annuities);
            }
        }
        for draft in &mut drafts {
            // A word for an offer never occurs by chance.
            draft.confidence = 1.0;
        }
        if covered(&drafts, self.rows) < 1.0 {
            let rest = self.other_offers(&drafts, prices);
            drafts.extend(rest);
        }
        drafts
    }

    /// Drafts the offer of rows whose words name none: the one that nearly all others name, unless the prices of these
    /// rows are those of another.
    fn other_offers(&self, said: &[Draft], prices: &[Draft]) -> Vec<Draft> {
        let said = first_values(said, self.rows);
        let prices_of_rows = first_values(prices, self.rows);
        let silent = said.iter().zip(prices_of_rows);
        let silent = silent.filter_map(|(said, price)| price?.as_f64().filter(|_| said.is_none()));
        let by_price = offers_by_price(prices, silent.collect());
        let agrees = |offer: &str| {
            let mut sure = by_price.iter().filter(|(_, draft)| draft.is_sure());
            sure.all(|(other, _)| *other == offer)
        };
        match self.usual_offer(&said) {
            Some(offer) if USUAL_OFFERS.contains(&offer.as_str()) && agrees(&offer) => {
                let mut draft = Draft::new(OFFER).with("value", &offer);
                draft.confidence = 1.0;
                draft.reason =
                    "For rows that do not say: nearly all others have this value.".into();
                vec![draft]
            }
            // A file with prices and rents has no usual offer.
            None if prices.len() > 1 => Vec::new(),
            _ => by_price.into_iter().map(|(_, draft)| draft).collect(),
        }
    }

    /// Returns the offer that nearly all rows name whose words name one.
    fn usual_offer(&self, said: &[Option<Value>]) -> Option<String> {
        let offers: Vec<&Value> = said.iter().flatten().collect();
        if self.share(offers.len()) < FALLBACK_MIN {
            return None;
        }
        let first = *offers.first()?;
        let same = offers.iter().filter(|offer| **offer == first).count();
        let is_usual = same as f64 >= DISTINCT_MIN * offers.len() as f64;
        first.as_str().filter(|_| is_usual).map(str::to_owned)
    }
}

/// Drafts the offers that fit the prices of rows: a constant, or rules by price if sales and rents are mixed.
fn offers_by_price(drafts: &[Draft], mut prices: Vec<f64>) -> Vec<(&'static str, Draft)> {
    let Some(price) = drafts.first().filter(|price| price.is_sure()) else {
        return Vec::new();
    };
    prices.sort_by(f64::total_cmp);
    let Some(median) = prices.get(prices.len() / 2).copied() else {
        return Vec::new();
    };
    let only_column = price.columns.first().filter(|_| drafts.len() == 1);
    let is_named_rent = only_column.is_some_and(|name| names_rent(name));
    let is_named_sale = only_column.is_some_and(|name| names_sale(name));
    let rents = prices.partition_point(|price| *price <= MIXED_RENT_EUR_MAX);
    let sales = prices.len() - prices.partition_point(|price| *price < SALE_EUR_MIN);
    let is_mixed = rents.min(sales) as f64 >= MIXED_MIN * prices.len() as f64;
    let draft = |offer, confidence, reason: String| {
        let mut draft = Draft::new(OFFER).with("value", offer).because(reason);
        draft.confidence = confidence;
        (offer, draft)
    };
    if is_mixed && !is_named_rent && !is_named_sale {
        let rule = |offer, count: usize, bound: String| {
            let reason = format!("For {count} rows that do not say: their price shows it.");
            let (offer, rule) = draft(offer, 1.0, reason);
            (offer, rule.with("when", &format!("{PRICE}{bound}")))
        };
        return vec![
            rule("OFFER_RENT", rents, format!("<={MIXED_RENT_EUR_MAX}")),
            rule("OFFER_BUY", sales, format!(">={SALE_EUR_MIN}")),
        ];
    }
    let (offer, confidence) = match median {
        _ if is_named_rent => ("OFFER_RENT", 1.0),
        _ if is_named_sale => ("OFFER_BUY", 1.0),
        median if median >= SALE_EUR_MIN => ("OFFER_BUY", 1.0),
        median if median <= RENT_EUR_MAX => ("OFFER_RENT", 1.0),
        _ => ("OFFER_RENT", 0.5),
    };
    let reason = if is_named_rent || is_named_sale {
        "The name of the column of prices says so.".to_owned()
    } else {
        format!("The median price is {median:.0} €.")
    };
    vec![draft(offer, confidence, reason)]
}
