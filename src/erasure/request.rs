//! The request body of an erasure; the command line has options of the same names.

use serde_json::Value;

use super::Mode;
use toise_adverts::contacts::{CONTACT_CHARS_MAX, Contact, ContactKind};
use toise_contract::fault::Fault;
use toise_contract::fields::{Field, FieldKind, read};
use toise_contract::walk::JsonPath;

/// Keys of the contacts, with their kinds.
const CONTACTS: [(&str, ContactKind); 3] = [
    ("phone", ContactKind::Phone),
    ("email", ContactKind::Email),
    ("name", ContactKind::Name),
];
const DRY_RUN: &str = "dryRun";

/// The fields of the request body.
pub static ERASURE: [Field; 4] = [
    Field::optional(
        "phone",
        FieldKind::Words(CONTACT_CHARS_MAX),
        "Telephone number of the person, with or without +33, spaces and dots",
    ),
    Field::optional(
        "email",
        FieldKind::Words(CONTACT_CHARS_MAX),
        "Email address of the person, in any case",
    ),
    Field::optional(
        "name",
        FieldKind::Words(CONTACT_CHARS_MAX),
        "Whole name of the person as private seller or contact person, in any case and order, with or without accents",
    ),
    Field::optional(
        DRY_RUN,
        FieldKind::Flag,
        "Whether only to report what would be removed",
    ),
];

/// A request to erase the contacts of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasureRequest {
    /// The contacts, at least one.
    pub contacts: Vec<Contact>,
    /// Whether anything is changed.
    pub mode: Mode,
}

/// Reads the request body.
///
/// # Errors
/// The first fault in document order; a text is not a contact; no contact is given.
pub fn parse_erasure(body: &Value) -> Result<ErasureRequest, Fault> {
    let mut values = read(body, &ERASURE, JsonPath::Body)?;
    let mut given = Vec::new();
    for (key, _) in CONTACTS {
        given.push(values.take::<String>(key));
    }
    let is_dry_run: Option<bool> = values.take(DRY_RUN);
    Ok(ErasureRequest {
        contacts: contacts([
            given[0].as_deref(),
            given[1].as_deref(),
            given[2].as_deref(),
        ])?,
        mode: if is_dry_run == Some(true) {
            Mode::DryRun
        } else {
            Mode::Erase
        },
    })
}

/// Reads the telephone number, email address and name of a person.
///
/// # Errors
/// A text is not a contact of its kind, or no contact is given. The message does not repeat the text.
pub fn contacts(given: [Option<&str>; 3]) -> Result<Vec<Contact>, Fault> {
    let mut contacts = Vec::new();
    for ((key, kind), text) in CONTACTS.into_iter().zip(given) {
        let Some(text) = text else { continue };
        let rule = match kind {
            ContactKind::Phone => "must be a telephone number of 7 to 15 digits",
            ContactKind::Email => "must be an email address",
            ContactKind::Name => "must be a name, not only a title",
        };
        contacts.push(Contact::parse(kind, text).ok_or_else(|| Fault::new(key, rule))?);
    }
    if contacts.is_empty() {
        return Err(Fault::new("", "must hold phone, email or name"));
    }
    Ok(contacts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_request_names_at_least_one_contact_and_faults_do_not_repeat_it() {
        let all = parse_erasure(
            &json!({"phone": "06 12 34 56 78", "email": "a@b.fr", "name": "Jean Dupont"}),
        );
        let all = all.unwrap();
        assert_eq!((all.contacts.len(), all.mode), (3, Mode::Erase));
        let dry = parse_erasure(&json!({"email": "a@b.fr", "dryRun": true})).unwrap();
        assert_eq!((dry.contacts.len(), dry.mode), (1, Mode::DryRun));
        for (body, message) in [
            (json!({}), "body: must hold phone, email or name"),
            (
                json!({"phone": "0612"}),
                "phone: must be a telephone number of 7 to 15 digits",
            ),
            (
                json!({"email": "a.b.fr"}),
                "email: must be an email address",
            ),
            (
                json!({"name": "M."}),
                "name: must be a name, not only a title",
            ),
            (
                json!({"tel": "1"}),
                "tel: unknown field; must be one of: phone, email, name, dryRun",
            ),
        ] {
            assert_eq!(parse_erasure(&body).unwrap_err().to_string(), message);
        }
    }
}
