//! Settings of personal data: the `[personal_data]` section.

use serde::{Deserialize, Serialize};

/// The `[personal_data]` section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonalDataSettings {
    /// Retention of the contacts of adverts that are offline, in days; 0 to keep them.
    pub offline_contacts_days: u64,
}
