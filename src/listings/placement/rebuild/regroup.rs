//! Places all adverts in order of arrival, in memory.

use std::collections::{BTreeSet, HashMap, HashSet};

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rusqlite::Connection;
use uuid::Uuid;

use crate::placement::cluster::MEMBERS_MAX;
use crate::placement::find::{AdvertsAround, number_of};
use crate::records::rows;
use crate::{Listings, Result};
use toise_base::progress::Progress;
use toise_contract::listings::codes::FlxId;
use toise_dedup::{AssignmentCandidate, Fingerprint, Surroundings, Thresholds, assign, may_share};

/// Adverts per group. Candidates for a group are found on all cores; then its adverts are placed one by one.
const ADVERTS_PER_GROUP: usize = 2_000;

/// The grouping of adverts into properties, as decided now.
#[derive(Debug, Default)]
pub(super) struct Grouping {
    /// The group of each advert placed so far.
    group_of: HashMap<i64, usize>,
    /// The adverts of each group in order of arrival; empty for a group that was joined to another.
    groups: Vec<Vec<i64>>,
    /// Pairs of adverts that may be one home, with their evidence in bits.
    likely: Vec<(i64, i64, f32)>,
    /// Adverts that a person assigned to their property.
    held: HashSet<i64>,
    /// Pairs of adverts that a person declared distinct, in both orders.
    apart: HashSet<(i64, i64)>,
}

/// The result of a search around an advert.
struct SearchedAdvert {
    advert: i64,
    fingerprint: Fingerprint,
    /// Adverts that are not clearly different.
    alike: Vec<i64>,
    around: Surroundings,
}

impl Grouping {
    /// Places all adverts of the store.
    pub(super) fn decide(listings: &Listings, adverts: u64, progress: Progress) -> Result<Self> {
        let bar = progress.rows("comparing adverts", adverts);
        let mut grouping = listings.store.read_with(Self::from_decisions)?;
        let mut last = 0;
        loop {
            let group = listings.store.read_with(|connection| {
                rows::fingerprints_after(connection, last, ADVERTS_PER_GROUP)
            })?;
            let Some((end, _)) = group.last() else {
                break;
            };
            last = *end;
            let searched = group.into_par_iter().map(|(advert, fingerprint)| {
                listings.store.read_with(|connection| {
                    let around = AdvertsAround::find(connection, &fingerprint, advert)?;
                    Ok(SearchedAdvert {
                        advert,
                        alike: around.possibly_same(connection)?,
                        fingerprint: around.compared,
                        around: around.surroundings,
                    })
                })
            });
            let searched = searched.collect::<Result<Vec<_>>>()?;
            listings.store.read_with(|connection| -> Result<()> {
                for advert in &searched {
                    grouping.place(connection, advert, listings.thresholds)?;
                    bar.inc(1);
                }
                Ok(())
            })?;
        }
        bar.finish_and_clear();
        Ok(grouping)
    }

    /// Starts with the decisions of people: adverts that they merged are placed first, one group per property.
    fn from_decisions(connection: &Connection) -> Result<Self> {
        let mut grouping = Self::default();
        let mut statement = connection.prepare(
            "SELECT property, advert FROM held JOIN adverts USING (advert) ORDER BY property, advert",
        )?;
        let held = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut last: Option<i64> = None;
        for one in held {
            let (property, advert): (i64, i64) = one?;
            if last != Some(property) {
                grouping.groups.push(Vec::new());
                last = Some(property);
            }
            grouping.put(advert, grouping.groups.len() - 1);
            grouping.held.insert(advert);
        }
        let mut statement = connection.prepare("SELECT advert, other FROM apart")?;
        let apart = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        grouping.apart = apart.collect::<rusqlite::Result<_>>()?;
        Ok(grouping)
    }

    /// Returns the groups, each with at least one advert.
    pub(super) fn groups(&self) -> impl Iterator<Item = &[i64]> {
        let groups = self.groups.iter().map(Vec::as_slice);
        groups.filter(|group| !group.is_empty())
    }

    /// Returns pairs of adverts that may be one home but are in different groups, in order of the first advert, with
    /// their evidence in bits.
    pub(super) fn likely_pairs(&self) -> impl Iterator<Item = (i64, i64, f32)> {
        let open = |(advert, other, _): &&(i64, i64, f32)| {
            self.group_of.get(advert) != self.group_of.get(other)
                && !self.apart.contains(&(*advert, *other))
        };
        self.likely.iter().filter(open).copied()
    }

    /// Returns the number of pairs of groups that may be one home.
    pub(super) fn likely_groups(&self) -> usize {
        let groups = self.likely_pairs().map(|(advert, other, _)| {
            let [one, other] = [advert, other].map(|advert| self.group_of.get(&advert));
            (one.min(other), one.max(other))
        });
        groups.collect::<HashSet<_>>().len()
    }

    /// Returns the number of the last advert placed.
    pub(super) fn last_advert(&self) -> i64 {
        self.group_of.keys().max().copied().unwrap_or_default()
    }

    fn put(&mut self, advert: i64, group: usize) {
        self.group_of.insert(advert, group);
        self.groups[group].push(advert);
    }

    fn place(
        &mut self,
        connection: &Connection,
        searched: &SearchedAdvert,
        thresholds: Thresholds,
    ) -> Result<()> {
        let advert = searched.advert;
        let own = self.group_of.get(&advert).copied();
        let placed = searched
            .alike
            .iter()
            .filter_map(|other| self.group_of.get(other));
        let near: BTreeSet<usize> = placed
            .copied()
            .filter(|group| Some(*group) != own)
            .collect();
        let mut candidates = Vec::new();
        for group in near {
            let members = &self.groups[group];
            let is_distinct = members
                .iter()
                .any(|other| self.apart.contains(&(advert, *other)));
            if is_distinct || members.len() >= MEMBERS_MAX {
                continue;
            }
            for member in members {
                candidates.push(self.candidate(connection, searched, group, *member)?);
            }
        }
        let assignment = assign(
            &searched.fingerprint,
            &candidates,
            &searched.around,
            thresholds,
        );
        let likely = assignment.likely.iter();
        self.likely
            .extend(likely.map(|pair| (advert, number_of(pair.advert), pair.bits)));
        let found = assignment.property.into_iter().chain(assignment.bridged);
        let mut found = found.map(|group| number_of(group) as usize);
        let group = match own.or_else(|| found.next()) {
            Some(group) => group,
            None => {
                self.groups.push(Vec::new());
                self.groups.len() - 1
            }
        };
        if own.is_none() {
            self.put(advert, group);
        }
        for other in found {
            self.join(connection, group, other)?;
        }
        Ok(())
    }

    fn candidate(
        &self,
        connection: &Connection,
        searched: &SearchedAdvert,
        group: usize,
        member: i64,
    ) -> Result<AssignmentCandidate> {
        let stored = rows::fingerprint_of(connection, member)?;
        Ok(AssignmentCandidate {
            property: FlxId(Uuid::from_u128(group as u128)),
            advert: FlxId(Uuid::from_u128(member as u128)),
            fingerprint: rows::as_compared_with(connection, &searched.fingerprint, &stored)?,
            is_held: self.held.contains(&member),
        })
    }

    /// Merges `other` into `group`, unless the result is too large, two adverts contradict each other, or a person
    /// separated two of them.
    fn join(&mut self, connection: &Connection, group: usize, other: usize) -> Result<()> {
        let (ones, others) = (&self.groups[group], &self.groups[other]);
        if ones.len() + others.len() > MEMBERS_MAX {
            return Ok(());
        }
        let others = others
            .iter()
            .map(|member| Ok((*member, rows::fingerprint_of(connection, *member)?)))
            .collect::<Result<Vec<_>>>()?;
        for one in ones {
            let fingerprint = rows::fingerprint_of(connection, *one)?;
            let fingerprint = rows::without_common_marks(connection, &fingerprint)?;
            for (other, of_other) in &others {
                let of_other = rows::as_compared_with(connection, &fingerprint, of_other)?;
                if self.apart.contains(&(*one, *other)) || !may_share(&fingerprint, &of_other) {
                    return Ok(());
                }
            }
        }
        for member in std::mem::take(&mut self.groups[other]) {
            self.put(member, group);
        }
        self.groups[group].sort_unstable();
        Ok(())
    }
}
