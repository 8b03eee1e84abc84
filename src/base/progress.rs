//! Progress bars on standard error, hidden unless it is a terminal.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

/// Factory of progress bars, which are hidden if nobody would see them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    visible: bool,
}

impl Progress {
    /// Shows bars unless `json` is set or standard error is not a terminal.
    pub fn new(json: bool) -> Self {
        Self {
            visible: !json && std::io::stderr().is_terminal(),
        }
    }

    /// Creates only hidden bars.
    pub fn silent() -> Self {
        Self::default()
    }

    /// Creates a bar over bytes; without `total`, a spinner.
    pub fn bytes(self, name: &str, total: Option<u64>) -> ProgressBar {
        if !self.visible {
            return ProgressBar::hidden();
        }
        let (bar, template) = match total {
            Some(total) => (
                ProgressBar::new(total),
                "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}",
            ),
            None => (
                ProgressBar::new_spinner(),
                "{msg} {spinner} {bytes} {bytes_per_sec}",
            ),
        };
        styled(bar, name, template)
    }

    /// Creates a bar over rows.
    pub fn rows(self, name: &str, total: u64) -> ProgressBar {
        self.counted(name, "rows", total)
    }

    /// Creates a bar over things of a unit, as in `objects`.
    pub fn counted(self, name: &str, unit: &str, total: u64) -> ProgressBar {
        if !self.visible {
            return ProgressBar::hidden();
        }
        let template = format!("{{msg}} {{wide_bar}} {{human_pos}}/{{human_len}} {unit} {{eta}}");
        styled(ProgressBar::new(total), name, &template)
    }
}

fn styled(bar: ProgressBar, name: &str, template: &str) -> ProgressBar {
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.with_style(style).with_message(name.to_owned())
}
