//! Request bodies that handlers read piece by piece: files and forms.

pub(crate) mod form;
pub(crate) mod upload;
