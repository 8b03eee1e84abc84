/**
 * The columns of a file of adverts: their possible meanings, and the meaning suggested by the name of a column. The service
 * reads the values with its mapping `french-csv`, so a column is sent under the name that this mapping has for its meaning.
 * A test compares the names with the mapping and with the table of names in `src/contract/columns.rs`.
 */

/** The mapping that reads the rows. */
export const MAPPING = "french-csv";

/** Meanings, by column of the mapping: path in the contract, word of words.js, and the usual column names. */
export const MEANINGS = {
  url: ["url", "webAddress", "url lien link href url_annonce lien_annonce annonce_url property_url listing_url ad_url page_url permalink"],
  titre: ["title", "title", "titre title titre_annonce intitule libelle headline name property_name"],
  description: ["description", "description", "description texte descriptif description_annonce text body"],
  type_bien: ["type", "type", "type_bien type_de_bien property_type type_local type_logement estate_type housing_type categorie_bien category type"],
  prix: ["currentPrice.value", "price", "prix price prix_eur price_eur prix_vente prix_de_vente asking_price sale_price list_price prix_fai prix_total montant valeur_fonciere"],
  loyer: ["rent", "rentAsked", "loyer rent loyer_mensuel monthly_rent loyer_cc loyer_charges_comprises loyer_hc montant_loyer rent_price"],
  type_transaction: ["offer.type", "saleOrRent", "type_transaction transaction transaction_type type_offre offer_type type_annonce listing_type type_vente operation"],
  surface: ["habitation.surface.total", "surface", "surface surface_m2 surface_habitable superficie superficie_m2 surface_totale surface_reelle_bati area area_m2 size size_m2 living_area living_surface floor_area m2 sqm"],
  surface_terrain: ["land.surface", "land", "surface_terrain superficie_terrain terrain terrain_m2 land_surface land_area land_size plot_area plot_size"],
  nb_pieces: ["habitation.roomCount", "rooms", "nb_pieces pieces nombre_pieces nombre_de_pieces nombre_pieces_principales nb_rooms rooms room_count number_of_rooms"],
  nb_chambres: ["habitation.bedroomCount", "bedrooms", "nb_chambres chambres nombre_chambres nombre_de_chambres nb_bedrooms bedrooms bedroom_count number_of_bedrooms"],
  etage: ["habitation.floor", "floor", "etage num_etage numero_etage floor floor_number"],
  dpe: ["habitation.climate.epcEnergy", "energyClass", "dpe classe_energie classe_dpe etiquette_dpe epc energy_class energy_rating energy_label classe_energetique"],
  ges: ["habitation.climate.epcClimate", "gasClass", "ges classe_ges etiquette_ges gaz_effet_serre climate_class ghg"],
  code_postal: ["location.postalCode", "postalCode", "code_postal cp postal_code postcode zipcode zip"],
  ville: ["location.city", "town", "ville city commune nom_commune nom_ville town city_name municipality"],
  adresse: ["location.address", "address", "adresse address adresse_complete full_address street_address"],
  numero_voie: ["house_number", "houseNumber", "house_number street_number numero_voie numero_rue num_voie adresse_numero"],
  nom_voie: ["street", "street", "street street_name nom_voie nom_rue libelle_voie adresse_nom_voie voie rue"],
  localisation: ["place", "placeInWords", "localisation location loc lieu place secteur"],
  latitude: ["location.locationCoordinate.location[1]", "latitude", "latitude lat geo_lat gps_lat"],
  longitude: ["location.locationCoordinate.location[0]", "longitude", "longitude lng lon long geo_lng geo_lon gps_lng"],
  agence: ["seller.name", "agency", "agence agency nom_agence agency_name annonceur advertiser vendeur seller_name"],
  images: ["medias.images", "pictures", "images photos pictures image_urls photo_urls image photo picture"],
  date_publication: ["firstSeenAt", "firstSeen", "date_publication date_annonce publication_date published_at date_parution first_seen_at"],
  date_scrape: ["lastSeenAt", "lastSeen", "date_scrape date_scraped date_crawl date_extraction scraped_at crawl_date collected_at last_seen_at"],
};

/** A new advert needs one of these meanings, or both coordinates, to have a place. */
const PLACES = ["code_postal", "ville", "adresse", "localisation", "titre"];

/** Normalises a name for comparison: lower-case letters and digits, without accents. */
const folded = (name) => name.normalize("NFKD").toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, "");

const BY_NAME = new Map(Object.entries(MEANINGS).flatMap(([meaning, [, , names]]) => names.split(" ").map((name, rank) => [folded(name), { meaning, rank }])));

/** Suggests a meaning for each column by its name. If two columns have the same meaning, the one with the more usual name gets it. */
export function suggestMeanings(columns) {
  const best = {};
  for (const column of columns) {
    const known = BY_NAME.get(folded(column));
    if (known && !(best[known.meaning]?.rank <= known.rank)) best[known.meaning] = { column, rank: known.rank };
  }
  return Object.fromEntries(Object.entries(best).map(([meaning, { column }]) => [column, meaning]));
}

/** Returns the words for what is missing to add a new advert. */
export function missingMeanings(chosen) {
  const held = new Set(Object.values(chosen));
  const hasPlace = PLACES.some((one) => held.has(one)) || (held.has("latitude") && held.has("longitude"));
  return [...(held.has("url") ? [] : ["importNeedsUrl"]), ...(hasPlace ? [] : ["importNeedsPlace"])];
}

/** Returns a row for the mapping: the chosen columns under the names of their meanings. */
export const mapRow = (row, chosen) =>
  Object.fromEntries(Object.entries(chosen).filter(([column, meaning]) => meaning && row[column] !== undefined).map(([column, meaning]) => [meaning, row[column]]));

/** Counts faults and warnings of rows by their text: `[text, count, first row from 1]`, the most frequent first. */
export function tally(messages) {
  const counts = new Map();
  for (const { text, row } of messages) {
    const known = counts.get(text);
    if (known) known[1] += 1;
    else counts.set(text, [text, 1, row]);
  }
  return [...counts.values()].sort((one, other) => other[1] - one[1]);
}
