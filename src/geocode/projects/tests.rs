//! Tests of projects that would fill the disk, processed by a runner.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::{Error, Project, ProjectStatus, Projects};
use crate::file::request::FileRequest;
use crate::live::LiveGeocoder;
use toise_base::clock::Clock;
use toise_base::supervise::Supervisor;
use toise_store::Store;
use toise_store::new_id::NewId;

/// How long a project may take here.
const WAIT: Duration = Duration::from_secs(60);

fn projects(folder: &Path) -> Projects {
    let store = Store::open(folder).unwrap();
    Projects::new(folder, store, Clock::system())
}

fn account_of(projects: &Projects) -> Uuid {
    let account = Uuid::now_v7();
    let change = move |transaction: &rusqlite::Transaction<'_>| {
        let text = account.to_string();
        transaction.execute(
            "INSERT INTO accounts (account_id, name, created_at_ms) VALUES (?1, ?1, 0)",
            [text],
        )
    };
    projects.store.write(change).unwrap();
    account
}

/// Creates a project of an account with a file.
fn sent(projects: &Projects, account: Uuid, file: &str) -> Result<Uuid, Error> {
    let id = projects.create(account, NewId::Random)?.0;
    let mut draft = projects.draft(account, id)?;
    draft.reserve(file.len() as u64)?;
    draft.file.write_all(file.as_bytes())?;
    projects.set_input(account, id, draft, "towns.csv")?;
    let request = FileRequest {
        columns: vec!["town".to_owned()],
        ..FileRequest::default()
    };
    projects.set_request(account, id, &request)?;
    Ok(id)
}

fn ended(projects: &Projects, account: Uuid, id: Uuid) -> Project {
    let until = Instant::now() + WAIT;
    loop {
        let project = projects.get(account, id).unwrap();
        if project.ended_at.is_some() {
            return project;
        }
        assert!(Instant::now() < until, "{project:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_result_stays_within_the_room_of_its_account() {
    let folder = tempfile::tempdir().unwrap();
    let file = format!("town{}\n{}", ",".repeat(1_000), "a\n".repeat(5_000));
    let projects = projects(folder.path()).within(0, 1 << 20);
    let account = account_of(&projects);
    let wide = sent(&projects, account, &file).unwrap();
    let small = sent(&projects, account, "town\nMende\n").unwrap();
    let supervisor = Supervisor::default();
    let addresses = LiveGeocoder::open(folder.path());
    let runner = projects.run(&supervisor, addresses).unwrap();
    for id in [wide, small] {
        projects.start(account, id).unwrap();
    }
    let failed = ended(&projects, account, wide);
    assert_eq!(failed.status, ProjectStatus::Failed);
    let reason = failed.error.unwrap();
    assert!(reason.contains("the result exceeds"), "{reason}");
    // Its output is deleted when it fails, and takes no space from the other projects.
    let completed = ended(&projects, account, small);
    assert_eq!(completed.status, ProjectStatus::Completed);
    assert!(!projects.folder_of(wide).join(super::OUTPUT).exists());
    drop(runner);
    let refused = sent(&projects, account, &"a".repeat(1 << 20)).unwrap_err();
    assert!(matches!(refused, Error::WrongState(_)), "{refused}");
    assert!(sent(&projects, account_of(&projects), "town\n").is_ok());
}

#[test]
fn an_account_sends_few_files_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let projects = projects(folder.path());
    let account = account_of(&projects);
    let id = projects.create(account, NewId::Random).unwrap().0;
    let drafts: Vec<_> = (0..super::DRAFTS_PER_ACCOUNT_MAX)
        .map(|_| projects.draft(account, id).unwrap())
        .collect();
    let refused = projects.draft(account, id).unwrap_err();
    assert!(matches!(refused, Error::TooManyDrafts), "{refused}");
    drop(drafts);
    assert!(projects.draft(account, id).is_ok());
    assert_eq!(fs::read_dir(projects.folder_of(id)).unwrap().count(), 0);
}
