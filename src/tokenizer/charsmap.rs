//! Whether a normalizer's character map is whole: the libraries allocate the length that it declares, and follow its trie wherever
//! that leads.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde_json::Value;

use crate::error::{At, ErrorKind, Result};

/// Rejects a damaged `precompiled_charsmap`, in a normalizer or in a sequence of them.
pub(crate) fn check(normalizer: &Value) -> Result<()> {
    for inner in normalizer["normalizers"].as_array().into_iter().flatten() {
        check(inner)?;
    }
    let Some(what) = normalizer["precompiled_charsmap"].as_str().and_then(fault) else { return Ok(()) };
    Err(ErrorKind::UnsupportedTokenizer(format!("{what}; the file is damaged"))).at("precompiled_charsmap")
}

/// What is wrong with a map. It begins with the number of bytes of a trie, which follows, and then the replacements.
fn fault(charsmap: &str) -> Option<String> {
    let Ok(bytes) = STANDARD.decode(charsmap).or_else(|_| STANDARD_NO_PAD.decode(charsmap)) else {
        return Some("it is not base64".into());
    };
    let Some((length, rest)) = bytes.split_first_chunk() else {
        return Some(format!("it has {} bytes, too few for a character map", bytes.len()));
    };
    let length = u32::from_le_bytes(*length) as usize;
    if length > rest.len() {
        return Some(format!("it declares {length} bytes, but {} follow", rest.len()));
    }
    let (trie, replacements) = rest.split_at(length / 4 * 4);
    let Ok(replacements) = std::str::from_utf8(replacements) else {
        return Some("its replacements are not UTF-8".into());
    };
    let trie: Vec<u32> = trie.as_chunks().0.iter().map(|unit| u32::from_le_bytes(*unit)).collect();
    leads_outside(&trie, replacements).then(|| "its trie leads outside of it".into())
}

/// Whether some text leads outside of a trie or of its replacements. It is a double array, as `spm_precompiled` reads it.
fn leads_outside(trie: &[u32], replacements: &str) -> bool {
    let offset = |unit: u32| ((unit >> 10) << ((unit & 1 << 9) >> 6)) as usize;
    let label = |unit: u32| unit & (1 << 31 | 0xFF);
    let is_end = |unit: u32| unit & 1 << 8 != 0;
    let mut is_seen = vec![false; trie.len()];
    let mut next = vec![0];
    while let Some(at) = next.pop() {
        let Some(&unit) = trie.get(at) else { return true };
        // What follows are 256 places: one for the replacement, the others for each byte.
        let following = at ^ offset(unit);
        if following | 0xFF >= trie.len() {
            return true;
        }
        let replacement = (trie[following] & !(1 << 31)) as usize;
        if is_end(unit) && !replacements.is_char_boundary(replacement) {
            return true;
        }
        for byte in 1..=0xFF_u32 {
            let place = following ^ byte as usize;
            if label(trie[place]) == byte && !std::mem::replace(&mut is_seen[place], true) {
                next.push(place);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use tokenizers_classic::normalizers::Precompiled;

    use super::*;

    /// A map whose trie has one key, `a`, and the place of its replacement.
    fn map(place: u32, replacements: &[u8]) -> Vec<u8> {
        let mut trie = [0_u32; 512];
        let (key, end) = (256 ^ 97, 384);
        trie[0] = 256 << 10;
        trie[key as usize] = 97 | 1 << 8 | (key ^ end) << 10;
        trie[end as usize] = 1 << 31 | place;
        of(&trie, replacements)
    }

    fn of(trie: &[u32], replacements: &[u8]) -> Vec<u8> {
        let length = 4 * trie.len() as u32;
        let units = trie.iter().flat_map(|unit| unit.to_le_bytes());
        length.to_le_bytes().into_iter().chain(units).chain(replacements.iter().copied()).collect()
    }

    #[test]
    fn a_whole_map_is_read() {
        let bytes = map(2, "b\0é\0".as_bytes());
        assert_eq!(fault(&STANDARD.encode(&bytes)), None);
        let read = Precompiled::from(&bytes).expect("it is whole");
        assert_eq!((read.transform("a"), read.transform("b")), (Some("é"), None));
    }

    #[test]
    fn a_damaged_map_is_not() {
        let outside = Some("its trie leads outside of it");
        for (bytes, expected) in [
            (map(5, "b\0é\0".as_bytes()), None),
            (map(6, "b\0é\0".as_bytes()), outside),
            (map(3, "b\0é\0".as_bytes()), outside),
            (map(0, b"\xFF\0"), Some("its replacements are not UTF-8")),
            (of(&[512 << 10; 512], b"b\0"), outside),
            (of(&[], b"b\0"), outside),
            (vec![0; 3], Some("it has 3 bytes, too few for a character map")),
            (vec![5, 0, 0, 0, 1], Some("it declares 5 bytes, but 1 follow")),
        ] {
            assert_eq!(fault(&STANDARD.encode(&bytes)).as_deref(), expected, "{bytes:?}");
        }
        assert_eq!(fault("#").as_deref(), Some("it is not base64"));
    }
}
