//! Errors of layers.

use std::io;
use std::path::{Path, PathBuf};

use datafusion::error::DataFusionError;

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
        /// The fault, and how to repair it.
        reason: String,
    },
    /// A stored layer is damaged.
    #[error("layer {name}: {reason}; import it again, or restore a backup")]
    Damaged {
        /// Name of the layer.
        name: String,
        /// The difference.
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

impl From<Error> for DataFusionError {
    /// An error of the operating system, which names a path, is a failure of the service. The others tell the author of
    /// a query what to do.
    fn from(error: Error) -> Self {
        match error {
            Error::Io { .. } => DataFusionError::External(Box::new(error)),
            error => DataFusionError::Execution(error.to_string()),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_errors_of_the_system_are_failures_of_the_service() {
        let lost = Error::io(Path::new("/data/layers"))(io::ErrorKind::NotFound.into());
        assert!(matches!(
            DataFusionError::from(lost),
            DataFusionError::External(_)
        ));
        let damaged = Error::Damaged {
            name: "zones".to_owned(),
            reason: "its checksum does not match".to_owned(),
        };
        assert!(matches!(
            DataFusionError::from(damaged),
            DataFusionError::Execution(_)
        ));
    }
}
