//! Words of addresses: splits and folds a text, and measures how similar two words are.

pub mod deletions;
pub mod fold;
pub mod lexicon;
pub mod likeness;
pub mod numerals;
pub mod persons;
pub mod sound;
