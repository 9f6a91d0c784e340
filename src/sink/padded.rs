//! The arrays of a file, written row by row: neither of them is ever in memory.

use std::io::{self, Write};

use ndarray_npy::{WriteNpyError, WriteNpyExt};
use serde::Serialize;

use crate::batch::{Padding, PaddingSide};
use crate::error::{ErrorKind, Result, Setting, counted, way_out};
use crate::sink::PromptSpool;

/// The first bytes of an array in NumPy's format.
pub(super) const NPY_MAGIC: &[u8] = b"\x93NUMPY";

/// Its header ends at a multiple of this.
const HEADER: usize = 64;

/// Arrays with more places than this must not be mostly padding.
const MANY: usize = 1 << 28;

/// The most places for each token.
const SPARSE: usize = 1000;

/// Prompts padded to one length.
#[derive(Clone, Copy)]
pub(super) struct Padded<'s> {
    prompts: &'s PromptSpool,
    padding: Padding,
    width: usize,
}

/// An array of padded prompts, of `i64`: their ids or their mask.
#[derive(Clone, Copy)]
pub(super) struct PaddedArray<'s> {
    padded: Padded<'s>,
    is_mask: bool,
}

impl<'s> Padded<'s> {
    /// # Errors
    /// [`ErrorKind::OutOfMemory`] for many rows that are nearly all padding, and those of [`Padding::width`].
    pub(super) fn new(prompts: &'s PromptSpool, padding: Padding) -> Result<Self> {
        let width = padding.width(prompts.longest())?;
        let places = prompts.len().saturating_mul(width);
        if places <= MANY || places / SPARSE <= prompts.tokens() {
            return Ok(Self { prompts, padding, width });
        }
        let what = format!("arrays of {} of {width} tokens are nearly all padding", counted(prompts.len(), "row"));
        let padded_to = Setting::PAD_TO_MULTIPLE_OF.set_to(padding.pad_to_multiple_of.to_string());
        Err(ErrorKind::OutOfMemory(what)
            .with_way_out(way_out!["build long prompts into a file of their own, or lower ", padded_to]))
    }

    pub(super) fn input_ids(self) -> PaddedArray<'s> {
        PaddedArray { padded: self, is_mask: false }
    }

    pub(super) fn attention_mask(self) -> PaddedArray<'s> {
        PaddedArray { padded: self, is_mask: true }
    }
}

impl PaddedArray<'_> {
    /// How many rows and columns it has.
    pub(super) fn shape(&self) -> [usize; 2] {
        [self.padded.prompts.len(), self.padded.width]
    }

    /// Writes its numbers, row by row.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let Padded { prompts, padding, width } = self.padded;
        let pad = if self.is_mask { 0 } else { i64::from(padding.pad_token_id) };
        let mut row = Vec::new();
        for prompt in prompts.prompts()? {
            let ids = prompt?.input_ids;
            row.clear();
            let numbers = ids.iter().map(|id| if self.is_mask { 1 } else { i64::from(*id) });
            let pads = std::iter::repeat_n(pad, width - ids.len());
            match padding.padding_side {
                PaddingSide::Left => row.extend(pads.chain(numbers).flat_map(i64::to_le_bytes)),
                PaddingSide::Right => row.extend(numbers.chain(pads).flat_map(i64::to_le_bytes)),
            }
            out.write_all(&row)?;
        }
        Ok(())
    }
}

impl WriteNpyExt for PaddedArray<'_> {
    fn write_npy<W: Write>(&self, mut writer: W) -> std::result::Result<(), WriteNpyError> {
        let [rows, columns] = self.shape();
        write_header("<i8", &format!("{rows}, {columns}"), &mut writer)?;
        self.write(&mut writer)?;
        Ok(writer.flush()?)
    }
}

/// JSON as an array of bytes.
pub(super) struct JsonArray<'v, V>(pub(super) &'v V);

impl<V: Serialize> WriteNpyExt for JsonArray<'_, V> {
    fn write_npy<W: Write>(&self, mut writer: W) -> std::result::Result<(), WriteNpyError> {
        let mut length = Length(0);
        serde_json::to_writer(&mut length, self.0).map_err(io::Error::from)?;
        write_header("|u1", &format!("{},", length.0), &mut writer)?;
        serde_json::to_writer(&mut writer, self.0).map_err(io::Error::from)?;
        Ok(writer.flush()?)
    }
}

/// Counts what is written.
struct Length(usize);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The beginning of an array in NumPy's format, version 1.0.
fn write_header(kind: &str, shape: &str, out: &mut impl Write) -> io::Result<()> {
    let array = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape})}}");
    // The version and the length take two bytes each. At least one space and a line feed are last.
    let before = NPY_MAGIC.len() + 4;
    let length = (before + array.len() + 2).next_multiple_of(HEADER) - before;
    let short = u16::try_from(length).map_err(io::Error::other)?;
    out.write_all(NPY_MAGIC)?;
    out.write_all(&[1, 0])?;
    out.write_all(&short.to_le_bytes())?;
    writeln!(out, "{array:<width$}", width = length - 1)
}
