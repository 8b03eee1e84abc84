//! Writes the properties whose adverts are grouped differently than before.
//!
//! A property continues in the group that holds most of its adverts. If several properties continue in one group, the
//! one with most adverts there keeps its identifier, and the others redirect to it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use rusqlite::Connection;

use super::regroup::Grouping;
use super::{PropertyAdverts, RebuildChange, RebuildReport};
use crate::records::percolation::PercolationBuffer;
use crate::records::rows;
use crate::records::tables::ListingsWriter;
use crate::{Listings, Result};
use toise_alerts::percolate::PropertyTrigger;
use toise_base::progress::Progress;
use toise_contract::listings::codes::FlxId;

/// Changes written in one transaction.
const CHANGES_PER_GROUP: usize = 100;
/// Likely pairs written in one transaction.
const PAIRS_PER_GROUP: usize = 10_000;

/// Properties and groups that share adverts, and are therefore written together.
#[derive(Clone, Debug, Default)]
struct Change {
    /// The adverts of each property.
    properties: BTreeMap<i64, Vec<i64>>,
    /// The adverts of each group.
    groups: Vec<Vec<i64>>,
}

/// Writes all changes, and the likely pairs; counts them in the report.
pub(super) fn apply(
    listings: &Listings,
    grouping: &Grouping,
    report: &mut RebuildReport,
    progress: Progress,
) -> Result<()> {
    let changes = listings.store.read_with(|connection| -> Result<_> {
        let properties = rows::properties_of_adverts(connection)?;
        Ok(Change::all(&properties, grouping.groups()))
    })?;
    let bar = progress.rows("writing properties", changes.len() as u64);
    let is_dry_run = report.dry_run;
    let count = |listings: &Listings| {
        let sql = "SELECT count(*) FROM properties WHERE merged_into IS NULL";
        let count: i64 = listings
            .store
            .read(|connection| connection.query_row(sql, [], |row| row.get(0)))?;
        Result::Ok(count.unsigned_abs())
    };
    report.properties_before = count(listings)?;
    // Receivers are notified of merges but not of splits, because they have already seen the adverts of a split
    // property.
    let (merges, others): (Vec<_>, Vec<_>) = changes.into_iter().partition(Change::only_merges);
    for (changes, notifies_alerts) in [(merges, true), (others, false)] {
        for group in changes.chunks(CHANGES_PER_GROUP) {
            let written = if is_dry_run {
                listings.store.read_with(|connection| {
                    let planned = group.iter().map(|change| change.planned(connection));
                    planned.collect::<Result<Vec<_>>>()
                })?
            } else {
                write(listings, group.to_vec(), notifies_alerts)?
            };
            for one in written {
                report.add(one);
            }
            bar.inc(group.len() as u64);
        }
    }
    bar.finish_and_clear();
    report.properties_after = if is_dry_run {
        grouping.groups().count() as u64
    } else {
        count(listings)?
    };
    if !is_dry_run {
        replace_likely_pairs(listings, grouping)?;
    }
    Ok(())
}

/// Writes changes, and tests them against the alerts if `notifies_alerts` is set.
fn write(
    listings: &Listings,
    changes: Vec<Change>,
    notifies_alerts: bool,
) -> Result<Vec<Option<WrittenChange>>> {
    let percolator = Arc::clone(&listings.percolator);
    let now_ms = listings.clock.now().timestamp_millis();
    listings.load_alerts()?;
    let written = listings
        .store
        .write_with(move |transaction| -> Result<Vec<_>> {
            let percolation = if notifies_alerts {
                PercolationBuffer::begin(&percolator, transaction, None, now_ms)?
            } else {
                PercolationBuffer::none()
            };
            let mut tables = ListingsWriter::begin(transaction, percolation)?;
            let written = changes.iter().map(|change| change.write(&mut tables));
            let written = written.collect::<Result<_>>()?;
            tables.percolate_moved(None)?;
            tables.end()?;
            Ok(written)
        });
    if written.is_err() {
        listings.percolator.forget();
    }
    written
}

/// Replaces the stored likely pairs by those of the grouping.
fn replace_likely_pairs(listings: &Listings, grouping: &Grouping) -> Result<()> {
    let pairs: Vec<_> = grouping.likely_pairs().collect();
    let mut groups: Vec<Vec<_>> = pairs.chunks(PAIRS_PER_GROUP).map(<[_]>::to_vec).collect();
    let last = grouping.last_advert();
    listings
        .store
        .write_with(move |transaction| -> Result<()> {
            // Adverts that arrived after the decision keep their pairs.
            transaction.execute("DELETE FROM likely_pairs WHERE advert <= ?1", [last])?;
            Ok(())
        })?;
    for group in groups.drain(..) {
        listings
            .store
            .write_with(move |transaction| -> Result<()> {
                let mut statement = transaction.prepare_cached(
                    "INSERT OR REPLACE INTO likely_pairs (advert, other, bits) VALUES (?1, ?2, ?3)",
                )?;
                for pair in group {
                    statement.execute(pair)?;
                }
                Ok(())
            })?;
    }
    Ok(())
}

impl Change {
    /// Returns the properties and groups that differ, in order of the properties.
    fn all<'g>(
        properties: &HashMap<i64, i64>,
        groups: impl Iterator<Item = &'g [i64]>,
    ) -> Vec<Self> {
        let groups: Vec<&[i64]> = groups.collect();
        let mut adverts_of: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        let mut groups_of: HashMap<i64, BTreeSet<usize>> = HashMap::new();
        for (number, group) in groups.iter().enumerate() {
            for advert in *group {
                if let Some(property) = properties.get(advert) {
                    adverts_of.entry(*property).or_default().push(*advert);
                    groups_of.entry(*property).or_default().insert(number);
                }
            }
        }
        let mut seen = BTreeSet::new();
        let mut changes = Vec::new();
        for property in adverts_of.keys() {
            if seen.contains(property) {
                continue;
            }
            // Everything that shares adverts with it, directly or indirectly.
            let (mut open, mut numbers) = (vec![*property], BTreeSet::new());
            let mut change = Self::default();
            while let Some(next) = open.pop() {
                if !seen.insert(next) {
                    continue;
                }
                let mut adverts = adverts_of[&next].clone();
                adverts.sort_unstable();
                change.properties.insert(next, adverts);
                for number in &groups_of[&next] {
                    if numbers.insert(*number) {
                        let adverts = groups[*number].iter();
                        open.extend(adverts.filter_map(|advert| properties.get(advert)));
                    }
                }
            }
            if numbers.len() > 1 || change.properties.len() > 1 {
                let groups = numbers.into_iter().map(|number| {
                    let adverts = groups[number].iter().copied();
                    adverts
                        .filter(|advert| properties.contains_key(advert))
                        .collect()
                });
                change.groups = groups.collect();
                changes.push(change);
            }
        }
        changes
    }

    /// Returns whether whole properties become one.
    fn only_merges(&self) -> bool {
        self.groups.len() == 1
    }

    /// Returns the group in which each property continues: the group with most of its adverts; on a tie, the group of
    /// its first advert.
    fn successors(&self) -> BTreeMap<i64, usize> {
        let successor = |adverts: &[i64]| {
            let shares = self.groups.iter().enumerate().map(|(number, group)| {
                let shared = adverts.iter().filter(|advert| group.contains(advert));
                let first = adverts.iter().position(|advert| group.contains(advert));
                (shared.count(), std::cmp::Reverse(first), number)
            });
            shares.max().map(|(_, _, number)| number)
        };
        let properties = self.properties.iter();
        properties
            .filter_map(|(property, adverts)| Some((*property, successor(adverts)?)))
            .collect()
    }

    /// Returns the property whose identifier each group keeps: of those that continue in it, the one with most adverts
    /// there, or the oldest on a tie; `None` for a group that needs a new identifier.
    fn homes(&self, successors: &BTreeMap<i64, usize>) -> Vec<Option<i64>> {
        let home = |(number, group): (usize, &Vec<i64>)| {
            let going_on = successors
                .iter()
                .filter(|(_, successor)| **successor == number);
            going_on
                .map(|(property, _)| {
                    let adverts = self.properties[property].iter();
                    let shared = adverts.filter(|advert| group.contains(advert)).count();
                    (shared, std::cmp::Reverse(*property))
                })
                .max()
                .map(|(_, property)| property.0)
        };
        self.groups.iter().enumerate().map(home).collect()
    }

    /// Returns the change without writing it.
    fn planned(&self, connection: &Connection) -> Result<Option<WrittenChange>> {
        let homes = self.homes(&self.successors());
        WrittenChange::of(connection, self, &homes).map(Some)
    }

    /// Writes the change; `None` if one of its properties no longer has the same adverts.
    fn write(&self, tables: &mut ListingsWriter<'_>) -> Result<Option<WrittenChange>> {
        let connection = tables.connection();
        for (property, adverts) in &self.properties {
            if rows::adverts_of(connection, *property)? != *adverts {
                return Ok(None);
            }
        }
        let successors = self.successors();
        let homes = self.homes(&successors);
        let mut written = WrittenChange::of(connection, self, &homes)?;
        let mut homes = homes;
        for (property, successor) in &successors {
            for (number, group) in self.groups.iter().enumerate() {
                let members = rows::members(connection, *property)?;
                let leaving = members
                    .into_iter()
                    .filter(|(advert, _)| group.contains(advert));
                let leaving: Vec<_> = leaving.collect();
                if number == *successor || leaving.is_empty() {
                    continue;
                }
                match homes[number] {
                    Some(home) => tables.move_members(&leaving, *property, home)?,
                    None => {
                        let id = tables.found(*property, &leaving)?;
                        homes[number] = Some(rows::property_number(connection, id)?);
                        written.change.after[number].property_flx_id = Some(id);
                    }
                }
            }
        }
        for (property, successor) in &successors {
            if let Some(home) = homes[*successor].filter(|home| home != property) {
                tables.redirect(*property, home)?;
            }
        }
        let trigger = if self.only_merges() {
            PropertyTrigger::AdvertJoined
        } else {
            PropertyTrigger::AdvertChanged
        };
        for home in homes.into_iter().flatten() {
            tables.rebuild(home, trigger)?;
        }
        Ok(Some(written))
    }
}

/// A change with its counts.
struct WrittenChange {
    change: RebuildChange,
    split: u64,
    merged: u64,
    new: u64,
    moved: u64,
}

impl WrittenChange {
    fn of(connection: &Connection, change: &Change, homes: &[Option<i64>]) -> Result<Self> {
        let ids = |adverts: &[i64]| {
            let ids = adverts
                .iter()
                .map(|advert| rows::advert_id(connection, *advert));
            ids.collect::<rusqlite::Result<Vec<FlxId>>>()
        };
        let before = change.properties.iter().map(|(property, adverts)| {
            Ok(PropertyAdverts {
                property_flx_id: Some(rows::property_id(connection, *property)?),
                adverts: ids(adverts)?,
            })
        });
        let after = change.groups.iter().zip(homes).map(|(adverts, home)| {
            let id = home.map(|home| rows::property_id(connection, home));
            Ok(PropertyAdverts {
                property_flx_id: id.transpose()?,
                adverts: ids(adverts)?,
            })
        });
        let is_split = |adverts: &&Vec<i64>| {
            let shares = |group: &&Vec<i64>| group.iter().any(|advert| adverts.contains(advert));
            change.groups.iter().filter(shares).count() > 1
        };
        let kept = homes.iter().flatten().count();
        let stays = change.groups.iter().zip(homes).map(|(group, home)| {
            let adverts = home.and_then(|home| change.properties.get(&home));
            let stays = |advert: &&i64| adverts.is_some_and(|adverts| adverts.contains(advert));
            group.iter().filter(stays).count()
        });
        let adverts: usize = change.groups.iter().map(Vec::len).sum();
        Ok(Self {
            split: change.properties.values().filter(is_split).count() as u64,
            merged: (change.properties.len() - kept) as u64,
            new: (change.groups.len() - kept) as u64,
            moved: (adverts - stays.sum::<usize>()) as u64,
            change: RebuildChange {
                before: before.collect::<Result<_>>()?,
                after: after.collect::<Result<_>>()?,
            },
        })
    }
}

impl RebuildReport {
    fn add(&mut self, written: Option<WrittenChange>) {
        let Some(written) = written else {
            self.skipped += 1;
            return;
        };
        self.properties_split += written.split;
        self.properties_merged += written.merged;
        self.properties_new += written.new;
        self.adverts_moved += written.moved;
        self.changes.push(written.change);
    }
}
