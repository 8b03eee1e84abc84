//! The three official sources on loopback, in their layout: the catalogue and the files of sales, the files of
//! addresses, and the API of diagnostics. Tests change the published files, damage them, and read which requests were
//! made.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use chrono::{DateTime, Datelike, Utc};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::process::toise;

/// The dataset of sales in the catalogue.
const SALES: &str = "/api/1/datasets/5cc1b94a634f4165e96436c1/";
/// Where the files of the catalogue are.
const STATIC: &str = "/static";
/// Folder of the addresses.
const ADDRESSES: &str = "/ban";
/// The API of diagnostics.
const LINES: &str = "/dpe/lines";
/// Diagnostics in a page of the publisher, even if more are requested.
const PAGE_ROWS: usize = 2_000;
/// Duration of a stalling response.
const STALL: Duration = Duration::from_secs(60);

/// A published file.
#[derive(Clone)]
struct PublishedFile {
    bytes: Vec<u8>,
    changed: DateTime<Utc>,
    /// Whether the response stops in the middle of the file.
    stalls: bool,
}

/// The published data, and its failures.
#[derive(Default)]
pub struct World {
    files: BTreeMap<String, PublishedFile>,
    /// Files of sales that the catalogue lists: title, path and checksum.
    listed: BTreeMap<i32, (String, String)>,
    /// Diagnostics as JSON objects with the names of the API.
    pub diagnostics: Vec<Value>,
    /// Beginnings of paths, with the status of their responses.
    pub failing: BTreeMap<String, u16>,
    /// Head of each request.
    heads: Vec<String>,
}

impl World {
    /// Publishes the sales of a year, changed on a day.
    pub fn publish_sales(&mut self, year: i32, text: &str, day: &str) {
        let path = format!("{STATIC}/{}/full-{year}.csv.gz", day.replace('-', ""));
        let bytes = gzip(text);
        let digest = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, &bytes);
        let digits = digest.as_ref().iter().map(|byte| format!("{byte:02x}"));
        let former = self.listed.insert(year, (path.clone(), digits.collect()));
        if let Some((former, _)) = former {
            self.files.remove(&former);
        }
        self.put(&path, bytes, day);
    }

    /// Withdraws the sales of a year.
    pub fn withdraw_sales(&mut self, year: i32) {
        let (path, _) = self.listed.remove(&year).unwrap();
        self.files.remove(&path);
    }

    /// Publishes a file of addresses, changed on a day.
    pub fn publish_addresses(&mut self, name: &str, text: &str, day: &str) {
        self.put(&format!("{ADDRESSES}/{name}"), gzip(text), day);
    }

    /// Damages the middle of the file whose path has this ending; its date of change is this day.
    pub fn damage(&mut self, end: &str, day: &str) {
        let file = self.file(end);
        let middle = file.bytes.len() / 2;
        for byte in &mut file.bytes[middle..middle + 16] {
            *byte ^= 0x5a;
        }
        file.changed = moment(day);
    }

    /// Sets whether responses stop in the middle of the file whose path has this ending.
    pub fn set_stalling(&mut self, end: &str, stalls: bool) {
        self.file(end).stalls = stalls;
    }

    /// The paths of the requests so far, with their methods.
    pub fn asked(&self) -> Vec<String> {
        let heads = self.heads.iter();
        let lines = heads.map(|head| head.lines().next().unwrap());
        lines.map(|line| line.replace(" HTTP/1.1", "")).collect()
    }

    /// The heads of the requests whose path has this ending.
    pub fn heads_of(&self, end: &str) -> Vec<String> {
        let is_of = |head: &&String| {
            head.split(' ')
                .nth(1)
                .is_some_and(|path| path.ends_with(end))
        };
        self.heads.iter().filter(is_of).cloned().collect()
    }

    /// Forgets the requests so far.
    pub fn forget(&mut self) {
        self.heads.clear();
    }

    fn file(&mut self, end: &str) -> &mut PublishedFile {
        let mut files = self.files.iter_mut();
        files.find(|(path, _)| path.ends_with(end)).unwrap().1
    }

    fn put(&mut self, path: &str, bytes: Vec<u8>, day: &str) {
        let file = PublishedFile {
            bytes,
            changed: moment(day),
            stalls: false,
        };
        self.files.insert(path.to_owned(), file);
    }

    /// Answers a request. Returns the bytes, and whether the connection then stays open.
    fn answer(&self, head: &str) -> (Vec<u8>, bool) {
        let mut words = head.split(' ');
        let (method, target) = (words.next().unwrap(), words.next().unwrap());
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let host = header(head, "host").unwrap();
        let failing = self
            .failing
            .iter()
            .find(|(start, _)| path.starts_with(*start));
        if let Some((_, status)) = failing {
            return (response(*status, "", b"", method), false);
        }
        if path == SALES {
            let body = self.dataset(host).to_string();
            return (response(200, "", body.as_bytes(), method), false);
        }
        if path == LINES {
            let body = self.lines(query, host).to_string();
            return (response(200, "", body.as_bytes(), method), false);
        }
        let Some(file) = self.files.get(path) else {
            return (response(404, "", b"", method), false);
        };
        file.answer(method, head)
    }

    fn dataset(&self, host: &str) -> Value {
        let resources = self.listed.iter().map(|(year, (path, checksum))| {
            let file = &self.files[path];
            json!({"title": format!("DVF {year}"), "url": format!("http://{host}{path}"), "format": "csv.gz",
                "type": "main", "filetype": "file", "filesize": file.bytes.len(),
                "checksum": {"type": "sha1", "value": checksum}, "last_modified": file.changed.to_rfc3339()})
        });
        json!({"resources": resources.collect::<Vec<_>>()})
    }

    fn lines(&self, query: &str, host: &str) -> Value {
        let pairs = url::form_urlencoded::parse(query.as_bytes());
        let parameters: BTreeMap<String, String> = pairs.into_owned().collect();
        let conditions = parameters.get("qs").map_or("", String::as_str);
        let codes = between(conditions, "code_departement_ban:(", ")").unwrap_or_default();
        let codes: Vec<&str> = codes.split(" OR ").collect();
        let since =
            between(conditions, "date_derniere_modification_dpe:[", " TO").unwrap_or_default();
        let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let mut rows: Vec<&Value> = self.diagnostics.iter().collect();
        rows.retain(|row| {
            codes.contains(&&*text(row, "code_departement_ban"))
                && text(row, "date_derniere_modification_dpe") >= since
        });
        if parameters.contains_key("sort") {
            rows.sort_by_key(|row| std::cmp::Reverse(text(row, "date_derniere_modification_dpe")));
        }
        let start: usize = parameters
            .get("after")
            .map_or(0, |after| after.parse().unwrap());
        let size: usize = parameters["size"].parse().unwrap();
        let end = rows.len().min(start + size.min(PAGE_ROWS));
        let select = |row: &Value| match parameters.get("select") {
            Some(name) => json!({name: row[name]}),
            None => row.clone(),
        };
        let results: Vec<Value> = rows[start..end].iter().map(|row| select(row)).collect();
        let mut page = json!({"total": rows.len(), "results": results});
        if end < rows.len() {
            let rest = parameters.iter().filter(|(name, _)| *name != "after");
            let next = url::form_urlencoded::Serializer::new(String::new())
                .extend_pairs(rest)
                .append_pair("after", &end.to_string())
                .finish();
            page["next"] = json!(format!("http://{host}{LINES}?{next}"));
        }
        page
    }
}

impl PublishedFile {
    fn answer(&self, method: &str, head: &str) -> (Vec<u8>, bool) {
        let mut hasher = DefaultHasher::new();
        self.bytes.hash(&mut hasher);
        let tag = format!("\"{:x}\"", hasher.finish());
        let changed = self.changed.format("%a, %d %b %Y %H:%M:%S GMT");
        let about = format!("etag: {tag}\r\nlast-modified: {changed}\r\n");
        if header(head, "if-none-match") == Some(tag.as_str()) {
            return (response(304, &about, b"", method), false);
        }
        let start = header(head, "range").and_then(|range| {
            let is_same = header(head, "if-range") == Some(tag.as_str());
            let start = range.strip_prefix("bytes=")?.strip_suffix('-')?;
            start.parse::<usize>().ok().filter(|_| is_same)
        });
        let mut bytes = match start {
            Some(start) => {
                let length = self.bytes.len();
                let range = format!("content-range: bytes {start}-{}/{length}\r\n", length - 1);
                response(
                    206,
                    &format!("{about}{range}"),
                    &self.bytes[start..],
                    method,
                )
            }
            None => response(200, &about, &self.bytes, method),
        };
        let is_cut = self.stalls && method == "GET";
        if is_cut {
            bytes.truncate(bytes.len() - self.bytes.len() / 2);
        }
        (bytes, is_cut)
    }
}

/// The publisher; its threads end with the test's process.
pub struct Publisher {
    address: SocketAddr,
    world: Arc<Mutex<World>>,
}

impl Publisher {
    /// Starts a publisher without data.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let world: Arc<Mutex<World>> = Arc::default();
        let shared = Arc::clone(&world);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let world = Arc::clone(&shared);
                thread::spawn(move || serve(stream, &world));
            }
        });
        Self { address, world }
    }

    /// What is published.
    pub fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap()
    }

    /// A command that uses this publisher for all sources.
    pub fn toise(&self, data: &Path, arguments: &[&str]) -> Command {
        let base = format!("http://{}", self.address);
        let mut command = toise(data, arguments);
        command
            .env("TOISE_DVF_CATALOGUE", format!("{base}/api/1"))
            .env("TOISE_DVF_BASE", format!("{base}/geo-dvf"))
            .env("TOISE_DPE_BASE", format!("{base}/dpe"))
            .env("TOISE_BAN_BASE", format!("{base}{ADDRESSES}"));
        command
    }
}

fn serve(stream: TcpStream, world: &Mutex<World>) {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    let (bytes, stays_open) = {
        let mut world = world.lock().unwrap();
        let answer = world.answer(&head);
        world.heads.push(head);
        answer
    };
    // The client may have been killed.
    let _ = reader.get_mut().write_all(&bytes);
    if stays_open {
        thread::sleep(STALL);
    }
}

fn response(status: u16, headers: &str, body: &[u8], method: &str) -> Vec<u8> {
    let length = body.len();
    let mut bytes = format!(
        "HTTP/1.1 {status} Said\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n"
    )
    .into_bytes();
    if method != "HEAD" {
        bytes.extend_from_slice(body);
    }
    bytes
}

fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let mut lines = head.lines();
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

fn between(text: &str, before: &str, after: &str) -> Option<String> {
    let (_, rest) = text.split_once(before)?;
    Some(rest.split_once(after)?.0.to_owned())
}

fn moment(day: &str) -> DateTime<Utc> {
    format!("{day}T09:00:00Z").parse().unwrap()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    gzip.finish().unwrap()
}

/// Rows to publish: sales of Toulon (83) in two years, addresses and diagnostics of Lozère (48). Real ones if
/// `TOISE_REAL_DATA` names a folder, else a few.
pub struct Rows {
    /// Sales by year, in the order of the years.
    pub sales: [(i32, String); 2],
    /// Addresses.
    pub addresses: String,
    /// Diagnostics with the names of the API.
    pub diagnostics: Vec<Value>,
}

impl Rows {
    /// Reads the rows.
    pub fn read() -> Self {
        match std::env::var_os("TOISE_REAL_DATA").map(PathBuf::from) {
            Some(folder) => Self::real(&folder),
            None => Self::few(),
        }
    }

    fn real(folder: &Path) -> Self {
        let sales = |year: i32| {
            let file = folder.join(format!("dvf/geodvf_toulon_{year}.csv.gz"));
            in_year(year, &unpacked(&file))
        };
        let diagnostics = unpacked(&folder.join("dpe/dpe48_lozere_v1names_5224.csv.gz"));
        let mut reader = csv::Reader::from_reader(diagnostics.as_bytes());
        let names = reader.headers().unwrap().clone();
        let diagnostics = reader.records().map(|row| {
            let row = row.unwrap();
            let cells = names.iter().zip(row.iter()).map(|(name, cell)| {
                let name = match name {
                    "N°DPE" => "numero_dpe",
                    "Etiquette_DPE" => "etiquette_dpe",
                    "N°_département_(BAN)" => "code_departement_ban",
                    "Date_établissement_DPE" => "date_etablissement_dpe",
                    other => other,
                };
                (name.to_owned(), json!(cell))
            });
            let mut row: serde_json::Map<String, Value> = cells.collect();
            let issued = row["date_etablissement_dpe"].clone();
            row.insert("date_derniere_modification_dpe".to_owned(), issued);
            Value::Object(row)
        });
        Self {
            sales: [sales(2023), sales(2024)],
            addresses: unpacked(&folder.join("ban/adresses-48.csv.gz")),
            diagnostics: diagnostics.collect(),
        }
    }

    fn few() -> Self {
        let sales = |year: i32| {
            let header = "id_mutation,date_mutation,numero_disposition,nature_mutation,valeur_fonciere,adresse_numero,\
                adresse_nom_voie,code_postal,code_commune,nom_commune,code_departement,id_parcelle,nombre_lots,\
                code_type_local,type_local,surface_reelle_bati,nombre_pieces_principales,surface_terrain,longitude,latitude";
            let rows = (1..=40).map(|row| {
                let (month, price) = (row % 12 + 1, 100_000 + row * 1_000);
                format!(
                    "\n{year}-{row},{year}-{month:02}-08,1,Vente,{price},{row},RUE A,83000,83137,Toulon,83,\
                     83137000DE00{row:02},0,1,Maison,67,4,210,5.928,43.124"
                )
            });
            in_year(
                year,
                &(header.to_owned() + &rows.collect::<String>() + "\n"),
            )
        };
        let header = "id;numero;rep;nom_voie;code_postal;code_insee;nom_commune;lon;lat";
        let addresses = (1..=40).map(|number| {
            format!(
                "\n48095_0100_{number:05};{number};;Rue de la République;48000;48095;Mende;3.5{number:02};44.52"
            )
        });
        let diagnostics = (1..=40).map(|row| {
            let day = format!("2025-{:02}-10", row % 12 + 1);
            json!({"numero_dpe": format!("2548E00000{row:02}A"), "date_etablissement_dpe": day,
                "date_derniere_modification_dpe": day, "etiquette_dpe": "D", "etiquette_ges": "B",
                "type_batiment": "maison", "code_departement_ban": "48", "code_insee_ban": "48095",
                "nom_commune_ban": "Mende", "code_postal_ban": "48000", "surface_habitable_logement": 80 + row,
                "_geopoint": "44.52,3.5"})
        });
        Self {
            sales: [sales(2023), sales(2024)],
            addresses: header.to_owned() + &addresses.collect::<String>() + "\n",
            diagnostics: diagnostics.collect(),
        }
    }
}

/// Moves sales by a multiple of four years, if their year is too old to be requested.
fn in_year(year: i32, text: &str) -> (i32, String) {
    let mut moved = year;
    while moved < Utc::now().year() - 4 {
        moved += 4;
    }
    let text = match moved {
        same if same == year => text.to_owned(),
        _ => text.replace(&format!("{year}-"), &format!("{moved}-")),
    };
    (moved, text)
}

fn unpacked(path: &Path) -> String {
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    text
}
