//! Workbooks with one sheet, as spreadsheet programs write them.

use std::io::{Cursor, Write};

/// An archive of members with these names and contents.
fn archive(members: &[(&str, String)]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in members {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(*name, options).unwrap();
        archive.write_all(content.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// An XLSX file with the sheet `Biens`. Cells that are numbers are numbers in the columns that `holds_numbers` accepts.
pub fn xlsx(rows: &[&[&str]], holds_numbers: impl Fn(usize) -> bool) -> Vec<u8> {
    let mut sheet = String::new();
    for cells in rows {
        sheet += "<row>";
        for (place, cell) in cells.iter().enumerate() {
            sheet += &match cell.parse::<f64>() {
                _ if cell.is_empty() => "<c/>".to_owned(),
                Ok(number) if holds_numbers(place) => format!("<c><v>{number}</v></c>"),
                _ => format!("<c t=\"inlineStr\"><is><t>{cell}</t></is></c>"),
            };
        }
        sheet += "</row>";
    }
    let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let package = "http://schemas.openxmlformats.org/package/2006";
    archive(&[
        (
            "[Content_Types].xml",
            format!("<Types xmlns=\"{package}/content-types\"/>"),
        ),
        (
            "_rels/.rels",
            format!(
                "<Relationships xmlns=\"{package}/relationships\"><Relationship Id=\"r1\" \
                 Type=\"{office}/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>"
            ),
        ),
        (
            "xl/workbook.xml",
            format!(
                "<workbook xmlns=\"{main}\" xmlns:r=\"{office}\"><sheets><sheet name=\"Biens\" sheetId=\"1\" \
                 r:id=\"r1\"/></sheets></workbook>"
            ),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            format!(
                "<Relationships xmlns=\"{package}/relationships\"><Relationship Id=\"r1\" Type=\"{office}/worksheet\" \
                 Target=\"worksheets/sheet1.xml\"/></Relationships>"
            ),
        ),
        (
            "xl/worksheets/sheet1.xml",
            format!("<worksheet xmlns=\"{main}\"><sheetData>{sheet}</sheetData></worksheet>"),
        ),
    ])
}

/// An ODS file with the sheet `Biens`, whose cells are texts.
pub fn ods(rows: &[&[&str]]) -> Vec<u8> {
    let mut sheet = String::new();
    for cells in rows {
        sheet += "<table:table-row>";
        for cell in *cells {
            sheet += &format!(
                "<table:table-cell office:value-type=\"string\"><text:p>{cell}</text:p></table:table-cell>"
            );
        }
        sheet += "</table:table-row>";
    }
    let oasis = "urn:oasis:names:tc:opendocument:xmlns";
    archive(&[
        (
            "mimetype",
            "application/vnd.oasis.opendocument.spreadsheet".to_owned(),
        ),
        (
            "META-INF/manifest.xml",
            format!("<manifest:manifest xmlns:manifest=\"{oasis}:manifest:1.0\"/>"),
        ),
        (
            "content.xml",
            format!(
                "<office:document-content xmlns:office=\"{oasis}:office:1.0\" xmlns:table=\"{oasis}:table:1.0\" \
                 xmlns:text=\"{oasis}:text:1.0\"><office:body><office:spreadsheet><table:table \
                 table:name=\"Biens\">{sheet}</table:table></office:spreadsheet></office:body></office:document-content>"
            ),
        ),
    ])
}
