//! Converts text to UTF-8 while it is read, by the evidence of its bytes.
//!
//! A byte order mark decides. Without one, zero bytes in every second position mean UTF-16. Otherwise text is taken for
//! UTF-8 until a byte is found that is not. If the file had no Latin letter or usual symbol beyond ASCII before that
//! byte, it is Windows-1252, ISO 8859-15 or Mac Roman, whichever gives more French letters and symbols. (Two letters of
//! such an encoding can look like one letter of a rare script.) If it had some, single bytes that are not UTF-8 are
//! read as Windows-1252 and counted, because parts of such files were pasted from elsewhere.

use std::io::{self, Read};

use encoding_rs::{
    Decoder, Encoding, ISO_8859_15, MACINTOSH, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252,
};

use crate::form::SharedForm;

/// Bytes read at a time.
const CHUNK_BYTES: usize = 128 << 10;
/// Bytes at the beginning of a text whose zero bytes are counted.
const UTF_16_PROBE_BYTES: usize = 4_096;
/// Byte order mark of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Bytes of Mac Roman that are common French letters, and that stand in Windows-1252 for characters that no French text
/// has: à â é è ê ç ù É.
const MAC_LETTERS: [u8; 8] = [0x88, 0x89, 0x8e, 0x8f, 0x90, 0x8d, 0x9d, 0x83];
/// Bytes of Windows-1252 that are common French letters, and that stand in Mac Roman for capitals with rare accents and
/// for signs.
const WINDOWS_LETTERS: [u8; 14] = [
    0xe0, 0xe2, 0xe7, 0xe8, 0xe9, 0xea, 0xeb, 0xee, 0xef, 0xf4, 0xf9, 0xfb, 0xc9, 0xc8,
];

/// Returns UTF-16 of either byte order if the beginning of a text is written in it, with or without a byte order mark.
pub fn utf16_of(start: &[u8]) -> Option<&'static Encoding> {
    if start.starts_with(b"\xff\xfe") {
        return Some(UTF_16LE);
    }
    if start.starts_with(b"\xfe\xff") {
        return Some(UTF_16BE);
    }
    let probe = &start[..start.len().min(UTF_16_PROBE_BYTES) & !1];
    let mut zeros = [0usize; 2];
    for pair in probe.chunks_exact(2) {
        zeros[0] += usize::from(pair[0] == 0);
        zeros[1] += usize::from(pair[1] == 0);
    }
    // Nearly all letters of a table are ASCII; a binary file has zero bytes in both positions.
    let pairs = probe.len() / 2;
    let is_mostly =
        |place: usize| pairs >= 4 && zeros[place] * 10 >= pairs * 7 && zeros[1 - place] == 0;
    if is_mostly(1) {
        Some(UTF_16LE)
    } else if is_mostly(0) {
        Some(UTF_16BE)
    } else {
        None
    }
}

/// Returns an encoding by its name: a label of the WHATWG standard, or one that Python uses.
pub fn by_name(name: &str) -> Option<&'static Encoding> {
    let name = name.trim().to_ascii_lowercase();
    let label = match name.as_str() {
        "utf-8-sig" | "utf_8" => "utf-8",
        "latin-1" | "latin_1" => "latin1",
        "mac-roman" | "mac_roman" => "macintosh",
        name => name,
    };
    Encoding::for_label(label.as_bytes())
}

/// Chooses the single-byte encoding that gives the most French letters and symbols for a text: Windows-1252, ISO
/// 8859-15 or Mac Roman.
pub fn single_byte_of(text: &[u8]) -> &'static Encoding {
    let count = |letters: &[u8]| text.iter().filter(|byte| letters.contains(byte)).count();
    if count(&MAC_LETTERS) > count(&WINDOWS_LETTERS) {
        MACINTOSH
    } else if has_latin_9_sign(text) && count(&WINDOWS_SIGNS) == 0 {
        ISO_8859_15
    } else {
        WINDOWS_1252
    }
}

/// Returns whether a text is UTF-8 that was read as Windows-1252 and encoded again, as `AllÃ©e` for `Allée`.
pub fn is_encoded_twice(text: &str) -> bool {
    if text.is_ascii() {
        return false;
    }
    let (bytes, _, has_other_letters) = WINDOWS_1252.encode(text);
    !has_other_letters && std::str::from_utf8(&bytes).is_ok()
}

/// Returns whether a text has the euro sign or the `œ` of ISO 8859-15 where French has them: after a digit or a space, and
/// after or before a letter.
fn has_latin_9_sign(text: &[u8]) -> bool {
    text.windows(3).any(|three| {
        let [before, sign, after] = [three[0], three[1], three[2]];
        let is_euro =
            sign == LATIN_9_EURO && (before.is_ascii_digit() || matches!(before, b' ' | 0xa0));
        let is_letter = |byte: u8| byte.is_ascii_alphabetic();
        // A capital begins a word, where other encodings have a quarter.
        is_euro
            || matches!(sign, 0xbc | 0xbd) && is_letter(before) && is_letter(after)
            || sign == 0xbc && !before.is_ascii_alphanumeric() && is_letter(after)
    })
}

/// Returns whether a text has a letter that only UTF-8 explains: Latin, or a usual symbol.
fn has_latin_letters(text: &str) -> bool {
    text.chars().any(|character| {
        matches!(character, '\u{a0}'..='\u{24f}' | '\u{300}'..='\u{36f}' | '\u{1e00}'..='\u{1eff}' | '\u{2000}'..='\u{26ff}')
    })
}

/// The euro sign of ISO 8859-15, which other encodings use for the generic currency sign.
const LATIN_9_EURO: u8 = 0xa4;
/// Bytes that are symbols of French texts in Windows-1252, and control characters in ISO 8859-15: € … ‘ ’ “ ” • – — œ
/// Œ.
const WINDOWS_SIGNS: [u8; 11] = [
    0x80, 0x85, 0x91, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x9c, 0x8c,
];

enum State {
    /// No byte of the text has been read.
    Start,
    /// All bytes so far are UTF-8.
    Utf8 {
        /// Whether any of them is not ASCII.
        has_letters: bool,
    },
    /// The encoding is decided.
    Decided(Box<Decoder>),
}

/// A reader that converts text to UTF-8, without a byte order mark.
pub struct Utf8Reader<R> {
    source: R,
    form: SharedForm,
    state: State,
    /// Bytes that were read but not yet converted: the start of a character that was cut off.
    pending: Vec<u8>,
    /// Converted text and how much of it has been returned.
    text: Vec<u8>,
    returned: usize,
    is_ended: bool,
}

impl<R: Read> Utf8Reader<R> {
    /// Converts a source. If `encoding` is given, nothing is guessed.
    pub fn new(source: R, encoding: Option<&'static Encoding>, form: SharedForm) -> Self {
        let state = match encoding {
            Some(encoding) if encoding != UTF_8 => {
                form.set_encoding(encoding.name());
                State::Decided(Box::new(encoding.new_decoder_with_bom_removal()))
            }
            _ => State::Start,
        };
        Self {
            source,
            form,
            state,
            pending: Vec::new(),
            text: Vec::new(),
            returned: 0,
            is_ended: false,
        }
    }

    /// Reads and converts the next chunk of the source.
    fn fill(&mut self) -> io::Result<()> {
        self.text.clear();
        self.returned = 0;
        while self.text.is_empty() && !self.is_ended {
            let mut bytes = std::mem::take(&mut self.pending);
            let before = bytes.len();
            // The first chunk is read whole, because the encoding is guessed from it.
            let wanted = CHUNK_BYTES as u64;
            let read = (&mut self.source).take(wanted).read_to_end(&mut bytes)?;
            self.is_ended = bytes.len() - before < CHUNK_BYTES;
            debug_assert_eq!(read, bytes.len() - before);
            self.convert(bytes);
        }
        Ok(())
    }

    fn convert(&mut self, mut bytes: Vec<u8>) {
        if matches!(self.state, State::Start) {
            if let Some(encoding) = utf16_of(&bytes) {
                self.decide(encoding);
            } else {
                if bytes.starts_with(BYTE_ORDER_MARK) {
                    bytes.drain(..BYTE_ORDER_MARK.len());
                }
                self.form.set_encoding(UTF_8.name());
                self.state = State::Utf8 { has_letters: false };
            }
        }
        match &mut self.state {
            State::Decided(_) => self.decode(&bytes),
            State::Start => {}
            State::Utf8 { has_letters } => match std::str::from_utf8(&bytes) {
                Ok(text) => {
                    *has_letters = *has_letters || has_latin_letters(text);
                    self.text = bytes;
                }
                Err(error) => {
                    let valid = error.valid_up_to();
                    let before = std::str::from_utf8(&bytes[..valid]).unwrap_or_default();
                    let had_letters = *has_letters || has_latin_letters(before);
                    *has_letters = had_letters;
                    if error.error_len().is_none() && !self.is_ended {
                        self.pending = bytes.split_off(valid);
                        self.text = bytes;
                    } else if had_letters {
                        self.convert_mixed(&bytes);
                    } else {
                        self.decide(single_byte_of(&bytes));
                        self.decode(&bytes);
                    }
                }
            },
        }
    }

    fn decide(&mut self, encoding: &'static Encoding) {
        self.form.set_encoding(encoding.name());
        self.state = State::Decided(Box::new(encoding.new_decoder_with_bom_removal()));
    }

    /// Decodes bytes with the chosen encoding and appends them; invalid ones become U+FFFD.
    fn decode(&mut self, bytes: &[u8]) {
        let State::Decided(decoder) = &mut self.state else {
            return;
        };
        let length = decoder.max_utf8_buffer_length(bytes.len());
        let begin = self.text.len();
        self.text
            .resize(begin + length.unwrap_or(bytes.len() * 3 + 16), 0);
        let (_, _, written, _) =
            decoder.decode_to_utf8(bytes, &mut self.text[begin..], self.is_ended);
        self.text.truncate(begin + written);
    }

    /// Appends UTF-8 in which single bytes are Windows-1252.
    fn convert_mixed(&mut self, mut bytes: &[u8]) {
        let mut others = 0;
        loop {
            match std::str::from_utf8(bytes) {
                Ok(_) => {
                    self.text.extend_from_slice(bytes);
                    break;
                }
                Err(error) => {
                    let (valid, rest) = bytes.split_at(error.valid_up_to());
                    self.text.extend_from_slice(valid);
                    let Some(wrong) = error.error_len() else {
                        if self.is_ended {
                            others += self.push_windows(rest);
                        } else {
                            self.pending = rest.to_vec();
                        }
                        break;
                    };
                    others += self.push_windows(&rest[..wrong]);
                    bytes = &rest[wrong..];
                }
            }
        }
        self.form.count_other_bytes(others);
    }

    fn push_windows(&mut self, bytes: &[u8]) -> u64 {
        let (text, _) = WINDOWS_1252.decode_without_bom_handling(bytes);
        self.text.extend_from_slice(text.as_bytes());
        bytes.len() as u64
    }
}

impl<R: Read> Read for Utf8Reader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.returned == self.text.len() {
            self.fill()?;
        }
        let rest = &self.text[self.returned..];
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        self.returned += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(bytes: &[u8]) -> (String, SharedForm) {
        let form = SharedForm::default();
        let mut text = String::new();
        let mut reader = Utf8Reader::new(bytes, None, form.clone());
        reader.read_to_string(&mut text).unwrap();
        (text, form)
    }

    fn encoding(bytes: &[u8]) -> String {
        read(bytes).1.found().encoding.unwrap()
    }

    const TEXT: &str =
        "réf;adresse\n1;2 allée des Soupirs, à côté de l'église\n2;3 rue de l'Évêché\n";

    #[test]
    fn every_encoding_of_a_spreadsheet_gives_the_same_text() {
        let (windows, _, _) = WINDOWS_1252.encode(TEXT);
        let (mac, _, _) = MACINTOSH.encode(TEXT);
        let little: Vec<u8> = TEXT.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = TEXT.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let marked = |mark: &[u8], bytes: &[u8]| [mark, bytes].concat();
        for (bytes, name) in [
            (TEXT.as_bytes().to_vec(), "UTF-8"),
            (marked(BYTE_ORDER_MARK, TEXT.as_bytes()), "UTF-8"),
            (windows.to_vec(), "windows-1252"),
            (mac.to_vec(), "macintosh"),
            (little.clone(), "UTF-16LE"),
            (marked(b"\xff\xfe", &little), "UTF-16LE"),
            (big.clone(), "UTF-16BE"),
            (marked(b"\xfe\xff", &big), "UTF-16BE"),
        ] {
            let (text, form) = read(&bytes);
            assert_eq!(text, TEXT, "{name}");
            assert_eq!(form.found().encoding.as_deref(), Some(name));
        }
    }

    #[test]
    fn text_that_was_encoded_twice_is_recognised() {
        for twice in ["AllÃ©e Racine", "Route dâ€™Aulnay", "Rue de lâ€™Ã‰glise"] {
            assert!(is_encoded_twice(twice), "{twice}");
        }
        for once in [
            "",
            "Rue A",
            "Allée Racine",
            "Route d’Aulnay",
            "CAFÉ «É»",
            "Łódź",
        ] {
            assert!(!is_encoded_twice(once), "{once}");
        }
    }

    #[test]
    fn letters_that_look_like_those_of_a_rare_script_decide_nothing() {
        let (text, form) = read(b"1;3 rue de l\xd5\x8eglise\r2;Saint-\x83tienne\r");
        assert_eq!(text, "1;3 rue de l’église\r2;Saint-Étienne\r");
        assert_eq!(form.found().encoding.as_deref(), Some("macintosh"));
    }

    #[test]
    fn the_euro_sign_of_latin_9_is_one() {
        let (text, form) = read(b"prix;ville\n245 000 \xa4;S\xe8te\n1;Sacr\xe9-C\xbdur\n");
        assert_eq!(text, "prix;ville\n245 000 €;Sète\n1;Sacré-Cœur\n");
        assert_eq!(form.found().encoding.as_deref(), Some("ISO-8859-15"));
        assert_eq!(encoding(b"245 000 \x80;S\xe8te\n"), "windows-1252");
    }

    #[test]
    fn the_first_letter_may_come_late() {
        let mut bytes = b"id;ville\n1;Mende\n".repeat(40_000);
        bytes.extend_from_slice(b"2;S\xe8te\n");
        let (text, form) = read(&bytes);
        assert!(text.ends_with("2;Sète\n"), "{}", &text[text.len() - 12..]);
        assert_eq!(form.found().encoding.as_deref(), Some("windows-1252"));
    }

    #[test]
    fn single_foreign_bytes_in_a_file_of_utf_8_are_read_and_counted() {
        let (text, form) = read(b"Sai\xc3\xa8te\nSa\xefd\nMende\n");
        assert_eq!(text, "Saiète\nSaïd\nMende\n");
        let found = form.found();
        assert_eq!(
            (found.encoding.as_deref(), found.other_bytes),
            (Some("UTF-8"), 1)
        );
    }

    #[test]
    fn binary_data_is_not_taken_for_utf_16() {
        assert!(utf16_of(&[0; 64]).is_none());
        assert!(utf16_of(b"id;prix\n1;2\n").is_none());
        assert_eq!(encoding(b""), "UTF-8");
    }

    proptest! {
        #[test]
        fn utf_8_passes_unchanged(text in "\\PC{0,300}", repeats in 1usize..600) {
            prop_assume!(!text.starts_with('\u{feff}'));
            let text = format!("x{}", text.repeat(repeats));
            prop_assert_eq!(read(text.as_bytes()).0, text);
        }
    }
}
