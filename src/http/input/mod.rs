//! Parts of requests that are read before an endpoint is called: keys, the size of JSON bodies, names of areas and
//! layers, files and forms.

pub(crate) mod areas;
pub mod credentials;
pub(crate) mod form;
pub(crate) mod layers;
pub mod parsed_size;
pub(crate) mod upload;
