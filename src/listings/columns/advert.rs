//! The columns of adverts.

use std::sync::{Arc, LazyLock};

use arrow::array::RecordBatch;
use arrow::error::ArrowError;

use super::dwelling::dwelling;
use super::rows::{ColumnReader, RecordColumn, RowsBuilder};
use super::shared::{HasSeller, columns, placed, push_listing_columns, push_seller_columns};
use super::{Error, ID, adverts};
use toise_contract::enums::WireEnum;
use toise_contract::listings::Advert;
use toise_contract::listings::market::LightSeller;
use toise_contract::listings::place::AdLocation;
use toise_contract::listings::price::AdvertPrice;
use toise_lake::schema::Column;

impl HasSeller for Advert {
    fn seller(&self) -> Option<&LightSeller> {
        self.seller.as_ref()
    }
}

fn place(advert: &Advert) -> Option<&AdLocation> {
    advert.location.as_ref()
}

fn current_price(advert: &Advert) -> Option<&AdvertPrice> {
    advert.current_price.as_ref()
}

static COLUMNS: LazyLock<Vec<RecordColumn<Advert>>> = LazyLock::new(|| {
    let mut to = vec![
        RecordColumn::id(ID, |advert: &Advert| Some(advert.flx_id?.0)),
        RecordColumn::id("property_flx_id", |advert| Some(advert.property_flx_id?.0)),
        RecordColumn::id("main_property_ad_flx_id", |advert| {
            Some(advert.main_property_ad_flx_id?.0)
        }),
        RecordColumn::category("type", |advert| Some(advert.class?.as_str())),
        RecordColumn::category("source", |advert| advert.source.as_deref()),
        RecordColumn::text("url", |advert| advert.url.as_deref()),
        RecordColumn::text("title", |advert: &Advert| advert.title.as_deref()).sql_only(),
        RecordColumn::new(
            "tags",
            ColumnReader::List(|advert, each| {
                advert.tags.iter().for_each(|tag| each(tag));
                Some(())
            }),
        ),
    ];
    columns!(to, Advert, values Some, "", [currency, process, scope]);
    columns!(to, Advert, flags Some, "", [
        has_anomaly, is_auction, is_exclusive, is_online, is_pro, is_urgent
    ]);
    columns!(to, Advert, moments Some, "", [first_seen_at, last_modified_at, last_seen_at]);
    columns!(to, Advert, numbers Some, "", [warranty_deposit]);
    columns!(to, Advert, numbers current_price, "current_price_", [value, value_per_area]);
    placed!(to, Advert, place);
    push_listing_columns(&mut to);
    push_seller_columns(&mut to);
    dwelling(&mut to);
    to
});

/// Returns the columns of the table.
pub(super) fn columns() -> Vec<Column> {
    COLUMNS.iter().map(RecordColumn::described).collect()
}

/// Builds rows from adverts.
pub struct AdvertRows {
    rows: RowsBuilder<Advert>,
}

impl Default for AdvertRows {
    fn default() -> Self {
        Self {
            rows: RowsBuilder::new(&COLUMNS),
        }
    }
}

impl AdvertRows {
    /// Adds an advert.
    ///
    /// # Errors
    /// The advert has no identifier.
    pub fn push(&mut self, advert: &Advert) -> Result<(), Error> {
        if advert.flx_id.is_none() {
            return Err(Error::NoId);
        }
        self.rows.push(advert);
        Ok(())
    }

    /// Returns the rows added since the last batch, in the schema of [`adverts`].
    ///
    /// # Errors
    /// None with these columns, but Arrow checks them.
    pub fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        RecordBatch::try_new(Arc::clone(adverts().arrow()), self.rows.finish())
    }
}
