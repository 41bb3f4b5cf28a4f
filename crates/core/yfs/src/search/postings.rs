//! Lists of units in a batch, as bytes and as sets of bits.
//!
//! A list begins with a number whose two low bits are its form. The rest of that number is the
//! first unit (`GAPS`, `ABSENT_GAPS`) or 0 (`BITS`).

use yfs_engine::lib0::{Lib0Error, Lib0Reader, write_var_uint};

/// The units that are in the list, as differences less one.
const GAPS: u64 = 0;
/// One bit for each unit, the least significant first; zeros at the end are left out.
const BITS: u64 = 1;
/// The units that are not in the list, as `GAPS`.
const ABSENT_GAPS: u64 = 2;
/// All units.
const ALL: u64 = 3;

/// A set of units of one batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnitSet {
    words: Vec<u64>,
    n_units: u32,
}

impl UnitSet {
    pub(super) fn empty(n_units: u32) -> Self {
        Self { words: vec![0; n_units.div_ceil(64) as usize], n_units }
    }

    pub(super) fn full(n_units: u32) -> Self {
        let mut set = Self::empty(n_units);
        set.invert();
        set
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    pub(super) fn intersect(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word &= other);
    }

    pub(super) fn unite(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
    }

    /// Returns the units in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().zip(0_u32..).flat_map(|(word, at)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros();
                (rest != 0).then(|| {
                    rest &= rest - 1;
                    at * 64 + bit
                })
            })
        })
    }

    fn insert(&mut self, unit: u64) -> Result<(), Lib0Error> {
        let word = usize::try_from(unit / 64).ok().and_then(|at| self.words.get_mut(at));
        let word = word.filter(|_| unit < u64::from(self.n_units)).ok_or(Lib0Error::End)?;
        *word |= 1 << (unit % 64);
        Ok(())
    }

    fn invert(&mut self) {
        self.words.iter_mut().for_each(|word| *word = !*word);
        if let (Some(last), rest @ 1..) = (self.words.last_mut(), self.n_units % 64) {
            *last &= (1 << rest) - 1;
        }
    }

    /// Reads a list.
    pub(super) fn read(bytes: &[u8], n_units: u32) -> Result<Self, Lib0Error> {
        let mut set = Self::empty(n_units);
        let mut reader = Lib0Reader::new(bytes);
        let first = reader.var_uint()?;
        let mut unit = first >> 2;
        match first & 3 {
            form @ (GAPS | ABSENT_GAPS) => {
                set.insert(unit)?;
                while !reader.is_empty() {
                    unit = unit.checked_add(reader.var_uint()?).ok_or(Lib0Error::End)?;
                    unit = unit.checked_add(1).ok_or(Lib0Error::End)?;
                    set.insert(unit)?;
                }
                if form == ABSENT_GAPS {
                    set.invert();
                }
            }
            BITS => {
                let mut at = 0;
                while !reader.is_empty() {
                    let bits = reader.u8()?;
                    (0..8)
                        .filter(|bit| bits >> bit & 1 == 1)
                        .try_for_each(|n| set.insert(at + n))?;
                    at += 8;
                }
            }
            _ => set.invert(),
        }
        Ok(set)
    }
}

/// Writes a list of units in ascending order, in the shortest form.
pub(super) fn write_list(units: &[u32], n_units: u32) -> Vec<u8> {
    let n_absent = n_units as usize - units.len();
    if n_absent == 0 {
        return vec![ALL as u8];
    }
    if units.len() <= n_absent / 8 {
        return write_gaps(units.iter().copied(), GAPS);
    }
    let mut set = UnitSet::empty(n_units);
    for unit in units {
        set.words[*unit as usize / 64] |= 1 << (unit % 64);
    }
    if n_absent <= units.len() / 8 {
        set.invert();
        return write_gaps(set.iter(), ABSENT_GAPS);
    }
    let gaps = write_gaps(units.iter().copied(), GAPS);
    let mut bits = vec![BITS as u8];
    bits.extend(set.words.iter().flat_map(|word| word.to_le_bytes()));
    bits.truncate(bits.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1));
    if gaps.len() <= bits.len() { gaps } else { bits }
}

fn write_gaps(units: impl Iterator<Item = u32>, form: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut before = None;
    for unit in units {
        match before {
            None => write_var_uint(&mut bytes, u64::from(unit) << 2 | form),
            Some(before) => write_var_uint(&mut bytes, u64::from(unit - before - 1)),
        }
        before = Some(unit);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};

    use super::*;

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for round in 0..2_000 {
            let n_units = rng.random_range(1..300);
            let percent = [1, 5, 20, 50, 95, 100][round % 6];
            let mut units: Vec<u32> =
                (0..n_units).filter(|_| rng.random_range(0..100) < percent).collect();
            if units.is_empty() {
                units.push(n_units - 1);
            }
            let bytes = write_list(&units, n_units);
            let read = UnitSet::read(&bytes, n_units).expect("a list");
            assert_eq!(read.iter().collect::<Vec<_>>(), units);
            // Other bytes and other numbers of units neither panic nor go beyond them.
            let mut other = bytes.clone();
            let at = rng.random_range(0..other.len());
            other[at] ^= 1 << rng.random_range(0..8);
            for (bytes, n_units) in [(&other[..], n_units), (&bytes[..], n_units / 2)] {
                if let Ok(set) = UnitSet::read(bytes, n_units) {
                    assert!(set.iter().all(|unit| unit < n_units));
                }
            }
        }
    }
}
