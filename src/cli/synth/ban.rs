//! `toise synth --ban`: writes the files of a synthetic national address base, several departments at a time.

use std::time::Instant;

use rayon::prelude::*;

use super::{SynthOptions, SynthOutput, progress_bar, report, write_file};
use toise_synth::Summary;
use toise_synth::ban::{self, BanRequest, DepartmentFiles};

/// Writes the files of the requested departments. Returns one entry of the report for each kind of file.
pub fn write(options: &SynthOptions, addresses: Option<u64>) -> Result<[SynthOutput; 2], String> {
    let started = Instant::now();
    let mut departments = ban::departments(&BanRequest {
        addresses,
        departments: options.departments.clone(),
        seed: options.seed,
    });
    // The largest come first, so that none of them runs alone at the end.
    departments.sort_by_key(|files| std::cmp::Reverse(files.addresses()));
    let total = departments.iter().map(DepartmentFiles::addresses).sum();
    let bar = progress_bar(total, "addresses");
    let written: Vec<(Summary, Summary)> = departments
        .par_iter()
        .with_max_len(1)
        .map(|files| {
            let path = |name: String| options.output.join(format!("{name}.gz"));
            let addresses = write_file(&path(files.address_file()), |out| {
                files.write_addresses(out, &|count| bar.inc(count))
            })?;
            let places = write_file(&path(files.place_file()), |out| files.write_places(out))?;
            Ok((addresses, places))
        })
        .collect::<Result<_, String>>()?;
    bar.finish_and_clear();
    let sum = |one: fn(&(Summary, Summary)) -> Summary| {
        written
            .iter()
            .map(one)
            .fold(Summary::default(), |sum, one| Summary {
                items: sum.items + one.items,
                rows: sum.rows + one.rows,
                bytes: sum.bytes + one.bytes,
            })
    };
    let output = |what, summary| SynthOutput {
        files: Some(written.len() as u64),
        ..report(what, Some(options.output.clone()), summary, started)
    };
    Ok([
        output("addresses", sum(|(addresses, _)| *addresses)),
        output("places", sum(|(_, places)| *places)),
    ])
}
