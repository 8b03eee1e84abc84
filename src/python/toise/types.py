"""Types of the requests and responses of the service, generated from its OpenAPI document by
`src/python/generate.py`.

Every record is a plain `dict`; these types describe its keys to type checkers and editors. A key that may be missing is
`NotRequired`.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

__all__ = [
    "Account", "AccountRequest", "AccountUsage", "AccountWithSecret", "AccountsCreateAnswer", "AccountsGetAnswer",
    "AccountsListAnswer", "AdCompleteLatLng", "AdLocation", "Address", "AddressCollection", "AddressCollectionExplain",
    "AddressGeometry", "AddressProperties", "AddressPropertiesMatched", "AdminConsumptionAnswer", "Advert",
    "AdvertAlert", "AdvertAlertsActivateAnswer", "AdvertAlertsAllAnswer", "AdvertAlertsCreateAnswer",
    "AdvertAlertsCreateManyAnswer", "AdvertAlertsDeleteAnswer", "AdvertAlertsDeliveriesAnswer", "AdvertAlertsGetAnswer",
    "AdvertAlertsHistoryAnswer", "AdvertAlertsPreviewAnswer", "AdvertAlertsPreviewAnswerData",
    "AdvertAlertsReplayAnswer", "AdvertAlertsTestAnswer", "AdvertAlertsUpdateAnswer", "AdvertComparison",
    "AdvertComparisonEvidenceItem", "AdvertDelivery", "AdvertDeliveryData", "AdvertEvent", "AdvertMatches",
    "AdvertOutcome", "AdvertPrice", "AdvertUpdate", "AdvertUpdates", "AdvertsCheckAnswer", "AdvertsCheckAnswerData",
    "AdvertsGetAnswer", "AdvertsGetByUrlAnswer", "AdvertsGetByUrlPending", "AdvertsGetByUrlPendingData",
    "AdvertsReportAnswer", "AdvertsReportAnswerData", "AdvertsReportRequest", "AdvertsRequest", "AdvertsTakeAnswer",
    "AlertContext", "AlertName", "AlertOutcome", "AlertOutcomeFailed", "AlertOverview", "AlertOverviewDeliveries",
    "AlertsGetAnswer", "AlertsListAnswer", "AnalyticsMarketAnswer", "AnalyticsMarketAnswerDataItem",
    "AnalyticsMarketAnswerMeta", "AnalyticsMarketRequest", "AnalyticsMarketRequestLocation",
    "AnalyticsPropertySearchAnswer", "AnalyticsPropertySearchAnswerData",
    "AnalyticsPropertySearchAnswerDataHistogramItem", "Area", "AreaObject3", "AreaObject3Isochrone",
    "AreasDeleteAnswer", "AreasDeleteAnswerData", "AreasGetAnswer", "AreasGetAnswerData", "AreasListAnswer",
    "AreasListAnswerDataItem", "AreasPutAnswer", "AuditAnswer", "AuditEntry", "BuildingDiagnostics",
    "BuildingHistoryAnswer", "CandidateAdvert", "CandidatePair", "CandidatePairs", "CarbonPerArea",
    "ChangeSearchAdvertsPayload", "ChangeSearchDpePayload", "ChangeSearchDvfPayload", "ChangeSearchPropertiesPayload",
    "Characteristics", "Charges", "Climate", "CompleteLatLng", "Consumption", "ConsumptionAnswer",
    "ConsumptionDaysAnswer", "Contact", "Count", "CountPropertiesPayload", "DateRange", "DayUsage",
    "DeadLettersListAnswer", "DeadLettersRetryAnswer", "DecidedProperty", "Delivery", "DeliveryStatus", "Department",
    "Dissenter", "DpeAlert", "DpeAlertsActivateAnswer", "DpeAlertsAllAnswer", "DpeAlertsCreateAnswer",
    "DpeAlertsCreateManyAnswer", "DpeAlertsDeleteAnswer", "DpeAlertsDeliveriesAnswer", "DpeAlertsGetAnswer",
    "DpeAlertsHistoryAnswer", "DpeAlertsPreviewAnswer", "DpeAlertsPreviewAnswerData", "DpeAlertsReplayAnswer",
    "DpeAlertsTestAnswer", "DpeAlertsUpdateAnswer", "DpeDelivery", "DpeDeliveryData", "DpeDeliveryDataCreatedItem",
    "DpeMatchAnswer", "DpeMatchAnswerDataItem", "DpeMatchAnswerMeta", "DpeMatchAnswerMetaAddress", "DpeMatchManyAnswer",
    "DpeMatchManyRequest", "DpeMatchRequest", "DpeMatchRequestFilters", "DpeMatchRequestScoringTargets", "DpeRecord",
    "DpeSearchAnswer", "DpeSearchRequest", "DpeSearchRequestFilters", "DvfAlert", "DvfAlertsActivateAnswer",
    "DvfAlertsAllAnswer", "DvfAlertsCreateAnswer", "DvfAlertsCreateManyAnswer", "DvfAlertsDeleteAnswer",
    "DvfAlertsDeliveriesAnswer", "DvfAlertsGetAnswer", "DvfAlertsHistoryAnswer", "DvfAlertsPreviewAnswer",
    "DvfAlertsPreviewAnswerData", "DvfAlertsReplayAnswer", "DvfAlertsTestAnswer", "DvfAlertsUpdateAnswer",
    "DvfDelivery", "DvfDeliveryData", "DvfDeliveryDataCreatedItem", "DvfMatchAnswer", "DvfMatchAnswerDataItem",
    "DvfMatchManyAnswer", "DvfMatchManyRequest", "DvfMatchRequest", "DvfMatchRequestFilters",
    "DvfMatchRequestScoringTargets", "DvfRecord", "DvfSearchAnswer", "DvfSearchRequest", "DvfSearchRequestFilters",
    "EnergyPerArea", "EnumAdvertAlertMatch", "EnumAdvertEvent", "EnumAlertMatch", "EnumConstructionMaterial",
    "EnumCurrency", "EnumEnergyClassification", "EnumExposure", "EnumFurniture", "EnumGlazingType",
    "EnumGreenhouseClassification", "EnumHeatType", "EnumHeatTypeDetail", "EnumHeating", "EnumLandType",
    "EnumLocationPrecision", "EnumOpenDataAlertMatch", "EnumParkingType", "EnumPricingScope", "EnumPropertyClass",
    "EnumPropertyGeneralCondition", "EnumPropertyInteriorCondition", "EnumPropertyOfferType", "EnumPropertyProcess",
    "EnumPropertyTypeHabitation", "EnumSearchRequestOrderBy", "EnumSearchRequestSortBy", "EnumSellerType",
    "EnumStudiedData", "EnumViewOn", "EnumViewType", "Erasure", "ErasurePlace", "ErasureRequest",
    "ErasuresCreateAnswer", "Error", "ErrorError", "Estimate", "EstimateMetadata", "EstimateMetadataComparablesItem",
    "EstimateMetadataModel", "EstimatePriceRange", "EstimatePropertyLiteAnswer", "EstimatePropertyLiteManyAnswer",
    "EstimatePropertyLiteManyRequest", "EstimateRentAnswer", "EstimateRequest", "EstimateRequestHabitation",
    "EstimateRequestHabitationCharacteristics", "EstimateRequestHabitationClimate", "EstimateRequestHabitationFeatures",
    "EstimateRequestHabitationPropertyCondition", "EstimateRequestHabitationSurface", "EstimateRequestLand",
    "EstimateRequestLocation", "EstimateRequestLocationLocationCoordinate", "EstimateRequestOffer", "Eur", "EurChange",
    "EurPerSquareMetre", "Features", "FilterAdvert", "FilterAdvertPrice", "FilterAdvertQuery", "FilterCharacteristics",
    "FilterClimate", "FilterCompleteLatLng", "FilterDateRange", "FilterDpeQuery", "FilterDvfQuery", "FilterFeatures",
    "FilterLatLng", "FilterLatLngGeoBoundingBox", "FilterLatLngGeoDistance", "FilterLatLngGeoInseeCodeDistance",
    "FilterLightSeller", "FilterLocation", "FilterMeta", "FilterOffer", "FilterOfferRentingContract", "FilterPrice",
    "FilterProperty", "FilterPropertyAdvert", "FilterPropertyCondition", "FilterPropertyPrice", "FilterPropertyQuery",
    "FilterSource", "FilterSurface", "FilterTypeHabitation", "FilterTypeLand", "FilterTypeParking", "FilterVariation",
    "Finding", "FindingsListAnswer", "Floor", "FlxId", "GeoDistance", "GeocodingBatchAnswer", "GeocodingBatchRequest",
    "GeocodingBatchRequestRequestsItem", "GeocodingProjectCreateAnswer", "GeocodingProjectCreateAnswerData",
    "GeocodingProjectDeleteAnswer", "GeocodingProjectDeleteAnswerData", "GeocodingProjectGetAnswer",
    "GeocodingProjectInputAnswer", "GeocodingProjectPipelineAnswer", "GeocodingProjectPipelineAnswerData",
    "GeocodingProjectPipelineAnswerDataRowsByStatus", "GeocodingProjectPipelineRequest", "GeocodingProjectStartAnswer",
    "Grant", "HomeReport", "Image", "IncomingAdCompleteLatLng", "IncomingAdLocation", "IncomingAdvert",
    "IncomingAdvertPrice", "IncomingCharacteristics", "IncomingCharges", "IncomingClimate", "IncomingContact",
    "IncomingFeatures", "IncomingImage", "IncomingLightSeller", "IncomingMedias", "IncomingMeta", "IncomingOffer",
    "IncomingOfferRentingContract", "IncomingPropertyCondition", "IncomingSurface", "IncomingTypeHabitation",
    "IncomingTypeLand", "IncomingTypeParking", "InseeCode", "IrisCode", "IsochroneGetAnswer", "IsochroneGetAnswerData",
    "Job", "JobsListAnswer", "KeptApart", "Key", "KeyChange", "KeyRequest", "KeyRequestSqlLimits", "KeysCreateAnswer",
    "KeysListAnswer", "KeysRevokeAnswer", "KeysUpdateAnswer", "LatLng", "LayerFilter", "LayerNearby",
    "LayersListAnswer", "LayersListAnswerDataItem", "LayersListAnswerDataItemColumnsItem", "LetterheadDeleteAnswer",
    "LetterheadGetAnswer", "LetterheadGetAnswerData", "LetterheadPutAnswer", "LetterheadPutRequest", "LightSeller",
    "LiteClimate", "LiteFilterClimate", "LiteFilterFeatures", "LiteFilterPrice", "LiteFilterProperty",
    "LiteFilterSurface", "LiteFilterTypeHabitation", "LiteFilterTypeLand", "LiteHabitation", "LitePrice",
    "LiteProperty", "LitePropertyAdvert", "LiteSurface", "Location", "ManyPropertiesPayload",
    "ManyPropertiesPayloadObject", "Medias", "Meta", "ModelAnswer", "ModelInUse", "ModelInUseModel",
    "ModelInUseReportCard", "NewKey", "NumberRange", "Offer", "OfferRentingContract", "OperationReport",
    "OperatorAlert", "OtherProperty", "ParcelHistoryAnswer", "ParcelSales", "Percent", "PlaceHistory",
    "PlaceHistoryBuildingsItem", "PlaceHistoryEventsItem", "PlaceHistoryProperties", "PlaceMarket", "Polygons",
    "PolygonsObject", "PolygonsObject1", "PortalsAnswer", "PortfoliosDeleteAnswer", "PortfoliosGetAnswer",
    "PortfoliosGetAnswerData", "PortfoliosGetAnswerDataChanges", "PortfoliosGetAnswerDataHomesItem",
    "PortfoliosGetAnswerDataHomesItemNewComparablesItem", "PortfoliosGetAnswerDataTotals", "PortfoliosListAnswer",
    "PortfoliosListAnswerDataItem", "PortfoliosPutAnswer", "PortfoliosPutAnswerData",
    "PortfoliosPutAnswerDataFaultsItem", "Position", "PostalCode", "PreviewSearchAdvertsPayload",
    "PreviewSearchDpePayload", "PreviewSearchDvfPayload", "PreviewSearchPropertiesPayload", "PreviousState", "Price",
    "PricePath", "PropertiesCandidatesAnswer", "PropertiesCheckAnswer", "PropertiesCountAnswer",
    "PropertiesCountAnswerData", "PropertiesGetAnswer", "PropertiesGetByAdvertAnswer", "PropertiesGetByUrlAnswer",
    "PropertiesGetByUrlPending", "PropertiesKeepApartAnswer", "PropertiesManyAnswer", "PropertiesMergeAnswer",
    "PropertiesReportAnswer", "PropertiesReportRequest", "PropertiesSearchAnswer", "PropertiesSearchAnswerData",
    "PropertiesSearchLiteAnswer", "PropertiesSearchLiteAnswerData", "PropertiesSimilarsAnswer", "PropertiesSplitAnswer",
    "Property", "PropertyAdvert", "PropertyAlert", "PropertyAlertsActivateAnswer", "PropertyAlertsAllAnswer",
    "PropertyAlertsCreateAnswer", "PropertyAlertsCreateManyAnswer", "PropertyAlertsCreateManyAnswerData",
    "PropertyAlertsDeleteAnswer", "PropertyAlertsDeliveriesAnswer", "PropertyAlertsGetAnswer",
    "PropertyAlertsHistoryAnswer", "PropertyAlertsPreviewAnswer", "PropertyAlertsPreviewAnswerData",
    "PropertyAlertsPreviewAnswerDataPerDayItem", "PropertyAlertsReplayAnswer", "PropertyAlertsTestAnswer",
    "PropertyAlertsUpdateAnswer", "PropertyAnalyticsPayload", "PropertyCondition", "PropertyDelivery",
    "PropertyDeliveryData", "PropertyMatches", "PropertyPrice", "QuarterPrice", "RentEstimate",
    "RentEstimateGrossYield", "RentEstimateMetadata", "RentEstimateMetadataAdverts", "RentEstimateMetadataCommune",
    "RentEstimateMetadataRentMap", "RentRequest", "RentRequestHabitation", "RentRequestOffer", "Replay",
    "ReplayRequest", "ReportSource", "ReportedDiagnostic", "ReportedEstimate", "ReportedHome", "ReportedSale",
    "ReportsHomeAnswer", "ReportsListAnswer", "RetriedDelivery", "SalePosition", "SampleAdvertsAnswer",
    "SamplePropertiesAnswer", "SaveManySearchAdvertsPayload", "SaveManySearchDpePayload", "SaveManySearchDvfPayload",
    "SaveManySearchPropertiesPayload", "SaveSearchAdvertsPayload", "SaveSearchDpePayload", "SaveSearchDvfPayload",
    "SaveSearchPropertiesPayload", "SearchPropertiesLitePayload", "SearchPropertiesLitePayloadSearch",
    "SearchPropertiesPayload", "SecretsRotateAnswer", "SimilarPropertiesPayload",
    "SimilarPropertiesRequestSimilarityStrategyEnum", "Siren", "Source", "SplitRequest", "SqlAnswer", "SqlRequest",
    "SqlRequestLimits", "SquareMetres", "Surface", "TestedReceiver", "TileSetAnswer", "TileSetAnswerVectorLayersItem",
    "Timestamp", "TypeHabitation", "TypeLand", "TypeParking", "TypeUsage", "UsageAnswer", "ValuePart", "Variation",
    "VersionAnswer", "VersionAnswerData", "WebhookKeysRotateAnswer", "Year",
]


class Error(TypedDict):
    error: ErrorError
    """Why the request failed."""


class ErrorError(TypedDict):
    """Why the request failed."""

    message: str
    """JSON path of the fault and what is allowed there."""
    code: int
    """Stable code of the kind of fault."""


class DpeSearchRequest(TypedDict):
    filters: NotRequired[DpeSearchRequestFilters]
    """Filters; a record must match all of them."""
    sortBy: NotRequired[Literal["date_etablissement_dpe", "numero_dpe", "type_batiment", "surface_habitable_logement", "etiquette_dpe", "conso_5_usages_par_m2_ep", "emission_ges_5_usages", "emission_ges_5_usages_par_m2", "zone_climatique"]]
    """Records without the value come last in both orders; ties are sorted by identifier."""
    sortOrder: NotRequired[Literal["asc", "desc"]]
    """Sort direction."""
    size: NotRequired[int]
    """Maximum number of records."""
    cursor: NotRequired[str]
    """Cursor from a previous answer to the same filters and order; the size may differ."""


class DpeSearchRequestFilters(TypedDict):
    """Filters; a record must match all of them."""

    numero_dpe: NotRequired[str]
    """Number of the diagnostic."""
    flx_id: NotRequired[NumberRange]
    """Numeric identifier derived from the number."""
    date_etablissement_dpe: NotRequired[DateRange]
    """Day the diagnostic was established."""
    date_visite_diagnostiqueur: NotRequired[DateRange]
    """Day of the visit."""
    date_reception_dpe: NotRequired[DateRange]
    """Day the registry received it."""
    date_derniere_modification_dpe: NotRequired[DateRange]
    """Day of its last change."""
    date_fin_validite_dpe: NotRequired[DateRange]
    """Last day it is valid."""
    identifiant_ban: NotRequired[str]
    """Identifier in the national address base."""
    id_rnb: NotRequired[list[str]]
    """Building, by its identifier in the national register of buildings (RNB)."""
    numero_voie_ban: NotRequired[str]
    """House number."""
    code_insee_ban: NotRequired[str]
    """INSEE code of the commune; 75056, 69123 and 13055 mean all arrondissements."""
    code_postal_ban: NotRequired[str]
    """Postal code; 75000, 69000 and 13000 mean all arrondissements."""
    code_departement_ban: NotRequired[str]
    """Department code: two characters, including 2A and 2B, or three overseas."""
    code_region_ban: NotRequired[str]
    """Region code."""
    location: NotRequired[GeoDistance]
    """Position within a planar distance of a pin, boundary included."""
    area: NotRequired[Area]
    """Position within an area, border included."""
    layer: NotRequired[LayerFilter]
    """Position inside or outside a layer, or within a distance of it."""
    type_batiment: NotRequired[list[Literal["appartement", "maison", "immeuble"]]]
    """Kind of building."""
    periode_construction: NotRequired[list[Literal["avant 1948", "1948-1974", "1975-1977", "1978-1982", "1983-1988", "1989-2000", "2001-2005", "2006-2012", "2013-2021", "après 2021"]]]
    """Period of construction."""
    surface_habitable_logement: NotRequired[NumberRange]
    """Living surface of the dwelling, m2."""
    surface_habitable_immeuble: NotRequired[NumberRange]
    """Living surface of the building, m2."""
    surface_ventilee: NotRequired[NumberRange]
    """Ventilated surface, m2."""
    nombre_niveau_logement: NotRequired[NumberRange]
    """Storeys of the dwelling."""
    nombre_niveau_immeuble: NotRequired[NumberRange]
    """Storeys of the building."""
    nombre_appartement: NotRequired[NumberRange]
    """Flats in the building."""
    etiquette_dpe: NotRequired[list[Literal["A", "B", "C", "D", "E", "F", "G"]]]
    """Energy class."""
    etiquette_ges: NotRequired[list[Literal["A", "B", "C", "D", "E", "F", "G"]]]
    """Climate class."""
    conso_5_usages_ep: NotRequired[NumberRange]
    """Primary energy of the five uses, kWh/year."""
    conso_5_usages_ef: NotRequired[NumberRange]
    """Final energy of the five uses, kWh/year."""
    conso_5_usages_par_m2_ep: NotRequired[NumberRange]
    """Primary energy of the five uses, kWh/m2/year."""
    conso_5_usages_par_m2_ef: NotRequired[NumberRange]
    """Final energy of the five uses, kWh/m2/year."""
    emission_ges_5_usages: NotRequired[NumberRange]
    """Emissions of the five uses, kgCO2/year."""
    emission_ges_5_usages_par_m2: NotRequired[NumberRange]
    """Emissions of the five uses, kgCO2/m2/year."""
    qualite_isolation_enveloppe: NotRequired[list[Literal["insuffisante", "moyenne", "bonne", "très bonne"]]]
    """Insulation of the envelope."""
    qualite_isolation_menuiseries: NotRequired[list[Literal["insuffisante", "moyenne", "bonne", "très bonne"]]]
    """Insulation of doors and windows."""
    zone_climatique: NotRequired[list[Literal["H1a", "H1b", "H1c", "H2a", "H2b", "H2c", "H2d", "H3"]]]
    """Climate zone."""


DateRange = TypedDict(
    "DateRange",
    {
        "from": "NotRequired[str]",
        "to": "NotRequired[str]",
    },
)


class GeoDistance(TypedDict):
    """Position within a planar distance of a pin, boundary included."""

    lat: float
    """Latitude of the pin, degrees (WGS 84)."""
    lon: float
    """Longitude of the pin, degrees (WGS 84)."""
    distance: str
    """must be a number above 0 followed by m, km, mi, ft, yd or nmi, such as "500m"."""


class DpeSearchAnswer(TypedDict):
    data: list[DpeRecord]
    total: int
    """Number of all records that match."""
    size: int
    """Page size requested, or the default."""
    hasMore: bool
    """Whether more records follow this page."""
    cursor: NotRequired[str]
    """Cursor of the next page; present if hasMore is true."""


class DpeMatchRequest(TypedDict):
    filters: NotRequired[DpeMatchRequestFilters]
    """Filters; a candidate must match all of them."""
    size: NotRequired[int]
    """Maximum number of records."""
    scoring_targets: NotRequired[DpeMatchRequestScoringTargets]
    """Characteristics of the record sought; each target given counts towards the score."""


class DpeMatchRequestFilters(TypedDict):
    """Filters; a candidate must match all of them."""

    code_departement_ban: NotRequired[str]
    """Department code."""
    code_insee_ban: NotRequired[str]
    """INSEE code of the commune; 75056, 69123 and 13055 mean all arrondissements."""
    code_postal_ban: NotRequired[str]
    """Postal code; 75000, 69000 and 13000 mean all arrondissements."""
    numero_dpe: NotRequired[str]
    """Number of the diagnostic."""
    type_batiment: NotRequired[Literal["appartement", "maison", "immeuble"]]
    """Kind of building."""
    surface_habitable_logement: NotRequired[NumberRange]
    """Living surface of the dwelling, m2."""
    date_etablissement_dpe: NotRequired[DateRange]
    """Day the diagnostic was established."""
    location: NotRequired[GeoDistance]
    """Position within a planar distance of a pin, boundary included."""
    area: NotRequired[Area]
    """Position within an area, border included."""
    layer: NotRequired[LayerFilter]
    """Position inside or outside a layer, or within a distance of it."""
    address: NotRequired[str]
    """Address in one line, with postal code and commune, as an additional condition: within 50 m of a house number,
    within 300 m of the middle of a street, or within the commune if only a town is given. The answer's
    `meta.address` says how the address was understood. 422 if it is not found with enough certainty.
    """


class DpeMatchRequestScoringTargets(TypedDict):
    """Characteristics of the record sought; each target given counts towards the score."""

    conso_5_usages_par_m2_ep: NotRequired[float]
    """Primary energy, kWh/m2/year; Gaussian decay."""
    emission_ges_5_usages_par_m2: NotRequired[float]
    """Emissions, kgCO2/m2/year; Gaussian decay."""
    etiquette_dpe: NotRequired[Literal["A", "B", "C", "D", "E", "F", "G"]]
    """Energy class; scored by rank distance."""
    etiquette_ges: NotRequired[Literal["A", "B", "C", "D", "E", "F", "G"]]
    """Climate class; scored by rank distance."""
    nombre_niveau_immeuble: NotRequired[float]
    """Storeys of the building."""
    numero_etage_appartement: NotRequired[int]
    """Floor of the flat, negative below ground."""
    periode_construction: NotRequired[Literal["avant 1948", "1948-1974", "1975-1977", "1978-1982", "1983-1988", "1989-2000", "2001-2005", "2006-2012", "2013-2021", "après 2021"]]
    """Period of construction."""
    nombre_niveau_logement: NotRequired[float]
    """Storeys of the dwelling."""


class DpeMatchAnswer(TypedDict):
    data: list[DpeMatchAnswerDataItem]
    """Candidates, best first."""
    meta: DpeMatchAnswerMeta
    """About the whole ranking."""


class DpeMatchAnswerDataItem(TypedDict):
    score: float
    """Weighted mean of the similarities to the targets, rounded to one decimal."""
    confidence: Literal["HIGH", "MEDIUM", "LOW", "REJECT"]
    """How certain it is that the candidate is the record sought."""
    dpe: DpeRecord


class DpeMatchAnswerMeta(TypedDict):
    """About the whole ranking."""

    ambiguous: bool
    """Whether the two best scores are 5 or less apart."""
    total: int
    """Number of candidates that passed the filters."""
    address: NotRequired[DpeMatchAnswerMetaAddress]
    """How `filters.address` was understood, if it was given."""


class DpeMatchAnswerMetaAddress(TypedDict):
    """How `filters.address` was understood, if it was given."""

    label: str
    """The address in one line, as written in the address base."""
    score: float
    """Probability that this is the intended address."""
    confidence: Literal["HIGH", "MEDIUM"]
    """How far the result can be trusted."""
    precision: Literal["ADDRESS", "STREET", "TOWN"]
    """A house number, a street or place, or only the town."""


class DpeRecord(TypedDict):
    numero_dpe: str
    """Number of the diagnostic."""
    numero_dpe_remplace: NotRequired[str]
    """As published by the register: N° DPE remplacé."""
    numero_dpe_immeuble_associe: NotRequired[str]
    """As published by the register: N° DPE immeuble associé."""
    id_rnb: NotRequired[str]
    """Building, by its identifier in the national register of buildings (RNB)."""
    provenance_id_rnb: NotRequired[str]
    """As published by the register: provenance_id_rnb."""
    numero_rpls_logement: NotRequired[str]
    """As published by the register: N° RPLS logement."""
    numero_immatriculation_copropriete: NotRequired[str]
    """As published by the register: N° immatriculation copropriété."""
    date_etablissement_dpe: NotRequired[str]
    """Day the diagnostic was established, ISO 8601."""
    date_visite_diagnostiqueur: NotRequired[str]
    """Day of the visit, ISO 8601."""
    date_reception_dpe: NotRequired[str]
    """Day the registry received it, ISO 8601."""
    date_derniere_modification_dpe: NotRequired[str]
    """Day of its last change, ISO 8601."""
    date_fin_validite_dpe: NotRequired[str]
    """Last day it is valid, ISO 8601."""
    version_dpe: NotRequired[float]
    """As published by the register: Version DPE."""
    modele_dpe: NotRequired[str]
    """As published by the register: Modèle DPE."""
    etiquette_dpe: NotRequired[str]
    """Energy class."""
    etiquette_ges: NotRequired[str]
    """Climate class."""
    type_batiment: NotRequired[str]
    """Kind of building."""
    methode_application_dpe: NotRequired[str]
    """As published by the register: Méthode application DPE."""
    annee_construction: NotRequired[float]
    """As published by the register: Année construction, year."""
    periode_construction: NotRequired[str]
    """Period of construction."""
    typologie_logement: NotRequired[str]
    """As published by the register: Typologie logement."""
    surface_habitable_logement: NotRequired[float]
    """Living surface of the dwelling, m2."""
    surface_habitable_immeuble: NotRequired[float]
    """Living surface of the building, m2."""
    surface_tertiaire_immeuble: NotRequired[float]
    """As published by the register: Surface tertiaire immeuble, m2."""
    hauteur_sous_plafond: NotRequired[float]
    """As published by the register: Hauteur sous-plafond, m."""
    nombre_niveau_logement: NotRequired[float]
    """Storeys of the dwelling."""
    nombre_niveau_immeuble: NotRequired[float]
    """Storeys of the building."""
    nombre_appartement: NotRequired[float]
    """Flats in the building."""
    numero_etage_appartement: NotRequired[float]
    """As published by the register: N° étage appartement."""
    position_logement_dans_immeuble: NotRequired[str]
    """As published by the register: Position logement dans immeuble."""
    appartement_non_visite: NotRequired[float]
    """As published by the register: Appartement non visité (0/1)."""
    logement_traversant: NotRequired[float]
    """As published by the register: Logement traversant (0/1)."""
    protection_solaire_exterieure: NotRequired[float]
    """As published by the register: Protection solaire exterieure (0/1)."""
    presence_brasseur_air: NotRequired[float]
    """As published by the register: Présence brasseur air (0/1)."""
    classe_inertie_batiment: NotRequired[str]
    """As published by the register: Classe inertie bâtiment."""
    inertie_lourde: NotRequired[float]
    """As published by the register: Inertie lourde (0/1)."""
    adresse_ban: NotRequired[str]
    """As published by the register: Adresse (BAN)."""
    numero_voie_ban: NotRequired[str]
    """House number."""
    nom_rue_ban: NotRequired[str]
    """As published by the register: Nom rue (BAN)."""
    nom_commune_ban: NotRequired[str]
    """As published by the register: Nom commune (BAN)."""
    code_postal_ban: NotRequired[str]
    """Postal code; 75000, 69000 and 13000 mean all arrondissements."""
    code_insee_ban: NotRequired[str]
    """INSEE code of the commune; 75056, 69123 and 13055 mean all arrondissements."""
    identifiant_ban: NotRequired[str]
    """Identifier in the national address base."""
    coordonnee_cartographique_x_ban: NotRequired[float]
    """As published by the register: Coordonnée cartographique X (BAN), m, Lambert-93 in metropolitan France."""
    coordonnee_cartographique_y_ban: NotRequired[float]
    """As published by the register: Coordonnée cartographique Y (BAN), m, Lambert-93 in metropolitan France."""
    score_ban: NotRequired[float]
    """As published by the register: Score BAN, 0 to 1."""
    statut_geocodage: NotRequired[str]
    """As published by the register: Statut géocodage."""
    code_departement_ban: NotRequired[str]
    """Department code: two characters, including 2A and 2B, or three overseas."""
    code_region_ban: NotRequired[str]
    """Region code."""
    adresse_brut: NotRequired[str]
    """As published by the register: Adresse brute."""
    adresse_complete_brut: NotRequired[str]
    """As published by the register: adresse_complete_brut."""
    nom_commune_brut: NotRequired[str]
    """As published by the register: Nom commune (Brut)."""
    code_postal_brut: NotRequired[str]
    """As published by the register: Code postal (brut)."""
    nom_residence: NotRequired[str]
    """As published by the register: Nom résidence."""
    complement_adresse_batiment: NotRequired[str]
    """As published by the register: Complément d'adresse bâtiment."""
    complement_adresse_logement: NotRequired[str]
    """As published by the register: Complément d'adresse logement."""
    zone_climatique: NotRequired[str]
    """Climate zone."""
    classe_altitude: NotRequired[str]
    """As published by the register: Classe altitude."""
    conso_5_usages_ep: NotRequired[float]
    """Primary energy of the five uses, kWh/year."""
    conso_5_usages_par_m2_ep: NotRequired[float]
    """Primary energy of the five uses, kWh/m2/year."""
    conso_chauffage_ep: NotRequired[float]
    """As published by the register: Conso chauffage é primaire, kWh of primary energy a year."""
    conso_ecs_ep: NotRequired[float]
    """As published by the register: Conso ECS é primaire, kWh of primary energy a year."""
    conso_refroidissement_ep: NotRequired[float]
    """As published by the register: Conso refroidissement é primaire, kWh of primary energy a year."""
    conso_eclairage_ep: NotRequired[float]
    """As published by the register: Conso éclairage é primaire, kWh of primary energy a year."""
    conso_auxiliaires_ep: NotRequired[float]
    """As published by the register: Conso auxiliaires é primaire, kWh of primary energy a year."""
    conso_5_usages_ef: NotRequired[float]
    """Final energy of the five uses, kWh/year."""
    conso_5_usages_par_m2_ef: NotRequired[float]
    """Final energy of the five uses, kWh/m2/year."""
    conso_chauffage_ef: NotRequired[float]
    """As published by the register: Conso chauffage é finale, kWh of final energy a year."""
    conso_ecs_ef: NotRequired[float]
    """As published by the register: Conso ECS é finale, kWh of final energy a year."""
    conso_refroidissement_ef: NotRequired[float]
    """As published by the register: Conso refroidissement é finale, kWh of final energy a year."""
    conso_eclairage_ef: NotRequired[float]
    """As published by the register: Conso éclairage é finale, kWh of final energy a year."""
    conso_auxiliaires_ef: NotRequired[float]
    """As published by the register: Conso auxiliaires é finale, kWh of final energy a year."""
    conso_5_usages_ef_energie_n1: NotRequired[float]
    """As published by the register: Conso 5 usages énergie n°1, kWh of final energy a year."""
    conso_chauffage_ef_energie_n1: NotRequired[float]
    """As published by the register: Conso chauffage énergie n°1, kWh of final energy a year."""
    conso_ecs_ef_energie_n1: NotRequired[float]
    """As published by the register: Conso ECS énergie n°1, kWh of final energy a year."""
    conso_5_usages_ef_energie_n2: NotRequired[float]
    """As published by the register: Conso 5 usages énergie n°2, kWh of final energy a year."""
    conso_chauffage_ef_energie_n2: NotRequired[float]
    """As published by the register: Conso chauffage énergie n°2, kWh of final energy a year."""
    conso_ecs_ef_energie_n2: NotRequired[float]
    """As published by the register: Conso ECS énergie n°2, kWh of final energy a year."""
    conso_5_usages_ef_energie_n3: NotRequired[float]
    """As published by the register: Conso 5 usages énergie n°3, kWh of final energy a year."""
    conso_chauffage_ef_energie_n3: NotRequired[float]
    """As published by the register: Conso chauffage énergie n°3, kWh of final energy a year."""
    conso_ecs_ef_energie_n3: NotRequired[float]
    """As published by the register: Conso ECS énergie n°3, kWh of final energy a year."""
    conso_chauffage_installation_chauffage_n1: NotRequired[float]
    """As published by the register: Conso chauffage installation chauffage n°1, kWh of final energy a year."""
    conso_chauffage_installation_chauffage_n2: NotRequired[float]
    """As published by the register: Conso chauffage installation chauffage n°2, kWh of final energy a year."""
    conso_chauffage_generateur_n1_installation_n1: NotRequired[float]
    """As published by the register: Conso chauffage générateur n°1 installation n°1, kWh of final energy a year."""
    conso_chauffage_generateur_n2_installation_n1: NotRequired[float]
    """As published by the register: Conso chauffage générateur n°2 installation n°1, kWh of final energy a year."""
    conso_chauffage_generateur_n1_installation_n2: NotRequired[float]
    """As published by the register: Conso chauffage générateur n°1 installation n°2, kWh of final energy a year."""
    conso_chauffage_generateur_n2_installation_n2: NotRequired[float]
    """As published by the register: Conso chauffage générateur n°2 installation n°2, kWh of final energy a year."""
    conso_ef_installation_ecs_n1: NotRequired[float]
    """As published by the register: Conso é finale installation ECS, kWh of final energy a year."""
    conso_ef_generateur_n1_ecs_n1: NotRequired[float]
    """As published by the register: Conso é finale générateur ECS n°1, kWh of final energy a year."""
    conso_ef_generateur_n2_ecs_n1: NotRequired[float]
    """As published by the register: Conso é finale générateur ECS n°2, kWh of final energy a year."""
    conso_refroidissement_annuel: NotRequired[float]
    """As published by the register: Conso refroidissement annuel, kWh of final energy a year."""
    emission_ges_5_usages: NotRequired[float]
    """Emissions of the five uses, kgCO2/year."""
    emission_ges_5_usages_par_m2: NotRequired[float]
    """Emissions of the five uses, kgCO2/m2/year."""
    emission_ges_chauffage: NotRequired[float]
    """As published by the register: Emission GES chauffage, kgCO2/year."""
    emission_ges_ecs: NotRequired[float]
    """As published by the register: Emission GES ECS, kgCO2/year."""
    emission_ges_refroidissement: NotRequired[float]
    """As published by the register: Emission GES refroidissement, kgCO2/year."""
    emission_ges_eclairage: NotRequired[float]
    """As published by the register: Emission GES éclairage, kgCO2/year."""
    emission_ges_auxiliaires: NotRequired[float]
    """As published by the register: Emission GES auxiliaires, kgCO2/year."""
    emission_ges_5_usages_energie_n1: NotRequired[float]
    """As published by the register: Emission GES 5 usages énergie n°1, kgCO2/year."""
    emission_ges_chauffage_energie_n1: NotRequired[float]
    """As published by the register: Emission GES chauffage par énergie n°1, kgCO2/year."""
    emission_ges_ecs_energie_n1: NotRequired[float]
    """As published by the register: Emission GES ECS par énergie n°1, kgCO2/year."""
    emission_ges_5_usages_energie_n2: NotRequired[float]
    """As published by the register: Emission GES 5 usages énergie n°2, kgCO2/year."""
    emission_ges_chauffage_energie_n2: NotRequired[float]
    """As published by the register: Emission GES chauffage par énergie n°2, kgCO2/year."""
    emission_ges_ecs_energie_n2: NotRequired[float]
    """As published by the register: Emission GES ECS par énergie n°2, kgCO2/year."""
    emission_ges_5_usages_energie_n3: NotRequired[float]
    """As published by the register: Emission GES 5 usages énergie n°3, kgCO2/year."""
    emission_ges_chauffage_energie_n3: NotRequired[float]
    """As published by the register: Emission GES chauffage par énergie n°3, kgCO2/year."""
    emission_ges_ecs_energie_n3: NotRequired[float]
    """As published by the register: Emission GES ECS par énergie n°3, kgCO2/year."""
    cout_total_5_usages: NotRequired[float]
    """As published by the register: Coût total 5 usages, EUR/year."""
    cout_chauffage: NotRequired[float]
    """As published by the register: Coût chauffage, EUR/year."""
    cout_ecs: NotRequired[float]
    """As published by the register: Coût ECS, EUR/year."""
    cout_refroidissement: NotRequired[float]
    """As published by the register: Coût refroidissement, EUR/year."""
    cout_eclairage: NotRequired[float]
    """As published by the register: Coût éclairage, EUR/year."""
    cout_auxiliaires: NotRequired[float]
    """As published by the register: Coût auxiliaires, EUR/year."""
    cout_total_5_usages_energie_n1: NotRequired[float]
    """As published by the register: Coût 5 usages énergie n°1, EUR/year."""
    cout_chauffage_energie_n1: NotRequired[float]
    """As published by the register: Coût chauffage énergie n°1, EUR/year."""
    cout_ecs_energie_n1: NotRequired[float]
    """As published by the register: Coût ECS énergie n°1, EUR/year."""
    cout_total_5_usages_energie_n2: NotRequired[float]
    """As published by the register: Coût 5 usages énergie n°2, EUR/year."""
    cout_chauffage_energie_n2: NotRequired[float]
    """As published by the register: Coût chauffage énergie n°2, EUR/year."""
    cout_ecs_energie_n2: NotRequired[float]
    """As published by the register: Coût ECS énergie n°2, EUR/year."""
    cout_total_5_usages_energie_n3: NotRequired[float]
    """As published by the register: Coût 5 usages énergie n°3, EUR/year."""
    cout_chauffage_energie_n3: NotRequired[float]
    """As published by the register: Coût chauffage énergie n°3, EUR/year."""
    cout_ecs_energie_n3: NotRequired[float]
    """As published by the register: Coût ECS énergie n°3, EUR/year."""
    deperditions_enveloppe: NotRequired[float]
    """As published by the register: Deperditions enveloppe, W/K."""
    deperditions_ponts_thermiques: NotRequired[float]
    """As published by the register: Déperditions ponts thermiques, W/K."""
    deperditions_murs: NotRequired[float]
    """As published by the register: Déperditions murs, W/K."""
    deperditions_planchers_hauts: NotRequired[float]
    """As published by the register: Deperditions planchers hauts, W/K."""
    deperditions_planchers_bas: NotRequired[float]
    """As published by the register: Deperditions planchers bas, W/K."""
    deperditions_portes: NotRequired[float]
    """As published by the register: Déperditions portes, W/K."""
    deperditions_baies_vitrees: NotRequired[float]
    """As published by the register: Deperditions baies vitrées, W/K."""
    deperditions_renouvellement_air: NotRequired[float]
    """As published by the register: Déperditions renouvellement air, W/K."""
    ubat_w_par_m2_k: NotRequired[float]
    """As published by the register: Ubat W/m² K, W/m2/K."""
    besoin_chauffage: NotRequired[float]
    """As published by the register: Besoin chauffage, kWh/year."""
    besoin_ecs: NotRequired[float]
    """As published by the register: Besoin ECS, kWh/year."""
    besoin_refroidissement: NotRequired[float]
    """As published by the register: Besoin refroidissement, kWh/year."""
    besoin_ecs_batiment: NotRequired[float]
    """As published by the register: besoin_ecs_batiment, kWh/year."""
    besoin_ecs_logement: NotRequired[float]
    """As published by the register: besoin_ecs_logement, kWh/year."""
    apport_interne_saison_chauffe: NotRequired[float]
    """As published by the register: apport_interne_saison_chauffe."""
    apport_interne_saison_froide: NotRequired[float]
    """As published by the register: apport_interne_saison_froide."""
    apport_solaire_saison_chauffe: NotRequired[float]
    """As published by the register: apport_solaire_saison_chauffe."""
    apport_solaire_saison_froide: NotRequired[float]
    """As published by the register: apport_solaire_saison_froide."""
    qualite_isolation_enveloppe: NotRequired[str]
    """Insulation of the envelope."""
    isolation_toiture: NotRequired[float]
    """As published by the register: Isolation toiture (0/1)."""
    qualite_isolation_murs: NotRequired[str]
    """As published by the register: Qualité isolation murs."""
    qualite_isolation_plancher_haut_comble_amenage: NotRequired[str]
    """As published by the register: Qualité isolation plancher haut comble aménagé."""
    qualite_isolation_plancher_haut_comble_perdu: NotRequired[str]
    """As published by the register: qualite_isolation_plancher_haut_comble_perdu."""
    qualite_isolation_plancher_haut_toit_terrasse: NotRequired[str]
    """As published by the register: qualite_isolation_plancher_haut_toit_terrasse."""
    qualite_isolation_plancher_bas: NotRequired[str]
    """As published by the register: Qualité isolation plancher bas."""
    qualite_isolation_menuiseries: NotRequired[str]
    """Insulation of doors and windows."""
    indicateur_confort_ete: NotRequired[str]
    """As published by the register: Indicateur confort été."""
    facteur_couverture_solaire_installation_chauffage_n1: NotRequired[float]
    """As published by the register: facteur_couverture_solaire_installation_chauffage_n1, share of the need, 0 to 1."""
    facteur_couverture_solaire_installation_chauffage_n2: NotRequired[float]
    """As published by the register: facteur_couverture_solaire_installation_chauffage_n2, share of the need, 0 to 1."""
    facteur_couverture_solaire_n1: NotRequired[float]
    """As published by the register: facteur_couverture_solaire_n1, share of the need, 0 to 1."""
    production_ecs_solaire_installation_n1: NotRequired[float]
    """As published by the register: Production ecs solaire installation, kWh/year."""
    production_electricite_pv_kwhep_par_an: NotRequired[float]
    """As published by the register: Production électricité PV kWh, kWh/year."""
    electricite_pv_autoconsommee: NotRequired[float]
    """As published by the register: Electricité PV autoconsommée, kWh/year."""
    type_energie_n1: NotRequired[str]
    """As published by the register: Type énergie n°1."""
    type_energie_n2: NotRequired[str]
    """As published by the register: Type énergie n°2."""
    type_energie_n3: NotRequired[str]
    """As published by the register: Type énergie n°3."""
    type_energie_principale_chauffage: NotRequired[str]
    """As published by the register: Type énergie principale chauffage."""
    type_generateur_chauffage_principal: NotRequired[str]
    """As published by the register: type_generateur_chauffage_principal."""
    type_installation_chauffage: NotRequired[str]
    """As published by the register: Type installation chauffage."""
    type_installation_chauffage_n1: NotRequired[str]
    """As published by the register: Type installation chauffage n°1."""
    type_emetteur_installation_chauffage_n1: NotRequired[str]
    """As published by the register: Type émetteur installation chauffage n°1."""
    configuration_installation_chauffage_n1: NotRequired[str]
    """As published by the register: Configuration installation chauffage n°1."""
    description_installation_chauffage_n1: NotRequired[str]
    """As published by the register: Description installation chauffage n°1."""
    surface_chauffee_installation_chauffage_n1: NotRequired[float]
    """As published by the register: Surface chauffée installation chauffage n°1, m2."""
    facteur_couverture_solaire_saisi_installation_chauffage_n1: NotRequired[float]
    """As published by the register: facteur_couverture_solaire_saisi_installation_chauffage_n1, share of the need, 0 to
    1.
    """
    type_generateur_n1_installation_n1: NotRequired[str]
    """As published by the register: Type générateur n°1 installation n°1."""
    type_energie_generateur_n1_installation_n1: NotRequired[str]
    """As published by the register: Type énergie générateur n°1 installation n°1."""
    usage_generateur_n1_installation_n1: NotRequired[str]
    """As published by the register: Usage générateur n°1 installation n°1."""
    description_generateur_chauffage_n1_installation_n1: NotRequired[str]
    """As published by the register: description_generateur_chauffage_n1_installation_n1."""
    type_generateur_n2_installation_n1: NotRequired[str]
    """As published by the register: Type générateur n°2 installation n°1."""
    type_energie_generateur_n2_installation_n1: NotRequired[str]
    """As published by the register: Type énergie générateur n°2 installation n°1."""
    usage_generateur_n2_installation_n1: NotRequired[str]
    """As published by the register: Usage générateur n°2 installation n°1."""
    description_generateur_chauffage_n2_installation_n1: NotRequired[str]
    """As published by the register: description_generateur_chauffage_n2_installation_n1."""
    type_installation_chauffage_n2: NotRequired[str]
    """As published by the register: Type installation chauffage n°2."""
    type_emetteur_installation_chauffage_n2: NotRequired[str]
    """As published by the register: Type émetteur installation chauffage n°2."""
    configuration_installation_chauffage_n2: NotRequired[str]
    """As published by the register: Configuration installation chauffage n°2."""
    description_installation_chauffage_n2: NotRequired[str]
    """As published by the register: Description installation chauffage n°2."""
    surface_chauffee_installation_chauffage_n2: NotRequired[float]
    """As published by the register: Surface chauffée installation chauffage n°2, m2."""
    facteur_couverture_solaire_saisi_installation_chauffage_n2: NotRequired[float]
    """As published by the register: facteur_couverture_solaire_saisi_installation_chauffage_n2, share of the need, 0 to
    1.
    """
    type_generateur_n1_installation_n2: NotRequired[str]
    """As published by the register: Type générateur n°1 installation n°2."""
    type_energie_generateur_n1_installation_n2: NotRequired[str]
    """As published by the register: Type énergie générateur n°1 installation n°2."""
    usage_generateur_n1_installation_n2: NotRequired[str]
    """As published by the register: Usage générateur n°1 installation n°2."""
    description_generateur_chauffage_n1_installation_n2: NotRequired[str]
    """As published by the register: description_generateur_chauffage_n1_installation_n2."""
    type_generateur_n2_installation_n2: NotRequired[str]
    """As published by the register: Type générateur n°2 installation n°2."""
    type_energie_generateur_n2_installation_n2: NotRequired[str]
    """As published by the register: Type énergie générateur n°2 installation n°2."""
    usage_generateur_n2_installation_n2: NotRequired[str]
    """As published by the register: Usage générateur n°2 installation n°2."""
    description_generateur_chauffage_n2_installation_n2: NotRequired[str]
    """As published by the register: description_generateur_chauffage_n2_installation_n2."""
    type_installation_ecs: NotRequired[str]
    """As published by the register: Type installation ECS (général)."""
    type_energie_principale_ecs: NotRequired[str]
    """As published by the register: Type énergie principale ECS."""
    type_generateur_chauffage_principal_ecs: NotRequired[str]
    """As published by the register: type_generateur_chauffage_principal_ecs."""
    type_installation_ecs_n1: NotRequired[str]
    """As published by the register: Type installation ECS."""
    configuration_installation_ecs_n1: NotRequired[str]
    """As published by the register: Configuration installation ECS."""
    description_installation_ecs_n1: NotRequired[str]
    """As published by the register: Description installation ECS."""
    nombre_logements_desservis_par_installation_ecs_n1: NotRequired[float]
    """As published by the register: Nombre logements desservis par installation ECS, count."""
    surface_habitable_desservie_par_installation_ecs_n1: NotRequired[float]
    """As published by the register: Surface habitable desservie par installation ECS, m2."""
    type_installation_solaire_n1: NotRequired[str]
    """As published by the register: Type installation solaire."""
    facteur_couverture_solaire_saisi_n1: NotRequired[float]
    """As published by the register: facteur_couverture_solaire_saisi_n1, share of the need, 0 to 1."""
    type_generateur_n1_ecs_n1: NotRequired[str]
    """As published by the register: Type générateur ECS n°1."""
    type_energie_generateur_n1_ecs_n1: NotRequired[str]
    """As published by the register: Type énergie générateur ECS n°1."""
    usage_generateur_n1_ecs_n1: NotRequired[str]
    """As published by the register: Usage générateur ECS n°1."""
    description_generateur_n1_ecs_n1: NotRequired[str]
    """As published by the register: Description générateur ECS n°1."""
    volume_stockage_generateur_n1_ecs_n1: NotRequired[float]
    """As published by the register: Volume stockage générateur ECS n°1, litres."""
    cop_generateur_n1_ecs_n1: NotRequired[float]
    """As published by the register: COP générateur ECS n°1."""
    date_installation_generateur_n1_ecs_n1: NotRequired[str]
    """As published by the register: Date installation générateur ECS n°1."""
    type_generateur_n2_ecs_n1: NotRequired[str]
    """As published by the register: Type générateur ECS n°2."""
    type_energie_generateur_n2_ecs_n1: NotRequired[str]
    """As published by the register: Type énergie générateur ECS n°2."""
    usage_generateur_n2_ecs_n1: NotRequired[str]
    """As published by the register: Usage générateur ECS n°2."""
    description_generateur_n2_ecs_n1: NotRequired[str]
    """As published by the register: Description générateur ECS n°2."""
    volume_stockage_generateur_n2_ecs_n1: NotRequired[float]
    """As published by the register: Volume stockage générateur ECS n°2, litres."""
    cop_generateur_n2_ecs_n1: NotRequired[float]
    """As published by the register: COP générateur ECS n°2."""
    date_installation_generateur_n2_ecs_n1: NotRequired[str]
    """As published by the register: Date installation générateur ECS n°2."""
    type_ventilation: NotRequired[str]
    """As published by the register: Type ventilation."""
    surface_ventilee: NotRequired[float]
    """Ventilated surface, m2."""
    ventilation_posterieure_2012: NotRequired[float]
    """As published by the register: Ventilation postérieure 2012 (0/1)."""
    type_generateur_froid: NotRequired[str]
    """As published by the register: Type générateur froid."""
    type_energie_climatisation: NotRequired[str]
    """As published by the register: type_energie_climatisation."""
    periode_installation_generateur_froid: NotRequired[str]
    """As published by the register: periode_installation_generateur_froid."""
    description_generateur_froid: NotRequired[str]
    """As published by the register: Description générateur froid."""
    surface_climatisee: NotRequired[float]
    """As published by the register: Surface climatisée, m2."""
    categorie_enr: NotRequired[str]
    """As published by the register: Catégorie ENR."""
    systeme_production_electricite_origine_renouvelable: NotRequired[str]
    """As published by the register: Système production électricité origine renouvelable."""
    presence_production_pv: NotRequired[float]
    """As published by the register: Présence production PV (0/1)."""
    surface_totale_capteurs_pv: NotRequired[float]
    """As published by the register: Surface totale capteurs photovoltaïque, m2."""
    nombre_module: NotRequired[float]
    """As published by the register: Nombre module, count."""
    _geopoint: NotRequired[str]
    """As published by the register: _geopoint."""
    _id: NotRequired[str]
    """As published by the register: _id."""
    _i: NotRequired[float]
    """As published by the register: _i."""
    _rand: NotRequired[float]
    """As published by the register: _rand."""
    flx_id: NotRequired[int]
    """Numeric identifier derived from the number."""
    location: NotRequired[SalePosition]
    """Location."""
    location_precision: NotRequired[Literal["ADDRESS", "STREET"]]
    """Precision of a position that was found from the address at import: a house number, or a street or named place;
    absent if the source gives the position.
    """


class DvfSearchRequest(TypedDict):
    filters: NotRequired[DvfSearchRequestFilters]
    """Filters; a record must match all of them."""
    sortBy: NotRequired[Literal["transaction_date", "id", "price_eur", "price_per_m2_living_eur", "price_per_m2_land_eur", "surface_m2"]]
    """Records without the value come last in both orders; ties are sorted by identifier."""
    sortOrder: NotRequired[Literal["asc", "desc"]]
    """Sort direction."""
    size: NotRequired[int]
    """Maximum number of records."""
    cursor: NotRequired[str]
    """Cursor from a previous answer to the same filters and order; the size may differ."""


class DvfSearchRequestFilters(TypedDict):
    """Filters; a record must match all of them."""

    id: NotRequired[str]
    """Identifier of the sale."""
    transaction_date: NotRequired[DateRange]
    """Day of the sale."""
    transaction_type: NotRequired[list[Literal["Vente", "Vente en l'etat futur d'achevement", "Vente terrain a batir", "Echange"]]]
    """Nature of the sale, without accents."""
    price_eur: NotRequired[NumberRange]
    """Price of the whole disposition, EUR."""
    price_per_m2_living_eur: NotRequired[NumberRange]
    """Price per built square metre of a single dwelling, EUR/m2."""
    price_per_m2_land_eur: NotRequired[NumberRange]
    """Price per square metre of land sold alone, EUR/m2."""
    location: NotRequired[GeoDistance]
    """Position within a planar distance of a pin, boundary included."""
    area: NotRequired[Area]
    """Position within an area, border included."""
    layer: NotRequired[LayerFilter]
    """Position inside or outside a layer, or within a distance of it."""
    departement_code: NotRequired[str]
    """Department code: two characters, including 2A and 2B, or three overseas."""
    insee_code: NotRequired[str]
    """INSEE code of the commune; the code of a former commune finds the sales in it, and 75056, 69123 and 13055 find
    those in all arrondissements.
    """
    former_insee_code: NotRequired[str]
    """INSEE code of the former commune."""
    postal_code: NotRequired[str]
    """Postal code; 75000, 69000 and 13000 mean all arrondissements."""
    parcel_ids: NotRequired[list[str]]
    """Cadastral parcels sold, 14 characters each; a filter finds the sales of at least one of its parcels, also by the
    identifier that a parcel had before its commune joined another.
    """
    mutation_id: NotRequired[str]
    """Identifier of the mutation in the imported edition (`id_mutation`); other editions may number it differently;
    absent if the source has none.
    """
    iris_code: NotRequired[str]
    """IRIS code."""
    iris_type: NotRequired[list[Literal["H", "A", "D", "Z"]]]
    """IRIS type."""
    property_type: NotRequired[list[Literal["Appartement", "Maison", "Autre", "Terrain", "Tertiaire", "Dépendance", "Volume"]]]
    """Kind of property sold."""
    surface_m2: NotRequired[NumberRange]
    """Built surface, m2."""
    main_rooms: NotRequired[NumberRange]
    """Number of main rooms."""
    land_surface_m2: NotRequired[NumberRange]
    """Land, m2."""
    carrez_surface_m2: NotRequired[NumberRange]
    """Carrez surface, m2."""
    soil_surface_m2: NotRequired[NumberRange]
    """Land under and around buildings, m2."""
    garden_surface_m2: NotRequired[NumberRange]
    """Gardens, m2."""
    is_new_build: NotRequired[bool]
    """Off-plan sale."""
    is_open_market: NotRequired[bool]
    """Sale on the open market."""


class DvfSearchAnswer(TypedDict):
    data: list[DvfRecord]
    total: int
    """Number of all records that match."""
    size: int
    """Page size requested, or the default."""
    hasMore: bool
    """Whether more records follow this page."""
    cursor: NotRequired[str]
    """Cursor of the next page; present if hasMore is true."""


class DvfMatchRequest(TypedDict):
    filters: NotRequired[DvfMatchRequestFilters]
    """Filters; a candidate must match all of them."""
    size: NotRequired[int]
    """Maximum number of records."""
    scoring_targets: NotRequired[DvfMatchRequestScoringTargets]
    """Characteristics of the record sought; each target given counts towards the score."""


class DvfMatchRequestFilters(TypedDict):
    """Filters; a candidate must match all of them."""

    departement_code: NotRequired[str]
    """Department code."""
    insee_code: NotRequired[str]
    """INSEE code of the commune; 75056, 69123 and 13055 mean all arrondissements."""
    postal_code: NotRequired[str]
    """Postal code; 75000, 69000 and 13000 mean all arrondissements."""
    id: NotRequired[str]
    """Identifier of the sale."""
    property_type: NotRequired[Literal["Appartement", "Maison", "Autre", "Terrain", "Tertiaire", "Dépendance", "Volume"]]
    """Kind of property sold."""
    surface_m2: NotRequired[NumberRange]
    """Built surface, m2."""
    transaction_date: NotRequired[DateRange]
    """Day of the sale."""
    location: NotRequired[GeoDistance]
    """Position within a planar distance of a pin, boundary included."""
    area: NotRequired[Area]
    """Position within an area, border included."""
    layer: NotRequired[LayerFilter]
    """Position inside or outside a layer, or within a distance of it."""
    address: NotRequired[str]
    """Address in one line, with postal code and commune, as an additional condition: within 50 m of a house number,
    within 300 m of the middle of a street, or within the commune if only a town is given. The answer's
    `meta.address` says how the address was understood. 422 if it is not found with enough certainty.
    """


class DvfMatchRequestScoringTargets(TypedDict):
    """Characteristics of the record sought; each target given counts towards the score."""

    price_eur: NotRequired[float]
    """Price, EUR; Gaussian decay."""
    main_rooms: NotRequired[float]
    """Number of main rooms."""
    is_new_build: NotRequired[bool]
    """Off-plan sale."""
    transaction_type: NotRequired[Literal["Vente", "Vente en l'etat futur d'achevement", "Vente terrain a batir", "Echange"]]
    """Nature of the sale."""


class DvfMatchAnswer(TypedDict):
    data: list[DvfMatchAnswerDataItem]
    """Candidates, best first."""
    meta: DpeMatchAnswerMeta
    """About the whole ranking."""


class DvfMatchAnswerDataItem(TypedDict):
    score: float
    """Weighted mean of the similarities to the targets, rounded to one decimal."""
    confidence: Literal["HIGH", "MEDIUM", "LOW", "REJECT"]
    """How certain it is that the candidate is the record sought."""
    dvf: DvfRecord


class DvfRecord(TypedDict):
    id: str
    """Identifier of the sale."""
    transaction_date: NotRequired[str]
    """Day of the sale, ISO 8601."""
    transaction_type: NotRequired[str]
    """Nature of the sale, without accents."""
    price_eur: NotRequired[float]
    """Price of the whole disposition, EUR."""
    price_per_m2_living_eur: NotRequired[float]
    """Price per built square metre of a single dwelling, EUR/m2."""
    price_per_m2_land_eur: NotRequired[float]
    """Price per square metre of land sold alone, EUR/m2."""
    surface_m2: NotRequired[float]
    """Built surface, m2."""
    main_rooms: NotRequired[float]
    """Number of main rooms."""
    land_surface_m2: NotRequired[float]
    """Land, m2."""
    carrez_surface_m2: NotRequired[float]
    """Carrez surface, m2."""
    soil_surface_m2: NotRequired[float]
    """Land under and around buildings, m2."""
    garden_surface_m2: NotRequired[float]
    """Gardens, m2."""
    property_type: NotRequired[str]
    """Kind of property sold."""
    is_new_build: NotRequired[bool]
    """Off-plan sale."""
    is_open_market: NotRequired[bool]
    """Sale on the open market."""
    address: NotRequired[str]
    """Number and street."""
    postal_code: NotRequired[str]
    """Postal code; 75000, 69000 and 13000 mean all arrondissements."""
    insee_code: NotRequired[str]
    """INSEE code of the commune; the code of a former commune finds the sales in it, and 75056, 69123 and 13055 find
    those in all arrondissements.
    """
    former_insee_code: NotRequired[str]
    """INSEE code of the former commune."""
    city: NotRequired[str]
    """Name of the commune."""
    departement_code: NotRequired[str]
    """Department code: two characters, including 2A and 2B, or three overseas."""
    iris_code: NotRequired[str]
    """IRIS code."""
    iris_type: NotRequired[str]
    """IRIS type."""
    parcel_ids: NotRequired[list[str]]
    """Cadastral parcels sold, 14 characters each; a filter finds the sales of at least one of its parcels, also by the
    identifier that a parcel had before its commune joined another.
    """
    lots: NotRequired[int]
    """Co-ownership lots sold."""
    rows: NotRequired[int]
    """Number of source rows that the record was made from."""
    mutation_id: NotRequired[str]
    """Identifier of the mutation in the imported edition (`id_mutation`); other editions may number it differently;
    absent if the source has none.
    """
    mutation_records: NotRequired[int]
    """Number of records made from the disposition, including this one; each carries the price of the whole disposition.
    """
    mutation_share: NotRequired[float]
    """Share of the disposition that this record counts for, 0 to 1, by built surface; the shares of a disposition add
    up to 1, so the sum of price_eur * mutation_share counts every price once.
    """
    is_sold_together: NotRequired[bool]
    """Whether the price covers more than one dwelling or commercial premises."""
    location: NotRequired[SalePosition]
    """Location."""
    location_precision: NotRequired[Literal["ADDRESS", "STREET"]]
    """Precision of a position that was found from the address at import: a house number, or a street or named place;
    absent if the source gives the position.
    """


class PlaceHistory(TypedDict):
    id: str
    """Identifier of the place, as in the request."""
    buildings: NotRequired[list[PlaceHistoryBuildingsItem]]
    """The building, or the buildings on the parcel, from the register of buildings; absent if the register was not
    imported or has none.
    """
    properties: NotRequired[PlaceHistoryProperties]
    """Properties whose adverts name an address of the place, the first seen first; absent if there are none."""
    formerParcels: NotRequired[list[str]]
    """Parcels that it was made from, directly or not, by the documents of filiation; absent if there are none."""
    laterParcels: NotRequired[list[str]]
    """Parcels that were made from it, directly or not; absent if there are none."""
    events: list[PlaceHistoryEventsItem]
    """Oldest event first; those without a date last."""
    total: int
    """Number of events on all pages."""
    hasMore: bool
    """Whether more events follow this page."""
    cursor: NotRequired[str]
    """Cursor of the next page; present if hasMore is true."""


class PlaceHistoryBuildingsItem(TypedDict):
    id_rnb: str
    """Identifier of the building."""
    status: NotRequired[str]
    """State as published, such as `constructed` or `demolished`."""
    location: SalePosition
    """Position of the building."""
    ground_m2: NotRequired[float]
    """Ground surface, m2."""
    address_ids: list[str]
    """Identifiers of its addresses in the national address base."""
    parcel_ids: list[str]
    """Parcels that it stands on, the one with most of it first."""


class PlaceHistoryProperties(TypedDict):
    """Properties whose adverts name an address of the place, the first seen first; absent if there are none."""

    items: list[LiteProperty]
    """At most 20 of them."""
    count: int
    """Number of all of them."""


class PlaceHistoryEventsItem(TypedDict):
    date: NotRequired[str]
    """Day of the sale, day on which the diagnostic was established, or day on which the property or the advert was
    first seen.
    """
    kind: Literal["SALE", "DIAGNOSTIC", "PROPERTY", "ADVERT"]
    """Kind of the record."""
    link: Literal["PARCEL", "FORMER_PARCEL", "BUILDING", "ADDRESS", "POSITION"]
    """Why the record belongs to the place: it names the parcel (of the building), a parcel that this one was made from,
    or the building (on the parcel), or an address or the position of a diagnostic links it.
    """
    score: NotRequired[float]
    """For a diagnostic that names no building: how likely it belongs to this one."""
    record: DvfRecord | DpeRecord | LiteProperty | LitePropertyAdvert
    """The record, as a search returns it; properties and adverts in short form."""


class AccountRequest(TypedDict):
    name: str
    """Unique among the accounts; must be 1 to 100 characters, without control characters, spaces at the ends or the
    form of a UUID.
    """


class Account(TypedDict):
    account_id: str
    """Identifier of the account."""
    name: str
    """Name of the account."""
    created_at: str
    """When it was created; UTC, milliseconds."""
    webhook_key: str
    """Key that its deliveries carry in x-webhook-key."""
    next_webhook_key: NotRequired[str]
    """The next webhook key, during a rotation; its deliveries carry it in x-webhook-key-next."""
    next_webhook_key_from: NotRequired[str]
    """When the next webhook key replaces the current one; UTC, milliseconds."""


class AccountWithSecret(TypedDict):
    account_id: str
    """Identifier of the account."""
    name: str
    """Name of the account."""
    created_at: str
    """When it was created; UTC, milliseconds."""
    webhook_key: str
    """Key that its deliveries carry in x-webhook-key."""
    next_webhook_key: NotRequired[str]
    """The next webhook key, during a rotation; its deliveries carry it in x-webhook-key-next."""
    next_webhook_key_from: NotRequired[str]
    """When the next webhook key replaces the current one; UTC, milliseconds."""
    signing_secret: str
    """Signs its deliveries (Standard Webhooks); shown only at creation and rotation. After a rotation, both the old and
    the new secret sign for 24 hours.
    """


Grant: TypeAlias = Literal["search", "refetch", "analytics", "ai", "geocoding", "alerts", "sql", "admin", "properties.search", "properties.search.lite", "properties.count", "properties.similars", "properties.get", "properties.by_advert", "properties.many", "properties.url", "properties.check", "properties.report", "adverts.get", "adverts.url", "adverts.check", "adverts.report", "areas.list", "areas.get", "areas.put", "areas.delete", "areas.isochrone", "layers.list", "alerts.create", "alerts.create_many", "alerts.list", "alerts.get", "alerts.update", "alerts.delete", "alerts.activate", "alerts.history", "alerts.deliveries", "alerts.test", "alerts.replay", "alerts.preview", "estimate.property.lite", "estimate.property.lite.many", "estimate.rent", "reports.home", "reports.letterhead.get", "reports.letterhead.put", "reports.letterhead.delete", "portfolios.list", "portfolios.get", "portfolios.put", "portfolios.delete", "opendata.dpe.search", "opendata.dpe.match", "opendata.dpe.match_many", "opendata.dvf.search", "opendata.dvf.match", "opendata.dvf.match_many", "parcels.get", "buildings.get", "geocoding.search", "geocoding.reverse", "geocoding.batch", "geocoding.csv", "geocoding.reverse_csv", "geocoding.projects.create", "geocoding.projects.pipeline", "geocoding.projects.input", "geocoding.projects.start", "geocoding.projects.get", "geocoding.projects.output", "geocoding.projects.delete", "analytics.property.search", "analytics.market", "sql.query", "tiles.set", "tiles.get", "admin.adverts", "admin.accounts.list", "admin.accounts.create", "admin.accounts.get", "admin.secrets.rotate", "admin.webhook_keys.rotate", "admin.keys.list", "admin.keys.create", "admin.keys.update", "admin.keys.revoke", "admin.usage", "admin.audit", "admin.alerts.list", "admin.alerts.get", "admin.alerts.dead_letters", "admin.alerts.retry", "admin.properties.candidates", "admin.properties.merge", "admin.properties.keep_apart", "admin.properties.split", "admin.erasures", "admin.reports", "admin.model", "admin.jobs", "admin.metrics", "admin.findings"]
"""A scope, which opens every endpoint of its part of the service, or a single endpoint."""


class KeyRequest(TypedDict):
    account_id: NotRequired[str]
    """Account that will own the key; by default the account named default."""
    kind: Literal["test", "production"]
    """A test key expires after 7 days; a production key works until it is revoked."""
    grants: NotRequired[list[Grant]]
    """What the key may do; by default every scope except sql and admin, and for a test key also except alerts. A test
    key cannot hold admin or its endpoints, and a key without the scope admin cannot grant them.
    """
    rate: NotRequired[int]
    """Requests per second; by default 5 for a test key and 50 for a production key, unless configured otherwise."""
    monthly_quota: NotRequired[int | None]
    """Counted calls per month (UTC); null means unlimited; by default 10000 for a test key and unlimited for a
    production key, unless configured otherwise.
    """
    max_concurrent_estimates: NotRequired[int]
    """Estimates that may run at once; more wait in a short queue."""
    sql_limits: NotRequired[KeyRequestSqlLimits]
    """Limits of SQL queries over HTTP and Flight, lower than those of the service; null or absent means the limit of
    the service.
    """
    name: NotRequired[str]
    """Name that distinguishes keys; must be 1 to 100 characters, without control characters or spaces at the ends, and
    not "demo", which demos use.
    """
    expires_at: NotRequired[str]
    """When the key stops working; a test key stops after 7 days at the latest; must be an ISO 8601 date or date-time,
    such as "2024-05-31" or "2024-05-31T08:00:00+02:00".
    """
    allowed_from: NotRequired[list[str]]
    """Addresses and networks (10.0.0.0/8) from which the key may be used; an empty list lifts the restriction."""


class KeyRequestSqlLimits(TypedDict):
    """Limits of SQL queries over HTTP and Flight, lower than those of the service; null or absent means the limit of
    the service.
    """

    rows: NotRequired[int | None]
    """Maximum rows of an answer."""
    bytes: NotRequired[int | None]
    """Maximum bytes of an answer."""
    memory_mib: NotRequired[int | None]
    """Memory that a query may use before it spills to disk, in MiB."""
    time_s: NotRequired[int | None]
    """Maximum duration of a query, including its answer, in seconds."""
    concurrent: NotRequired[int | None]
    """Maximum queries that may run at once."""


class KeyChange(TypedDict):
    """Fields left out stay unchanged; a running server applies the change within a second."""

    grants: NotRequired[list[Grant]]
    """What the key may do. A test key cannot hold admin or its endpoints, and a key without the scope admin cannot
    grant them.
    """
    rate: NotRequired[int]
    """Requests per second."""
    monthly_quota: NotRequired[int | None]
    """Counted calls per month (UTC); null means unlimited."""
    max_concurrent_estimates: NotRequired[int]
    """Estimates that may run at once; more wait in a short queue."""
    sql_limits: NotRequired[KeyRequestSqlLimits]
    """Limits of SQL queries over HTTP and Flight, lower than those of the service; null or absent means the limit of
    the service.
    """
    name: NotRequired[str]
    """Name that distinguishes keys; must be 1 to 100 characters, without control characters or spaces at the ends, and
    not "demo", which demos use.
    """
    expires_at: NotRequired[str]
    """When the key stops working; a test key stops after 7 days at the latest; must be an ISO 8601 date or date-time,
    such as "2024-05-31" or "2024-05-31T08:00:00+02:00".
    """
    allowed_from: NotRequired[list[str]]
    """Addresses and networks (10.0.0.0/8) from which the key may be used; an empty list lifts the restriction."""


class Key(TypedDict):
    key_id: str
    """Identifier of the key."""
    account_id: str
    """Account that owns it."""
    kind: Literal["test", "production"]
    """A test key expires after 7 days; a production key works until it is revoked."""
    grants: list[Grant]
    rate: int
    """Requests per second."""
    max_concurrent_estimates: int
    """Estimates that may run at once."""
    created_at: str
    """When it was created; UTC, milliseconds."""
    name: NotRequired[str]
    """Name given at creation; absent if none was given."""
    monthly_quota: NotRequired[int]
    """Counted calls per month (UTC); absent if unlimited."""
    sql_limits: NotRequired[dict[str, int]]
    """Limits of its SQL queries that are lower than those of the service; absent if there are none."""
    prefix: str
    """The first characters of the key, to recognise it."""
    allowed_from: NotRequired[list[str]]
    """Networks from which it may be used; absent if any may."""
    last_used_at: NotRequired[str]
    """When it was last used, to within half a minute; absent if never; UTC, milliseconds."""
    expires_at: NotRequired[str]
    """When it stops working; absent if never; UTC, milliseconds."""
    revoked_at: NotRequired[str]
    """When it was revoked; absent if it was not; UTC, milliseconds."""


class NewKey(TypedDict):
    key_id: str
    """Identifier of the key."""
    account_id: str
    """Account that owns it."""
    kind: Literal["test", "production"]
    """A test key expires after 7 days; a production key works until it is revoked."""
    grants: list[Grant]
    rate: int
    """Requests per second."""
    max_concurrent_estimates: int
    """Estimates that may run at once."""
    created_at: str
    """When it was created; UTC, milliseconds."""
    name: NotRequired[str]
    """Name given at creation; absent if none was given."""
    monthly_quota: NotRequired[int]
    """Counted calls per month (UTC); absent if unlimited."""
    sql_limits: NotRequired[dict[str, int]]
    """Limits of its SQL queries that are lower than those of the service; absent if there are none."""
    prefix: str
    """The first characters of the key, to recognise it."""
    allowed_from: NotRequired[list[str]]
    """Networks from which it may be used; absent if any may."""
    last_used_at: NotRequired[str]
    """When it was last used, to within half a minute; absent if never; UTC, milliseconds."""
    expires_at: NotRequired[str]
    """When it stops working; absent if never; UTC, milliseconds."""
    revoked_at: NotRequired[str]
    """When it was revoked; absent if it was not; UTC, milliseconds."""
    key: str
    """The key itself, to send in x-api-key; shown only in this answer."""


class AuditEntry(TypedDict):
    entry: int
    """Number of the entry."""
    at: str
    """When the entry was appended; UTC, milliseconds."""
    actor: str
    """Identifier of the key, or the person at the command line."""
    origin: NotRequired[str]
    """IP address of the caller; absent if on the machine itself."""
    action: str
    """What was done."""
    subject: NotRequired[str]
    """The key or account that was acted on, if the action does not say."""
    outcome: str
    """Outcome: a status, done or failed; begun in the entry written before the action."""
    digest: str
    """BLAKE3 digest of the entry and of the digest before it, hexadecimal."""


class TypeUsage(TypedDict):
    type: Literal["API_PROPERTIES_GET_BY_ID", "API_PROPERTIES_GET_BY_ADVERT_ID", "API_ADVERTS_GET_BY_URL", "API_PROPERTIES_GET_BY_URL", "API_ADVERTS_CHECK", "API_PROPERTIES_CHECK", "API_ESTIMATE_PROPERTY_LITE", "API_ESTIMATE_RENT", "API_REPORTS_HOME", "API_PROPERTIES_SEARCH", "API_PROPERTIES_SEARCH_LITE", "API_ADVERTS_GET_BY_ID", "API_OPENDATA_DPE_SEARCH", "API_OPENDATA_DPE_MATCH", "API_OPENDATA_DVF_SEARCH", "API_OPENDATA_DVF_MATCH", "API_PARCELS_GET_BY_ID", "API_BUILDINGS_GET_BY_ID", "API_GEOCODING_SEARCH", "API_GEOCODING_REVERSE", "API_GEOCODING_CSV", "API_ANALYTICS", "API_SQL", "API_ADVERTS_GET_ALERT_HISTORY", "API_PROPERTIES_GET_ALERT_HISTORY", "WEBHOOK_ALERT_ADVERTS", "WEBHOOK_ALERT_PROPERTIES_MATCH_CREATED", "WEBHOOK_ALERT_PROPERTIES_MATCH_MERGED", "API_OPENDATA_DVF_GET_ALERT_HISTORY", "API_OPENDATA_DPE_GET_ALERT_HISTORY", "WEBHOOK_ALERT_DVF", "WEBHOOK_ALERT_DPE", "WEBHOOK_PORTFOLIOS"]
    """Type of consumption."""
    credits: int
    """Credits charged."""
    calls: int
    """Number of calls, including free ones."""


class AccountUsage(TypedDict):
    account_id: str
    """Identifier of the account."""
    name: str
    """Name of the account."""
    total_credits: int
    """Credits charged in the period."""
    consumption_per_type: list[TypeUsage]
    """By type, sorted by name; types without calls are left out."""


class Consumption(TypedDict):
    total_credits: int
    """Credits charged in the period."""
    consumption_per_type: list[TypeUsage]
    """By type, sorted by name; types without calls are left out."""


class DayUsage(TypedDict):
    type: Literal["API_PROPERTIES_GET_BY_ID", "API_PROPERTIES_GET_BY_ADVERT_ID", "API_ADVERTS_GET_BY_URL", "API_PROPERTIES_GET_BY_URL", "API_ADVERTS_CHECK", "API_PROPERTIES_CHECK", "API_ESTIMATE_PROPERTY_LITE", "API_ESTIMATE_RENT", "API_REPORTS_HOME", "API_PROPERTIES_SEARCH", "API_PROPERTIES_SEARCH_LITE", "API_ADVERTS_GET_BY_ID", "API_OPENDATA_DPE_SEARCH", "API_OPENDATA_DPE_MATCH", "API_OPENDATA_DVF_SEARCH", "API_OPENDATA_DVF_MATCH", "API_PARCELS_GET_BY_ID", "API_BUILDINGS_GET_BY_ID", "API_GEOCODING_SEARCH", "API_GEOCODING_REVERSE", "API_GEOCODING_CSV", "API_ANALYTICS", "API_SQL", "API_ADVERTS_GET_ALERT_HISTORY", "API_PROPERTIES_GET_ALERT_HISTORY", "WEBHOOK_ALERT_ADVERTS", "WEBHOOK_ALERT_PROPERTIES_MATCH_CREATED", "WEBHOOK_ALERT_PROPERTIES_MATCH_MERGED", "API_OPENDATA_DVF_GET_ALERT_HISTORY", "API_OPENDATA_DPE_GET_ALERT_HISTORY", "WEBHOOK_ALERT_DVF", "WEBHOOK_ALERT_DPE", "WEBHOOK_PORTFOLIOS"]
    """Type of consumption."""
    credits: int
    """Credits charged."""
    calls: int
    """Number of calls, including free ones."""
    day: str
    """The day, UTC."""


class OperationReport(TypedDict):
    name: str
    """What wrote it, and when."""
    report: dict[str, Any]
    """What was read, used, rejected and changed; for an import among others `table`, `started_at`, `files`,
    `rows_read`, `rows_kept`, `records`, `rejected`, `outcome` and `seconds`.
    """


class ModelInUse(TypedDict):
    model: ModelInUseModel | None
    """The valuation model; null if none has been trained."""
    report_card: ModelInUseReportCard | None
    """The latest evaluation; null if there is none."""


class ModelInUseModel(TypedDict):
    """The valuation model; null if none has been trained."""

    version: NotRequired[str]
    """Digest of the trained model."""
    trained_at: NotRequired[str]
    """When it was trained; UTC, milliseconds."""
    data_through: NotRequired[str]
    """Day of the latest known sale."""
    coverage: NotRequired[float]
    """Target coverage of the interval, 0 to 1."""
    sales: NotRequired[int]
    """Sales it was trained on."""
    learned_inputs: NotRequired[list[str]]
    """Inputs whose effect was learned from sales."""


class ModelInUseReportCard(TypedDict):
    """The latest evaluation; null if there is none."""

    name: NotRequired[str]
    """What was evaluated."""
    report: NotRequired[dict[str, Any]]
    """Its figures, among them `all`, `baselines`, `segments`, `horizon` and `coverage`."""


class Job(TypedDict):
    job_id: str
    """Identifier of the job."""
    account_id: str
    """Account that requested the page."""
    kind: Literal["url", "check"]
    """Whether the page is read or only checked."""
    url: str
    """URL of the page."""
    status: Literal["waiting", "running", "collected", "rejected"]
    """Status of the job."""
    attempts: int
    """Number of attempts so far."""
    created_at: str
    """When it was requested; UTC, milliseconds."""
    due_at: NotRequired[str | None]
    """When the next attempt is due; null if there is none."""
    ended_at: NotRequired[str | None]
    """When it ended; null if it has not."""
    reason: NotRequired[str | None]
    """Why it was rejected, or the last error."""
    origins: NotRequired[dict[str, Any] | None]
    """Where on the page each field was found."""


class Finding(TypedDict):
    severity: Literal["problem", "advice"]
    """Whether something does not work or data may be lost (problem), or something is missing or old (advice)."""
    message: str
    """What it is, in one sentence without a full stop."""
    command: NotRequired[str]
    """The command to run; absent if there is none."""
    damaged: NotRequired[Literal["table", "addresses", "model", "store"]]
    """What cannot be read; the message is then the reason. Absent from other findings."""


class Property(TypedDict):
    """One property, merged from the adverts that offer it."""

    adverts: list[PropertyAdvert]
    """Its adverts, in order of first sighting."""
    description: NotRequired[str]
    """Description from the first advert."""
    flxId: FlxId
    """Identifier, the same as that of its first advert."""
    habitation: NotRequired[TypeHabitation]
    """The dwelling."""
    hasAnomaly: NotRequired[bool]
    """Whether its data is contradictory or implausible."""
    isUrgent: NotRequired[bool]
    """Whether an advert says that it is urgent."""
    land: NotRequired[TypeLand]
    """Its land."""
    location: NotRequired[Location]
    """Location."""
    medias: NotRequired[Medias]
    """Pictures and virtual tours of all its adverts."""
    meta: NotRequired[Meta]
    """When it was seen."""
    parking: NotRequired[TypeParking]
    """Its parking places."""
    price: NotRequired[Price]
    """Price."""
    process: NotRequired[EnumPropertyProcess]
    """Status of the transaction, as given."""
    tags: list[str]
    """Free tags."""
    title: NotRequired[str]
    """Title from the first advert."""
    type: NotRequired[EnumPropertyClass]
    """Class of asset."""
    offer: NotRequired[Offer]
    """What is offered."""


class PropertyAdvert(TypedDict):
    """An advert within its property."""

    description: NotRequired[str]
    """Description, as on the portal."""
    firstSeenAt: NotRequired[Timestamp]
    """First sighting, UTC."""
    flxId: FlxId
    """Identifier of the advert."""
    isOnline: NotRequired[bool]
    """Whether it is on its portal now."""
    lastSeenAt: NotRequired[Timestamp]
    """Last sighting, UTC."""
    location: NotRequired[Position]
    """`[lng, lat]`, degrees: -180 to 180 and -90 to 90; may be imprecise."""
    medias: NotRequired[Medias]
    """Pictures and virtual tours."""
    price: NotRequired[Price]
    """Asking price."""
    source: NotRequired[str]
    """The portal, as a host name."""
    url: NotRequired[str]
    """URL of the listing on its portal."""
    title: NotRequired[str]
    """Title, as on the portal."""
    offlineAt: NotRequired[Timestamp]
    """When it went offline, UTC."""
    hasAnomaly: NotRequired[bool]
    """Whether its data is contradictory or implausible."""
    isPro: NotRequired[bool]
    """Whether the seller is a professional; false for a private person."""
    seller: NotRequired[LightSeller]
    """The professional who sells or lets it."""
    isExclusive: NotRequired[bool]
    """Whether the seller claims an exclusive mandate."""
    contactInCharge: NotRequired[Contact]
    """Contact person."""


FlxId: TypeAlias = str
"""Identifier, a UUID."""


class TypeHabitation(TypedDict):
    """A dwelling."""

    bathroomCount: NotRequired[Count]
    """Number of bathrooms, from 0."""
    bedroomCount: NotRequired[Count]
    """Number of bedrooms, from 0."""
    floor: NotRequired[Floor]
    """Storey, -10 to 200, 0 for the ground floor; the same as features.propertyFloor."""
    characteristics: NotRequired[Characteristics]
    """Amenities that it has or lacks."""
    condominiumLotCount: NotRequired[Count]
    """Number of lots in its condominium, from 0."""
    climate: NotRequired[Climate]
    """Energy performance."""
    features: NotRequired[Features]
    """Floor, exposure, views, materials."""
    heatTypes: list[EnumHeatType]
    """Whether the heating is individual or shared."""
    heatTypeDetails: list[EnumHeatTypeDetail]
    """Kind of heat emitter."""
    heatings: list[EnumHeating]
    """Sources of energy of the heating."""
    propertyCondition: NotRequired[PropertyCondition]
    """Age and condition."""
    roomCount: NotRequired[Count]
    """Number of main rooms, from 0."""
    surface: NotRequired[Surface]
    """Areas."""
    type: list[EnumPropertyTypeHabitation]
    """Kinds of dwelling."""
    wcCount: NotRequired[Count]
    """Number of toilets, from 0."""


class TypeLand(TypedDict):
    """Land of an asset, or the asset itself if it is land."""

    canConstruct: NotRequired[bool]
    """Whether it may be built on."""
    hasBuildingPermit: NotRequired[bool]
    """Whether a building permit was granted."""
    hasElectricity: NotRequired[bool]
    """Whether it is connected to electricity."""
    hasTelecom: NotRequired[bool]
    """Whether it is connected to telecommunications."""
    hasWater: NotRequired[bool]
    """Whether it is connected to water."""
    isServiced: NotRequired[bool]
    """Whether it is connected to the usual utilities."""
    surface: NotRequired[SquareMetres]
    """Area, square metres, from 0."""
    surfaceConstructable: NotRequired[SquareMetres]
    """Area that may be built on, square metres, from 0."""
    type: NotRequired[EnumLandType]
    """Kind of land."""


class Location(TypedDict):
    """Location of a property."""

    city: NotRequired[str]
    """Name of the commune."""
    cityCoordinate: NotRequired[CompleteLatLng]
    """Centre of the commune."""
    department: NotRequired[Department]
    """Department: two characters, including 2A and 2B, or three overseas."""
    inseeCode: NotRequired[InseeCode]
    """INSEE code of the commune, five characters; Paris, Lyon and Marseille by arrondissement."""
    irisCode: NotRequired[IrisCode]
    """Code of the IRIS district, nine characters."""
    locationCoordinate: NotRequired[CompleteLatLng]
    """Position of the asset; may be imprecise."""
    postalCode: NotRequired[PostalCode]
    """Postal code, five digits."""
    precision: NotRequired[EnumLocationPrecision]
    """Precision of the position, if it was found from an address, a town or a postal code."""


class Medias(TypedDict):
    """Pictures and virtual tours."""

    images: list[Image]
    """Pictures, in the order of the listing. In ingestion a picture may be given by its URL alone."""
    virtualVisitExternalUrl: list[str]
    """URLs of virtual tours."""


class Meta(TypedDict):
    """When an asset was seen. Times are in UTC."""

    firstSeenAt: NotRequired[Timestamp]
    """First sighting."""
    isTotallyOffline: NotRequired[bool]
    """Whether every advert of the property is offline."""
    lastPublishedAt: NotRequired[Timestamp]
    """When an advert was last published or came back online."""
    lastSeenAt: NotRequired[Timestamp]
    """Last sighting."""
    lastUpdatedAt: NotRequired[Timestamp]
    """Last change of content."""
    totallyOfflineAt: NotRequired[Timestamp]
    """When the last advert went offline."""


class TypeParking(TypedDict):
    """Parking places of an asset, or the asset itself if it is one."""

    count: NotRequired[Count]
    """Number of places, from 0."""
    numberOfCars: NotRequired[Count]
    """Number of cars that all places hold together, from 0."""
    surface: NotRequired[SquareMetres]
    """Area, square metres, from 0."""
    type: NotRequired[EnumParkingType]
    """Kind of place."""


class Price(TypedDict):
    """Price of a property, or of an advert of it."""

    currency: NotRequired[EnumCurrency]
    """Currency of all amounts; CURRENCY_EUR unless stated otherwise."""
    initial: NotRequired[PropertyPrice]
    """Price of the property's first advert."""
    isAuction: NotRequired[bool]
    """Whether the price is the starting bid of an auction."""
    latest: NotRequired[PropertyPrice]
    """Price of the property's last advert."""
    scope: NotRequired[EnumPricingScope]
    """Whether amounts are paid once or every month: PRICING_ONE_OFF, or PRICING_MENSUAL for rents."""
    warrantyDeposit: NotRequired[Eur]
    """Deposit of a rent, EUR, from 0."""
    variation: NotRequired[Variation]
    """How the price changed."""
    charges: NotRequired[Charges]
    """Charges in addition to the price."""


EnumPropertyProcess: TypeAlias = Literal["PROCESS_UNKNOWN", "PROCESS_AVAILABLE_ON_MARKET", "PROCESS_UNDER_COMPROMISE", "PROCESS_RENTED_SOLD", "PROCESS_REMOVED", "PROCESS_RESERVED", "PROCESS_ARCHIVED"]
"""Status of the transaction."""


EnumPropertyClass: TypeAlias = Literal["CLASS_UNKNOWN", "CLASS_HOUSE", "CLASS_FLAT", "CLASS_PROGRAM", "CLASS_SHOP", "CLASS_PREMISES", "CLASS_OFFICE", "CLASS_LAND", "CLASS_BUILDING", "CLASS_PARKING", "CLASS_ROOM", "CLASS_OTHER"]
"""Class of asset."""


class Offer(TypedDict):
    """What is offered."""

    isCurrentlyOccupied: NotRequired[bool]
    """Whether it is sold occupied."""
    renting: NotRequired[OfferRentingContract]
    """Terms of a rent."""
    type: NotRequired[EnumPropertyOfferType]
    """Sale, rent or another kind."""


Timestamp: TypeAlias = str
"""Time, ISO 8601 in UTC with milliseconds."""


Position: TypeAlias = "list[float]"
"""Position [longitude, latitude], degrees: -180 to 180 and -90 to 90."""


class LightSeller(TypedDict):
    """The professional who sells or lets it."""

    flxId: NotRequired[FlxId]
    """Identifier of the seller."""
    name: NotRequired[str]
    """Name."""
    siren: NotRequired[Siren]
    """SIREN number, nine digits."""
    type: NotRequired[EnumSellerType]
    """Kind of seller."""


class Contact(TypedDict):
    """Contact person."""

    email: NotRequired[str]
    """Email address."""
    firstName: NotRequired[str]
    """First name."""
    lastName: NotRequired[str]
    """Last name."""
    phoneNumber: NotRequired[str]
    """Telephone number, as on the portal."""
    pseudonym: NotRequired[str]
    """Name shown on the portal in place of the real name."""


class Image(TypedDict):
    """A picture and its hashes, as hexadecimal texts. The hashes of pictures that look alike differ in few bits. Hashes
    are empty if only the URL of the picture is known.
    """

    gaussianHash: str
    """Hash of the brightness after a Gaussian blur."""
    imageId: str
    """Identifier of the picture."""
    meanHash: str
    """Hash of the brightness relative to its mean."""
    perceptualHash: str
    """Hash of the low frequencies."""
    url: NotRequired[str]
    """URL of the picture on its portal."""
    colorHash: NotRequired[str]
    """Hash of the distribution of colours."""
    differenceHash: NotRequired[str]
    """Hash of the differences between neighbouring pixels."""


EnumCurrency: TypeAlias = Literal["CURRENCY_EUR", "CURRENCY_USD"]
"""Currency of prices, ISO 4217 after the prefix."""


class PropertyPrice(TypedDict):
    """An amount and the listing that states it."""

    source: NotRequired[Source]
    """Listing that the amount comes from."""
    value: NotRequired[Eur]
    """Amount, EUR, from 0; per month for rents."""
    valuePerArea: NotRequired[EurPerSquareMetre]
    """Amount per square metre of habitable area, EUR, from 0; for land, per square metre of land."""


EnumPricingScope: TypeAlias = Literal["PRICING_ONE_OFF", "PRICING_MENSUAL"]
"""Whether a price is paid once or every month."""


Eur: TypeAlias = float
"""An amount, EUR."""


class Variation(TypedDict):
    """How a price changed."""

    sinceLastModified: NotRequired[Percent]
    """Change from the price before the last change, percent, from -100; below 0 if it fell."""
    sincePublished: NotRequired[Percent]
    """Change from the first price, percent, from -100; below 0 if it fell."""
    absoluteSinceLastModified: NotRequired[EurChange]
    """Change from the price before the last change, EUR; below 0 if it fell."""
    absoluteSincePublished: NotRequired[EurChange]
    """Change from the first price, EUR; below 0 if it fell."""


class Charges(TypedDict):
    """Charges and taxes of an asset."""

    yearlyCondoniumFees: NotRequired[Eur]
    """Condominium fees, EUR per year, from 0."""
    yearlyElectricityFees: NotRequired[Eur]
    """Electricity, EUR per year, from 0."""
    yearlyHeatingFees: NotRequired[Eur]
    """Heating, EUR per year, from 0."""
    yearlyHousingTax: NotRequired[Eur]
    """Property tax, EUR per year, from 0."""
    yearlyLivingTax: NotRequired[Eur]
    """Residence tax, EUR per year, from 0."""
    yearlyRentalFees: NotRequired[Eur]
    """Charges paid by the tenant, EUR per year, from 0."""
    monthlyRentSupplement: NotRequired[Eur]
    """Supplement on top of a controlled rent, EUR per month, from 0."""


class Source(TypedDict):
    """A listing on a portal."""

    flxId: NotRequired[FlxId]
    """Identifier of the advert."""
    url: NotRequired[str]
    """URL of the listing."""
    website: NotRequired[str]
    """The portal, as a host name."""


EurPerSquareMetre: TypeAlias = float
"""A price per square metre, EUR."""


Percent: TypeAlias = float
"""A change in percent; below 0 for a fall."""


EurChange: TypeAlias = float
"""A change of an amount, EUR; below 0 for a fall."""


Siren: TypeAlias = str
"""SIREN number of a company, nine digits."""


EnumSellerType: TypeAlias = Literal["SELLER_TYPE_UNKNOWN", "SELLER_TYPE_AGENCY", "SELLER_TYPE_NETWORK"]
"""Kind of professional seller."""


Count: TypeAlias = int
"""A count."""


Floor: TypeAlias = int
"""A storey; 0 is the ground floor, negative numbers are below it."""


class Characteristics(TypedDict):
    """Amenities that an asset has (`true`) or lacks (`false`)."""

    hasAlarm: NotRequired[bool]
    """Alarm."""
    hasBalcony: NotRequired[bool]
    """Balcony."""
    hasCellar: NotRequired[bool]
    """Cellar."""
    hasConcierge: NotRequired[bool]
    """Caretaker."""
    hasDigicode: NotRequired[bool]
    """Door code."""
    hasFireplace: NotRequired[bool]
    """Fireplace."""
    hasGarage: NotRequired[bool]
    """Garage."""
    hasGarden: NotRequired[bool]
    """Garden."""
    hasGrenier: NotRequired[bool]
    """Attic."""
    hasInterphone: NotRequired[bool]
    """Intercom."""
    hasJacuzzi: NotRequired[bool]
    """Hot tub."""
    hasLand: NotRequired[bool]
    """Land."""
    hasLift: NotRequired[bool]
    """Lift."""
    hasMezzanine: NotRequired[bool]
    """Mezzanine."""
    hasParking: NotRequired[bool]
    """Parking place."""
    hasPool: NotRequired[bool]
    """Swimming pool."""
    hasTerrace: NotRequired[bool]
    """Terrace."""
    hasVisAVis: NotRequired[bool]
    """Windows overlooked by neighbours."""
    isPeaceful: NotRequired[bool]
    """Quiet."""


class Climate(TypedDict):
    """Energy performance of a dwelling."""

    epcClimate: NotRequired[EnumGreenhouseClassification]
    """Greenhouse gas class."""
    epcClimateScore: NotRequired[CarbonPerArea]
    """Greenhouse gas, kgCO2 per square metre and year, from 0."""
    epcEnergy: NotRequired[EnumEnergyClassification]
    """Energy class."""
    epcEnergyScore: NotRequired[EnergyPerArea]
    """Primary energy, kWhEP per square metre and year, from 0."""
    epcClimateDate: NotRequired[Timestamp]
    """When the greenhouse gas class was established, UTC."""
    epcEnergyDate: NotRequired[Timestamp]
    """When the energy class was established, UTC."""


class Features(TypedDict):
    """Floor, exposure, views and materials of a dwelling."""

    exposure: NotRequired[EnumExposure]
    """Direction the main rooms face."""
    furniture: NotRequired[EnumFurniture]
    """Whether it is furnished."""
    propertyFloor: NotRequired[Floor]
    """Storey, -10 to 200, 0 for the ground floor."""
    propertyTotalFloor: NotRequired[Floor]
    """Storeys of the building above the ground floor, -10 to 200."""
    viewTypes: list[EnumViewType]
    """Qualities of the view."""
    constructionMaterials: list[EnumConstructionMaterial]
    """Materials of walls and frames."""
    glazingTypes: list[EnumGlazingType]
    """Glazing of the windows."""
    hasThroughExposure: NotRequired[bool]
    """Whether it has windows on two opposite sides."""
    viewOns: list[EnumViewOn]
    """What the windows overlook."""


EnumHeatType: TypeAlias = Literal["HEAT_TYPE_UNKNOWN", "HEAT_TYPE_INDIVIDUAL", "HEAT_TYPE_SHARED", "HEAT_TYPE_MIX", "HEAT_TYPE_CITY", "HEAT_TYPE_CISTERN"]
"""Whether the heating is individual or shared. `HEAT_TYPE_MIXED` is read as `HEAT_TYPE_MIX`."""


EnumHeatTypeDetail: TypeAlias = Literal["HEAT_DETAIL_UNKNOWN", "HEAT_DETAIL_FLOOR", "HEAT_DETAIL_CEILING", "HEAT_DETAIL_FIREPLACE", "HEAT_DETAIL_INSERT", "HEAT_DETAIL_AIR_CON", "HEAT_DETAIL_REVERSIBLE_AIR_CON", "HEAT_DETAIL_RADIANTS_TUBES", "HEAT_DETAIL_RADIATOR", "HEAT_DETAIL_SHEAHS", "HEAT_DETAIL_CONVECTOR"]
"""Kind of heat emitter. `HEAT_DETAIL_SHEATHS` is read as `HEAT_DETAIL_SHEAHS`."""


EnumHeating: TypeAlias = Literal["HEATING_UNKNOWN", "HEATING_FUEL_OIL", "HEATING_ELECTRICAL", "HEATING_GAS", "HEATING_BIOMASS", "HEATING_SOLAR", "HEATING_GEOTHERMAL", "HEATING_WOOD", "HEATING_HEAT_PUMP", "HEATING_PELLET", "HEATING_CANADIAN_WELL", "HEATING_COAL"]
"""Source of energy of the heating."""


class PropertyCondition(TypedDict):
    """Age and condition of an asset."""

    constructionYear: NotRequired[Year]
    """Year of construction, 1 to 2200."""
    interiorCondition: NotRequired[EnumPropertyInteriorCondition]
    """Condition of the interior."""
    renovationYear: NotRequired[Year]
    """Year of the last renovation, 1 to 2200."""
    generalConditions: list[EnumPropertyGeneralCondition]
    """Conditions of the asset as a whole."""


class Surface(TypedDict):
    """Areas of a dwelling, square metres; apart from the total they are rarely known."""

    balconies: NotRequired[SquareMetres]
    """Balconies, square metres, from 0."""
    floorSpace: NotRequired[SquareMetres]
    """Floor area, square metres, from 0."""
    gardens: NotRequired[SquareMetres]
    """Gardens, square metres, from 0."""
    groundFloor: NotRequired[SquareMetres]
    """Ground floor, square metres, from 0."""
    kitchen: NotRequired[SquareMetres]
    """Kitchen, square metres, from 0."""
    livingSpace: NotRequired[SquareMetres]
    """Living space, square metres, from 0."""
    livingRoom: NotRequired[SquareMetres]
    """Living room, square metres, from 0."""
    terraces: NotRequired[SquareMetres]
    """Terraces, square metres, from 0."""
    total: NotRequired[SquareMetres]
    """Habitable area, square metres, from 0."""


EnumPropertyTypeHabitation: TypeAlias = Literal["PROPERTY_TYPE_UNKNOWN", "PROPERTY_TYPE_STUDIO", "PROPERTY_TYPE_T1", "PROPERTY_TYPE_T1_T2", "PROPERTY_TYPE_T2", "PROPERTY_TYPE_T2_T3", "PROPERTY_TYPE_T3", "PROPERTY_TYPE_T3_4", "PROPERTY_TYPE_T4", "PROPERTY_TYPE_T4_5", "PROPERTY_TYPE_T5_MORE", "PROPERTY_TYPE_LOFT", "PROPERTY_TYPE_DUPLEX", "PROPERTY_TYPE_OTHER_APARTMENT_TYPE", "PROPERTY_TYPE_INDIVIDUAL", "PROPERTY_TYPE_ONE_SIDE_TERRACED", "PROPERTY_TYPE_TWO_SIDE_TERRACED", "PROPERTY_TYPE_SINGLE_STOREY", "PROPERTY_TYPE_TRADITIONAL", "PROPERTY_TYPE_CONTEMPORARY", "PROPERTY_TYPE_BOURGEOIS", "PROPERTY_TYPE_VILLA", "PROPERTY_TYPE_MANOR", "PROPERTY_TYPE_CASTLE", "PROPERTY_TYPE_FARM", "PROPERTY_TYPE_MAS", "PROPERTY_TYPE_BASTIDE", "PROPERTY_TYPE_CHALET", "PROPERTY_TYPE_ANCIENT", "PROPERTY_TYPE_HERITAGE_LISTED", "PROPERTY_TYPE_BUNGALOW"]
"""Kind of dwelling: flats by main rooms (T2: two), houses by style."""


EnumGreenhouseClassification: TypeAlias = Literal["GREENHOUSE_CLASSIFICATION_UNKNOWN", "GREENHOUSE_CLASSIFICATION_G", "GREENHOUSE_CLASSIFICATION_F", "GREENHOUSE_CLASSIFICATION_E", "GREENHOUSE_CLASSIFICATION_D", "GREENHOUSE_CLASSIFICATION_C", "GREENHOUSE_CLASSIFICATION_B", "GREENHOUSE_CLASSIFICATION_A", "GREENHOUSE_CLASSIFICATION_NC"]
"""Greenhouse gas class of a dwelling, A (best) to G; NC if exempt from a diagnostic."""


CarbonPerArea: TypeAlias = float
"""Greenhouse gas a dwelling emits, kg of CO2 per square metre and year."""


EnumEnergyClassification: TypeAlias = Literal["ENERGY_CLASSIFICATION_UNKNOWN", "ENERGY_CLASSIFICATION_G", "ENERGY_CLASSIFICATION_F", "ENERGY_CLASSIFICATION_E", "ENERGY_CLASSIFICATION_D", "ENERGY_CLASSIFICATION_C", "ENERGY_CLASSIFICATION_B", "ENERGY_CLASSIFICATION_A", "ENERGY_CLASSIFICATION_NC"]
"""Energy class of a dwelling, A (best) to G; NC if exempt from a diagnostic."""


EnergyPerArea: TypeAlias = float
"""Primary energy a dwelling uses, kWh per square metre and year."""


EnumExposure: TypeAlias = Literal["EXPOSURE_UNKNOWN", "EXPOSURE_NORTH", "EXPOSURE_NORTH_EAST", "EXPOSURE_EAST", "EXPOSURE_SOUTH_EAST", "EXPOSURE_SOUTH", "EXPOSURE_SOUTH_WEST", "EXPOSURE_WEST", "EXPOSURE_NORTH_WEST"]
"""Compass direction the main rooms face."""


EnumFurniture: TypeAlias = Literal["UNKNOWN_FURNITURE", "UNFURNISHED", "PARTIALLY_FURNISHED", "FULLY_FURNISHED"]
"""Whether a dwelling is furnished."""


EnumViewType: TypeAlias = Literal["VIEW_TYPE_UNKNOWN", "VIEW_TYPE_GLIMPSE", "VIEW_TYPE_PANORAMIC", "VIEW_TYPE_CLEAR", "VIEW_TYPE_EXCEPTIONAL", "VIEW_TYPE_DOMINANT"]
"""Quality of the view."""


EnumConstructionMaterial: TypeAlias = Literal["MATERIAL_UNKNOWN", "MATERIAL_WOODEN", "MATERIAL_STEEL", "MATERIAL_STONE", "MATERIAL_PVC", "MATERIAL_CONCRETE", "MATERIAL_ALUMINIUM", "MATERIAL_HALF_TIMBERED", "MATERIAL_MARBLE", "MATERIAL_BRICK", "MATERIAL_CINDER_BLOCK", "MATERIAL_PREFABRICATED", "MATERIAL_ADOBE", "MATERIAL_COATING"]
"""Material of walls or frames."""


EnumGlazingType: TypeAlias = Literal["GLAZING_TYPE_UNKNOWN", "GLAZING_TYPE_SIMPLE", "GLAZING_TYPE_DOUBLE", "GLAZING_TYPE_TRIPLE"]
"""Glazing of the windows."""


EnumViewOn: TypeAlias = Literal["VIEW_ON_UNKNOWN", "VIEW_ON_SEA", "VIEW_ON_HILLS", "VIEW_ON_RIVERS", "VIEW_ON_CITY", "VIEW_ON_PARK", "VIEW_ON_VERDURE", "VIEW_ON_STREET", "VIEW_ON_COURTYARD", "VIEW_ON_COUNTRYSIDE", "VIEW_ON_MOUNTAIN", "VIEW_ON_GARDEN_TERRACE", "VIEW_ON_LAKE", "VIEW_ON_SKI_SLOPES", "VIEW_ON_PORT", "VIEW_ON_POI", "VIEW_ON_SKY", "VIEW_ON_WATER", "VIEW_ON_VINEYARD", "VIEW_ON_ROOF"]
"""What the windows overlook."""


Year: TypeAlias = int
"""A year of the common era."""


EnumPropertyInteriorCondition: TypeAlias = Literal["INTERIOR_CONDITION_UNKNOWN", "INTERIOR_CONDITION_EXCELLENT", "INTERIOR_CONDITION_TO_REFRESH", "INTERIOR_CONDITION_SMALL_WORKS_TO_BE_PLANNED", "INTERIOR_CONDITION_MAJOR_WORKS_TO_BE_PALLNED", "INTERIOR_CONDITION_BRAND_NEW", "INTERIOR_CONDITION_GOOD_CONDITION", "INTERIOR_CONDITION_TO_BE_RENOVATED"]
"""Condition of the interior; the misspelling of one value is part of the contract."""


EnumPropertyGeneralCondition: TypeAlias = Literal["GENERAL_CONDITION_UNKNOWN", "GENERAL_CONDITION_TO_BE_RENOVATED", "GENERAL_CONDITION_BRAND_NEW", "GENERAL_CONDITION_RENOVATED", "GENERAL_CONDITION_TO_BE_REFRESHED", "GENERAL_CONDITION_GOOD", "GENERAL_CONDITION_EXCELLENT", "GENERAL_CONDITION_DECREPIT", "GENERAL_CONDITION_TO_BE_BUILT"]
"""Condition of the asset as a whole."""


SquareMetres: TypeAlias = float
"""An area, square metres."""


EnumLandType: TypeAlias = Literal["LAND_UNKNOWN", "LAND_BUILDING_PLOT", "LAND_AGRICULTURAL", "LAND_VINEYARD", "LAND_INDUSTRIAL", "LAND_POND", "LAND_FOREST"]
"""Kind of land."""


class CompleteLatLng(TypedDict):
    """A position."""

    location: NotRequired[Position]
    """`[lng, lat]`, degrees: -180 to 180 and -90 to 90."""


Department: TypeAlias = str
"""Code of a department: two characters, including 2A and 2B, or three overseas."""


InseeCode: TypeAlias = str
"""INSEE code of a commune, five characters; Paris, Lyon and Marseille by arrondissement."""


IrisCode: TypeAlias = str
"""Code of an IRIS district: the commune's INSEE code and four digits, which are 0000 if the commune has no districts.
"""


PostalCode: TypeAlias = str
"""Postal code, five digits; a commune may have several codes, and a code may cover several communes."""


EnumLocationPrecision: TypeAlias = Literal["ADDRESS", "STREET", "TOWN"]
"""Precision of a position that was found from an address, a town or a postal code: a house number, a street or named
place, or the centre of a commune.
"""


EnumParkingType: TypeAlias = Literal["PARKING_UNKNOWN", "PARKING_GARAGE", "PARKING_PARKING"]
"""Kind of parking place."""


class OfferRentingContract(TypedDict):
    """Terms of a rent."""

    isColocation: NotRequired[bool]
    """Shared with others."""
    isLongTerm: NotRequired[bool]
    """More than 6 months."""
    isShortTerm: NotRequired[bool]
    """Less than 6 months."""
    isSubLease: NotRequired[bool]
    """Let by a tenant."""


EnumPropertyOfferType: TypeAlias = Literal["OFFER_UNKNOWN", "OFFER_BUY", "OFFER_RENT", "OFFER_BUSINESS_TAKE_OVER", "OFFER_LEASE_BACK", "OFFER_LIFE_ANNUITY_SALE", "OFFER_HOLIDAYS", "OFFER_AUCTION"]
"""What is offered: sale, rent and others."""


class Advert(TypedDict):
    """One listing on one portal."""

    currency: NotRequired[EnumCurrency]
    """Currency of all amounts; CURRENCY_EUR unless stated otherwise."""
    currentPrice: NotRequired[AdvertPrice]
    """Current asking price."""
    description: NotRequired[str]
    """Description, as on the portal."""
    firstSeenAt: NotRequired[Timestamp]
    """First sighting, UTC."""
    flxId: FlxId
    """Identifier of the advert."""
    habitation: NotRequired[TypeHabitation]
    """The dwelling."""
    hasAnomaly: NotRequired[bool]
    """Whether its data is contradictory or implausible."""
    isAuction: NotRequired[bool]
    """Whether the price is the starting bid of an auction."""
    isUrgent: NotRequired[bool]
    """Whether it says that it is urgent."""
    land: NotRequired[TypeLand]
    """The land."""
    lastModifiedAt: NotRequired[Timestamp]
    """Last change of content, UTC."""
    location: NotRequired[AdLocation]
    """Where the asset is."""
    medias: NotRequired[Medias]
    """Pictures and virtual tours."""
    parking: NotRequired[TypeParking]
    """The parking places."""
    process: NotRequired[EnumPropertyProcess]
    """Status of the transaction, as given."""
    scope: NotRequired[EnumPricingScope]
    """Whether amounts are paid once or every month: PRICING_ONE_OFF, or PRICING_MENSUAL for rents."""
    source: NotRequired[str]
    """The portal, as a host name."""
    url: NotRequired[str]
    """URL of the listing on its portal."""
    tags: list[str]
    """Free tags."""
    title: NotRequired[str]
    """Title, as on the portal."""
    type: NotRequired[EnumPropertyClass]
    """Class of asset."""
    warrantyDeposit: NotRequired[Eur]
    """Deposit of a rent, EUR, from 0."""
    offer: NotRequired[Offer]
    """What is offered."""
    mainPropertyAdFlxId: NotRequired[FlxId]
    """Identifier of the first advert that was seen for the asset; the same as propertyFlxId."""
    propertyFlxId: NotRequired[FlxId]
    """Identifier of the property it belongs to."""
    meta: NotRequired[Meta]
    """When it was seen."""
    isOnline: NotRequired[bool]
    """Whether it is on its portal now."""
    lastSeenAt: NotRequired[Timestamp]
    """Last sighting, UTC."""
    isPro: NotRequired[bool]
    """Whether the seller is a professional; false for a private person."""
    seller: NotRequired[LightSeller]
    """The professional who sells or lets it."""
    isExclusive: NotRequired[bool]
    """Whether the seller claims an exclusive mandate."""
    reference: NotRequired[str]
    """The seller's reference for the asset or the mandate, as on the portal."""
    contactInCharge: NotRequired[Contact]
    """Contact person."""
    charges: NotRequired[Charges]
    """Charges in addition to the price; not in webhook deliveries."""


class AdvertPrice(TypedDict):
    """Price of an advert."""

    value: NotRequired[Eur]
    """Amount, EUR, from 0; per month for rents; absent if the price is given only on request."""
    valuePerArea: NotRequired[EurPerSquareMetre]
    """Amount per square metre of habitable area, EUR, from 0; for land, per square metre of land."""
    netValue: NotRequired[Eur]
    """Amount without the agency's fees, if the buyer pays them, EUR, from 0."""
    fees: NotRequired[Eur]
    """The agency's fees, EUR, from 0."""


class AdLocation(TypedDict):
    """Location of the asset of an advert."""

    address: NotRequired[str]
    """House number and street, or the whole address; used to find the position if none is given."""
    city: NotRequired[str]
    """Name of the commune, as on the portal."""
    district: NotRequired[str]
    """Name of the district or quarter, as on the portal."""
    cityCoordinate: NotRequired[AdCompleteLatLng]
    """Centre of the commune."""
    department: NotRequired[Department]
    """Department: two characters, including 2A and 2B, or three overseas."""
    inseeCode: NotRequired[InseeCode]
    """INSEE code of the commune, five characters; Paris, Lyon and Marseille by arrondissement."""
    irisCode: NotRequired[IrisCode]
    """Code of the IRIS district, nine characters."""
    locationCoordinate: NotRequired[AdCompleteLatLng]
    """Position of the asset; may be imprecise."""
    postalCode: NotRequired[PostalCode]
    """Postal code, five digits."""
    precision: NotRequired[EnumLocationPrecision]
    """Precision of the position, if it was found from an address, a town or a postal code."""


class AdCompleteLatLng(TypedDict):
    """A position in an advert."""

    location: NotRequired[Position]
    """`[lng, lat]`, degrees: -180 to 180 and -90 to 90."""


class LiteProperty(TypedDict):
    """A property in short form."""

    flxId: FlxId
    """Identifier."""
    type: NotRequired[EnumPropertyClass]
    """Class of asset."""
    offer: NotRequired[Offer]
    """What is offered."""
    title: NotRequired[str]
    """Title from the first advert."""
    price: NotRequired[LitePrice]
    """Price."""
    habitation: NotRequired[LiteHabitation]
    """The dwelling."""
    location: NotRequired[Location]
    """Location."""
    meta: NotRequired[Meta]
    """When it was seen."""
    adverts: list[LitePropertyAdvert]
    """Its adverts, in order of first sighting."""


class LitePrice(TypedDict):
    """A price in short form."""

    latest: NotRequired[PropertyPrice]
    """Price of the last advert."""


class LiteHabitation(TypedDict):
    """A dwelling in short form."""

    surface: NotRequired[LiteSurface]
    """Area."""
    roomCount: NotRequired[Count]
    """Number of main rooms, from 0."""
    bedroomCount: NotRequired[Count]
    """Number of bedrooms, from 0."""
    floor: NotRequired[Floor]
    """Storey, -10 to 200, 0 for the ground floor."""
    climate: NotRequired[LiteClimate]
    """Energy performance."""


class LitePropertyAdvert(TypedDict):
    """An advert in short form."""

    flxId: NotRequired[FlxId]
    """Identifier of the advert."""
    source: NotRequired[str]
    """The portal, as a host name."""
    url: NotRequired[str]
    """URL of the listing on its portal."""
    isOnline: NotRequired[bool]
    """Whether it is on its portal now."""
    price: NotRequired[LitePrice]
    """Asking price."""


class LiteSurface(TypedDict):
    """Area in short form."""

    total: NotRequired[SquareMetres]
    """Habitable area, square metres, from 0."""


class LiteClimate(TypedDict):
    """Energy performance in short form."""

    epcEnergy: NotRequired[EnumEnergyClassification]
    """Energy class."""


class PropertyDelivery(TypedDict):
    """Body of a delivery of a property alert."""

    data: PropertyDeliveryData
    """What the alert matched."""


class PropertyDeliveryData(TypedDict):
    """Properties that an alert matched, by kind of match."""

    created: list[PropertyMatches]
    """Properties that qualify for the first time."""
    updated: list[PropertyMatches]
    """Matched properties that a new advert joined."""


class PropertyMatches(TypedDict):
    """Properties that one alert matched."""

    alert_id: FlxId
    """Identifier of the alert."""
    context: NotRequired[AlertContext]
    """Data given with the alert, echoed unchanged."""
    properties: list[FlxId]
    """Identifiers of the properties, at most 100, newest last; read the properties by identifier."""


class AlertContext(TypedDict):
    """Data given with an alert, echoed in its deliveries."""

    metadata: NotRequired[dict[str, Any]]
    """Any keys and values."""


class AdvertDelivery(TypedDict):
    """Body of a delivery of an advert alert."""

    data: AdvertDeliveryData
    """What the alert matched."""


class AdvertDeliveryData(TypedDict):
    """Adverts that an alert matched, by kind of match."""

    created: list[AdvertMatches]
    """Adverts that qualify for the first time."""
    updated: list[AdvertUpdates]
    """Events on matched adverts."""


class AdvertMatches(TypedDict):
    """Adverts that one alert matched."""

    alert_id: FlxId
    """Identifier of the alert."""
    context: NotRequired[AlertContext]
    """Data given with the alert, echoed unchanged."""
    adverts: list[Advert]
    """The adverts in full, except for their charges; at most 100, newest last."""


class AdvertUpdates(TypedDict):
    """Events on adverts that one alert matched."""

    alert_id: FlxId
    """Identifier of the alert."""
    context: NotRequired[AlertContext]
    """Data given with the alert, echoed unchanged."""
    adverts: list[AdvertUpdate]
    """One record per event, at most 100, newest last."""


class AdvertUpdate(TypedDict):
    """An event on an advert, and the state of the advert after it."""

    flxId: FlxId
    """Identifier of the advert."""
    propertyFlxId: FlxId
    """Identifier of the property it belongs to."""
    currentPrice: NotRequired[AdvertPrice]
    """Current asking price; absent if the price is given only on request."""
    isOnline: bool
    """Whether it is on its portal now."""
    event: AdvertEvent
    """What happened."""


class AdvertEvent(TypedDict):
    """What happened to an advert."""

    type: EnumAdvertEvent
    """Kind of event."""
    occurredAt: Timestamp
    """When it happened, UTC."""
    previous: PreviousState
    """The advert before the event; only what the event changed."""


EnumAdvertEvent: TypeAlias = Literal["PRICE", "REPUBLISHED", "UNPUBLISHED"]
"""What happened to an advert: its price changed, it came back online or it went offline."""


class PreviousState(TypedDict):
    """What an event changed, with the values before it."""

    price: NotRequired[Eur]
    """Price, EUR, from 0."""
    isOnline: NotRequired[bool]
    """Whether it was on its portal."""


class Delivery(TypedDict):
    """A delivery to an alert's receiver, with all its attempts."""

    delivery_id: FlxId
    """Identifier, the `webhook-id` of every attempt."""
    alert_id: FlxId
    """The alert that it reports on."""
    status: DeliveryStatus
    """Status of the delivery."""
    attempts: int
    """Number of attempts made."""
    next_attempt_at: NotRequired[Timestamp]
    """When the next attempt is due."""
    last_status: NotRequired[int]
    """HTTP status of the last answer; absent if there was none."""
    last_error: NotRequired[str]
    """Why the last attempt failed."""
    created_at: Timestamp
    """When it was created."""
    delivered_at: NotRequired[Timestamp]
    """When the receiver accepted it."""
    items: int
    """Number of items it reports, 1 to 100."""


DeliveryStatus: TypeAlias = Literal["pending", "delivered", "failed", "dead"]
"""Status of a delivery."""


class HomeReport(TypedDict):
    """The report of a home."""

    date: str
    """Day of the report."""
    home: ReportedHome
    """The home."""
    estimate: ReportedEstimate
    """Its value."""
    comparables: list[ReportedSale]
    """The recorded sales most like it, nearest first."""
    pricePath: list[PricePath]
    """Median prices of its commune and of its department over time."""
    diagnostics: BuildingDiagnostics
    """Energy diagnostics of its building."""
    parcel: ParcelSales
    """Recorded sales of its parcels."""
    market: NotRequired[PlaceMarket]
    """The market of its commune in the last four quarters with recorded sales; `None` if nothing is known about it."""
    layers: list[LayerNearby]
    """Layers around it."""
    sources: list[ReportSource]
    """The sources of the report."""


class ReportedHome(TypedDict):
    """The home of a report."""

    address: NotRequired[str]
    """Its address in the national address base; the nearest one if a position was given."""
    addressId: NotRequired[str]
    """Identifier of that address."""
    precision: str
    """Precision of the position: `ADDRESS`, `STREET`, `TOWN`, or `POSITION` if a position was given."""
    latitude: float
    """Latitude, degrees."""
    longitude: float
    """Longitude, degrees."""
    inseeCode: str
    """INSEE code of its commune or arrondissement."""
    commune: str
    """Name of its commune or arrondissement."""
    department: str
    """Code of its department."""
    type: str
    """Class: `CLASS_FLAT` or `CLASS_HOUSE`."""
    surfaceM2: float
    """Living surface, m²."""
    roomCount: NotRequired[float]
    """Main rooms."""
    bedroomCount: NotRequired[float]
    """Bedrooms."""
    landSurfaceM2: NotRequired[float]
    """Land, m²."""
    constructionYear: NotRequired[int]
    """Year of construction."""
    floor: NotRequired[float]
    """Storey; the ground floor is 0."""
    energy: NotRequired[str]
    """Energy class, A to G."""


class ReportedEstimate(TypedDict):
    """The value of a home."""

    price: float
    """Value, EUR."""
    lower: float
    """Lower end of the interval that contains the price of four sales in five, EUR."""
    upper: float
    """Its upper end, EUR."""
    pricePerM2: float
    """Value per square metre, EUR."""
    confidence: str
    """`HIGH`, `MEDIUM` or `LOW`."""
    fallback: str
    """Level that replaced local sales, or `none`."""
    warning: NotRequired[str]
    """Why it is less certain than usual."""
    contributions: list[ValuePart]
    """Contribution of each input, EUR, compared with a typical home; the parts sum to the value."""
    model: str
    """Version of the model."""
    dataThrough: str
    """Day of the last sale that the model knows."""
    modelSales: int
    """Number of sales that the model knows."""


class ReportedSale(TypedDict):
    """A recorded sale."""

    id: str
    """Identifier."""
    date: str
    """Day."""
    price: NotRequired[float]
    """Price, EUR."""
    pricePerM2: NotRequired[float]
    """Price per square metre of living surface, EUR."""
    type: NotRequired[str]
    """Class of the asset."""
    surfaceM2: NotRequired[float]
    """Living surface, m²."""
    roomCount: NotRequired[float]
    """Main rooms."""
    landSurfaceM2: NotRequired[float]
    """Land, m²."""
    address: NotRequired[str]
    """Address."""
    inseeCode: NotRequired[str]
    """INSEE code of the commune."""
    isSoldTogether: bool
    """Whether the price covers several assets."""
    distanceM: NotRequired[float]
    """Distance from the home, metres; for comparables only."""
    location: NotRequired[SalePosition]
    """Position."""


class PricePath(TypedDict):
    """Median prices of a place over time."""

    level: str
    """`commune` or `department`."""
    name: str
    """Name of the place."""
    quarters: list[QuarterPrice]
    """The quarters with enough sales, in order."""


class BuildingDiagnostics(TypedDict):
    """Energy diagnostics of a building."""

    total: int
    """Their number, superseded ones included."""
    classes: dict[str, int]
    """Number of the latest hundred by energy class."""
    latest: list[ReportedDiagnostic]
    """The latest ones, latest first."""


class ParcelSales(TypedDict):
    """Recorded sales of the parcels of a home."""

    ids: list[str]
    """The parcels of its address."""
    total: int
    """Number of sales."""
    latest: list[ReportedSale]
    """The latest ones, latest first."""


PlaceMarket = TypedDict(
    "PlaceMarket",
    {
        "name": str,
        "from": "NotRequired[str]",
        "to": "NotRequired[str]",
        "sales": "NotRequired[float]",
        "pricePerM2Q1": "NotRequired[float]",
        "pricePerM2Median": "NotRequired[float]",
        "pricePerM2Q3": "NotRequired[float]",
        "stock": "NotRequired[float]",
        "askingPricePerM2": "NotRequired[float]",
        "daysOnMarket": "NotRequired[float]",
        "rentPerM2": "NotRequired[float]",
        "grossYield": "NotRequired[float]",
    },
)


class LayerNearby(TypedDict):
    """The relation of a layer to the position of a home."""

    name: str
    """Name of the layer."""
    isInside: bool
    """Whether the home is inside a feature."""
    distanceM: float
    """Distance of the nearest feature, metres."""
    attributes: dict[str, Any]
    """Attributes of that feature."""


class ReportSource(TypedDict):
    """A source of the report."""

    dataset: str
    """`sales`, `diagnostics`, `addresses`, or the name of a layer."""
    name: str
    """File or address of the latest data."""
    licence: str
    """Its licence."""
    importedAt: str
    """When it was imported."""


class ValuePart(TypedDict):
    """A part of a value."""

    feature: str
    """The input."""
    eur: float
    """Its contribution, EUR."""


class SalePosition(TypedDict):
    """The position of a sale."""

    lat: float
    """Latitude, degrees."""
    lon: float
    """Longitude, degrees."""


class QuarterPrice(TypedDict):
    """The median price of a quarter."""

    period: str
    """The quarter, such as `2024-Q2`."""
    median: float
    """Median, EUR per m²."""
    sales: int
    """Sales behind it."""


class ReportedDiagnostic(TypedDict):
    """An energy diagnostic."""

    numeroDpe: str
    """Its number."""
    date: NotRequired[str]
    """Day on which it was established."""
    energy: NotRequired[str]
    """Energy class."""
    climate: NotRequired[str]
    """Climate class."""
    surfaceM2: NotRequired[float]
    """Living surface, m²."""
    floor: NotRequired[float]
    """Storey."""
    energyKwhM2: NotRequired[float]
    """Primary energy, kWh per m² and year."""


class SamplePropertiesAnswer(TypedDict):
    data: list[Property]
    """Made-up records in the real format."""


class SampleAdvertsAnswer(TypedDict):
    data: list[Advert]
    """Made-up records in the real format."""


class IncomingAdvert(TypedDict):
    """A sighting of a listing. Any field except url may be null, which means that its value is now unknown."""

    currency: NotRequired[EnumCurrency | None]
    """Currency of prices, ISO 4217 after the prefix."""
    currentPrice: NotRequired[IncomingAdvertPrice | None]
    """Price of an advert."""
    description: NotRequired[str | None]
    """Description, as on the portal."""
    firstSeenAt: NotRequired[Timestamp | None]
    """Time, ISO 8601 in UTC with milliseconds."""
    flxId: NotRequired[FlxId | None]
    """Identifier, a UUID."""
    habitation: NotRequired[IncomingTypeHabitation | None]
    """A dwelling."""
    hasAnomaly: NotRequired[bool | None]
    """Whether its data is contradictory or implausible."""
    isAuction: NotRequired[bool | None]
    """Whether the price is the starting bid of an auction."""
    isUrgent: NotRequired[bool | None]
    """Whether it says that it is urgent."""
    land: NotRequired[IncomingTypeLand | None]
    """Land of an asset, or the asset itself if it is land."""
    lastModifiedAt: NotRequired[Timestamp | None]
    """Time, ISO 8601 in UTC with milliseconds."""
    location: NotRequired[IncomingAdLocation | None]
    """Location of the asset of an advert."""
    medias: NotRequired[IncomingMedias | None]
    """Pictures and virtual tours."""
    parking: NotRequired[IncomingTypeParking | None]
    """Parking places of an asset, or the asset itself if it is one."""
    process: NotRequired[EnumPropertyProcess | None]
    """Status of the transaction."""
    scope: NotRequired[EnumPricingScope | None]
    """Whether a price is paid once or every month."""
    source: NotRequired[str | None]
    """The portal, as a host name."""
    url: str
    """URL of the listing on its portal."""
    tags: NotRequired[list[str] | None]
    """Free tags."""
    title: NotRequired[str | None]
    """Title, as on the portal."""
    type: NotRequired[EnumPropertyClass | None]
    """Class of asset."""
    warrantyDeposit: NotRequired[Eur | None]
    """An amount, EUR."""
    offer: NotRequired[IncomingOffer | None]
    """What is offered."""
    mainPropertyAdFlxId: NotRequired[FlxId | None]
    """Identifier, a UUID."""
    propertyFlxId: NotRequired[FlxId | None]
    """Identifier, a UUID."""
    meta: NotRequired[IncomingMeta | None]
    """When an asset was seen. Times are in UTC."""
    isOnline: NotRequired[bool | None]
    """Whether it is on its portal now."""
    lastSeenAt: NotRequired[Timestamp | None]
    """Time, ISO 8601 in UTC with milliseconds."""
    isPro: NotRequired[bool | None]
    """Whether the seller is a professional; false for a private person."""
    seller: NotRequired[IncomingLightSeller | None]
    """The professional who sells or lets it."""
    isExclusive: NotRequired[bool | None]
    """Whether the seller claims an exclusive mandate."""
    reference: NotRequired[str | None]
    """The seller's reference for the asset or the mandate, as on the portal."""
    contactInCharge: NotRequired[IncomingContact | None]
    """Contact person."""
    charges: NotRequired[IncomingCharges | None]
    """Charges and taxes of an asset."""


class IncomingCharges(TypedDict):
    """Charges and taxes of an asset."""

    yearlyCondoniumFees: NotRequired[Eur | None]
    """An amount, EUR."""
    yearlyElectricityFees: NotRequired[Eur | None]
    """An amount, EUR."""
    yearlyHeatingFees: NotRequired[Eur | None]
    """An amount, EUR."""
    yearlyHousingTax: NotRequired[Eur | None]
    """An amount, EUR."""
    yearlyLivingTax: NotRequired[Eur | None]
    """An amount, EUR."""
    yearlyRentalFees: NotRequired[Eur | None]
    """An amount, EUR."""
    monthlyRentSupplement: NotRequired[Eur | None]
    """An amount, EUR."""


class IncomingContact(TypedDict):
    """Contact person."""

    email: NotRequired[str | None]
    """Email address."""
    firstName: NotRequired[str | None]
    """First name."""
    lastName: NotRequired[str | None]
    """Last name."""
    phoneNumber: NotRequired[str | None]
    """Telephone number, as on the portal."""
    pseudonym: NotRequired[str | None]
    """Name shown on the portal in place of the real name."""


class IncomingLightSeller(TypedDict):
    """The professional who sells or lets it."""

    flxId: NotRequired[FlxId | None]
    """Identifier, a UUID."""
    name: NotRequired[str | None]
    """Name."""
    siren: NotRequired[Siren | None]
    """SIREN number of a company, nine digits."""
    type: NotRequired[EnumSellerType | None]
    """Kind of professional seller."""


class IncomingMeta(TypedDict):
    """When an asset was seen. Times are in UTC."""

    firstSeenAt: NotRequired[Timestamp | None]
    """Time, ISO 8601 in UTC with milliseconds."""
    isTotallyOffline: NotRequired[bool | None]
    """Whether every advert of the property is offline."""
    lastPublishedAt: NotRequired[Timestamp | None]
    """Time, ISO 8601 in UTC with milliseconds."""
    lastSeenAt: NotRequired[Timestamp | None]
    """Time, ISO 8601 in UTC with milliseconds."""
    lastUpdatedAt: NotRequired[Timestamp | None]
    """Time, ISO 8601 in UTC with milliseconds."""
    totallyOfflineAt: NotRequired[Timestamp | None]
    """Time, ISO 8601 in UTC with milliseconds."""


class IncomingOffer(TypedDict):
    """What is offered."""

    isCurrentlyOccupied: NotRequired[bool | None]
    """Whether it is sold occupied."""
    renting: NotRequired[IncomingOfferRentingContract | None]
    """Terms of a rent."""
    type: NotRequired[EnumPropertyOfferType | None]
    """What is offered: sale, rent and others."""


class IncomingOfferRentingContract(TypedDict):
    """Terms of a rent."""

    isColocation: NotRequired[bool | None]
    """Shared with others."""
    isLongTerm: NotRequired[bool | None]
    """More than 6 months."""
    isShortTerm: NotRequired[bool | None]
    """Less than 6 months."""
    isSubLease: NotRequired[bool | None]
    """Let by a tenant."""


class IncomingTypeParking(TypedDict):
    """Parking places of an asset, or the asset itself if it is one."""

    count: NotRequired[Count | None]
    """A count."""
    numberOfCars: NotRequired[Count | None]
    """A count."""
    surface: NotRequired[SquareMetres | None]
    """An area, square metres."""
    type: NotRequired[EnumParkingType | None]
    """Kind of parking place."""


class IncomingMedias(TypedDict):
    """Pictures and virtual tours."""

    images: NotRequired[list[IncomingImage] | None]
    """Pictures, in the order of the listing. In ingestion a picture may be given by its URL alone."""
    virtualVisitExternalUrl: NotRequired[list[str] | None]
    """URLs of virtual tours."""


class IncomingImage(TypedDict):
    """A picture and its hashes, as hexadecimal texts. The hashes of pictures that look alike differ in few bits. Hashes
    are empty if only the URL of the picture is known.
    """

    gaussianHash: NotRequired[str | None]
    """Hash of the brightness after a Gaussian blur."""
    imageId: NotRequired[str | None]
    """Identifier of the picture."""
    meanHash: NotRequired[str | None]
    """Hash of the brightness relative to its mean."""
    perceptualHash: NotRequired[str | None]
    """Hash of the low frequencies."""
    url: NotRequired[str | None]
    """URL of the picture on its portal."""
    colorHash: NotRequired[str | None]
    """Hash of the distribution of colours."""
    differenceHash: NotRequired[str | None]
    """Hash of the differences between neighbouring pixels."""


class IncomingAdLocation(TypedDict):
    """Location of the asset of an advert."""

    address: NotRequired[str | None]
    """House number and street, or the whole address; used to find the position if none is given."""
    city: NotRequired[str | None]
    """Name of the commune, as on the portal."""
    district: NotRequired[str | None]
    """Name of the district or quarter, as on the portal."""
    cityCoordinate: NotRequired[IncomingAdCompleteLatLng | None]
    """A position in an advert."""
    department: NotRequired[Department | None]
    """Code of a department: two characters, including 2A and 2B, or three overseas."""
    inseeCode: NotRequired[InseeCode | None]
    """INSEE code of a commune, five characters; Paris, Lyon and Marseille by arrondissement."""
    irisCode: NotRequired[IrisCode | None]
    """Code of an IRIS district: the commune's INSEE code and four digits, which are 0000 if the commune has no
    districts.
    """
    locationCoordinate: NotRequired[IncomingAdCompleteLatLng | None]
    """A position in an advert."""
    postalCode: NotRequired[PostalCode | None]
    """Postal code, five digits; a commune may have several codes, and a code may cover several communes."""
    precision: NotRequired[EnumLocationPrecision | None]
    """Precision of a position that was found from an address, a town or a postal code: a house number, a street or
    named place, or the centre of a commune.
    """


class IncomingAdCompleteLatLng(TypedDict):
    """A position in an advert."""

    location: NotRequired[Position | None]
    """Position [longitude, latitude], degrees: -180 to 180 and -90 to 90."""


class IncomingTypeLand(TypedDict):
    """Land of an asset, or the asset itself if it is land."""

    canConstruct: NotRequired[bool | None]
    """Whether it may be built on."""
    hasBuildingPermit: NotRequired[bool | None]
    """Whether a building permit was granted."""
    hasElectricity: NotRequired[bool | None]
    """Whether it is connected to electricity."""
    hasTelecom: NotRequired[bool | None]
    """Whether it is connected to telecommunications."""
    hasWater: NotRequired[bool | None]
    """Whether it is connected to water."""
    isServiced: NotRequired[bool | None]
    """Whether it is connected to the usual utilities."""
    surface: NotRequired[SquareMetres | None]
    """An area, square metres."""
    surfaceConstructable: NotRequired[SquareMetres | None]
    """An area, square metres."""
    type: NotRequired[EnumLandType | None]
    """Kind of land."""


class IncomingTypeHabitation(TypedDict):
    """A dwelling."""

    bathroomCount: NotRequired[Count | None]
    """A count."""
    bedroomCount: NotRequired[Count | None]
    """A count."""
    floor: NotRequired[Floor | None]
    """A storey; 0 is the ground floor, negative numbers are below it."""
    characteristics: NotRequired[IncomingCharacteristics | None]
    """Amenities that an asset has (`true`) or lacks (`false`)."""
    condominiumLotCount: NotRequired[Count | None]
    """A count."""
    climate: NotRequired[IncomingClimate | None]
    """Energy performance of a dwelling."""
    features: NotRequired[IncomingFeatures | None]
    """Floor, exposure, views and materials of a dwelling."""
    heatTypes: NotRequired[list[EnumHeatType] | None]
    """Whether the heating is individual or shared."""
    heatTypeDetails: NotRequired[list[EnumHeatTypeDetail] | None]
    """Kind of heat emitter."""
    heatings: NotRequired[list[EnumHeating] | None]
    """Sources of energy of the heating."""
    propertyCondition: NotRequired[IncomingPropertyCondition | None]
    """Age and condition of an asset."""
    roomCount: NotRequired[Count | None]
    """A count."""
    surface: NotRequired[IncomingSurface | None]
    """Areas of a dwelling, square metres; apart from the total they are rarely known."""
    type: NotRequired[list[EnumPropertyTypeHabitation] | None]
    """Kinds of dwelling."""
    wcCount: NotRequired[Count | None]
    """A count."""


class IncomingSurface(TypedDict):
    """Areas of a dwelling, square metres; apart from the total they are rarely known."""

    balconies: NotRequired[SquareMetres | None]
    """An area, square metres."""
    floorSpace: NotRequired[SquareMetres | None]
    """An area, square metres."""
    gardens: NotRequired[SquareMetres | None]
    """An area, square metres."""
    groundFloor: NotRequired[SquareMetres | None]
    """An area, square metres."""
    kitchen: NotRequired[SquareMetres | None]
    """An area, square metres."""
    livingSpace: NotRequired[SquareMetres | None]
    """An area, square metres."""
    livingRoom: NotRequired[SquareMetres | None]
    """An area, square metres."""
    terraces: NotRequired[SquareMetres | None]
    """An area, square metres."""
    total: NotRequired[SquareMetres | None]
    """An area, square metres."""


class IncomingPropertyCondition(TypedDict):
    """Age and condition of an asset."""

    constructionYear: NotRequired[Year | None]
    """A year of the common era."""
    interiorCondition: NotRequired[EnumPropertyInteriorCondition | None]
    """Condition of the interior; the misspelling of one value is part of the contract."""
    renovationYear: NotRequired[Year | None]
    """A year of the common era."""
    generalConditions: NotRequired[list[EnumPropertyGeneralCondition] | None]
    """Conditions of the asset as a whole."""


class IncomingFeatures(TypedDict):
    """Floor, exposure, views and materials of a dwelling."""

    exposure: NotRequired[EnumExposure | None]
    """Compass direction the main rooms face."""
    furniture: NotRequired[EnumFurniture | None]
    """Whether a dwelling is furnished."""
    propertyFloor: NotRequired[Floor | None]
    """A storey; 0 is the ground floor, negative numbers are below it."""
    propertyTotalFloor: NotRequired[Floor | None]
    """A storey; 0 is the ground floor, negative numbers are below it."""
    viewTypes: NotRequired[list[EnumViewType] | None]
    """Qualities of the view."""
    constructionMaterials: NotRequired[list[EnumConstructionMaterial] | None]
    """Materials of walls and frames."""
    glazingTypes: NotRequired[list[EnumGlazingType] | None]
    """Glazing of the windows."""
    hasThroughExposure: NotRequired[bool | None]
    """Whether it has windows on two opposite sides."""
    viewOns: NotRequired[list[EnumViewOn] | None]
    """What the windows overlook."""


class IncomingClimate(TypedDict):
    """Energy performance of a dwelling."""

    epcClimate: NotRequired[EnumGreenhouseClassification | None]
    """Greenhouse gas class of a dwelling, A (best) to G; NC if exempt from a diagnostic."""
    epcClimateScore: NotRequired[CarbonPerArea | None]
    """Greenhouse gas a dwelling emits, kg of CO2 per square metre and year."""
    epcEnergy: NotRequired[EnumEnergyClassification | None]
    """Energy class of a dwelling, A (best) to G; NC if exempt from a diagnostic."""
    epcEnergyScore: NotRequired[EnergyPerArea | None]
    """Primary energy a dwelling uses, kWh per square metre and year."""
    epcClimateDate: NotRequired[Timestamp | None]
    """Time, ISO 8601 in UTC with milliseconds."""
    epcEnergyDate: NotRequired[Timestamp | None]
    """Time, ISO 8601 in UTC with milliseconds."""


class IncomingCharacteristics(TypedDict):
    """Amenities that an asset has (`true`) or lacks (`false`)."""

    hasAlarm: NotRequired[bool | None]
    """Alarm."""
    hasBalcony: NotRequired[bool | None]
    """Balcony."""
    hasCellar: NotRequired[bool | None]
    """Cellar."""
    hasConcierge: NotRequired[bool | None]
    """Caretaker."""
    hasDigicode: NotRequired[bool | None]
    """Door code."""
    hasFireplace: NotRequired[bool | None]
    """Fireplace."""
    hasGarage: NotRequired[bool | None]
    """Garage."""
    hasGarden: NotRequired[bool | None]
    """Garden."""
    hasGrenier: NotRequired[bool | None]
    """Attic."""
    hasInterphone: NotRequired[bool | None]
    """Intercom."""
    hasJacuzzi: NotRequired[bool | None]
    """Hot tub."""
    hasLand: NotRequired[bool | None]
    """Land."""
    hasLift: NotRequired[bool | None]
    """Lift."""
    hasMezzanine: NotRequired[bool | None]
    """Mezzanine."""
    hasParking: NotRequired[bool | None]
    """Parking place."""
    hasPool: NotRequired[bool | None]
    """Swimming pool."""
    hasTerrace: NotRequired[bool | None]
    """Terrace."""
    hasVisAVis: NotRequired[bool | None]
    """Windows overlooked by neighbours."""
    isPeaceful: NotRequired[bool | None]
    """Quiet."""


class IncomingAdvertPrice(TypedDict):
    """Price of an advert."""

    value: NotRequired[Eur | None]
    """An amount, EUR."""
    valuePerArea: NotRequired[EurPerSquareMetre | None]
    """A price per square metre, EUR."""
    netValue: NotRequired[Eur | None]
    """An amount, EUR."""
    fees: NotRequired[Eur | None]
    """An amount, EUR."""


class AdvertsRequest(TypedDict):
    adverts: list[IncomingAdvert]
    """Adverts; each is accepted or refused on its own."""


class AdvertOutcome(TypedDict):
    flxId: NotRequired[str]
    """The advert; absent if it was refused."""
    propertyFlxId: NotRequired[str]
    """The property it belongs to; absent if it was refused."""
    outcome: Literal["created", "updated", "unchanged", "rejected"]
    """How its content changed."""
    events: list[AdvertEvent]
    """Events that happened to it."""
    warnings: NotRequired[list[str]]
    """What could not be completed or was left out, and why hasAnomaly is set; absent if there are no warnings."""
    error: NotRequired[ErrorError]
    """Why it was refused."""


class OtherProperty(TypedDict):
    propertyFlxId: str
    """Identifier of the other property."""


class SplitRequest(TypedDict):
    advertFlxIds: list[str]
    """Identifiers of the adverts to move out; at least one advert must remain."""


class DecidedProperty(TypedDict):
    propertyFlxId: str
    """The property that remains after a merge, or the new property of the adverts after a split."""


class KeptApart(TypedDict):
    keptApart: list[str]
    """The two properties that are kept apart."""


class CandidatePairs(TypedDict):
    pairs: list[CandidatePair]
    """The likeliest pairs; each pair of properties appears once."""
    waiting: int
    """Number of all waiting pairs of properties."""


class CandidatePair(TypedDict):
    adverts: list[CandidateAdvert]
    """The two adverts that are most alike, one of each property."""
    together: bool
    """Whether both belong to the same property."""
    split: bool
    """Whether a person declared them to be different homes."""
    verdict: Literal["same", "possible", "different"]
    """Verdict based on these two adverts alone; the other adverts may still keep the properties apart."""
    comparison: AdvertComparison
    common: list[Literal["place", "address", "surface", "land", "rooms", "bedrooms", "floor", "building", "price", "energy", "amenities", "text", "title", "figures", "photos", "seller", "reference", "portal", "identifier", "condominium", "district", "kind", "previousPrice"]]
    """Fields with a value that is not compared because many homes share it."""
    contradictions: list[Literal["commune", "surface", "price", "floor", "energy", "land"]]
    """Contradictions: what cannot both be true of one home."""
    dissenters: list[Dissenter]
    """Other adverts of the two properties that do not fit one of these two and so keep the properties apart."""
    advertsAround: int
    """Number of adverts around the first one; each could agree by chance."""
    lookalikes: int
    """Number of them with the same price and surface that differ otherwise."""
    portalBits: float
    """Bits that the pair of portals adds to the odds before any comparison."""


class CandidateAdvert(TypedDict):
    flxId: str
    """The advert."""
    propertyFlxId: str
    """Its property."""
    source: str | None
    """The portal; null if unknown."""
    url: str | None
    """URL of the listing; null if unknown."""
    title: str | None
    """Title; null if unknown."""
    price: float | None
    """Asking price, EUR; null if unknown."""
    surface: float | None
    """Surface of the dwelling, m²; null if unknown."""
    rooms: int | None
    """Number of main rooms; null if unknown."""
    place: str
    """Address, district, postal code and town, as far as they are known."""
    pictures: list[str]
    """URLs of its first pictures."""
    isOnline: bool | None
    """Whether it is on its portal now; null if unknown."""
    lastSeenAt: str | None
    """Last sighting, UTC; null if unknown."""


class Dissenter(TypedDict):
    flxId: str
    """The advert."""
    propertyFlxId: str
    """Its property."""
    url: str | None
    """URL of the listing; null if unknown."""
    title: str | None
    """Title; null if unknown."""
    against: str
    """The one of the two adverts that it does not fit."""
    contradictions: list[Literal["commune", "surface", "price", "floor", "energy", "land"]]
    """Contradictions: values that cannot both be true of one home; empty if the two adverts only differ too much."""


class AdvertComparison(TypedDict):
    probability: float
    """Probability that both are the same home."""
    bits: float
    """Binary logarithm of the odds that both are the same home."""
    priorBits: float
    """The part of `bits` that is known before anything is compared."""
    lookalikeBits: float
    """The part of `bits` due to other homes with the same price and surface; 0 or less."""
    veto: Literal["kind", "programme", None]
    """The rule that keeps them apart regardless of what else agrees; null if there is none."""
    oneSeller: bool
    """Whether both are from the same seller."""
    programme: bool
    """Whether both belong to new-build programmes."""
    evidence: list[AdvertComparisonEvidenceItem]
    """Evidence of each field; fields that one of the adverts does not state are left out."""


class AdvertComparisonEvidenceItem(TypedDict):
    field: Literal["place", "address", "surface", "land", "rooms", "bedrooms", "floor", "building", "price", "energy", "amenities", "text", "title", "figures", "photos", "seller", "reference", "portal", "identifier", "condominium", "district", "kind", "previousPrice"]
    """What was compared."""
    found: str
    """What was found, in words."""
    bits: float
    """Its weight: +1 doubles the odds that both are the same home, -1 halves them."""
    rarityBits: float | None
    """Bits that the rarity of an equal value adds to the weight; null if the values are not equal."""


class ErasureRequest(TypedDict):
    phone: NotRequired[str]
    """Telephone number of the person, with or without +33, spaces and dots."""
    email: NotRequired[str]
    """Email address of the person, in any case."""
    name: NotRequired[str]
    """Whole name of the person as private seller or contact person, in any case and order, with or without accents."""
    dryRun: NotRequired[bool]
    """Whether only to report what would be removed."""


class Erasure(TypedDict):
    erasureId: NotRequired[str]
    """Identifier of the erasure, as in the audit log; absent in a dry run."""
    dryRun: bool
    """Whether nothing was changed."""
    places: list[ErasurePlace]
    """Every place in which contacts are stored."""
    damaged: int
    """Damaged adverts, which could not be searched."""


class ErasurePlace(TypedDict):
    place: Literal["adverts", "properties", "former_records", "deliveries", "delivery_errors", "jobs", "rejections", "listing_reports", "responses", "sql_queries", "pages", "import_reports", "data_files"]
    """The place."""
    found: int
    """Number of records with a contact."""
    removed: int
    """Number of records from which it was removed; 0 in a dry run."""
    ids: list[str]
    """Identifiers of the records, or names of the files; the first 1,000."""


class FilterDateRange(TypedDict):
    """Both bounds are included; a range without bounds filters nothing."""

    min: NotRequired[str]
    """Minimum: must be an ISO 8601 date or date-time, such as "2024-05-31" or "2024-05-31T08:00:00+02:00"; a date as
    max includes that day.
    """
    max: NotRequired[str]
    """Maximum: must be an ISO 8601 date or date-time, such as "2024-05-31" or "2024-05-31T08:00:00+02:00"; a date as
    max includes that day.
    """


class LatLng(TypedDict):
    lat: float
    """Latitude, degrees."""
    lon: float
    """Longitude, degrees."""


Polygons: TypeAlias = "PolygonsObject | PolygonsObject1"
"""GeoJSON Polygon or MultiPolygon of at most 2000 vertices, whose rings do not cross. Edges are straight in longitude
and latitude; borders are included.
"""


class PolygonsObject(TypedDict):
    type: Literal["Polygon"]
    """Kind of the geometry."""
    coordinates: list[list[list[float]]]
    """The outer ring, then the holes."""


class PolygonsObject1(TypedDict):
    type: Literal["MultiPolygon"]
    """Kind of the geometry."""
    coordinates: list[list[list[list[float]]]]
    """Polygons."""


Area: TypeAlias = "PolygonsObject | PolygonsObject1 | str | AreaObject3"
"""GeoJSON Polygon or MultiPolygon of at most 2000 vertices, whose rings do not cross. Edges are straight in longitude
and latitude; borders are included. Or the name of a stored area, or an area within reach of a position.
"""


class AreaObject3(TypedDict):
    isochrone: AreaObject3Isochrone
    """Area that can be reached from a position, computed by a service for road networks."""


class AreaObject3Isochrone(TypedDict):
    """Area that can be reached from a position, computed by a service for road networks."""

    pin: LatLng
    """Where the way begins."""
    minutes: float
    """Time of travel, minutes."""
    mode: Literal["car", "walk"]
    """By car or on foot."""


class LayerFilter(TypedDict):
    """Relation of a position to a layer, which is geodata that the operator imported, such as flood zones or stations.
    Records without a position never match.
    """

    name: str
    """Name of the layer; `GET /v2/protected/layers` lists the layers."""
    relation: NotRequired[Literal["inside", "outside", "within"]]
    """inside: in a polygon of the layer, border included. outside: in none. within: within a planar distance of a
    feature, boundary included.
    """
    meters: NotRequired[float]
    """Distance in metres: required with within, not allowed otherwise."""


class FilterLatLng(TypedDict):
    """Where a position must be; several keys are combined with AND."""

    geoBoundingBox: NotRequired[FilterLatLngGeoBoundingBox]
    """A box, edges included; topLeft is north and west of bottomRight."""
    geoDistance: NotRequired[FilterLatLngGeoDistance]
    """A circle around a pin, boundary included."""
    geoInseeCodeDistance: NotRequired[FilterLatLngGeoInseeCodeDistance]
    """A circle around the centre of a commune, boundary included."""
    area: NotRequired[Area]
    layer: NotRequired[LayerFilter]


class FilterLatLngGeoBoundingBox(TypedDict):
    """A box, edges included; topLeft is north and west of bottomRight."""

    topLeft: LatLng
    bottomRight: LatLng


class FilterLatLngGeoDistance(TypedDict):
    """A circle around a pin, boundary included."""

    pin: LatLng
    distanceKm: float
    """Planar distance, kilometres."""


class FilterLatLngGeoInseeCodeDistance(TypedDict):
    """A circle around the centre of a commune, boundary included."""

    inseeCode: InseeCode
    distanceKm: float
    """Planar distance, kilometres."""


class FilterSource(TypedDict):
    """A listing on a portal."""

    flxId: NotRequired[FlxId]
    """Identifier of the advert."""
    url: NotRequired[str]
    """URL of the listing, compared exactly."""
    website: NotRequired[str]
    """The portal, as a host name."""


class NumberRange(TypedDict):
    """Both bounds are included; a range without bounds filters nothing."""

    min: NotRequired[float]
    """Minimum."""
    max: NotRequired[float]
    """Maximum."""


class FilterPropertyPrice(TypedDict):
    """An amount and the listing that states it."""

    source: NotRequired[FilterSource]
    """Listing that the amount comes from."""
    value: NotRequired[NumberRange]
    """Amount, EUR; per month for rents."""
    valuePerArea: NotRequired[NumberRange]
    """Amount per square metre, EUR."""


class FilterVariation(TypedDict):
    """How a price changed."""

    sinceLastModified: NotRequired[NumberRange]
    """Change from the price before the last change, percent."""
    sincePublished: NotRequired[NumberRange]
    """Change from the first price, percent."""


class FilterPrice(TypedDict):
    """A price."""

    currency: NotRequired[list[EnumCurrency]]
    """Currency of amounts."""
    initial: NotRequired[FilterPropertyPrice]
    """The first price."""
    isAuction: NotRequired[bool]
    """Whether the price is the starting bid of an auction."""
    latest: NotRequired[FilterPropertyPrice]
    """The current price."""
    scope: NotRequired[list[EnumPricingScope]]
    """Whether amounts are paid once or every month."""
    warrantyDeposit: NotRequired[NumberRange]
    """Deposit of a rent, EUR."""
    variation: NotRequired[list[FilterVariation]]
    """How it changed; entries are combined with OR."""


class FilterLightSeller(TypedDict):
    """The professional who sells or lets; several keys are combined with AND."""

    flxId: NotRequired[FlxId]
    """Identifier of the seller."""
    name: NotRequired[str]
    """Name, compared exactly."""
    siren: NotRequired[Siren]
    """SIREN number."""
    type: NotRequired[EnumSellerType]
    """Kind of seller."""


class FilterPropertyAdvert(TypedDict):
    """Conditions that one and the same advert of the property must all meet."""

    firstSeenAt: NotRequired[FilterDateRange]
    """First sighting."""
    flxId: NotRequired[list[FlxId]]
    """Identifiers of the advert."""
    isOnline: NotRequired[bool]
    """Whether it is on its portal now."""
    lastSeenAt: NotRequired[FilterDateRange]
    """Last sighting."""
    location: NotRequired[FilterLatLng]
    """Position of the asset according to the advert."""
    price: NotRequired[FilterPrice]
    """Asking price."""
    source: NotRequired[FilterSource]
    """The listing on its portal."""
    isPro: NotRequired[bool]
    """Whether the seller is a professional."""
    seller: NotRequired[list[FilterLightSeller]]
    """The seller; entries are combined with OR."""
    hasAnomaly: NotRequired[bool]
    """Whether its data is contradictory or implausible."""
    isExclusive: NotRequired[bool]
    """Whether the seller claims an exclusive mandate."""


class FilterCharacteristics(TypedDict):
    """Amenities that an asset has (`true`) or lacks (`false`)."""

    hasAlarm: NotRequired[bool]
    """Alarm."""
    hasBalcony: NotRequired[bool]
    """Balcony."""
    hasCellar: NotRequired[bool]
    """Cellar."""
    hasConcierge: NotRequired[bool]
    """Caretaker."""
    hasDigicode: NotRequired[bool]
    """Door code."""
    hasFireplace: NotRequired[bool]
    """Fireplace."""
    hasGarage: NotRequired[bool]
    """Garage."""
    hasGarden: NotRequired[bool]
    """Garden."""
    hasGrenier: NotRequired[bool]
    """Attic."""
    hasInterphone: NotRequired[bool]
    """Intercom."""
    hasJacuzzi: NotRequired[bool]
    """Hot tub."""
    hasLand: NotRequired[bool]
    """Land."""
    hasLift: NotRequired[bool]
    """Lift."""
    hasMezzanine: NotRequired[bool]
    """Mezzanine."""
    hasParking: NotRequired[bool]
    """Parking place."""
    hasPool: NotRequired[bool]
    """Swimming pool."""
    hasTerrace: NotRequired[bool]
    """Terrace."""
    hasVisAVis: NotRequired[bool]
    """Windows overlooked by neighbours."""
    isPeaceful: NotRequired[bool]
    """Quiet."""


class FilterClimate(TypedDict):
    """Energy performance of a dwelling."""

    epcClimate: NotRequired[list[EnumGreenhouseClassification]]
    """Greenhouse gas class."""
    epcClimateScore: NotRequired[NumberRange]
    """Greenhouse gas, kgCO2 per square metre and year."""
    epcEnergy: NotRequired[list[EnumEnergyClassification]]
    """Energy class."""
    epcEnergyScore: NotRequired[NumberRange]
    """Primary energy, kWhEP per square metre and year."""
    epcClimateDate: NotRequired[FilterDateRange]
    """When the greenhouse gas class was established."""
    epcEnergyDate: NotRequired[FilterDateRange]
    """When the energy class was established."""


class FilterFeatures(TypedDict):
    """Floor, exposure, views and materials of a dwelling."""

    exposure: NotRequired[list[EnumExposure]]
    """Direction the main rooms face."""
    furniture: NotRequired[list[EnumFurniture]]
    """Whether it is furnished."""
    propertyFloor: NotRequired[NumberRange]
    """Storey, 0 for the ground floor."""
    propertyTotalFloor: NotRequired[NumberRange]
    """Storeys of the building above the ground floor."""
    constructionMaterials: NotRequired[list[EnumConstructionMaterial]]
    """Materials of walls and frames."""
    glazingTypes: NotRequired[list[EnumGlazingType]]
    """Glazing of the windows."""
    hasThroughExposure: NotRequired[bool]
    """Whether it has windows on two opposite sides."""
    viewOns: NotRequired[list[EnumViewOn]]
    """What the windows overlook."""
    viewTypes: NotRequired[list[EnumViewType]]
    """Qualities of the view."""


class FilterPropertyCondition(TypedDict):
    """Age and condition; several keys are combined with AND."""

    constructionYear: NotRequired[Year]
    """Year of construction, compared exactly."""
    interiorCondition: NotRequired[EnumPropertyInteriorCondition]
    """Condition of the interior."""
    renovationYear: NotRequired[Year]
    """Year of the last renovation, compared exactly."""
    generalConditions: NotRequired[list[EnumPropertyGeneralCondition]]
    """Conditions of the asset as a whole."""


class FilterSurface(TypedDict):
    """Areas of a dwelling, square metres; apart from the total they are rarely known."""

    balconies: NotRequired[NumberRange]
    """Balconies, square metres."""
    floorSpace: NotRequired[NumberRange]
    """Floor area, square metres."""
    gardens: NotRequired[NumberRange]
    """Gardens, square metres."""
    groundFloor: NotRequired[NumberRange]
    """Ground floor, square metres."""
    kitchen: NotRequired[NumberRange]
    """Kitchen, square metres."""
    livingSpace: NotRequired[NumberRange]
    """Living space, square metres."""
    livingroom: NotRequired[NumberRange]
    """Living room, square metres."""
    terraces: NotRequired[NumberRange]
    """Terraces, square metres."""
    total: NotRequired[NumberRange]
    """Habitable area, square metres."""


class FilterTypeHabitation(TypedDict):
    """A dwelling."""

    bathroomCount: NotRequired[NumberRange]
    """Number of bathrooms."""
    bedroomCount: NotRequired[NumberRange]
    """Number of bedrooms."""
    floor: NotRequired[NumberRange]
    """Storey, 0 for the ground floor; the same as features.propertyFloor."""
    characteristics: NotRequired[FilterCharacteristics]
    """Amenities that it has or lacks."""
    climate: NotRequired[FilterClimate]
    """Energy performance."""
    features: NotRequired[FilterFeatures]
    """Floor, exposure, views, materials."""
    heatTypes: NotRequired[list[EnumHeatType]]
    """Whether the heating is individual or shared."""
    heatTypeDetails: NotRequired[list[EnumHeatTypeDetail]]
    """Kind of heat emitter."""
    heatings: NotRequired[list[EnumHeating]]
    """Sources of energy of the heating."""
    propertyCondition: NotRequired[list[FilterPropertyCondition]]
    """Age and condition; entries are combined with OR, their keys with AND."""
    roomCount: NotRequired[NumberRange]
    """Number of main rooms."""
    surface: NotRequired[FilterSurface]
    """Areas."""
    type: NotRequired[EnumPropertyTypeHabitation]
    """Kind of dwelling."""
    wcCount: NotRequired[NumberRange]
    """Number of toilets."""


class FilterTypeLand(TypedDict):
    """Land."""

    canConstruct: NotRequired[bool]
    """Whether it may be built on."""
    isServiced: NotRequired[bool]
    """Whether it is connected to the usual utilities."""
    surface: NotRequired[NumberRange]
    """Area, square metres."""
    surfaceConstructable: NotRequired[NumberRange]
    """Area that may be built on, square metres."""
    type: NotRequired[list[EnumLandType]]
    """Kind of land."""
    haveBuildingPermit: NotRequired[bool]
    """Whether a building permit was granted."""
    haveElectricity: NotRequired[bool]
    """Whether it is connected to electricity."""
    haveTelecom: NotRequired[bool]
    """Whether it is connected to telecommunications."""
    haveWater: NotRequired[bool]
    """Whether it is connected to water."""


class FilterCompleteLatLng(TypedDict):
    location: NotRequired[FilterLatLng]


class FilterLocation(TypedDict):
    """A place; several keys are combined with AND."""

    city: NotRequired[Any]
    """Ignored if other keys are given, refused on its own: use inseeCode."""
    cityCoordinate: NotRequired[FilterCompleteLatLng]
    """Position of the centre of the commune."""
    department: NotRequired[Department]
    """Department."""
    inseeCode: NotRequired[InseeCode]
    """Commune; 75056, 69123 and 13055 mean all arrondissements."""
    irisCode: NotRequired[IrisCode]
    """IRIS district."""
    locationCoordinate: NotRequired[FilterCompleteLatLng]
    """Position of the asset."""
    postalCode: NotRequired[PostalCode]
    """Postal code; 75000, 69000 and 13000 mean all arrondissements."""


class FilterMeta(TypedDict):
    """When an asset was seen."""

    firstSeenAt: NotRequired[FilterDateRange]
    """First sighting."""
    isTotallyOffline: NotRequired[bool]
    """Whether every advert is offline."""
    lastPublishedAt: NotRequired[FilterDateRange]
    """When an advert was last published or came back online."""
    lastSeenAt: NotRequired[FilterDateRange]
    """Last sighting."""
    lastUpdatedAt: NotRequired[FilterDateRange]
    """Last change of content."""


class FilterTypeParking(TypedDict):
    """Parking places."""

    count: NotRequired[NumberRange]
    """Number of places."""
    numberOfCars: NotRequired[NumberRange]
    """Number of cars that all places hold together."""
    surface: NotRequired[NumberRange]
    """Area, square metres."""
    type: NotRequired[list[EnumParkingType]]
    """Kind of place."""


class FilterOfferRentingContract(TypedDict):
    """Terms of a rent."""

    isColocation: NotRequired[bool]
    """Shared with others."""
    isLongTerm: NotRequired[bool]
    """More than 6 months."""
    isShortTerm: NotRequired[bool]
    """Less than 6 months."""
    isSubLease: NotRequired[bool]
    """Let by a tenant."""


class FilterOffer(TypedDict):
    """What is offered."""

    isCurrentlyOccupied: NotRequired[bool]
    """Whether it is sold occupied."""
    renting: NotRequired[FilterOfferRentingContract]
    """Terms of a rent."""
    type: NotRequired[EnumPropertyOfferType]
    """Sale, rent or another kind."""


class FilterProperty(TypedDict):
    """Conditions that a property must all meet; a property without a value matches no filter on that value."""

    adverts: NotRequired[list[FilterPropertyAdvert]]
    """At least one advert of the property must meet all conditions of an entry; entries are combined with OR."""
    habitation: NotRequired[FilterTypeHabitation]
    """The dwelling."""
    isUrgent: NotRequired[bool]
    """Whether an advert says that it is urgent."""
    land: NotRequired[FilterTypeLand]
    """The land."""
    location: NotRequired[list[FilterLocation]]
    """Places, combined with OR."""
    meta: NotRequired[FilterMeta]
    """When it was seen."""
    parking: NotRequired[FilterTypeParking]
    """The parking places."""
    price: NotRequired[FilterPrice]
    """Price."""
    process: NotRequired[list[EnumPropertyProcess]]
    """Status of the transaction."""
    tags: NotRequired[list[str]]
    """At least one of these tags, compared exactly."""
    type: NotRequired[list[EnumPropertyClass]]
    """Class of asset."""
    hasAnomaly: NotRequired[bool]
    """Whether its data is contradictory or implausible."""
    offer: NotRequired[list[FilterOffer]]
    """What is offered; entries are combined with OR."""


EnumSearchRequestSortBy: TypeAlias = Literal["FIRST_SEEN_AT", "PRICE", "LAST_UPDATED_AT", "LAST_SEEN_AT", "RELEVANCE"]
"""What a list is sorted by."""


EnumSearchRequestOrderBy: TypeAlias = Literal["ASC", "DESC"]
"""Order of a sorted list. `asc` is read as `ASC`. `desc` is read as `DESC`."""


class SearchPropertiesPayload(TypedDict):
    size: int
    """Number of properties per page."""
    sortBy: EnumSearchRequestSortBy
    """Records without the value come last in both orders; ties are sorted by identifier. RELEVANCE sorts by how well
    the texts match, using coarse statistics of all texts; without texts it is the same as LAST_SEEN_AT.
    """
    orderBy: EnumSearchRequestOrderBy
    search: FilterPropertyQuery
    """The search; all its conditions must hold."""
    searchAfterHash: NotRequired[str]
    """The cursor from a previous answer to the same search and order; the size may differ. The page is taken from the
    same state of the properties as the previous page, so that changes in between neither skip nor repeat a property.
    That state is kept for five minutes after the last page, or until the server restarts. If it is gone and
    properties have changed, the answer is 422 with the code 10009.
    """


class LiteFilterClimate(TypedDict):
    """Energy performance of a dwelling."""

    epcClimate: NotRequired[list[EnumGreenhouseClassification]]
    """Greenhouse gas class."""
    epcEnergy: NotRequired[list[EnumEnergyClassification]]
    """Energy class."""


class LiteFilterFeatures(TypedDict):
    """Floor, exposure, views and materials of a dwelling."""

    furniture: NotRequired[list[EnumFurniture]]
    """Whether it is furnished."""
    propertyFloor: NotRequired[NumberRange]
    """Storey, 0 for the ground floor."""
    propertyTotalFloor: NotRequired[NumberRange]
    """Storeys of the building above the ground floor."""


class LiteFilterSurface(TypedDict):
    """Areas of a dwelling, square metres; apart from the total they are rarely known."""

    total: NotRequired[NumberRange]
    """Habitable area, square metres."""


class LiteFilterTypeHabitation(TypedDict):
    """A dwelling."""

    bedroomCount: NotRequired[NumberRange]
    """Number of bedrooms."""
    floor: NotRequired[NumberRange]
    """Storey, 0 for the ground floor; the same as features.propertyFloor."""
    characteristics: NotRequired[FilterCharacteristics]
    """Amenities that it has or lacks."""
    climate: NotRequired[LiteFilterClimate]
    """Energy performance."""
    features: NotRequired[LiteFilterFeatures]
    """Floor, exposure, views, materials."""
    propertyCondition: NotRequired[list[FilterPropertyCondition]]
    """Age and condition; entries are combined with OR, their keys with AND."""
    roomCount: NotRequired[NumberRange]
    """Number of main rooms."""
    surface: NotRequired[LiteFilterSurface]
    """Areas."""


class LiteFilterTypeLand(TypedDict):
    """Land."""

    surface: NotRequired[NumberRange]
    """Area, square metres."""


class LiteFilterPrice(TypedDict):
    """A price."""

    latest: NotRequired[FilterPropertyPrice]
    """The current price."""


class LiteFilterProperty(TypedDict):
    """Conditions that a property must all meet; a property without a value matches no filter on that value."""

    habitation: NotRequired[LiteFilterTypeHabitation]
    """The dwelling."""
    land: NotRequired[LiteFilterTypeLand]
    """The land."""
    location: NotRequired[list[FilterLocation]]
    """Places, combined with OR."""
    meta: NotRequired[FilterMeta]
    """When it was seen."""
    price: NotRequired[LiteFilterPrice]
    """Price."""
    type: NotRequired[list[EnumPropertyClass]]
    """Class of asset."""
    offer: NotRequired[list[FilterOffer]]
    """What is offered; entries are combined with OR."""


class SearchPropertiesLitePayload(TypedDict):
    size: int
    """Number of properties per page."""
    sortBy: EnumSearchRequestSortBy
    """Records without the value come last in both orders; ties are sorted by identifier. RELEVANCE sorts by how well
    the texts match, using coarse statistics of all texts; without texts it is the same as LAST_SEEN_AT.
    """
    orderBy: EnumSearchRequestOrderBy
    search: SearchPropertiesLitePayloadSearch
    """The search; all its conditions must hold."""
    searchAfterHash: NotRequired[str]
    """The cursor from a previous answer to the same search and order; the size may differ. The page is taken from the
    same state of the properties as the previous page, so that changes in between neither skip nor repeat a property.
    That state is kept for five minutes after the last page, or until the server restarts. If it is gone and
    properties have changed, the answer is 422 with the code 10009.
    """


class SearchPropertiesLitePayloadSearch(TypedDict):
    """The search; all its conditions must hold."""

    filterProperty: LiteFilterProperty
    keywords: NotRequired[list[str]]
    """Terms that must all occur in title, description or tags; case and accents are ignored."""
    fullTexts: NotRequired[list[str]]
    """Texts of which at least one must occur in title, description or tags, with tolerance for typing errors; at most
    64 words in total.
    """


class FilterAdvertPrice(TypedDict):
    """Price of an advert."""

    value: NotRequired[NumberRange]
    """Amount, EUR; per month for rents."""
    valuePerArea: NotRequired[NumberRange]
    """Amount per square metre, EUR."""


class FilterAdvert(TypedDict):
    """Conditions that an advert must all meet; an advert without a value matches no filter on that value."""

    currentPrice: NotRequired[FilterAdvertPrice]
    """Current asking price."""
    habitation: NotRequired[FilterTypeHabitation]
    """The dwelling."""
    hasAnomaly: NotRequired[bool]
    """Whether its data is contradictory or implausible."""
    isAuction: NotRequired[bool]
    """Whether the price is the starting bid of an auction."""
    isUrgent: NotRequired[bool]
    """Whether it says that it is urgent."""
    land: NotRequired[FilterTypeLand]
    """The land."""
    lastModifiedAt: NotRequired[list[FilterDateRange]]
    """Last change of content; ranges are combined with OR."""
    offer: NotRequired[list[FilterOffer]]
    """What is offered; entries are combined with OR."""
    parking: NotRequired[FilterTypeParking]
    """The parking places."""
    process: NotRequired[list[EnumPropertyProcess]]
    """Status of the transaction."""
    scope: NotRequired[list[EnumPricingScope]]
    """Whether amounts are paid once or every month."""
    tags: NotRequired[list[str]]
    """At least one of these tags, compared exactly."""
    type: NotRequired[list[EnumPropertyClass]]
    """Class of asset."""
    warrantyDeposit: NotRequired[NumberRange]
    """Deposit of a rent, EUR."""
    firstSeenAt: NotRequired[list[FilterDateRange]]
    """First sighting; ranges are combined with OR."""
    location: NotRequired[FilterLocation]
    """One place."""
    source: NotRequired[FilterSource]
    """The listing on its portal."""
    currency: NotRequired[list[EnumCurrency]]
    """Currency of amounts."""
    mainPropertyAdFlxId: NotRequired[list[FlxId]]
    """Identifiers of the first advert of the asset."""
    propertyFlxId: NotRequired[list[FlxId]]
    """Identifiers of the property."""
    isPro: NotRequired[bool]
    """Whether the seller is a professional."""
    seller: NotRequired[list[FilterLightSeller]]
    """The seller; entries are combined with OR."""
    meta: NotRequired[FilterMeta]
    """When it was seen."""
    isOnline: NotRequired[bool]
    """Whether it is on its portal now."""
    isExclusive: NotRequired[bool]
    """Whether the seller claims an exclusive mandate."""


class FilterPropertyQuery(TypedDict):
    filterProperty: FilterProperty
    keywords: NotRequired[list[str]]
    """Terms that must all occur in title, description or tags; case and accents are ignored."""
    fullTexts: NotRequired[list[str]]
    """Texts of which at least one must occur in title, description or tags, with tolerance for typing errors; at most
    64 words in total.
    """


class FilterAdvertQuery(TypedDict):
    filterAd: FilterAdvert
    keywords: NotRequired[list[str]]
    """Terms that must all occur in title, description or tags; case and accents are ignored."""
    fullTexts: NotRequired[list[str]]
    """Texts of which at least one must occur in title, description or tags, with tolerance for typing errors; at most
    64 words in total.
    """


class CountPropertiesPayload(TypedDict):
    search: FilterPropertyQuery
    """The search; all its conditions must hold."""


EnumStudiedData: TypeAlias = Literal["PRICE", "PRICE_PER_AREA", "SURFACE", "TIME_ON_MARKET"]
"""The value that is studied."""


class PropertyAnalyticsPayload(TypedDict):
    search: FilterPropertyQuery
    """The search; all its conditions must hold."""
    studiedData: EnumStudiedData


SimilarPropertiesRequestSimilarityStrategyEnum: TypeAlias = Literal["SEARCH"]
"""How similar properties are found."""


class SimilarPropertiesPayload(TypedDict):
    flxId: FlxId
    similarityStrategy: SimilarPropertiesRequestSimilarityStrategyEnum
    size: int
    """Maximum number of properties."""
    filterProperty: NotRequired[FilterProperty]
    """Conditions that they must meet, such as an area."""


ManyPropertiesPayload: TypeAlias = "ManyPropertiesPayloadObject | list[FlxId]"


class ManyPropertiesPayloadObject(TypedDict):
    flxIds: list[FlxId]
    """Identifiers of properties; the answer keeps their order and leaves out unknown identifiers."""


class EstimateRequest(TypedDict):
    location: EstimateRequestLocation
    """Location of the home."""
    type: Literal["CLASS_FLAT", "CLASS_HOUSE"]
    """Class of asset; only flats and houses are valued."""
    habitation: EstimateRequestHabitation
    """The home itself."""
    land: NotRequired[EstimateRequestLand]
    """The land that comes with it."""
    offer: EstimateRequestOffer
    """The offer."""


class EstimateRequestLocation(TypedDict):
    """Location of the home."""

    locationCoordinate: NotRequired[EstimateRequestLocationLocationCoordinate]
    """Position of the home; required unless an address is given."""
    address: NotRequired[str]
    """Address in one line, with postal code and commune, instead of `locationCoordinate`, which takes precedence if
    both are given. `metadata.address` says how the address was understood. 422 if it is not found with enough
    certainty. If only the town of the home is known, the confidence is LOW.
    """


class EstimateRequestLocationLocationCoordinate(TypedDict):
    """Position of the home; required unless an address is given."""

    location: list[float]
    """Longitude, then latitude. A point outside France is valued at the national average."""


class EstimateRequestHabitation(TypedDict):
    """The home itself."""

    surface: EstimateRequestHabitationSurface
    """Its surface."""
    roomCount: int
    """Number of main rooms; 0 if unknown."""
    bedroomCount: int
    """Number of bedrooms, not more than the main rooms."""
    propertyCondition: NotRequired[EstimateRequestHabitationPropertyCondition]
    """Its age and condition."""
    climate: NotRequired[EstimateRequestHabitationClimate]
    """Its diagnostic."""
    features: NotRequired[EstimateRequestHabitationFeatures]
    """Its storey and furniture."""
    characteristics: NotRequired[EstimateRequestHabitationCharacteristics]
    """Amenities; what is not stated counts as unknown, not as missing."""


class EstimateRequestHabitationSurface(TypedDict):
    """Its surface."""

    total: float
    """Living surface, m2."""


class EstimateRequestHabitationPropertyCondition(TypedDict):
    """Its age and condition."""

    constructionYear: NotRequired[int]
    """Year of construction."""
    generalConditions: NotRequired[list[Literal["GENERAL_CONDITION_UNKNOWN", "GENERAL_CONDITION_TO_BE_RENOVATED", "GENERAL_CONDITION_BRAND_NEW", "GENERAL_CONDITION_RENOVATED", "GENERAL_CONDITION_TO_BE_REFRESHED", "GENERAL_CONDITION_GOOD", "GENERAL_CONDITION_EXCELLENT", "GENERAL_CONDITION_DECREPIT", "GENERAL_CONDITION_TO_BE_BUILT"]]]
    """General condition; if there are several, the worst counts."""


class EstimateRequestHabitationClimate(TypedDict):
    """Its diagnostic."""

    epcEnergy: NotRequired[Literal["ENERGY_CLASSIFICATION_UNKNOWN", "ENERGY_CLASSIFICATION_G", "ENERGY_CLASSIFICATION_F", "ENERGY_CLASSIFICATION_E", "ENERGY_CLASSIFICATION_D", "ENERGY_CLASSIFICATION_C", "ENERGY_CLASSIFICATION_B", "ENERGY_CLASSIFICATION_A", "ENERGY_CLASSIFICATION_NC"]]
    """Energy class of the diagnostic; NC and UNKNOWN count as not given."""
    epcClimate: NotRequired[Literal["GREENHOUSE_CLASSIFICATION_UNKNOWN", "GREENHOUSE_CLASSIFICATION_G", "GREENHOUSE_CLASSIFICATION_F", "GREENHOUSE_CLASSIFICATION_E", "GREENHOUSE_CLASSIFICATION_D", "GREENHOUSE_CLASSIFICATION_C", "GREENHOUSE_CLASSIFICATION_B", "GREENHOUSE_CLASSIFICATION_A", "GREENHOUSE_CLASSIFICATION_NC"]]
    """Climate class of the diagnostic; NC and UNKNOWN count as not given."""


class EstimateRequestHabitationFeatures(TypedDict):
    """Its storey and furniture."""

    propertyFloor: NotRequired[int]
    """Storey of the home; 0 is the ground floor, basements are negative."""
    propertyTotalFloor: NotRequired[int]
    """Storeys of the building, not fewer than the storey of the home."""
    furniture: NotRequired[Literal["UNKNOWN_FURNITURE", "UNFURNISHED", "PARTIALLY_FURNISHED", "FULLY_FURNISHED"]]
    """Whether it is sold furnished."""


class EstimateRequestHabitationCharacteristics(TypedDict):
    """Amenities; what is not stated counts as unknown, not as missing."""

    hasBalcony: NotRequired[bool]
    """A balcony."""
    hasCellar: NotRequired[bool]
    """A cellar."""
    hasGarage: NotRequired[bool]
    """A garage."""
    hasLift: NotRequired[bool]
    """A lift."""
    hasParking: NotRequired[bool]
    """A parking space."""
    hasPool: NotRequired[bool]
    """A pool."""
    hasTerrace: NotRequired[bool]
    """A terrace."""


class EstimateRequestLand(TypedDict):
    """The land that comes with it."""

    surface: NotRequired[float]
    """Land that comes with the home, m2."""


class EstimateRequestOffer(TypedDict):
    """The offer."""

    type: Literal["OFFER_BUY"]
    """Type of offer; only sales are valued."""


class Estimate(TypedDict):
    price: int
    """Central estimate, EUR."""
    priceRange: EstimatePriceRange
    """Range that contains the price of four sales in five."""
    metadata: EstimateMetadata
    """What the estimate is based on."""


class EstimatePriceRange(TypedDict):
    """Range that contains the price of four sales in five."""

    lower: int
    """Lower end, EUR."""
    upper: int
    """Upper end, EUR."""


class EstimateMetadata(TypedDict):
    """What the estimate is based on."""

    model: EstimateMetadataModel
    """The model that made the estimate."""
    coverage: float
    """Share of sales whose price is within the interval."""
    fallback: Literal["none", "department", "national"]
    """What was used in place of sales around the home."""
    warning: NotRequired[Literal["no_sale_within_reach", "few_sales_within_reach", "sales_far_away", "outside_france", "coordinates_swapped?"]]
    """Why the price is less certain than usual; absent if there is no reason."""
    nearest_sale_m: NotRequired[int]
    """Distance to the nearest known sale of the same class, metres; absent if there is none within 7 km."""
    confidence: Literal["HIGH", "MEDIUM", "LOW"]
    """Depends on the width of the interval; LOW if there is a warning, or if only the town of an address is known."""
    address: NotRequired[DpeMatchAnswerMetaAddress]
    """How `location.address` was understood, if it was used."""
    position_from: NotRequired[Literal["address", "locationCoordinate"]]
    """Source of the position, if an address was given; a coordinate takes precedence over it."""
    comparables: list[EstimateMetadataComparablesItem]
    """The nearest recorded sales of the same class, nearest first."""
    contributions: dict[str, int]
    """What each input adds to the price or takes from it, EUR; the contributions add up to the price."""


class EstimateMetadataModel(TypedDict):
    """The model that made the estimate."""

    version: str
    """Digest of the model."""
    trained_at: str
    """When it was trained, ISO 8601."""
    data_through: str
    """Day of the latest sale it knows, ISO 8601."""
    sales: NotRequired[int]
    """Sales it was trained on."""
    learned_inputs: NotRequired[list[str]]
    """Inputs whose effect was learned from sales."""


class EstimateMetadataComparablesItem(TypedDict):
    id: str
    """Identifier of the recorded sale."""
    date: str
    """Day of the sale, ISO 8601."""
    price: float
    """Price, EUR."""
    surface: float
    """Living surface, m2."""
    distance_m: int
    """Distance from the home, metres."""


class RentRequest(TypedDict):
    location: EstimateRequestLocation
    """Location of the home."""
    type: Literal["CLASS_FLAT", "CLASS_HOUSE"]
    """Class of asset; only flats and houses are valued."""
    habitation: RentRequestHabitation
    """The home itself."""
    land: NotRequired[EstimateRequestLand]
    """The land that comes with it."""
    offer: NotRequired[RentRequestOffer]
    """The offer."""
    price: NotRequired[float]
    """Price of the home, EUR, for the yield; by default its value is estimated."""


class RentRequestHabitation(TypedDict):
    """The home itself."""

    surface: EstimateRequestHabitationSurface
    """Its surface."""
    roomCount: NotRequired[int]
    """Number of main rooms; 0 if unknown."""
    bedroomCount: NotRequired[int]
    """Number of bedrooms, not more than the main rooms."""
    propertyCondition: NotRequired[EstimateRequestHabitationPropertyCondition]
    """Its age and condition; only the value for the yield uses them."""
    climate: NotRequired[EstimateRequestHabitationClimate]
    """Its diagnostic; only the value for the yield uses it."""
    features: NotRequired[EstimateRequestHabitationFeatures]
    """Its storey and furniture."""
    characteristics: NotRequired[EstimateRequestHabitationCharacteristics]
    """Amenities; only the value for the yield uses them."""


class RentRequestOffer(TypedDict):
    """The offer."""

    type: NotRequired[Literal["OFFER_RENT"]]
    """Type of offer."""


class RentEstimate(TypedDict):
    rent: int
    """Monthly rent, EUR."""
    rentPerArea: float
    """Monthly rent, EUR per m2."""
    rentRange: EstimatePriceRange
    """Range that contains four rents in five."""
    grossYield: NotRequired[RentEstimateGrossYield]
    """The rent of a year over the price of the home; absent if the request has no `price` and no model values the home.
    """
    metadata: RentEstimateMetadata
    """What the estimate is based on."""


class RentEstimateGrossYield(TypedDict):
    """The rent of a year over the price of the home; absent if the request has no `price` and no model values the home.
    """

    percent: float
    """Percent of the price."""
    lower: float
    """With the lower end of the rent."""
    upper: float
    """With the upper end of the rent."""
    price: int
    """The price, EUR."""
    price_from: Literal["request", "estimate"]
    """Source of the price."""


class RentEstimateMetadata(TypedDict):
    """What the estimate is based on."""

    charges: Literal["as_advertised"]
    """Whether the rent includes charges; adverts of homes to rent mostly state rents with charges."""
    coverage: float
    """Share of rents that lie within the interval."""
    method: Literal["adverts", "adverts_and_rent_map", "rent_map"]
    """What the rent was estimated from."""
    commune: RentEstimateMetadataCommune
    """The commune of the home."""
    adverts: RentEstimateMetadataAdverts
    """Homes to rent that the estimate was learned from; each counts once, however many adverts show it."""
    rent_map: NotRequired[RentEstimateMetadataRentMap]
    """The rent of the commune on the official map of rents, for a reference home, unfurnished and with charges; absent
    if the map was not imported.
    """
    address: NotRequired[DpeMatchAnswerMetaAddress]
    """How `location.address` was understood, if it was used."""
    position_from: NotRequired[Literal["address", "locationCoordinate"]]
    """Source of the position, if an address was given; a coordinate takes precedence over it."""
    contributions: dict[str, int]
    """What each part adds to the rent or takes from it, EUR; the contributions add up to the rent."""


class RentEstimateMetadataCommune(TypedDict):
    """The commune of the home."""

    inseeCode: str
    """INSEE code."""
    name: str
    """Name."""


class RentEstimateMetadataAdverts(TypedDict):
    """Homes to rent that the estimate was learned from; each counts once, however many adverts show it."""

    all: int
    """In all places."""
    department: int
    """In the department."""
    commune: int
    """In the commune."""
    nearest: int
    """The nearest ones, at most 24 within 3 km."""
    nearest_m: NotRequired[int]
    """Distance of the nearest one, metres."""
    median_m: NotRequired[int]
    """Median distance of the nearest ones, metres."""
    median_age_days: NotRequired[int]
    """Median days since the nearest ones were last on offer."""


class RentEstimateMetadataRentMap(TypedDict):
    """The rent of the commune on the official map of rents, for a reference home, unfurnished and with charges; absent
    if the map was not imported.
    """

    rent_per_m2: float
    """Monthly rent, EUR per m2."""
    lower: float
    """Lower end of its interval, EUR per m2."""
    upper: float
    """Upper end of its interval, EUR per m2."""
    coverage: float
    """Share of rents in its interval."""
    kind: Literal["flats", "small_flats", "large_flats", "houses"]
    """Kind of home."""
    year: int
    """Year of the rent."""
    adverts: int
    """Adverts of the commune behind it."""
    level: str
    """Places whose adverts it was computed from: `commune`, `epci` or `maille`."""
    licence: str
    """Licence of the map, as stated at the import."""


class Address(TypedDict):
    type: Literal["Feature"]
    """Fixed value required by GeoJSON."""
    geometry: AddressGeometry
    """Position of the address."""
    properties: AddressProperties
    """Details of the address."""


class AddressGeometry(TypedDict):
    """Position of the address."""

    type: Literal["Point"]
    """Fixed value required by GeoJSON."""
    coordinates: list[float]
    """Longitude, latitude."""


class AddressProperties(TypedDict):
    """Details of the address."""

    label: str
    """The address in one line."""
    score: float
    """Search: probability that this is the intended address. Reverse: 1 at the position, 0 at 10 km."""
    id: str
    """Identifier in the address base; for a commune, its INSEE code."""
    name: str
    """House number and street, street, place or commune."""
    housenumber: NotRequired[str]
    """House number with its suffix."""
    street: NotRequired[str]
    """Street."""
    postcode: NotRequired[str]
    """Postal code."""
    citycode: str
    """INSEE code of the commune or arrondissement."""
    city: str
    """Commune."""
    district: NotRequired[str]
    """Arrondissement."""
    oldcity: NotRequired[str]
    """Former commune."""
    oldcitycode: NotRequired[str]
    """INSEE code of the former commune."""
    context: str
    """Department code, department, region."""
    type: Literal["housenumber", "street", "locality", "municipality"]
    """Kind of result."""
    importance: NotRequired[float]
    """Importance of the street or commune."""
    x: NotRequired[float]
    """Easting in the official projection, Lambert-93 in mainland France, metres."""
    y: NotRequired[float]
    """Northing, metres."""
    distance: NotRequired[int]
    """Distance from the position, metres; reverse searches only."""
    uncertainty_m: NotRequired[int]
    """How far the intended address may be from the position, metres; given for a street or named place, and for a
    result far from the requested position.
    """
    confidence: Literal["HIGH", "MEDIUM", "LOW"]
    """How far the result can be trusted."""
    matched: NotRequired[AddressPropertiesMatched]
    """How well each part agrees with the query; searches only."""
    source: Literal["ban", "upstream"]
    """Source of the result."""
    iris: NotRequired[str]
    """Code of the IRIS that contains the address, if requested."""
    parcels: NotRequired[list[str]]
    """Cadastral parcels, if requested and known."""


class AddressPropertiesMatched(TypedDict):
    """How well each part agrees with the query; searches only."""

    housenumber: NotRequired[Literal["exact", "fuzzy", "missing", "conflict"]]
    """The house number."""
    street: NotRequired[Literal["exact", "fuzzy", "missing", "conflict"]]
    """The street or place."""
    postcode: NotRequired[Literal["exact", "fuzzy", "missing", "conflict"]]
    """The postal code."""
    city: NotRequired[Literal["exact", "fuzzy", "missing", "conflict"]]
    """The commune."""


class AddressCollection(TypedDict):
    """A GeoJSON feature collection."""

    type: Literal["FeatureCollection"]
    """Fixed value required by GeoJSON."""
    features: list[Address]
    """Addresses, best first."""
    attribution: NotRequired[str]
    """Attribution of the data."""
    licence: NotRequired[str]
    """Licence of the data."""
    query: NotRequired[str]
    """The text that was searched."""
    limit: int
    """Maximum results."""
    explain: NotRequired[AddressCollectionExplain]
    """How the result was found, if requested: how each word was read, which places the query may mean, and what the
    scores of the best results consist of.
    """


class AddressCollectionExplain(TypedDict):
    """How the result was found, if requested: how each word was read, which places the query may mean, and what the
    scores of the best results consist of.
    """

    words: list[dict[str, Any]]
    """Each word, and what it was read as."""
    readings: list[dict[str, Any]]
    """The places that the query may mean, and how strongly it suggests each."""
    results: list[dict[str, Any]]
    """The best results, with the parts of their scores."""


EnumAlertMatch: TypeAlias = Literal["ALERT_MATCH_CREATED", "ALERT_MATCH_MERGED"]
"""What a property alert reports: a property that qualifies, or an advert that joins one."""


class SaveSearchPropertiesPayload(TypedDict):
    search_query: FilterPropertyQuery
    webhook_url: str
    """URL that matches are posted to: https, with a public host that resolves. The URL is checked again at every
    delivery; redirects are not followed.
    """
    match: list[EnumAlertMatch]
    """What is reported: a property that qualifies for the first time, or a new advert that joins a matched property."""
    search_name: str
    """Its name, for display."""
    context: NotRequired[AlertContext]
    """Data that deliveries echo in addition to the alert's identifier; an empty object means none."""


class ChangeSearchPropertiesPayload(TypedDict):
    """Fields left out stay unchanged."""

    search_query: NotRequired[FilterPropertyQuery]
    webhook_url: NotRequired[str]
    """URL that matches are posted to: https, with a public host that resolves. The URL is checked again at every
    delivery; redirects are not followed.
    """
    match: NotRequired[list[EnumAlertMatch]]
    """What is reported: a property that qualifies for the first time, or a new advert that joins a matched property."""
    search_name: NotRequired[str]
    """Its name, for display."""
    context: NotRequired[AlertContext]
    """Data that deliveries echo in addition to the alert's identifier; an empty object means none."""


class SaveManySearchPropertiesPayload(TypedDict):
    alerts: list[SaveSearchPropertiesPayload]
    """Alerts; each is accepted or refused on its own."""


class PreviewSearchPropertiesPayload(TypedDict):
    search_query: FilterPropertyQuery
    days: NotRequired[int]
    """Number of days to look back, including today."""


class PropertyAlert(TypedDict):
    alert_id: str
    """Identifier of the alert."""
    flxId: str
    """The same identifier."""
    activated: bool
    """Whether it is active. It becomes inactive when it is deleted, when its receiver answers 410, or when its receiver
    fails for days.
    """
    search_query: FilterPropertyQuery
    webhook_url: str
    """URL that matches are posted to: https, with a public host that resolves. The URL is checked again at every
    delivery; redirects are not followed.
    """
    match: list[EnumAlertMatch]
    """What is reported: a property that qualifies for the first time, or a new advert that joins a matched property."""
    search_name: str
    """Its name, for display."""
    context: NotRequired[AlertContext]
    """Data that deliveries echo; absent if there is none."""
    created_at: str
    """When it was created; UTC, milliseconds."""
    updated_at: str
    """When it last changed, for any reason; UTC, milliseconds."""
    unmatched_because: NotRequired[str]
    """Why the alert matches nothing at present although it is active: a layer of its search was removed. Present only
    where one alert is read.
    """


EnumAdvertAlertMatch: TypeAlias = Literal["ALERT_MATCH_CREATED", "ALERT_MATCH_ADVERT_EVENT"]
"""What an advert alert reports: an advert that qualifies, or an event on one."""


class SaveSearchAdvertsPayload(TypedDict):
    search_query: FilterAdvertQuery
    webhook_url: str
    """URL that matches are posted to: https, with a public host that resolves. The URL is checked again at every
    delivery; redirects are not followed.
    """
    match: list[EnumAdvertAlertMatch]
    """What is reported: an advert that qualifies for the first time, or events on a matched advert. If only events are
    reported, the first match is recorded without a notification, so that later events are reported.
    """
    search_name: str
    """Its name, for display."""
    context: NotRequired[AlertContext]
    """Data that deliveries echo in addition to the alert's identifier; an empty object means none."""


class ChangeSearchAdvertsPayload(TypedDict):
    """Fields left out stay unchanged."""

    search_query: NotRequired[FilterAdvertQuery]
    webhook_url: NotRequired[str]
    """URL that matches are posted to: https, with a public host that resolves. The URL is checked again at every
    delivery; redirects are not followed.
    """
    match: NotRequired[list[EnumAdvertAlertMatch]]
    """What is reported: an advert that qualifies for the first time, or events on a matched advert. If only events are
    reported, the first match is recorded without a notification, so that later events are reported.
    """
    search_name: NotRequired[str]
    """Its name, for display."""
    context: NotRequired[AlertContext]
    """Data that deliveries echo in addition to the alert's identifier; an empty object means none."""


class SaveManySearchAdvertsPayload(TypedDict):
    alerts: list[SaveSearchAdvertsPayload]
    """Alerts; each is accepted or refused on its own."""


class PreviewSearchAdvertsPayload(TypedDict):
    search_query: FilterAdvertQuery
    days: NotRequired[int]
    """Number of days to look back, including today."""


class AdvertAlert(TypedDict):
    alert_id: str
    """Identifier of the alert."""
    flxId: str
    """The same identifier."""
    activated: bool
    """Whether it is active. It becomes inactive when it is deleted, when its receiver answers 410, or when its receiver
    fails for days.
    """
    search_query: FilterAdvertQuery
    webhook_url: str
    """URL that matches are posted to: https, with a public host that resolves. The URL is checked again at every
    delivery; redirects are not followed.
    """
    match: list[EnumAdvertAlertMatch]
    """What is reported: an advert that qualifies for the first time, or events on a matched advert. If only events are
    reported, the first match is recorded without a notification, so that later events are reported.
    """
    search_name: str
    """Its name, for display."""
    context: NotRequired[AlertContext]
    """Data that deliveries echo; absent if there is none."""
    created_at: str
    """When it was created; UTC, milliseconds."""
    updated_at: str
    """When it last changed, for any reason; UTC, milliseconds."""
    unmatched_because: NotRequired[str]
    """Why the alert matches nothing at present although it is active: a layer of its search was removed. Present only
    where one alert is read.
    """


EnumOpenDataAlertMatch: TypeAlias = Literal["ALERT_MATCH_CREATED", "ALERT_MATCH_CHANGED"]
"""What an alert on open data reports: a new record that matches, or a corrected one."""


class SaveSearchDvfPayload(TypedDict):
    search_query: FilterDvfQuery
    webhook_url: str
    """URL that matches are posted to: https, with a public host that resolves. The URL is checked again at every
    delivery; redirects are not followed.
    """
    match: list[EnumOpenDataAlertMatch]
    """What is reported: a new record that matches, or a corrected record that matches."""
    search_name: str
    """Its name, for display."""
    context: NotRequired[AlertContext]
    """Data that deliveries echo in addition to the alert's identifier; an empty object means none."""


class ChangeSearchDvfPayload(TypedDict):
    """Fields left out stay unchanged."""

    search_query: NotRequired[FilterDvfQuery]
    webhook_url: NotRequired[str]
    """URL that matches are posted to: https, with a public host that resolves. The URL is checked again at every
    delivery; redirects are not followed.
    """
    match: NotRequired[list[EnumOpenDataAlertMatch]]
    """What is reported: a new record that matches, or a corrected record that matches."""
    search_name: NotRequired[str]
    """Its name, for display."""
    context: NotRequired[AlertContext]
    """Data that deliveries echo in addition to the alert's identifier; an empty object means none."""


class SaveManySearchDvfPayload(TypedDict):
    alerts: list[SaveSearchDvfPayload]
    """Alerts; each is accepted or refused on its own."""


class PreviewSearchDvfPayload(TypedDict):
    search_query: FilterDvfQuery


class DvfAlert(TypedDict):
    alert_id: str
    """Identifier of the alert."""
    flxId: str
    """The same identifier."""
    activated: bool
    """Whether it is active. It becomes inactive when it is deleted, when its receiver answers 410, or when its receiver
    fails for days.
    """
    search_query: FilterDvfQuery
    webhook_url: str
    """URL that matches are posted to: https, with a public host that resolves. The URL is checked again at every
    delivery; redirects are not followed.
    """
    match: list[EnumOpenDataAlertMatch]
    """What is reported: a new record that matches, or a corrected record that matches."""
    search_name: str
    """Its name, for display."""
    context: NotRequired[AlertContext]
    """Data that deliveries echo; absent if there is none."""
    created_at: str
    """When it was created; UTC, milliseconds."""
    updated_at: str
    """When it last changed, for any reason; UTC, milliseconds."""
    unmatched_because: NotRequired[str]
    """Why the alert matches nothing at present although it is active: a layer of its search was removed. Present only
    where one alert is read.
    """


class SaveSearchDpePayload(TypedDict):
    search_query: FilterDpeQuery
    webhook_url: str
    """URL that matches are posted to: https, with a public host that resolves. The URL is checked again at every
    delivery; redirects are not followed.
    """
    match: list[EnumOpenDataAlertMatch]
    """What is reported: a new record that matches, or a corrected record that matches."""
    search_name: str
    """Its name, for display."""
    context: NotRequired[AlertContext]
    """Data that deliveries echo in addition to the alert's identifier; an empty object means none."""


class ChangeSearchDpePayload(TypedDict):
    """Fields left out stay unchanged."""

    search_query: NotRequired[FilterDpeQuery]
    webhook_url: NotRequired[str]
    """URL that matches are posted to: https, with a public host that resolves. The URL is checked again at every
    delivery; redirects are not followed.
    """
    match: NotRequired[list[EnumOpenDataAlertMatch]]
    """What is reported: a new record that matches, or a corrected record that matches."""
    search_name: NotRequired[str]
    """Its name, for display."""
    context: NotRequired[AlertContext]
    """Data that deliveries echo in addition to the alert's identifier; an empty object means none."""


class SaveManySearchDpePayload(TypedDict):
    alerts: list[SaveSearchDpePayload]
    """Alerts; each is accepted or refused on its own."""


class PreviewSearchDpePayload(TypedDict):
    search_query: FilterDpeQuery


class DpeAlert(TypedDict):
    alert_id: str
    """Identifier of the alert."""
    flxId: str
    """The same identifier."""
    activated: bool
    """Whether it is active. It becomes inactive when it is deleted, when its receiver answers 410, or when its receiver
    fails for days.
    """
    search_query: FilterDpeQuery
    webhook_url: str
    """URL that matches are posted to: https, with a public host that resolves. The URL is checked again at every
    delivery; redirects are not followed.
    """
    match: list[EnumOpenDataAlertMatch]
    """What is reported: a new record that matches, or a corrected record that matches."""
    search_name: str
    """Its name, for display."""
    context: NotRequired[AlertContext]
    """Data that deliveries echo; absent if there is none."""
    created_at: str
    """When it was created; UTC, milliseconds."""
    updated_at: str
    """When it last changed, for any reason; UTC, milliseconds."""
    unmatched_because: NotRequired[str]
    """Why the alert matches nothing at present although it is active: a layer of its search was removed. Present only
    where one alert is read.
    """


class FilterDvfQuery(TypedDict):
    filters: NotRequired[DvfSearchRequestFilters]
    """Filters; a record must match all of them."""


class DvfDelivery(TypedDict):
    data: DvfDeliveryData
    """What the alert matched."""


class DvfDeliveryData(TypedDict):
    """What the alert matched."""

    created: list[DvfDeliveryDataCreatedItem]
    """New records that match."""
    updated: list[DvfDeliveryDataCreatedItem]
    """Corrected records that match."""


class DvfDeliveryDataCreatedItem(TypedDict):
    alert_id: str
    """Identifier of the alert."""
    context: NotRequired[dict[str, Any]]
    """Data given with the alert, echoed unchanged."""
    dvf: list[DvfRecord]
    """The recorded sales in full, newest last."""


class FilterDpeQuery(TypedDict):
    filters: NotRequired[DpeSearchRequestFilters]
    """Filters; a record must match all of them."""


class DpeDelivery(TypedDict):
    data: DpeDeliveryData
    """What the alert matched."""


class DpeDeliveryData(TypedDict):
    """What the alert matched."""

    created: list[DpeDeliveryDataCreatedItem]
    """New records that match."""
    updated: list[DpeDeliveryDataCreatedItem]
    """Corrected records that match."""


class DpeDeliveryDataCreatedItem(TypedDict):
    alert_id: str
    """Identifier of the alert."""
    context: NotRequired[dict[str, Any]]
    """Data given with the alert, echoed unchanged."""
    dpe: list[DpeRecord]
    """The energy performance diagnostics in full, newest last."""


class AlertName(TypedDict):
    alert_id: str
    """Identifier of the alert."""
    flxId: str
    """The same identifier."""


class AlertOutcome(TypedDict):
    success: NotRequired[str]
    """Identifier of the alert; absent if it was refused."""
    failed: NotRequired[AlertOutcomeFailed]
    """Why it was refused; absent if it was accepted."""


class AlertOutcomeFailed(TypedDict):
    """Why it was refused; absent if it was accepted."""

    code: int
    """Code of the fault."""
    message: str
    """JSON path of the fault and what is allowed there."""


class OperatorAlert(TypedDict):
    alert_id: str
    """Identifier of the alert."""
    flxId: str
    """The same identifier."""
    activated: bool
    """Whether it is active. It becomes inactive when it is deleted, when its receiver answers 410, or when its receiver
    fails for days.
    """
    search_query: FilterPropertyQuery | FilterAdvertQuery | FilterDvfQuery | FilterDpeQuery
    """The search as sent."""
    webhook_url: str
    """URL that matches are posted to: https, with a public host that resolves. The URL is checked again at every
    delivery; redirects are not followed.
    """
    match: list[EnumAlertMatch | EnumAdvertAlertMatch | EnumOpenDataAlertMatch]
    """What it reports."""
    search_name: str
    """Its name, for display."""
    context: NotRequired[AlertContext]
    """Data that deliveries echo; absent if there is none."""
    created_at: str
    """When it was created; UTC, milliseconds."""
    updated_at: str
    """When it last changed, for any reason; UTC, milliseconds."""
    unmatched_because: NotRequired[str]
    """Why the alert matches nothing at present although it is active: a layer of its search was removed. Present only
    where one alert is read.
    """
    account_id: str
    """Account it belongs to."""
    about: Literal["properties", "adverts", "dvf", "dpe"]
    """Kind of record it searches."""
    deactivated_because: NotRequired[Literal["deleted", "gone", "failing"]]
    """Why it is inactive: deleted by its owner, or its receiver answered 410 or failed for days; absent if it is
    active.
    """


class AlertOverview(TypedDict):
    alert_id: str
    """Identifier of the alert."""
    flxId: str
    """The same identifier."""
    activated: bool
    """Whether it is active. It becomes inactive when it is deleted, when its receiver answers 410, or when its receiver
    fails for days.
    """
    search_query: FilterPropertyQuery | FilterAdvertQuery | FilterDvfQuery | FilterDpeQuery
    """The search as sent."""
    webhook_url: str
    """URL that matches are posted to: https, with a public host that resolves. The URL is checked again at every
    delivery; redirects are not followed.
    """
    match: list[EnumAlertMatch | EnumAdvertAlertMatch | EnumOpenDataAlertMatch]
    """What it reports."""
    search_name: str
    """Its name, for display."""
    context: NotRequired[AlertContext]
    """Data that deliveries echo; absent if there is none."""
    created_at: str
    """When it was created; UTC, milliseconds."""
    updated_at: str
    """When it last changed, for any reason; UTC, milliseconds."""
    unmatched_because: NotRequired[str]
    """Why the alert matches nothing at present although it is active: a layer of its search was removed. Present only
    where one alert is read.
    """
    account_id: str
    """Account it belongs to."""
    about: Literal["properties", "adverts", "dvf", "dpe"]
    """Kind of record it searches."""
    deactivated_because: NotRequired[Literal["deleted", "gone", "failing"]]
    """Why it is inactive: deleted by its owner, or its receiver answered 410 or failed for days; absent if it is
    active.
    """
    matches: int
    """Number of items it matched."""
    waiting: int
    """Number of notifications that are not in a delivery yet."""
    deliveries: AlertOverviewDeliveries
    """Deliveries by status."""
    failing_since: NotRequired[str]
    """Time since which every attempt to reach its receiver has failed; UTC, milliseconds."""


class AlertOverviewDeliveries(TypedDict):
    """Deliveries by status."""

    pending: int
    """Deliveries with this status."""
    delivered: int
    """Deliveries with this status."""
    failed: int
    """Deliveries with this status."""
    dead: int
    """Deliveries with this status."""


class RetriedDelivery(TypedDict):
    delivery_id: str
    """Identifier of the delivery."""


ReplayRequest = TypedDict(
    "ReplayRequest",
    {
        "from": str,
        "to": str,
        "max_items": "NotRequired[int]",
    },
)


class Replay(TypedDict):
    replay_id: str
    """Identifier of the replay."""
    items: int
    """Number of items it sends."""


class TestedReceiver(TypedDict):
    delivered: bool
    """Whether the receiver accepted the delivery."""
    status: int | None
    """HTTP status of the response; null without a response."""
    error: str | None
    """Why the receiver did not accept it."""
    duration_ms: int | None
    """Time from the first byte sent to the response, in milliseconds; null if nothing was sent."""


class VersionAnswer(TypedDict):
    data: VersionAnswerData


class VersionAnswerData(TypedDict):
    version: str


class PortalsAnswer(TypedDict):
    data: list[str]
    """Names of the portals, which are host names."""


class ConsumptionAnswer(TypedDict):
    data: Consumption


class AdminConsumptionAnswer(TypedDict):
    data: Consumption


class ConsumptionDaysAnswer(TypedDict):
    data: list[DayUsage]


class AdvertsTakeAnswer(TypedDict):
    data: list[AdvertOutcome]


class AccountsListAnswer(TypedDict):
    data: list[Account]


class AccountsCreateAnswer(TypedDict):
    data: AccountWithSecret


class AccountsGetAnswer(TypedDict):
    data: Account


class SecretsRotateAnswer(TypedDict):
    data: AccountWithSecret


class WebhookKeysRotateAnswer(TypedDict):
    data: Account


class KeysListAnswer(TypedDict):
    data: list[Key]


class KeysCreateAnswer(TypedDict):
    data: NewKey


class KeysUpdateAnswer(TypedDict):
    data: Key


class KeysRevokeAnswer(TypedDict):
    data: Key


class UsageAnswer(TypedDict):
    data: list[AccountUsage]


class AuditAnswer(TypedDict):
    data: list[AuditEntry]


class AlertsListAnswer(TypedDict):
    data: list[OperatorAlert]


class AlertsGetAnswer(TypedDict):
    data: AlertOverview


class DeadLettersListAnswer(TypedDict):
    data: list[Delivery]


class DeadLettersRetryAnswer(TypedDict):
    data: RetriedDelivery


class PropertiesCandidatesAnswer(TypedDict):
    data: CandidatePairs


class PropertiesMergeAnswer(TypedDict):
    data: DecidedProperty


class PropertiesKeepApartAnswer(TypedDict):
    data: KeptApart


class PropertiesSplitAnswer(TypedDict):
    data: DecidedProperty


class ErasuresCreateAnswer(TypedDict):
    data: Erasure


class ReportsListAnswer(TypedDict):
    data: list[OperationReport]


class ModelAnswer(TypedDict):
    data: ModelInUse


class JobsListAnswer(TypedDict):
    data: list[Job]


class FindingsListAnswer(TypedDict):
    data: list[Finding]


class PropertiesSearchAnswer(TypedDict):
    data: PropertiesSearchAnswerData


class PropertiesSearchAnswerData(TypedDict):
    items: list[Property]
    """Records of the page, in sort order."""
    count: int
    """Number of all records that match."""
    searchAfterHash: NotRequired[str]
    """Cursor of the next page; absent on the last page."""


class PropertiesSearchLiteAnswer(TypedDict):
    data: PropertiesSearchLiteAnswerData


class PropertiesSearchLiteAnswerData(TypedDict):
    items: list[LiteProperty]
    """Records of the page, in sort order."""
    count: int
    """Number of all records that match."""
    searchAfterHash: NotRequired[str]
    """Cursor of the next page; absent on the last page."""


class PropertiesCountAnswer(TypedDict):
    data: PropertiesCountAnswerData


class PropertiesCountAnswerData(TypedDict):
    count: int
    """Properties that match."""


class PropertiesSimilarsAnswer(TypedDict):
    data: list[Property]


class AnalyticsPropertySearchAnswer(TypedDict):
    data: AnalyticsPropertySearchAnswerData


class AnalyticsPropertySearchAnswerData(TypedDict):
    count: int
    """Properties that match."""
    studiedData: Literal["PRICE", "PRICE_PER_AREA", "SURFACE", "TIME_ON_MARKET"]
    """The values studied, in EUR, EUR/m2, m2, or days from the first sighting until the property went offline."""
    valued: int
    """Properties among them that have a value; the statistics cover only these."""
    min: NotRequired[float]
    """Lowest value."""
    max: NotRequired[float]
    """Highest value."""
    mean: NotRequired[float]
    """Arithmetic mean."""
    quartiles: NotRequired[list[float]]
    """Values below which 25, 50 and 75 % of the values lie, interpolated."""
    deviation: NotRequired[float]
    """Standard deviation."""
    histogram: list[AnalyticsPropertySearchAnswerDataHistogramItem]
    """Bars of equal width, except that the first and the last extend to the lowest and the highest value."""


AnalyticsPropertySearchAnswerDataHistogramItem = TypedDict(
    "AnalyticsPropertySearchAnswerDataHistogramItem",
    {
        "from": float,
        "to": float,
        "count": int,
    },
)


AnalyticsMarketRequest = TypedDict(
    "AnalyticsMarketRequest",
    {
        "level": Literal["department", "commune", "iris", "cell"],
        "type": 'NotRequired[Literal["CLASS_FLAT", "CLASS_HOUSE"]]',
        "offer": 'NotRequired[Literal["OFFER_BUY", "OFFER_RENT"]]',
        "from": "NotRequired[str]",
        "to": "NotRequired[str]",
        "by": 'NotRequired[Literal["month", "quarter"]]',
        "location": "NotRequired[AnalyticsMarketRequestLocation]",
    },
)


class AnalyticsMarketRequestLocation(TypedDict):
    """The places to include; all conditions must hold. Required over HTTP if level is cell."""

    departments: NotRequired[list[str]]
    """Within one of these departments."""
    communes: NotRequired[list[str]]
    """In one of these communes, by INSEE code; 75056, 69123 and 13055 mean all arrondissements."""
    around: NotRequired[GeoDistance]
    """Within a distance of a position, metres."""
    area: NotRequired[Area]
    """In an area."""
    layer: NotRequired[LayerFilter]
    """Inside or outside a layer, or within a distance of it."""


class AnalyticsMarketAnswer(TypedDict):
    data: list[AnalyticsMarketAnswerDataItem]
    """One row for each place, class and period."""
    meta: AnalyticsMarketAnswerMeta


class AnalyticsMarketAnswerDataItem(TypedDict):
    place: str
    """Code of the department, commune, IRIS or cell."""
    name: str | None
    """Name of the department or commune."""
    type: Literal["CLASS_FLAT", "CLASS_HOUSE"]
    """Class of the homes."""
    period: str | None
    """Month such as 2024-05 or quarter such as 2024-Q2; null if all days form one period."""
    sales: int | None
    """Recorded sales of homes of the class on the open market."""
    priced_sales: int | None
    """Sales whose price is that of a single home; the quartiles are computed from these."""
    volume_eur: float | None
    """Total paid, EUR; the price of a sale is divided among its classes."""
    price_per_m2_q1: float | None
    """Lower quartile of the recorded price, EUR/m2."""
    price_per_m2_median: float | None
    """Median of the recorded price, EUR/m2."""
    price_per_m2_q3: float | None
    """Upper quartile of the recorded price, EUR/m2."""
    index: float | None
    """Hedonic price index of the department and class; the department's first period is 100."""
    index_lower: float | None
    """Lower end of its 80 % interval."""
    index_upper: float | None
    """Upper end of its 80 % interval."""
    for_sale: int | None
    """Properties for sale online on at least one day."""
    stock: int | None
    """Properties for sale online at the end of the last day."""
    asking_price_per_m2: float | None
    """Median asking price, EUR/m2."""
    days_on_market: float | None
    """Median days from the first sighting until going offline, of properties for sale that went offline."""
    price_cut_share: float | None
    """Share of properties for sale whose asking price is below their first one, percent."""
    price_cut: float | None
    """Median cut of those prices, percent."""
    to_rent: int | None
    """Properties to rent online on at least one day."""
    rent_stock: int | None
    """Properties to rent online at the end of the last day."""
    rent_per_m2: float | None
    """Median monthly rent, EUR/m2."""
    gross_yield: float | None
    """Twelve median monthly rents divided by the median asking price, percent."""
    energy_premium_ab: float | None
    """Percentage by which the median asking price per m2 of energy classes A and B exceeds that of class D."""
    energy_premium_fg: float | None
    """Percentage by which the median asking price per m2 of energy classes F and G exceeds that of class D."""


class AnalyticsMarketAnswerMeta(TypedDict):
    rows: int
    """Number of rows."""
    sample_min: int
    """Minimum number of sales or properties behind a figure."""
    notes: list[str]
    """Why a column has no values."""


class SqlRequest(TypedDict):
    query: str
    """One read-only statement, in the SQL of DataFusion; `information_schema` lists tables and columns."""
    parameters: NotRequired[list[str | float | bool | None] | dict[str, str | float | bool | None]]
    """Values of placeholders: an array for `$1` or `?`, an object for `$name`."""
    format: NotRequired[Literal["json", "arrow", "parquet", "csv", "ndjson", "geoparquet", "geojson", "safe-csv"]]
    """Format of the rows; by default the one in the Accept header, or JSON."""
    compression: NotRequired[Literal["none", "zstd"]]
    """zstd compresses the buffers of Arrow data, and text formats as a whole (Content-Encoding)."""
    limits: NotRequired[SqlRequestLimits]
    """Limits lower than those of the key; a query that exceeds one ends with an error."""


class SqlRequestLimits(TypedDict):
    """Limits lower than those of the key; a query that exceeds one ends with an error."""

    rows: NotRequired[int]
    """Maximum rows."""
    bytes: NotRequired[int]
    """Maximum bytes."""
    memory_mib: NotRequired[int]
    """Memory that the query may use before it spills to disk, in MiB."""
    time_s: NotRequired[int]
    """Maximum duration, including the answer, in seconds."""


class SqlAnswer(TypedDict):
    data: list[dict[str, Any]]


class TileSetAnswer(TypedDict):
    tilejson: str
    """Version of TileJSON."""
    name: str
    """Name of the dataset."""
    attribution: NotRequired[str]
    """Attribution of the data."""
    tiles: list[str]
    """Path of the tiles, with placeholders {z}, {x} and {y}."""
    minzoom: int
    """Lowest zoom."""
    maxzoom: int
    """Highest zoom; beyond it maps enlarge these tiles."""
    vector_layers: list[TileSetAnswerVectorLayersItem]
    """Layers with their fields."""


class TileSetAnswerVectorLayersItem(TypedDict):
    id: str
    """Name of the layer."""
    fields: dict[str, str]
    """Type of each field."""
    minzoom: int
    """Lowest zoom with this layer."""
    maxzoom: int
    """Highest zoom with this layer."""


class PropertiesGetAnswer(TypedDict):
    data: Property


class PropertiesGetByAdvertAnswer(TypedDict):
    data: Property


class PropertiesManyAnswer(TypedDict):
    data: list[Property]


class AdvertsGetAnswer(TypedDict):
    data: Advert


class AdvertsGetByUrlAnswer(TypedDict):
    data: Advert


class AdvertsGetByUrlPending(TypedDict):
    data: AdvertsGetByUrlPendingData


class AdvertsGetByUrlPendingData(TypedDict):
    status: Literal["pending"]
    """Collection continues."""
    retry_after_s: int
    """Seconds after which to ask again."""


class AdvertsCheckAnswer(TypedDict):
    data: AdvertsCheckAnswerData


class AdvertsCheckAnswerData(TypedDict):
    result: Literal["check_scheduled", "nothing_to_check"]
    """Whether there is a page to check."""
    adverts: int
    """Number of pages that will be checked."""


class AdvertsReportRequest(TypedDict):
    reason: Literal["STILL_ONLINE", "NOT_ONLINE_ANYMORE", "WRONG_DATA", "WRONG_LOCATION", "DUPLICATE", "WRONG_AGENCY", "OTHER"]
    """What is wrong."""
    comment: NotRequired[str]
    """Explanation in words; required if reason is OTHER."""


class AdvertsReportAnswer(TypedDict):
    data: AdvertsReportAnswerData


class AdvertsReportAnswerData(TypedDict):
    report_id: str
    """Identifier of the report."""
    reason: Literal["STILL_ONLINE", "NOT_ONLINE_ANYMORE", "WRONG_DATA", "WRONG_LOCATION", "DUPLICATE", "WRONG_AGENCY", "OTHER"]
    """What is wrong."""


class PropertiesGetByUrlAnswer(TypedDict):
    data: Property


class PropertiesGetByUrlPending(TypedDict):
    data: AdvertsGetByUrlPendingData


class PropertiesCheckAnswer(TypedDict):
    data: AdvertsCheckAnswerData


class PropertiesReportRequest(TypedDict):
    reason: Literal["STILL_ONLINE", "NOT_ONLINE_ANYMORE", "WRONG_DATA", "WRONG_LOCATION", "DUPLICATE", "WRONG_AGENCY", "OTHER"]
    """What is wrong."""
    comment: NotRequired[str]
    """Explanation in words; required if reason is OTHER."""


class PropertiesReportAnswer(TypedDict):
    data: AdvertsReportAnswerData


class AreasListAnswer(TypedDict):
    data: list[AreasListAnswerDataItem]
    """The areas, without their polygons."""


class AreasListAnswerDataItem(TypedDict):
    name: str
    """Name of the area."""
    createdAt: str
    """When it was first stored."""
    updatedAt: str
    """When it was last replaced."""


class AreasGetAnswer(TypedDict):
    data: AreasGetAnswerData


class AreasGetAnswerData(TypedDict):
    name: str
    """Name of the area."""
    createdAt: str
    """When it was first stored."""
    updatedAt: str
    """When it was last replaced."""
    area: Polygons


class AreasPutAnswer(TypedDict):
    data: AreasGetAnswerData


class AreasDeleteAnswer(TypedDict):
    data: AreasDeleteAnswerData


class AreasDeleteAnswerData(TypedDict):
    name: str
    """Name of the area."""


class IsochroneGetAnswer(TypedDict):
    data: IsochroneGetAnswerData


class IsochroneGetAnswerData(TypedDict):
    area: Polygons


class LayersListAnswer(TypedDict):
    data: list[LayersListAnswerDataItem]


class LayersListAnswerDataItem(TypedDict):
    name: str
    """Name of the layer."""
    table: str
    """Name of its table in SQL."""
    licence: str
    """Licence of the data."""
    source: str
    """Address or name of the file that was imported."""
    importedAt: str
    """When it was imported."""
    count: int
    """Number of features."""
    geometryTypes: list[str]
    """Types of the geometries, as in GeoJSON."""
    bbox: list[float]
    """Western, southern, eastern and northern edge of the box around all features, degrees."""
    columns: list[LayersListAnswerDataItemColumnsItem]
    """Attributes of the features."""


class LayersListAnswerDataItemColumnsItem(TypedDict):
    name: str
    """Name of the column."""
    type: Literal["text", "integer", "number", "flag", "day", "moment", "utc_moment"]
    """Type of its values."""


class DpeMatchManyRequest(TypedDict):
    items: list[DpeMatchRequest]
    """Match requests; a fault in one of them refuses the whole call."""


class DpeMatchManyAnswer(TypedDict):
    data: list[DpeMatchAnswer]
    """One answer per item, in the order of the request."""


class DvfMatchManyRequest(TypedDict):
    items: list[DvfMatchRequest]
    """Match requests; a fault in one of them refuses the whole call."""


class DvfMatchManyAnswer(TypedDict):
    data: list[DvfMatchAnswer]
    """One answer per item, in the order of the request."""


class ParcelHistoryAnswer(TypedDict):
    data: PlaceHistory


class BuildingHistoryAnswer(TypedDict):
    data: PlaceHistory


class EstimatePropertyLiteAnswer(TypedDict):
    data: Estimate


class EstimatePropertyLiteManyRequest(TypedDict):
    items: list[EstimateRequest]
    """Homes; each is checked and valued on its own."""


class EstimatePropertyLiteManyAnswer(TypedDict):
    data: list[Estimate | Error]
    """One answer per item, in the order of the request."""


class EstimateRentAnswer(TypedDict):
    data: RentEstimate


class ReportsHomeAnswer(TypedDict):
    data: HomeReport


class LetterheadGetAnswer(TypedDict):
    data: LetterheadGetAnswerData


class LetterheadGetAnswerData(TypedDict):
    text: str
    """Text; empty for none."""
    logo: str | None
    """Logo as a data URL; null for none."""


class LetterheadPutRequest(TypedDict):
    text: NotRequired[str]
    """Text at the top, such as name, address and telephone number; up to four lines."""
    logo: NotRequired[str]
    """Logo: a PNG or JPEG file of at most 256 KiB, in base64."""


class LetterheadPutAnswer(TypedDict):
    data: LetterheadGetAnswerData


class LetterheadDeleteAnswer(TypedDict):
    data: LetterheadGetAnswerData


class PortfoliosListAnswer(TypedDict):
    data: list[PortfoliosListAnswerDataItem]
    """The portfolios, without their homes."""


class PortfoliosListAnswerDataItem(TypedDict):
    name: str
    """Name of the portfolio."""
    home_count: int
    """Number of homes."""
    status: Literal["waiting", "valued"]
    """Whether it has been valued."""
    history_lost: NotRequired[bool]
    """True if a file of values was damaged: the homes are valued again, and what changed until then is lost."""
    homes_lost: NotRequired[bool]
    """True if the stored homes were damaged: they keep their values, and are not valued again until homes are stored
    under the name again.
    """
    webhook_url: NotRequired[str]
    """Address to which changes are posted."""
    moved_percent: float
    """Change of a value that counts, in percent."""
    model: NotRequired[str]
    """Version of the model that valued it."""
    created_at: str
    """When the name was first stored."""
    updated_at: str
    """When the homes were stored."""
    valued_at: NotRequired[str]
    """When they were last valued or matched."""


class PortfoliosGetAnswer(TypedDict):
    data: PortfoliosGetAnswerData


class PortfoliosGetAnswerData(TypedDict):
    name: str
    """Name of the portfolio."""
    home_count: int
    """Number of homes."""
    status: Literal["waiting", "valued"]
    """Whether it has been valued."""
    history_lost: NotRequired[bool]
    """True if a file of values was damaged: the homes are valued again, and what changed until then is lost."""
    homes_lost: NotRequired[bool]
    """True if the stored homes were damaged: they keep their values, and are not valued again until homes are stored
    under the name again.
    """
    webhook_url: NotRequired[str]
    """Address to which changes are posted."""
    moved_percent: float
    """Change of a value that counts, in percent."""
    model: NotRequired[str]
    """Version of the model that valued it."""
    created_at: str
    """When the name was first stored."""
    updated_at: str
    """When the homes were stored."""
    valued_at: NotRequired[str]
    """When they were last valued or matched."""
    totals: NotRequired[PortfoliosGetAnswerDataTotals]
    """Sums over all homes, EUR."""
    changes: NotRequired[PortfoliosGetAnswerDataChanges]
    """Sums over the homes that changed since `changesSince`, EUR."""
    homes: list[PortfoliosGetAnswerDataHomesItem]
    """The homes, in the order of the file."""
    hasMore: bool
    """Whether there are more homes."""
    cursor: NotRequired[str]
    """Where the next page begins."""


class PortfoliosGetAnswerDataTotals(TypedDict):
    """Sums over all homes, EUR."""

    valued: int
    """Homes with a value."""
    errors: int
    """Homes that cannot be valued."""
    value: int
    """Sum of the values."""
    lower: int
    """Sum of the lower ends of the intervals; the interval of the sum is narrower."""
    upper: int
    """Sum of the upper ends of the intervals."""


class PortfoliosGetAnswerDataChanges(TypedDict):
    """Sums over the homes that changed since `changesSince`, EUR."""

    homes: int
    """Homes that changed."""
    values: int
    """Homes whose value changed."""
    value_before: int
    """Sum of their values before their last change."""
    value: int
    """Sum of their values."""


class PortfoliosGetAnswerDataHomesItem(TypedDict):
    key: str
    """Key of the home."""
    latitude: NotRequired[float]
    """Latitude, degrees (WGS 84)."""
    longitude: NotRequired[float]
    """Longitude, degrees (WGS 84)."""
    address_label: NotRequired[str]
    """The address as it was understood."""
    address_precision: NotRequired[str]
    """ADDRESS, STREET or TOWN."""
    price: NotRequired[int]
    """Value, EUR."""
    lower: NotRequired[int]
    """Lower end of its interval, EUR."""
    upper: NotRequired[int]
    """Upper end of its interval, EUR."""
    confidence: NotRequired[str]
    """HIGH, MEDIUM or LOW."""
    warning: NotRequired[str]
    """Why the value is less certain than usual."""
    error: NotRequired[str]
    """Why the home cannot be valued."""
    previous_price: NotRequired[int]
    """Value before its last change, EUR."""
    previous_lower: NotRequired[int]
    """Lower end before its last change, EUR."""
    previous_upper: NotRequired[int]
    """Upper end before its last change, EUR."""
    dpe_id: NotRequired[str]
    """Number of its energy diagnostic."""
    dpe_class: NotRequired[str]
    """Energy class of the diagnostic."""
    dpe_date: NotRequired[str]
    """Day of the diagnostic."""
    previous_dpe_id: NotRequired[str]
    """Number of the diagnostic before its last change."""
    previous_dpe_class: NotRequired[str]
    """Energy class before its last change."""
    sale_id: NotRequired[str]
    """Identifier of its recorded sale."""
    sale_date: NotRequired[str]
    """Day of the sale."""
    sale_price: NotRequired[int]
    """Price of the sale, EUR."""
    comparable_id: NotRequired[str]
    """Identifier of the latest of its five comparables, or of a later sale that is equally near."""
    comparable_date: NotRequired[str]
    """Day on which it was sold."""
    comparable_price: NotRequired[int]
    """Its price, EUR."""
    comparable_distance_m: NotRequired[int]
    """Its distance, metres."""
    value_changed_at: NotRequired[str]
    """When the value last changed."""
    changed_at: NotRequired[str]
    """When the home last changed."""
    changes: NotRequired[list[Literal["value", "diagnostic", "comparable"]]]
    """What changed then."""
    new_comparable_count: NotRequired[int]
    """Number of comparables that the last change reported as new."""
    new_comparables: NotRequired[list[PortfoliosGetAnswerDataHomesItemNewComparablesItem]]
    """The latest 10 of them, the latest first."""


class PortfoliosGetAnswerDataHomesItemNewComparablesItem(TypedDict):
    id: str
    """Identifier of the sale."""
    date: str
    """Day on which it was sold."""
    price: int
    """Its price, EUR."""
    distance_m: int
    """Its distance, metres."""


class PortfoliosPutAnswer(TypedDict):
    data: PortfoliosPutAnswerData


class PortfoliosPutAnswerData(TypedDict):
    name: str
    """Name of the portfolio."""
    home_count: int
    """Number of homes."""
    status: Literal["waiting", "valued"]
    """Whether it has been valued."""
    history_lost: NotRequired[bool]
    """True if a file of values was damaged: the homes are valued again, and what changed until then is lost."""
    homes_lost: NotRequired[bool]
    """True if the stored homes were damaged: they keep their values, and are not valued again until homes are stored
    under the name again.
    """
    webhook_url: NotRequired[str]
    """Address to which changes are posted."""
    moved_percent: float
    """Change of a value that counts, in percent."""
    model: NotRequired[str]
    """Version of the model that valued it."""
    created_at: str
    """When the name was first stored."""
    updated_at: str
    """When the homes were stored."""
    valued_at: NotRequired[str]
    """When they were last valued or matched."""
    faulty: NotRequired[int]
    """Number of rows that cannot be valued as they were sent."""
    faults: NotRequired[list[PortfoliosPutAnswerDataFaultsItem]]
    """The first 100 of them."""
    warnings: NotRequired[list[str]]
    """Warnings about columns that were not read."""


class PortfoliosPutAnswerDataFaultsItem(TypedDict):
    row: int
    """Number of the row."""
    key: str
    """Key of the home."""
    message: str
    """The field and what is wrong with it."""


class PortfoliosDeleteAnswer(TypedDict):
    data: AreasDeleteAnswerData


class GeocodingBatchRequest(TypedDict):
    requests: list[GeocodingBatchRequestRequestsItem]
    """Searches and reverse searches, with their parameters."""


GeocodingBatchRequestRequestsItem = TypedDict(
    "GeocodingBatchRequestRequestsItem",
    {
        "operation": Literal["search", "reverse"],
        "q": "NotRequired[str | float | bool]",
        "housenumber": "NotRequired[str | float | bool]",
        "street": "NotRequired[str | float | bool]",
        "city": "NotRequired[str | float | bool]",
        "limit": "NotRequired[str | float | bool]",
        "autocomplete": "NotRequired[str | float | bool]",
        "lat": "NotRequired[str | float | bool]",
        "lon": "NotRequired[str | float | bool]",
        "explain": "NotRequired[str | float | bool]",
        "postcode": "NotRequired[str | float | bool]",
        "citycode": "NotRequired[str | float | bool]",
        "type": "NotRequired[str | float | bool]",
        "with": "NotRequired[str | float | bool]",
        "index": "NotRequired[str | float | bool]",
        "maxdistance": "NotRequired[str | float | bool]",
    },
)


class GeocodingBatchAnswer(TypedDict):
    data: list[AddressCollection | Error]
    """One answer per item, in the order of the request."""


class GeocodingProjectCreateAnswer(TypedDict):
    data: GeocodingProjectCreateAnswerData


class GeocodingProjectCreateAnswerData(TypedDict):
    id: str
    """Identifier of the project."""
    token: str
    """Token for reading the result; shown only here."""


class GeocodingProjectPipelineRequest(TypedDict):
    columns: NotRequired[list[str]]
    """Columns that make up the address, in order; all columns if none is named."""
    result_columns: NotRequired[list[str]]
    """Result columns to append; the default ones if none is named."""
    postcode: NotRequired[str]
    """Column with the postal code that results must have."""
    citycode: NotRequired[str]
    """Column with the INSEE code of the commune that results must be in."""
    type: NotRequired[str]
    """Column with the kind of result."""
    lat: NotRequired[str]
    """Column with the latitude: results near it are preferred, or in a reverse search it is the position."""
    lon: NotRequired[str]
    """Column with the longitude."""
    encoding: NotRequired[str]
    """Encoding of the file, such as utf-8 or windows-1252."""
    delimiter: NotRequired[str]
    """Delimiter of the file: one character, or tab."""
    operation: Literal["search", "reverse"]
    """Search, or reverse search."""


class GeocodingProjectPipelineAnswer(TypedDict):
    data: GeocodingProjectPipelineAnswerData


class GeocodingProjectPipelineAnswerData(TypedDict):
    id: str
    """Identifier of the project."""
    status: Literal["idle", "waiting", "processing", "failed", "completed"]
    """State."""
    operation: NotRequired[Literal["search", "reverse"]]
    """Search, or reverse search."""
    input_bytes: NotRequired[int]
    """Size of the file, bytes."""
    rows: NotRequired[int]
    """Number of rows in the file, once the project was started."""
    rows_done: int
    """Rows answered so far."""
    rows_by_status: NotRequired[GeocodingProjectPipelineAnswerDataRowsByStatus]
    """Rows answered so far, by outcome."""
    created_at: str
    """When it was created."""
    ended_at: NotRequired[str]
    """When it was completed or failed."""
    expires_at: str
    """When it is deleted."""
    error: NotRequired[str]
    """Why it failed."""
    warning: NotRequired[str]
    """What is probably wrong with the rows answered so far, such as missing towns."""


class GeocodingProjectPipelineAnswerDataRowsByStatus(TypedDict):
    """Rows answered so far, by outcome."""

    ok: NotRequired[int]
    """Rows with a result."""
    not_found: NotRequired[int]
    """Rows without a result."""
    skipped: NotRequired[int]
    """Empty rows."""
    error: NotRequired[int]
    """Unreadable rows."""


class GeocodingProjectInputAnswer(TypedDict):
    data: GeocodingProjectPipelineAnswerData


class GeocodingProjectStartAnswer(TypedDict):
    data: GeocodingProjectPipelineAnswerData


class GeocodingProjectGetAnswer(TypedDict):
    data: GeocodingProjectPipelineAnswerData


class GeocodingProjectDeleteAnswer(TypedDict):
    data: GeocodingProjectDeleteAnswerData


class GeocodingProjectDeleteAnswerData(TypedDict):
    id: str
    """Identifier of the project."""


class PropertyAlertsCreateAnswer(TypedDict):
    data: AlertName


class PropertyAlertsCreateManyAnswer(TypedDict):
    data: PropertyAlertsCreateManyAnswerData


class PropertyAlertsCreateManyAnswerData(TypedDict):
    alerts: list[AlertOutcome]
    """One outcome for each alert, in the order of the request."""


class PropertyAlertsAllAnswer(TypedDict):
    data: list[PropertyAlert]


class PropertyAlertsGetAnswer(TypedDict):
    data: PropertyAlert


class PropertyAlertsUpdateAnswer(TypedDict):
    data: AlertName


class PropertyAlertsDeleteAnswer(TypedDict):
    data: AlertName


class PropertyAlertsActivateAnswer(TypedDict):
    data: AlertName


class PropertyAlertsHistoryAnswer(TypedDict):
    data: list[Property]


class PropertyAlertsDeliveriesAnswer(TypedDict):
    data: list[Delivery]


class PropertyAlertsReplayAnswer(TypedDict):
    data: Replay


class PropertyAlertsTestAnswer(TypedDict):
    data: TestedReceiver


class PropertyAlertsPreviewAnswer(TypedDict):
    data: PropertyAlertsPreviewAnswerData


class PropertyAlertsPreviewAnswerData(TypedDict):
    count: int
    """Number of all matches."""
    items: list[Property]
    """The last matches, newest first."""
    per_day: list[PropertyAlertsPreviewAnswerDataPerDayItem]
    """Every day of the window, earliest first."""


class PropertyAlertsPreviewAnswerDataPerDayItem(TypedDict):
    date: str
    """Day, UTC."""
    count: int
    """Number of matches first seen on that day."""


class AdvertAlertsCreateAnswer(TypedDict):
    data: AlertName


class AdvertAlertsCreateManyAnswer(TypedDict):
    data: PropertyAlertsCreateManyAnswerData


class AdvertAlertsAllAnswer(TypedDict):
    data: list[AdvertAlert]


class AdvertAlertsGetAnswer(TypedDict):
    data: AdvertAlert


class AdvertAlertsUpdateAnswer(TypedDict):
    data: AlertName


class AdvertAlertsDeleteAnswer(TypedDict):
    data: AlertName


class AdvertAlertsActivateAnswer(TypedDict):
    data: AlertName


class AdvertAlertsHistoryAnswer(TypedDict):
    data: list[Advert]


class AdvertAlertsDeliveriesAnswer(TypedDict):
    data: list[Delivery]


class AdvertAlertsReplayAnswer(TypedDict):
    data: Replay


class AdvertAlertsTestAnswer(TypedDict):
    data: TestedReceiver


class AdvertAlertsPreviewAnswer(TypedDict):
    data: AdvertAlertsPreviewAnswerData


class AdvertAlertsPreviewAnswerData(TypedDict):
    count: int
    """Number of all matches."""
    items: list[Advert]
    """The last matches, newest first."""
    per_day: list[PropertyAlertsPreviewAnswerDataPerDayItem]
    """Every day of the window, earliest first."""


class DvfAlertsCreateAnswer(TypedDict):
    data: AlertName


class DvfAlertsCreateManyAnswer(TypedDict):
    data: PropertyAlertsCreateManyAnswerData


class DvfAlertsAllAnswer(TypedDict):
    data: list[DvfAlert]


class DvfAlertsGetAnswer(TypedDict):
    data: DvfAlert


class DvfAlertsUpdateAnswer(TypedDict):
    data: AlertName


class DvfAlertsDeleteAnswer(TypedDict):
    data: AlertName


class DvfAlertsActivateAnswer(TypedDict):
    data: AlertName


class DvfAlertsHistoryAnswer(TypedDict):
    data: list[DvfRecord]


class DvfAlertsDeliveriesAnswer(TypedDict):
    data: list[Delivery]


class DvfAlertsReplayAnswer(TypedDict):
    data: Replay


class DvfAlertsTestAnswer(TypedDict):
    data: TestedReceiver


class DvfAlertsPreviewAnswer(TypedDict):
    data: DvfAlertsPreviewAnswerData


class DvfAlertsPreviewAnswerData(TypedDict):
    count: int
    """Number of all matches."""
    items: list[DvfRecord]
    """The last matches, newest first."""


class DpeAlertsCreateAnswer(TypedDict):
    data: AlertName


class DpeAlertsCreateManyAnswer(TypedDict):
    data: PropertyAlertsCreateManyAnswerData


class DpeAlertsAllAnswer(TypedDict):
    data: list[DpeAlert]


class DpeAlertsGetAnswer(TypedDict):
    data: DpeAlert


class DpeAlertsUpdateAnswer(TypedDict):
    data: AlertName


class DpeAlertsDeleteAnswer(TypedDict):
    data: AlertName


class DpeAlertsActivateAnswer(TypedDict):
    data: AlertName


class DpeAlertsHistoryAnswer(TypedDict):
    data: list[DpeRecord]


class DpeAlertsDeliveriesAnswer(TypedDict):
    data: list[Delivery]


class DpeAlertsReplayAnswer(TypedDict):
    data: Replay


class DpeAlertsTestAnswer(TypedDict):
    data: TestedReceiver


class DpeAlertsPreviewAnswer(TypedDict):
    data: DpeAlertsPreviewAnswerData


class DpeAlertsPreviewAnswerData(TypedDict):
    count: int
    """Number of all matches."""
    items: list[DpeRecord]
    """The last matches, newest first."""
