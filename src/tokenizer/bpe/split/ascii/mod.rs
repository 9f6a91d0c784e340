//! Cutting text of ASCII by the patterns, in numbers of 64 bits that tell something of 64 bytes at once.

mod bits;
mod classes;
mod rules;

use classes::{Classes, SIZE};
use rules::{Before, Rules};

use crate::tokenizer::bpe::split::pattern::Pattern;

/// So many ends are written at once, whether there are as many or not.
const AT_ONCE: usize = 8;

/// Buffers for cutting text.
#[derive(Default)]
pub(super) struct Ascii {
    classes: Vec<Classes>,
    ends: Vec<u32>,
}

/// Whether text is cut here.
pub(super) fn is_ascii(pattern: Pattern, text: &str) -> bool {
    // Of control characters this pattern makes pieces otherwise.
    let is_known = |byte: &u8| *byte >= b' ' || byte.is_ascii_whitespace() || *byte == 0x0B;
    text.is_ascii() && (pattern != Pattern::DeepSeek || text.bytes().all(|byte| is_known(&byte) && byte != 0x7F))
}

impl Ascii {
    /// The ends of the pieces of a text of ASCII.
    #[inline]
    pub(super) fn ends(&mut self, pattern: Pattern, text: &str) -> &[u32] {
        match pattern {
            Pattern::Gpt2 => self.cut(const { Rules::of(Pattern::Gpt2) }, text),
            Pattern::Gpt2Digits => self.cut(const { Rules::of(Pattern::Gpt2Digits) }, text),
            Pattern::Cl100k => self.cut(const { Rules::of(Pattern::Cl100k) }, text),
            Pattern::Qwen => self.cut(const { Rules::of(Pattern::Qwen) }, text),
            Pattern::O200k => self.cut(const { Rules::of(Pattern::O200k) }, text),
            Pattern::Tekken => self.cut(const { Rules::of(Pattern::Tekken) }, text),
            Pattern::DeepSeek => self.cut(const { Rules::of(Pattern::DeepSeek) }, text),
        }
    }

    #[inline(always)]
    fn cut(&mut self, rules: Rules, text: &str) -> &[u32] {
        let (bytes, has_case) = (text.as_bytes(), rules.has_case());
        let (blocks, rest) = bytes.as_chunks::<SIZE>();
        self.classes.clear();
        self.classes.extend(blocks.iter().map(|block| Classes::of(block, SIZE, has_case)));
        if !rest.is_empty() {
            let mut block = [0; SIZE];
            block[..rest.len()].copy_from_slice(rest);
            self.classes.push(Classes::of(&block, rest.len(), has_case));
        }
        let most = bytes.len() + SIZE + AT_ONCE;
        if self.ends.len() < most {
            self.ends.resize(most, 0);
        }
        let mut before = Before::default();
        let mut count = 0;
        for (at, classes) in self.classes.iter().enumerate() {
            let next = self.classes.get(at + 1);
            let mut starts = rules.starts(bytes, at * SIZE, classes, next, &mut before);
            // Where the first piece starts, none ends.
            starts &= !u64::from(at == 0);
            let found = starts.count_ones() as usize;
            let mut written = count;
            while starts != 0 {
                for end in &mut self.ends[written..written + AT_ONCE] {
                    // A number that is certainly not zero takes one step where the processor has `tzcnt`, not eight.
                    *end = (at * SIZE) as u32 + (starts | 1 << (SIZE - 1)).trailing_zeros();
                    starts &= starts.wrapping_sub(1);
                }
                written += AT_ONCE;
            }
            count += found;
        }
        self.ends[count] = bytes.len() as u32;
        &self.ends[..count + usize::from(!bytes.is_empty())]
    }
}
