//! The decimal digits of token ids, from tables of three digits: dividing digit by digit takes as long as encoding does.

use crate::sink::json::write_numbers;
use crate::tokenizer::TokenId;

/// How many numbers a table has.
const THOUSAND: usize = 1000;

/// How many bytes a comma and six digits take, rounded up to a word.
const WORD: usize = 8;

/// The thousands of a number, nothing for none.
static THOUSANDS: [u32; THOUSAND] = table(0);

/// The rest of a number without thousands, and of one with them.
static REST: [[u32; THOUSAND]; 2] = [table(1), table(3)];

/// The digits of all numbers below a thousand, at least this many of each.
const fn table(fewest: u32) -> [u32; THOUSAND] {
    let mut table = [0; THOUSAND];
    let mut number = 0;
    while number < THOUSAND {
        table[number] = digits(number as u32, fewest);
        number += 1;
    }
    table
}

/// The digits as bytes, the first one lowest, and their count in the highest byte.
const fn digits(number: u32, fewest: u32) -> u32 {
    let (mut rest, mut count, mut bytes) = (number, 0, 0);
    while rest > 0 || count < fewest {
        bytes = (bytes << 8) | (b'0' as u32 + rest % 10);
        rest /= 10;
        count += 1;
    }
    bytes | (count << 24)
}

/// Appends a JSON list of ids.
///
/// ```
/// let mut out = Vec::new();
/// metatok::sink::write_ids(&[151_644, 0, 70], &mut out);
/// assert_eq!(out, b"[151644,0,70]");
/// ```
pub fn write_ids(ids: &[TokenId], out: &mut Vec<u8>) {
    let is_large = |id: &TokenId| *id as usize >= THOUSAND * THOUSAND;
    if ids.is_empty() || ids.iter().any(is_large) {
        return write_numbers(ids.iter().copied(), out);
    }
    let start = out.len();
    let mut end = start;
    out.resize(start + WORD * ids.len(), 0);
    for &id in ids {
        let (thousands, rest) = (id as usize / THOUSAND, id as usize % THOUSAND);
        let (first, last) = (u64::from(THOUSANDS[thousands]), u64::from(REST[usize::from(thousands > 0)][rest]));
        let (first_digits, last_digits) = (first >> 24, last >> 24);
        let (first, last) = (first & 0xff_ffff, last & 0xff_ffff);
        let word = u64::from(b',') | (first << 8) | (last << (8 + 8 * first_digits));
        out[end..end + WORD].copy_from_slice(&word.to_le_bytes());
        end += (1 + first_digits + last_digits) as usize;
    }
    out.truncate(end);
    out[start] = b'[';
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_json_writes_them() {
        let edges = [1, 10, 100, 1_000, 10_000, 100_000].map(|edge| [edge - 1, edge, edge + 1]);
        let many: Vec<TokenId> = (0..1_000_000).step_by(37).collect();
        let lists: [&[TokenId]; 7] = [&[], &[0], &[999_999], &[1_000_000], &[TokenId::MAX, 5], &edges.concat(), &many];
        for ids in lists {
            let mut out = b"before".to_vec();
            write_ids(ids, &mut out);
            let json = serde_json::to_string(ids).expect("numbers are JSON");
            assert_eq!(String::from_utf8_lossy(&out), format!("before{json}"));
        }
    }
}
