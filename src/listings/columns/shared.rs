//! The columns that properties and adverts share: offer, timestamps, land, parking places, prices, sellers.

use super::rows::{ColumnReader, RecordColumn};
use toise_contract::enums::WireEnum;
use toise_contract::listings::habitation::TypeHabitation;
use toise_contract::listings::land::{TypeLand, TypeParking};
use toise_contract::listings::market::{LightSeller, Meta, Offer, OfferRentingContract};
use toise_contract::listings::price::{Price, PropertyPrice, Source, Variation};
use toise_contract::listings::{Advert, Property};

/// The parts properties and adverts have in common.
pub(super) trait ListingRecord {
    fn habitation(&self) -> Option<&TypeHabitation>;
    fn land(&self) -> Option<&TypeLand>;
    fn meta(&self) -> Option<&Meta>;
    fn offer(&self) -> Option<&Offer>;
    fn parking(&self) -> Option<&TypeParking>;
}

/// Implements [`ListingRecord`] for records whose fields have the names of the parts.
macro_rules! listed_by_fields {
    ($($of:ident),+) => {$(
        impl ListingRecord for $of {
            listed_by_fields!(@parts habitation: TypeHabitation, land: TypeLand, meta: Meta, offer: Offer,
                parking: TypeParking);
        }
    )+};
    (@parts $($part:ident: $kind:ident),+) => {$(
        fn $part(&self) -> Option<&$kind> {
            self.$part.as_ref()
        }
    )+};
}

listed_by_fields!(Property, Advert);

/// A record with an initial and a latest price.
pub(super) trait HasPrice {
    fn price(&self) -> Option<&Price>;
}

/// A record with a seller.
pub(super) trait HasSeller {
    fn seller(&self) -> Option<&LightSeller>;
}

/// Pushes one column per field, named by a prefix and the field.
macro_rules! columns {
    ($to:ident, $of:ident, numbers $part:expr, $prefix:literal, [$($field:ident),+]) => {$(
        $to.push(RecordColumn::new(concat!($prefix, stringify!($field)), ColumnReader::Number(|record: &$of| {
            $part(record)?.$field.map(|value| value.get())
        })));
    )+};
    ($to:ident, $of:ident, wholes $part:expr, $prefix:literal, [$($field:ident),+]) => {$(
        $to.push(RecordColumn::new(concat!($prefix, stringify!($field)), ColumnReader::Whole(|record: &$of| {
            // Counts, storeys and years are whole and far below 2^31.
            $part(record)?.$field.map(|value| value.get() as i32)
        })));
    )+};
    ($to:ident, $of:ident, moments $part:expr, $prefix:literal, [$($field:ident),+]) => {$(
        $to.push(RecordColumn::new(concat!($prefix, stringify!($field)), ColumnReader::Moment(|record: &$of| {
            $part(record)?.$field.map(|moment| moment.get().timestamp_millis())
        })));
    )+};
    ($to:ident, $of:ident, flags $part:expr, $prefix:literal, [$($field:ident),+]) => {$(
        $to.push(RecordColumn::new(concat!($prefix, stringify!($field)), ColumnReader::Flag(|record: &$of| {
            $part(record)?.$field
        })));
    )+};
    ($to:ident, $of:ident, values $part:expr, $prefix:literal, [$($field:ident),+]) => {$(
        $to.push(RecordColumn::new(concat!($prefix, stringify!($field)), ColumnReader::Category(|record: &$of| {
            $part(record)?.$field.map(|value| value.as_str())
        })));
    )+};
    ($to:ident, $of:ident, codes $part:expr, $prefix:literal, [$($field:ident),+]) => {$(
        $to.push(RecordColumn::new(concat!($prefix, stringify!($field)), ColumnReader::Category(|record: &$of| {
            $part(record)?.$field.as_ref().map(|code| code.as_str())
        })));
    )+};
    ($to:ident, $of:ident, lists $part:expr, $prefix:literal, [$($field:ident),+]) => {$(
        $to.push(RecordColumn::new(concat!($prefix, stringify!($field)), ColumnReader::List(|record: &$of, each| {
            $part(record)?.$field.iter().for_each(|value| each(value.as_str()));
            Some(())
        })));
    )+};
}

pub(super) use columns;

/// Pushes the columns of land, parking places, timestamps and offer.
pub(super) fn push_listing_columns<R: ListingRecord + 'static>(to: &mut Vec<RecordColumn<R>>) {
    columns!(to, R, flags R::land, "land_", [
        can_construct, has_building_permit, has_electricity, has_telecom, has_water, is_serviced
    ]);
    columns!(to, R, numbers R::land, "land_", [surface, surface_constructable]);
    to.push(RecordColumn::category("land_type", |record| {
        Some(record.land()?.land_type?.as_str())
    }));
    columns!(to, R, wholes R::parking, "parking_", [count, number_of_cars]);
    columns!(to, R, numbers R::parking, "parking_", [surface]);
    to.push(RecordColumn::category("parking_type", |record| {
        Some(record.parking()?.parking_type?.as_str())
    }));
    columns!(to, R, moments R::meta, "meta_", [
        first_seen_at, last_published_at, last_seen_at, last_updated_at
    ]);
    columns!(to, R, flags R::meta, "meta_", [is_totally_offline]);
    to.push(
        RecordColumn::new(
            "meta_totally_offline_at",
            ColumnReader::Moment(|record: &R| {
                let moment = record.meta()?.totally_offline_at?;
                Some(moment.get().timestamp_millis())
            }),
        )
        .sql_only(),
    );
    columns!(to, R, flags R::offer, "offer_", [is_currently_occupied]);
    columns!(to, R, flags renting, "offer_renting_", [
        is_colocation, is_long_term, is_short_term, is_sub_lease
    ]);
    to.push(RecordColumn::category("offer_type", |record| {
        Some(record.offer()?.offer_type?.as_str())
    }));
}

fn renting<R: ListingRecord>(record: &R) -> Option<&OfferRentingContract> {
    record.offer()?.renting.as_ref()
}

/// Pushes the columns of the initial price, the latest price and their variation.
pub(super) fn push_price_columns<R: HasPrice + 'static>(to: &mut Vec<RecordColumn<R>>) {
    columns!(to, R, values R::price, "price_", [currency, scope]);
    columns!(to, R, flags R::price, "price_", [is_auction]);
    columns!(to, R, numbers R::price, "price_", [warranty_deposit]);
    columns!(to, R, numbers initial, "price_initial_", [value, value_per_area]);
    columns!(to, R, numbers latest, "price_latest_", [value, value_per_area]);
    columns!(to, R, numbers variation, "price_variation_", [since_last_modified, since_published]);
    let sql_only_from = to.len();
    columns!(to, R, numbers variation, "price_variation_", [
        absolute_since_last_modified, absolute_since_published
    ]);
    to[sql_only_from..]
        .iter_mut()
        .for_each(|column| column.filterable = false);
    to.extend([
        RecordColumn::id("price_initial_source_flx_id", |record| {
            Some(initial_source(record)?.flx_id?.0)
        }),
        RecordColumn::text("price_initial_source_url", |record| {
            initial_source(record)?.url.as_deref()
        }),
        RecordColumn::category("price_initial_source_website", |record| {
            initial_source(record)?.website.as_deref()
        }),
        RecordColumn::id("price_latest_source_flx_id", |record| {
            Some(latest_source(record)?.flx_id?.0)
        }),
        RecordColumn::text("price_latest_source_url", |record| {
            latest_source(record)?.url.as_deref()
        }),
        RecordColumn::category("price_latest_source_website", |record| {
            latest_source(record)?.website.as_deref()
        }),
    ]);
}

fn initial<R: HasPrice>(record: &R) -> Option<&PropertyPrice> {
    record.price()?.initial.as_ref()
}

fn latest<R: HasPrice>(record: &R) -> Option<&PropertyPrice> {
    record.price()?.latest.as_ref()
}

fn variation<R: HasPrice>(record: &R) -> Option<&Variation> {
    record.price()?.variation.as_ref()
}

fn initial_source<R: HasPrice>(record: &R) -> Option<&Source> {
    initial(record)?.source.as_ref()
}

fn latest_source<R: HasPrice>(record: &R) -> Option<&Source> {
    latest(record)?.source.as_ref()
}

/// Pushes the columns of the seller.
pub(super) fn push_seller_columns<R: HasSeller + 'static>(to: &mut Vec<RecordColumn<R>>) {
    to.extend([
        RecordColumn::new(
            "seller_flx_id",
            ColumnReader::CategoryId(|record: &R| Some(record.seller()?.flx_id?.0)),
        ),
        RecordColumn::category("seller_name", |record| record.seller()?.name.as_deref()),
        RecordColumn::category("seller_type", |record| {
            Some(record.seller()?.seller_type?.as_str())
        }),
    ]);
    columns!(to, R, codes R::seller, "seller_", [siren]);
}

/// Pushes the columns of the place that `$place` finds in a record; properties and adverts name its type differently.
macro_rules! placed {
    ($to:ident, $of:ident, $place:ident) => {
        columns!($to, $of, codes $place, "location_", [
            department, insee_code, iris_code, postal_code
        ]);
        $to.push(
            RecordColumn::category("location_city", |record: &$of| $place(record)?.city.as_deref())
            .sql_only(),
        );
        $to.push(RecordColumn::new("lat", ColumnReader::Number(|record: &$of| {
            let at = $place(record)?.location_coordinate.as_ref()?;
            Some(at.location?.latitude())
        })));
        $to.push(RecordColumn::new("lon", ColumnReader::Number(|record: &$of| {
            let at = $place(record)?.location_coordinate.as_ref()?;
            Some(at.location?.longitude())
        })));
        $to.push(RecordColumn::new("city_lat", ColumnReader::Number(|record: &$of| {
            let at = $place(record)?.city_coordinate.as_ref()?;
            Some(at.location?.latitude())
        })));
        $to.push(RecordColumn::new("city_lon", ColumnReader::Number(|record: &$of| {
            let at = $place(record)?.city_coordinate.as_ref()?;
            Some(at.location?.longitude())
        })));
    };
}

pub(super) use placed;
