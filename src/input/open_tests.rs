//! Tests of opening sources in all containers, good ones and bad ones.

use std::io::{Cursor, Write};

use super::*;

const TEXT: &str = "ref;ville;prix\n1;Sète;210 000\n2;Mende;199 900,50\n";

fn read(bytes: &[u8]) -> Result<(String, Vec<String>), Error> {
    let mut input = open(bytes, TextConversion::Utf8)?;
    let mut text = String::new();
    input.reader.read_to_string(&mut text)?;
    Ok((text, input.form.found().containers))
}

fn refusal(bytes: &[u8]) -> String {
    read(bytes).unwrap_err().to_string()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        archive
            .start_file(*name, zip::write::SimpleFileOptions::default())
            .unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[test]
fn the_text_is_the_same_in_every_container() {
    let utf8 = TEXT.as_bytes();
    let zstd = zstd::encode_all(utf8, 3).unwrap();
    let windows = encoding_rs::WINDOWS_1252.encode(TEXT).0.into_owned();
    let exported = zip(&[
        ("Config.txt", b"Version=4.09"),
        ("a/b.jpg", b"\xff\xd8"),
        ("Annonces.csv", &windows),
    ]);
    let in_zip = |name: &str, bytes: &[u8]| zip(&[(name, bytes)]);
    for (bytes, containers) in [
        (utf8.to_vec(), &[][..]),
        (windows, &[]),
        (gzip(utf8), &["gzip"]),
        (zstd, &["zstd"]),
        (in_zip("ventes.csv", utf8), &["zip: ventes.csv"]),
        (exported, &["zip: Annonces.csv"]),
        (in_zip("v.csv.gz", &gzip(utf8)), &["zip: v.csv.gz", "gzip"]),
    ] {
        let (text, found) = read(&bytes).unwrap();
        assert_eq!(text, TEXT, "{containers:?}");
        assert_eq!(found, containers);
    }
}

#[test]
fn what_is_no_table_is_refused_by_name() {
    let two = zip(&[("a.csv", b"x"), ("b.csv", b"x")]);
    let document = zip(&[("word/document.xml", b"x")]);
    let nested = gzip(&gzip(&gzip(&gzip(&gzip(b"x")))));
    let packed = gzip(TEXT.as_bytes());
    let cut = packed[..packed.len() - 12].to_vec();
    for (bytes, reason) in [
        (cut, "the file is cut off"),
        (b"%PDF-1.4 ...".to_vec(), "this is a PDF"),
        (b"<!DOCTYPE html><html>".to_vec(), "this is a web page"),
        (gzip(b"<?xml version='1.0'?><a/>"), "this is XML"),
        (b"<table><tr><td>1".to_vec(), "this is a table in HTML"),
        (zip(&[("a.jpg", b"x")]), "holds no table, only a.jpg"),
        (
            zip(&[("z/A.SHP", b"x"), ("z/A.DBF", b"x")]),
            "only z/A.SHP, z/A.DBF; unpack it and convert the Shapefile: ogr2ogr",
        ),
        (b"\x00\x00\x27\x0a\x00\x00".to_vec(), "this is a Shapefile"),
        (gzip(b"fgb\x03fgb\x00"), "and only unpacked"),
        (
            b"<?xml version='1.0'?>\n<kml xmlns='http://www.opengis.net/kml/2.2'>".to_vec(),
            "this is KML or GML: convert it: ogr2ogr",
        ),
        (two, "holds 2 tables (a.csv, b.csv): unpack it"),
        (document, "this is a text document"),
        (b"PK\x03\x04 cut off".to_vec(), "perhaps cut off"),
        (nested, "archives inside one another"),
    ] {
        let found = refusal(&bytes);
        assert!(found.contains(reason), "{found} instead of {reason}");
    }
}

#[test]
fn xml_is_text_for_callers_that_read_it() {
    let bounds = Bounds {
        has_markup: true,
        ..Bounds::default()
    };
    let xml = b"<?xml version='1.0'?><a/>";
    let mut input = open_within(&xml[..], TextConversion::Utf8, bounds).unwrap();
    let mut text = Vec::new();
    input.reader.read_to_end(&mut text).unwrap();
    assert_eq!(text, xml);
}

#[test]
fn no_container_expands_endlessly() {
    let zeros = vec![b'0'; 80 << 20];
    for bytes in [
        zip(&[("zeros.csv", &zeros)]),
        zstd::encode_all(&zeros[..], 3).unwrap(),
        gzip(&zeros),
    ] {
        let found = refusal(&bytes);
        assert!(found.contains("times its size"), "{found}");
    }
}

#[test]
fn what_a_caller_bounds_is_refused_beyond_the_bound() {
    let bounds = Bounds {
        expanded_bytes: 1 << 20,
        held_bytes: 1 << 20,
        has_unbounded: false,
        has_markup: false,
    };
    let read = |bytes: &[u8]| {
        let mut input = open_within(bytes, TextConversion::Utf8, bounds)?;
        input.reader.read_to_end(&mut Vec::new())?;
        Ok::<_, Error>(())
    };
    let text = vec![b'0'; 2 << 20];
    assert!(read(&text).is_ok(), "no container");
    for bytes in [zip(&[("a.csv", &text)]), gzip(&text)] {
        let refused = read(&bytes).unwrap_err().to_string();
        assert!(refused.contains("more than 1048576 bytes"), "{refused}");
    }
    let cell = r#"<row r="2"><c r="A2" t="inlineStr"><is><t>0123456789</t></is></c></row>"#;
    let rows: String = (2..200_000)
        .map(|row| {
            cell.replace("\"2\"", &format!("\"{row}\""))
                .replace("A2", &format!("A{row}"))
        })
        .collect();
    let refused = read(&workbook(&rows)).unwrap_err().to_string();
    assert!(refused.contains("more than 1048576 bytes"), "{refused}");
    let columns = read(b"PAR1 and more").unwrap_err().to_string();
    assert!(columns.contains("send CSV"), "{columns}");
    // A hundred bytes that expand to a billion cells.
    let cell = r#"<table:table-cell office:value-type="string" table:number-columns-repeated="1000"><text:p>x</text:p></table:table-cell>"#;
    let sheet = format!(
        r#"<a><table:table table:name="B"><table:table-row table:number-rows-repeated="1000000">{cell}</table:table-row></table:table></a>"#
    );
    let members = [
        ("content.xml", sheet.as_bytes()),
        ("META-INF/manifest.xml", b"<a/>"),
    ];
    for refused in [
        read(&zip(&members)).unwrap_err().to_string(),
        refusal(&zip(&members)),
    ] {
        assert!(
            refused.contains("bytes of memory: save it as CSV"),
            "{refused}"
        );
    }
    // Ten million texts take twice 64 bytes each.
    let texts = sheet.replace("=\"1000\"", "=\"10\"");
    assert_ne!(texts, sheet);
    let members = [
        ("content.xml", texts.as_bytes()),
        ("META-INF/manifest.xml", b"<a/>"),
    ];
    let refused = refusal(&zip(&members));
    assert!(
        refused.contains("bytes of memory: save it as CSV"),
        "{refused}"
    );
    // Sheets that are small one by one.
    let cell =
        r#"<table:table-cell office:value-type="string"><text:p>x</text:p></table:table-cell>"#;
    let sheet = format!(
        r#"<table:table table:name="B"><table:table-row table:number-rows-repeated="1000">{cell}</table:table-row></table:table>"#
    );
    let sheets = format!("<a>{}</a>", sheet.repeat(40));
    let members = [
        ("content.xml", sheets.as_bytes()),
        ("META-INF/manifest.xml", b"<a/>"),
    ];
    let refused = read(&zip(&members)).unwrap_err().to_string();
    assert!(refused.contains("save it as CSV"), "{refused}");
}

/// A workbook with inline strings, numbers and a date.
fn workbook(rows: &str) -> Vec<u8> {
    workbook_of(&[("Feuil1", rows.to_owned())])
}

/// The rows of a sheet whose cells are texts.
fn text_rows(rows: &[&[&str]]) -> String {
    let row = |(number, cells): (usize, &&[&str])| {
        let cell = |text: &&str| format!(r#"<c t="inlineStr"><is><t>{text}</t></is></c>"#);
        let cells: String = cells.iter().map(cell).collect();
        format!(r#"<row r="{}">{cells}</row>"#, number + 1)
    };
    rows.iter().enumerate().map(row).collect()
}

/// A workbook of several sheets, with their names.
fn workbook_of(sheets: &[(&str, String)]) -> Vec<u8> {
    let types = r#"<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"/></Types>"#;
    let relations = r#"<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#;
    let numbered = || (1..).zip(sheets);
    let listed: String = numbered()
        .map(|(id, (name, _))| format!(r#"<sheet name="{name}" sheetId="{id}" r:id="r{id}"/>"#))
        .collect();
    let book = format!(
        r#"<?xml version="1.0"?><workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>{listed}</sheets></workbook>"#
    );
    let related: String = numbered()
        .map(|(id, _)| {
            format!(
                r#"<Relationship Id="r{id}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet{id}.xml"/>"#
            )
        })
        .collect();
    let book_relations = format!(
        r#"<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{related}<Relationship Id="styles" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.xml"/></Relationships>"#
    );
    let styles = r#"<?xml version="1.0"?><styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>"#;
    let sheet = |rows: &str| {
        format!(
            r#"<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{rows}</sheetData></worksheet>"#
        )
    };
    let sheets: Vec<(String, String)> = numbered()
        .map(|(id, (_, rows))| (format!("xl/worksheets/sheet{id}.xml"), sheet(rows)))
        .collect();
    let mut members = vec![
        ("[Content_Types].xml", types.as_bytes()),
        ("_rels/.rels", relations.as_bytes()),
        ("xl/workbook.xml", book.as_bytes()),
        ("xl/_rels/workbook.xml.rels", book_relations.as_bytes()),
        ("xl/styles.xml", styles.as_bytes()),
    ];
    members.extend(
        sheets
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_bytes())),
    );
    zip(&members)
}

#[test]
fn sheets_with_the_same_header_are_read_together_and_the_others_are_named() {
    let cover = text_rows(&[&["Portefeuille de l'agence"], &["Édition", "mars"]]);
    let header: &[&str] = &["ville", "prix", "réf"];
    let first = text_rows(&[header, &["Sète", "1", "a"], &["Mende", "2", "b"]]);
    let other = text_rows(&[&["code", "nom"], &["1", "x"], &["2", "y"]]);
    let second = text_rows(&[&["Ville ", "Prix", "réf"], &["Lyon", "3", "c"]]);
    let bytes = workbook_of(&[
        ("Infos", cover),
        ("2023", first),
        ("Codes", other),
        ("2024", second),
        ("Vide", text_rows(&[header])),
        ("Rien", String::new()),
    ]);
    let mut input = open(&bytes[..], TextConversion::Utf8).unwrap();
    let mut text = String::new();
    input.reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "ville,prix,réf\nSète,1,a\nMende,2,b\nLyon,3,c\n");
    let form = input.form.found();
    assert_eq!(form.containers, ["spreadsheet: 2023, 2024"]);
    assert_eq!(
        form.notes,
        [
            "sheet Infos is not read",
            "sheet Codes is not read",
            "sheet Vide is not read"
        ]
    );
}

#[test]
fn hidden_sheets_are_not_read_and_are_named() {
    let table = text_rows(&[&["ville", "prix"], &["Sète", "1"]]);
    let larger = text_rows(&[&["ville", "prix"], &["Mende", "2"], &["Lyon", "3"]]);
    let sheets = [("Listes\" state=\"hidden", larger), ("Ventes", table)];
    let mut input = open(Cursor::new(workbook_of(&sheets)), TextConversion::Utf8).unwrap();
    let mut text = String::new();
    input.reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "ville,prix\nSète,1\n");
    assert_eq!(
        input.form.found().notes,
        ["hidden sheet Listes is not read"]
    );
    let refused = refusal(&workbook_of(&sheets[..1]));
    assert!(refused.contains("no visible sheet"), "{refused}");
}

#[test]
fn the_header_of_a_sheet_is_below_its_titles() {
    let (title, header) = (
        &["Parc", "5 mars"][..],
        &["ville", "type", "prix", "réf"][..],
    );
    let first = text_rows(&[
        title,
        header,
        &["Sète", "flat", "1", "a"],
        &["Mende", "flat", "2"],
    ]);
    let other = text_rows(&[
        title,
        &["réf", "prix", "type", "ville"],
        &["c", "3", "flat", "Lyon"],
    ]);
    let second = text_rows(&[&["Avril"], header, &["Lyon", "flat", "4", "d"]]);
    let bytes = workbook_of(&[("A", first), ("B", other), ("C", second)]);
    let mut input = open(&bytes[..], TextConversion::Utf8).unwrap();
    let mut text = String::new();
    input.reader.read_to_string(&mut text).unwrap();
    assert_eq!(
        text,
        "Parc,5 mars\nville,type,prix,réf\nSète,flat,1,a\nMende,flat,2,\nLyon,flat,4,d\n"
    );
    let form = input.form.found();
    assert_eq!(form.containers, ["spreadsheet: A, C"]);
    assert_eq!(form.notes, ["sheet B is not read"]);
}

#[test]
fn the_header_of_a_sheet_is_below_the_names_of_groups() {
    let names = ["réf", "type", "prix", "charges", "dpe", "ges", "nom", "tél"];
    let row = ["A1", "flat", "210000", "90", "C", "D", "Durand", "06"];
    let rows = text_rows(&[&["Bien", "", "Prix", "", "DPE", "", "Agence"], &names, &row]);
    let (text, _) = read(&workbook(&rows)).unwrap();
    let expected = format!(
        "Bien,,Prix,,DPE,,Agence\n{}\n{}\n",
        names.join(","),
        row.join(",")
    );
    assert_eq!(text, expected);
    // A header with a gap is not the name of groups.
    let rows = text_rows(&[
        &["réf", "", "type", "prix", "ville"],
        &["A1", "x", "flat", "1", "Sète", "à voir"],
    ]);
    let (text, _) = read(&workbook(&rows)).unwrap();
    assert_eq!(text, "réf,,type,prix,ville\nA1,x,flat,1,Sète\n");
}

#[test]
fn a_row_of_a_sheet_has_the_number_that_its_program_shows() {
    let row = |number: u32, cells: [&str; 4]| {
        let cells = cells.map(|text| format!(r#"<c t="inlineStr"><is><t>{text}</t></is></c>"#));
        format!(r#"<row r="{number}">{}</row>"#, cells.concat())
    };
    let header = ["ville", "type", "prix", "réf"];
    let title = r#"<row r="2"><c t="inlineStr"><is><t>Parc</t></is></c></row>"#;
    let first = [
        title.to_owned(),
        row(4, header),
        row(5, ["Sète", "flat", "1", "a"]),
        row(8, ["Mende\ncentre", "flat", "2", "b"]),
        row(9, ["Lyon", "flat", "3", "c"]),
    ];
    let second = [row(3, header), row(7, ["Albi", "flat", "4", "d"])];
    let bytes = workbook_of(&[("A", first.concat()), ("B", second.concat())]);
    let mut input = open(&bytes[..], TextConversion::Utf8).unwrap();
    let mut text = Vec::new();
    input.reader.read_to_end(&mut text).unwrap();
    let splitter = crate::delimited::Splitter::new(&text, None, &input.form).flexible();
    let mut rows = splitter.reader(&text[..]);
    let lines: Vec<u64> = rows
        .records()
        .map(|row| input.form.line_of(row.unwrap().position()))
        .collect();
    assert_eq!(lines, [5, 8, 9, 7]);
    assert_eq!(input.form.found().header_line, Some(4));
}

#[test]
fn a_sheet_of_numbers_and_one_that_is_too_wide_do_not_win_over_a_table() {
    let numbers = text_rows(&[&["1", "2", "3"], &["4", "5", "6"], &["7", "8", "9"]]);
    let table = text_rows(&[&["ville", "prix"], &["Sète", "1"]]);
    let wide =
        r#"<row r="1"><c r="XFD1"><v>1</v></c></row><row r="2"><c r="A2"><v>1</v></c></row>"#;
    let bytes = workbook_of(&[("A", numbers), ("B", table), ("C", wide.to_owned())]);
    let (text, containers) = read(&bytes).unwrap();
    assert_eq!(text, "ville,prix\nSète,1\n");
    assert_eq!(containers, ["spreadsheet: B"]);
}

#[test]
fn cells_to_the_right_of_the_header_are_ignored_with_a_warning() {
    let wide = text_rows(&[
        &["ville", "type", "prix", "réf"],
        &["Sète", "flat", "1", "a", "à voir"],
    ]);
    let narrow = text_rows(&[&["ville", "prix"], &["Sète", "1"]]);
    let stray = r#"<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>"#;
    for (rows, expected, ignored) in [
        (wide, "ville,type,prix,réf\nSète,flat,1,a\n", 2),
        (narrow, "ville,prix\nSète,1\n", 1),
    ] {
        let bytes = workbook(&(rows + stray));
        let mut input = open(&bytes[..], TextConversion::Utf8).unwrap();
        let mut text = String::new();
        input.reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, expected);
        let note = format!("warning: cells to the right of the header, ignored: {ignored}");
        assert_eq!(input.form.found().notes, [note]);
    }
    let header = r#"<row r="1"><c r="A1"><v>1</v></c><c r="XFD1"><v>2</v></c></row>"#;
    let row = r#"<row r="2"><c r="A2"><v>1</v></c></row>"#;
    let refused = refusal(&workbook(&format!("{header}{row}")));
    assert!(refused.contains("has 16384 columns"), "{refused}");
}

#[test]
fn errors_and_formulas_without_a_value_are_counted() {
    let rows = text_rows(&[&["ville", "prix", "m2"]])
        + r#"<row r="2"><c r="A2"><v>1</v></c><c r="B2" t="e"><f>1/0</f><v>#DIV/0!</v></c><c r="C2"><f>A2*2</f></c></row><row r="3"><c r="A3"><v>2</v></c><c r="B3" s="0"/><c r="C3"><f>A3*2</f><v>4</v></c></row>"#;
    let mut input = open(Cursor::new(workbook(&rows)), TextConversion::Utf8).unwrap();
    let mut text = String::new();
    input.reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "ville,prix,m2\n1,,\n2,,4\n");
    assert_eq!(
        input.form.found().notes,
        [
            "cells with an error, read as empty: 1",
            "formulas without a stored value, read as empty: 1"
        ]
    );
}

#[test]
fn a_sheet_becomes_delimited_text() {
    let text = |place: &str, text: &str| {
        format!(r#"<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>"#)
    };
    let rows = format!(
        r#"<row r="2">{}{}{}{}</row><row r="3">{}<c r="B3"><v>210000</v></c><c r="C3" s="1"><v>45366</v></c></row><row r="5"><c r="B5"><v>65.5</v></c><c r="D5"><v>7</v></c></row>"#,
        text("A2", "ville"),
        text("B2", "prix, €"),
        text("C2", "date"),
        text("D2", "réf"),
        text("A3", "Sète"),
    );
    let (found, containers) = read(&workbook(&rows)).unwrap();
    assert_eq!(
        found,
        "ville,\"prix, €\",date,réf\nSète,210000,2024-03-15,\n,65.5,,7\n"
    );
    assert_eq!(containers, ["spreadsheet: Feuil1"]);
    let empty = refusal(&workbook(""));
    assert!(
        empty.contains("no sheet with a header and a row"),
        "{empty}"
    );
}
