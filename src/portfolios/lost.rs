//! Sets aside damaged or missing files of a portfolio. Without the file of a valuation, the homes are valued as if for
//! the first time. Without the homes, the portfolio keeps its values and is not valued again.
//!
//! The worker and the readers of pages call this. A damaged file stays in its folder under the name [`LOST`] or
//! [`LOST_HOMES`]; the answer says so until homes are stored under the name of the portfolio again.

use std::fs::{self, File};
use std::path::Path;

use crate::error::{Error, Result};
use crate::files::{HOMES, LOST, LOST_HOMES, values_file};
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
        rename_lost(
            &folder.join(values_file(portfolio.valuation)),
            &folder.join(LOST),
        )?;
        if record::restart(&self.store, portfolio)? {
            tracing::error!(portfolio = %portfolio.id, %error, "set aside the values of a portfolio; it is valued again");
        }
        self.notifier.notify(());
        Ok(())
    }

    /// Sets aside the homes of a portfolio, which `error` is about. Does nothing if other homes have replaced them.
    ///
    /// # Errors
    /// The folder cannot be written, or the store fails.
    pub(super) fn set_homes_aside(&self, portfolio: &Portfolio, error: &Error) -> Result<()> {
        if !self.is_current(portfolio)? {
            return Ok(());
        }
        let folder = self.folder_of(portfolio.id);
        rename_lost(&folder.join(HOMES), &folder.join(LOST_HOMES))?;
        tracing::error!(portfolio = %portfolio.id, %error, "set aside the homes of a portfolio; it keeps its values, and \
            is valued again once homes are stored under its name");
        Ok(())
    }

    /// Returns whether the homes of a portfolio were set aside.
    pub(super) fn has_lost_homes(&self, portfolio: &Portfolio) -> bool {
        self.folder_of(portfolio.id).join(LOST_HOMES).exists()
    }

    /// Returns whether the last valuation of a portfolio is still the one it was read with.
    pub(super) fn is_current(&self, portfolio: &Portfolio) -> Result<bool> {
        Ok(self
            .store
            .read(|connection| record::is_current(connection, portfolio))?)
    }

    /// Returns a portfolio with what its folder says about its files.
    pub(super) fn with_losses(&self, mut portfolio: Portfolio) -> Portfolio {
        portfolio.history_lost = self.folder_of(portfolio.id).join(LOST).exists();
        portfolio.homes_lost = self.has_lost_homes(&portfolio);
        portfolio
    }
}

/// Renames a file that is lost; creates an empty one under the new name if it is missing.
fn rename_lost(file: &Path, lost: &Path) -> Result<()> {
    if optional(fs::rename(file, lost))?.is_none() {
        File::options().create(true).append(true).open(lost)?;
    }
    Ok(())
}
