//! Numbers and bytes one after the other, each block with its length.

/// Puts blocks into bytes.
#[derive(Default)]
pub(crate) struct BlockWriter(pub(crate) Vec<u8>);

impl BlockWriter {
    fn len(&mut self, len: usize) {
        self.0.extend_from_slice(&(len as u64).to_le_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.len(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn u32s(&mut self, numbers: &[u32]) {
        self.len(numbers.len());
        self.0.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    }

    pub(crate) fn u64s(&mut self, numbers: &[u64]) {
        self.len(numbers.len());
        self.0.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    }
}

/// Takes blocks from bytes; none if there are not enough.
pub(crate) struct BlockReader<'a>(pub(crate) &'a [u8]);

impl<'a> BlockReader<'a> {
    /// A block of items of `N` bytes.
    fn items<const N: usize>(&mut self) -> Option<&'a [[u8; N]]> {
        let (len, rest) = self.0.split_first_chunk()?;
        let bytes = usize::try_from(u64::from_le_bytes(*len)).ok()?.checked_mul(N)?;
        let (items, rest) = rest.split_at_checked(bytes)?;
        self.0 = rest;
        Some(items.as_chunks().0)
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        Some(self.items::<1>()?.as_flattened())
    }

    pub(crate) fn u32s(&mut self) -> Option<Vec<u32>> {
        Some(self.items()?.iter().map(|item| u32::from_le_bytes(*item)).collect())
    }

    pub(crate) fn u64s(&mut self) -> Option<Vec<u64>> {
        Some(self.items()?.iter().map(|item| u64::from_le_bytes(*item)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_nothing_beyond_the_end() {
        let mut blocks = BlockWriter::default();
        blocks.u32s(&[1, u32::MAX]);
        blocks.bytes(b"abc");
        blocks.u64s(&[7, u64::MAX]);
        let bytes = blocks.0;
        let read = |bytes: &[u8]| {
            let mut blocks = BlockReader(bytes);
            Some((blocks.u32s()?, blocks.bytes()?.to_vec(), blocks.u64s()?))
        };
        assert_eq!(read(&bytes), Some((vec![1, u32::MAX], b"abc".to_vec(), vec![7, u64::MAX])));
        assert!((0..bytes.len()).all(|len| read(&bytes[..len]).is_none()));
        assert_eq!(read(&[0xff; 64]), None);
    }
}
