//! A client that requests pages, and the comparison of jobs with the acknowledged requests: a page that was returned or
//! promised is collected, or still waits to be collected.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use reqwest::Method;
use serde_json::Value;
use toise::store::Store;

use super::model::{BETWEEN, Client};
use crate::support::portal::{Portal, flat_page, query};

impl Client {
    /// Requests pages of a portal.
    pub async fn collect(mut self, portal: Arc<Portal>) {
        for number in 0.. {
            if !self.goes_on() {
                return;
            }
            tokio::time::sleep(BETWEEN * 8).await;
            let path = format!("/annonce/{number}");
            portal.set(&path, flat_page(number, 200_000 + number as u64));
            let url = portal.url(&path);
            let asked = format!("adverts/url?{}", query(&url));
            let answer = self.ask(Method::GET, &asked, &Value::Null, None).await;
            if let Some((200 | 202, _, _)) = answer {
                self.model().pages.push(url);
            }
        }
    }
}

/// The numbers of collected pages, and of those that still wait.
#[derive(Clone, Copy, Debug, Default)]
pub struct Collected {
    /// Collected, with an advert.
    pub ended: usize,
    /// Waiting to be collected, or to be retried.
    pub waiting: usize,
}

/// Checks the jobs of pages.
///
/// # Errors
/// One is lost or was rejected, or one ended without its advert.
pub fn compare_pages(data: &Path, pages: &[String]) -> Result<Collected, String> {
    let store = Store::open(data).map_err(|error| error.to_string())?;
    let sql = "SELECT url, outcome, reason, url_digest IN (SELECT url_digest FROM adverts) FROM jobs WHERE kind = 'url'";
    let reading = |connection: &rusqlite::Connection| {
        let mut statement = connection.prepare(sql)?;
        let rows = statement.query_map([], |row| {
            let job: (Option<String>, Option<String>, bool) =
                (row.get(1)?, row.get(2)?, row.get(3)?);
            Ok((row.get::<_, String>(0)?, job))
        })?;
        rows.collect::<Result<BTreeMap<_, _>, _>>()
    };
    let jobs = store.read(reading).map_err(|error| error.to_string())?;
    let mut collected = Collected::default();
    for page in pages {
        match jobs.get(page) {
            None => return Err(format!("the job of {page} is lost")),
            Some((None, _, _)) => collected.waiting += 1,
            Some((Some(outcome), _, true)) if outcome == "collected" => collected.ended += 1,
            Some(job) => return Err(format!("{page}: {job:?}")),
        }
    }
    Ok(collected)
}
