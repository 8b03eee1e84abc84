//! Tests of rows that are copied from a writer to a replica, and back.

use std::collections::HashMap;
use std::path::Path;

use super::*;

type Blocks = HashMap<RowBlock, Vec<u8>>;

fn blocks(store: &Store) -> Blocks {
    let mut found = HashMap::new();
    let read = store.read_blocks(|block, bytes| -> Result<()> {
        assert!(found.insert(block, bytes.to_vec()).is_none());
        Ok(())
    });
    read.unwrap();
    found
}

/// Inserts properties with records, under keys with gaps.
fn fill(store: &Store, properties: std::ops::Range<i64>) {
    let insert = move |transaction: &Transaction<'_>| {
        for number in properties {
            let key = (number * 7919 % 9973) << 26 | number;
            let document = number.to_string().into_bytes();
            transaction.execute("INSERT INTO records VALUES (?1, ?2)", (key, document))?;
            transaction.execute(
                "INSERT INTO properties VALUES (?1, ?2, ?1, NULL, ?3)",
                (number, number.to_le_bytes(), key),
            )?;
        }
        Ok(())
    };
    store.write(insert).unwrap();
}

/// Brings a replica to the rows of a store, as publications do.
fn bring(replica: &Store, former: &Blocks, next: &Blocks, folder: &Path, number: u64) {
    let is_in = |blocks: &Blocks, block: &RowBlock, bytes: &Vec<u8>| {
        blocks.get(block).is_some_and(|other| other == bytes)
    };
    let gone = former
        .iter()
        .filter(|(block, bytes)| !is_in(next, block, bytes));
    let new = next
        .iter()
        .filter(|(block, bytes)| !is_in(former, block, bytes));
    let added = new.enumerate().map(|(place, (_, bytes))| {
        let path = folder.join(format!("{number}-{place}"));
        std::fs::write(&path, bytes).unwrap();
        path
    });
    let exchange = BlockExchange {
        next: ReplicatedRows {
            number,
            blocks: String::new(),
        },
        removed: gone.map(|(block, _)| block.clone()).collect(),
        added: added.collect(),
    };
    replica.exchange_blocks(exchange).unwrap();
}

#[test]
fn a_replica_has_the_rows_of_the_writer_after_each_exchange_and_few_blocks_travel() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (writer, replica) = (
        Store::open(one.path()).unwrap(),
        Store::open(other.path()).unwrap(),
    );
    assert_eq!(replica.replicated_rows().unwrap(), None);
    let account = "INSERT INTO accounts VALUES ('a', 'Ä', 7)";
    writer.write(move |rows| rows.execute(account, [])).unwrap();
    fill(&writer, 1..9_000);
    let first = blocks(&writer);
    assert!(first.len() > 6, "{}", first.len());
    bring(&replica, &Blocks::new(), &first, one.path(), 1);
    assert_eq!(blocks(&replica), first);

    // New, changed, moved and merged properties.
    fill(&writer, 9_000..9_003);
    let change = |rows: &Transaction<'_>| {
        rows.execute(
            "UPDATE records SET document = x'00' WHERE record & 67108863 = 5",
            [],
        )?;
        rows.execute("UPDATE accounts SET name = 'b'", [])?;
        rows.execute("DELETE FROM records WHERE record & 67108863 = 8", [])?;
        let merged = "UPDATE properties SET merged_into = 9, record = NULL, sequence = 9999 WHERE property = 8";
        rows.execute(merged, [])?;
        rows.execute(
            "UPDATE records SET record = 6 WHERE record & 67108863 = 6",
            [],
        )?;
        rows.execute("UPDATE properties SET record = 6 WHERE property = 6", [])
    };
    writer.write(change).unwrap();
    let second = blocks(&writer);
    let travelling = second
        .iter()
        .filter(|(block, bytes)| first.get(*block) != Some(bytes));
    assert!(travelling.count() < second.len());
    bring(&replica, &first, &second, one.path(), 2);
    assert_eq!(blocks(&replica), second);
    assert_eq!(replica.replicated_rows().unwrap().unwrap().number, 2);

    // Back to the first state, as after a writer was restored from a backup.
    bring(&replica, &second, &first, one.path(), 3);
    assert_eq!(blocks(&replica), first);
}

#[test]
fn bytes_that_are_no_block_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    fill(&store, 1..5_000);
    let before = blocks(&store);
    let (block, bytes) = before
        .iter()
        .find(|(block, _)| block.table == "records")
        .unwrap();
    let path = folder.path().join("block");
    for wrong in [
        &bytes[..bytes.len() - 1],
        &bytes[1..],
        &[bytes.as_slice(), b"x"].concat(),
        b"",
    ] {
        std::fs::write(&path, wrong).unwrap();
        let exchanged = store.exchange_blocks(BlockExchange {
            next: ReplicatedRows {
                number: 1,
                blocks: String::new(),
            },
            removed: vec![block.clone()],
            added: vec![path.clone()],
        });
        assert!(
            matches!(exchanged, Err(Error::NotABlock(_))),
            "{exchanged:?}"
        );
        assert_eq!(blocks(&store), before);
    }
}
