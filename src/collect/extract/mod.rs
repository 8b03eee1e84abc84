//! Extracts an advert from the bytes of a page: its values field by field, or the reason why it is not a listing.
//!
//! A pure function whose cost is bounded for any input: [`charset`] decodes the bytes, [`tidy`] makes the HTML
//! well-formed, [`document`] walks it once. Sources are then read in order of trust, and the first value of a field is
//! kept: the portal's own rules, JSON-LD and microdata (`schema_org`), `open_graph`, and finally the visible text
//! ([`french`]). A page of 500 kB takes about ten milliseconds.

pub mod charset;
pub mod erased;
mod open_graph;
mod schema_org;
mod town;

use scraper::Html;
use serde_json::{Value, json};

use super::portals::Portal;
use document::PageDocument;
use findings::{FieldOrigin, PRICE, PageFindings};
use french::{TextTrust, tokens::tokens};
use page_kind::Obstacle;
use schema_org::PageContext;
use toise_listings::adverts::identity::ListingUrl;
use toise_page::{document, findings, french, page_kind, positions, tidy};

/// Minimum number of different prices for a page without structured data to count as a list of listings.
const PRICES_OF_A_LIST: usize = 4;
/// Minimum number of different cards of listings on a list.
const CARDS_OF_A_LIST: usize = 2;
/// Minimum number of different cards that make a page a list even if it names details, as search filters do.
const CARDS_OF_A_LONG_LIST: usize = 6;
/// Minimum number of labels of details, such as the diagnostic and the fees, on the page of one listing.
const DETAILS_OF_A_LISTING: usize = 3;
/// Minimum number of such labels if the title of the page does not name a listing.
const DETAILS_MIN: usize = 2;
/// Words in titles for homes other than flats, and for things that only such homes have.
const OTHER_HOMES: [&str; 14] = [
    "chalet", "ferme", "fermette", "mas", "bastide", "propriete", "manoir", "demeure", "moulin",
    "grange", "corps de ferme", "batisse", "peniche", "terrain",
];
/// Path of the area of the home.
const SURFACE: &str = "habitation.surface.total";
/// Path of the number of rooms.
const ROOMS: &str = "habitation.roomCount";
/// Path of the number of bedrooms.
const BEDROOMS: &str = "habitation.bedroomCount";
/// Path of the position.
const POSITION: &str = "location.locationCoordinate.location";
/// Maximum number of words of a heading that names only the town.
const TOWN_WORDS_MAX: usize = 2;
/// Minimum price that means a sale for an asset other than a dwelling, EUR; parking spaces cost a few thousand.
const OTHER_SALE_MIN: f64 = 1_500.0;

/// A page as fetched.
#[derive(Clone, Copy, Debug)]
pub struct PageInput<'p> {
    /// URL of the page.
    pub url: &'p str,
    /// `Content-Type` of the response.
    pub content_type: Option<&'p str>,
    /// The page, decompressed.
    pub bytes: &'p [u8],
}

/// Verdict on what a page is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageVerdict {
    /// A listing that is online.
    Listing,
    /// A listing that is offline.
    Offline,
    /// Not a listing, with the reason.
    Rejected(Rejection),
}

/// Reason why a page is not a listing. The message starts with the code used in responses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The page is not HTML.
    #[error("unparsable: {0}")]
    Unparsable(String),
    /// The page requires a login.
    #[error("login_required: the page requires a login")]
    LoginRequired,
    /// The page is behind a bot wall.
    #[error("refused: the page blocks programs")]
    BotWall,
    /// The page contains no listing, or several.
    #[error("not_a_listing: {0}")]
    NotAListing(String),
}

/// The result of reading a page.
#[derive(Clone, Debug)]
pub struct Extraction {
    /// The kind of page.
    pub verdict: PageVerdict,
    /// The values found, regardless of the verdict.
    pub findings: PageFindings,
}

impl Extraction {
    fn unparsable(why: String) -> Self {
        Self {
            verdict: PageVerdict::Rejected(Rejection::Unparsable(why)),
            findings: PageFindings::default(),
        }
    }
}

/// Reads a page by the rules of its portal, if there are any, and by the general rules.
pub fn extract(page: &PageInput<'_>, portal: Option<&Portal>) -> Extraction {
    if let Some(other) = other_media_type(page.content_type) {
        return Extraction::unparsable(format!("the page is {other}, not HTML"));
    }
    let text = charset::decode(page.bytes, page.content_type);
    if text.trim().is_empty() {
        return Extraction::unparsable("the page is empty".into());
    }
    let tidied = tidy::tidy(&text);
    let html = Html::parse_document(&tidied.html);
    let document = document::walk(&html);
    let url = ListingUrl::parse(page.url);
    let mut findings = PageFindings::default();
    let mut is_offline = portal.is_some_and(|portal| portal.read(&html, &document, &mut findings));
    let nodes = tidied.json_ld.iter().filter_map(|text| json_ld(text));
    let nodes: Vec<Value> = nodes.collect();
    let prices = french::prices(&tokens(&document.text));
    let context = PageContext {
        url: url.as_ref(),
        headings: document.headings(),
        prices: &prices,
    };
    let of_json_ld = schema_org::read(&nodes, &context, &mut findings, FieldOrigin::JsonLd);
    let of_items = schema_org::read(
        &document.items,
        &context,
        &mut findings,
        FieldOrigin::Microdata,
    );
    is_offline |= of_json_ld.is_offline || of_items.is_offline || page_kind::is_offline(&document);
    let is_structured =
        of_json_ld.is_described || of_items.is_described || portal.is_some_and(Portal::has_fields);
    open_graph::read(&document, &mut findings);
    let position = positions::only_position(&text, &tidied.json_ld);
    let position = position.map(|(latitude, longitude)| json!([longitude, latitude]));
    findings.set_optional(POSITION, position, FieldOrigin::Script);
    let is_french = is_french(&document);
    if is_french {
        town::read(&document, page.url, &mut findings);
    }
    read_own_texts(&document, page.url, is_french, &mut findings);
    let is_described = findings.has(PRICE) || findings.has(SURFACE);
    read_page_text(&document, page.url, is_french, &mut findings);
    for (offer, origin) in [
        (of_json_ld.plain_offer, FieldOrigin::JsonLd),
        (of_items.plain_offer, FieldOrigin::Microdata),
    ] {
        if offer && !says_rent_by_price(&findings) {
            findings.put("offer.type", "OFFER_BUY", origin);
        }
    }
    complete(&document, is_french, &mut findings);
    if is_french {
        let is_rent = findings.get("offer.type") == Some(&json!("OFFER_RENT"));
        is_offline |= page_kind::is_ended(&document, is_rent);
    }
    let details = french::detail_labels(&document.cards.outside(&document.text));
    let is_detailed = details >= DETAILS_OF_A_LISTING;
    let of_many = (of_json_ld.are_many || of_items.are_many) && !is_structured && !is_detailed;
    let is_own = is_structured || is_described;
    let summary = PageSummary {
        is_offline,
        are_many: of_json_ld.is_aggregate
            || of_items.is_aggregate
            || of_many
            || is_list(&document, page.url, is_own, is_detailed),
        is_vague: is_french
            && details < DETAILS_MIN
            && !(is_own || names_one(&document) || is_measured(&findings)),
        is_described,
    };
    let verdict = verdict(&document, &text, &findings, summary);
    Extraction { verdict, findings }
}

/// Facts about a page in addition to its findings.
#[derive(Clone, Copy, Debug)]
struct PageSummary {
    /// Whether its listing is offline.
    is_offline: bool,
    /// Whether it holds several listings.
    are_many: bool,
    /// Whether nothing shows that it is about one listing. An article may also name a class, a price and a place.
    is_vague: bool,
    /// Whether its title, description or structured data has a price or an area.
    is_described: bool,
}

/// Reads the charges, which depend on the offer, and removes values that contradict others.
fn complete(document: &PageDocument, is_french: bool, findings: &mut PageFindings) {
    if is_french {
        let description = findings.get("description").and_then(Value::as_str);
        let description = description.unwrap_or_default().to_owned();
        let own = document.cards.outside(&document.text);
        french::include_charges(&own, findings, FieldOrigin::Text);
        french::read_charges(&[&description, &document.text], findings, FieldOrigin::Text);
    }
    french::check_energy(findings);
    if is_french && !findings.has("type") && names_only_rooms(document, findings) {
        findings.put("type", "CLASS_FLAT", FieldOrigin::Text);
    }
    let count = |path: &str| findings.get(path).and_then(Value::as_f64);
    if let (Some(rooms), Some(bedrooms)) = (count(ROOMS), count(BEDROOMS))
        && bedrooms > rooms
    {
        findings.remove(BEDROOMS);
    }
}

/// Returns whether a listing of unknown class is a flat: it states its rooms, has no land, and its title names no other
/// kind of home. An example is `Superbe 2 pièces avec parking`.
fn names_only_rooms(document: &PageDocument, findings: &PageFindings) -> bool {
    let headings = document.headings().join(" ");
    findings.has(ROOMS)
        && !findings.has("land.surface")
        && !page_kind::contains_any(&headings, &OTHER_HOMES)
}

/// Returns the media type of a response that cannot be a page; `None` if it can be one.
fn other_media_type(content_type: Option<&str>) -> Option<&str> {
    let media_type = content_type?.split(';').next()?.trim();
    let is_page = matches!(
        media_type.to_ascii_lowercase().as_str(),
        "text/html" | "application/xhtml+xml" | "text/plain" | "application/xml" | ""
    );
    (!is_page).then_some(media_type)
}

/// Parses a JSON-LD block; common errors of portals are tolerated if the meaning is clear.
fn json_ld(text: &str) -> Option<Value> {
    let text = text
        .trim()
        .trim_start_matches("<!--")
        .trim_start_matches("//<![CDATA[")
        .trim_start_matches("<![CDATA[")
        .trim_end_matches("-->")
        .trim_end_matches("//]]>")
        .trim_end_matches("]]>")
        .trim()
        .trim_end_matches(';');
    // Replaces line breaks inside strings, which JSON does not allow; outside they may also become spaces.
    serde_json::from_str(&text.replace(char::is_control, " ")).ok()
}

/// Returns whether a page is in French, by the language it declares, otherwise by its text.
fn is_french(document: &PageDocument) -> bool {
    match document.language.as_str() {
        "" => french::is_french(&document.text),
        declared => declared.starts_with("fr"),
    }
}

/// Returns whether the price is unknown or too low to be certainly that of a sale. By schema.org an offer is a sale
/// unless it says otherwise, but portals often omit this for rentals.
fn says_rent_by_price(findings: &PageFindings) -> bool {
    let price = findings.get(PRICE).and_then(Value::as_f64);
    let sale_min = if french::is_dwelling(findings) || !findings.has("type") {
        french::SALE_CERTAIN
    } else {
        OTHER_SALE_MIN
    };
    price.is_none_or(|price| price < sale_min)
}

/// Reads the visible texts that describe this listing.
fn read_own_texts(
    document: &PageDocument,
    url: &str,
    is_french: bool,
    findings: &mut PageFindings,
) {
    let of_listing = |path: &str, findings: &PageFindings| {
        let text = findings.get(path).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let described = document.meta(&["description", "og:description"]);
    let of_data = of_listing("title", findings);
    let heading = document.heading.as_str();
    // Some sites give all their listings the same name in structured data.
    let is_generic = !of_data.is_empty() && !french::names_listing(&of_data);
    if is_generic && french::names_listing(heading) && !findings.is_of_portal("title") {
        findings.remove("title");
    }
    let is_town = heading.split_whitespace().count() <= TOWN_WORDS_MAX;
    let says_more = french::names_listing(&document.title) && !french::names_listing(heading);
    let title = if heading.is_empty() || is_town && says_more {
        &document.title
    } else {
        heading
    };
    let title = Some(title).filter(|title| !title.is_empty());
    findings.set_optional("title", title, FieldOrigin::Text);
    for text in [
        of_listing("title", findings).as_str(),
        &document.heading,
        &document.title,
        &of_listing("description", findings),
        described.unwrap_or_default(),
    ] {
        read_text(text, TextTrust::Own, is_french, findings);
    }
    if is_french {
        let path = url.split_once("://").map_or(url, |(_, rest)| rest);
        let path = path.split_once('/').map_or("", |(_, path)| path);
        let words = path.replace(['-', '_', '/', '.'], " ");
        french::read_kinds(&words, findings, FieldOrigin::Text);
    }
}

fn read_text(text: &str, part: TextTrust, is_french: bool, findings: &mut PageFindings) {
    if is_french {
        french::read(text, part, findings, FieldOrigin::Text)
    } else {
        french::read_foreign(text, part, findings, FieldOrigin::Text)
    }
}

/// Reads the visible text of the whole page.
fn read_page_text(
    document: &PageDocument,
    url: &str,
    is_french: bool,
    findings: &mut PageFindings,
) {
    read_text(&document.text, TextTrust::Page, is_french, findings);
    if is_french {
        french::read_kinds(&document.breadcrumb, findings, FieldOrigin::Text);
        town::complete(document, url, findings);
    }
    if french::is_price_on_request(&document.text) {
        findings.set_price_on_request(FieldOrigin::Text);
    }
}

/// Returns whether the title or heading of a page names the class or the rooms of a listing.
fn names_one(document: &PageDocument) -> bool {
    document.headings().into_iter().any(french::names_listing)
}

/// Returns whether a page states the area or the rooms of its listing.
fn is_measured(findings: &PageFindings) -> bool {
    [SURFACE, ROOMS, "land.surface"]
        .iter()
        .any(|path| findings.has(path))
}

/// Returns whether a page is a list of listings, or the front page of a site. `is_own`: its title, description or
/// structured data describe one listing. `is_detailed`: its text has the details of one.
fn is_list(document: &PageDocument, url: &str, is_own: bool, is_detailed: bool) -> bool {
    let cards = document.cards.count();
    let names_many =
        page_kind::names_many(document) || !is_own && page_kind::counts_listings(document);
    if names_many && cards >= CARDS_OF_A_LIST || !is_own && cards >= CARDS_OF_A_LONG_LIST {
        return true;
    }
    if is_own || is_detailed {
        return false;
    }
    let is_front = |url: &str| {
        url::Url::parse(url).is_ok_and(|url| url.path() == "/" && url.query().is_none())
    };
    names_many
        || cards >= CARDS_OF_A_LIST
        || has_many_prices(document)
        || is_front(&document.canonical)
        || is_front(url)
}

/// Returns whether a page shows as many different prices as a list of listings.
fn has_many_prices(document: &PageDocument) -> bool {
    let mut prices = french::prices(&tokens(&document.text));
    prices.sort_by(f64::total_cmp);
    prices.dedup();
    prices.len() >= PRICES_OF_A_LIST
}

fn verdict(
    document: &PageDocument,
    source: &str,
    findings: &PageFindings,
    summary: PageSummary,
) -> PageVerdict {
    if summary.is_offline {
        return PageVerdict::Offline;
    }
    let mut missing = Vec::new();
    for (what, paths) in [
        ("a class of asset", &["type"][..]),
        ("sale or rent", &["offer.type"]),
        ("a price", &[PRICE]),
        (
            "a place",
            &["location.postalCode", "location.inseeCode", POSITION],
        ),
    ] {
        if !paths.iter().any(|path| findings.has(path)) {
            missing.push(what);
        }
    }
    if missing.is_empty() && !summary.are_many && !summary.is_vague {
        return PageVerdict::Listing;
    }
    match page_kind::obstacle(document, source) {
        Some(Obstacle::Missing) => return PageVerdict::Offline,
        // A login form is ignored on a page that describes listings.
        Some(Obstacle::Login) if summary.is_described || summary.are_many => {}
        Some(Obstacle::Login) => return PageVerdict::Rejected(Rejection::LoginRequired),
        Some(Obstacle::Wall) => return PageVerdict::Rejected(Rejection::BotWall),
        None => {}
    }
    let what = if summary.are_many {
        "the page holds several listings".into()
    } else if missing.is_empty() {
        "the page is not about one listing".into()
    } else {
        format!("the page does not state {}", missing.join(", "))
    };
    PageVerdict::Rejected(Rejection::NotAListing(what))
}

#[cfg(test)]
mod site_tests;
#[cfg(test)]
mod tests;
