//! Finds the element of an XML document that is a record, from the names of all its elements.
//!
//! An element whose fields look like those of an advert is preferred over one that only repeats, because photos repeat
//! in one advert and agencies repeat around their adverts. Elements of another name with the same fields, such as
//! `<vente>` and `<location>`, are records too. All elements outside the records are counted for the report. The memory
//! is bounded by the number of different paths, regardless of the size of the document.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::BufRead;

use super::names::{LIST_NAMES, OTHER_NAMES, PRICE, RECORD_NAMES, SIZE, is_among, meaning};
use super::{DEPTH_MAX, Events, Node};

/// Depth to which elements are surveyed; the root has depth 1.
const SURVEY_DEPTH_MAX: usize = 10;
/// Depth to which the record is looked for.
const RECORD_DEPTH_MAX: usize = 8;
/// Levels below an element at which its fields are looked for: `<prix>` in `<bien><infos><prix>`.
const FIELD_LEVELS: usize = 3;
/// Maximum different elements and attributes that are surveyed.
const PATHS_MAX: usize = 10_000;
/// Maximum length of a name that is surveyed, bytes.
const NAME_BYTES_MAX: usize = 200;
/// Maximum elements that a message lists.
const ELEMENTS_SHOWN: usize = 8;
/// Minimum different meanings of fields, the element's own name included, that make it an advert.
const MEANINGS_MIN: u32 = 3;
/// How much the name of an element counts, in meanings of fields.
const NAME_WEIGHT: i64 = 3;
/// Stands for any name in a path.
const ANY: &str = "*";

/// An element or an attribute at one path.
struct Surveyed {
    name: String,
    parent: usize,
    depth: usize,
    count: u64,
    is_element: bool,
    children: BTreeMap<String, usize>,
}

/// All elements of a document by their paths. The first stands for the document and contains the root.
pub(super) struct Survey {
    all: Vec<Surveyed>,
    /// Whether there are more paths than are surveyed.
    is_cut: bool,
}

/// The records of a document.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FoundRecords {
    /// Their paths from the root; none for an empty list.
    pub(super) paths: HashSet<Vec<String>>,
    /// The paths as a mapping names them.
    pub(super) names: String,
    /// Elements outside the records, which are not read, with their number. Empty if there are none.
    pub(super) not_read: String,
}

impl Survey {
    /// Surveys a document.
    ///
    /// # Errors
    /// The text is not XML or is cut off, with the place.
    pub(super) fn read(text: impl BufRead) -> Result<Self, String> {
        let document = Surveyed {
            name: String::new(),
            parent: 0,
            depth: 0,
            count: 1,
            is_element: true,
            children: BTreeMap::new(),
        };
        let mut survey = Self {
            all: vec![document],
            is_cut: false,
        };
        let mut open: Vec<Option<usize>> = vec![Some(0)];
        let mut events = Events::new(text);
        loop {
            match events.next()? {
                Node::Start { name, is_closed } => {
                    if open.len() > DEPTH_MAX {
                        return Err(format!("elements deeper than {DEPTH_MAX}"));
                    }
                    let parent = open.last().copied().flatten();
                    let element = parent.and_then(|parent| survey.count(parent, name, true));
                    let attributes = std::mem::take(&mut events.fields);
                    if let Some(element) = element {
                        for (name, _) in attributes {
                            survey.count(element, name, false);
                        }
                    }
                    if !is_closed {
                        open.push(element);
                    }
                    events.ends.mark();
                }
                Node::End => {
                    open.pop();
                    events.ends.mark();
                }
                Node::Text(_) => {}
                Node::Eof => {
                    let Some(root) = open.get(1) else {
                        return Ok(survey);
                    };
                    let name = root.map_or("", |root| &survey.all[root].name);
                    let byte = events.reader.buffer_position();
                    return Err(format!(
                        "the file ends early, at byte {byte}, before its closing </{name}>; it looks cut off"
                    ));
                }
            }
        }
    }

    /// Counts an element or attribute; `None` if it is not surveyed.
    fn count(&mut self, parent: usize, name: String, is_element: bool) -> Option<usize> {
        let depth = self.all[parent].depth + 1;
        if let Some(known) = self.all[parent].children.get(&name).copied() {
            self.all[known].count += 1;
            self.all[known].is_element |= is_element;
            return Some(known);
        }
        if depth > SURVEY_DEPTH_MAX {
            return None;
        }
        if self.all.len() >= PATHS_MAX || name.len() > NAME_BYTES_MAX {
            self.is_cut = true;
            return None;
        }
        let added = self.all.len();
        self.all[parent].children.insert(name.clone(), added);
        self.all.push(Surveyed {
            name,
            parent,
            depth,
            count: 1,
            is_element,
            children: BTreeMap::new(),
        });
        Some(added)
    }

    /// Returns the records: the elements at the path that a mapping names, otherwise those that look like adverts, else
    /// those that repeat.
    ///
    /// # Errors
    /// The document has no such element. An empty list of adverts is not an error.
    pub(super) fn records(&self, named: Option<&str>) -> Result<FoundRecords, String> {
        let found = match named {
            Some(named) => self.named(named)?,
            None => match self.best() {
                Some(best) => self.like(best),
                None if self.has_empty_list() => Vec::new(),
                None => {
                    return Err(format!(
                        "no element repeats or looks like an advert; name the element in a mapping: \
                         records = \"list.advert\". The document has {}",
                        self.listed(self.elements().take(ELEMENTS_SHOWN + 1))
                    ));
                }
            },
        };
        let paths = found.iter().map(|one| self.path(*one));
        Ok(FoundRecords {
            paths: paths.collect(),
            names: self.listed(found.iter().copied()),
            not_read: self.not_read(&found),
        })
    }

    /// Returns the elements at a path from the root, or from below it.
    fn named(&self, named: &str) -> Result<Vec<usize>, String> {
        let found: Vec<usize> = self
            .elements()
            .filter(|one| self.is_at(*one, named))
            .collect();
        let parent = named.rsplit_once('.').map(|(parent, _)| parent);
        let has_parent = || match parent {
            Some(parent) => self.elements().any(|one| self.is_at(one, parent)),
            None => self.elements().nth(1).is_none(),
        };
        if found.is_empty() && !has_parent() {
            return Err(format!(
                "the mapping expects the adverts at records = {named:?}, and the document has nothing there: it has \
                 {}; change records, or leave it out",
                self.listed(self.elements().take(ELEMENTS_SHOWN + 1))
            ));
        }
        Ok(found)
    }

    fn is_at(&self, element: usize, named: &str) -> bool {
        let path = self.path(element);
        let below = path.get(1..).unwrap_or_default();
        [below, path.as_slice()].iter().any(|path| {
            let mut steps = named.split('.');
            let mut is_same = !path.is_empty() && steps.clone().count() == path.len();
            is_same &= path
                .iter()
                .all(|name| steps.next().is_some_and(|step| step == ANY || step == name));
            is_same || (!path.is_empty() && path.join(".") == named)
        })
    }

    /// Returns the element that is a record with the greatest probability.
    fn best(&self) -> Option<usize> {
        let candidates = || self.elements().filter(|one| self.may_be_record(*one));
        let rank = |one: &usize| {
            let Surveyed { count, depth, .. } = &self.all[*one];
            let depth = std::cmp::Reverse(*depth);
            (self.score(*one), *count, depth, std::cmp::Reverse(*one))
        };
        let adverts = candidates().filter(|one| self.looks_like_advert(*one));
        if let Some(best) = adverts.max_by_key(rank) {
            return Some(best);
        }
        let is_named = |one: &usize| is_among(&self.all[*one].name, RECORD_NAMES);
        if let Some(named) = candidates().filter(is_named).max_by_key(rank) {
            return Some(named);
        }
        // The shallowest that repeats; among those the most frequent.
        let repeated = candidates().filter(|one| {
            let Surveyed { name, count, .. } = &self.all[*one];
            *count > 1 && !is_among(name, OTHER_NAMES)
        });
        repeated.max_by_key(|one| {
            let Surveyed { count, depth, .. } = &self.all[*one];
            (std::cmp::Reverse(*depth), *count, std::cmp::Reverse(*one))
        })
    }

    /// Returns whether an element has fields of its own. One that only wraps another, or that contains a list, has
    /// none.
    fn may_be_record(&self, one: usize) -> bool {
        let Surveyed {
            name,
            depth,
            children,
            ..
        } = &self.all[one];
        let mut fields = children.values();
        let is_wrapper = match (fields.next(), fields.next()) {
            (Some(only), None) => !self.all[*only].children.is_empty(),
            (first, _) => first.is_none(),
        };
        let is_list = is_among(name, LIST_NAMES) && self.meanings(one, 1) & (PRICE | SIZE) == 0;
        *depth <= RECORD_DEPTH_MAX && !is_wrapper && !is_list
    }

    fn score(&self, one: usize) -> i64 {
        let name = &self.all[one].name;
        let fields = i64::from(self.meanings(one, FIELD_LEVELS).count_ones());
        if is_among(name, RECORD_NAMES) {
            fields + NAME_WEIGHT
        } else if is_among(name, OTHER_NAMES) {
            fields - NAME_WEIGHT
        } else {
            fields
        }
    }

    /// Returns whether the fields of an element look like those of an advert. The root must have them itself.
    fn looks_like_advert(&self, one: usize) -> bool {
        let Surveyed { name, depth, .. } = &self.all[one];
        let levels = if *depth == 1 { 1 } else { FIELD_LEVELS };
        let found = self.meanings(one, levels);
        let named = u32::from(is_among(name, RECORD_NAMES));
        found & (PRICE | SIZE) != 0 && found.count_ones() + named >= MEANINGS_MIN
    }

    /// Returns what the fields of an element mean, to some levels below it.
    fn meanings(&self, one: usize, levels: usize) -> u16 {
        let Surveyed {
            count, children, ..
        } = &self.all[one];
        let mut found = 0;
        for child in children.values() {
            let Surveyed {
                name,
                count: of_child,
                ..
            } = &self.all[*child];
            found |= meaning(name);
            if levels > 1 && of_child <= count && !is_among(name, OTHER_NAMES) {
                found |= self.meanings(*child, levels - 1);
            }
        }
        found
    }

    /// Returns an element and those of another name or place that have largely the same fields.
    fn like(&self, best: usize) -> Vec<usize> {
        let is_advert = self.looks_like_advert(best);
        let mut found = vec![best];
        for one in self.elements().filter(|one| self.may_be_record(*one)) {
            let is_apart = found
                .iter()
                .all(|other| !self.is_within(one, *other) && !self.is_within(*other, one));
            let is_beside = self.all[one].parent == self.all[best].parent;
            let is_alike = if is_advert {
                self.looks_like_advert(one)
            } else {
                is_beside
            };
            let is_other = is_among(&self.all[one].name, OTHER_NAMES);
            if is_apart && is_alike && !is_other && self.share_fields(one, best) {
                found.push(one);
            }
        }
        found.sort_unstable();
        found
    }

    fn share_fields(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.all[one].children, &self.all[other].children);
        let shared = one.keys().filter(|name| other.contains_key(*name)).count();
        shared >= 2 && 2 * shared >= one.len().min(other.len())
    }

    fn has_empty_list(&self) -> bool {
        let has_elements = |one: usize| {
            let mut children = self.all[one].children.values();
            children.any(|child| self.all[*child].is_element)
        };
        self.elements().take(1).any(|root| !has_elements(root))
            || self
                .elements()
                .any(|one| is_among(&self.all[one].name, LIST_NAMES) && !has_elements(one))
    }

    /// Returns the elements, from the root on; an element comes after the one that contains it.
    fn elements(&self) -> impl Iterator<Item = usize> {
        (1..self.all.len()).filter(|one| self.all[*one].is_element)
    }

    fn is_within(&self, one: usize, outer: usize) -> bool {
        let mut at = one;
        while at != 0 {
            if at == outer {
                return true;
            }
            at = self.all[at].parent;
        }
        false
    }

    fn path(&self, one: usize) -> Vec<String> {
        let mut path = Vec::new();
        let mut at = one;
        while at != 0 {
            path.push(self.all[at].name.clone());
            at = self.all[at].parent;
        }
        path.reverse();
        path
    }

    /// Returns the path of an element as a mapping names it.
    fn name(&self, one: usize) -> String {
        let path = self.path(one);
        match path.as_slice() {
            [root] => root.clone(),
            path => path.get(1..).unwrap_or_default().join("."),
        }
    }

    /// Lists elements for a message.
    fn listed(&self, elements: impl Iterator<Item = usize>) -> String {
        let names: BTreeSet<usize> = elements.collect();
        let shown = names.iter().take(ELEMENTS_SHOWN);
        let mut shown: Vec<String> = shown.map(|one| self.name(*one)).collect();
        if names.len() > ELEMENTS_SHOWN {
            shown.push("others".to_owned());
        }
        shown.join(", ")
    }

    /// Describes the outermost elements outside the records.
    fn not_read(&self, records: &[usize]) -> String {
        let mut around: BTreeSet<usize> = BTreeSet::new();
        for record in records {
            let mut at = self.all[*record].parent;
            while at != 0 && around.insert(at) {
                at = self.all[at].parent;
            }
        }
        let is_left = |one: &usize| {
            around.contains(&self.all[*one].parent)
                && !around.contains(one)
                && !records.contains(one)
        };
        let mut left = self.elements().filter(is_left);
        let shown = left.by_ref().take(ELEMENTS_SHOWN);
        let mut shown: Vec<String> = shown
            .map(|one| format!("{} {}", self.name(one), self.all[one].count))
            .collect();
        match left.map(|one| self.all[one].count).sum::<u64>() {
            0 if self.is_cut => shown.push("others".to_owned()),
            0 => {}
            others => shown.push(format!("others {others}")),
        }
        shown.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, named: Option<&str>) -> Result<(String, String), String> {
        let found = Survey::read(text.as_bytes())?.records(named)?;
        Ok((found.names, found.not_read))
    }

    fn names(text: &str) -> String {
        found(text, None).unwrap().0
    }

    const ADVERT: &str = "<ref>1</ref><prix>2</prix><ville>Sète</ville><surface>3</surface>";

    #[test]
    fn siblings_of_another_name_with_the_same_fields_are_records() {
        let vente = format!("<vente>{ADVERT}</vente>");
        let location = format!("<location>{ADVERT}<loyer>700</loyer></location>");
        let text = format!("<biens>{vente}{vente}{location}<date>x</date></biens>");
        let expected = ("vente, location".to_owned(), "date 1".to_owned());
        assert_eq!(found(&text, None).unwrap(), expected);
        let apart = format!(
            "<export><ventes>{vente}{vente}</ventes><locations>{location}</locations></export>"
        );
        assert_eq!(names(&apart), "ventes.vente, locations.location");
    }

    #[test]
    fn an_advert_is_the_record_and_not_its_photos_or_its_agency() {
        let photos =
            "<photos><photo url='a' id='1' type='x'/><photo url='b' id='2' type='x'/></photos>";
        let one = format!("<annonces><annonce>{ADVERT}{photos}</annonce></annonces>");
        assert_eq!(names(&one), "annonce");
        let other_elements =
            "<x><y><ref/><prix/><cp/><photo url='a' ref='1'/><photo url='b' ref='2'/></y></x>";
        assert_eq!(names(other_elements), "y");
        for adverts in 1..3 {
            let annonces = format!("<annonce>{ADVERT}</annonce>").repeat(adverts);
            let agence = format!(
                "<agence><nom>A</nom><cp>1</cp><ville>B</ville><annonces>{annonces}</annonces></agence>"
            );
            let text = format!("<export>{agence}{agence}</export>");
            let expected = (
                "agence.annonces.annonce".to_owned(),
                "agence.nom 2, agence.cp 2, agence.ville 2".to_owned(),
            );
            assert_eq!(found(&text, None).unwrap(), expected);
        }
    }

    #[test]
    fn an_advert_may_be_named_like_a_list() {
        let ventes = format!("<ventes>{ADVERT}</ventes>").repeat(2);
        assert_eq!(names(&format!("<export>{ventes}</export>")), "ventes");
    }

    #[test]
    fn fields_in_parts_of_an_advert_are_seen() {
        let bien = "<fiche><infos><prixVente/><nbPieces/></infos><lieu><code_postal/></lieu><ref/></fiche>";
        assert_eq!(names(&format!("<flux>{}</flux>", bien.repeat(2))), "fiche");
        assert_eq!(
            names(&format!("<flux><liste>{bien}</liste></flux>")),
            "liste.fiche"
        );
    }

    #[test]
    fn one_advert_may_be_the_whole_document() {
        let text = format!("<annonce>{ADVERT}</annonce>");
        assert_eq!(
            found(&text, None).unwrap(),
            ("annonce".into(), String::new())
        );
    }

    #[test]
    fn an_empty_list_has_no_records_and_is_no_error() {
        for text in [
            "<annonces/>",
            "<annonces nb='0'></annonces>",
            "<client><nom>x</nom><biens/></client>",
        ] {
            assert!(names(text).is_empty(), "{text}");
        }
        let error = found("<a><b>1</b><b>2</b></a>", None).unwrap_err();
        assert!(error.contains("The document has a, b"), "{error}");
    }

    #[test]
    fn a_mapping_names_the_element() {
        let text = "<x><agence><nom/></agence><lots><lot><a/></lot></lots><lots><lot><a/></lot></lots></x>";
        for named in ["lots.lot", "x.lots.lot", "lots.*"] {
            let expected = ("lots.lot".to_owned(), "agence 1".to_owned());
            assert_eq!(found(text, Some(named)).unwrap(), expected, "{named}");
        }
        assert!(found(text, Some("lots.bien")).unwrap().0.is_empty());
        let error = found(text, Some("data.lot")).unwrap_err();
        assert!(
            error.contains("records = \"data.lot\"") && error.contains("agence"),
            "{error}"
        );
    }

    #[test]
    fn without_adverts_the_shallowest_element_that_repeats_is_the_record() {
        let text = "<a><b n='1'><c x='1'/><c x='2'/></b><b><c x='3'/></b><d><e/></d></a>";
        assert_eq!(found(text, None).unwrap(), ("b".into(), "d 1".into()));
    }

    #[test]
    fn a_document_of_many_names_is_surveyed_in_bounded_memory() {
        let text: String = (0..2 * PATHS_MAX)
            .map(|name| format!("<n{name}/>"))
            .collect();
        let text = format!("<annonces><annonce>{ADVERT}</annonce>{text}</annonces>");
        let survey = Survey::read(text.as_bytes()).unwrap();
        assert_eq!(survey.all.len(), PATHS_MAX);
        let not_read = survey.records(None).unwrap().not_read;
        assert!(not_read.contains("others 99"), "{not_read}");
    }
}
