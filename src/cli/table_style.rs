//! The style of the tables that commands print.

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{Table, TableComponent};

/// Creates an empty table in the style of every command: lines around the header only.
pub fn table() -> Table {
    let mut table = Table::new();
    table
        .load_preset(UTF8_HORIZONTAL_ONLY)
        .remove_style(TableComponent::HorizontalLines)
        .remove_style(TableComponent::MiddleIntersections)
        .remove_style(TableComponent::LeftBorderIntersections)
        .remove_style(TableComponent::RightBorderIntersections);
    table
}
