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
    enterAddress: "Number, street and town", understood: "Understood as", meant: "Not surely found. Which place is meant?", bedrooms: "Bedrooms", firstRows: "The first rows; download a file for all. Shown:", loading: "Loading…", revoked: "revoked",
    newAlert: "Alert on this search", dataset: "Data", attempts: "Attempts", answer: "Answer", credits: "Credits", calls: "Calls", account: "Account", skip: "Skip to content", legend: "Median price per m²",
    legendEnergy: "Share of classes F and G",
    moreFilters: "More filters", gathered: "Gathered in", hexagons: "Hexagons", areas: "Departments, communes", colour: "Colour",
    "figure.price_per_m2": "Median price per m²", "figure.poor_share": "Share of classes F and G", "figure.over_sold": "Asking over sold prices",
    "value.CLASS_FLAT": "flat", "value.CLASS_HOUSE": "house", "value.true": "yes", "value.false": "no",
    commune: "Commune", department: "Department", index: "index", onlineOffers: "Adverts online around", terrace: "Terrace", printed: "Printed",
    imports: "Imports and ingestions", read: "read", kept: "kept", rejected: "rejected", recordsMade: "records", added: "added", replaced: "replaced",
    removed: "removed", duration: "Time", jobs: "Collected pages", model: "Model", reportCard: "Report card", trained: "trained", knownThrough: "knows sales through",
    noModel: "No model has been trained.", noReportCard: "No report card: toise evaluate estimate writes one.", judgedOn: "Judged on sales",
    medianError: "Median error", bias: "Bias", coverage: "Coverage", target: "target", within10: "within 10 %", within20: "within 20 %", sales: "Sales",
    byDepartment: "Median error by department", byCommune: "Median error by commune", calibration: "Share of prices inside the interval",
    byHorizon: "Median error by months after the last known sale", months: "months", estimator: "Estimator", means: "Means",
    files: "files", size: "Size", newest: "Newest", publications: "publications", errors: "errors", latency: "95 % of requests within",
    memory: "Memory", queries: "Queries waiting or running", creditsPerDay: "Credits by day", quota: "Calls a month", rotate: "Rotate",
    change: "Change", save: "Save", newKey: "New key, shown once", newSecret: "New signing secret, shown once", newAccount: "New account",
    kind: "Kind", expires: "Expires", concurrent: "Estimates at once", ready: "ready", notReady: "not ready", version: "Version", none: "none",
    seconds: "s", total: "Total", page: "Page", reason: "Reason", created: "Created", paths: "Price paths",
    "confidence.LOW": "low confidence", "confidence.MEDIUM": "medium confidence", "confidence.HIGH": "high confidence",
    "part.typicalHome": "Typical home of its class", "part.location": "Place", "part.comparables": "Comparable sales", "part.surface": "Surface",
    "part.roomCount": "Rooms", "part.landSurface": "Land", "part.epcEnergy": "Energy class", "part.constructionYear": "Year of construction",
    "part.date": "Change of prices since", "part.hasTerrace": "Terrace",
    pairs: "Pairs", pairsTitle: "One home or two?", pairsHint: "Pairs of properties that are perhaps one home, the likeliest first. One bit doubles the odds.",
    pairsWaiting: "pairs of adverts wait for a decision", sameHome: "Same home", differentHomes: "Different homes", later: "Later", noPairs: "No pair waits for a decision.",
    merged: "One home now", keptApart: "Kept apart", probability: "Probability", bits: "bits", agrees: "What agrees", differs: "What differs", field: "What was compared",
    found: "Found", contradicts: "Cannot be true of one home", dissents: "Another advert of its property does not go with advert", littleInCommon: "too little in common", common: "Not compared, because many homes show it",
    beforehand: "Before any comparison, for the adverts around", advert: "Advert", portal: "Portal", place: "Place", lastSeen: "Last seen", pictures: "Pictures",
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
    enterAddress: "Numéro, rue et ville", understood: "Compris comme", meant: "Adresse incertaine. Quel lieu est le bon ?", bedrooms: "Chambres", firstRows: "Les premières lignes ; un fichier les contient toutes. Affichées :", loading: "Chargement…", revoked: "révoquée",
    newAlert: "Alerte sur cette recherche", dataset: "Données", attempts: "Essais", answer: "Réponse", credits: "Crédits", calls: "Appels", account: "Compte", skip: "Aller au contenu", legend: "Prix médian au m²",
    legendEnergy: "Part des classes F et G",
    moreFilters: "Autres filtres", gathered: "Regroupé par", hexagons: "Hexagones", areas: "Départements, communes", colour: "Couleur",
    "figure.price_per_m2": "Prix médian au m²", "figure.poor_share": "Part des classes F et G", "figure.over_sold": "Prix demandés par rapport aux ventes",
    "value.CLASS_FLAT": "appartement", "value.CLASS_HOUSE": "maison", "value.true": "oui", "value.false": "non",
    commune: "Commune", department: "Département", index: "indice", onlineOffers: "Annonces en ligne alentour", terrace: "Terrasse", printed: "Imprimé le",
    imports: "Imports et ingestions", read: "lues", kept: "gardées", rejected: "rejetées", recordsMade: "enregistrements", added: "ajoutés", replaced: "remplacés",
    removed: "supprimés", duration: "Durée", jobs: "Pages collectées", model: "Modèle", reportCard: "Bulletin", trained: "entraîné le", knownThrough: "connaît les ventes jusqu’au",
    noModel: "Aucun modèle n’est entraîné.", noReportCard: "Pas de bulletin : toise evaluate estimate en écrit un.", judgedOn: "Jugé sur les ventes",
    medianError: "Erreur médiane", bias: "Biais", coverage: "Couverture", target: "cible", within10: "à 10 % près", within20: "à 20 % près", sales: "Ventes",
    byDepartment: "Erreur médiane par département", byCommune: "Erreur médiane par commune", calibration: "Part des prix dans l’intervalle",
    byHorizon: "Erreur médiane selon les mois après la dernière vente connue", months: "mois", estimator: "Estimateur", means: "Méthode",
    files: "fichiers", size: "Taille", newest: "Plus récent", publications: "publications", errors: "erreurs", latency: "95 % des requêtes en moins de",
    memory: "Mémoire", queries: "Requêtes en attente ou en cours", creditsPerDay: "Crédits par jour", quota: "Appels par mois", rotate: "Renouveler",
    change: "Modifier", save: "Enregistrer", newKey: "Nouvelle clé, montrée une fois", newSecret: "Nouveau secret de signature, montré une fois", newAccount: "Nouveau compte",
    kind: "Genre", expires: "Expire", concurrent: "Estimations simultanées", ready: "prêt", notReady: "pas prêt", version: "Version", none: "aucun",
    seconds: "s", total: "Total", page: "Page", reason: "Raison", created: "Créé", paths: "Évolution des prix",
    "confidence.LOW": "confiance faible", "confidence.MEDIUM": "confiance moyenne", "confidence.HIGH": "confiance élevée",
    "part.typicalHome": "Bien typique de sa classe", "part.location": "Emplacement", "part.comparables": "Ventes comparables", "part.surface": "Surface",
    "part.roomCount": "Pièces", "part.landSurface": "Terrain", "part.epcEnergy": "Classe énergétique", "part.constructionYear": "Année de construction",
    "part.date": "Évolution des prix depuis", "part.hasTerrace": "Terrasse",
    pairs: "Doublons", pairsTitle: "Un bien ou deux ?", pairsHint: "Paires de biens qui n’en font peut-être qu’un, les plus probables d’abord. Un bit double les chances.",
    pairsWaiting: "paires d’annonces attendent une décision", sameHome: "Même bien", differentHomes: "Biens différents", later: "Plus tard", noPairs: "Aucune paire n’attend de décision.",
    merged: "Un seul bien désormais", keptApart: "Séparés", probability: "Probabilité", bits: "bits", agrees: "Ce qui concorde", differs: "Ce qui diffère", field: "Critère",
    found: "Constat", contradicts: "Impossible pour un même bien", dissents: "Une autre annonce du bien ne va pas avec l’annonce", littleInCommon: "trop peu en commun", common: "Non comparé, car de nombreux biens le montrent",
    beforehand: "Avant toute comparaison, pour les annonces alentour", advert: "Annonce", portal: "Portail", place: "Lieu", lastSeen: "Vue le", pictures: "Photos",
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

/** A moment on an axis whose ticks are so many seconds apart. */
export function tick(seconds, apart) {
  const day = 86_400;
  const shown = apart < 60 ? { hour: "2-digit", minute: "2-digit", second: "2-digit" } : apart < day ? { hour: "2-digit", minute: "2-digit" }
    : apart < 28 * day ? { day: "numeric", month: "short" } : apart < 360 * day ? { month: "short", year: "numeric" } : { year: "numeric" };
  // What is told by the day is told in UTC.
  return new Intl.DateTimeFormat(locale(), { ...shown, ...(apart >= day && { timeZone: "UTC" }) }).format(new Date(seconds * 1000));
}
