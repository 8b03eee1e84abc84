/** Words of the console in French and English, and numbers and days as each language writes them. */

const WORDS = {
  en: {
    map: "Map", home: "A home", alerts: "Alerts", operations: "Operations", query: "SQL", leave: "Sign out",
    key: "API key", enter: "Open the console", keyHint: "It stays in this session only and is never part of an address.",
    codeUsed: "This link has been used or is too old. Paste a key instead.",
    dvf: "Recorded sales", dpe: "Energy diagnostics", properties: "Properties", search: "Search", more: "More",
    results: "results", asCurl: "as curl", copied: "copied", notGranted: "This key may not do that: it needs the scope",
    price: "Price", surface: "Surface", rooms: "Rooms", perM2: "per m²", date: "Date", type: "Type", energyClass: "Energy class",
    address: "Address", estimate: "Estimate", value: "Value", from: "from", to: "to", interval: "interval",
    comparables: "Comparable sales", contributions: "What makes the value", nearbySales: "Sales nearby",
    nearbyDiagnostics: "Diagnostics nearby", nearbyOffers: "On offer nearby", house: "House", flat: "Flat", print: "Print",
    history: "Price history", adverts: "Adverts", nothing: "Nothing found here.", min: "least", max: "most",
    name: "Name", create: "Create", preview: "Preview", matches: "Matches", deliveries: "Deliveries", retry: "Send again",
    webhook: "Webhook address", active: "active", pause: "Pause", resume: "Resume", remove: "Delete", status: "Status",
    keys: "Keys", usage: "Credits", tables: "Tables", health: "Health", revoke: "Revoke", scopes: "Scopes", rate: "Rate",
    run: "Run", rows: "rows", download: "Download", columns: "Columns", lightDark: "Light or dark", language: "Français",
    days: "days", perDay: "per day", offline: "offline", online: "online", metrics: "Requests", close: "Close",
    enterAddress: "Number, street and town", understood: "Understood as", loading: "Loading…", revoked: "revoked",
    dataset: "Data", postcode: "Postal code", attempts: "Attempts", answer: "Answer", credits: "Credits", calls: "Calls", account: "Account", skip: "Skip to content", legend: "Median price per m²",
    legendEnergy: "Share of classes F and G",
  },
  fr: {
    map: "Carte", home: "Un bien", alerts: "Alertes", operations: "Exploitation", query: "SQL", leave: "Se déconnecter",
    key: "Clé d’API", enter: "Ouvrir la console", keyHint: "Elle reste dans cette session et n’apparaît jamais dans une adresse.",
    codeUsed: "Ce lien a déjà servi ou est trop ancien. Collez une clé à la place.",
    dvf: "Ventes enregistrées", dpe: "Diagnostics énergétiques", properties: "Biens", search: "Rechercher", more: "Plus",
    results: "résultats", asCurl: "en curl", copied: "copié", notGranted: "Cette clé n’y a pas droit : il faut la portée",
    price: "Prix", surface: "Surface", rooms: "Pièces", perM2: "au m²", date: "Date", type: "Type",
    energyClass: "Classe énergétique", address: "Adresse", estimate: "Estimer", value: "Valeur", from: "de", to: "à",
    interval: "intervalle", comparables: "Ventes comparables", contributions: "Ce qui fait la valeur",
    nearbySales: "Ventes à proximité", nearbyDiagnostics: "Diagnostics à proximité", nearbyOffers: "En vente à proximité",
    house: "Maison", flat: "Appartement", print: "Imprimer", history: "Historique des prix", adverts: "Annonces",
    nothing: "Rien trouvé ici.", min: "minimum", max: "maximum", name: "Nom", create: "Créer", preview: "Aperçu",
    matches: "Correspondances", deliveries: "Livraisons", retry: "Renvoyer", webhook: "Adresse du webhook", active: "active",
    pause: "Suspendre", resume: "Reprendre", remove: "Supprimer", status: "État", keys: "Clés", usage: "Crédits",
    tables: "Tables", health: "Santé", revoke: "Révoquer", scopes: "Portées", rate: "Débit", run: "Exécuter", rows: "lignes",
    download: "Télécharger", columns: "Colonnes", lightDark: "Clair ou sombre", language: "English", days: "jours",
    perDay: "par jour", offline: "hors ligne", online: "en ligne", metrics: "Requêtes", close: "Fermer",
    enterAddress: "Numéro, rue et ville", understood: "Compris comme", loading: "Chargement…", revoked: "révoquée",
    dataset: "Données", postcode: "Code postal", attempts: "Essais", answer: "Réponse", credits: "Crédits", calls: "Appels", account: "Compte", skip: "Aller au contenu", legend: "Prix médian au m²",
    legendEnergy: "Part des classes F et G",
  },
};

const KEPT = "toise-language";
const known = localStorage.getItem(KEPT);
export let language = known in WORDS ? known : navigator.language.startsWith("fr") ? "fr" : "en";
document.documentElement.lang = language;

/** The word for a thing. */
export const word = (name) => WORDS[language][name] ?? name;

/** Goes over to the other language. */
export function switchLanguage() {
  language = language === "fr" ? "en" : "fr";
  localStorage.setItem(KEPT, language);
  document.documentElement.lang = language;
}

const locale = () => (language === "fr" ? "fr-FR" : "en-GB");

/** A number with at most `digits` decimals; empty where there is none. */
export const number = (value, digits = 0) =>
  value === null || value === undefined ? "" : new Intl.NumberFormat(locale(), { maximumFractionDigits: digits }).format(value);

/** A sum in euros. */
export const euros = (value) =>
  value === null || value === undefined
    ? ""
    : new Intl.NumberFormat(locale(), { style: "currency", currency: "EUR", maximumFractionDigits: 0 }).format(value);

/** The day of a moment. */
export const day = (value) =>
  value ? new Intl.DateTimeFormat(locale(), { dateStyle: "medium", timeZone: "Europe/Paris" }).format(new Date(value)) : "";
