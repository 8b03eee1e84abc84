//! Prices of an asset, their changes, and additional charges.

use super::codes::FlxId;
use super::record::record;
use super::scalars::{Eur, EurChange, EurPerSquareMetre, Percent};
use crate::enums::{EnumCurrency, EnumPricingScope};

record! {
    /// Price of a property, or of an advert of it.
    #[derive(Default)]
    Price {
        /// Currency of all amounts; CURRENCY_EUR unless stated otherwise.
        currency: Option<EnumCurrency>,
        /// Price of the property's first advert.
        initial: Option<PropertyPrice>,
        /// Whether the price is the starting bid of an auction.
        is_auction: Option<bool>,
        /// Price of the property's last advert.
        latest: Option<PropertyPrice>,
        /// Whether amounts are paid once or every month: PRICING_ONE_OFF, or PRICING_MENSUAL for rents.
        scope: Option<EnumPricingScope>,
        /// Deposit of a rent, EUR, from 0.
        warranty_deposit: Option<Eur>,
        /// How the price changed.
        variation: Option<Variation>,
        /// Charges in addition to the price.
        charges: Option<Charges>,
    }
}

record! {
    /// An amount and the listing that states it.
    #[derive(Default)]
    PropertyPrice {
        /// Listing that the amount comes from.
        source: Option<Source>,
        /// Amount, EUR, from 0; per month for rents.
        value: Option<Eur>,
        /// Amount per square metre of habitable area, EUR, from 0; for land, per square metre of land.
        value_per_area: Option<EurPerSquareMetre>,
    }
}

record! {
    /// How a price changed.
    #[derive(Default)]
    Variation {
        /// Change from the price before the last change, percent, from -100; below 0 if it fell.
        since_last_modified: Option<Percent>,
        /// Change from the first price, percent, from -100; below 0 if it fell.
        since_published: Option<Percent>,
        /// Change from the price before the last change, EUR; below 0 if it fell.
        absolute_since_last_modified: Option<EurChange>,
        /// Change from the first price, EUR; below 0 if it fell.
        absolute_since_published: Option<EurChange>,
    }
}

record! {
    /// Price of an advert.
    #[derive(Default)]
    AdvertPrice {
        /// Amount, EUR, from 0; per month for rents; absent if the price is given only on request.
        value: Option<Eur>,
        /// Amount per square metre of habitable area, EUR, from 0; for land, per square metre of land.
        value_per_area: Option<EurPerSquareMetre>,
        /// Amount without the agency's fees, if the buyer pays them, EUR, from 0.
        net_value: Option<Eur>,
        /// The agency's fees, EUR, from 0.
        fees: Option<Eur>,
    }
}

record! {
    /// A listing on a portal.
    #[derive(Default)]
    Source {
        /// Identifier of the advert.
        flx_id: Option<FlxId>,
        /// URL of the listing.
        url: Option<String>,
        /// The portal, as a host name.
        website: Option<String>,
    }
}

record! {
    /// Charges and taxes of an asset.
    #[derive(Default)]
    Charges {
        /// Condominium fees, EUR per year, from 0.
        yearly_condonium_fees: Option<Eur>,
        /// Electricity, EUR per year, from 0.
        yearly_electricity_fees: Option<Eur>,
        /// Heating, EUR per year, from 0.
        yearly_heating_fees: Option<Eur>,
        /// Property tax, EUR per year, from 0.
        yearly_housing_tax: Option<Eur>,
        /// Residence tax, EUR per year, from 0.
        yearly_living_tax: Option<Eur>,
        /// Charges paid by the tenant, EUR per year, from 0.
        yearly_rental_fees: Option<Eur>,
        /// Supplement on top of a controlled rent, EUR per month, from 0.
        monthly_rent_supplement: Option<Eur>,
    }
}
