//! Errors of computing tiles.

/// Reason why a tile cannot be computed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A table cannot be read, or the caller has gone away.
    #[error("{0}")]
    Engine(#[from] toise_engine::Error),
    /// A tile cannot be written.
    #[error(transparent)]
    Encoding(#[from] fast_mvt::MvtError),
}
