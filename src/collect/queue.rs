//! Which job begins next: politely to each host, fairly to each account. Pure: it is told the time.
//!
//! A host has at most so many fetches at once, with a pause between their starts, and is left alone for as long as it
//! asks. At each host accounts take turns, and among hosts that may be asked the account with the fewest jobs running goes
//! first: one that asks for ten thousand checks delays nobody who asks for one. Within an account, what someone waits for
//! goes before checks. Starting a job looks at every host and account with work: microseconds for hundreds.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use uuid::Uuid;

use super::jobs::{Job, Kind};

/// Hosts known at once; past it those without work are forgotten, also where they ask to be spared.
const HOSTS_MAX: usize = 100_000;

/// How hosts and the machine are spared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manners {
    /// Fetches at once.
    pub running_max: usize,
    /// Fetches at once of one host.
    pub per_host_max: usize,
    /// Time between two starts at one host.
    pub host_delay: Duration,
}

/// The waiting jobs of an account for a host; keys order what begins first.
type Waiting = BTreeMap<(bool, i64), Job>;

#[derive(Debug, Default)]
struct Host {
    accounts: HashMap<Uuid, Waiting>,
    /// Number of the last job begun here of each account.
    turns: HashMap<Uuid, u64>,
    running: usize,
    /// From when on it may be asked again.
    free_at: Duration,
    delay: Duration,
}

/// Jobs that wait, and how many run.
#[derive(Debug)]
pub struct Queue {
    manners: Manners,
    hosts: HashMap<String, Host>,
    later: BTreeMap<(Duration, i64), Job>,
    running: usize,
    running_of: HashMap<Uuid, usize>,
    begun: u64,
}

impl Queue {
    /// An empty queue.
    pub fn new(manners: Manners) -> Self {
        Self {
            manners,
            hosts: HashMap::new(),
            later: BTreeMap::new(),
            running: 0,
            running_of: HashMap::new(),
            begun: 0,
        }
    }

    /// Puts a job in, to begin at a moment or later.
    pub fn put(&mut self, job: Job, at: Duration) {
        self.later.insert((at, job.number), job);
    }

    /// Jobs running.
    pub fn running(&self) -> usize {
        self.running
    }

    /// The job that begins now, if one may.
    pub fn begin(&mut self, now: Duration) -> Option<Job> {
        self.ripen(now);
        if self.running >= self.manners.running_max {
            return None;
        }
        let free = self
            .hosts
            .iter()
            .filter(|(_, host)| host.may_begin(&self.manners, now));
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
        let delay = self.manners.host_delay;
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

    /// A job ended, or its attempt did. The host may ask to be spared longer.
    pub fn end(
        &mut self,
        job: &Job,
        now: Duration,
        crawl_delay: Option<Duration>,
        leave_alone: Option<Duration>,
    ) {
        self.running = self.running.saturating_sub(1);
        if let Some(count) = self.running_of.get_mut(&job.what.account) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.running_of.remove(&job.what.account);
            }
        }
        if let Some(host) = self.hosts.get_mut(job.host()) {
            host.running = host.running.saturating_sub(1);
            if let Some(crawl_delay) = crawl_delay {
                host.delay = crawl_delay;
                host.free_at = host.free_at.max(now + crawl_delay);
            }
            if let Some(leave_alone) = leave_alone {
                host.free_at = host.free_at.max(now + leave_alone);
            }
        }
        // A host without work is forgotten once it need not be spared any more.
        let are_too_many = self.hosts.len() > HOSTS_MAX;
        self.hosts.retain(|_, host| {
            let is_spared = host.free_at > now && !are_too_many;
            host.running > 0 || !host.accounts.is_empty() || is_spared
        });
    }

    /// When something may begin that may not now; `None` when only an end can tell.
    pub fn next_at(&self, now: Duration) -> Option<Duration> {
        let ripe = self.later.first_key_value().map(|((at, _), _)| *at);
        if self.running >= self.manners.running_max {
            return None;
        }
        let waiting = self.hosts.values().filter(|host| !host.accounts.is_empty());
        let free = waiting
            .filter(|host| host.running < self.manners.per_host_max)
            .map(|host| host.free_at);
        free.chain(ripe).min().map(|at| at.max(now))
    }

    fn ripen(&mut self, now: Duration) {
        while let Some(entry) = self.later.first_entry() {
            if entry.key().0 > now {
                return;
            }
            let job = entry.remove();
            let host = self.hosts.entry(job.host().to_owned()).or_default();
            let waiting = host.accounts.entry(job.what.account).or_default();
            waiting.insert((job.what.kind == Kind::Check, job.number), job);
        }
    }
}

impl Host {
    fn may_begin(&self, manners: &Manners, now: Duration) -> bool {
        !self.accounts.is_empty() && self.running < manners.per_host_max && self.free_at <= now
    }
}

#[cfg(test)]
mod tests {
    use super::super::jobs::NewJob;
    use super::*;
    use toise_net::fetch::Trail;

    const SECOND: Duration = Duration::from_secs(1);

    fn job(number: i64, account: u128, host: &str, kind: Kind) -> Job {
        Job {
            number,
            what: NewJob {
                id: Uuid::from_u128(number as u128),
                account: Uuid::from_u128(account),
                kind,
                digest: [0; 16],
                url: format!("https://{host}/{number}"),
                host: host.into(),
            },
            due_at_ms: 0,
            attempts: 0,
            trail: Trail::default(),
        }
    }

    fn queue(running_max: usize, per_host_max: usize) -> Queue {
        Queue::new(Manners {
            running_max,
            per_host_max,
            host_delay: SECOND,
        })
    }

    fn begun(queue: &mut Queue, now: Duration) -> Option<i64> {
        queue.begin(now).map(|job| job.number)
    }

    #[test]
    fn a_host_is_asked_with_pauses_and_few_at_once() {
        let mut queue = queue(10, 2);
        for number in 1..=4 {
            queue.put(job(number, 1, "a", Kind::Url), Duration::ZERO);
        }
        queue.put(job(5, 1, "b", Kind::Url), Duration::ZERO);
        assert_eq!(begun(&mut queue, Duration::ZERO), Some(1));
        assert_eq!(begun(&mut queue, Duration::ZERO), Some(5));
        assert_eq!(begun(&mut queue, Duration::ZERO), None);
        assert_eq!(queue.next_at(Duration::ZERO), Some(SECOND));
        assert_eq!(begun(&mut queue, SECOND), Some(2));
        assert_eq!(begun(&mut queue, 3 * SECOND), None, "two are running");
        queue.end(
            &job(1, 1, "a", Kind::Url),
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
            &job(2, 1, "a", Kind::Url),
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
    fn accounts_take_turns_and_whoever_waits_goes_before_checks() {
        let mut queue = queue(3, 10);
        for number in 1..=100 {
            queue.put(
                job(number, 1, &format!("h{}", number % 20), Kind::Check),
                Duration::ZERO,
            );
        }
        queue.put(job(101, 2, "h1", Kind::Check), Duration::ZERO);
        queue.put(job(102, 1, "h2", Kind::Url), Duration::ZERO);
        assert_eq!(begun(&mut queue, Duration::ZERO), Some(102));
        assert_eq!(begun(&mut queue, Duration::ZERO), Some(101));
        assert_eq!(begun(&mut queue, Duration::ZERO), Some(3));
        assert_eq!(begun(&mut queue, Duration::ZERO), None, "three are running");
    }

    #[test]
    fn accounts_take_turns_at_a_host_whose_jobs_end_before_the_next_begins() {
        let mut queue = queue(10, 1);
        for number in 1..=3 {
            queue.put(job(number, 1, "a", Kind::Url), Duration::ZERO);
        }
        queue.put(job(4, 2, "a", Kind::Check), SECOND);
        queue.put(job(5, 2, "a", Kind::Check), 3 * SECOND);
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
        queue.put(job(1, 1, "a", Kind::Url), 5 * SECOND);
        assert_eq!(begun(&mut queue, 4 * SECOND), None);
        assert_eq!(queue.next_at(4 * SECOND), Some(5 * SECOND));
        assert_eq!(begun(&mut queue, 5 * SECOND), Some(1));
        queue.end(&job(1, 1, "a", Kind::Url), 9 * SECOND, None, None);
        assert_eq!(queue.next_at(9 * SECOND), None);
        assert!(queue.hosts.is_empty());
    }
}
