//! Finds the columns of a file that a request reads, and reports how they were understood.
//!
//! Also notes an address without a town, and refuses a file whose first line looks like a row and not like a header.

use super::request::{FileRequest, UnnamedColumns};
use crate::request::Operation;
use crate::text::fold::{Token, tokens};
use crate::text::lexicon;
use toise_contract::Fault;
use toise_contract::columns::{
    ADDRESS, CITY, POSTAL_CODE, has_house_number, is_house_number, meaning, names_address,
    names_town,
};
use toise_input::FileReading;
use toise_input::reading::ColumnUse;

/// Maximum bytes of column names in a message.
const LISTED_BYTES_MAX: usize = 2_000;
/// Length of a postal code in bytes.
const POSTAL_CODE_BYTES: usize = 5;
/// Minimum bytes of a word in the plural.
const PLURAL_BYTES_MIN: usize = 4;
/// Minimum words of a street with its number and type.
const STREET_WORDS_MIN: usize = 3;

/// The columns of a file that a request reads, by position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputColumns {
    /// Columns of the address, in order.
    pub text: Vec<usize>,
    /// How many of them, the first, hold the house number of the street that follows. They are left out of a row whose
    /// street begins with a number.
    pub house_numbers: usize,
    /// Columns of the address whose names mean its postal code and its town. They are left out of a row whose address
    /// already has them.
    pub town: [Option<usize>; 2],
    /// Column of the postal code.
    pub postal_code: Option<usize>,
    /// Column of the INSEE code.
    pub insee_code: Option<usize>,
    /// Whether its name alone says so. A row with a code of no commune is then searched without it.
    pub is_code_meant: bool,
    /// Column of the kind of result.
    pub kind: Option<usize>,
    /// Column of the latitude.
    pub lat: Option<usize>,
    /// Column of the longitude.
    pub lon: Option<usize>,
}

/// Usual names of the columns of a position.
const LATITUDES: [&str; 4] = ["latitude", "lat", "y_lat", "_lat"];
const LONGITUDES: [&str; 6] = ["longitude", "lon", "lng", "long", "x_lon", "_lon"];

impl InputColumns {
    /// Finds a request's columns among those of a file.
    ///
    /// # Errors
    /// The file lacks a column that the request names, or the columns of the position are incomplete.
    pub fn find(request: &FileRequest, header: &[String]) -> Result<Self, Fault> {
        let position = |name: &str| header.iter().position(|column| column == name);
        let find = |path: String, name: &str| {
            position(name).ok_or_else(|| {
                let columns = listed(header);
                let message =
                    format!("the file has no column {name:?}; its columns are: {columns}");
                Fault::new(path, message)
            })
        };
        let filter = |path: &str, name: &Option<String>| {
            name.as_deref()
                .map(|name| find(path.to_owned(), name))
                .transpose()
        };
        let usual = |names: &[&str]| {
            header
                .iter()
                .position(|column| names.contains(&column.to_ascii_lowercase().as_str()))
        };
        let mut text = Vec::new();
        for (index, name) in request.columns.iter().enumerate() {
            text.push(find(format!("columns[{index}]"), name)?);
        }
        if text.is_empty() && request.operation == Operation::Search {
            // A column without a name numbers the rows, or is empty.
            let is_named = |column: &usize| {
                request.unnamed == UnnamedColumns::All || !header[*column].is_empty()
            };
            text = (0..header.len()).filter(is_named).collect();
        }
        let meant: &[String] = if request.is_meant {
            &request.columns
        } else {
            &[]
        };
        let town = [POSTAL_CODE, CITY].map(|field| {
            let is_it = |name: &&String| meaning(name).is_some_and(|found| found.field == field);
            meant.iter().find(is_it).and_then(|name| position(name))
        });
        let mut found = Self {
            text,
            house_numbers: meant.iter().filter(|name| is_house_number(name)).count(),
            town,
            postal_code: filter("postcode", &request.postal_code)?,
            insee_code: filter("citycode", &request.insee_code)?,
            is_code_meant: request.is_code_meant,
            kind: filter("type", &request.kind)?,
            lat: filter("lat", &request.lat)?,
            lon: filter("lon", &request.lon)?,
        };
        if request.operation == Operation::Reverse {
            // Only the position is used; address columns are ignored.
            found.text.clear();
            found.lat = found.lat.or_else(|| usual(&LATITUDES));
            found.lon = found.lon.or_else(|| usual(&LONGITUDES));
            for (name, column) in [("lat", found.lat), ("lon", found.lon)] {
                if column.is_none() {
                    let columns = listed(header);
                    let message = format!(
                        "must name the column of the position; the file's columns are: {columns}"
                    );
                    return Err(Fault::new(name, message));
                }
            }
        }
        if found.lat.is_some() != found.lon.is_some() {
            return Err(Fault::new("lat", "and lon must be given together"));
        }
        Ok(found)
    }

    /// Finds a request's columns among the columns of a file, and returns them with how they were interpreted. The
    /// columns of the address come from [`FileRequest::for_header`].
    ///
    /// # Errors
    /// Those of [`Self::find`].
    pub fn understand(
        request: &FileRequest,
        header: &[String],
    ) -> Result<(Self, FileReading), Fault> {
        let named = request.for_header(header);
        let found = Self::find(&named, header)?;
        let mut reading = found.reading(header);
        if request.columns.is_empty() && !named.columns.is_empty() {
            reading.notes.push(format!(
                "the address is made of the columns {}, in this order; --columns names others",
                named.columns.join(", ")
            ));
            reading.notes.extend(town_note(request, &named));
            if named.columns.iter().all(|name| names_town(name)) {
                let note = "warning: no column is named like a street or an address, so only towns are searched; \
                    --columns names those of the address";
                reading.notes.push(note.to_owned());
            }
        } else if request.unnamed == UnnamedColumns::ByMeaning
            && header.len() > 1
            && found.has_every_column(&named)
        {
            let note = "no column is named like a street or an address, so the address is made of all columns; \
                        --columns names those of the address";
            reading.notes.push(note.to_owned());
        }
        Ok((found, reading))
    }

    /// Does the same for a file whose columns are named by its first line.
    ///
    /// # Errors
    /// Those of [`Self::understand`]. If the request leaves the choice of columns to their names, and these do not
    /// tell: the line looks like a row.
    pub fn understand_line(
        request: &FileRequest,
        line: &[String],
    ) -> Result<(Self, FileReading), Fault> {
        let understood = Self::understand(request, line)?;
        let is_open = request.unnamed == UnnamedColumns::ByMeaning;
        if is_open && understood.0.has_every_column(&request.for_header(line)) {
            refuse_row(line)?;
        }
        Ok(understood)
    }

    /// Returns whether all columns of the file are used, because neither the request nor their names select any.
    fn has_every_column(&self, request: &FileRequest) -> bool {
        let named = [self.postal_code, self.insee_code, self.kind, self.lat];
        request.operation == Operation::Search
            && request.columns.is_empty()
            && named.iter().all(Option::is_none)
    }

    /// Returns which of a file's columns are read, as what, and which are not.
    pub fn reading(&self, header: &[String]) -> FileReading {
        let parameters = [
            ("postcode", self.postal_code),
            ("citycode", self.insee_code),
            ("type", self.kind),
            ("lat", self.lat),
            ("lon", self.lon),
        ];
        let mut reading = FileReading::default();
        for (place, column) in header.iter().enumerate() {
            let mut fields: Vec<&str> = Vec::new();
            fields.extend(self.text.contains(&place).then_some("address"));
            let named = parameters.iter().filter(|(_, at)| *at == Some(place));
            fields.extend(named.map(|(name, _)| *name));
            if fields.is_empty() {
                reading.add_unused(column);
            } else {
                reading.columns_used.push(ColumnUse {
                    column: column.clone(),
                    field: fields.join(" and "),
                });
            }
        }
        reading
    }
}

/// Returns a note on the town of addresses whose columns were chosen by their names, if none of these has the town;
/// `named` is the request with these columns.
fn town_note(request: &FileRequest, named: &FileRequest) -> Option<String> {
    if request.insee_code.is_some() || request.postal_code.is_some() {
        return None;
    }
    if let Some(column) = &named.insee_code {
        return Some(format!(
            "the commune of an address is the INSEE code in {column}; --citycode names another column"
        ));
    }
    let is_address = |name: &str| meaning(name).is_some_and(|found| found.field == ADDRESS);
    let mut columns = named.columns.iter();
    let is_said = columns.any(|name| names_town(name) || is_address(name) || names_address(name));
    (!is_said).then(|| {
        "no town column: many towns have a street of the same name; name the column of the town with --columns, or of \
         its code with --postcode or --citycode"
            .to_owned()
    })
}

/// Refuses a header that looks like a row: a cell has a street with a house number, or a postal code, so the file has
/// no header and would lose its first row.
fn refuse_row(header: &[String]) -> Result<(), Fault> {
    let is_postal_code = |word: &str| {
        word.len() == POSTAL_CODE_BYTES && word.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_address = |cell: &&String| {
        let mut words =
            cell.split(|character: char| !character.is_alphanumeric() && character != '_');
        is_numbered_street(cell) || words.any(is_postal_code)
    };
    let Some(cell) = header.iter().find(is_address) else {
        return Ok(());
    };
    let message = format!(
        "the first line looks like a row and not like the names of columns: {cell:?}; write a line of names above it, \
         such as address, or give the names with --columns if they are some"
    );
    Err(Fault::new("data", message))
}

/// Returns whether a cell is a street of a usual type after its house number: `12 bis, av. Foch` or `5 Grande Rue`, but
/// not `1. Adresse`, `3 pièces avec jardin` or `2 chambres cour`.
fn is_numbered_street(cell: &str) -> bool {
    let after = cell.trim_start().trim_start_matches(char::is_alphanumeric);
    let words = tokens(cell);
    let is_type = |word: &str| {
        let mut meant = lexicon::expansions(word).iter().chain([&word]);
        meant.any(|word| lexicon::is_street_type(word))
    };
    has_house_number(cell)
        && after.starts_with(|character: char| character.is_whitespace() || character == ',')
        && words.len() >= STREET_WORDS_MIN
        && street_starts(&words).any(is_type)
}

/// Returns the words of a numbered street that may be its type: the first after the house number, or the second if the
/// first may be an adjective, and not what is counted.
fn street_starts(words: &[Token]) -> impl Iterator<Item = &str> {
    let words = words.iter().map(|word| word.text.as_str()).skip(1);
    let mut words = words.skip_while(|word| lexicon::suffix_code(word).is_some());
    let first = words.next();
    let may_be_adjective = |word: &str| word.len() < PLURAL_BYTES_MIN || !word.ends_with('s');
    let second = words.next().filter(|_| first.is_none_or(may_be_adjective));
    first.into_iter().chain(second)
}

/// Lists the names of columns for a message, as many as fit into [`LISTED_BYTES_MAX`].
fn listed(header: &[String]) -> String {
    let mut text = String::new();
    for (index, name) in header.iter().enumerate() {
        if text.len() + name.len() > LISTED_BYTES_MAX {
            return format!("{text} and {} more", header.len() - index);
        }
        if index > 0 {
            text.push_str(", ");
        }
        text.push_str(name);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(names: &str) -> Vec<String> {
        names.split(';').map(str::to_owned).collect()
    }

    #[test]
    fn an_address_is_made_of_the_columns_that_mean_one() {
        let request = FileRequest {
            unnamed: UnnamedColumns::ByMeaning,
            ..FileRequest::default()
        };
        let text = |names: &str| {
            let (found, reading) = InputColumns::understand(&request, &header(names)).unwrap();
            (found.text, reading.notes.len())
        };
        let numbers = |names: &str| {
            let names = header(names);
            let found = InputColumns::understand(&request, &names).unwrap().0;
            found.house_numbers
        };
        assert_eq!(numbers("id;CP;Rue;rep;N°"), 2);
        assert_eq!(numbers("N°;Adresse;CP"), 0);
        assert_eq!(text("N°;Adresse;CP;Commune;Nom client"), (vec![1, 2, 3], 1));
        assert_eq!(text("id;CP;Ville;Rue;N°"), (vec![4, 3, 1, 2], 1));
        assert_eq!(text("id;adresse"), (vec![1], 1), "a whole address");
        assert_eq!(text("nom_iris;rue;note"), (vec![1], 2), "no town");
        assert_eq!(text("rue;lieu"), (vec![0, 1], 1), "a place");
        assert_eq!(text("x;rue;Ville client"), (vec![1, 2], 1), "a word");
        assert_eq!(text("rue;depcom"), (vec![0], 2), "a commune");
        assert_eq!(text("a;b"), (vec![0, 1], 1), "all columns");
        assert_eq!(text(";a;b"), (vec![1, 2], 1), "row numbers");
        assert_eq!(text("id;CP;Ville;prix"), (vec![1, 2], 2), "only towns");
        assert_eq!(text("a"), (vec![0], 0));
        let note = |names: &str| {
            let (found, reading) = InputColumns::understand(&request, &header(names)).unwrap();
            let last = reading.notes.last().cloned().unwrap_or_default();
            (found.insee_code, last)
        };
        let (code, last) = note("nom_iris;iris;numero;nom_voie");
        assert!(
            code.is_none() && last.starts_with("no town column"),
            "{last}"
        );
        let (code, last) = note("depcom;numero;repetition;type_voie;libelle");
        assert_eq!(code, Some(0));
        assert!(last.contains("INSEE code in depcom"), "{last}");
        assert_eq!(note("insee;rue;ville").0, None, "the town is named");
        let (_, last) = note("a;b");
        assert!(last.contains("all columns"), "{last}");
        let (_, reading) = InputColumns::understand(&request, &header("Ville;Adresse;x")).unwrap();
        assert_eq!(
            reading.notes,
            [
                "the address is made of the columns Adresse, Ville, in this order; --columns names others"
            ]
        );
        assert_eq!(reading.columns_unused, ["x"]);
    }

    #[test]
    fn the_postal_code_and_the_town_of_an_address_are_those_that_names_mean() {
        let header = header("adresse_ban;nom_commune_ban;code_postal_ban;code_insee_ban");
        let open = FileRequest {
            unnamed: UnnamedColumns::ByMeaning,
            ..FileRequest::default()
        };
        let found = InputColumns::understand(&open, &header).unwrap().0;
        assert_eq!(
            (found.text, found.town),
            (vec![0, 2, 1], [Some(2), Some(1)])
        );
        let named = FileRequest {
            columns: header.clone(),
            ..open
        };
        let found = InputColumns::understand(&named, &header).unwrap().0;
        assert_eq!(found.town, [None; 2]);
    }

    #[test]
    fn a_row_in_the_place_of_the_names_is_refused() {
        let open = FileRequest {
            unnamed: UnnamedColumns::ByMeaning,
            ..FileRequest::default()
        };
        let named = |name: &str| FileRequest {
            columns: vec![name.into()],
            ..open.clone()
        };
        for row in [
            "7;12 rue de la Paix, Paris",
            "Place Foch;48000;Mende",
            "Durand;9 bis av. Foch",
            "Durand;9 B Grande Rue",
            "Durand;9 vieux chemin de Mende",
        ] {
            let refused = InputColumns::understand_line(&open, &header(row)).unwrap_err();
            assert!(refused.to_string().contains("looks like a row"), "{row}");
            let first = row.split(';').next().unwrap();
            assert!(InputColumns::understand_line(&named(first), &header(row)).is_ok());
            // Over HTTP the first line is the header.
            assert!(InputColumns::understand_line(&FileRequest::default(), &header(row)).is_ok());
        }
        for names in [
            "lieu;2023;2024",
            "a;3 pièces",
            "Adresse;48000",
            "Ville;2022_population",
            "1. Nom;2. Adresse du bien;3. Commune",
            "lieu;3 pièces prix",
            "lieu;3 pièces avec jardin",
            "lieu;3 pièces jardin;2 chambres cour",
        ] {
            assert!(
                InputColumns::understand_line(&open, &header(names)).is_ok(),
                "{names}"
            );
        }
    }

    #[test]
    fn named_columns_and_requests_over_http_are_taken_as_they_are() {
        let names = header("N°;Adresse;CP");
        let open = FileRequest::default();
        assert_eq!(
            InputColumns::understand(&open, &names).unwrap().0.text,
            [0, 1, 2]
        );
        let named = FileRequest {
            columns: vec!["N°".into()],
            unnamed: UnnamedColumns::ByMeaning,
            ..FileRequest::default()
        };
        let (found, reading) = InputColumns::understand(&named, &names).unwrap();
        assert_eq!((found.text, reading.notes.len()), (vec![0], 0));
        assert_eq!(found.house_numbers, 0);
    }
}
