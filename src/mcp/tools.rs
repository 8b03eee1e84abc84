//! The tools: the operation behind each, what an agent should know before calling it, and which arguments are preset.
//!
//! Names, parameters and results come from the OpenAPI document; only what helps an agent choose a tool is written
//! here. A tool that does not exist in the document fails a unit test of `catalog`.

use serde_json::{Map, Value, json};

/// Maximum rows of the answer to a query.
pub(crate) const SQL_ROWS_MAX: usize = 1_000;
/// Maximum bytes of the answer to a query.
const SQL_BYTES_MAX: usize = 1024 * 1024;

/// The effect of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    Reads,
    /// Creates something that acts outside the service: an alert posts to a receiver.
    Creates,
}

/// The source of a tool's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arguments {
    /// The parameters and the body of the operation.
    OfOperation,
    /// The name of a table; the body is a query over the information schema.
    OfTables,
}

/// Arguments that are always the same and cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fixed {
    /// None.
    Nothing,
    /// Format and limits of a query.
    Rows,
    /// Format and language of a report.
    Data,
}

impl Fixed {
    /// Returns the parts, by name.
    pub fn parts(self) -> Map<String, Value> {
        let mut parts = Map::new();
        if self == Self::Data {
            parts.insert("format".into(), json!("json"));
            parts.insert("lang".into(), json!("en"));
        }
        if self == Self::Rows {
            let limits = json!({"rows": SQL_ROWS_MAX, "bytes": SQL_BYTES_MAX});
            parts.insert("format".into(), json!("json"));
            parts.insert("compression".into(), json!("none"));
            parts.insert("limits".into(), limits);
        }
        parts
    }
}

/// The definition of a tool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToolDefinition {
    /// Its name.
    pub name: &'static str,
    /// Its title, for people.
    pub title: &'static str,
    /// Identifier of its operation.
    pub operation: &'static str,
    /// Advice for an agent, in addition to summary and description of the operation.
    pub note: &'static str,
    /// The effect of a call.
    pub effect: Effect,
    /// Where its arguments come from.
    pub arguments: Arguments,
    /// Default values of arguments: a JSON object.
    pub defaults: &'static str,
    /// Parts of the body that are always the same.
    pub fixed: Fixed,
}

/// The base of most tools: it reads, takes the arguments of its operation, and presets nothing.
const READING: ToolDefinition = ToolDefinition {
    name: "",
    title: "",
    operation: "",
    note: "",
    effect: Effect::Reads,
    arguments: Arguments::OfOperation,
    defaults: "{}",
    fixed: Fixed::Nothing,
};

/// All tools, in the order in which they are listed.
pub(crate) const TOOLS: [ToolDefinition; 20] = [
    ToolDefinition {
        name: "search_properties",
        title: "Search properties",
        operation: "propertiesSearch",
        note: "Properties are homes, land and parking spaces, merged from adverts on portals. Each is a long record, \
               so ask for only a few with `size`.",
        defaults: r#"{"size":5,"sortBy":"LAST_SEEN_AT","orderBy":"DESC"}"#,
        ..READING
    },
    ToolDefinition {
        name: "get_property",
        title: "Get a property",
        operation: "propertiesGet",
        note: "`flxId` is the `flxId` of a property that another tool returned.",
        ..READING
    },
    ToolDefinition {
        name: "similar_properties",
        title: "Find similar properties",
        operation: "propertiesSimilars",
        defaults: r#"{"size":5}"#,
        ..READING
    },
    ToolDefinition {
        name: "estimate",
        title: "Estimate the value of a home",
        operation: "estimatePropertyLite",
        ..READING
    },
    ToolDefinition {
        name: "estimate_rent",
        title: "Estimate the rent and gross yield of a home",
        operation: "estimateRent",
        ..READING
    },
    ToolDefinition {
        name: "home_report",
        title: "Report of a home",
        operation: "reportsHome",
        note: "Everything known about one home in one answer: value, comparable sales, prices over time, diagnostics of the \
               building, sales of the parcel, market, layers. Prefer it to several calls of other tools.",
        fixed: Fixed::Data,
        ..READING
    },
    ToolDefinition {
        name: "parcel_history",
        title: "History of a parcel",
        operation: "parcelHistory",
        note: "Sales name their parcels in `parcel_ids`.",
        defaults: r#"{"size":5}"#,
        ..READING
    },
    ToolDefinition {
        name: "building_history",
        title: "History of a building",
        operation: "buildingHistory",
        note: "Diagnostics name their building in `id_rnb`.",
        defaults: r#"{"size":5}"#,
        ..READING
    },
    ToolDefinition {
        name: "geocode",
        title: "Geocode an address",
        operation: "geocodingSearch",
        defaults: r#"{"limit":5,"autocomplete":0}"#,
        ..READING
    },
    ToolDefinition {
        name: "search_sales",
        title: "Search recorded sales",
        operation: "dvfSearch",
        note: "Sales recorded by the tax office (DVF), with their prices.",
        defaults: r#"{"size":10}"#,
        ..READING
    },
    ToolDefinition {
        name: "search_diagnostics",
        title: "Search energy diagnostics",
        operation: "dpeSearch",
        note: "Energy performance diagnostics of homes (DPE). Each is a long record, so ask for only a few with \
               `size`.",
        defaults: r#"{"size":3}"#,
        ..READING
    },
    ToolDefinition {
        name: "match_diagnostic",
        title: "Match the energy diagnostic of a home",
        operation: "dpeMatch",
        defaults: r#"{"size":3}"#,
        ..READING
    },
    ToolDefinition {
        name: "price_level",
        title: "Price level and market indicators",
        operation: "analyticsMarket",
        note: "Name the places in `location`: without them the answer covers the whole country and may be too long.",
        ..READING
    },
    ToolDefinition {
        name: "list_portfolios",
        title: "List portfolios of homes",
        operation: "portfoliosList",
        ..READING
    },
    ToolDefinition {
        name: "get_portfolio",
        title: "Get a portfolio of homes",
        operation: "portfoliosGet",
        note: "With `changesSince`, only the homes that changed since, and sums over them. `size` 0 returns the sums \
               alone.",
        defaults: r#"{"size":10}"#,
        ..READING
    },
    ToolDefinition {
        name: "preview_alert",
        title: "Preview an alert",
        operation: "propertyAlertsPreview",
        note: "Previews only; creates no alert.",
        ..READING
    },
    ToolDefinition {
        name: "create_alert",
        title: "Create an alert",
        operation: "propertyAlertsCreate",
        note: "Calling it twice creates two alerts. Preview first, and create only what a person asked for.",
        effect: Effect::Creates,
        ..READING
    },
    ToolDefinition {
        name: "list_alert_deliveries",
        title: "List deliveries of an alert",
        operation: "propertyAlertsDeliveries",
        ..READING
    },
    ToolDefinition {
        name: "sql",
        title: "Run a read-only SQL query",
        operation: "sql",
        note: "One read-only statement, in the SQL of DataFusion, with many functions and clauses of DuckDB. All tables \
               are read as they are at one moment. The answer may have at most 1,000 rows and 1 MiB. A query with a \
               larger answer fails, so name the columns, aggregate or add `limit`. A fault is reported with its line \
               and column. Call `describe_tables` first.",
        fixed: Fixed::Rows,
        ..READING
    },
    ToolDefinition {
        name: "describe_tables",
        title: "Describe the SQL tables",
        operation: "sql",
        note: "Returns the columns, with their types, of each table that the tool `sql` reads. It runs a query of \
               `sql` and needs the same scope.",
        arguments: Arguments::OfTables,
        fixed: Fixed::Rows,
        ..READING
    },
];

/// The query of `describe_tables`; its parameter is the name of a table, or empty for all.
pub(crate) const TABLES_QUERY: &str = "\
select table_name, array_agg(column_name || ' ' || data_type order by ordinal_position) as columns \
from information_schema.columns where table_schema = 'public' and ($1 = '' or table_name = $1) \
group by table_name order by table_name";
