//! Reads the page headers of a column chunk, which are in the Thrift compact protocol.
//!
//! The parquet crate reads them too, but does not expose the decompressed length of a page before it has decompressed
//! it. Only the few numbers that bound a page are read here; everything else is skipped.

/// Fields of a page header.
const UNCOMPRESSED: i64 = 2;
const COMPRESSED: i64 = 3;
const DATA_PAGE: i64 = 5;
const DATA_PAGE_V2: i64 = 8;
/// Field of the encoding in the header of a data page, for versions 1 and 2.
const ENCODING: i64 = 2;
const ENCODING_V2: i64 = 4;
/// Fields with the lengths of the definition and repetition levels, which are uncompressed at the start of a version 2
/// page.
const LEVELS_V2: [i64; 2] = [5, 6];
/// Number of the encoding that stores a text as its difference to the previous one.
const DELTA_BYTE_ARRAY: i64 = 7;
/// Maximum nesting of structures; a page header has three levels.
const DEPTH_MAX: usize = 16;

/// Types of the compact protocol.
mod kind {
    pub const STOP: u8 = 0;
    pub const TRUE: u8 = 1;
    pub const FALSE: u8 = 2;
    pub const BYTE: u8 = 3;
    pub const I16: u8 = 4;
    pub const I32: u8 = 5;
    pub const I64: u8 = 6;
    pub const DOUBLE: u8 = 7;
    pub const BINARY: u8 = 8;
    pub const LIST: u8 = 9;
    pub const SET: u8 = 10;
    pub const MAP: u8 = 11;
    pub const STRUCT: u8 = 12;
}

/// The numbers that bound a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PageHeader {
    /// Bytes of the header itself.
    pub bytes: usize,
    /// Bytes of the page in the file.
    pub compressed: u64,
    /// Bytes of the page after decompression.
    pub uncompressed: u64,
    /// Bytes of the levels, uncompressed, at the start of the page.
    pub levels: u64,
    /// Whether its texts are delta-encoded.
    pub is_delta: bool,
}

/// The reason why a header cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeaderError {
    /// The header continues after these bytes.
    Cut,
    /// The bytes are not a header.
    Malformed,
}

/// Reads the header at the beginning of a slice.
pub(super) fn page_header(bytes: &[u8]) -> Result<PageHeader, HeaderError> {
    let mut reader = Compact { bytes, at: 0 };
    let (mut compressed, mut uncompressed) = (None, None);
    let (mut field, mut page) = (0, PageHeader::default());
    while let Some(of_kind) = reader.field(&mut field)? {
        match (field, of_kind) {
            (UNCOMPRESSED, kind::I32) => uncompressed = Some(reader.zigzag()?),
            (COMPRESSED, kind::I32) => compressed = Some(reader.zigzag()?),
            (DATA_PAGE, kind::STRUCT) => reader.data_page(&mut page, ENCODING, &[])?,
            (DATA_PAGE_V2, kind::STRUCT) => {
                reader.data_page(&mut page, ENCODING_V2, &LEVELS_V2)?;
            }
            _ => reader.skip(of_kind, 0)?,
        }
    }
    Ok(PageHeader {
        bytes: reader.at,
        compressed: length(compressed.ok_or(HeaderError::Malformed)?)?,
        uncompressed: length(uncompressed.ok_or(HeaderError::Malformed)?)?,
        ..page
    })
}

fn length(value: i64) -> Result<u64, HeaderError> {
    u64::try_from(value).map_err(|_| HeaderError::Malformed)
}

/// Reads values of the compact protocol.
struct Compact<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Compact<'_> {
    fn byte(&mut self) -> Result<u8, HeaderError> {
        let byte = self.bytes.get(self.at).ok_or(HeaderError::Cut)?;
        self.at += 1;
        Ok(*byte)
    }

    fn varint(&mut self) -> Result<u64, HeaderError> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(HeaderError::Malformed)
    }

    fn zigzag(&mut self) -> Result<i64, HeaderError> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    fn jump(&mut self, bytes: u64) -> Result<(), HeaderError> {
        let bytes = usize::try_from(bytes).map_err(|_| HeaderError::Malformed)?;
        let end = self.at.checked_add(bytes).ok_or(HeaderError::Malformed)?;
        if end > self.bytes.len() {
            return Err(HeaderError::Cut);
        }
        self.at = end;
        Ok(())
    }

    /// Reads the kind of the next field of a structure; `None` at the end of the structure. `field` holds the number of
    /// the previous field, and is set to the number of this one.
    fn field(&mut self, field: &mut i64) -> Result<Option<u8>, HeaderError> {
        let byte = self.byte()?;
        if byte == kind::STOP {
            return Ok(None);
        }
        *field = match byte >> 4 {
            0 => self.zigzag()?,
            more => field.wrapping_add(more.into()),
        };
        Ok(Some(byte & 0x0f))
    }

    /// Reads the header of a data page. `encoding` and `levels` are the numbers of its fields.
    fn data_page(
        &mut self,
        page: &mut PageHeader,
        encoding: i64,
        levels: &[i64],
    ) -> Result<(), HeaderError> {
        let mut field = 0;
        while let Some(of_kind) = self.field(&mut field)? {
            match of_kind {
                kind::I32 if field == encoding => {
                    page.is_delta = self.zigzag()? == DELTA_BYTE_ARRAY
                }
                kind::I32 if levels.contains(&field) => {
                    page.levels = page.levels.saturating_add(length(self.zigzag()?)?);
                }
                _ => self.skip(of_kind, 1)?,
            }
        }
        Ok(())
    }

    fn skip(&mut self, of_kind: u8, depth: usize) -> Result<(), HeaderError> {
        if depth > DEPTH_MAX {
            return Err(HeaderError::Malformed);
        }
        match of_kind {
            // The kind of a boolean field is its value.
            kind::TRUE | kind::FALSE => Ok(()),
            kind::BYTE => self.jump(1),
            kind::I16 | kind::I32 | kind::I64 => self.varint().map(drop),
            kind::DOUBLE => self.jump(8),
            kind::BINARY => {
                let bytes = self.varint()?;
                self.jump(bytes)
            }
            kind::LIST | kind::SET => {
                let byte = self.byte()?;
                let count = match byte >> 4 {
                    15 => self.varint()?,
                    count => count.into(),
                };
                for _ in 0..count {
                    self.skip_item(byte & 0x0f, depth)?;
                }
                Ok(())
            }
            kind::MAP => {
                let count = self.varint()?;
                let kinds = if count == 0 { 0 } else { self.byte()? };
                for _ in 0..count {
                    self.skip_item(kinds >> 4, depth)?;
                    self.skip_item(kinds & 0x0f, depth)?;
                }
                Ok(())
            }
            kind::STRUCT => {
                let mut field = 0;
                while let Some(of_kind) = self.field(&mut field)? {
                    self.skip(of_kind, depth + 1)?;
                }
                Ok(())
            }
            _ => Err(HeaderError::Malformed),
        }
    }

    /// Skips an item of a list or a map, where a boolean takes a byte.
    fn skip_item(&mut self, of_kind: u8, depth: usize) -> Result<(), HeaderError> {
        match of_kind {
            kind::TRUE | kind::FALSE => self.jump(1),
            _ => self.skip(of_kind, depth + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_up_to_its_last_byte_and_a_cut_one_goes_on() {
        // Type 0, 300 bytes (70 in the file), a data page of 5 values in encoding 7 with a statistic, then a byte of
        // the page.
        let header = [
            0x15, 0x00, 0x15, 0xd8, 0x04, 0x15, 0x8c, 0x01, 0x2c, 0x15, 0x0a, 0x15, 0x0e, 0x15,
            0x06, 0x15, 0x06, 0x1c, 0x18, 0x01, b'a', 0x00, 0x00, 0x00, 0xff,
        ];
        let wanted = PageHeader {
            bytes: header.len() - 1,
            compressed: 70,
            uncompressed: 300,
            levels: 0,
            is_delta: true,
        };
        assert_eq!(page_header(&header), Ok(wanted));
        for length in 0..header.len() - 1 {
            assert_eq!(page_header(&header[..length]), Err(HeaderError::Cut));
        }
        assert_eq!(page_header(&[0x00]), Err(HeaderError::Malformed));
        assert_eq!(page_header(&[0x1d; 64]), Err(HeaderError::Malformed));
        let nested = [0x1c; 64];
        assert_eq!(page_header(&nested), Err(HeaderError::Malformed));
        let endless = [0x19, 0xf0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        assert_eq!(page_header(&endless), Err(HeaderError::Malformed));
    }
}
