//! The report of one home on two pages, for an owner, a buyer or a bank. `content` lists its parts, from the value to
//! the sources.
//!
//! [`Reporter`] gathers a [`HomeReport`], which serialises as JSON. [`content`] writes it in a language as a
//! [`document`] of blocks. [`html`] writes the document as a web page without scripts or external files, [`pdf`] as two
//! pages of A4. Drawings are made once ([`charts`]) and shown as SVG or drawn into the PDF.

#![forbid(unsafe_code)]

pub mod charts;
pub mod content;
pub mod document;
pub mod figure;
mod fonts;
mod gather;
pub mod html;
pub mod language;
pub mod letterhead;
pub mod model;
pub mod pdf;
mod request;

pub use gather::{Error, Reporter};
pub use language::Language;
pub use letterhead::Letterhead;
pub use model::HomeReport;
pub use request::{Format, HomeReportRequest, parameters, parse_home_report};

#[cfg(test)]
mod tests;
