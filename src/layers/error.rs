//! Errors of layers.

use std::io;
use std::path::{Path, PathBuf};

/// Result of an operation on layers.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a layer cannot be imported or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A source file cannot become a layer.
    #[error("{}: {reason}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// A stored layer is damaged.
    #[error("layer {name}: {reason}; import it again, or restore a backup")]
    Damaged {
        /// Name of the layer.
        name: String,
        /// What does not match.
        reason: String,
    },
    /// There is no layer of this name.
    #[error("no layer {name:?}{}", known_layers(known))]
    Unknown {
        /// The name.
        name: String,
        /// Names of the layers that exist.
        known: Vec<String>,
    },
    /// Another process stores or removes a layer.
    #[error(transparent)]
    Busy(#[from] toise_base::staging::StagingError),
    /// The data folder already has the maximum number of layers.
    #[error("a data folder may have at most {0} layers; remove one: toise layers remove NAME")]
    TooMany(usize),
}

fn known_layers(known: &[String]) -> String {
    match known {
        [] => "; there are no layers: toise import layer NAME FILE".to_owned(),
        known => format!("; layers: {}", known.join(", ")),
    }
}

impl Error {
    /// Names the file of an error of the operating system.
    pub(crate) fn io(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}
