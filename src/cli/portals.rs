//! `toise portals`: lists the portals with extraction rules, and shows what the rules find on a page.

use std::path::Path;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::result::Failure;
use super::{CommandResult, Common};
use toise_collect::extract::{Extraction, PageInput, PageVerdict, extract};
use toise_collect::portals::Portals;
use toise_net::egress::{AllowedHosts, EgressGuard};
use toise_net::fetch::{FetchFailure, Fetcher, PAGE_BYTES_MAX, RedirectTrail};

/// Arguments of `portals`.
#[derive(Args, Debug)]
pub struct PortalsArgs {
    #[command(subcommand)]
    action: PortalsAction,
}

#[derive(Subcommand, Debug)]
enum PortalsAction {
    /// List portals with their hosts and the file their rules come from
    #[command(after_help = "\
Files in the folder portals of the data folder replace the built-in files of the same name, or add portals.

Example:

  toise portals list")]
    List,
    /// Show what each rule finds on a page, and the verdict on the page
    #[command(after_help = "\
Examples: a page on the web, fetched as the service fetches it; a saved page

  toise portals test https://portail.fr/annonce/12
  toise portals test page.html --url https://portail.fr/annonce/12")]
    Test {
        /// Address of a page, or path of a file that holds one
        page: String,
        /// Address of the page in the file, which selects the portal's rules
        #[arg(long)]
        url: Option<String>,
        /// Hosts whose pages may be fetched at any address and port, also over plain http; for trials
        #[arg(long, value_name = "HOST,HOST", default_value = "")]
        allow_collect_hosts: String,
    },
}

/// Runs `portals`.
pub fn run(common: &Common, arguments: &PortalsArgs) -> CommandResult {
    let portals = Portals::load(&common.data)?;
    match &arguments.action {
        PortalsAction::List => list(common, &portals),
        PortalsAction::Test {
            page,
            url,
            allow_collect_hosts,
        } => {
            let is_address = page.starts_with("https://") || page.starts_with("http://");
            let (url, content_type, bytes) = if is_address {
                fetch(common, page, allow_collect_hosts)?
            } else {
                let url = url
                    .clone()
                    .unwrap_or_else(|| "https://localhost/page".into());
                (url, None, read(Path::new(page))?)
            };
            let url = portals.canonical(&url);
            let portal = portals.find_by_url(&url);
            let page = PageInput {
                url: &url,
                content_type: content_type.as_deref(),
                bytes: &bytes,
            };
            let name = portal.map(|portal| portal.name.clone());
            show(common, &url, name, &extract(&page, portal));
            Ok(())
        }
    }
}

type PageContent = (String, Option<String>, Vec<u8>);

fn fetch(common: &Common, url: &str, allowed: &str) -> Result<PageContent, Failure> {
    let settings = common.configuration(Vec::new())?.config.collect;
    let allowed = if allowed.is_empty() {
        settings.allowed()
    } else {
        AllowedHosts::parse(allowed)?
    };
    let gate = EgressGuard::new(allowed).with_page_rules(settings.plain_http());
    let fetcher = Fetcher::new(gate, &settings.contact)?.with_page_timeout(settings.page_timeout());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut trail = RedirectTrail::default();
    let page = loop {
        match runtime.block_on(fetcher.fetch(url, &trail)).outcome {
            Err(FetchFailure::OtherHost(on)) => trail = *on,
            fetched => break fetched,
        }
    };
    let page = page.map_err(|failure| format!("{url}: {failure}"))?;
    Ok((page.url.into(), page.content_type, page.bytes.to_vec()))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let named = |error: std::io::Error| format!("{}: {error}", path.display());
    let length = std::fs::metadata(path).map_err(named)?.len();
    if length > PAGE_BYTES_MAX as u64 {
        return Err(format!(
            "{}: must not exceed {PAGE_BYTES_MAX} bytes",
            path.display()
        ));
    }
    std::fs::read(path).map_err(named)
}

fn list(common: &Common, portals: &Portals) -> CommandResult {
    if common.json {
        let all: Vec<Value> = portals
            .all()
            .iter()
            .map(|portal| json!({"name": portal.name, "hosts": portal.hosts, "file": portal.file}))
            .collect();
        println!("{}", Value::Array(all));
        return Ok(());
    }
    let mut table = crate::table_of("portal|hosts|rules");
    for portal in portals.all() {
        table.add_row([
            portal.name.clone(),
            portal.hosts.join(", "),
            portal.file.clone(),
        ]);
    }
    println!("{table}");
    Ok(())
}

fn show(common: &Common, url: &str, portal: Option<String>, extraction: &Extraction) {
    let verdict = match &extraction.verdict {
        PageVerdict::Listing => "listing".to_owned(),
        PageVerdict::Offline => "offline".to_owned(),
        PageVerdict::Rejected(rejection) => format!("rejected: {rejection}"),
    };
    if common.json {
        let fields: Value = extraction
            .findings
            .iter()
            .map(|(path, found)| (path.to_owned(), json!(found)))
            .collect();
        println!(
            "{}",
            json!({"url": url, "portal": portal, "verdict": verdict, "fields": fields})
        );
        return;
    }
    let mut table = crate::table_of("field|found in|value");
    for (path, found) in extraction.findings.iter() {
        table.add_row([
            path.to_owned(),
            found.origin.as_str().to_owned(),
            found.value.to_string(),
        ]);
    }
    println!(
        "{url}\nportal: {}\n{verdict}\n{table}",
        portal
            .as_deref()
            .unwrap_or("none; only the generic rules apply")
    );
}
