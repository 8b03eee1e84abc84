//! Decides which job starts next, with politeness to hosts and fairness between accounts. Reads no clock; callers pass
//! the time.
//!
//! Each host has a limit of concurrent fetches and a pause between their starts, and is not contacted while it asks to
//! cool down. Accounts take turns at each host. Among the free hosts, the account with the fewest running jobs goes
//! first, so an account with ten thousand checks does not delay one with a single check. Within an account, jobs that a
//! call waits for go before checks. Each start examines every host and account with work, which takes microseconds for
//! hundreds of them.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use uuid::Uuid;

use super::jobs::{Job, JobKind};

/// Maximum number of known hosts; beyond it, hosts without work are forgotten, even if they asked to cool down.
const HOSTS_MAX: usize = 100_000;

/// Politeness limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Politeness {
    /// Maximum concurrent fetches.
    pub running_max: usize,
    /// Maximum concurrent fetches per host.
    pub per_host_max: usize,
    /// Minimum time between two starts at one host.
    pub host_delay: Duration,
}

/// The waiting jobs of an account at a host, in the order in which they start.
type WaitingJobs = BTreeMap<(bool, i64), Job>;

#[derive(Debug, Default)]
struct HostQueue {
    accounts: HashMap<Uuid, WaitingJobs>,
    /// For each account, the sequence number of its last start at this host.
    turns: HashMap<Uuid, u64>,
    running: usize,
    /// Time from which the host may be contacted again.
    free_at: Duration,
    delay: Duration,
}

/// The waiting jobs, and the counts of running ones.
#[derive(Debug)]
pub struct JobQueue {
    politeness: Politeness,
    hosts: HashMap<String, HostQueue>,
    later: BTreeMap<(Duration, i64), Job>,
    running: usize,
    running_of: HashMap<Uuid, usize>,
    begun: u64,
}

impl JobQueue {
    /// Creates an empty queue.
    pub fn new(politeness: Politeness) -> Self {
        Self {
            politeness,
            hosts: HashMap::new(),
            later: BTreeMap::new(),
            running: 0,
            running_of: HashMap::new(),
            begun: 0,
        }
    }

    /// Adds a job that may start at `at` or later.
    pub fn push(&mut self, job: Job, at: Duration) {
        self.later.insert((at, job.number), job);
    }

    /// Returns the number of running jobs.
    pub fn running(&self) -> usize {
        self.running
    }

    /// Takes the job that starts now; `None` if none may start.
    pub fn begin(&mut self, now: Duration) -> Option<Job> {
        self.promote_due(now);
        if self.running >= self.politeness.running_max {
            return None;
        }
        let free = self
            .hosts
            .iter()
            .filter(|(_, host)| host.may_begin(&self.politeness, now));
        let running_of = |account: &Uuid| self.running_of.get(account).copied().unwrap_or_default();
        let heads = free.filter_map(|(name, host)| {
            let heads = host.accounts.iter().filter_map(|(account, waiting)| {
                let turn = host.turns.get(account).copied().unwrap_or_default();
                Some((
                    turn,
                    running_of(account),
                    waiting.first_key_value()?.0,
                    account,
                ))
            });
            let (_, running, key, account) = heads.min()?;
            Some((running, key, name, account))
        });
        let (_, _, name, account) = heads.min()?;
        let (name, account) = (name.clone(), *account);
        let delay = self.politeness.host_delay;
        let host = self.hosts.get_mut(&name)?;
        let waiting = host.accounts.get_mut(&account)?;
        let (_, job) = waiting.pop_first()?;
        if waiting.is_empty() {
            host.accounts.remove(&account);
        }
        self.begun += 1;
        host.turns.insert(account, self.begun);
        host.running += 1;
        host.free_at = now + host.delay.max(delay);
        self.running += 1;
        *self.running_of.entry(account).or_default() += 1;
        Some(job)
    }

    /// Records the end of a job or of its attempt. `crawl_delay` and `cool_down` are pauses that the host asked for.
    pub fn end(
        &mut self,
        job: &Job,
        now: Duration,
        crawl_delay: Option<Duration>,
        cool_down: Option<Duration>,
    ) {
        self.running = self.running.saturating_sub(1);
        if let Some(count) = self.running_of.get_mut(&job.request.account) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.running_of.remove(&job.request.account);
            }
        }
        if let Some(host) = self.hosts.get_mut(job.host()) {
            host.running = host.running.saturating_sub(1);
            if let Some(crawl_delay) = crawl_delay {
                host.delay = crawl_delay;
                host.free_at = host.free_at.max(now + crawl_delay);
            }
            if let Some(cool_down) = cool_down {
                host.free_at = host.free_at.max(now + cool_down);
            }
        }
        // A host without work is forgotten when its pause is over.
        let are_too_many = self.hosts.len() > HOSTS_MAX;
        self.hosts.retain(|_, host| {
            let is_spared = host.free_at > now && !are_too_many;
            host.running > 0 || !host.accounts.is_empty() || is_spared
        });
    }

    /// Returns the next time at which a waiting job may start; `None` if no job waits, or if another job must end
    /// first.
    pub fn next_at(&self, now: Duration) -> Option<Duration> {
        let ripe = self.later.first_key_value().map(|((at, _), _)| *at);
        if self.running >= self.politeness.running_max {
            return None;
        }
        let waiting = self.hosts.values().filter(|host| !host.accounts.is_empty());
        let free = waiting
            .filter(|host| host.running < self.politeness.per_host_max)
            .map(|host| host.free_at);
        free.chain(ripe).min().map(|at| at.max(now))
    }

    fn promote_due(&mut self, now: Duration) {
        while let Some(entry) = self.later.first_entry() {
            if entry.key().0 > now {
                return;
            }
            let job = entry.remove();
            let host = self.hosts.entry(job.host().to_owned()).or_default();
            let waiting = host.accounts.entry(job.request.account).or_default();
            waiting.insert((job.request.kind == JobKind::Check, job.number), job);
        }
    }
}

impl HostQueue {
    fn may_begin(&self, politeness: &Politeness, now: Duration) -> bool {
        !self.accounts.is_empty() && self.running < politeness.per_host_max && self.free_at <= now
    }
}

#[cfg(test)]
mod tests {
    use super::super::jobs::NewJob;
    use super::*;
    use toise_net::fetch::RedirectTrail;

    const SECOND: Duration = Duration::from_secs(1);

    fn job(number: i64, account: u128, host: &str, kind: JobKind) -> Job {
        Job {
            number,
            request: NewJob {
                is_shared: true,
                id: Uuid::from_u128(number as u128),
                account: Uuid::from_u128(account),
                kind,
                digest: [0; 16],
                url: format!("https://{host}/{number}"),
                host: host.into(),
            },
            due_at_ms: 0,
            attempts: 0,
            trail: RedirectTrail::default(),
        }
    }

    fn queue(running_max: usize, per_host_max: usize) -> JobQueue {
        JobQueue::new(Politeness {
            running_max,
            per_host_max,
            host_delay: SECOND,
        })
    }

    fn begun(queue: &mut JobQueue, now: Duration) -> Option<i64> {
        queue.begin(now).map(|job| job.number)
    }

    #[test]
    fn a_host_gets_few_concurrent_requests_with_pauses() {
        let mut queue = queue(10, 2);
        for number in 1..=4 {
            queue.push(job(number, 1, "a", JobKind::Url), Duration::ZERO);
        }
        queue.push(job(5, 1, "b", JobKind::Url), Duration::ZERO);
        assert_eq!(begun(&mut queue, Duration::ZERO), Some(1));
        assert_eq!(begun(&mut queue, Duration::ZERO), Some(5));
        assert_eq!(begun(&mut queue, Duration::ZERO), None);
        assert_eq!(queue.next_at(Duration::ZERO), Some(SECOND));
        assert_eq!(begun(&mut queue, SECOND), Some(2));
        assert_eq!(begun(&mut queue, 3 * SECOND), None, "two are running");
        queue.end(
            &job(1, 1, "a", JobKind::Url),
            3 * SECOND,
            None,
            Some(10 * SECOND),
        );
        assert_eq!(
            begun(&mut queue, 4 * SECOND),
            None,
            "the host asked to be left alone"
        );
        assert_eq!(queue.next_at(4 * SECOND), Some(13 * SECOND));
        assert_eq!(begun(&mut queue, 13 * SECOND), Some(3));
        queue.end(
            &job(2, 1, "a", JobKind::Url),
            13 * SECOND,
            Some(5 * SECOND),
            None,
        );
        assert_eq!(
            begun(&mut queue, 17 * SECOND),
            None,
            "robots.txt asks for five seconds"
        );
        assert_eq!(begun(&mut queue, 18 * SECOND), Some(4));
        assert_eq!(queue.running(), 3);
    }

    #[test]
    fn accounts_take_turns_and_waiting_calls_go_before_checks() {
        let mut queue = queue(3, 10);
        for number in 1..=100 {
            queue.push(
                job(number, 1, &format!("h{}", number % 20), JobKind::Check),
                Duration::ZERO,
            );
        }
        queue.push(job(101, 2, "h1", JobKind::Check), Duration::ZERO);
        queue.push(job(102, 1, "h2", JobKind::Url), Duration::ZERO);
        assert_eq!(begun(&mut queue, Duration::ZERO), Some(102));
        assert_eq!(begun(&mut queue, Duration::ZERO), Some(101));
        assert_eq!(begun(&mut queue, Duration::ZERO), Some(3));
        assert_eq!(begun(&mut queue, Duration::ZERO), None, "three are running");
    }

    #[test]
    fn accounts_take_turns_at_a_host_whose_jobs_end_before_the_next_begins() {
        let mut queue = queue(10, 1);
        for number in 1..=3 {
            queue.push(job(number, 1, "a", JobKind::Url), Duration::ZERO);
        }
        queue.push(job(4, 2, "a", JobKind::Check), SECOND);
        queue.push(job(5, 2, "a", JobKind::Check), 3 * SECOND);
        let order: Vec<i64> = (0..5)
            .map(|second| {
                let job = queue.begin(second * SECOND).unwrap();
                queue.end(&job, second * SECOND, None, None);
                job.number
            })
            .collect();
        assert_eq!(order, [1, 4, 2, 5, 3]);
    }

    #[test]
    fn a_job_begins_when_it_is_due() {
        let mut queue = queue(3, 10);
        queue.push(job(1, 1, "a", JobKind::Url), 5 * SECOND);
        assert_eq!(begun(&mut queue, 4 * SECOND), None);
        assert_eq!(queue.next_at(4 * SECOND), Some(5 * SECOND));
        assert_eq!(begun(&mut queue, 5 * SECOND), Some(1));
        queue.end(&job(1, 1, "a", JobKind::Url), 9 * SECOND, None, None);
        assert_eq!(queue.next_at(9 * SECOND), None);
        assert!(queue.hosts.is_empty());
    }
}
