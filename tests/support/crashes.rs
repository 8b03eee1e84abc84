//! Servers that are killed while clients call them.

use std::path::Path;
use std::time::Duration;

use toise::accounts::ledger::Ledger;
use toise::base::clock::Clock;
use toise::store::Store;
use tokio::task::JoinHandle;

use super::draw::Draw;
use super::process::Server;

/// Maximum wait for the first responses of a server, milliseconds.
const FIRST_ANSWER_TIMEOUT_MS: usize = 20_000;

/// Waits for the first responses and then up to 100 ms, kills the server, and waits for the end of its clients.
pub async fn kill_under_load(
    server: Server,
    clients: Vec<JoinHandle<()>>,
    draw: &mut Draw,
    is_answered: impl Fn() -> bool,
) {
    for _ in 0..FIRST_ANSWER_TIMEOUT_MS {
        if is_answered() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tokio::time::sleep(Duration::from_micros(draw.below(100_000) as u64)).await;
    drop(server);
    for client in clients {
        client.await.unwrap();
    }
}

/// The request ids in the ledger, in hexadecimal digits without dashes, after it took in what a killed server left.
pub fn ids_in_ledger(data: &Path) -> Vec<String> {
    let store = Store::open(data).unwrap();
    let ledger = Ledger::new(&store, &Clock::system());
    ledger.write_leftovers(data).unwrap();
    let reading = |connection: &rusqlite::Connection| {
        connection
            .prepare("SELECT lower(hex(request_id)) FROM ledger")?
            .query_map([], |row| row.get(0))?
            .collect()
    };
    store.ledger().read(reading).unwrap()
}
