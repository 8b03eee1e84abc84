//! Settings of the server's refreshes: the section `refresh` of the configuration.

use serde::{Deserialize, Serialize};

/// Hour of the day at which a window that is not restricted ends.
const DAY_H: u32 = 24;

/// When and how a server asks the official sources for new editions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefreshSettings {
    /// Hours between two refreshes; 0 for none.
    pub every_h: u64,
    /// First hour of the day, in UTC, at which a refresh may start, from 0 to 23.
    pub from_h: u32,
    /// Hour of the day, in UTC, from which no refresh starts, from 1 to 24. If it is not later than `from_h`, the
    /// window spans midnight.
    pub until_h: u32,
    /// Codes of the departments to refresh, separated by commas; empty for those that the data folder holds.
    pub departments: String,
    /// Maximum rate of downloads, in KiB per second; 0 for no maximum.
    pub kib_per_s_max: u64,
    /// Address to which the server posts what a refresh changed and what failed; empty for none.
    pub webhook: String,
}

impl Default for RefreshSettings {
    fn default() -> Self {
        Self {
            every_h: 0,
            from_h: 0,
            until_h: DAY_H,
            departments: String::new(),
            kib_per_s_max: 0,
            webhook: String::new(),
        }
    }
}

impl RefreshSettings {
    /// Returns whether a refresh may start at an hour of the day, in UTC.
    pub fn may_start_at(&self, hour: u32) -> bool {
        if self.from_h < self.until_h {
            (self.from_h..self.until_h).contains(&hour)
        } else {
            hour >= self.from_h || hour < self.until_h
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_may_span_midnight() {
        let hours = |from_h, until_h| {
            let settings = RefreshSettings {
                from_h,
                until_h,
                ..RefreshSettings::default()
            };
            let hours = (0..24).filter(|hour| settings.may_start_at(*hour));
            hours.collect::<Vec<u32>>()
        };
        assert_eq!(hours(0, 24).len(), 24);
        assert_eq!(hours(1, 4), [1, 2, 3]);
        assert_eq!(hours(22, 2), [0, 1, 22, 23]);
    }
}
