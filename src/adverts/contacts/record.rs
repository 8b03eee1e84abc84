//! Removes contacts from the JSON of adverts and properties, stored or incoming.
//!
//! `contactInCharge` is one person: if their number, address or name is in the list, the whole object is removed, and
//! also the seller's name if the seller is a private person. The removed values, and all numbers and addresses of the
//! list, are also cut from the texts of the record.

use serde_json::{Map, Value};

use super::ErasedContacts;
use super::normal::Contact;
use super::texts::Names;

/// Key of the contact person.
const CONTACT: &str = "contactInCharge";
/// Key of the seller.
const SELLER: &str = "seller";
/// Key of the seller's name.
const NAME: &str = "name";
/// Keys of texts in which a person may write a contact.
const TEXTS: [&str; 6] = [
    "title", "description", "tags", "reference", "address", "district",
];
/// Kinds of seller that are not persons.
const PROFESSIONALS: [&str; 2] = ["SELLER_TYPE_AGENCY", "SELLER_TYPE_NETWORK"];

/// How a removed value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemovedValue {
    /// The field is omitted: in a stored record.
    Absent,
    /// The field is null: in a sighting, where an absent field means that nothing changed.
    Null,
}

impl RemovedValue {
    fn put(self, object: &mut Map<String, Value>, key: &str) {
        match self {
            // Keeps the order of the other fields.
            RemovedValue::Absent => drop(object.shift_remove(key)),
            RemovedValue::Null => drop(object.insert(key.to_owned(), Value::Null)),
        }
    }
}

impl ErasedContacts {
    /// Removes the contacts of the list from a record and the records nested in it. Returns whether there were any.
    pub fn remove_from(&self, record: &mut Value, removed_value: RemovedValue) -> bool {
        let mut removed = Vec::new();
        self.remove_within(record, removed_value, &mut removed)
    }

    /// Removes the contacts of the list, names included, from every text of a JSON value. Returns whether there were
    /// any.
    pub fn remove_from_texts(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => match self.without_persons(text) {
                Some(kept) => {
                    *text = kept;
                    true
                }
                None => false,
            },
            Value::Array(items) => {
                change_all(items.iter_mut(), |item| self.remove_from_texts(item))
            }
            Value::Object(object) => {
                change_all(object.values_mut(), |item| self.remove_from_texts(item))
            }
            _ => false,
        }
    }

    /// Removes any contact person and the name of any private seller from a record. Returns whether there were any.
    pub fn remove_person(record: &mut Value) -> bool {
        let Value::Object(object) = record else {
            return false;
        };
        let mut has_any = object.shift_remove(CONTACT).is_some();
        if is_private(object)
            && let Some(Value::Object(seller)) = object.get_mut(SELLER)
        {
            has_any |= seller.shift_remove(NAME).is_some();
        }
        has_any
    }

    fn remove_within(
        &self,
        value: &mut Value,
        removed_value: RemovedValue,
        removed: &mut Vec<Contact>,
    ) -> bool {
        let object = match value {
            Value::Array(items) => {
                return change_all(items.iter_mut(), |item| {
                    self.remove_within(item, removed_value, removed)
                });
            }
            Value::Object(object) => object,
            _ => return false,
        };
        let before = removed.len();
        let mut has_any = self.remove_person_of(object, removed_value, removed);
        for (key, inner) in object.iter_mut() {
            if key != CONTACT && !TEXTS.contains(&key.as_str()) {
                has_any |= self.remove_within(inner, removed_value, removed);
            }
        }
        // A property has the texts of its adverts, so it is searched for the persons of all of them.
        let persons = &removed[before..];
        for key in TEXTS {
            if let Some(text) = object.get_mut(key) {
                has_any |= self.cut_texts(text, persons);
            }
        }
        has_any
    }

    /// Removes the contact person, and the name of a private seller, if either is in the list.
    fn remove_person_of(
        &self,
        object: &mut Map<String, Value>,
        removed_value: RemovedValue,
        removed: &mut Vec<Contact>,
    ) -> bool {
        let person = contacts_of(object.get(CONTACT));
        let is_private = is_private(object);
        let seller = object.get(SELLER).and_then(|seller| seller.get(NAME));
        let seller = seller.filter(|_| is_private).and_then(Value::as_str);
        let seller = seller.and_then(Contact::name);
        let is_person = person.iter().any(|contact| self.contains(contact));
        let is_seller = seller.as_ref().is_some_and(|name| self.contains(name));
        if is_person || (is_seller && !person.is_empty()) {
            removed.extend(person);
            removed.extend(surname_of(object.get(CONTACT)));
            removed_value.put(object, CONTACT);
        }
        if (is_person || is_seller)
            && let Some(name) = seller
        {
            removed.push(name);
            if let Some(Value::Object(seller)) = object.get_mut(SELLER) {
                removed_value.put(seller, NAME);
            }
        }
        is_person || is_seller
    }

    fn cut_texts(&self, text: &mut Value, persons: &[Contact]) -> bool {
        match text {
            Value::String(text) => match self.cut(text, persons, Names::Of(persons)) {
                Some(kept) => {
                    *text = kept;
                    true
                }
                None => false,
            },
            Value::Array(items) => {
                change_all(items.iter_mut(), |item| self.cut_texts(item, persons))
            }
            _ => false,
        }
    }
}

/// Changes all values, and returns whether one of them had anything to change.
fn change_all<'v>(
    values: impl Iterator<Item = &'v mut Value>,
    mut change: impl FnMut(&mut Value) -> bool,
) -> bool {
    let mut has_any = false;
    for value in values {
        has_any |= change(value);
    }
    has_any
}

/// Returns whether the seller of a record may be a private person.
fn is_private(object: &Map<String, Value>) -> bool {
    let is_professional = object.get("isPro") == Some(&Value::Bool(true));
    let of_seller = |key: &str| text_of(object.get(SELLER), key);
    let is_firm = of_seller("type").is_some_and(|kind| PROFESSIONALS.contains(&kind));
    !is_professional && !is_firm && of_seller("siren").is_none()
}

/// Returns the contacts of a contact person: number, address, whole name, pseudonym.
fn contacts_of(person: Option<&Value>) -> Vec<Contact> {
    let text = |key: &str| text_of(person, key);
    let name = match (text("firstName"), text("lastName")) {
        (Some(first), Some(last)) => Contact::name(&format!("{first} {last}")),
        // Some portals write the whole name in one of the two fields.
        (first, last) => first.or(last).and_then(Contact::name),
    };
    let contacts = [
        text("phoneNumber").and_then(Contact::phone),
        text("email").and_then(Contact::email),
        name,
        text("pseudonym").and_then(Contact::name),
    ];
    contacts.into_iter().flatten().collect()
}

/// Returns the surname of a contact person, which texts write after a title.
fn surname_of(person: Option<&Value>) -> Option<Contact> {
    text_of(person, "lastName").and_then(Contact::name)
}

fn text_of<'v>(object: Option<&'v Value>, key: &str) -> Option<&'v str> {
    object
        .and_then(|object| object.get(key))
        .and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn listed(contacts: &[Option<Contact>]) -> ErasedContacts {
        ErasedContacts::new([7; 32], []).of(contacts.iter().flatten())
    }

    fn advert() -> Value {
        json!({
            "url": "https://p.example/0612345678", "title": "T3", "isPro": false,
            "description": "Beau T3. Jean Dupont (M. Dupont), 06.12.34.56.78, jean@example.fr, rue Dupont.",
            "tags": ["cave", "0612345678"],
            "seller": {"name": "Jean Dupont", "flxId": "0192f0c0-0000-7000-8000-000000000000"},
            "contactInCharge": {"firstName": "Jean", "lastName": "Dupont", "email": "Jean@example.fr",
                                "phoneNumber": "+33 6 12 34 56 78"},
            "location": {"postalCode": "83000"},
        })
    }

    #[test]
    fn a_person_found_by_any_contact_is_removed_with_all_of_them() {
        for contact in [
            Contact::phone("06 12 34 56 78"),
            Contact::email("JEAN@EXAMPLE.FR"),
            Contact::name("DUPONT Jean"),
        ] {
            let mut record = advert();
            assert!(listed(&[contact]).remove_from(&mut record, RemovedValue::Absent));
            let expected = json!({
                "url": "https://p.example/0612345678", "title": "T3", "isPro": false,
                "description": "Beau T3. […] ([…]), […], […], rue Dupont.", "tags": ["cave", "[…]"],
                "seller": {"flxId": "0192f0c0-0000-7000-8000-000000000000"}, "location": {"postalCode": "83000"},
            });
            assert_eq!(record, expected);
        }
        let mut record = advert();
        let other = listed(&[Contact::phone("0612345679")]);
        assert!(!other.remove_from(&mut record, RemovedValue::Absent));
        assert_eq!(record, advert());
    }

    #[test]
    fn a_sighting_says_that_the_contact_is_unknown_and_an_agency_keeps_its_name() {
        let mut sighting = json!({
            "isPro": true, "seller": {"name": "Agence du Port"}, "contactInCharge": {"phoneNumber": "0612345678"},
        });
        let list = listed(&[
            Contact::phone("0612345678"),
            Contact::name("Agence du Port"),
        ]);
        assert!(list.remove_from(&mut sighting, RemovedValue::Null));
        let expected =
            json!({"isPro": true, "seller": {"name": "Agence du Port"}, "contactInCharge": null});
        assert_eq!(sighting, expected);
    }

    #[test]
    fn a_property_is_cleared_with_its_adverts() {
        let mut property =
            json!({"title": "T3 de Jean Dupont", "adverts": [advert(), {"title": "Autre"}]});
        let list = listed(&[Contact::email("jean@example.fr")]);
        assert!(list.remove_from(&mut property, RemovedValue::Absent));
        assert_eq!(property["title"], "T3 de […]");
        assert_eq!(property["adverts"][0].get("contactInCharge"), None);
        assert_eq!(property["adverts"][1]["title"], "Autre");
    }

    #[test]
    fn the_person_of_an_old_advert_is_removed_whoever_it_is() {
        let mut record = advert();
        assert!(ErasedContacts::remove_person(&mut record));
        assert_eq!(record.get("contactInCharge"), None);
        assert_eq!(record["seller"].get("name"), None);
        assert!(!ErasedContacts::remove_person(&mut record));
    }
}
