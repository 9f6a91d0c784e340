//! A place of its own for each of some known keys: what is looked for is there, or nowhere.
//!
//! Keys are in groups by their hashes. Each group has a number, its pilot, found by trial, with which the hashes of its
//! keys lead to places that no other key has.

use crate::tokenizer::compiled::{BlockReader, BlockWriter};

/// How often more places are tried. Hashes that are equal have no places at all.
const TRIES: usize = 8;

/// The places of some keys, by their hashes.
pub(crate) struct Places {
    /// By group, a power of two.
    pilots: Vec<u8>,
    count: usize,
}

impl Places {
    /// None if there are two hashes alike.
    pub(crate) fn new(hashes: &[u64]) -> Option<Self> {
        let groups = (hashes.len() / 3).next_power_of_two();
        let group = |hash: u64| hash as usize & (groups - 1);
        // The hashes of each group, one group after the other.
        let mut ends = vec![0; groups + 1];
        hashes.iter().for_each(|hash| ends[group(*hash) + 1] += 1);
        for at in 0..groups {
            ends[at + 1] += ends[at];
        }
        let mut grouped = vec![0; hashes.len()];
        let mut next = ends.clone();
        for hash in hashes {
            let at = &mut next[group(*hash)];
            grouped[*at] = *hash;
            *at += 1;
        }
        // Large groups first: as long as most places are free.
        let mut order: Vec<usize> = (0..groups).filter(|group| ends[*group] < ends[group + 1]).collect();
        order.sort_by_key(|group| std::cmp::Reverse(ends[group + 1] - ends[*group]));
        (1..=TRIES).find_map(|more| {
            // A few keys need more room than many.
            let count = hashes.len() + (hashes.len() / 8 + 16) * more;
            let mut this = Self { pilots: vec![0; groups], count };
            let mut taken = vec![false; count];
            for group in &order {
                let hashes = &grouped[ends[*group]..ends[group + 1]];
                this.pilots[*group] = (0..=u8::MAX).find(|pilot| this.takes(hashes, *pilot, &mut taken))?;
            }
            Some(this)
        })
    }

    /// Takes the places to which this pilot leads, if all are free.
    fn takes(&self, hashes: &[u64], pilot: u8, taken: &mut [bool]) -> bool {
        for (count, hash) in hashes.iter().enumerate() {
            if std::mem::replace(&mut taken[self.place(*hash, pilot)], true) {
                hashes[..count].iter().for_each(|hash| taken[self.place(*hash, pilot)] = false);
                return false;
            }
        }
        true
    }

    /// How many places there are: a few more than keys.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The place of a key with this hash and the pilot of its group.
    #[inline(always)]
    fn place(&self, hash: u64, pilot: u8) -> usize {
        // A product alone keeps hashes that are nearly alike near each other, whatever the pilot.
        let mixed = hash.rotate_left(u32::from(pilot)).wrapping_mul(2 * u64::from(pilot) + 1);
        ((u128::from(mixed) * self.count as u128) >> u64::BITS) as usize
    }

    /// The group of a key with this hash.
    #[inline(always)]
    fn group(&self, hash: u64) -> usize {
        hash as usize & (self.pilots.len() - 1)
    }

    /// Where the key with this hash is, if it is one of those that are known.
    #[inline(always)]
    pub(crate) fn of(&self, hash: u64) -> usize {
        self.place(hash, self.pilots[self.group(hash)])
    }

    /// What [`Self::read`] reads.
    pub(crate) fn write(&self, blocks: &mut BlockWriter) {
        blocks.u64s(&[self.count as u64]);
        blocks.bytes(&self.pilots);
    }

    /// What [`Self::write`] wrote.
    pub(crate) fn read(blocks: &mut BlockReader<'_>) -> Option<Self> {
        let (counts, pilots) = (blocks.u64s()?, blocks.bytes()?.to_vec());
        let &[count] = counts.as_slice() else { return None };
        let count = usize::try_from(count).ok().filter(|count| (1..1 << 32).contains(count))?;
        pilots.len().is_power_of_two().then_some(Self { pilots, count })
    }
}

/// A hash of 128 bits.
#[inline(always)]
pub(crate) fn hash(low: u64, high: u64) -> u64 {
    let product = u128::from(low ^ 0x243F_6A88_85A3_08D3) * u128::from(high ^ 0x1319_8A2E_0370_7344);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_a_place_of_its_own() {
        for count in [0, 1, 2, 3, 100, 50_000] {
            let hashes: Vec<u64> = (0..count).map(|key| hash(key, 7)).collect();
            let places = Places::new(&hashes).expect("no hash comes twice");
            let mut found: Vec<usize> = hashes.iter().map(|hash| places.of(*hash)).collect();
            found.sort_unstable();
            found.dedup();
            assert_eq!(found.len() as u64, count);
            assert!(found.last().is_none_or(|place| *place < places.count()));
        }
        assert!(Places::new(&[1, 2, 1]).is_none());
    }

    #[test]
    fn hashes_that_are_nearly_alike_have_places_of_their_own() {
        for high in (0..1_000).map(|key| hash(key, 7) & !0xFFFF) {
            // The distance grows from the lowest bits, which are the group, to the highest ones.
            for bit in 0..u64::BITS {
                assert!(Places::new(&[high, high ^ 1 << bit]).is_some(), "{high:x}, {bit}");
                assert!(Places::new(&[high, high.wrapping_add(1 << bit)]).is_some(), "{high:x}, {bit}");
            }
        }
    }
}
