//! Sets aside the file of a valuation that is damaged or missing, so that the homes are valued as if for the first time.
//!
//! The worker and the readers of pages call this. A damaged file is kept next to the homes under the name [`LOST`]; the
//! status of the portfolio says so until homes are stored under its name again.

use std::fs::{self, File};

use crate::error::{Error, Result};
use crate::files::{LOST, values_file};
use crate::record::{self, Portfolio};
use crate::registry::Portfolios;
use toise_base::missing::optional;

impl Portfolios {
    /// Sets aside the file of the last valuation of a portfolio, which `error` is about. What changed before is lost,
    /// and so are changes that were not notified yet. Does nothing if a valuation or other homes have replaced the file.
    ///
    /// # Errors
    /// The folder cannot be written, or the store fails.
    pub(super) fn set_aside(&self, portfolio: &Portfolio, error: &Error) -> Result<()> {
        if !self.is_current(portfolio)? {
            return Ok(());
        }
        let folder = self.folder_of(portfolio.id);
        let lost = folder.join(LOST);
        let renamed = fs::rename(folder.join(values_file(portfolio.valuation)), &lost);
        if optional(renamed)?.is_none() {
            File::options().create(true).append(true).open(&lost)?;
        }
        if record::restart(&self.store, portfolio)? {
            tracing::error!(portfolio = %portfolio.id, %error, "set aside the values of a portfolio; it is valued again");
        }
        self.notifier.notify(());
        Ok(())
    }

    /// Returns whether the last valuation of a portfolio is still the one it was read with.
    pub(super) fn is_current(&self, portfolio: &Portfolio) -> Result<bool> {
        Ok(self
            .store
            .read(|connection| record::is_current(connection, portfolio))?)
    }

    /// Returns a portfolio with what its folder says about its history.
    pub(super) fn with_history(&self, mut portfolio: Portfolio) -> Portfolio {
        portfolio.history_lost = self.folder_of(portfolio.id).join(LOST).exists();
        portfolio
    }
}
