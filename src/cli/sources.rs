//! Arguments with the addresses of the official sources, for `import`, `refresh` and `start`.

use clap::Args;

use toise_app::refresh::OfficialPlaces;
use toise_sources::sales::SalesPlaces;
use toise_sources::{addresses, catalogue, diagnostics, sales};

/// Where sales are fetched from.
#[derive(Args, Clone, Debug)]
pub(super) struct SalesPlaceArgs {
    /// Address of the catalogue's API, which is asked first [default: https://www.data.gouv.fr/api/1]
    #[arg(long, env = "TOISE_DVF_CATALOGUE", value_name = "URL")]
    dvf_catalogue: Option<String>,
    /// Address of the folder tree; without --dvf-catalogue, the catalogue is then not asked [default:
    /// https://files.data.gouv.fr/geo-dvf]
    #[arg(long, env = "TOISE_DVF_BASE", value_name = "URL")]
    dvf_base: Option<String>,
    /// Address of a mirror of the folder tree, asked if catalogue and folder tree fail
    #[arg(long, env = "TOISE_DVF_MIRROR", value_name = "URL")]
    dvf_mirror: Option<String>,
}

impl SalesPlaceArgs {
    /// Returns the places to ask.
    pub(super) fn places(&self) -> SalesPlaces {
        let asks_catalogue = self.dvf_base.is_none();
        let catalogue = self.dvf_catalogue.clone();
        let base = self.dvf_base.clone();
        SalesPlaces {
            catalogue: catalogue
                .or_else(|| asks_catalogue.then(|| catalogue::CATALOGUE_BASE.to_owned())),
            tree: base.unwrap_or_else(|| sales::DVF_BASE.to_owned()),
            mirror: self.dvf_mirror.clone(),
        }
    }
}

/// Where diagnostics are fetched from.
#[derive(Args, Clone, Debug)]
pub(super) struct DiagnosticsPlaceArgs {
    /// Address of the official source of diagnostics, or of a mirror
    #[arg(long, env = "TOISE_DPE_BASE", default_value = diagnostics::DPE_BASE, value_name = "URL")]
    pub dpe_base: String,
}

/// Where addresses are fetched from.
#[derive(Args, Clone, Debug)]
pub(super) struct AddressesPlaceArgs {
    /// Address of the official source of addresses, or of a mirror
    #[arg(long, env = "TOISE_BAN_BASE", default_value = addresses::BAN_BASE, value_name = "URL")]
    pub ban_base: String,
}

/// Where the three sources are.
#[derive(Args, Clone, Debug)]
pub(super) struct PlaceArgs {
    #[command(flatten)]
    sales: SalesPlaceArgs,
    #[command(flatten)]
    diagnostics: DiagnosticsPlaceArgs,
    #[command(flatten)]
    addresses: AddressesPlaceArgs,
}

impl PlaceArgs {
    /// Returns the places to ask.
    pub(super) fn places(&self) -> OfficialPlaces {
        OfficialPlaces {
            sales: self.sales.places(),
            diagnostics: self.diagnostics.dpe_base.clone(),
            addresses: self.addresses.ban_base.clone(),
        }
    }
}
