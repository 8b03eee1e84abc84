//! Parts of requests that are read apart from endpoints: keys, the size of JSON bodies, names of areas, files and forms.

pub(crate) mod areas;
pub mod credentials;
pub(crate) mod form;
pub mod unfolding;
pub(crate) mod upload;
