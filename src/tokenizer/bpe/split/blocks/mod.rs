//! Cutting text by the patterns, in numbers of 64 bits that tell something of 64 bytes at once.

mod before;
mod bits;
mod block;
mod classes;
pub(super) mod kinds;
mod rules;
mod simd;
mod wide;

use before::Before;
use block::Block;
use classes::Classes;
use rules::Rules;
use simd::{AT_ONCE, Portable, SIZE, Simd};
use wide::add_wide;

use crate::tokenizer::bpe::split::pattern::Pattern;
use crate::tokenizer::bpe::split::variant::Variant;

/// Buffers for cutting text.
#[derive(Default)]
pub(super) struct Blocks {
    classes: Vec<Classes>,
    ends: Vec<u32>,
}

/// A text to be cut, with what the processor has.
#[cfg(target_arch = "x86_64")]
struct Cut<'a, S> {
    blocks: &'a mut Blocks,
    simd: S,
    pattern: Pattern,
    text: &'a str,
}

#[cfg(target_arch = "x86_64")]
impl<S: Simd> pulp::NullaryFnOnce for Cut<'_, S> {
    type Output = Option<usize>;

    #[inline(always)]
    fn call(self) -> Option<usize> {
        self.blocks.cut_by(self.simd, self.pattern, self.text)
    }
}

impl Blocks {
    /// The ends of the pieces of a text; none if it has characters of which nothing is known.
    #[inline]
    pub(super) fn ends(&mut self, pattern: Pattern, text: &str) -> Option<&[u32]> {
        let count = self.cut_by_any(pattern, text)?;
        Some(&self.ends[..count])
    }

    /// Writes them, and returns how many there are.
    #[inline]
    fn cut_by_any(&mut self, pattern: Pattern, text: &str) -> Option<usize> {
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V4::try_new() {
            return simd.vectorize(Cut { blocks: self, simd, pattern, text });
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            return simd.vectorize(Cut { blocks: self, simd, pattern, text });
        }
        self.cut_by(Portable, pattern, text)
    }

    #[inline(always)]
    fn cut_by(&mut self, simd: impl Simd, pattern: Pattern, text: &str) -> Option<usize> {
        match pattern {
            Pattern::Gpt2 => self.cut(simd, const { Rules::of(Pattern::Gpt2) }, text),
            Pattern::Gpt2Digits => self.cut(simd, const { Rules::of(Pattern::Gpt2Digits) }, text),
            Pattern::Cl100k(Variant::CL100K) => {
                self.cut(simd, const { Rules::of(Pattern::Cl100k(Variant::CL100K)) }, text)
            }
            Pattern::Cl100k(Variant::QWEN) => self.cut(simd, const { Rules::of(Pattern::Cl100k(Variant::QWEN)) }, text),
            Pattern::Cl100k(Variant::QWEN3_5) => {
                self.cut(simd, const { Rules::of(Pattern::Cl100k(Variant::QWEN3_5)) }, text)
            }
            Pattern::Cl100k(Variant::TIKTOKEN) => {
                self.cut(simd, const { Rules::of(Pattern::Cl100k(Variant::TIKTOKEN)) }, text)
            }
            Pattern::Cl100k(_) => self.cut(simd, Rules::of(pattern), text),
            Pattern::O200k => self.cut(simd, const { Rules::of(Pattern::O200k) }, text),
            Pattern::Tekken => self.cut(simd, const { Rules::of(Pattern::Tekken) }, text),
            Pattern::Kimi => self.cut(simd, const { Rules::of(Pattern::Kimi) }, text),
            Pattern::DeepSeek => self.cut(simd, const { Rules::of(Pattern::DeepSeek) }, text),
        }
    }

    /// Where the first character of which nothing is known is from here on, in the text that could not be cut.
    pub(super) fn unknown_from(&self, at: usize) -> Option<usize> {
        let mut classes = self.classes.iter().enumerate().skip(at / SIZE);
        classes.find_map(|(block, classes)| {
            let unknown = classes.unknown & u64::MAX << at.saturating_sub(block * SIZE);
            (unknown != 0).then(|| block * SIZE + unknown.trailing_zeros() as usize)
        })
    }

    #[inline(always)]
    fn cut(&mut self, simd: impl Simd, rules: Rules, text: &str) -> Option<usize> {
        match text.is_ascii() {
            true => self.cut_if_known(simd, rules, text, false),
            false => self.cut_if_known(simd, rules, text, true),
        }
    }

    #[inline(always)]
    fn cut_if_known(&mut self, simd: impl Simd, rules: Rules, text: &str, is_wide: bool) -> Option<usize> {
        let (bytes, told) = (text.as_bytes(), rules.told());
        let (blocks, rest) = bytes.as_chunks::<SIZE>();
        self.classes.resize(bytes.len().div_ceil(SIZE), Classes::default());
        for (classes, block) in self.classes.iter_mut().zip(blocks) {
            *classes = Classes::of(simd, block, SIZE, told, is_wide);
        }
        if let Some(last) = self.classes.get_mut(blocks.len()) {
            let mut block = [0; SIZE];
            block[..rest.len()].copy_from_slice(rest);
            *last = Classes::of(simd, &block, rest.len(), told, is_wide);
        }
        if is_wide {
            add_wide(&mut self.classes, bytes, told);
        }
        let may_be_unknown = is_wide || told.scripts;
        if may_be_unknown && self.classes.iter().any(|classes| classes.unknown != 0) {
            return None;
        }
        let most = bytes.len() + SIZE + AT_ONCE;
        if self.ends.len() < most {
            self.ends.resize(most, 0);
        }
        let mut before = Before::default();
        let mut count = 0;
        for (at, classes) in self.classes.iter().enumerate() {
            let next = self.classes.get(at + 1);
            let block = Block { text, base: at * SIZE, of: classes, next, is_wide };
            let mut starts = rules.starts(block, &mut before);
            // Where the first piece starts, none ends.
            starts &= !u64::from(at == 0);
            let found = starts.count_ones() as usize;
            simd.write_places(starts, (at * SIZE) as u32, &mut self.ends[count..]);
            count += found;
        }
        self.ends[count] = bytes.len() as u32;
        count += usize::from(!bytes.is_empty());
        Some(rules.with_trailing_space(text, &mut self.ends[..count]))
    }
}
