//! Writes a report as a web page: a single file without scripts or external resources.

use crate::document::{Block, Document, Table};
use crate::figure::{Align, escaped};
use crate::letterhead::Letterhead;

/// Style of the page, on screens and on paper.
const STYLE: &str = include_str!("report.css");

/// Writes a document as HTML.
pub fn write(document: &Document, letterhead: &Letterhead, day: &str) -> String {
    let mut out = String::with_capacity(64 * 1024);
    let title = escaped(&document.title);
    let subject = escaped(&document.subject);
    out.push_str(&format!(
        "<!doctype html>\n<html lang=\"{}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"robots\" content=\"noindex\">\n<title>{title} – {subject}</title>\n<style>{STYLE}</style>\n\
         </head>\n<body>\n<main>\n",
        document.language.as_str()
    ));
    out.push_str("<header>\n<div class=\"letterhead\">");
    if let Some(logo) = &letterhead.logo {
        out.push_str(&format!("<img alt=\"\" src=\"{}\">", logo.data_url()));
    }
    for line in letterhead.text.lines() {
        out.push_str(&format!("<span>{}</span>", escaped(line)));
    }
    out.push_str(&format!(
        "</div>\n<div class=\"subject\"><p class=\"title\">{title} · {}</p><h1>{subject}</h1><p>{}</p></div>\n</header>\n",
        escaped(day),
        escaped(&document.facts)
    ));
    for page in &document.pages {
        out.push_str("<section>\n");
        blocks(&mut out, page);
        out.push_str("</section>\n");
    }
    let footer = escaped(&document.footer);
    out.push_str(&format!(
        "<footer>{footer}</footer>\n</main>\n</body>\n</html>\n"
    ));
    out
}

fn blocks(out: &mut String, blocks: &[Block]) {
    for block in blocks {
        write_block(out, block);
    }
}

fn write_block(out: &mut String, block: &Block) {
    match block {
        Block::Heading(text) => out.push_str(&format!("<h2>{}</h2>\n", escaped(text))),
        Block::Key { label, value, more } => out.push_str(&format!(
            "<p class=\"key\">{} <strong>{}</strong> <span>{}</span></p>\n",
            escaped(label),
            escaped(value),
            escaped(more)
        )),
        Block::Paragraph(text) => out.push_str(&format!("<p>{}</p>\n", escaped(text))),
        Block::Small(text) => out.push_str(&format!("<p class=\"small\">{}</p>\n", escaped(text))),
        Block::Facts(facts) => {
            out.push_str("<dl>");
            for (name, value) in facts {
                let (name, value) = (escaped(name), escaped(value));
                out.push_str(&format!("<div><dt>{name}</dt><dd>{value}</dd></div>"));
            }
            out.push_str("</dl>\n");
        }
        Block::Table(table) => write_table(out, table),
        Block::Figure(figure) => {
            out.push_str(&format!("<figure>{}</figure>\n", figure.svg()));
        }
        Block::Columns {
            left_share,
            left,
            right,
        } => {
            let right_share = 1.0 - left_share;
            out.push_str(&format!(
                "<div class=\"columns\" style=\"--left: {left_share}fr; --right: {right_share}fr\"><div>\n"
            ));
            blocks(out, left);
            out.push_str("</div><div>\n");
            blocks(out, right);
            out.push_str("</div></div>\n");
        }
    }
}

fn write_table(out: &mut String, table: &Table) {
    let class = |align: Align| match align {
        Align::Start => "",
        Align::Middle => " class=\"middle\"",
        Align::End => " class=\"end\"",
    };
    out.push_str("<div class=\"table\"><table><thead><tr>");
    for column in &table.columns {
        let title = escaped(&column.title);
        out.push_str(&format!("<th{}>{title}</th>", class(column.align)));
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (cell, column) in row.iter().zip(&table.columns) {
            out.push_str(&format!(
                "<td{}>{}</td>",
                class(column.align),
                escaped(cell)
            ));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}
