//! Detects and parses the text format of a CSV file: its encoding and its delimiter.

use std::borrow::Cow;
use std::io::{self, Read};

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use toise_contract::Fault;
use toise_input::single_byte_of;

/// Bytes read at a time.
const BUFFER_BYTES: usize = 256 << 10;
/// Byte order mark of UTF-8.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The encoding of a file. Its ASCII characters are single bytes, so a file can be split without being decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextEncoding(&'static Encoding);

impl TextEncoding {
    /// Parses the name of an encoding, such as `utf-8`, `latin-1` or `windows-1252`.
    ///
    /// # Errors
    /// The encoding is unknown, or it is neither UTF-8 nor a single-byte encoding.
    pub fn parse(name: &str) -> Result<Self, Fault> {
        let found = toise_input::by_name(name);
        let found = found.filter(|one| *one == UTF_8 || one.is_single_byte());
        found.map(Self).ok_or_else(|| {
            Fault::new(
                "encoding",
                "must be utf-8 or a single-byte encoding such as iso-8859-1, iso-8859-15 or windows-1252",
            )
        })
    }

    /// Returns UTF-8 if the whole text is valid UTF-8. Otherwise decides between Windows-1252, which includes Latin-1,
    /// and Mac Roman, from the text that follows the first invalid byte.
    ///
    /// # Errors
    /// The text cannot be read.
    pub fn detect(mut source: impl Read) -> io::Result<Self> {
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut filled = 0;
        loop {
            let read = match source.read(&mut buffer[filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            filled += read;
            match std::str::from_utf8(&buffer[..filled]) {
                Ok(_) => filled = 0,
                Err(error) if error.error_len().is_some() => {
                    return Ok(Self(single_byte_of(&buffer[error.valid_up_to()..filled])));
                }
                // The last character is cut off; its bytes start the next piece.
                Err(error) => {
                    buffer.copy_within(error.valid_up_to()..filled, 0);
                    filled -= error.valid_up_to();
                }
            }
            if read == 0 {
                return Ok(Self(if filled == 0 { UTF_8 } else { WINDOWS_1252 }));
            }
        }
    }

    /// Returns its name, for `charset`.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Decodes bytes to text; bytes that cannot be decoded become U+FFFD.
    pub fn decode<'b>(self, bytes: &'b [u8]) -> Cow<'b, str> {
        self.0.decode_without_bom_handling(bytes).0
    }

    /// Encodes text to bytes. Each character that the encoding lacks becomes one `?`.
    pub fn encode(self, text: &str) -> Cow<'_, [u8]> {
        let (bytes, _, lossy) = self.0.encode(text);
        if !lossy {
            return bytes;
        }
        let mut found = Vec::with_capacity(text.len());
        let mut one = [0; 4];
        for character in text.chars() {
            let (bytes, _, lossy) = self.0.encode(character.encode_utf8(&mut one));
            if lossy {
                found.push(b'?')
            } else {
                found.extend_from_slice(&bytes)
            }
        }
        Cow::Owned(found)
    }
}

/// Parses a delimiter: one ASCII character, or `tab`.
///
/// # Errors
/// The text is anything else, or a character that cannot delimit cells.
pub fn parse_delimiter(text: &str) -> Result<u8, Fault> {
    match text.as_bytes() {
        b"\\t" | b"tab" => Ok(b'\t'),
        [byte @ (b'\t' | b' '..=b'~')] if *byte != b'"' && !byte.is_ascii_alphanumeric() => {
            Ok(*byte)
        }
        _ => Err(Fault::new(
            "delimiter",
            "must be one character, such as \",\" or \";\", or tab",
        )),
    }
}
