//! The tar format as far as backups need it: regular files in POSIX ustar, with GNU's extension for lengths from 8 GiB.
//!
//! `tar -tf` and every other tar program can read the result.

use std::io::{self, ErrorKind, Read, Write};

const BLOCK_BYTES: usize = 512;
/// Smallest length that does not fit into eleven octal digits.
const OCTAL_END: u64 = 1 << 33;
const NAME: std::ops::Range<usize> = 0..100;
const MODE: std::ops::Range<usize> = 100..107;
const SIZE: std::ops::Range<usize> = 124..136;
const MODIFIED: std::ops::Range<usize> = 136..147;
const CHECKSUM: std::ops::Range<usize> = 148..156;
const TYPE: usize = 156;
const MAGIC: std::ops::Range<usize> = 257..265;
const PREFIX: std::ops::Range<usize> = 345..500;
/// Permissions for the owner only, since the store holds secrets.
const OWNER_ONLY: &[u8] = b"0000600";
const REGULAR: u8 = b'0';

/// Writes files to an archive.
pub(super) struct Writer<W: Write> {
    out: W,
}

impl<W: Write> Writer<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out }
    }

    /// Appends a file of exactly `bytes` bytes, last modified `modified_s` seconds after 1970.
    pub(super) fn append(
        &mut self,
        name: &str,
        bytes: u64,
        modified_s: u32,
        content: &mut dyn Read,
    ) -> io::Result<()> {
        self.out.write_all(&header(name, bytes, modified_s)?)?;
        let copied = io::copy(&mut content.take(bytes), &mut self.out)?;
        if copied != bytes {
            let fault = format!("{name} shrank from {bytes} to {copied} bytes while being read");
            return Err(io::Error::new(ErrorKind::UnexpectedEof, fault));
        }
        self.out.write_all(&[0; BLOCK_BYTES][..padding(bytes)])
    }

    /// Ends the archive and returns the underlying writer.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&[0; 2 * BLOCK_BYTES])?;
        Ok(self.out)
    }
}

/// Reads files from an archive.
pub(super) struct Reader<R: Read> {
    input: R,
    /// Unread bytes of the current file and its padding.
    left: u64,
}

impl<R: Read> Reader<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, left: 0 }
    }

    /// Advances to the next file and returns its name and length; `None` at the end of the archive.
    pub(super) fn next(&mut self) -> io::Result<Option<(String, u64)>> {
        let skipped = io::copy(&mut self.input.by_ref().take(self.left), &mut io::sink())?;
        if skipped < self.left {
            return Err(io::Error::new(
                ErrorKind::UnexpectedEof,
                "unexpected end of the archive",
            ));
        }
        let mut block = [0u8; BLOCK_BYTES];
        self.input
            .read_exact(&mut block)
            .map_err(|error| match error.kind() {
                ErrorKind::UnexpectedEof => {
                    io::Error::new(error.kind(), "unexpected end of the archive")
                }
                _ => error,
            })?;
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let (name, bytes) = parse(&block)?;
        self.left = bytes + padding(bytes) as u64;
        Ok(Some((name, bytes)))
    }

    /// The content of the current file.
    pub(super) fn content(&mut self, bytes: u64) -> impl Read {
        self.left = padding(bytes) as u64;
        self.input.by_ref().take(bytes)
    }
}

fn padding(bytes: u64) -> usize {
    (BLOCK_BYTES - (bytes % BLOCK_BYTES as u64) as usize) % BLOCK_BYTES
}

fn header(name: &str, bytes: u64, modified_s: u32) -> io::Result<[u8; BLOCK_BYTES]> {
    let mut block = [0u8; BLOCK_BYTES];
    let too_long = || io::Error::new(ErrorKind::InvalidInput, format!("{name}: name too long"));
    let (prefix, last) = if name.len() <= NAME.len() {
        ("", name)
    } else {
        // Split at a slash so that both pieces are short enough.
        name.match_indices('/')
            .map(|(at, _)| (&name[..at], &name[at + 1..]))
            .find(|(prefix, last)| prefix.len() <= PREFIX.len() && last.len() <= NAME.len())
            .ok_or_else(too_long)?
    };
    block[NAME][..last.len()].copy_from_slice(last.as_bytes());
    block[PREFIX][..prefix.len()].copy_from_slice(prefix.as_bytes());
    block[MODE].copy_from_slice(OWNER_ONLY);
    if bytes < OCTAL_END {
        block[SIZE][..11].copy_from_slice(format!("{bytes:011o}").as_bytes());
    } else {
        block[SIZE][0] = 0x80;
        block[SIZE][4..].copy_from_slice(&bytes.to_be_bytes());
    }
    block[MODIFIED].copy_from_slice(format!("{modified_s:011o}").as_bytes());
    block[TYPE] = REGULAR;
    block[MAGIC].copy_from_slice(b"ustar\x0000");
    let sum = checksum(&block);
    block[CHECKSUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(block)
}

fn parse(block: &[u8; BLOCK_BYTES]) -> io::Result<(String, u64)> {
    let broken = |what: &str| io::Error::new(ErrorKind::InvalidData, format!("not a tar: {what}"));
    if octal(&block[CHECKSUM]) != Some(checksum(block).into()) {
        return Err(broken("wrong checksum in a header"));
    }
    if block[TYPE] != REGULAR {
        return Err(broken("contains more than plain files"));
    }
    let text = |field: &[u8]| {
        let end = field
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(field.len());
        String::from_utf8(field[..end].to_vec()).map_err(|_| broken("a name is not UTF-8"))
    };
    let (prefix, last) = (text(&block[PREFIX])?, text(&block[NAME])?);
    let name = if prefix.is_empty() {
        last
    } else {
        format!("{prefix}/{last}")
    };
    let size = &block[SIZE];
    let bytes = if size[0] == 0x80 {
        let mut number = [0u8; 8];
        number.copy_from_slice(&size[4..]);
        Some(u64::from_be_bytes(number))
    } else {
        octal(size)
    };
    let bytes = bytes.filter(|bytes| *bytes < 1 << 60);
    Ok((name, bytes.ok_or_else(|| broken("invalid length"))?))
}

/// Sum of a header's bytes, with the checksum field counted as spaces.
fn checksum(block: &[u8; BLOCK_BYTES]) -> u32 {
    let all: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    let own: u32 = block[CHECKSUM].iter().map(|byte| u32::from(*byte)).sum();
    all - own + u32::from(b' ') * CHECKSUM.len() as u32
}

fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?;
    let digits = text.trim_matches(|c: char| c == '\0' || c == ' ');
    u64::from_str_radix(digits, 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_back_in_order() {
        let long = format!("{}/{}", "folder".repeat(12), "name".repeat(20));
        let files = [
            ("a", 0usize),
            ("b/c.parquet", 511),
            (&long, 512),
            ("d", 70_000),
        ];
        let mut writer = Writer::new(Vec::new());
        for (name, bytes) in files {
            let content = vec![7u8; bytes];
            writer
                .append(name, bytes as u64, u32::MAX, &mut content.as_slice())
                .unwrap();
        }
        let archive = writer.finish().unwrap();
        assert_eq!(archive.len() % BLOCK_BYTES, 0);
        let mut reader = Reader::new(archive.as_slice());
        for (index, (name, bytes)) in files.into_iter().enumerate() {
            assert_eq!(
                reader.next().unwrap(),
                Some((name.to_owned(), bytes as u64))
            );
            // Every second file is skipped unread.
            if index % 2 == 0 {
                let mut content = Vec::new();
                reader
                    .content(bytes as u64)
                    .read_to_end(&mut content)
                    .unwrap();
                assert_eq!(content, vec![7u8; bytes]);
            }
        }
        assert_eq!(reader.next().unwrap(), None);
        // A truncated archive is an error.
        let mut cut = Reader::new(&archive[..archive.len() - 70_000]);
        let outcome = (0..5).try_for_each(|_| cut.next().map(drop));
        assert!(outcome.is_err());
    }

    #[test]
    fn lengths_beyond_octal_survive() {
        for bytes in [OCTAL_END - 1, OCTAL_END, 5 << 40] {
            let block = header("store.sqlite", bytes, 0).unwrap();
            assert_eq!(parse(&block).unwrap(), ("store.sqlite".into(), bytes));
        }
        assert!(header(&"x".repeat(300), 1, 0).is_err());
        let mut block = header("a", 1, 0).unwrap();
        block[3] = b'x';
        assert!(parse(&block).is_err());
    }
}
