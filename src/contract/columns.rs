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
/// Latitude of the position, as a path of the contract.
pub const LATITUDE: &str = "location.locationCoordinate.location[1]";
/// Longitude of the position, as a path of the contract.
pub const LONGITUDE: &str = "location.locationCoordinate.location[0]";

/// Fields of an advert, or one of the constants above, each with its column names. If a file has several of these
/// names, the first in the list counts.
#[rustfmt::skip]
const MEANINGS: &[(&str, &str)] = &[
    ("url", "url lien link href url_annonce lien_annonce annonce_url property_url listing_url ad_url source_url detail_url page_url permalink urls"),
    ("title", "titre title titre_annonce titre_complet intitule libelle headline subject name property_name"),
    ("description", "description texte descriptif description_annonce description_complete text body desc"),
    ("type", "type_bien type_de_bien property_type type_local type_logement estate_type real_estate_type housing_type categorie_bien categorie category type"),
    ("offer.type", "type_transaction transaction transaction_type type_offre offer_type type_annonce listing_type type_vente"),
    ("currentPrice.value", "prix price loyer rent prix_eur price_eur prix_euros prix_vente prix_de_vente asking_price sale_price \
        list_price loyer_mensuel monthly_rent rent_per_month loyer_cc prix_fai prix_total prix_affiche montant \
        valeur_fonciere price_value price_amount current_price"),
    ("currentPrice.valuePerArea", "prix_m2 prix_au_m2 prix_par_m2 prix_metre_carre price_m2 price_per_m2 price_per_sqm price_sqm sqm_price"),
    ("habitation.surface.total", "surface surface_m2 surface_habitable superficie superficie_m2 surface_totale surface_reelle_bati \
        surface_interieure area area_m2 size size_sqm size_m2 living_area living_surface floor_area property_size surface_area \
        square_meters m2 sqm metre_carre metres_carres living_space habitable_area superficie_habitable"),
    ("land.surface", "surface_terrain superficie_terrain terrain terrain_m2 surface_terrain_m2 land_surface land_surface_m2 land_area land_size plot_area plot_size"),
    ("habitation.roomCount", "nb_pieces pieces nombre_pieces nombre_de_pieces nombre_pieces_principales nbr_pieces nbre_pieces \
        nb_piece piece nb_rooms rooms room_count number_of_rooms total_rooms rooms_quantity rooms_count piec"),
    ("habitation.bedroomCount", "nb_chambres chambres nombre_chambres nombre_de_chambres nbr_chambres nbre_chambres nb_bedrooms \
        bedrooms bedroom bedroom_count number_of_bedrooms bedrooms_quantity bedrooms_count"),
    ("habitation.bathroomCount", "nb_salles_de_bain salles_de_bain salles_de_bains nb_sdb nbr_sdb sdb nb_bathrooms bathrooms bathroom bathroom_count \
        number_of_bathrooms nombre_de_salles_de_bain baths bath"),
    ("habitation.floor", "etage num_etage numero_etage floor floor_number apartment_floor property_floor"),
    ("habitation.features.propertyTotalFloor", "nombre_d_etages nombre_etages nb_etages total_etages etages_immeuble total_floors total_floor \
        number_of_floors floor_building building_floors floors"),
    ("habitation.propertyCondition.constructionYear", "annee_construction annee_de_construction building_year construction_year year_built build_year"),
    ("habitation.climate.epcEnergy", "dpe classe_energie classe_dpe dpe_classe lettre_dpe etiquette_dpe epc epc_energy energy_class \
        energy_rate energy_rating energy_label classe_energetique"),
    ("habitation.climate.epcClimate", "ges classe_ges ges_classe lettre_ges etiquette_ges gaz_effet_serre epc_climate climate_class \
        greenhouse_rate ghg_class ghg ges_lit"),
    ("habitation.climate.epcEnergyScore", "consommation_energie dpe_valeur valeur_dpe energy_value energy_consumption epc_energy_score"),
    ("habitation.climate.epcClimateScore", "emission_ges ges_valeur valeur_ges ghg_value ghg_emission epc_climate_score"),
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
    ("location.postalCode", "code_postal cp postal_code postcode zipcode zip code_post"),
    ("location.city", "ville city commune nom_commune nom_ville ville_reelle town city_name municipality"),
    ("location.inseeCode", "code_insee insee insee_code code_commune"),
    ("location.department", "departement_code code_departement num_departement departement department department_code dept"),
    ("location.district", "quartier district neighborhood neighbourhood nom_quartier"),
    ("location.address", "adresse address adresse_texte adresse_complete full_address street_address rue street"),
    (PLACE, "localisation localisation_complete location loc lieu place secteur"),
    (ARRONDISSEMENT, "arrondissement arrond arr borough"),
    (LATITUDE, "latitude lat geo_lat gps_lat latitude_wgs84"),
    (LONGITUDE, "longitude lng lon long geo_lng geo_lon gps_lng longitude_wgs84"),
    ("medias.images", "images photos pictures image_urls images_urls photo_urls photos_urls urls_images urls_photos img_urls image_list \
        liste_images liste_photos image photo picture image_url photo_url picture_url"),
    ("seller.name", "agence agency nom_agence agency_name annonceur advertiser vendeur seller_name owner_company"),
    ("reference", "reference ref ref_annonce reference_annonce annonce_reference"),
    (IDENTIFIER, "id id_annonce annonce_id ad_id list_id listing_id identifiant identifier pid uuid"),
    ("firstSeenAt", "date_publication date_annonce publication_date first_publication_date published_at date_parution first_seen_at"),
    ("lastSeenAt", "date_scrape date_scraped date_scraping date_crawl date_extraction scraped_at scrape_date scraping_date crawl_date \
        collected_at extraction_date last_seen_at insert_time"),
];

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
        return kept.map(|sign| sign.to_ascii_lowercase()).collect();
    }
    let letters = name.nfkd().filter(|sign| !is_combining_mark(*sign));
    letters
        .flat_map(char::to_lowercase)
        .filter(|sign| sign.is_alphanumeric())
        .collect()
}

/// Returns the meaning of a [`folded`] column name; `None` if the table does not have the name.
pub fn meaning(folded: &str) -> Option<ColumnMeaning> {
    BY_NAME.get(folded).copied()
}

/// Returns the fields of an advert that columns can be named after.
pub fn fields() -> impl Iterator<Item = &'static str> {
    let fields = MEANINGS.iter().map(|(field, _)| *field);
    fields.filter(|field| ![PLACE, ARRONDISSEMENT, IDENTIFIER].contains(field))
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
        ] {
            let found = meaning(&folded(name)).map(|meaning| meaning.field);
            assert_eq!(found, Some(field), "{name}");
        }
        assert_eq!(meaning(&folded("Confidence_Score")), None);
        let names = MEANINGS.iter().map(|(_, names)| names.split_whitespace());
        let count: usize = names.map(Iterator::count).sum();
        assert_eq!(BY_NAME.len(), count, "a name stands twice in the table");
    }
}
