//! Threads that run short jobs in order.
//!
//! A thread of rayon that has finished its job looks for more work some thirty times and yields its core in between.
//! For jobs of some microseconds, such as one geocoding call, that costs as much as the job. These threads sleep at
//! once, and a job wakes one of them.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

/// A job that handles its own panics.
pub(super) type Job = Box<dyn FnOnce() + Send>;

/// Threads that share a queue. They end when this is dropped.
pub(super) struct JobThreads(Arc<Shared>);

#[derive(Default)]
struct Shared {
    queue: Mutex<JobQueue>,
    woken: Condvar,
}

#[derive(Default)]
struct JobQueue {
    jobs: VecDeque<Job>,
    is_closed: bool,
}

impl fmt::Debug for JobThreads {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JobThreads")
    }
}

impl JobThreads {
    /// Starts `count` threads, each of which calls `start` first. Returns `None` if the system starts none.
    pub fn start(name: &'static str, count: usize, start: fn()) -> Option<Self> {
        let shared = Arc::<Shared>::default();
        let started = (0..count).filter(|index| {
            let shared = Arc::clone(&shared);
            let thread = std::thread::Builder::new().name(format!("{name}-short-{index}"));
            let work = move || {
                start();
                run_all(&shared);
            };
            thread.spawn(work).is_ok()
        });
        (started.count() > 0).then_some(Self(shared))
    }

    /// Queues a job.
    pub fn spawn(&self, job: Job) {
        self.0.queue.lock().jobs.push_back(job);
        self.0.woken.notify_one();
    }
}

impl Drop for JobThreads {
    fn drop(&mut self) {
        self.0.queue.lock().is_closed = true;
        self.0.woken.notify_all();
    }
}

fn run_all(shared: &Shared) {
    let mut queue = shared.queue.lock();
    loop {
        match queue.jobs.pop_front() {
            Some(job) => {
                drop(queue);
                job();
                queue = shared.queue.lock();
            }
            None if queue.is_closed => return,
            None => shared.woken.wait(&mut queue),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn queued_jobs_run_in_order_and_to_the_end() {
        let (sender, receiver) = mpsc::channel();
        let threads = JobThreads::start("test", 1, || {}).unwrap();
        for number in 0..100 {
            let sender = sender.clone();
            threads.spawn(Box::new(move || sender.send(number).unwrap()));
        }
        drop((threads, sender));
        assert_eq!(receiver.iter().collect::<Vec<_>>(), Vec::from_iter(0..100));
    }
}
