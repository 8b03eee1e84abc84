//! Columns that both records have: what is offered, since when, land, parking places, prices, sellers.

use super::rows::{ColumnOf, Read};
use toise_contract::enums::WireEnum;
use toise_contract::listings::habitation::TypeHabitation;
use toise_contract::listings::land::{TypeLand, TypeParking};
use toise_contract::listings::market::{LightSeller, Meta, Offer, OfferRentingContract};
use toise_contract::listings::price::{Price, PropertyPrice, Source, Variation};
use toise_contract::listings::{Advert, Property};

/// The parts properties and adverts have in common.
pub(super) trait Listed {
    fn habitation(&self) -> Option<&TypeHabitation>;
    fn land(&self) -> Option<&TypeLand>;
    fn meta(&self) -> Option<&Meta>;
    fn offer(&self) -> Option<&Offer>;
    fn parking(&self) -> Option<&TypeParking>;
}

/// Both records have these parts as fields of the same names.
macro_rules! listed_by_fields {
    ($($of:ident),+) => {$(
        impl Listed for $of {
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

/// What has a price with a first and a last state.
pub(super) trait Priced {
    fn price(&self) -> Option<&Price>;
}

/// What has a seller.
pub(super) trait Sold {
    fn seller(&self) -> Option<&LightSeller>;
}

/// Pushes one column for each field named, after a prefix.
macro_rules! columns {
    ($to:ident, $of:ident, numbers $part:expr, $prefix:literal, [$($field:ident),+]) => {$(
        $to.push(ColumnOf::new(concat!($prefix, stringify!($field)), Read::Number(|record: &$of| {
            $part(record)?.$field.map(|value| value.get())
        })));
    )+};
    ($to:ident, $of:ident, wholes $part:expr, $prefix:literal, [$($field:ident),+]) => {$(
        $to.push(ColumnOf::new(concat!($prefix, stringify!($field)), Read::Whole(|record: &$of| {
            // Counts, storeys and years are whole and far below 2^31.
            $part(record)?.$field.map(|value| value.get() as i32)
        })));
    )+};
    ($to:ident, $of:ident, moments $part:expr, $prefix:literal, [$($field:ident),+]) => {$(
        $to.push(ColumnOf::new(concat!($prefix, stringify!($field)), Read::Moment(|record: &$of| {
            $part(record)?.$field.map(|moment| moment.get().timestamp_millis())
        })));
    )+};
    ($to:ident, $of:ident, flags $part:expr, $prefix:literal, [$($field:ident),+]) => {$(
        $to.push(ColumnOf::new(concat!($prefix, stringify!($field)), Read::Flag(|record: &$of| {
            $part(record)?.$field
        })));
    )+};
    ($to:ident, $of:ident, values $part:expr, $prefix:literal, [$($field:ident),+]) => {$(
        $to.push(ColumnOf::new(concat!($prefix, stringify!($field)), Read::Category(|record: &$of| {
            $part(record)?.$field.map(|value| value.as_str())
        })));
    )+};
    ($to:ident, $of:ident, codes $part:expr, $prefix:literal, [$($field:ident),+]) => {$(
        $to.push(ColumnOf::new(concat!($prefix, stringify!($field)), Read::Category(|record: &$of| {
            $part(record)?.$field.as_ref().map(|code| code.as_str())
        })));
    )+};
    ($to:ident, $of:ident, lists $part:expr, $prefix:literal, [$($field:ident),+]) => {$(
        $to.push(ColumnOf::new(concat!($prefix, stringify!($field)), Read::List(|record: &$of, each| {
            $part(record)?.$field.iter().for_each(|value| each(value.as_str()));
            Some(())
        })));
    )+};
}

pub(super) use columns;

/// Land, parking places, what is offered and since when.
pub(super) fn listed<R: Listed + 'static>(to: &mut Vec<ColumnOf<R>>) {
    columns!(to, R, flags R::land, "land_", [
        can_construct, has_building_permit, has_electricity, has_telecom, has_water, is_serviced
    ]);
    columns!(to, R, numbers R::land, "land_", [surface, surface_constructable]);
    to.push(ColumnOf::new(
        "land_type",
        Read::Category(|record| Some(record.land()?.land_type?.as_str())),
    ));
    columns!(to, R, wholes R::parking, "parking_", [count, number_of_cars]);
    columns!(to, R, numbers R::parking, "parking_", [surface]);
    to.push(ColumnOf::new(
        "parking_type",
        Read::Category(|record| Some(record.parking()?.parking_type?.as_str())),
    ));
    columns!(to, R, moments R::meta, "meta_", [
        first_seen_at, last_published_at, last_seen_at, last_updated_at
    ]);
    columns!(to, R, flags R::meta, "meta_", [is_totally_offline]);
    to.push(
        ColumnOf::new(
            "meta_totally_offline_at",
            Read::Moment(|record: &R| {
                let moment = record.meta()?.totally_offline_at?;
                Some(moment.get().timestamp_millis())
            }),
        )
        .shown_only(),
    );
    columns!(to, R, flags R::offer, "offer_", [is_currently_occupied]);
    columns!(to, R, flags renting, "offer_renting_", [
        is_colocation, is_long_term, is_short_term, is_sub_lease
    ]);
    to.push(ColumnOf::new(
        "offer_type",
        Read::Category(|record| Some(record.offer()?.offer_type?.as_str())),
    ));
}

fn renting<R: Listed>(record: &R) -> Option<&OfferRentingContract> {
    record.offer()?.renting.as_ref()
}

/// The price, first and last, and how it moved.
pub(super) fn priced<R: Priced + 'static>(to: &mut Vec<ColumnOf<R>>) {
    columns!(to, R, values R::price, "price_", [currency, scope]);
    columns!(to, R, flags R::price, "price_", [is_auction]);
    columns!(to, R, numbers R::price, "price_", [warranty_deposit]);
    columns!(to, R, numbers initial, "price_initial_", [value, value_per_area]);
    columns!(to, R, numbers latest, "price_latest_", [value, value_per_area]);
    columns!(to, R, numbers variation, "price_variation_", [since_last_modified, since_published]);
    let shown = to.len();
    columns!(to, R, numbers variation, "price_variation_", [
        absolute_since_last_modified, absolute_since_published
    ]);
    to[shown..]
        .iter_mut()
        .for_each(|column| column.filterable = false);
    to.extend([
        ColumnOf::new(
            "price_initial_source_flx_id",
            Read::Id(|record| Some(initial_source(record)?.flx_id?.0)),
        ),
        ColumnOf::new(
            "price_initial_source_url",
            Read::Text(|record| initial_source(record)?.url.as_deref()),
        ),
        ColumnOf::new(
            "price_initial_source_website",
            Read::Category(|record| initial_source(record)?.website.as_deref()),
        ),
        ColumnOf::new(
            "price_latest_source_flx_id",
            Read::Id(|record| Some(latest_source(record)?.flx_id?.0)),
        ),
        ColumnOf::new(
            "price_latest_source_url",
            Read::Text(|record| latest_source(record)?.url.as_deref()),
        ),
        ColumnOf::new(
            "price_latest_source_website",
            Read::Category(|record| latest_source(record)?.website.as_deref()),
        ),
    ]);
}

fn initial<R: Priced>(record: &R) -> Option<&PropertyPrice> {
    record.price()?.initial.as_ref()
}

fn latest<R: Priced>(record: &R) -> Option<&PropertyPrice> {
    record.price()?.latest.as_ref()
}

fn variation<R: Priced>(record: &R) -> Option<&Variation> {
    record.price()?.variation.as_ref()
}

fn initial_source<R: Priced>(record: &R) -> Option<&Source> {
    initial(record)?.source.as_ref()
}

fn latest_source<R: Priced>(record: &R) -> Option<&Source> {
    latest(record)?.source.as_ref()
}

/// Who sells.
pub(super) fn sold<R: Sold + 'static>(to: &mut Vec<ColumnOf<R>>) {
    to.extend([
        ColumnOf::new(
            "seller_flx_id",
            Read::CategoryId(|record: &R| Some(record.seller()?.flx_id?.0)),
        ),
        ColumnOf::new(
            "seller_name",
            Read::Category(|record| record.seller()?.name.as_deref()),
        ),
        ColumnOf::new(
            "seller_type",
            Read::Category(|record| Some(record.seller()?.seller_type?.as_str())),
        ),
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
            ColumnOf::new(
                "location_city",
                Read::Category(|record: &$of| $place(record)?.city.as_deref()),
            )
            .shown_only(),
        );
        $to.push(ColumnOf::new("lat", Read::Number(|record: &$of| {
            let at = $place(record)?.location_coordinate.as_ref()?;
            Some(at.location?.latitude())
        })));
        $to.push(ColumnOf::new("lon", Read::Number(|record: &$of| {
            let at = $place(record)?.location_coordinate.as_ref()?;
            Some(at.location?.longitude())
        })));
        $to.push(ColumnOf::new("city_lat", Read::Number(|record: &$of| {
            let at = $place(record)?.city_coordinate.as_ref()?;
            Some(at.location?.latitude())
        })));
        $to.push(ColumnOf::new("city_lon", Read::Number(|record: &$of| {
            let at = $place(record)?.city_coordinate.as_ref()?;
            Some(at.location?.longitude())
        })));
    };
}

pub(super) use placed;
