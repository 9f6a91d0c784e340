//! Comparing 64 bytes at once, by what the processor has.

use wide::i8x16;

pub(super) const SIZE: usize = 64;
/// The most places that are written at once, whether there are as many or not.
pub(super) const AT_ONCE: usize = 16;

/// Instructions that a processor has.
pub(super) trait Simd: Copy {
    /// 64 bytes. Compared as numbers with a sign: those of characters of several bytes are below zero.
    type Bytes: Copy;
    /// One yes/no bit for each byte.
    type Mask: Copy;

    fn load(self, bytes: &[u8; SIZE]) -> Self::Bytes;
    /// Each byte with the bits of this one.
    fn with(self, bytes: Self::Bytes, bits: u8) -> Self::Bytes;
    fn is(self, bytes: Self::Bytes, byte: u8) -> Self::Mask;
    fn is_below(self, bytes: Self::Bytes, end: u8) -> Self::Mask;
    fn is_between(self, bytes: Self::Bytes, first: u8, last: u8) -> Self::Mask;
    fn is_below_zero(self, bytes: Self::Bytes) -> Self::Mask;
    fn either(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// A bit for each byte, the first one's the lowest.
    fn bits(self, mask: Self::Mask) -> u64;

    /// Writes the places of the bits that are set, counted from `first` on. There is room for [`AT_ONCE`] more.
    #[inline(always)]
    fn write_places(self, mut bits: u64, first: u32, to: &mut [u32]) {
        let mut written = 0;
        while bits != 0 {
            for place in &mut to[written..written + AT_ONCE / 2] {
                // A number that is certainly not zero takes one step where the processor has `tzcnt`, not eight.
                *place = first + (bits | 1 << (SIZE - 1)).trailing_zeros();
                bits &= bits.wrapping_sub(1);
            }
            written += AT_ONCE / 2;
        }
    }
}

/// What all processors have.
#[derive(Clone, Copy)]
pub(super) struct Portable;

impl Simd for Portable {
    type Bytes = [i8x16; 4];
    type Mask = Self::Bytes;

    #[inline(always)]
    fn load(self, bytes: &[u8; SIZE]) -> Self::Bytes {
        let part = |at: usize| i8x16::new(std::array::from_fn(|byte| bytes[16 * at + byte] as i8));
        [part(0), part(1), part(2), part(3)]
    }

    #[inline(always)]
    fn with(self, bytes: Self::Bytes, bits: u8) -> Self::Bytes {
        bytes.map(|bytes| bytes | i8x16::splat(bits as i8))
    }

    #[inline(always)]
    fn is(self, bytes: Self::Bytes, byte: u8) -> Self::Mask {
        bytes.map(|bytes| bytes.simd_eq(i8x16::splat(byte as i8)))
    }

    #[inline(always)]
    fn is_below(self, bytes: Self::Bytes, end: u8) -> Self::Mask {
        bytes.map(|bytes| bytes.simd_lt(i8x16::splat(end as i8)))
    }

    #[inline(always)]
    fn is_between(self, bytes: Self::Bytes, first: u8, last: u8) -> Self::Mask {
        let [above, below] = [i8x16::splat(first as i8 - 1), i8x16::splat(last as i8 + 1)];
        bytes.map(|bytes| bytes.simd_gt(above) & bytes.simd_lt(below))
    }

    #[inline(always)]
    fn is_below_zero(self, bytes: Self::Bytes) -> Self::Mask {
        bytes
    }

    #[inline(always)]
    fn either(self, a: Self::Mask, b: Self::Mask) -> Self::Mask {
        std::array::from_fn(|at| a[at] | b[at])
    }

    #[inline(always)]
    fn bits(self, mask: Self::Mask) -> u64 {
        let [first, second, third, fourth] = mask.map(|bytes| u64::from(bytes.to_bitmask() as u16));
        first | second << 16 | third << 32 | fourth << 48
    }
}

/// The instructions of processors with AVX2. Without closures: what is not certainly inlined is compiled for any processor.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::__m256i;

    use pulp::x86::V3;

    use super::{SIZE, Simd};

    impl Simd for V3 {
        type Bytes = (__m256i, __m256i);
        /// The highest bit of each byte.
        type Mask = Self::Bytes;

        #[inline(always)]
        fn load(self, bytes: &[u8; SIZE]) -> Self::Bytes {
            let [low, high]: [[u8; 32]; 2] = pulp::cast(*bytes);
            (pulp::cast(low), pulp::cast(high))
        }

        #[inline(always)]
        fn with(self, (low, high): Self::Bytes, bits: u8) -> Self::Bytes {
            let bits = self.avx._mm256_set1_epi8(bits as i8);
            (self.avx2._mm256_or_si256(low, bits), self.avx2._mm256_or_si256(high, bits))
        }

        #[inline(always)]
        fn is(self, (low, high): Self::Bytes, byte: u8) -> Self::Mask {
            let byte = self.avx._mm256_set1_epi8(byte as i8);
            (self.avx2._mm256_cmpeq_epi8(low, byte), self.avx2._mm256_cmpeq_epi8(high, byte))
        }

        #[inline(always)]
        fn is_below(self, (low, high): Self::Bytes, end: u8) -> Self::Mask {
            let end = self.avx._mm256_set1_epi8(end as i8);
            (self.avx2._mm256_cmpgt_epi8(end, low), self.avx2._mm256_cmpgt_epi8(end, high))
        }

        #[inline(always)]
        fn is_between(self, (low, high): Self::Bytes, first: u8, last: u8) -> Self::Mask {
            let more = self.avx._mm256_set1_epi8((last - first) as i8);
            let first = self.avx._mm256_set1_epi8(first as i8);
            let (low, high) = (self.avx2._mm256_sub_epi8(low, first), self.avx2._mm256_sub_epi8(high, first));
            (
                self.avx2._mm256_cmpeq_epi8(self.avx2._mm256_min_epu8(low, more), low),
                self.avx2._mm256_cmpeq_epi8(self.avx2._mm256_min_epu8(high, more), high),
            )
        }

        #[inline(always)]
        fn is_below_zero(self, bytes: Self::Bytes) -> Self::Mask {
            bytes
        }

        #[inline(always)]
        fn either(self, (a, b): Self::Mask, (c, d): Self::Mask) -> Self::Mask {
            (self.avx2._mm256_or_si256(a, c), self.avx2._mm256_or_si256(b, d))
        }

        #[inline(always)]
        fn bits(self, (low, high): Self::Mask) -> u64 {
            let [low, high] = [self.avx2._mm256_movemask_epi8(low), self.avx2._mm256_movemask_epi8(high)];
            u64::from(low as u32) | u64::from(high as u32) << 32
        }
    }
}

/// The instructions of processors with AVX-512.
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::__m512i;

    use pulp::x86::V4;

    use super::{AT_ONCE, SIZE, Simd};

    const PLACES: [u32; SIZE] = {
        let mut places = [0; SIZE];
        let mut at = 0;
        while at < SIZE {
            places[at] = at as u32;
            at += 1;
        }
        places
    };

    impl Simd for V4 {
        type Bytes = __m512i;
        type Mask = u64;

        #[inline(always)]
        fn load(self, bytes: &[u8; SIZE]) -> Self::Bytes {
            pulp::cast(*bytes)
        }

        #[inline(always)]
        fn with(self, bytes: Self::Bytes, bits: u8) -> Self::Bytes {
            self.avx512f._mm512_or_si512(bytes, self.avx512f._mm512_set1_epi8(bits as i8))
        }

        #[inline(always)]
        fn is(self, bytes: Self::Bytes, byte: u8) -> Self::Mask {
            self.avx512bw._mm512_cmpeq_epi8_mask(bytes, self.avx512f._mm512_set1_epi8(byte as i8))
        }

        #[inline(always)]
        fn is_below(self, bytes: Self::Bytes, end: u8) -> Self::Mask {
            self.avx512bw._mm512_cmplt_epi8_mask(bytes, self.avx512f._mm512_set1_epi8(end as i8))
        }

        #[inline(always)]
        fn is_between(self, bytes: Self::Bytes, first: u8, last: u8) -> Self::Mask {
            let more = self.avx512f._mm512_set1_epi8((last - first) as i8);
            let above = self.avx512bw._mm512_sub_epi8(bytes, self.avx512f._mm512_set1_epi8(first as i8));
            self.avx512bw._mm512_cmple_epu8_mask(above, more)
        }

        #[inline(always)]
        fn is_below_zero(self, bytes: Self::Bytes) -> Self::Mask {
            self.avx512bw._mm512_movepi8_mask(bytes)
        }

        #[inline(always)]
        fn either(self, a: Self::Mask, b: Self::Mask) -> Self::Mask {
            a | b
        }

        #[inline(always)]
        fn bits(self, mask: Self::Mask) -> u64 {
            mask
        }

        #[inline(always)]
        fn write_places(self, bits: u64, first: u32, to: &mut [u32]) {
            let first = self.avx512f._mm512_set1_epi32(first as i32);
            let mut written = 0;
            for (at, places) in PLACES.as_chunks::<AT_ONCE>().0.iter().enumerate() {
                let bits = (bits >> (AT_ONCE * at)) as u16;
                let places = self.avx512f._mm512_add_epi32(first, pulp::cast(*places));
                let places: [u32; AT_ONCE] = pulp::cast(self.avx512f._mm512_maskz_compress_epi32(bits, places));
                to[written..written + AT_ONCE].copy_from_slice(&places);
                written += bits.count_ones() as usize;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn places(simd: impl Simd, bits: u64, first: u32) -> Vec<u32> {
        let mut places = vec![0; SIZE + AT_ONCE];
        simd.write_places(bits, first, &mut places);
        places.truncate(bits.count_ones() as usize);
        places
    }

    proptest! {
        #[test]
        fn all_processors_write_the_same_places(some: u64, others: u64, first in 0..1_u32 << 30) {
            for bits in [0, some, some & others, some | others, u64::MAX] {
                let expected: Vec<u32> = (0..64).filter(|at| bits >> at & 1 == 1).map(|at| first + at).collect();
                prop_assert_eq!(&places(Portable, bits, first), &expected);
                #[cfg(target_arch = "x86_64")]
                if let Some(simd) = pulp::x86::V4::try_new() {
                    prop_assert_eq!(&places(simd, bits, first), &expected);
                }
            }
        }
    }
}
