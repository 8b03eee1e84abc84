//! Work on all cores for callers that hold a lock.
//!
//! A rayon thread that waits for parts of its work may start another job in the meantime, further up the same stack. If
//! that job waits for a lock that the first one holds, both wait forever. Scoped threads do not have this problem.

use std::thread;

/// Applies a function to chunks of items, one chunk per core, and returns the results in order. Chunks have at least
/// `chunk_min` items, so that few items need no further thread. The last chunk is handled on the calling thread, and so
/// are others if no thread can be started.
///
/// # Panics
/// If the function panics.
pub fn map_chunks<T: Sync, R: Send>(
    items: &[T],
    chunk_min: usize,
    map: impl Fn(&[T]) -> R + Sync,
) -> Vec<R> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let chunk = items.len().div_ceil(cores).max(chunk_min).max(1);
    let mut chunks: Vec<&[T]> = items.chunks(chunk).collect();
    let Some(last) = chunks.pop() else {
        return Vec::new();
    };
    let map = &map;
    thread::scope(|scope| {
        let running: Vec<_> = chunks
            .into_iter()
            .map(|chunk| {
                let spawned = thread::Builder::new().spawn_scoped(scope, move || map(chunk));
                spawned.map_err(|_| map(chunk))
            })
            .collect();
        let last = map(last);
        let mapped = running.into_iter().map(|running| match running {
            Ok(thread) => thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(mapped) => mapped,
        });
        mapped.chain([last]).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_all_items_in_order() {
        for length in [0, 1, 2, 3, 10, 1_000] {
            let items: Vec<usize> = (0..length).collect();
            for chunk_min in [0, 1, 7, 2_000] {
                let mapped = map_chunks(&items, chunk_min, <[usize]>::to_vec);
                assert_eq!(mapped.concat(), items);
                let whole = mapped.iter().rev().skip(1);
                assert!(whole.clone().all(|chunk| chunk.len() >= chunk_min));
            }
        }
    }
}
