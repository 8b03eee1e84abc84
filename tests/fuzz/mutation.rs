//! Mutations of samples: changed bytes, missing or repeated pieces, and characters with a meaning for a parser.

use proptest::collection::vec;
use proptest::prelude::*;

/// Most edits of a sample.
const EDITS_MAX: usize = 8;
/// Maximum bytes that an edit removes or repeats.
const PIECE_MAX: usize = 200;
/// Texts with a meaning for one of the parsers.
const TOKENS: [&[u8]; 34] = [
    b"",
    b"\0",
    b"\"",
    b"'",
    b",",
    b";",
    b"|",
    b"\t",
    b"\n",
    b"\r\n",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b"null",
    b"-1",
    b"1e999",
    b"18446744073709551616",
    b"NaN",
    b"\xff\xfe",
    b"\xc3",
    b"\xef\xbb\xbf",
    "é€\u{202e}".as_bytes(),
    b"<script>",
    b"<!--",
    b"]]>",
    b"%",
    b"../",
    b"*",
    b"$",
    b"\\u0000",
    b"99999-13-45",
    b"\"\"\"",
];

/// A change of some bytes; its position and length are shares of the sample.
#[derive(Clone, Debug)]
enum Edit {
    Set(u8),
    Flip(u8),
    Remove(usize),
    Repeat(usize, usize),
    Insert(usize),
    Cut,
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        any::<u8>().prop_map(Edit::Set),
        (0_u8..8).prop_map(Edit::Flip),
        (1..PIECE_MAX).prop_map(Edit::Remove),
        (1..PIECE_MAX, 1_usize..20).prop_map(|(length, times)| Edit::Repeat(length, times)),
        (0..TOKENS.len()).prop_map(Edit::Insert),
        Just(Edit::Cut),
    ]
}

fn apply(bytes: &mut Vec<u8>, place: f64, edit: &Edit) {
    let at = (place * bytes.len() as f64) as usize;
    let piece = |length: usize| at..(at + length).min(bytes.len());
    match edit {
        Edit::Set(value) => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = *value;
            }
        }
        Edit::Flip(bit) => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << bit;
            }
        }
        Edit::Remove(length) => drop(bytes.drain(piece(*length))),
        Edit::Repeat(length, times) => {
            let repeated = bytes[piece(*length)].repeat(*times);
            bytes.splice(at..at, repeated);
        }
        Edit::Insert(token) => drop(bytes.splice(at..at, TOKENS[*token].iter().copied())),
        Edit::Cut => bytes.truncate(at),
    }
}

/// Mutations of some samples, and the samples themselves.
pub fn mutated(samples: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let edits = vec((0.0..1.0, edit()), 0..EDITS_MAX);
    (proptest::sample::select(samples), edits).prop_map(|(mut bytes, edits)| {
        for (place, edit) in &edits {
            apply(&mut bytes, *place, edit);
        }
        bytes
    })
}

/// Files of a folder of this repository whose names have this ending.
pub fn samples(folder: &str, ending: &str) -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(ending));
    paths.sort();
    assert!(!paths.is_empty(), "no sample ends in {ending}");
    paths
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}
