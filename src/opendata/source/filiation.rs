//! Reads documents of filiation of parcels (DFI), which are text files. Combines the two lines that describe a change
//! into one row.
//!
//! A file has no header. The cells of a line are separated by semicolons: department and directorate (`140`), commune
//! (`001`), prefix of the section, number of the document, its nature, day, name of the surveyor (masked), one more
//! cell in some editions, number of the change within the document, `1` for the parcels before or `2` for those after,
//! then the parcels. The two lines of a change follow each other.

use std::io::{BufReader, Read};
use std::sync::Arc;

use super::{Block, BlockReader, Error, Header, SourceLocation};
use toise_base::bounded::Lines;

/// Maximum length of a line, bytes; published lines have at most 175 parcels.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// Number of cells before the name of the surveyor.
const LEADING: usize = 6;
/// Possible indices of the cell with `1` or `2`.
const SIDE_AT: [usize; 2] = [8, 9];
/// Value of that cell on the line with the parcels before the change.
const BEFORE: &str = "1";
/// Value of that cell on the line with the parcels after the change.
const AFTER: &str = "2";
/// Cell content if the line with these parcels is missing.
pub(crate) const MISSING: &str = "no line";

toise_base::named! {
    /// A column of the rows.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum DfiField {
        Department = "departement",
        Commune = "commune",
        Prefix = "prefixe",
        Document = "document",
        Nature = "nature",
        Date = "date",
        Change = "lot",
        Former = "anciennes parcelles",
        Later = "nouvelles parcelles",
    }
}

/// Returns whether a file begins with a line of this form.
pub(crate) fn is_file(probe: &[u8]) -> bool {
    let line = probe
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let cells: Option<Vec<&str>> = std::str::from_utf8(line)
        .ok()
        .map(|line| line.split(';').collect());
    cells.is_some_and(|cells| Line::of(&cells).is_some())
}

/// Returns whether the columns are those of [`DfiReader`].
pub(crate) fn is_header(header: &Header) -> bool {
    header.names == DfiField::NAMES
}

/// The parts of a line.
#[derive(Debug, PartialEq)]
struct Line {
    /// The cells that the two lines of a change have in common.
    key: Vec<String>,
    is_before: bool,
    /// The parcels, separated by semicolons.
    parcels: String,
}

impl Line {
    fn of(cells: &[&str]) -> Option<Self> {
        let cell = |at: usize| cells.get(at).map_or("", |cell| cell.trim());
        let is_number = |text: &str, digits| {
            text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        let side_at = SIDE_AT.into_iter().find(|at| {
            let change = cell(at - 1);
            [BEFORE, AFTER].contains(&cell(*at)) && is_number(change, change.len().max(1))
        })?;
        if cell(0).len() != 3 || !is_number(cell(1), 3) || !is_number(cell(5), 8) {
            return None;
        }
        let mut key: Vec<String> = (0..LEADING).map(|at| cell(at).to_owned()).collect();
        key.push(cell(side_at - 1).to_owned());
        let parcels = (side_at + 1..cells.len()).map(cell);
        let parcels: Vec<&str> = parcels.filter(|parcel| !parcel.is_empty()).collect();
        Some(Self {
            key,
            is_before: cell(side_at) == BEFORE,
            parcels: parcels.join(";"),
        })
    }
}

/// A reader of the changes of a file.
pub(crate) struct DfiReader<R> {
    lines: Lines<BufReader<R>>,
    name: String,
    header: Arc<Header>,
    /// A line whose other half was not read yet, and its number.
    waiting: Option<(Line, u64)>,
}

impl<R: Read> DfiReader<R> {
    pub(crate) fn new(source: R, name: &str) -> Self {
        Self {
            lines: Lines::new(BufReader::new(source), LINE_BYTES_MAX),
            name: name.to_owned(),
            header: Arc::new(Header::new(DfiField::NAMES.map(str::to_owned).to_vec())),
            waiting: None,
        }
    }

    /// Returns the next line and its number.
    fn next_line(&mut self) -> Result<Option<(Line, u64)>, Error> {
        let at = self.lines.number() + 1;
        let line = self
            .lines
            .next_line()
            .map_err(|error| Error::reading(SourceLocation::line(&self.name, at), error))?;
        let Some(line) = line else {
            return Ok(None);
        };
        let place = || SourceLocation::line(&self.name, line.number);
        if line.is_cut {
            return Err(Error::malformed(place(), "the line is too long"));
        }
        let text = std::str::from_utf8(line.bytes)
            .map_err(|_| Error::malformed(place(), "not valid UTF-8"))?;
        let cells: Vec<&str> = text.split(';').collect();
        let read = Line::of(&cells).ok_or_else(|| {
            Error::malformed(
                place(),
                "not a line of a document of filiation (DFI), such as \
                 140;001;000;0000299;1;19900305;X;00001;2;A0297;A0298;",
            )
        })?;
        Ok(Some((read, line.number)))
    }
}

/// Adds a row for one or both lines of a change.
fn push(block: &mut Block, number: u64, one: &Line, other: Option<&Line>) {
    block.start_row(number);
    one.key.iter().for_each(|cell| block.push_cell(cell));
    for is_before in [true, false] {
        let mut lines = [Some(one), other].into_iter().flatten();
        let line = lines.find(|line| line.is_before == is_before);
        block.push_cell(line.map_or(MISSING, |line| &line.parcels));
    }
}

impl<R: Read> BlockReader for DfiReader<R> {
    fn next_block(&mut self) -> Result<Option<Block>, Error> {
        let mut block = Block::new(Arc::clone(&self.header));
        while !block.is_full() {
            let next = self.next_line()?;
            match (self.waiting.take(), next) {
                (None, None) => break,
                (Some((line, number)), None) => push(&mut block, number, &line, None),
                (None, next) => self.waiting = next,
                (Some((line, number)), Some((next, at))) => {
                    if line.key == next.key && line.is_before != next.is_before {
                        push(&mut block, number, &line, Some(&next));
                    } else {
                        push(&mut block, number, &line, None);
                        self.waiting = Some((next, at));
                    }
                }
            }
        }
        Ok((!block.is_empty()).then_some(block))
    }
}
