//! Places stored sales that have an address but no position, after addresses were imported. A sale gets the position
//! and record that importing it now would give.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Date32Type, Float64Type, Int64Type};

use super::derive::{SaleKind, SaleRecord};
use super::record::{PlaceSources, SaleRow, place_sale, sale_batch};
use crate::placing::PlacedCounts;
use toise_lake::schema::LATITUDE;
use toise_lake::{Error, RowSink};

/// Pushes the stored sales of the given departments that had no position and whose address gives one, with that
/// position. Reads only row groups in which a position is missing.
///
/// # Errors
/// The table cannot be read, or the sink fails.
pub fn place_stored(
    sink: &mut dyn RowSink,
    departments: &[String],
    sources: PlaceSources<'_>,
) -> Result<PlacedCounts, Error> {
    let mut counts = PlacedCounts::default();
    let Some(stored) = sink.stored_rows()? else {
        return Ok(counts);
    };
    stored.without(LATITUDE, departments, &mut |batch| {
        let placed = place_batch(&batch, departments, sources, &mut counts)?;
        sink.push(placed)
    })?;
    Ok(counts)
}

fn place_batch(
    batch: &RecordBatch,
    departments: &[String],
    sources: PlaceSources<'_>,
    counts: &mut PlacedCounts,
) -> Result<RecordBatch, Error> {
    let mut placed = Vec::new();
    for row in 0..batch.num_rows() {
        let Some(mut sale) = read_sale(batch, row) else {
            continue;
        };
        if !departments.contains(&sale.department) {
            continue;
        }
        counts.without_position += 1;
        if let Some(precision) = place_sale(&mut sale, sources.geocoder) {
            counts.placed += 1;
            placed.push(SaleRow::new(sale, Some(precision), sources.iris));
        }
    }
    Ok(sale_batch(&placed)?)
}

/// Reads a row of the table; `None` if it lacks what every sale has.
fn read_sale(batch: &RecordBatch, row: usize) -> Option<SaleRecord> {
    let column = |name: &str| {
        let column = batch.column_by_name(name)?;
        column.is_valid(row).then_some(column)
    };
    let text = |name: &str| Some(column(name)?.as_string_opt::<i32>()?.value(row).to_owned());
    let number = |name: &str| Some(column(name)?.as_primitive_opt::<Float64Type>()?.value(row));
    let integer = |name: &str| Some(column(name)?.as_primitive_opt::<Int64Type>()?.value(row));
    let flag = |name: &str| Some(column(name)?.as_boolean_opt()?.value(row));
    let day = column("transaction_date")?.as_primitive_opt::<Date32Type>()?;
    let parcels = column("parcel_ids").map(|lists| lists.as_list::<i32>().value(row));
    let parcels = parcels
        .as_ref()
        .and_then(|list| list.as_string_opt::<i32>());
    let parcels = parcels.into_iter().flatten().flatten();
    Some(SaleRecord {
        id: text("id")?,
        day: day.value(row),
        transaction_type: text("transaction_type").unwrap_or_default(),
        price_eur: number("price_eur"),
        price_per_m2_living_eur: number("price_per_m2_living_eur"),
        price_per_m2_land_eur: number("price_per_m2_land_eur"),
        surface_m2: number("surface_m2"),
        main_rooms: number("main_rooms"),
        land_surface_m2: number("land_surface_m2"),
        carrez_surface_m2: number("carrez_surface_m2"),
        soil_surface_m2: number("soil_surface_m2"),
        garden_surface_m2: number("garden_surface_m2"),
        kind: SaleKind::parse(&text("property_type")?)?,
        is_new_build: flag("is_new_build")?,
        is_open_market: flag("is_open_market")?,
        address: text("address"),
        postal_code: text("postal_code"),
        insee_code: text("insee_code")?,
        former_insee_code: text("former_insee_code"),
        city: text("city"),
        department: text("departement_code")?,
        position: None,
        parcel_ids: parcels.map(str::to_owned).collect(),
        lots: integer("lots")?,
        rows: integer("rows")?,
        mutation_id: text("mutation_id"),
        mutation_records: integer("mutation_records")?,
        mutation_share: number("mutation_share")?,
        is_sold_together: flag("is_sold_together")?,
    })
}
