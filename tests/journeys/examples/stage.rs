//! The folder in which examples run: a small data folder in `toise-data`, and the files that the examples name.
//!
//! An example runs as printed, with three exceptions: its sizes are smaller, its absolute folders are inside this one,
//! and an identifier replaces KEY_ID or PROPERTY_ID.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::homes::{IN_PARIS, trained};
use crate::support::process::{errors, executable, run};

/// Number of rows that replaces the thousands and millions of an example.
const FEW: &str = "300";
/// Options whose number is a size.
const SIZES: [&str; 4] = ["--dvf", "--dpe", "--adverts", "--portfolio"];
/// Adverts that examples name by their URLs.
const NAMED: [&str; 6] = [
    "https://portail.example/annonce/12",
    "https://autre.example/biens/t3",
    "https://a.example/annonce/12",
    "https://b.example/biens/t3",
    "https://portail.fr/annonce/12",
    "https://portail.fr/annonce/34",
];
/// Identifiers that help shows: of a property, and of one of its adverts.
const SHOWN: [&str; 2] = [
    "019bb126-cee2-7a45-a98c-3cba58e89b2d",
    "019bb6ce-f773-7d05-a48a-7dc4b4225d13",
];
/// A PNG of one pixel, in base64.
const LOGO: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/// Adverts of `export.csv`: enough for the suggestion of a mapping.
const EXPORTED: usize = 40;
/// Homes to rent: enough to evaluate rents.
const RENTALS: usize = 40;
/// Header of the tax office's raw files.
const RAW_HEADER: &str = "Identifiant de document|Reference document|1 Articles CGI|2 Articles CGI|3 Articles CGI|4 Articles CGI|\
5 Articles CGI|No disposition|Date mutation|Nature mutation|Valeur fonciere|No voie|B/T/Q|Type de voie|Code voie|Voie|Code postal|\
Commune|Code departement|Code commune|Prefixe de section|Section|No plan|No Volume|1er lot|Surface Carrez du 1er lot|2eme lot|\
Surface Carrez du 2eme lot|3eme lot|Surface Carrez du 3eme lot|4eme lot|Surface Carrez du 4eme lot|5eme lot|\
Surface Carrez du 5eme lot|Nombre de lots|Code type local|Type local|Identifiant local|Surface reelle bati|\
Nombre pieces principales|Nature culture|Nature culture speciale|Surface terrain";

/// A folder in which examples run.
pub struct Stage {
    folder: TempDir,
    /// Number of properties that examples have used.
    used: Cell<usize>,
}

impl Stage {
    /// Creates the data folder and the files.
    pub fn build() -> Self {
        let stage = Self {
            folder: tempfile::tempdir().unwrap(),
            used: Cell::new(0),
        };
        // The folder is deleted with the last test that holds it.
        let model = trained();
        stage.shell(&format!(
            "cp -r {} toise-data && mkdir -p bin backups .local/share/bash-completion/completions",
            model.path().display()
        ));
        stage.shell(&format!(
            "ln -s {} bin/toise",
            Path::new(&executable()).display()
        ));
        stage.shell(
            "toise synth --dvf 1500 --dpe 300 --adverts 60 --seed 5 --output made && toise import dpe made/dpe-synth.csv && \
             gzip -kf made/*.csv && cp made/dvf-synth.csv.gz 83.csv.gz && cp made/dvf-synth.csv.gz 75.csv.gz && \
             cp made/dpe-synth.csv.gz dpe-48.csv.gz && mkdir downloads communes pages && cp 75.csv.gz downloads/ && \
             cp made/dvf-synth.csv communes/ && toise synth --ban 200 --departments 48 --output .",
        );
        stage.tables();
        stage.listings();
        stage
    }

    /// Returns a copy, so that the examples of one page do not affect those of another.
    pub fn copy(&self) -> Self {
        let copy = Self {
            folder: tempfile::tempdir().unwrap(),
            used: Cell::new(0),
        };
        copy.shell(&format!("cp -r {}/. .", self.path().display()));
        copy
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the data folder.
    pub fn data(&self) -> PathBuf {
        self.path().join("toise-data")
    }

    /// Sets the folder, the home and the path of a command.
    pub fn within<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let bin = self.path().join("bin");
        command.current_dir(self.path()).env("HOME", self.path());
        command.env("PATH", format!("{}:{path}", bin.display()));
        command.env_remove("TOISE_DATA").env_remove("RUST_LOG")
    }

    fn shell(&self, script: &str) {
        let output = self
            .within(Command::new("sh").arg("-ec").arg(script))
            .output()
            .unwrap();
        assert!(output.status.success(), "{script}: {}", errors(&output));
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    /// Writes portfolios, addresses, and files of the sources in their other forms.
    fn tables(&self) {
        let [lon, lat] = IN_PARIS;
        self.write(
            "portfolio.csv",
            &format!("id,longitude,latitude,type,surface_m2,room_count,lat,lon,distance\nh1,{lon},{lat},flat,45,2,{lat},{lon},500m\n"),
        );
        self.write(
            "homes.csv",
            &format!("key,type,surface_m2,longitude,latitude\nA-1,flat,45,{lon},{lat}\n"),
        );
        self.write(
            "mine.csv",
            &format!("id,lon,lat,type,surface\nh1,{lon},{lat},Appartement,45\n"),
        );
        self.write(
            "addresses.csv",
            "ref,address,postcode,localite,type,surface_m2\nr1,,75011,Paris,flat,45\n",
        );
        self.write("customers.csv", "id,street,town,zip\n1,,Mende,48000\n");
        self.write(
            "points.ndjson",
            &format!("{{\"x\": {lon}, \"y\": {lat}}}\n"),
        );
        self.write(
            "report.sql",
            "select count(*) from dvf;\nselect count(*) from dpe;\n",
        );
        self.write(
            "bal-48095.csv",
            "cle_interop;commune_insee;commune_nom;voie_nom;numero;suffixe;long;lat\n\
             48095_0100_00014;48095;Mende;Rue de la République;14;;3.5;44.52\n",
        );
        let mut sale = vec![""; RAW_HEADER.split('|').count()];
        for (column, cell) in [
            (7, "000001"),
            (8, "03/07/2023"),
            (9, "Vente"),
            (10, "250000,00"),
            (11, "12"),
            (13, "RUE"),
            (14, "0100"),
            (15, "DROITE"),
            (16, "48000"),
            (17, "MENDE"),
            (18, "48"),
            (19, "95"),
            (21, "AB"),
            (22, "12"),
            (34, "0"),
            (35, "2"),
            (36, "Appartement"),
            (38, "45"),
            (39, "2"),
        ] {
            sale[column] = cell;
        }
        self.write(
            "ValeursFoncieres-2023.txt",
            &format!("{RAW_HEADER}\n{}\n", sale.join("|")),
        );
        let square = json!({"type": "FeatureCollection", "features": [{
            "type": "Feature", "properties": {"code_iris": "751114201", "typ_iris": "H"},
            "geometry": {"type": "Polygon", "coordinates": [[[2.3, 48.8], [2.4, 48.8], [2.4, 48.9], [2.3, 48.9], [2.3, 48.8]]]},
        }]});
        self.write("iris.geojson", &square.to_string());
        self.write("quarter.geojson", &square.to_string());
        self.write("zones.geojson", &square.to_string());
        self.write(
            "fr-en-annuaire-education.csv",
            "identifiant_de_l_etablissement;nom_etablissement;latitude;longitude\n0480001A;Lycée Chaptal;44,5180;3,4990\n",
        );
        let building = "rnb_id;point;shape;status;ext_ids;addresses;plots;validated_by\n\
                        8XBEW7VVWG47;POINT(3.5 44.52);;constructed;[];[];[];[]\n";
        self.write("RNB_48.csv", building);
        self.write("RNB_48.csv.zip", building);
        self.write(
            "dfianc-dep480.zip",
            "480;095;000;0000001;1;20230105;X;X;00001;1;AB0001;\n480;095;000;0000001;1;20230105;X;X;00001;2;AB0123;\n",
        );
        let rents =
            "\"INSEE_C\";\"loypredm2\";\"lwr.IPm2\";\"upr.IPm2\"\n\"48095\";9,81;7,62;12,6\n";
        for kind in ["app", "app12", "app3", "mai"] {
            self.write(&format!("pred-{kind}-mef-dhup.csv"), rents);
        }
        self.shell("toise import rents --year 2025 pred-app-mef-dhup.csv pred-mai-mef-dhup.csv");
        self.shell("toise import layer flood zones.geojson && toise import layer schools fr-en-annuaire-education.csv");
        self.shell("gzip -f iris.geojson && cp iris.geojson.gz contours.geojson.gz");
        self.shell(&format!("echo {LOGO} | base64 -d > logo.png"));
        let home = format!(
            "select 'f1' as ref, 45.0 as area, '75111' as commune, 300000.0 as price, {lon} as longitude, {lat} as latitude, 'flat' as type"
        );
        self.shell(&format!(
            "toise sql \"{home}\" --output flats.parquet && cp flats.parquet homes.parquet && \
             toise sql \"select 'Mende' as address\" --output portfolio.parquet && \
             toise sql 'select numero_dpe, etiquette_dpe from dpe limit 5' --output labels.csv && \
             toise sql --file d=made/dpe-synth.csv 'select * from d limit 5' --output rows.json"
        ));
        let rows: Value =
            serde_json::from_slice(&fs::read(self.path().join("rows.json")).unwrap()).unwrap();
        self.write(
            "pages/1.json",
            &json!({"total": 5, "results": rows}).to_string(),
        );
    }

    /// Writes adverts in several forms, and ingests those that examples name.
    fn listings(&self) {
        let header = "link,titre,price,surface,pieces,cp,ville,type_bien\n";
        let row = |nth: usize| {
            let (rooms, price) = (nth % 4 + 1, 150_000 + nth * 1_000);
            format!(
                "https://www.bienici.com/annonce/{nth},Appartement T{rooms},{price},{},{rooms},83000,Toulon,Appartement\n",
                18 * rooms + nth % 7
            )
        };
        self.write(
            "export.csv",
            &format!("{header}{}", (0..EXPORTED).map(row).collect::<String>()),
        );
        let monday: Vec<Value> = (0..3)
            .map(|nth| json!({"link": format!("https://www.bienici.com/annonce/{nth}"), "titre": "Appartement", "price": "150000",
                "surface": "40", "pieces": "2", "cp": "83000", "ville": "Toulon", "type_bien": "Appartement"}))
            .collect();
        self.write("monday.json", &Value::Array(monday).to_string());
        let field = |path: &str, from: &str| format!("[[field]]\npath = \"{path}\"\n{from}\n\n");
        let portal = [
            field("url", "from = \"link\""),
            field("type", "value = \"CLASS_FLAT\""),
            field("offer.type", "value = \"OFFER_BUY\""),
            field("currentPrice.value", "from = \"price\""),
            field("location.postalCode", "from = \"cp\""),
        ];
        self.write("portal.toml", &portal.concat());
        self.write("page.html", "<html><head><title>Appartement 2 pièces 45 m² à Toulon (83000)</title></head><body>250 000 €</body></html>");
        let named = NAMED.iter().enumerate().map(|(nth, url)| {
            json!({"url": url, "source": "portail.example", "type": "CLASS_FLAT", "offer": {"type": "OFFER_BUY"},
                "currentPrice": {"value": 200_000 + 30_000 * nth}, "location": {"postalCode": "83000"},
                "habitation": {"surface": {"total": 40 + 9 * nth}}})
            .to_string()
        });
        let lines: Vec<String> = named.collect();
        self.write("named.ndjson", &format!("{}\n", lines.join("\n")));
        let rentals = (0..RENTALS).map(|nth| {
            let surface = 18 + 3 * nth;
            json!({"url": format!("https://portail.example/location/{nth}"), "source": "portail.example", "type": "CLASS_FLAT",
                "offer": {"type": "OFFER_RENT"}, "currentPrice": {"value": 150 + 9 * surface},
                "location": {"inseeCode": "48095"}, "habitation": {"surface": {"total": surface}}})
            .to_string()
        });
        let lines: Vec<String> = rentals.collect();
        self.write("rentals.ndjson", &format!("{}\n", lines.join("\n")));
        self.shell("cat made/adverts-synth.ndjson named.ndjson > adverts.ndjson && gzip -kf adverts.ndjson && toise ingest adverts.ndjson && \
                    toise ingest rentals.ndjson");
    }

    /// Returns an example with these changes.
    pub fn prepared(&self, example: &str) -> String {
        let mut command = example.to_owned();
        for (printed, here) in [
            ("/backups/", "backups/"),
            ("/usr/local/share/man/man1", "man1"),
            ("file:///srv", &*format!("file://{}", self.path().display())),
            // These folders have one version.
            ("of 12", "of 1"),
            ("dvf=12", "dvf=1"),
            ("--ban ", "--ban 200 "),
        ] {
            command = command.replace(printed, here);
        }
        let archive = "backups/2026-11-21.tar";
        if command.contains("toise restore") && !self.path().join(archive).exists() {
            self.shell(&format!("toise backup {archive}"));
        }
        if command.contains("--erased ") && !self.path().join("former").exists() {
            self.shell("toise erase --phone 0600000000 && mkdir former && cp toise-data/erased-contacts.json former/");
        }
        if command.contains("report --address") && !self.path().join("adresses-75.csv").exists() {
            self.write(
                "adresses-75.csv",
                "id;numero;rep;nom_voie;code_postal;code_insee;nom_commune;lon;lat\n\
                 75102_7168_00012;12;;Rue de la Paix;75002;75102;Paris 2e Arrondissement;2.3309;48.8694\n",
            );
            self.shell("toise import ban adresses-75.csv");
        }
        if let Some((own, _)) = command.split_once(" | jq ") {
            command = own.to_owned();
        }
        for option in SIZES {
            command = with_few(&command, option);
        }
        if command.contains("KEY_ID") {
            let made = run(&self.data(), &["keys", "create"]);
            command = command.replace("KEY_ID", made["key_id"].as_str().unwrap());
        }
        let [property, other] = SHOWN;
        let names = [
            ("PROPERTY_ID", property),
            ("OTHER_ID", other),
            ("ADVERT_ID", other),
        ];
        if names
            .iter()
            .any(|(name, shown)| command.contains(name) || command.contains(shown))
        {
            let [property, other] = self.identifiers(command.contains(" split "));
            for (name, shown) in names {
                let id = if name == "PROPERTY_ID" {
                    &property
                } else {
                    &other
                };
                command = command.replace(name, id).replace(shown, id);
            }
        }
        command
    }

    /// Returns the identifiers of two properties that no example has used; `of_one` merges them, and returns the property
    /// and an advert of it.
    fn identifiers(&self, of_one: bool) -> [String; 2] {
        let skipped = self.used.replace(self.used.get() + 2);
        let query = format!(
            "select adverts[1]['flx_id'] as advert, flx_id from properties order by flx_id limit 2 offset {skipped}"
        );
        let found = run(&self.data(), &["sql", &query]);
        let text = |row: usize, column: &str| found[row][column].as_str().unwrap().to_owned();
        let [one, other] = [text(0, "flx_id"), text(1, "flx_id")];
        if !of_one {
            return [one, other];
        }
        run(&self.data(), &["properties", "merge", &one, &other]);
        [one, text(1, "advert")]
    }
}

/// Replaces the size that follows an option.
fn with_few(command: &str, option: &str) -> String {
    let Some((before, after)) = command.split_once(&format!("{option} ")) else {
        return command.to_owned();
    };
    let digits = after.len()
        - after
            .trim_start_matches(|sign: char| sign.is_ascii_digit())
            .len();
    if digits == 0 {
        return command.to_owned();
    }
    format!("{before}{option} {FEW}{}", &after[digits..])
}
