//! Encoding of fingerprints as bytes, for a column of the store.
//!
//! Layout: version, CRC-32 of the rest, one bit per optional field, then the fields in declaration order,
//! little-endian. Decoding is strict: an unknown version, a wrong checksum, or a missing or extra byte is an error. An
//! advert with a description and five pictures takes about 350 bytes.

use super::fingerprint::{ApproximatePosition, Fingerprint, OnlinePeriod, index_of, value_at};
use super::identifiers::UnitAddress;
use super::images::ImageHash;
use super::inline_vec::InlineVec;
use super::seller::SellerKind;
use super::text::{LANES, Sketch};

/// Version of the layout. Adverts with a fingerprint of another version cannot be compared until `toise properties
/// rebuild` derives it again. A change of digests alone needs no new version: former digests only agree less, until the
/// rebuild replaces them or the advert is seen again. Nor does a field at a free bit, which former fingerprints lack.
const VERSION: u8 = 1;
/// Bytes before the fields: version and checksum.
const HEAD_BYTES: usize = 5;

/// The error of a failed decoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The fingerprint was written by another version.
    #[error(
        "fingerprint of version {0}, but this program reads version {VERSION}; recompute it from its advert"
    )]
    Version(u8),
    /// The bytes changed since they were written.
    #[error("fingerprint does not match its checksum; recompute it from its advert")]
    Checksum,
    /// The checksum matches, but the bytes are malformed.
    #[error("fingerprint is malformed; recompute it from its advert")]
    Malformed,
}

fn checksum(bytes: &[u8]) -> [u8; 4] {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum().to_le_bytes()
}

/// The optional fields in the order of their bits and bytes. Writing and reading both use this list.
macro_rules! optional_numbers {
    ($each:ident) => {
        $each! { surface_dm2: u32, land_m2: u32, rooms: u8, bedrooms: u8, floor: i16, floors: i16, year: u16,
        price_eur: u32, energy_class: u8, climate_class: u8, energy_score: u16, climate_score: u16, postal_code: u32,
        net_price_eur: u32, condominium_lots: u16, charges_eur: u32 }
    };
}

/// The bits of fields that are not plain numbers come after those of the numbers.
const FIRST_OTHER_BIT: u32 = 16;
const COMMUNE_BIT: u32 = 1 << FIRST_OTHER_BIT;
const SPOT_BIT: u32 = COMMUNE_BIT << 1;
const TEXT_BIT: u32 = SPOT_BIT << 1;
const SELLER_KIND_BIT: u32 = TEXT_BIT << 1;
const PERIOD_BIT: u32 = SELLER_KIND_BIT << 1;
const ONLINE_BIT: u32 = PERIOD_BIT << 1;
const NEW_BUILD_BIT: u32 = ONLINE_BIT << 1;
const DISTRICT_BIT: u32 = NEW_BUILD_BIT << 1;
const ADDRESS_NUMBER_BIT: u32 = DISTRICT_BIT << 1;
const LOT_SERIES_BIT: u32 = ADDRESS_NUMBER_BIT << 1;
const PREVIOUS_PRICE_BIT: u32 = LOT_SERIES_BIT << 1;
const ROOM_BIT: u32 = PREVIOUS_PRICE_BIT << 1;
const TITLE_BIT: u32 = ROOM_BIT << 1;
const LOTS_BIT: u32 = TITLE_BIT << 1;
const STREET_ADDRESS_BIT: u32 = LOTS_BIT << 1;
const UNIT_BIT: u32 = STREET_ADDRESS_BIT << 1;

impl Fingerprint {
    /// Encodes the fingerprint.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(512);
        out.extend_from_slice(&[0; HEAD_BYTES + 4]);
        out[0] = VERSION;
        out.push(index_of(self.class));
        out.push(index_of(self.offer));
        let mut given = self.write_numbers(&mut out);
        if let Some(commune) = self.commune {
            given |= COMMUNE_BIT;
            out.extend_from_slice(&commune);
        }
        if let Some(spot) = self.spot {
            given |= SPOT_BIT;
            out.extend_from_slice(&spot.lat_e6.to_le_bytes());
            out.extend_from_slice(&spot.lon_e6.to_le_bytes());
            out.extend_from_slice(&spot.blur_m.to_le_bytes());
        }
        out.extend_from_slice(&self.amenities_known.to_le_bytes());
        out.extend_from_slice(&self.amenities.to_le_bytes());
        if let Some(text) = &self.text {
            given |= TEXT_BIT;
            out.extend_from_slice(&text.shingles.to_le_bytes());
            for lane in text.lanes {
                out.extend_from_slice(&lane.to_le_bytes());
            }
        }
        out.push(self.figures.len() as u8);
        for figure in self.figures.iter() {
            out.extend_from_slice(&figure.to_le_bytes());
        }
        out.push(self.photos.len() as u8);
        for photo in self.photos.iter() {
            for hash in [photo.perceptual, photo.mean, photo.difference] {
                out.extend_from_slice(&hash.to_le_bytes());
            }
        }
        if let Some(kind) = self.seller_kind {
            given |= SELLER_KIND_BIT;
            out.push(
                SellerKind::ALL
                    .iter()
                    .position(|one| *one == kind)
                    .unwrap_or_default() as u8,
            );
        }
        for keys in [&*self.seller, &*self.references] {
            out.push(keys.len() as u8);
            for key in keys {
                out.extend_from_slice(&key.to_le_bytes());
            }
        }
        if self.new_build {
            given |= NEW_BUILD_BIT;
        }
        out.extend_from_slice(&self.portal.to_le_bytes());
        if let Some(period) = self.period {
            given |= PERIOD_BIT | if period.online { ONLINE_BIT } else { 0 };
            out.extend_from_slice(&period.first_s.to_le_bytes());
            out.extend_from_slice(&period.last_s.to_le_bytes());
        }
        let numbers = [
            (DISTRICT_BIT, self.district),
            (ADDRESS_NUMBER_BIT, self.address_number),
            (LOT_SERIES_BIT, self.lot_series),
            (PREVIOUS_PRICE_BIT, self.previous_price_eur),
            (STREET_ADDRESS_BIT, self.street_address),
        ];
        for (bit, number) in numbers {
            if let Some(number) = number {
                given |= bit;
                out.extend_from_slice(&number.to_le_bytes());
            }
        }
        if let Some(unit) = self.unit {
            given |= UNIT_BIT;
            out.extend_from_slice(&unit.page.to_le_bytes());
            out.extend_from_slice(&unit.unit.to_le_bytes());
        }
        out.push(self.picture_names.len() as u8);
        for name in self.picture_names.iter() {
            out.extend_from_slice(&name.to_le_bytes());
        }
        if self.is_room {
            given |= ROOM_BIT;
        }
        if self.names_lots {
            given |= LOTS_BIT;
        }
        if !self.title.is_empty() {
            given |= TITLE_BIT;
            out.push(self.title.len() as u8);
            for word in self.title.iter() {
                out.extend_from_slice(&word.to_le_bytes());
            }
        }
        out[HEAD_BYTES..HEAD_BYTES + 4].copy_from_slice(&given.to_le_bytes());
        let sum = checksum(&out[HEAD_BYTES..]);
        out[1..HEAD_BYTES].copy_from_slice(&sum);
        out
    }

    /// Writes the optional numbers that are present and returns their bits.
    pub(super) fn write_numbers(&self, out: &mut Vec<u8>) -> u32 {
        let mut given = 0u32;
        let mut bit = 1u32;
        macro_rules! write {
            ($($field:ident: $type:ty),+) => {$(
                if let Some(number) = self.$field {
                    given |= bit;
                    out.extend_from_slice(&number.to_le_bytes());
                }
                bit <<= 1;
            )+};
        }
        optional_numbers!(write);
        debug_assert!(bit <= COMMUNE_BIT);
        given
    }

    /// Decodes what [`Fingerprint::encode`] wrote.
    ///
    /// # Errors
    /// The bytes are of another version, damaged, or not a fingerprint.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        match bytes.first() {
            Some(&VERSION) => {}
            Some(&version) => return Err(DecodeError::Version(version)),
            None => return Err(DecodeError::Malformed),
        }
        let (sum, fields) = bytes[1..]
            .split_at_checked(HEAD_BYTES - 1)
            .ok_or(DecodeError::Malformed)?;
        if sum != checksum(fields) {
            return Err(DecodeError::Checksum);
        }
        let mut rest = ByteReader(fields);
        let fingerprint = read(&mut rest).ok_or(DecodeError::Malformed)?;
        if rest.0.is_empty() {
            Ok(fingerprint)
        } else {
            Err(DecodeError::Malformed)
        }
    }
}

/// Reader of the remaining bytes.
pub(super) struct ByteReader<'a>(pub &'a [u8]);

impl ByteReader<'_> {
    /// Returns the next `N` bytes; `None` if fewer are left.
    pub fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    /// Returns the next byte.
    pub fn byte(&mut self) -> Option<u8> {
        self.take().map(|[byte]| byte)
    }

    /// Returns a list that begins with its length; `None` if it is too long or truncated.
    fn list<T: Copy + Default, const BYTES: usize, const N: usize>(
        &mut self,
        item: impl Fn([u8; BYTES]) -> T,
    ) -> Option<InlineVec<T, N>> {
        let mut items = InlineVec::default();
        for _ in 0..self.byte()? {
            items.push(item(self.take()?)).then_some(())?;
        }
        Some(items)
    }
}

impl Fingerprint {
    /// Reads the numbers that [`Fingerprint::write_numbers`] wrote, as marked by the bits of `given`.
    pub(super) fn read_numbers(&mut self, rest: &mut ByteReader<'_>, given: u32) -> Option<()> {
        let mut bit = 1u32;
        macro_rules! read {
            ($($field:ident: $type:ty),+) => {$(
                if given & bit != 0 {
                    self.$field = Some(<$type>::from_le_bytes(rest.take()?));
                }
                bit <<= 1;
            )+};
        }
        optional_numbers!(read);
        (bit <= COMMUNE_BIT).then_some(())
    }
}

fn read(rest: &mut ByteReader<'_>) -> Option<Fingerprint> {
    let given = u32::from_le_bytes(rest.take()?);
    let has = |bit: u32| given & bit != 0;
    let mut decoded = Fingerprint::empty(value_at(rest.byte()?)?, value_at(rest.byte()?)?);
    decoded.read_numbers(rest, given)?;
    if has(COMMUNE_BIT) {
        decoded.commune = Some(rest.take()?);
    }
    if has(SPOT_BIT) {
        decoded.spot = Some(ApproximatePosition {
            lat_e6: i32::from_le_bytes(rest.take()?),
            lon_e6: i32::from_le_bytes(rest.take()?),
            blur_m: u16::from_le_bytes(rest.take()?),
        });
    }
    decoded.amenities_known = u32::from_le_bytes(rest.take()?);
    decoded.amenities = u32::from_le_bytes(rest.take()?);
    if has(TEXT_BIT) {
        let shingles = u16::from_le_bytes(rest.take()?);
        let mut lanes = [0; LANES];
        for lane in &mut lanes {
            *lane = u16::from_le_bytes(rest.take()?);
        }
        decoded.text = Some(Sketch { lanes, shingles });
    }
    decoded.figures = rest.list(u16::from_le_bytes)?;
    for _ in 0..rest.byte()? {
        let photo = ImageHash {
            perceptual: u64::from_le_bytes(rest.take()?),
            mean: u64::from_le_bytes(rest.take()?),
            difference: u64::from_le_bytes(rest.take()?),
        };
        decoded.photos.push(photo).then_some(())?;
    }
    if has(SELLER_KIND_BIT) {
        decoded.seller_kind = Some(*SellerKind::ALL.get(usize::from(rest.byte()?))?);
    }
    decoded.seller = rest.list(u64::from_le_bytes)?;
    decoded.references = rest.list(u64::from_le_bytes)?;
    decoded.new_build = has(NEW_BUILD_BIT);
    decoded.portal = u32::from_le_bytes(rest.take()?);
    if has(PERIOD_BIT) {
        decoded.period = Some(OnlinePeriod {
            first_s: u32::from_le_bytes(rest.take()?),
            last_s: u32::from_le_bytes(rest.take()?),
            online: has(ONLINE_BIT),
        });
    }
    let numbers = [
        (DISTRICT_BIT, &mut decoded.district),
        (ADDRESS_NUMBER_BIT, &mut decoded.address_number),
        (LOT_SERIES_BIT, &mut decoded.lot_series),
        (PREVIOUS_PRICE_BIT, &mut decoded.previous_price_eur),
        (STREET_ADDRESS_BIT, &mut decoded.street_address),
    ];
    for (bit, number) in numbers {
        if has(bit) {
            *number = Some(u32::from_le_bytes(rest.take()?));
        }
    }
    if has(UNIT_BIT) {
        decoded.unit = Some(UnitAddress {
            page: u32::from_le_bytes(rest.take()?),
            unit: u32::from_le_bytes(rest.take()?),
        });
    }
    decoded.picture_names = rest.list(u32::from_le_bytes)?;
    decoded.is_room = has(ROOM_BIT);
    decoded.names_lots = has(LOTS_BIT);
    if has(TITLE_BIT) {
        decoded.title = rest.list(u16::from_le_bytes)?;
    }
    Some(decoded)
}
