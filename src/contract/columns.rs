//! Table of column names, in French and English: maps the columns of customers' files to fields of an advert.
//!
//! Mappings of adverts, suggestions of mappings and the messages of bulk commands use it. The comparison of names
//! ignores case, accents and everything except letters and digits. A name that a program knows exactly always keeps its
//! own meaning; the table is only consulted for other names.

use std::collections::HashMap;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Meaning of a column that is not one field of an advert: a place in words (`Lyon 3e (69003)`).
pub const PLACE: &str = "place";
/// Like [`PLACE`]: the number of an arrondissement.
pub const ARRONDISSEMENT: &str = "arrondissement";
/// Like [`PLACE`]: an identifier of the advert.
pub const IDENTIFIER: &str = "identifier";
/// The field of an advert's reference.
pub const REFERENCE: &str = "reference";
/// Like [`PLACE`]: a rent, which is the price of a rental.
pub const RENT: &str = "rent";
/// Like [`PLACE`]: the house number of an address, without its street.
pub const HOUSE_NUMBER: &str = "house_number";
/// Like [`PLACE`]: what distinguishes house numbers, such as `bis`.
pub const REPETITION: &str = "house_number_suffix";
/// Like [`PLACE`]: the type of a street, such as `avenue`.
pub const STREET_TYPE: &str = "street_type";
/// Like [`PLACE`]: the name of a street, with or without its type.
pub const STREET: &str = "street";
/// The parts of the first line of an address, in the order in which they are written.
pub const STREET_PARTS: [&str; 4] = [HOUSE_NUMBER, REPETITION, STREET_TYPE, STREET];
/// Where the street begins in [`STREET_PARTS`], after the columns of its number.
const STREET_AT: usize = 2;
/// The field of an address with number and street.
pub const ADDRESS: &str = "location.address";
/// The field of the postal code.
pub const POSTAL_CODE: &str = "location.postalCode";
/// The field of the INSEE code of the commune.
pub const INSEE_CODE: &str = "location.inseeCode";
/// The field of sale or rent.
pub const OFFER: &str = "offer.type";
/// The field of the town.
pub const CITY: &str = "location.city";
/// The field of the price.
const PRICE: &str = "currentPrice.value";
/// Fields with meanings that are narrower: a rent is also a price, and a street is also an address.
const NARROWER: [(&str, &str); 2] = [(PRICE, RENT), (ADDRESS, STREET)];
/// Ranks of names with a narrower meaning begin here: all names of the field itself count first.
const NARROWER_RANK: usize = 1_000;
/// Latitude of the position, as a path of the contract.
pub const LATITUDE: &str = "location.locationCoordinate.location[1]";
/// Longitude of the position, as a path of the contract.
pub const LONGITUDE: &str = "location.locationCoordinate.location[0]";

/// Fields of an advert, or one of the constants above, each with its column names. If a file has several of these
/// names, the first in the list counts.
#[rustfmt::skip]
const MEANINGS: &[(&str, &str)] = &[
    ("url", "url lien link href url_annonce lien_annonce annonce_url property_url listing_url ad_url source_url detail_url page_url permalink urls"),
    ("title", "titre title titre_annonce titre_complet intitule libelle headline subject name property_name titre_fr title_fr"),
    ("description", "description texte descriptif description_annonce description_complete text body desc \
        texte_annonce text_annonce texte_de_l_annonce texte_web description_fr texte_fr"),
    ("type", "type_bien type_de_bien type_propriete type_de_propriete property_type type_local type_logement nature_bien nature_du_bien nature_de_bien estate_type real_estate_type housing_type categorie_bien categorie category type_batiment type"),
    (OFFER, "type_transaction transaction transaction_type type_de_transaction type_offre offer_type offre \
        type_annonce listing_type type_vente type_operation operation nature_transaction nature_offre nature_mutation \
        nature vente_location type_d_annonce type_d_offre type_d_operation vente_ou_location"),
    (PRICE, "prix price prix_eur price_eur prix_euros price_euros prix_vente prix_de_vente asking_price sale_price list_price \
        prix_fai prix_hai prix_frais_inclus prix_honoraires_inclus prix_frais_agence_inclus prix_total prix_affiche \
        prix_ttc montant valeur_fonciere price_value price_amount current_price prix_net_vendeur prix_du_bien prix_bien \
        prix_annonce listing_price total_price price_total selling_price property_price house_price"),
    (RENT, "loyer rent loyer_mensuel monthly_rent rent_per_month loyer_cc loyer_charges_comprises loyer_mensuel_cc \
        loyer_ttc loyer_total loyer_eur rent_eur loyer_euros loyer_mensuel_eur prix_loyer montant_loyer montant_du_loyer \
        loyer_affiche loyer_hc loyer_hors_charges loyer_mensuel_hc rent_price rent_amount rental_price"),
    ("currentPrice.valuePerArea", "prix_m2 prix_au_m2 prix_par_m2 prix_metre_carre price_m2 price_per_m2 price_per_sqm price_sqm sqm_price"),
    ("habitation.surface.total", "surface surface_m2 surface_habitable superficie superficie_m2 surface_totale \
        surface_reelle_bati surface_interieure area area_m2 size size_sqm size_m2 living_area living_surface floor_area \
        property_size surface_area square_meters m2 sqm metre_carre metres_carres living_space habitable_area \
        superficie_habitable surf_hab surf_habitable surf surface_hab surface_carrez surface_loi_carrez surf_carrez \
        superficie_carrez carrez loi_carrez surface_bien surface_logement square total_area shab s_habitable \
        surface_habitable_logement surface_habitable_du_logement"),
    ("land.surface", "surface_terrain superficie_terrain terrain terrain_m2 surface_terrain_m2 land_surface land_surface_m2 land_area land_size plot_area plot_size land_plot_surface lot_size lot_area"),
    ("habitation.roomCount", "nb_pieces pieces nombre_pieces nombre_de_pieces nombre_pieces_principales nbr_pieces \
        nbre_pieces nb_piece piece nb_rooms rooms room_count number_of_rooms total_rooms rooms_quantity rooms_count piec \
        nombre_piece nombre_de_pieces_principales nb_pieces_principales pieces_principales sl_nb_piece sl_nb_pieces \
        nb_de_pieces nbr_de_pieces nbre_de_pieces nb_piece_principale nb_de_pieces_principales \
        nbre_de_pieces_principales"),
    ("habitation.bedroomCount", "nb_chambres chambres nombre_chambres nombre_de_chambres nbr_chambres nbre_chambres nb_chambre nombre_chambre nb_bedrooms \
        bedrooms bedroom bedroom_count number_of_bedrooms bedrooms_quantity bedrooms_count nb_ch nbr_ch nbre_ch \
        nb_de_chambres nbr_de_chambres nbre_de_chambres chambre"),
    ("habitation.bathroomCount", "nb_salles_de_bain salles_de_bain salles_de_bains nb_sdb nbr_sdb sdb nb_bathrooms bathrooms bathroom bathroom_count \
        number_of_bathrooms nombre_de_salles_de_bain baths bath"),
    ("habitation.floor", "etage num_etage numero_etage floor floor_number apartment_floor property_floor etage_n \
        etage_no n_etage no_etage etage_numero etage_bien etage_du_bien"),
    ("habitation.features.propertyTotalFloor", "nombre_d_etages nombre_etages nb_etages total_etages etages_immeuble total_floors total_floor \
        number_of_floors floor_building building_floors floors"),
    ("habitation.propertyCondition.constructionYear", "annee_construction annee_de_construction building_year construction_year year_built build_year"),
    ("habitation.climate.epcEnergy", "dpe classe_energie classe_dpe dpe_classe lettre_dpe etiquette_dpe epc epc_energy energy_class \
        energy_rate energy_rating energy_label classe_energetique cat_energie categorie_energie dpe_classe_active dpe_letter \
        dpe_lettre dpe_etiquette_conso etiquette_conso dpe_etiquette_energie etiquette_energie \
        label_eco label_energie etiquette_eco energy energy_grade"),
    ("habitation.climate.epcClimate", "ges classe_ges ges_classe lettre_ges etiquette_ges gaz_effet_serre epc_climate climate_class \
        greenhouse_rate ghg_class ghg ges_lit ges_classe_active ges_letter ges_lettre \
        dpe_etiquette_ges ges_grade"),
    ("habitation.climate.epcEnergyScore", "consommation_energie dpe_valeur valeur_dpe energy_value energy_consumption epc_energy_score \
        dpe_valeur_conso valeur_conso kwh_m2_an kwhep_m2_an"),
    ("habitation.climate.epcClimateScore", "emission_ges ges_valeur valeur_ges ghg_value ghg_emission epc_climate_score dpe_valeur_ges kgco2_m2_an \
        kgeqco2_m2_an"),
    ("habitation.characteristics.hasLift", "ascenseur elevator lift has_lift has_elevator"),
    ("habitation.characteristics.hasBalcony", "balcon balcony has_balcony"),
    ("habitation.characteristics.hasTerrace", "terrasse terrace has_terrace"),
    ("habitation.characteristics.hasCellar", "cave cellar has_cellar"),
    ("habitation.characteristics.hasParking", "parking has_parking"),
    ("habitation.characteristics.hasGarage", "garage has_garage"),
    ("habitation.characteristics.hasGarden", "jardin garden has_garden"),
    ("habitation.characteristics.hasPool", "piscine pool swimming_pool has_pool"),
    ("habitation.characteristics.hasConcierge", "gardien concierge caretaker has_concierge"),
    ("habitation.characteristics.hasInterphone", "interphone intercom has_interphone"),
    ("habitation.characteristics.hasDigicode", "digicode has_digicode"),
    ("habitation.characteristics.hasAlarm", "alarme alarm has_alarm"),
    ("habitation.characteristics.hasFireplace", "cheminee fireplace has_fireplace"),
    (POSTAL_CODE, "code_postal cp postal_code postcode zipcode zip code_post code_postal_ban"),
    (CITY, "ville city commune nom_commune nom_ville ville_reelle town city_name municipality commune_nom ville_nom \
        nom_de_la_commune nom_de_commune nom_de_la_ville libelle_commune lib_commune libelle_ville lib_ville localite \
        nom_localite nom_de_la_localite locality libelle_acheminement libelle_d_acheminement lib_acheminement \
        acheminement bureau_distributeur bureau_distrib nom_commune_ban"),
    (INSEE_CODE, "code_insee insee insee_code code_commune code_insee_ban depcom codgeo code_geo code_com \
        code_insee_commune code_insee_de_la_commune code_commune_insee insee_commune insee_com com_insee \
        code_comm_code_dep cod_dep_cod_com code_dep_code_com"),
    ("location.department", "departement_code code_departement num_departement departement department department_code dept"),
    ("location.district", "quartier district neighborhood neighbourhood nom_quartier"),
    (ADDRESS, "adresse address adresse_texte adresse_complete full_address street_address adresse_postale \
        adresse_du_bien adresse_bien adresse_logement adresse_1 ligne_adresse adr adresse_ban adresse_de_l_immeuble \
        adresse_immeuble adresse_des_travaux adresse_travaux adresse_du_chantier adresse_chantier geo_adresse \
        adresse_principale adresse_brute"),
    (HOUSE_NUMBER, "house_number street_number numero_voie numero_de_voie numero_rue numero_de_rue numero_de_la_rue \
        num_voie num_rue no_voie no_rue n_voie n_de_voie n_rue n_de_rue adresse_numero numero_adresse num_adresse numero \
        num n no number numero_voirie num_voirie no_voirie n_voirie \
        post_number street_no house_no numero_civique"),
    (REPETITION, "house_number_suffix repetition rep indice_repetition indice_de_repetition suffixe adresse_suffixe \
        suffixe_numero numero_suffixe bis_ter bis ter btq"),
    (STREET_TYPE, "street_type type_voie type_de_voie type_de_la_voie nature_voie nature_de_voie type_rue type_voirie \
        type_de_voirie"),
    (STREET, "street street_name nom_voie nom_de_voie nom_de_la_voie nom_rue nom_de_rue nom_de_la_rue libelle_voie \
        libelle_de_voie lib_voie adresse_nom_voie voie rue road road_name nom_voirie nom_de_voirie libelle_voirie \
        type_et_libelle type_et_libelle_voie type_et_libelle_de_voie type_et_nom_voie type_et_nom_de_voie"),
    (PLACE, "localisation localisation_complete location loc lieu place secteur"),
    (ARRONDISSEMENT, "arrondissement arrond arr borough"),
    (LATITUDE, "latitude lat geo_lat gps_lat latitude_wgs84"),
    (LONGITUDE, "longitude lng lon long geo_lng geo_lon gps_lng longitude_wgs84"),
    ("medias.images", "images photos pictures image_urls images_urls photo_urls photos_urls urls_images urls_photos img_urls image_list \
        liste_images liste_photos image photo picture image_url photo_url picture_url"),
    ("seller.name", "agence agency nom_agence agency_name annonceur advertiser vendeur seller_name owner_company \
        agent_name nom_agent conseiller_nom_complet nom_conseiller"),
    (REFERENCE, "reference ref ref_annonce reference_annonce annonce_reference"),
    (IDENTIFIER, "id id_annonce annonce_id ad_id list_id listing_id identifiant identifier pid uuid"),
    ("firstSeenAt", "date_publication date_annonce publication_date first_publication_date published_at date_parution \
        first_seen_at date_pub"),
    ("lastSeenAt", "date_scrape date_scraped date_scraping date_crawl date_extraction scraped_at scrape_date scraping_date crawl_date \
        collected_at extraction_date last_seen_at insert_time derniere_vue date_derniere_vue vu_le last_seen last_seen_date \
        dernier_scan date_dernier_scan last_scan last_scan_date"),
];

/// Maximum words of a unit at the end of a name: `en m²`.
const UNIT_WORDS_MAX: usize = 2;
/// Words at the end of a name that are not part of it.
const UNIT_WORDS: [&str; 8] = ["m2", "sqm", "€", "eur", "euro", "euros", "en", "in"];
/// Units of an area.
const AREA_UNITS: [&str; 3] = ["m2", "sqm", "metre"];
/// Units of an amount.
const MONEY_UNITS: [&str; 4] = ["€", "eur", "euro", "euros"];
/// Units of consumption and emission.
const ENERGY_UNITS: [&str; 8] = [
    "kwh", "kwhep", "kg", "kgco2", "co2", "kgeqco2", "kgeq", "kgco2eq",
];
/// Units that no field has: a number in one of them means another value.
const OTHER_UNITS: [&str; 42] = [
    "k€", "m€", "k", "ke", "me", "keur", "meur", "milliers", "millions", "thousands", "cents",
    "centimes", "$", "usd", "£", "gbp", "chf", "mad", "dh", "tnd", "fcfa", "ha", "hectare",
    "hectares", "are", "ares", "ft", "ft2", "sqft", "feet", "pi", "pi2", "km", "km2", "cm", "%",
    "l93", "lambert", "lambert93", "l2e", "utm", "rad",
];
/// Words after a number that is a day in the name of a street: `8 mai 1945`.
const MONTHS: [&str; 12] = [
    "janvier", "fevrier", "mars", "avril", "mai", "juin", "juillet", "aout", "septembre",
    "octobre", "novembre", "decembre",
];
/// Letters after a number that is an ordinal in the name of a street: `2e division blindée`.
const ORDINALS: [&str; 7] = ["er", "ere", "re", "e", "eme", "nd", "nde"];
/// Highest number of things in the name of a street: `4 Chemins`, `100 Arpents`.
const COUNT_MAX: u32 = 100;
/// Minimum length of a plural in such a name, bytes. Shorter words are not plurals: `12 bis`, `12 Mas`.
const PLURAL_BYTES_MIN: usize = 4;
/// Name of a column that holds the name of a street next to the column of its type, and otherwise a title.
const STREET_LABEL: &str = "libelle";
/// Words in names of columns with an address.
const ADDRESS_WORDS: [&str; 4] = ["adresse", "adresses", "address", "adr"];
/// Words in names of columns with a street.
const STREET_WORDS: [&str; 14] = [
    "adresse", "adresses", "address", "adr", "rue", "street", "voie", "voirie", "avenue",
    "boulevard", "chemin", "road", "lieudit", "dit",
];
/// Words in names of columns that hold something else about a street or an address.
const NO_STREET_WORDS: [&str; 15] = [
    "id", "code", "type", "nature", "mail", "email", "courriel", "ip", "web", "url", "score",
    "largeur", "rep", "numero", "complement",
];

/// Words in names of columns with a postal code.
const POSTAL_WORDS: [&str; 2] = ["cp", "postal"];
/// Words in names of columns with a town.
const TOWN_WORDS: [&str; 5] = ["ville", "commune", "localite", "town", "city"];
/// Words in names of columns with something else about a town.
const NO_TOWN_WORDS: [&str; 5] = ["id", "code", "insee", "centre", "type"];

/// The meaning of a name, and the rank of the name within that meaning: the lowest rank counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnMeaning {
    /// A field of an advert as a path of the contract, or one of the constants of this module.
    pub field: &'static str,
    /// Rank of the name, from 0.
    pub rank: usize,
}

static BY_NAME: LazyLock<HashMap<String, ColumnMeaning>> = LazyLock::new(|| {
    let all = MEANINGS.iter().flat_map(|(field, names)| {
        let names = names.split_ascii_whitespace().enumerate();
        names.map(|(rank, name)| (folded(name), ColumnMeaning { field, rank }))
    });
    all.collect()
});

/// Normalises a column's name for comparison: its letters and digits in lower case, without accents.
pub fn folded(name: &str) -> String {
    if name.is_ascii() {
        let kept = name.chars().filter(char::is_ascii_alphanumeric);
        return kept
            .map(|character| character.to_ascii_lowercase())
            .collect();
    }
    let letters = name
        .nfkd()
        .filter(|character| !is_combining_mark(*character));
    letters
        .flat_map(char::to_lowercase)
        .filter(|character| character.is_alphanumeric())
        .collect()
}

/// Returns the meaning of a column's name: that of the whole name, otherwise that of the name without the unit or the
/// bracket at its end: `Surface habitable (m²)`, `Prix de vente en €`. `None` if the table has neither. A unit that the
/// field does not have, as in `Prix de vente (€/m²)` or `Prix (k€)`, is not ignored.
pub fn meaning(name: &str) -> Option<ColumnMeaning> {
    let named = |name: &str| BY_NAME.get(&folded(name)).copied();
    if let Some(found) = named(name).filter(|found| is_bare(name) || note_fits(name, found.field)) {
        return Some(found);
    }
    let (bare, note) = without_note(name);
    named(bare).filter(|found| note_fits(note, found.field))
}

/// Returns whether a name has no bracket.
fn is_bare(name: &str) -> bool {
    !name.trim_end().ends_with([')', ']'])
}

/// Splits a name into the name itself and the bracket and units at its end.
fn without_note(name: &str) -> (&str, &str) {
    let mut bare = name.trim();
    for (open, close) in [('(', ')'), ('[', ']')] {
        if let Some(at) = bare.strip_suffix(close).and_then(|_| bare.rfind(open)) {
            bare = bare[..at].trim_end();
            break;
        }
    }
    for _ in 0..UNIT_WORDS_MAX {
        let Some(at) = bare.rfind(is_break) else {
            break;
        };
        let last = bare[at..].trim_start_matches(is_break);
        if !UNIT_WORDS.contains(&unit(last).as_str()) {
            break;
        }
        bare = bare[..at].trim_end_matches(is_break);
    }
    (bare, &name.trim()[bare.len()..])
}

/// Returns whether a character separates the words of a name.
fn is_break(character: char) -> bool {
    character.is_whitespace() || matches!(character, '_' | '-' | '.' | ',' | ':')
}

/// Returns a unit in lower case, with plain digits.
fn unit(word: &str) -> String {
    let letters = word
        .nfkd()
        .filter(|character| !is_combining_mark(*character));
    letters.flat_map(char::to_lowercase).collect()
}

/// Returns whether a column's name has no unit that a field does not have: `Prix (k€)` has one that prices do not have.
pub fn units_fit(name: &str, field: &str) -> bool {
    note_fits(name, field)
}

/// Returns whether the units in a note after a name match the units of a field.
fn note_fits(note: &str, field: &str) -> bool {
    let words =
        note.split(|character: char| !(character.is_alphanumeric() || "€$£%".contains(character)));
    let is_price = field.starts_with("currentPrice.") || field == RENT;
    let is_area = field.ends_with("surface.total") || field == "land.surface";
    let is_score = field.ends_with("Score");
    let has_area = words
        .clone()
        .any(|word| AREA_UNITS.contains(&unit(word).as_str()));
    words.map(unit).all(|word| {
        let word = word.as_str();
        let is_wrong = OTHER_UNITS.contains(&word)
            || MONEY_UNITS.contains(&word) && !is_price
            || ENERGY_UNITS.contains(&word) && !is_score;
        !is_wrong
    }) && (!has_area || is_area || is_score || field.ends_with("valuePerArea"))
}

/// Returns the meaning of a column's name for an advert, like [`meaning`]: a rent is its price, and the name of a
/// street its address, after all other names of these fields. `None` also for the other parts of an address.
pub fn advert_meaning(name: &str) -> Option<ColumnMeaning> {
    let found = meaning(name)?;
    if let Some((field, _)) = NARROWER.iter().find(|(_, narrow)| *narrow == found.field) {
        let rank = NARROWER_RANK + found.rank;
        return Some(ColumnMeaning { field, rank });
    }
    (!STREET_PARTS.contains(&found.field)).then_some(found)
}

/// Returns the narrower meaning of a field: [`RENT`] for the price, [`STREET`] for the address.
pub fn narrower(field: &str) -> Option<&'static str> {
    let mut all = NARROWER.iter();
    all.find(|(wide, _)| *wide == field)
        .map(|(_, narrow)| *narrow)
}

/// Returns the columns that make up a postal address, in the order in which an address is written: the column of the
/// whole address, otherwise those of its parts, then postal code and town. After a street without them, a place in words
/// stands in for both, or the columns with a word for a town if there is no INSEE code either. Without an address and a
/// street, the columns with a word for one stand in for them. Empty if there is nothing of all this, or only columns
/// with a word for a town.
pub fn address_columns<'n>(names: impl Iterator<Item = &'n str>) -> Vec<usize> {
    let names: Vec<&str> = names.collect();
    let meanings: Vec<Option<ColumnMeaning>> = names.iter().map(|name| meaning(name)).collect();
    let of = |field: &str| {
        let columns = meanings.iter().enumerate();
        let ranked = columns.filter_map(|(column, found)| {
            let found = found.filter(|found| found.field == field)?;
            Some((found.rank, column))
        });
        ranked.min().map(|(_, column)| column)
    };
    let label = || names.iter().position(|name| folded(name) == STREET_LABEL);
    let street_name = of(STREET).or_else(|| of(STREET_TYPE).and_then(|_| label()));
    let street: Vec<usize> = match (of(ADDRESS), street_name) {
        (Some(address), _) => vec![address],
        (None, Some(name)) => {
            let parts = [HOUSE_NUMBER, REPETITION, STREET_TYPE];
            let parts = parts.iter().filter_map(|part| of(part));
            parts.chain([name]).collect()
        }
        (None, None) => Vec::new(),
    };
    let mut town: Vec<usize> = [POSTAL_CODE, CITY]
        .iter()
        .filter_map(|part| of(part))
        .collect();
    if street.is_empty() {
        let unknown = names.iter().zip(&meanings).enumerate();
        let unknown = unknown.filter(|(_, (_, found))| found.is_none());
        let unknown: Vec<(usize, &str)> =
            unknown.map(|(column, (name, _))| (column, *name)).collect();
        let is_street =
            |name: &str| looks_like_street(name) && !names_town(name) && !has_house_number(name);
        let worded = unknown.iter().filter(|(_, name)| is_street(name));
        let worded: Vec<usize> = worded.map(|(column, _)| *column).collect();
        if town.is_empty() {
            town.extend(of(PLACE));
        }
        if town.is_empty() && !worded.is_empty() && of(INSEE_CODE).is_none() {
            let named = unknown.iter().filter(|(_, name)| names_town(name));
            town.extend(named.map(|(column, _)| *column));
        }
        return worded.into_iter().chain(town).collect();
    }
    if town.is_empty() && of(ADDRESS).is_none() {
        town.extend(of(PLACE));
        // Without its town, a street would be searched in the whole country.
        if town.is_empty() && of(INSEE_CODE).is_none() {
            let columns = names.iter().enumerate();
            let named = columns.filter(|(_, name)| names_town(name));
            town.extend(named.map(|(column, _)| column));
        }
    }
    street.into_iter().chain(town).collect()
}

/// Returns whether a column's name means a town or its postal code, or has a word for one: `Ville du bien`.
pub fn names_town(name: &str) -> bool {
    if let Some(found) = meaning(name) {
        return [POSTAL_CODE, CITY, PLACE].contains(&found.field);
    }
    let words = name.split(|character: char| !character.is_alphanumeric());
    let words: Vec<String> = words.map(folded).collect();
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    has(&POSTAL_WORDS) || has(&TOWN_WORDS) && !has(&NO_TOWN_WORDS)
}

/// Returns whether a column's name means the number of a house, or what distinguishes house numbers.
pub fn is_house_number(name: &str) -> bool {
    meaning(name).is_some_and(|found| STREET_PARTS[..STREET_AT].contains(&found.field))
}

/// Returns whether a street begins with its house number: `12 bis, rue Foch`, but not `8 mai 1945`, `2e DB` or
/// `4 Chemins`, whose number is part of the name. A postal code and a town may follow.
pub fn has_house_number(street: &str) -> bool {
    let words = street.split(|character: char| !character.is_alphanumeric());
    let mut words = words.filter(|word| !word.is_empty());
    let Some((first, next)) = words.next().zip(words.next()) else {
        return false;
    };
    let letters = first.trim_start_matches(|character: char| character.is_ascii_digit());
    if letters.len() == first.len() || ORDINALS.contains(&folded(letters).as_str()) {
        return false;
    }
    let next = folded(next);
    // The whole name is a number of things; `12 Champs Élysées` is a house in a street without its type.
    let ends_there = words
        .next()
        .is_none_or(|word| word.starts_with(|character: char| character.is_ascii_digit()));
    let counts = ends_there && is_plural(&next) && is_count(first);
    !counts && !MONTHS.contains(&next.as_str())
}

/// Returns whether a folded word is a plural by its last letter.
fn is_plural(word: &str) -> bool {
    word.len() >= PLURAL_BYTES_MIN && word.ends_with(['s', 'x'])
}

/// Returns whether a word is a number of things that names of streets have.
fn is_count(word: &str) -> bool {
    let number = word.parse::<u32>();
    number.is_ok_and(|number| (2..=COUNT_MAX).contains(&number))
}

/// Joins the [`STREET_PARTS`] of a row; any of them may be empty. The number is left out before a street that begins
/// with one, because a column `N°` may number the rows.
pub fn street_line(parts: [&str; STREET_PARTS.len()]) -> String {
    let joined = |parts: &[&str]| {
        let given = parts.iter().copied().filter(|part| !part.is_empty());
        given.collect::<Vec<_>>().join(" ")
    };
    let street = joined(&parts[STREET_AT..]);
    if has_house_number(&street) {
        street
    } else {
        joined(&[parts[0], parts[1], &street])
    }
}

/// Returns whether a column's name looks like that of a street or an address.
pub fn looks_like_street(name: &str) -> bool {
    let words = name.split(|character: char| !character.is_alphanumeric());
    let words: Vec<String> = words.map(folded).collect();
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    has(&STREET_WORDS) && !has(&NO_STREET_WORDS)
}

/// Returns whether a column's name has a word for an address, which may hold the town as well.
pub fn names_address(name: &str) -> bool {
    let mut words = name.split(|character: char| !character.is_alphanumeric());
    words.any(|word| ADDRESS_WORDS.contains(&folded(word).as_str()))
}

/// Returns the fields of an advert that columns can be named after.
pub fn fields() -> impl Iterator<Item = &'static str> {
    let fields = MEANINGS.iter().map(|(field, _)| *field);
    let others = [PLACE, ARRONDISSEMENT, IDENTIFIER, RENT];
    fields.filter(move |field| !others.contains(field) && !STREET_PARTS.contains(field))
}

/// Returns whether the table has names for a field.
pub fn is_known(field: &str) -> bool {
    MEANINGS.iter().any(|(known, _)| *known == field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_in_any_spelling_and_has_one_meaning() {
        for (name, field) in [
            ("Price", "currentPrice.value"),
            ("PostalCode", "location.postalCode"),
            ("Code Postal", "location.postalCode"),
            ("Nombre de pièces", "habitation.roomCount"),
            ("Nombre d'étages", "habitation.features.propertyTotalFloor"),
            ("ÉTAGE", "habitation.floor"),
            ("Prix m²", "currentPrice.valuePerArea"),
            ("mètre_carré", "habitation.surface.total"),
            ("Energy_Class", "habitation.climate.epcEnergy"),
            ("piec.", "habitation.roomCount"),
            ("prix_du_bien", PRICE),
            ("prix_annonce", PRICE),
            ("listingprice", PRICE),
            ("totalprice", PRICE),
            ("text_annonce", "description"),
            ("date_pub", "firstSeenAt"),
            ("nb_chambre", "habitation.bedroomCount"),
            ("Localité", CITY),
            ("LOCALITE", CITY),
            ("Nom commune", CITY),
            ("Nom de la commune", CITY),
            ("Bureau distributeur", CITY),
            ("Libellé acheminement", CITY),
            ("Cat_energie", "habitation.climate.epcEnergy"),
            ("dpe_classe_active", "habitation.climate.epcEnergy"),
            ("ges_classe_active", "habitation.climate.epcClimate"),
            ("dpe_letter", "habitation.climate.epcEnergy"),
            ("dpe_etiquette_conso", "habitation.climate.epcEnergy"),
            ("dpe_valeur_conso", "habitation.climate.epcEnergyScore"),
            ("dpe_etiquette_ges", "habitation.climate.epcClimate"),
            ("dpe_valeur_ges", "habitation.climate.epcClimateScore"),
            ("Nb ch.", "habitation.bedroomCount"),
            ("conseiller_nom_complet", "seller.name"),
            ("agent_name", "seller.name"),
            ("Chambre", "habitation.bedroomCount"),
            ("label_eco", "habitation.climate.epcEnergy"),
            ("kWh/m² .an", "habitation.climate.epcEnergyScore"),
            ("kgCO2/m² .an", "habitation.climate.epcClimateScore"),
            ("DerniereVue", "lastSeenAt"),
            ("date_dernier_scan", "lastSeenAt"),
            ("Nb de pièces", "habitation.roomCount"),
            ("Nbre de pièces", "habitation.roomCount"),
            ("Nb_piece_principale", "habitation.roomCount"),
            ("Nb de chambres", "habitation.bedroomCount"),
            ("SHAB", "habitation.surface.total"),
            ("S. habitable", "habitation.surface.total"),
            ("surface_habitable_logement", "habitation.surface.total"),
            ("Adresse de l'immeuble", ADDRESS),
            ("ADRESSE des travaux", ADDRESS),
            ("adresse du chantier", ADDRESS),
            ("adresse_brute", ADDRESS),
            ("geo_adresse", ADDRESS),
            ("adresse_principale", ADDRESS),
            ("depcom", INSEE_CODE),
            ("CODGEO", INSEE_CODE),
            ("CodeComm_CodeDep", INSEE_CODE),
            ("CODDEP_CODCOM", INSEE_CODE),
        ] {
            let found = meaning(name).map(|meaning| meaning.field);
            assert_eq!(found, Some(field), "{name}");
        }
        assert_eq!(meaning("Confidence_Score"), None);
        let names = MEANINGS.iter().map(|(_, names)| names.split_whitespace());
        let count: usize = names.map(Iterator::count).sum();
        assert_eq!(BY_NAME.len(), count, "a name stands twice in the table");
    }

    #[test]
    fn a_unit_or_a_bracket_after_a_name_is_ignored_unless_it_changes_the_meaning() {
        let field = |name: &str| meaning(name).map(|found| found.field);
        for (name, expected) in [
            ("Surface habitable (m²)", "habitation.surface.total"),
            ("Surface habitable en m2", "habitation.surface.total"),
            ("surface_habitable_m2", "habitation.surface.total"),
            ("Surface carrez", "habitation.surface.total"),
            ("Surface (loi Carrez)", "habitation.surface.total"),
            ("Surf. hab.", "habitation.surface.total"),
            ("Surface terrain [m²]", "land.surface"),
            ("Prix HAI", PRICE),
            ("Prix FAI (€)", PRICE),
            ("Prix (€)", PRICE),
            ("Prix de vente en euros", PRICE),
            ("Prix de vente (EUR)", PRICE),
            ("Loyer CC (€/mois)", RENT),
            ("Nb. pièces", "habitation.roomCount"),
            ("Nombre de pièces (T)", "habitation.roomCount"),
            ("Étage n°", "habitation.floor"),
            ("Étage (RDC = 0)", "habitation.floor"),
            ("Prix (€/m²)", "currentPrice.valuePerArea"),
            (
                "Consommation énergie (kWh/m²/an)",
                "habitation.climate.epcEnergyScore",
            ),
        ] {
            assert_eq!(field(name), Some(expected), "{name}");
        }
        for name in [
            "Prix de vente (€/m²)",
            "Prix (k€)",
            "Prix de vente (M€)",
            "Surface terrain (ha)",
            "DPE (kWh/m²/an)",
            "Latitude (Lambert 93)",
            "",
        ] {
            assert_eq!(field(name), None, "{name}");
        }
    }

    #[test]
    fn the_columns_of_an_address_are_taken_in_the_order_of_an_address() {
        let columns = |names: &str| address_columns(names.split(';'));
        assert_eq!(columns("N°;Adresse;CP;Commune;Nom client"), [1, 2, 3]);
        assert_eq!(columns("Commune;CP;Rue;N°"), [3, 2, 1, 0]);
        let dvf = "id;adresse_suffixe;adresse_numero;adresse_nom_voie;code_postal;nom_commune";
        assert_eq!(columns(dvf), [2, 1, 3, 4, 5]);
        assert_eq!(columns("numero;rep;type_voie;voie;ville"), [0, 1, 2, 3, 4]);
        assert_eq!(columns("adresse;Localité"), [0, 1]);
        let dpe = "numero_dpe;code_insee_ban;nom_commune_ban;adresse_ban;code_postal_ban";
        assert_eq!(columns(dpe), [3, 4, 2]);
        assert_eq!(columns("id;Adresse;Nom"), [1], "a whole address");
        assert_eq!(columns("nom_iris;iris;N°;Rue"), [2, 3], "no town");
        assert_eq!(columns("rue;lieu"), [0, 1], "a place for the town");
        let client = "N°;Rue;Code commune client;Code postal client;Ville client";
        assert_eq!(columns(client), [0, 1, 3, 4], "words for a town");
        assert_eq!(columns("Rue;depcom;Ville client"), [0], "an INSEE code");
        let buyers = "Nom;N° VOIRIE;SUFFIXE;TYPE VOIRIE;NOM VOIRIE";
        assert_eq!(columns(buyers), [1, 2, 3, 4]);
        let register = "depcom;numero;repetition;type_voie;libelle";
        assert_eq!(columns(register), [1, 2, 3, 4]);
        assert_eq!(columns("No_voie;Type_et_Libelle;x"), [0, 1]);
        assert_eq!(columns("numero;libelle"), [0; 0], "a title");
        assert_eq!(columns("N°;CP;Ville"), [1, 2], "no street");
        assert_eq!(columns("Prix;Voie du bien;CP;Ville"), [1, 2, 3], "a word");
        let delivery = "Code client;Adresse liv adr;Adresse liv cp;Adresse liv ville;Code tournée";
        assert_eq!(columns(delivery), [1, 2, 3], "words for all");
        assert_eq!(columns("Nom;adresse livraison;Latitude"), [1], "no town");
        assert_eq!(columns("Durand;12 rue Foch;Ville"), [2], "a row");
        assert_eq!(columns("Ville du bien;Prix"), [0; 0], "only a word");
        assert_eq!(columns("Lieu;Prix"), [0], "a place");
    }

    #[test]
    fn a_street_keeps_its_own_number() {
        for street in [
            "12 Avenue Foch",
            "12bis, rue Foch",
            "12 B rue Foch",
            "3-5 quai",
            "12 Grande Rue",
            "12 La Croix",
            "12 Champs Elysées",
            "4 bis",
            "12 4 Chemins",
            "12 11 Novembre",
            "1250 Moulins",
        ] {
            assert!(has_house_number(street), "{street}");
        }
        for street in [
            "Avenue Foch",
            "8 mai 1945",
            "11 Novembre",
            "1er Août",
            "2e DB",
            "4 Chemins",
            "4 CHEMINS 93300 Aubervilliers",
            "7 Châteaux",
            "12",
            "",
        ] {
            assert!(!has_house_number(street), "{street}");
        }
        for (parts, line) in [
            (["1", "", "", "12 Avenue Foch"], "12 Avenue Foch"),
            (["1", "bis", "", "Avenue Foch"], "1 bis Avenue Foch"),
            (["12", "", "rue", "3 Fontaines"], "12 rue 3 Fontaines"),
            (["12", "", "", "8 mai 1945"], "12 8 mai 1945"),
            (["12", "", "", "4 Chemins"], "12 4 Chemins"),
            (["12", "", "", "11 Novembre"], "12 11 Novembre"),
            (["1", "", "", "12 4 Chemins"], "12 4 Chemins"),
        ] {
            assert_eq!(street_line(parts), line);
        }
        assert!(is_house_number("N°") && is_house_number("rep") && !is_house_number("voie"));
    }

    #[test]
    fn names_of_streets_are_told_from_other_names() {
        for name in ["Voirie", "Rue du bien", "adresse_2", "Nom de la voie"] {
            assert!(looks_like_street(name), "{name}");
        }
        for name in ["Adresse mail", "code_voie", "type_voie", "Notes", "N°"] {
            assert!(!looks_like_street(name), "{name}");
        }
    }
}
