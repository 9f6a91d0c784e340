//! Characters that are of another kind since the version of Unicode by which the reference cuts text.
//!
//! Text with such a character is cut as if another one stood there, of as many bytes and of the kind that the reference
//! sees.

/// They have been assigned since, and nothing is known of them before.
const UNASSIGNED: [(u32, u32); 47] = [
    (0x088F, 0x088F),
    (0x0C5C, 0x0C5C),
    (0x0CDC, 0x0CDC),
    (0x1ACF, 0x1ADD),
    (0x1AE0, 0x1AEB),
    (0x20C1, 0x20C1),
    (0x2B96, 0x2B96),
    (0xA7CE, 0xA7CF),
    (0xA7D2, 0xA7D2),
    (0xA7D4, 0xA7D4),
    (0xA7F1, 0xA7F1),
    (0xFBC3, 0xFBD2),
    (0xFD90, 0xFD91),
    (0xFDC8, 0xFDCE),
    (0x10940, 0x10959),
    (0x10EC5, 0x10EC7),
    (0x10ED0, 0x10ED8),
    (0x10EFA, 0x10EFB),
    (0x11B60, 0x11B67),
    (0x11DB0, 0x11DDB),
    (0x11DE0, 0x11DE9),
    (0x16EA0, 0x16EB8),
    (0x16EBB, 0x16ED3),
    (0x16FF2, 0x16FF6),
    (0x187F8, 0x187FF),
    (0x18D09, 0x18D1E),
    (0x18D80, 0x18DF2),
    (0x1CCFA, 0x1CCFC),
    (0x1CEBA, 0x1CED0),
    (0x1CEE0, 0x1CEF0),
    (0x1E6C0, 0x1E6DE),
    (0x1E6E0, 0x1E6F5),
    (0x1E6FE, 0x1E6FF),
    (0x1F6D8, 0x1F6D8),
    (0x1F777, 0x1F77A),
    (0x1F8D0, 0x1F8D8),
    (0x1FA54, 0x1FA57),
    (0x1FA8A, 0x1FA8A),
    (0x1FA8E, 0x1FA8E),
    (0x1FAC8, 0x1FAC8),
    (0x1FACD, 0x1FACD),
    (0x1FAEA, 0x1FAEA),
    (0x1FAEF, 0x1FAEF),
    (0x1FBFA, 0x1FBFA),
    (0x2B73A, 0x2B73F),
    (0x2CEA2, 0x2CEAD),
    (0x323B0, 0x33479),
];
/// It was a small letter, and has no case now.
const PHARYNGEAL_FRICATIVE: char = 'ʕ';
/// A small s, of which patterns that ignore case make `'s`, which the scanner does not know.
pub(super) const LONG_S: char = 'ſ';

/// Whether each block of 256 characters has one of these.
const BLOCKS: [bool; 0x1100] = {
    let mut blocks = [false; 0x1100];
    blocks[PHARYNGEAL_FRICATIVE as usize >> 8] = true;
    blocks[LONG_S as usize >> 8] = true;
    let mut at = 0;
    while at < UNASSIGNED.len() {
        let (first, last) = UNASSIGNED[at];
        let mut block = first >> 8;
        while block <= last >> 8 {
            blocks[block as usize] = true;
            block += 1;
        }
        at += 1;
    }
    blocks
};

/// A character of the same length whose class today is the one that the reference gives this character; none if the class is
/// the same.
fn stand_in(c: char, before: Option<char>, has_long_s: bool) -> Option<&'static str> {
    if !BLOCKS[c as usize >> 8] {
        return None;
    }
    match c {
        PHARYNGEAL_FRICATIVE => Some("ß"),
        // Another contraction of as many bytes.
        LONG_S => (has_long_s && before == Some('\'')).then_some("re"),
        _ => {
            let c = c as u32;
            let is_unassigned = UNASSIGNED.iter().any(|(first, last)| (*first..=*last).contains(&c));
            is_unassigned.then_some(if c < 0x10000 { "\u{ffff}" } else { "\u{10ffff}" })
        }
    }
}

/// Puts a text with stand-ins into `respelled`; false if it needs none. `has_long_s` tells whether `'ſ` is a contraction.
pub(super) fn respell(text: &str, has_long_s: bool, respelled: &mut String) -> bool {
    if text.is_ascii() {
        return false;
    }
    let mut before = None;
    let mut stand_ins = text.char_indices().filter_map(|(at, c)| {
        let found = stand_in(c, before.replace(c), has_long_s);
        found.map(|found| (at, found))
    });
    let Some(first) = stand_ins.next() else { return false };
    respelled.clear();
    for (at, found) in [first].into_iter().chain(stand_ins) {
        respelled.push_str(&text[respelled.len()..at]);
        respelled.push_str(found);
    }
    respelled.push_str(&text[respelled.len()..]);
    true
}
