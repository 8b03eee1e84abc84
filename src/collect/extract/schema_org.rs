//! Reads the schema.org data of a page, from JSON-LD or microdata.
//!
//! One node is the listing: the one with the URL of the page unless it is an offer, otherwise the first type that
//! occurs of `RealEstateListing`, product, dwelling and offer. If several nodes of the best type have different names,
//! only one named in the title or heading of the page is used. The asset and the offer may be nested in the listing,
//! separate nodes of the graph, or referenced by `@id`.

mod graph;

use serde_json::{Value, json};

use super::{BEDROOMS, POSITION, ROOMS, SURFACE};
use graph::{Graph, Node, UNIT, area, degrees, is, number, rank, text, types};
use toise_listings::adverts::identity::ListingUrl;
use toise_page::findings::{FieldOrigin, PRICE, PageFindings};
use toise_page::french::{self, TextTrust};

/// Class of a room.
const ROOM: &str = "CLASS_ROOM";
/// Class of a parking space.
const PARKING: &str = "CLASS_PARKING";
/// Maximum number of properties, and of amenities, that are read from a node.
const LABELLED_MAX: usize = 100;

/// Properties that describe a listing.
const DESCRIBING: [&str; 5] = [
    "floorSize",
    "numberOfRooms",
    "address",
    "geo",
    "contentLocation",
];

const CLASSES: [(&str, &str); 12] = [
    ("Apartment", "CLASS_FLAT"),
    ("ApartmentComplex", "CLASS_BUILDING"),
    ("House", "CLASS_HOUSE"),
    ("SingleFamilyResidence", "CLASS_HOUSE"),
    ("Residence", ""),
    ("Accommodation", ""),
    ("Suite", "CLASS_FLAT"),
    ("Room", ROOM),
    ("GatedResidenceCommunity", ""),
    ("LodgingBusiness", ""),
    ("Landform", "CLASS_LAND"),
    ("ParkingFacility", PARKING),
];

/// Facts about the nodes that are not fields of an advert.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GraphSummary {
    /// Whether one of them is a listing.
    pub is_listing: bool,
    /// Whether several are listings and none can be identified as the listing of the page.
    pub are_many: bool,
    /// Whether an offer is an aggregate of several.
    pub is_aggregate: bool,
    /// Whether the listing is described by an area, a number of rooms or an address.
    pub is_described: bool,
    /// Whether the listing is sold or withdrawn.
    pub is_offline: bool,
    /// Whether an offer does not say what it is for; by schema.org it is then a sale.
    pub plain_offer: bool,
}

/// The rest of a page, used to recognise its listing.
#[derive(Clone, Copy, Debug)]
pub struct PageContext<'p> {
    /// Address of the page.
    pub url: Option<&'p ListingUrl>,
    /// Title and heading of the page.
    pub headings: [&'p str; 2],
    /// Prices in its text, EUR.
    pub prices: &'p [f64],
}

/// Finds the listing among the nodes and adds its values to the findings.
pub fn read(
    roots: &[Value],
    page: &PageContext<'_>,
    findings: &mut PageFindings,
    origin: FieldOrigin,
) -> GraphSummary {
    let mut graph = Graph::default();
    for root in roots {
        graph.gather(root, true);
    }
    let mut summary = GraphSummary::default();
    let Some(main) = graph.listing(page, &mut summary) else {
        return summary;
    };
    summary.is_listing = true;
    let mut reader = SchemaOrgReader {
        graph: &graph,
        prices: page.prices,
        findings,
        origin,
        summary,
    };
    reader.read(main);
    reader.summary
}

struct SchemaOrgReader<'r, 'v> {
    graph: &'r Graph<'v>,
    prices: &'r [f64],
    findings: &'r mut PageFindings,
    origin: FieldOrigin,
    summary: GraphSummary,
}

impl<'v> SchemaOrgReader<'_, 'v> {
    fn read(&mut self, main: &'v Node) {
        let graph = self.graph;
        let mut nodes = vec![main];
        for key in ["mainEntity", "about", "itemOffered", "mainEntityOfPage"] {
            nodes.extend(graph.follow(main, key));
        }
        let offers_of = nodes.iter().filter_map(|node| graph.follow(node, "offers"));
        let mut offers: Vec<&'v Node> = offers_of.collect();
        offers.extend(nodes.iter().filter(|node| is(node, "Offer")));
        let offered = offers.iter();
        nodes.extend(offered.filter_map(|offer| graph.follow(offer, "itemOffered")));
        // Uses offers elsewhere in the graph that refer to the listing by `@id`.
        if offers.is_empty() {
            let is_offered = |offer: &Node| {
                let item = offer.get("itemOffered").and_then(|item| item.get("@id"));
                item.is_some() && item == main.get("@id")
            };
            let of_graph = graph.possible().filter(|node| is(node, "Offer"));
            offers.extend(of_graph.filter(|node| is_offered(node)));
        }
        // Uses a dwelling elsewhere in the same graph, if there is only one.
        if !nodes.iter().any(|node| rank(node) == Some(2)) {
            let mut dwellings = graph.possible().filter(|node| rank(node) == Some(2));
            if let (Some(only), None) = (dwellings.next(), dwellings.next()) {
                nodes.push(only);
                offers.extend(graph.follow(only, "offers"));
            }
        }
        for offer in offers {
            self.offer(offer);
        }
        for node in nodes {
            self.summary.is_described |= DESCRIBING.iter().any(|key| node.contains_key(*key));
            self.heading(node);
            self.asset(node);
            self.seller(node);
        }
    }

    fn put(&mut self, path: &str, value: Option<impl Into<Value>>) {
        self.findings.set_optional(path, value, self.origin);
    }

    fn heading(&mut self, node: &'v Node) {
        let summary = |key: &str| node.get(key).and_then(text);
        self.put("title", summary("name").or_else(|| summary("headline")));
        self.put("description", summary("description"));
        if let Some(category) = summary("category").or_else(|| summary("additionalType")) {
            french::read_kinds(&category, self.findings, self.origin);
        }
        self.price(node);
    }

    fn offer(&mut self, offer: &'v Node) {
        let summary = |key: &str| offer.get(key).and_then(text).unwrap_or_default();
        let availability = summary("availability");
        self.summary.is_offline |= ["SoldOut", "Discontinued", "OutOfStock"]
            .iter()
            .any(|end| availability.ends_with(end));
        let function = summary("businessFunction");
        if function.contains("Lease") {
            self.put("offer.type", Some("OFFER_RENT"));
        } else if function.ends_with("Sell") && !self.is_low(offer) {
            self.put("offer.type", Some("OFFER_BUY"));
        }
        if is(offer, "OfferForLease") {
            self.put("offer.type", Some("OFFER_RENT"));
        } else if is(offer, "OfferForPurchase") {
            self.put("offer.type", Some("OFFER_BUY"));
        }
        self.summary.plain_offer |= function.is_empty() || function.ends_with("Sell");
        let count = offer.get("offerCount").and_then(number).unwrap_or_default();
        self.summary.is_aggregate |= count > 1.0;
        self.price(offer);
        self.seller(offer);
    }

    /// Returns whether the price of an offer may be a rent: portals often mark rentals as sales.
    fn is_low(&self, offer: &'v Node) -> bool {
        let specification = self.graph.follow(offer, "priceSpecification");
        let price = offer
            .get("price")
            .or_else(|| specification?.get("price"))
            .and_then(number);
        price.is_some_and(|price| price < french::SALE_CERTAIN)
    }

    fn price(&mut self, node: &'v Node) {
        let specification = self.graph.follow(node, "priceSpecification");
        let summary = |key: &str| node.get(key).or_else(|| specification?.get(key));
        let price = ["price", "lowPrice", "minPrice"]
            .iter()
            .find_map(|key| number(summary(key)?));
        let currency = summary("priceCurrency")
            .and_then(text)
            .unwrap_or_else(|| "EUR".into());
        let currency = match currency.trim() {
            "EUR" | "€" | "" => None,
            // Website themes declare their own default currency, so the text of the page decides.
            _ if price.is_some_and(|price| self.prices.contains(&price)) => None,
            _ if !self.prices.is_empty() => return,
            "USD" | "$" => Some("CURRENCY_USD"),
            _ => return,
        };
        let unit = UNIT.iter().find_map(|key| text(summary(key)?));
        if unit.is_some_and(|unit| ["MON", "MONTH", "MOIS"].contains(&unit.to_uppercase().as_str()))
        {
            self.put("offer.type", Some("OFFER_RENT"));
        }
        // Zero means that the price is not given.
        let price = price.filter(|price| *price > 0.0);
        if !self.findings.has(PRICE) && price.is_some() {
            self.put("currency", currency);
        }
        self.put(PRICE, price);
    }

    fn asset(&mut self, node: &'v Node) {
        let class = types(node).find_map(|found| {
            let known = CLASSES
                .iter()
                .find(|(name, class)| *name == found && !class.is_empty());
            known.map(|(_, class)| *class)
        });
        // Sites also mark boxes and parking spaces as rooms; their names show it.
        let named = || french::class(&node.get("name").and_then(text)?);
        let title = self.findings.get("title").and_then(Value::as_str);
        let class = match class {
            Some(ROOM) => {
                let other = named().or_else(|| title.and_then(french::class));
                other.filter(|other| *other == PARKING).or(class)
            }
            other => other,
        };
        self.put("type", class);
        let size = |key: &str| node.get(key).and_then(area).filter(|area| *area > 0.0);
        self.put(SURFACE, size("floorSize").or_else(|| size("area")));
        self.put("land.surface", size("lotSize"));
        let count = |key: &str| node.get(key).and_then(number).filter(|count| *count > 0.0);
        self.put(ROOMS, count("numberOfRooms"));
        self.put(BEDROOMS, count("numberOfBedrooms"));
        let baths = count("numberOfBathroomsTotal").or_else(|| count("numberOfFullBathrooms"));
        self.put("habitation.bathroomCount", baths);
        let floor = node.get("floorLevel").and_then(text);
        let floor = floor.and_then(|text| french::floor(&text));
        self.put("habitation.floor", floor);
        let year = count("yearBuilt");
        self.put("habitation.propertyCondition.constructionYear", year);
        let energy = self.graph.follow(node, "hasEnergyConsumptionDetails");
        let category = energy.and_then(|node| text(node.get("hasEnergyEfficiencyCategory")?));
        // The class is a letter alone, or at the end of a schema.org name; `NC` is not a class.
        let class = category.as_deref().and_then(|category| {
            let letter = category.rsplit("Category").next()?.trim();
            let mut letters = letter.chars();
            let class = letters.next().filter(|class| ('A'..='G').contains(class))?;
            letters.next().is_none().then_some(class)
        });
        let class = class.map(|class| format!("ENERGY_CLASSIFICATION_{class}"));
        self.put("habitation.climate.epcEnergy", class);
        self.place(node);
        self.labelled(node);
    }

    fn place(&mut self, node: &'v Node) {
        let graph = self.graph;
        for place in [
            Some(node),
            graph.follow(node, "location"),
            graph.follow(node, "contentLocation"),
        ]
        .into_iter()
        .flatten()
        {
            match place.get("address") {
                Some(Value::String(address)) => {
                    let mut of_address = PageFindings::default();
                    french::read_address(address, &mut of_address, self.origin);
                    for path in ["location.postalCode", "location.inseeCode", "location.city"] {
                        self.put(path, of_address.get(path).cloned());
                    }
                }
                Some(address) => {
                    let address = graph.resolve(address);
                    let summary = |key: &str| text(address?.get(key)?);
                    let code = summary("postalCode").map(|code| code.trim().to_owned());
                    self.put("location.postalCode", code);
                    self.put("location.city", summary("addressLocality"));
                }
                None => {}
            }
            let point = graph.follow(place, "geo").unwrap_or(place);
            let at = |key: &str| point.get(key).and_then(degrees);
            if let (Some(latitude), Some(longitude)) = (at("latitude"), at("longitude")) {
                // Latitude and longitude 0 mean an unknown position.
                let known =
                    (latitude != 0.0 || longitude != 0.0).then(|| json!([longitude, latitude]));
                self.put(POSITION, known);
            }
        }
    }

    /// Reads pairs of label and value as text.
    fn labelled(&mut self, node: &'v Node) {
        for key in ["additionalProperty", "amenityFeature"] {
            let pairs = match node.get(key) {
                Some(Value::Array(pairs)) => pairs.as_slice(),
                Some(one) => std::slice::from_ref(one),
                None => continue,
            };
            for pair in pairs.iter().take(LABELLED_MAX).filter_map(Value::as_object) {
                let summary = |key: &str| pair.get(key).and_then(text).unwrap_or_default();
                let line = match pair.get("value") {
                    Some(Value::Bool(true)) | None => summary("name"),
                    Some(Value::Bool(false)) => continue,
                    Some(_) if ["true", "True"].contains(&summary("value").as_str()) => {
                        summary("name")
                    }
                    Some(_) => format!(
                        "{} : {} {}",
                        summary("name"),
                        summary("value"),
                        summary("unitText")
                    ),
                };
                french::read(&line, TextTrust::Label, self.findings, self.origin);
            }
        }
    }

    fn seller(&mut self, node: &'v Node) {
        let keys = ["seller", "offeredBy", "provider", "broker", "agent"];
        let Some(seller) = keys.iter().find_map(|key| self.graph.follow(node, key)) else {
            return;
        };
        let summary = |key: &str| seller.get(key).and_then(text);
        self.put("contactInCharge.phoneNumber", summary("telephone"));
        if is(seller, "Person") {
            self.put("isPro", Some(false));
            return;
        }
        self.put("isPro", Some(true));
        self.put("seller.name", summary("name"));
        if is(seller, "RealEstateAgent") {
            self.put("seller.type", Some("SELLER_TYPE_AGENCY"));
        }
    }
}
