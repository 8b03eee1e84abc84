//! Sets of small numbers, one bit each: what texts find. Two sets over two million numbers meet in ten microseconds;
//! putting a million numbers into one takes a millisecond.

/// A set of numbers below a bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Set(Vec<u64>);

impl Set {
    /// Room for the numbers below `bound`, and none of them.
    pub fn empty(bound: usize) -> Self {
        Self(vec![0; bound.div_ceil(64)])
    }

    /// Takes in a number below the bound.
    pub fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    /// Whether a number, any, is in it.
    pub fn contains(&self, number: usize) -> bool {
        let word = self.0.get(number / 64);
        word.is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Leaves what is in the other set too. Both have the same bound.
    pub fn keep(&mut self, other: &Self) {
        let words = self.0.iter_mut().zip(&other.0);
        words.for_each(|(own, other)| *own &= other);
    }

    /// Takes in what is in the other set. Both have the same bound.
    pub fn add(&mut self, other: &Self) {
        self.add_from(0, other);
    }

    /// Takes in what is in the other set, each number greater by `first`, a multiple of 64.
    pub fn add_from(&mut self, first: usize, other: &Self) {
        let words = self.0.iter_mut().skip(first / 64).zip(&other.0);
        words.for_each(|(own, other)| *own |= other);
    }

    /// Whether there are none. Costs little where there are many.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Visits each, in order.
    pub fn for_each(&self, mut visit: impl FnMut(usize)) {
        for (index, word) in self.0.iter().enumerate() {
            let mut bits = *word;
            while bits != 0 {
                visit(index * 64 + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }

    /// Bytes it takes.
    pub fn bytes(&self) -> usize {
        self.0.len() * size_of::<u64>()
    }
}

/// A set that knows the how many-th each of its members is, so that something may be kept for each without room for
/// all that are not in it.
#[derive(Debug)]
pub(super) struct Ranked {
    set: Set,
    /// Members before each word of the set.
    before: Vec<u32>,
    count: usize,
}

impl Ranked {
    /// Counts the members of a set.
    pub fn new(set: Set) -> Self {
        let mut count = 0;
        let before = set.0.iter().map(|word| {
            let before = count;
            count += word.count_ones();
            before
        });
        Self {
            before: before.collect(),
            set,
            count: count as usize,
        }
    }

    /// The members.
    pub fn set(&self) -> &Set {
        &self.set
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// How many members are less than a member; `None` for a number that is none.
    pub fn rank(&self, number: usize) -> Option<usize> {
        let word = self.set.0.get(number / 64)?;
        let bit = 1u64 << (number % 64);
        let less = (word & (bit - 1)).count_ones() + self.before[number / 64];
        (word & bit != 0).then_some(less as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    const BOUND: usize = 300;

    fn set(members: &BTreeSet<usize>) -> Set {
        let mut set = Set::empty(BOUND);
        members.iter().for_each(|member| set.insert(*member));
        set
    }

    fn members(set: &Set) -> BTreeSet<usize> {
        let mut members = BTreeSet::new();
        set.for_each(|member| assert!(members.insert(member)));
        members
    }

    proptest! {
        #[test]
        fn bits_are_what_a_plain_set_is(
            one in prop::collection::btree_set(0..BOUND, 0..90),
            other in prop::collection::btree_set(0..BOUND - 64, 0..90),
        ) {
            let mut both = set(&one);
            both.keep(&set(&other));
            prop_assert_eq!(members(&both), &one & &other);
            prop_assert_eq!(both.is_empty(), one.is_disjoint(&other));
            let mut any = set(&one);
            any.add(&set(&other));
            prop_assert_eq!(members(&any), &one | &other);
            let mut moved = set(&one);
            moved.add_from(64, &set(&other));
            let further = other.iter().map(|member| member + 64).collect();
            prop_assert_eq!(members(&moved), &one | &further);
            let ranked = Ranked::new(set(&one));
            prop_assert_eq!((ranked.count(), ranked.set().count()), (one.len(), one.len()));
            for number in 0..2 * BOUND {
                prop_assert_eq!(ranked.set().contains(number), one.contains(&number));
                let rank = one.contains(&number).then(|| one.range(..number).count());
                prop_assert_eq!(ranked.rank(number), rank);
            }
        }
    }
}
