//! Adverts and their labels as files, made in parallel while they are read.

use std::io;

use super::{Market, Request};
use crate::synth::blocks::{Generator, SynthReader};
use crate::synth::text::push_digits;

/// The ndjson of a request.
struct Documents(Market);

impl Generator for Documents {
    fn items(&self) -> u64 {
        self.0.adverts()
    }

    fn header(&self, _out: &mut Vec<u8>) {}

    fn block(&self, block: u64, _from: u64, _to: u64, out: &mut Vec<u8>) -> u64 {
        let mut rows = 0;
        for observation in self.0.block(block) {
            // Writing to memory cannot fail, and every field of an advert has a JSON form.
            if serde_json::to_writer(&mut *out, &observation.advert).is_ok() {
                out.push(b'\n');
                rows += 1;
            }
        }
        rows
    }
}

/// The labels of a request.
struct Labels(Market);

impl Generator for Labels {
    fn items(&self) -> u64 {
        self.0.adverts()
    }

    fn header(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"url,asset\n");
    }

    fn block(&self, block: u64, _from: u64, _to: u64, out: &mut Vec<u8>) -> u64 {
        let mut rows = 0;
        for observation in self.0.block(block).iter().filter(|one| one.first) {
            out.extend_from_slice(
                observation
                    .advert
                    .url
                    .as_deref()
                    .unwrap_or_default()
                    .as_bytes(),
            );
            out.push(b',');
            push_digits(out, observation.asset, 1);
            out.push(b'\n');
            rows += 1;
        }
        rows
    }
}

/// The adverts of a request as ndjson, one sighting a line, made while they are read by rayon's pool.
pub fn documents(request: Request) -> io::Result<SynthReader> {
    SynthReader::start(Documents(Market::new(request)))
}

/// Which asset each advert of a request shows: csv with the columns `url` and `asset`, in the order of first sighting.
pub fn labels(request: Request) -> io::Result<SynthReader> {
    SynthReader::start(Labels(Market::new(request)))
}
