//! Comparing 64 bytes at once, by what the processor has.

use wide::i8x16;

pub(super) const SIZE: usize = 64;

/// Instructions that a processor has.
pub(super) trait Simd: Copy {
    /// 64 bytes. Compared as numbers with a sign: those of characters of several bytes are below zero.
    type Bytes: Copy;

    fn load(self, bytes: &[u8; SIZE]) -> Self::Bytes;
    /// Each byte with the bits of another one.
    fn or(self, a: Self::Bytes, b: Self::Bytes) -> Self::Bytes;
    fn splat(self, byte: u8) -> Self::Bytes;
    /// All bits where bytes are this one.
    fn is(self, bytes: Self::Bytes, byte: u8) -> Self::Bytes;
    /// All bits where bytes are below.
    fn is_below(self, bytes: Self::Bytes, end: u8) -> Self::Bytes;
    /// All bits where bytes are one of these.
    fn is_between(self, bytes: Self::Bytes, first: u8, last: u8) -> Self::Bytes;
    /// The highest bit of each byte.
    fn bits(self, bytes: Self::Bytes) -> u64;
}

/// What all processors have.
#[derive(Clone, Copy)]
pub(super) struct Portable;

impl Simd for Portable {
    type Bytes = [i8x16; 4];

    #[inline(always)]
    fn load(self, bytes: &[u8; SIZE]) -> Self::Bytes {
        let part = |at: usize| i8x16::new(std::array::from_fn(|byte| bytes[16 * at + byte] as i8));
        [part(0), part(1), part(2), part(3)]
    }

    #[inline(always)]
    fn or(self, a: Self::Bytes, b: Self::Bytes) -> Self::Bytes {
        std::array::from_fn(|at| a[at] | b[at])
    }

    #[inline(always)]
    fn splat(self, byte: u8) -> Self::Bytes {
        [i8x16::splat(byte as i8); 4]
    }

    #[inline(always)]
    fn is(self, bytes: Self::Bytes, byte: u8) -> Self::Bytes {
        bytes.map(|bytes| bytes.simd_eq(i8x16::splat(byte as i8)))
    }

    #[inline(always)]
    fn is_below(self, bytes: Self::Bytes, end: u8) -> Self::Bytes {
        bytes.map(|bytes| bytes.simd_lt(i8x16::splat(end as i8)))
    }

    #[inline(always)]
    fn is_between(self, bytes: Self::Bytes, first: u8, last: u8) -> Self::Bytes {
        let [above, below] = [i8x16::splat(first as i8 - 1), i8x16::splat(last as i8 + 1)];
        bytes.map(|bytes| bytes.simd_gt(above) & bytes.simd_lt(below))
    }

    #[inline(always)]
    fn bits(self, bytes: Self::Bytes) -> u64 {
        let [first, second, third, fourth] = bytes.map(|bytes| u64::from(bytes.to_bitmask() as u16));
        first | second << 16 | third << 32 | fourth << 48
    }
}

/// Of processors with AVX2. Without closures: what is not certainly inlined is compiled for any processor.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::__m256i;

    use pulp::x86::V3;

    use super::{SIZE, Simd};

    impl Simd for V3 {
        type Bytes = (__m256i, __m256i);

        #[inline(always)]
        fn load(self, bytes: &[u8; SIZE]) -> Self::Bytes {
            let [low, high]: [[u8; 32]; 2] = pulp::cast(*bytes);
            (pulp::cast(low), pulp::cast(high))
        }

        #[inline(always)]
        fn or(self, (a, b): Self::Bytes, (c, d): Self::Bytes) -> Self::Bytes {
            (self.avx2._mm256_or_si256(a, c), self.avx2._mm256_or_si256(b, d))
        }

        #[inline(always)]
        fn splat(self, byte: u8) -> Self::Bytes {
            (self.avx._mm256_set1_epi8(byte as i8), self.avx._mm256_set1_epi8(byte as i8))
        }

        #[inline(always)]
        fn is(self, (low, high): Self::Bytes, byte: u8) -> Self::Bytes {
            let byte = self.avx._mm256_set1_epi8(byte as i8);
            (self.avx2._mm256_cmpeq_epi8(low, byte), self.avx2._mm256_cmpeq_epi8(high, byte))
        }

        #[inline(always)]
        fn is_below(self, (low, high): Self::Bytes, end: u8) -> Self::Bytes {
            let end = self.avx._mm256_set1_epi8(end as i8);
            (self.avx2._mm256_cmpgt_epi8(end, low), self.avx2._mm256_cmpgt_epi8(end, high))
        }

        #[inline(always)]
        fn is_between(self, (low, high): Self::Bytes, first: u8, last: u8) -> Self::Bytes {
            let more = self.avx._mm256_set1_epi8((last - first) as i8);
            let first = self.avx._mm256_set1_epi8(first as i8);
            let (low, high) = (self.avx2._mm256_sub_epi8(low, first), self.avx2._mm256_sub_epi8(high, first));
            (
                self.avx2._mm256_cmpeq_epi8(self.avx2._mm256_min_epu8(low, more), low),
                self.avx2._mm256_cmpeq_epi8(self.avx2._mm256_min_epu8(high, more), high),
            )
        }

        #[inline(always)]
        fn bits(self, (low, high): Self::Bytes) -> u64 {
            let [low, high] = [self.avx2._mm256_movemask_epi8(low), self.avx2._mm256_movemask_epi8(high)];
            u64::from(low as u32) | u64::from(high as u32) << 32
        }
    }
}
