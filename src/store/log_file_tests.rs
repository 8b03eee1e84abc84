//! Tests with logs that have flipped bits or end early.

use super::*;

/// Returns a log of forty transactions, as a killed process leaves it.
fn log() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection
        .pragma_update(None, "journal_mode", "WAL")
        .unwrap();
    connection.execute_batch("CREATE TABLE t (x)").unwrap();
    for number in 0..40 {
        let insert = "INSERT INTO t VALUES (?1)";
        connection.execute(insert, [number]).unwrap();
    }
    std::fs::read(folder.path().join("file-wal")).unwrap()
}

fn found(log: &[u8]) -> LogState {
    examine(|| Ok(Some(log))).unwrap()
}

#[test]
fn a_flipped_bit_is_told_from_the_end_of_a_log() {
    let log = log();
    assert_eq!(found(&log), LogState::Whole);
    let none = examine(|| Ok(None::<&[u8]>));
    assert_eq!(none.unwrap(), LogState::Whole);
    let flipped = |at: usize| {
        let mut flipped = log.clone();
        flipped[at] ^= 4;
        found(&flipped)
    };
    assert_eq!(flipped(3), LogState::NoHeader);
    assert_eq!(flipped(20), LogState::NoHeader);
    let frame = FRAME_HEADER_BYTES + 4_096;
    let begin = HEADER_BYTES + 9 * frame;
    for at in [begin, begin + 20, begin + 100] {
        assert_eq!(flipped(at), LogState::Broken { frame: 10 });
    }
    // A power failure, or a process killed while it writes, leaves this at the end.
    let last = log.len() - frame;
    assert_eq!(flipped(last + 100), LogState::Whole);
    assert_eq!(found(&log[..last + 10]), LogState::Whole);
    assert_eq!(found(&log[..10]), LogState::Whole);
    assert_eq!(found(&[0; 9_000]), LogState::Whole);
}
