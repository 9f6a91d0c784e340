//! A table in large pages of memory, where the system has them: of small ones, a large table has more than the
//! processor knows the places of, and each look into it would be two.

use std::alloc::{Layout, handle_alloc_error};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use memmap2::{MmapMut, MmapOptions};

/// The bytes of a large page of x86 and ARM.
const LARGE: usize = 2 << 20;

/// Entries that are zeros at first.
pub(crate) struct LargePages<T> {
    memory: MmapMut,
    /// Where the first large page begins.
    start: usize,
    bytes: usize,
    of: PhantomData<T>,
}

impl<T: Pod> LargePages<T> {
    /// This many entries.
    pub(crate) fn zeroed(count: usize) -> Self {
        let layout = Layout::array::<T>(count).expect("tables have fewer bytes than there can be");
        let bytes = layout.size();
        // So that the first entry can be where a large page begins.
        let spare = if bytes < LARGE { 0 } else { LARGE };
        // No mapping is empty. Without memory, this ends as it does for all else that needs some.
        let memory = MmapOptions::new().len((spare + bytes).max(1)).map_anon();
        let memory = memory.unwrap_or_else(|_| handle_alloc_error(layout));
        let start = memory.as_ptr().align_offset(LARGE).min(spare);
        // A system that has none says so, and small ones do as well.
        #[cfg(target_os = "linux")]
        if bytes >= LARGE {
            let _ = memory.advise_range(memmap2::Advice::HugePage, start, bytes);
        }
        Self { memory, start, bytes, of: PhantomData }
    }
}

impl<T: Pod> Deref for LargePages<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        bytemuck::cast_slice(&self.memory[self.start..self.start + self.bytes])
    }
}

impl<T: Pod> DerefMut for LargePages<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.memory[self.start..self.start + self.bytes])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_zeros_until_they_are_written() {
        for count in [0, 1, 1000, LARGE / 8 - 1, LARGE / 8, LARGE / 2 + 1] {
            let mut table: LargePages<u64> = LargePages::zeroed(count);
            assert_eq!((table.len(), table.iter().all(|entry| *entry == 0)), (count, true));
            table.iter_mut().zip(1..).for_each(|(entry, number)| *entry = number);
            assert!(table.iter().copied().eq(1..=count as u64));
        }
    }

    #[test]
    fn a_large_table_begins_with_a_large_page() {
        let table: LargePages<u64> = LargePages::zeroed(LARGE);
        assert_eq!(table.as_ptr().align_offset(LARGE), 0);
    }
}
