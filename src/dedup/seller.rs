//! Identities of sellers, and the mandate references of adverts.

use super::digest;
use super::inline_vec::InlineVec;
use super::text::FoldedText;
use toise_contract::enums::EnumSellerType;
use toise_contract::listings::Advert;

/// Maximum identities per seller: SIREN, identifier, name, telephone, mail.
pub const SELLER_KEYS_MAX: usize = 5;
/// Maximum digits of the number of a lot.
const LOT_DIGITS_MAX: usize = 3;
/// Maximum references per advert.
pub const REFERENCES_MAX: usize = 3;

/// The kind of seller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SellerKind {
    /// A private person.
    Private,
    /// An agency.
    Agency,
    /// A network of agents under one name and SIREN.
    Network,
    /// A professional of unknown kind.
    Professional,
}

impl SellerKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [
        Self::Private,
        Self::Agency,
        Self::Network,
        Self::Professional,
    ];
}

/// Kind of an identity of a seller, stored in the lowest bits of its digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityKind {
    /// SIREN.
    Siren = 1,
    /// Identifier.
    Id = 2,
    /// Name.
    Name = 3,
    /// Telephone number.
    Telephone = 4,
    /// Mail address.
    Mail = 5,
}

/// Mask of the bits of a digest that hold its kind.
const KIND_BITS: u64 = 7;

impl IdentityKind {
    /// Returns the kind of a digest.
    pub fn of(key: u64) -> Self {
        match key & KIND_BITS {
            1 => Self::Siren,
            2 => Self::Id,
            4 => Self::Telephone,
            5 => Self::Mail,
            _ => Self::Name,
        }
    }
}

/// Returns the kind of the seller and the digests of its identities.
pub fn seller(advert: &Advert) -> (Option<SellerKind>, InlineVec<u64, SELLER_KEYS_MAX>) {
    let mut keys = InlineVec::default();
    let mut add = |kind: IdentityKind, text: Option<&str>| {
        let digest = FoldedText::from_text(text.unwrap_or_default()).digest();
        if digest != digest::EMPTY {
            keys.push((digest::mix(digest) & !KIND_BITS) | kind as u64);
        }
    };
    let seller = advert.seller.as_ref();
    add(
        IdentityKind::Siren,
        seller
            .and_then(|seller| seller.siren.as_ref())
            .map(|siren| siren.as_str()),
    );
    let id = seller
        .and_then(|seller| seller.flx_id)
        .map(|id| id.to_string());
    add(IdentityKind::Id, id.as_deref());
    add(
        IdentityKind::Name,
        seller.and_then(|seller| seller.name.as_deref()),
    );
    if let Some(contact) = &advert.contact_in_charge {
        let telephone = contact.phone_number.as_deref().map(national);
        add(IdentityKind::Telephone, telephone.as_deref());
        add(IdentityKind::Mail, contact.email.as_deref());
    }
    let kind = match (advert.is_pro, seller.and_then(|seller| seller.seller_type)) {
        (_, Some(EnumSellerType::Agency)) => Some(SellerKind::Agency),
        (_, Some(EnumSellerType::Network)) => Some(SellerKind::Network),
        (Some(false), _) => Some(SellerKind::Private),
        (Some(true), _) => Some(SellerKind::Professional),
        (None, _) => seller.map(|_| SellerKind::Professional),
    };
    (kind, keys)
}

/// Returns the last nine digits of a telephone number, without country or trunk prefix.
fn national(number: &str) -> String {
    let digits: Vec<char> = number.chars().filter(char::is_ascii_digit).collect();
    digits[digits.len().saturating_sub(9)..].iter().collect()
}

/// Returns the digest of a reference without its lot number (`1922440` for `1922440-19`): agencies number the lots of
/// one sale.
pub fn lot_series(reference: &str) -> Option<u32> {
    let (series, lot) = reference.trim().rsplit_once(['-', '/', '_'])?;
    let is_lot =
        (1..=LOT_DIGITS_MAX).contains(&lot.len()) && lot.bytes().all(|byte| byte.is_ascii_digit());
    let series = FoldedText::from_text(series).as_reference()?;
    is_lot.then_some(digest::mix(series) as u32)
}

/// Returns the digests of an advert's references: the one in its own field, and those in description, title and tags.
pub fn references(advert: &Advert, description: &FoldedText) -> InlineVec<u64, REFERENCES_MAX> {
    let title = advert.title.as_deref().unwrap_or_default();
    let texts = std::iter::once(title).chain(advert.tags.iter().map(String::as_str));
    let others: Vec<FoldedText> = texts.map(FoldedText::from_text).collect();
    let given = advert.reference.as_deref();
    let given = given.and_then(|text| FoldedText::from_text(text).as_reference());
    let found = given.into_iter().chain(description.references());
    let mut references = InlineVec::<u64, REFERENCES_MAX>::default();
    for reference in found.chain(others.iter().flat_map(FoldedText::references)) {
        if !references.contains(&reference) {
            references.push(reference);
        }
    }
    references
}
