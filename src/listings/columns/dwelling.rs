//! The columns of a dwelling, for properties and adverts.

use super::rows::{ColumnReader, RecordColumn};
use super::shared::{ListingRecord, columns};
use toise_contract::enums::WireEnum;
use toise_contract::listings::habitation::{
    Characteristics, Climate, Features, PropertyCondition, Surface,
};
use toise_contract::listings::scalars::Floor;

/// Pushes every column of a dwelling.
pub(super) fn dwelling<R: ListingRecord + 'static>(to: &mut Vec<RecordColumn<R>>) {
    columns!(to, R, wholes R::habitation, "habitation_", [
        bathroom_count, bedroom_count, room_count, wc_count
    ]);
    to.push(RecordColumn::new(
        "habitation_floor",
        ColumnReader::Whole(|record| storey(record.habitation()?.floor, inner_floor(record))),
    ));
    to.push(RecordColumn::new(
        "habitation_features_property_floor",
        ColumnReader::Whole(|record| storey(inner_floor(record), record.habitation()?.floor)),
    ));
    columns!(to, R, lists R::habitation, "habitation_", [heat_types, heat_type_details, heatings]);
    to.push(RecordColumn::new(
        "habitation_type",
        ColumnReader::List(|record, each| {
            let types = &record.habitation()?.types;
            types.iter().for_each(|value| each(value.as_str()));
            Some(())
        }),
    ));
    columns!(to, R, numbers surface, "habitation_surface_", [
        balconies, floor_space, gardens, ground_floor, kitchen, living_space, living_room, terraces, total
    ]);
    columns!(to, R, values climate, "habitation_climate_", [epc_climate, epc_energy]);
    columns!(to, R, numbers climate, "habitation_climate_", [epc_climate_score]);
    columns!(to, R, numbers climate, "habitation_climate_", [epc_energy_score]);
    columns!(to, R, moments climate, "habitation_climate_", [epc_climate_date, epc_energy_date]);
    columns!(to, R, values features, "habitation_features_", [exposure, furniture]);
    columns!(to, R, wholes features, "habitation_features_", [property_total_floor]);
    columns!(to, R, flags features, "habitation_features_", [has_through_exposure]);
    columns!(to, R, lists features, "habitation_features_", [
        construction_materials, glazing_types, view_ons, view_types
    ]);
    columns!(to, R, wholes condition, "habitation_property_condition_", [
        construction_year, renovation_year
    ]);
    columns!(to, R, values condition, "habitation_property_condition_", [interior_condition]);
    columns!(to, R, lists condition, "habitation_property_condition_", [general_conditions]);
    columns!(to, R, flags characteristics, "habitation_characteristics_", [
        has_alarm, has_balcony, has_cellar, has_concierge, has_digicode, has_fireplace, has_garage, has_garden,
        has_grenier, has_interphone, has_jacuzzi, has_land, has_lift, has_mezzanine, has_parking, has_pool,
        has_terrace, has_vis_a_vis, is_peaceful
    ]);
}

/// Returns the floor from the first of its two fields that has a value.
fn storey(own: Option<Floor>, other: Option<Floor>) -> Option<i32> {
    own.or(other).map(|floor| floor.get() as i32)
}

fn inner_floor<R: ListingRecord>(record: &R) -> Option<Floor> {
    features(record)?.property_floor
}

fn surface<R: ListingRecord>(record: &R) -> Option<&Surface> {
    record.habitation()?.surface.as_ref()
}

fn climate<R: ListingRecord>(record: &R) -> Option<&Climate> {
    record.habitation()?.climate.as_ref()
}

fn features<R: ListingRecord>(record: &R) -> Option<&Features> {
    record.habitation()?.features.as_ref()
}

fn condition<R: ListingRecord>(record: &R) -> Option<&PropertyCondition> {
    record.habitation()?.property_condition.as_ref()
}

fn characteristics<R: ListingRecord>(record: &R) -> Option<&Characteristics> {
    record.habitation()?.characteristics.as_ref()
}
