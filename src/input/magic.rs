//! Recognises kinds of files by their first bytes.

use memchr::memmem;
use toise_base::delimiter::DELIMITERS;

/// The kind of a source by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Magic {
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
    /// A zip archive, which may be a spreadsheet.
    Zip,
    /// An old Office document, which may be a spreadsheet.
    Office,
    /// Parquet: passed on as it is.
    Parquet,
    /// Arrow, as file or as stream.
    Arrow,
    /// A kind of file that is not supported; the text names it.
    Refused(&'static str),
    /// XML or a table in HTML, which the text names: no table for most callers.
    Markup(&'static str),
    /// Anything else, presumably text.
    Text,
}

/// First bytes of files that are not supported.
#[rustfmt::skip]
const REFUSED: [(&[u8], &str); 16] = [
    (b"%PDF", "a PDF: export the table as CSV or XLSX"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"Rar!", "a RAR archive: unpack it"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it"),
    (b"\xfd7zXZ\0", "an xz file: unpack it"),
    (b"BZh", "a bzip2 file: unpack it"),
    (b"SQLite format 3", "a SQLite database or GeoPackage: export the table as CSV or Parquet, a layer as GeoJSON"),
    (b"PGDMP", "a dump of PostgreSQL: export the table as CSV or Parquet"),
    (b"\x7fELF", "an executable"),
    (b"MZ\x90", "an executable"),
    (b"{\\rtf", "an RTF document: save the table as CSV"),
    (b"version https://git-lfs", "a pointer of Git LFS: fetch the file that it stands for"),
    (b"fgb\x03", "a FlatGeobuf, which only the import of a layer reads, and only unpacked"),
    (b"\x00\x00\x27\x0a", "a Shapefile: convert it: ogr2ogr -t_srs EPSG:4326 zones.geojson zones.shp"),
];

/// Where a tar archive has its mark.
const TAR_AT: usize = 257;
/// Bytes in which the beginning of a text is looked for, below comments.
const TEXT_BYTES: usize = 4 << 10;
/// Marks of byte order.
const BYTE_ORDER_MARKS: [&[u8]; 3] = [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"];
/// Beginning of a table in HTML, which some programs save as `.xls`.
const HTML_TABLE: &[u8] = b"<table";
/// Beginnings of geodata in XML.
const GEODATA: [&[u8]; 3] = [b"<kml", b"<gml:", b"<wfs:"];
/// Beginnings of HTML pages, in lower case.
const HTML: [&[u8]; 2] = [b"<!doctype html", b"<html"];
/// Beginnings that may precede the first element: a comment, and the declaration of XML.
const PROLOG: [(&[u8], &[u8]); 2] = [(b"<!--", b"-->"), (b"<?xml", b"?>")];

impl Magic {
    /// Recognises a source by its first bytes; 512 are enough, unless a text begins with a comment.
    pub fn of(start: &[u8]) -> Self {
        if start.starts_with(&[0x1f, 0x8b]) {
            return Self::Gzip;
        }
        if start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            return Self::Zstd;
        }
        if start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06") {
            return Self::Zip;
        }
        if start.starts_with(&[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]) {
            return Self::Office;
        }
        if start.starts_with(b"PAR1") {
            return Self::Parquet;
        }
        if start.starts_with(b"ARROW1") || start.starts_with(&[0xff; 4]) {
            return Self::Arrow;
        }
        if let Some((_, name)) = REFUSED.iter().find(|(magic, _)| start.starts_with(magic)) {
            return Self::Refused(name);
        }
        if start
            .get(TAR_AT..)
            .is_some_and(|rest| rest.starts_with(b"ustar"))
        {
            return Self::Refused("a tar archive: unpack it");
        }
        // Every other byte of UTF-16 is zero.
        let text = start.iter().copied().filter(|byte| *byte != 0);
        let text: Vec<u8> = text.take(TEXT_BYTES).collect();
        let mut marks = BYTE_ORDER_MARKS.iter();
        let unmarked = marks.find_map(|mark| text.strip_prefix(*mark));
        let text = unmarked.unwrap_or(&text).trim_ascii_start();
        let content = without_prolog(text);
        if HTML.iter().any(|begin| begins_with(content, begin)) {
            return Self::Refused("a web page, perhaps the error page of a download");
        }
        // `<table>` may also be the root of XML.
        if GEODATA.iter().any(|begin| begins_with(content, begin)) {
            Self::Markup("KML or GML: convert it: ogr2ogr -t_srs EPSG:4326 zones.geojson zones.kml")
        } else if begins_with(content, HTML_TABLE) && !text.starts_with(b"<?") {
            Self::Markup("a table in HTML: open it in a spreadsheet and save it as CSV or XLSX")
        } else if is_tag(text) || is_tag(content) {
            Self::Markup("XML, which only ingest reads: save the table as CSV or XLSX")
        } else {
            Self::Text
        }
    }
}

fn begins_with(text: &[u8], begin: &[u8]) -> bool {
    text.get(..begin.len())
        .is_some_and(|text| text.eq_ignore_ascii_case(begin))
}

/// Returns what follows the comments and the declaration at the beginning of a text; nothing if one does not end.
fn without_prolog(mut text: &[u8]) -> &[u8] {
    while let Some((_, end)) = PROLOG.iter().find(|(begin, _)| begins_with(text, begin)) {
        let at = memmem::find(text, end);
        let after = at.map(|at| at + end.len());
        text = after.map_or(&[][..], |after| text[after..].trim_ascii_start());
    }
    text
}

/// Returns whether a text begins with a tag, and not with a header such as `<DATE>,<OPEN>`.
fn is_tag(text: &[u8]) -> bool {
    let [b'<', first, ..] = text else {
        return false;
    };
    let end = text.iter().position(|byte| *byte == b'>');
    let mut after = end.map_or(&[][..], |end| &text[end + 1..]).iter();
    let next = after.find(|byte| !matches!(byte, b' ' | b'\r' | b'\n'));
    // Tags stand next to each other, or around a text: `<a>1</a>`.
    let is_cell = match next {
        Some(byte) if DELIMITERS.contains(byte) => true,
        Some(b'<') | None => false,
        Some(_) => !text.windows(2).any(|pair| pair == b"</"),
    };
    (first.is_ascii_alphabetic() || matches!(first, b'?' | b'!')) && !is_cell
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_recognised_by_their_first_bytes() {
        assert_eq!(Magic::of(b"\x1f\x8b\x08"), Magic::Gzip);
        assert_eq!(Magic::of(b"PAR1...."), Magic::Parquet);
        assert_eq!(Magic::of(b"\xff\xfeu\0r\0"), Magic::Text);
        assert_eq!(Magic::of(b"id;prix\n"), Magic::Text);
        assert_eq!(Magic::of(b""), Magic::Text);
        assert_eq!(Magic::of(b"<DATE>,<OPEN>\n1,2\n"), Magic::Text);
        assert_eq!(Magic::of(b"<5 km;ville\n"), Magic::Text);
        for (start, name) in [
            (&b"\xef\xbb\xbf<?xml version='1.0'?><a/>"[..], "XML"),
            (b"\xff\xfe<\0?\0x\0m\0l\0", "XML"),
            (b"<annonces>\n<annonce>", "XML"),
            (b"<!-- <html> --><annonces><annonce>", "XML"),
            (b"<?xml version='1.0'?><table><row>", "XML"),
            (b"<!-- x --><table><tr>", "a table in HTML"),
            (b"\n<TABLE border=1><tr>", "a table in HTML"),
        ] {
            let Magic::Markup(found) = Magic::of(start) else {
                panic!("{name} is read");
            };
            assert!(found.starts_with(name), "{found}");
        }
        for (start, name) in [
            (&b"%PDF-1.7"[..], "a PDF"),
            (b"\n <!DOCTYPE html><html>", "a web page"),
            (b"<!-- page <a> -->\n<!-- x -->\r\n <HTML>", "a web page"),
            (
                b"<?xml version='1.0'?>\n<!DOCTYPE html PUBLIC 'x'>",
                "a web page",
            ),
            (b"SQLite format 3\0", "a SQLite"),
            (
                b"version https://git-lfs.github.com/spec/v1\n",
                "a pointer of Git LFS",
            ),
        ] {
            let Magic::Refused(found) = Magic::of(start) else {
                panic!("{name} is read");
            };
            assert!(found.starts_with(name), "{found}");
        }
    }
}
