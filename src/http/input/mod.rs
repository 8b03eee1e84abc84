//! Parts of requests that are read apart from endpoints: keys, the size of JSON bodies, files and forms.

pub mod credentials;
pub(crate) mod form;
pub mod unfolding;
pub(crate) mod upload;
