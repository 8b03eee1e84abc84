//! The columns of properties, and of the adverts inside them.

use std::sync::{Arc, LazyLock};

use arrow::array::{Int64Builder, ListArray, RecordBatch, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field};
use arrow::error::ArrowError;

use super::dwelling::dwelling;
use super::rows::{ColumnReader, RecordColumn, RowsBuilder};
use super::shared::{
    HasPrice, HasSeller, columns, placed, push_listing_columns, push_price_columns,
    push_seller_columns,
};
use super::{ADVERTS, Error, ID, RECORD_KEY, properties};
use crate::properties::record_key::RecordKey;
use toise_contract::enums::WireEnum;
use toise_contract::listings::market::LightSeller;
use toise_contract::listings::place::Location;
use toise_contract::listings::price::Price;
use toise_contract::listings::{Property, PropertyAdvert};
use toise_lake::schema::{Column, ColumnKind, ITEM, struct_fields};

impl HasPrice for Property {
    fn price(&self) -> Option<&Price> {
        self.price.as_ref()
    }
}

fn place(property: &Property) -> Option<&Location> {
    property.location.as_ref()
}

impl HasPrice for PropertyAdvert {
    fn price(&self) -> Option<&Price> {
        self.price.as_ref()
    }
}

impl HasSeller for PropertyAdvert {
    fn seller(&self) -> Option<&LightSeller> {
        self.seller.as_ref()
    }
}

static COLUMNS: LazyLock<Vec<RecordColumn<Property>>> = LazyLock::new(|| {
    let mut to = vec![
        RecordColumn::id(ID, |property: &Property| Some(property.flx_id?.0)),
        RecordColumn::category("type", |property| Some(property.class?.as_str())),
        RecordColumn::category("process", |property| Some(property.process?.as_str())),
        RecordColumn::text("title", |property: &Property| property.title.as_deref()).sql_only(),
        RecordColumn::new(
            "tags",
            ColumnReader::List(|property, each| {
                property.tags.iter().for_each(|tag| each(tag));
                Some(())
            }),
        ),
    ];
    columns!(to, Property, flags Some, "", [has_anomaly, is_urgent]);
    placed!(to, Property, place);
    push_listing_columns(&mut to);
    push_price_columns(&mut to);
    dwelling(&mut to);
    to
});

static ADVERT_COLUMNS: LazyLock<Vec<RecordColumn<PropertyAdvert>>> = LazyLock::new(|| {
    let mut to = vec![
        RecordColumn::id(ID, |advert: &PropertyAdvert| Some(advert.flx_id?.0)),
        RecordColumn::category("source", |advert| advert.source.as_deref()),
        RecordColumn::text("url", |advert| advert.url.as_deref()),
        RecordColumn::new(
            "lat",
            ColumnReader::Number(|advert| Some(advert.location?.latitude())),
        ),
        RecordColumn::new(
            "lon",
            ColumnReader::Number(|advert| Some(advert.location?.longitude())),
        ),
        RecordColumn::new(
            "offline_at",
            ColumnReader::Moment(|advert: &PropertyAdvert| {
                Some(advert.offline_at?.get().timestamp_millis())
            }),
        )
        .sql_only(),
    ];
    columns!(to, PropertyAdvert, moments Some, "", [first_seen_at, last_seen_at]);
    columns!(to, PropertyAdvert, flags Some, "", [
        is_online, is_pro, has_anomaly, is_exclusive
    ]);
    push_price_columns(&mut to);
    push_seller_columns(&mut to);
    to
});

/// The fields of the adverts of a property.
static ADVERT_FIELDS: LazyLock<Vec<Column>> =
    LazyLock::new(|| ADVERT_COLUMNS.iter().map(RecordColumn::described).collect());

/// Returns the columns of the table, with the adverts last.
pub(super) fn columns() -> Vec<Column> {
    let mut columns: Vec<Column> = COLUMNS.iter().map(RecordColumn::described).collect();
    columns.push(Column {
        name: RECORD_KEY.into(),
        kind: ColumnKind::Integer,
        filterable: true,
    });
    columns.push(Column {
        name: ADVERTS.into(),
        kind: ColumnKind::Items(&ADVERT_FIELDS),
        filterable: true,
    });
    columns
}

/// Builds rows from properties.
pub struct PropertyRows {
    rows: RowsBuilder<Property>,
    keys: Int64Builder,
    adverts: RowsBuilder<PropertyAdvert>,
    advert_counts: Vec<usize>,
}

impl Default for PropertyRows {
    fn default() -> Self {
        Self {
            rows: RowsBuilder::new(&COLUMNS),
            keys: Int64Builder::new(),
            adverts: RowsBuilder::new(&ADVERT_COLUMNS),
            advert_counts: Vec::new(),
        }
    }
}

impl PropertyRows {
    /// Adds a property with the key of its record in the store.
    ///
    /// # Errors
    /// The property has no identifier.
    pub fn push(&mut self, key: RecordKey, property: &Property) -> Result<(), Error> {
        if property.flx_id.is_none() {
            return Err(Error::NoId);
        }
        self.rows.push(property);
        self.keys.append_value(key.0);
        for advert in &property.adverts {
            self.adverts.push(advert);
        }
        self.advert_counts.push(property.adverts.len());
        Ok(())
    }

    /// Returns the rows added since the last batch, in the schema of [`properties`].
    ///
    /// # Errors
    /// More than 2^31 adverts.
    pub fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        let mut columns = self.rows.finish();
        columns.push(Arc::new(self.keys.finish()));
        let fields = struct_fields(&ADVERT_FIELDS);
        let count = self.adverts.count();
        let adverts =
            StructArray::try_new_with_length(fields.clone(), self.adverts.finish(), None, count)?;
        let offsets = OffsetBuffer::from_lengths(std::mem::take(&mut self.advert_counts));
        let item = Arc::new(Field::new(ITEM, DataType::Struct(fields), true));
        let adverts = ListArray::try_new(item, offsets, Arc::new(adverts), None)?;
        columns.push(Arc::new(adverts));
        RecordBatch::try_new(Arc::clone(properties().arrow()), columns)
    }
}
