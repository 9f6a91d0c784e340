//! Finds runs of bytes in masks of 64 bits, one bit for each byte: where they end, and where groups of digits start.
//!
//! Adding a mark to the mask of a class carries the mark to the byte after its run.

/// Where groups of digits start.
#[inline]
pub(super) fn digit_groups(digits: u64, was_digit: u64, most: u32, begun: &mut u32) -> u64 {
    let open = std::mem::take(begun);
    if digits == 0 {
        return 0;
    }
    let mut starts = digits & !was_digit;
    // A group that began before goes on, and the next one starts once it is full.
    let missing = if open == 0 { 0 } else { most - open };
    if was_digit & digits & 1 != 0 && (digits.trailing_ones()) > missing {
        starts |= 1 << missing;
    }
    let mut full = digits;
    for before in 1..most {
        full &= digits << before;
    }
    let mut groups = starts;
    while starts != 0 {
        starts = starts << most & full & digits;
        groups |= starts;
    }
    if digits >> 63 == 1 {
        *begun = (groups.leading_zeros() + 1) % most;
    }
    groups
}

/// The bytes after the runs of a class that have a mark, one in each.
#[inline]
pub(super) fn ends_of(marks: impl Into<u128>, class: impl Into<u128>) -> u128 {
    let class = class.into();
    (marks.into() + class) & !class
}

/// Marks without those after another one in the same run of a class.
#[inline]
pub(super) fn first_of_runs(marks: u64, class: u64) -> u64 {
    let (mut first, mut left) = (0, marks);
    while left != 0 {
        let at = left.trailing_zeros();
        first |= 1 << at;
        let run = (class >> at).trailing_ones();
        left &= u64::MAX.checked_shl(at + run).unwrap_or(0);
    }
    first
}
