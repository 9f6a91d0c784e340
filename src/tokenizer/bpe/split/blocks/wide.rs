//! Characters of several bytes: each of these bytes is put into the character's class.

use crate::tokenizer::bpe::split::blocks::classes::{Classes, Told};
use crate::tokenizer::bpe::split::blocks::kinds::{Kind, is_han, is_of_script, kind_of, row_of};
use crate::tokenizer::bpe::split::blocks::simd::SIZE;

/// Puts all of them into classes.
#[inline(always)]
pub(super) fn add_wide(classes: &mut [Classes], text: &[u8], told: Told) {
    // Above the lowest 64 bits is what reaches into the next block.
    let [mut letters, mut capitals, mut caseless, mut others, mut digits, mut white] = [0_u128; 6];
    let [mut script_letters, mut script_signs] = [0_u128; 2];
    let mut last_apostrophes = 0;
    for (block, classes) in classes.iter_mut().enumerate() {
        let apostrophes = u128::from(classes.apostrophes) << SIZE | last_apostrophes;
        last_apostrophes = apostrophes >> SIZE;
        // Nothing reaches into it either: that would be inner bytes.
        if classes.leads | classes.inner == 0 {
            continue;
        }
        // There may be a contraction before these bytes.
        let behind_contraction = (apostrophes >> (SIZE - 2) | apostrophes >> (SIZE - 3)) as u64;
        let [of_two, of_three] = [classes.letters_of_two, classes.letters_of_three].map(u128::from);
        letters |= of_two | of_two << 1;
        let of_three = of_three | of_three << 1 | of_three << 2;
        if told.scripts || told.han {
            script_letters |= of_three;
        } else {
            letters |= of_three;
        }
        if told.case && !told.han {
            caseless |= of_three;
            // What is after a contraction is after a small letter, and another word.
            classes.unknown |= classes.letters_of_three & behind_contraction;
        }
        let mut leads = classes.leads & !(classes.letters_of_two | classes.letters_of_three);
        while leads != 0 {
            let at = leads.trailing_zeros() as usize;
            leads &= leads - 1;
            let bytes = &text[block * SIZE + at..];
            let low = |at: usize| usize::from(bytes[at] & 0x3F);
            let (row, last, length) = match bytes[0] {
                lead @ ..0xE0 => (usize::from(lead & 0x1F), low(1), 2),
                lead @ ..0xF0 => (usize::from(lead & 0x0F) << 6 | low(1), low(2), 3),
                lead => (usize::from(lead & 0x07) << 12 | low(1) << 6 | low(2), low(3), 4),
            };
            let all = ((1_u128 << length) - 1) << at;
            let of = row_of(row);
            let has = |bits: u64| bits >> last & 1 == 1;
            let all_if = |bits: u64| all & u128::from(bits >> last & 1).wrapping_neg();
            let (plain, letter, of_script) = match (told.scripts, told.case) {
                (true, _) => (of.plain_with_scripts, of.letters | of.marks, of.scripts),
                (false, true) => (of.plain_with_case, of.letters, 0),
                (false, false) if told.marks => (of.plain, of.letters | of.marks, 0),
                (false, false) => (of.plain, of.letters, 0),
            };
            if told.han && is_han(row << 6 | last) {
                // Its digits and signs may also be of other pieces.
                script_letters |= all_if(of.letters);
                others |= all_if(!of.letters);
                classes.unknown |= all_if(!of.letters) as u64 & 1 << at;
                continue;
            }
            if has(plain) {
                letters |= all_if(letter & !of_script);
                script_letters |= all_if(of_script);
                others |= all_if(!letter);
                if told.case {
                    classes.unknown |= all_if(of.caseless) as u64 & behind_contraction & 1 << at;
                    capitals |= all_if(of.capitals);
                    caseless |= all_if(of.caseless);
                }
                continue;
            }
            match kind_of(row << 6 | last) {
                Kind::Digit if told.wide_digits => digits |= all,
                Kind::White => white |= all,
                Kind::Sign if told.scripts && is_of_script(row << 6 | last) => script_signs |= all,
                _ => {
                    classes.unknown |= 1 << at;
                    others |= all;
                }
            }
        }
        let add = |class: &mut u64, all: &mut u128| {
            *class |= *all as u64;
            *all >>= SIZE;
        };
        add(&mut classes.letters, &mut letters);
        add(&mut classes.others, &mut others);
        add(&mut classes.digits, &mut digits);
        add(&mut classes.white, &mut white);
        if told.scripts || told.han {
            add(&mut classes.script_letters, &mut script_letters);
            add(&mut classes.script_signs, &mut script_signs);
        }
        if told.case {
            add(&mut classes.capitals, &mut capitals);
            add(&mut classes.caseless, &mut caseless);
        }
    }
}
