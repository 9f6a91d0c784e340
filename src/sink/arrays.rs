//! Files of arrays: all prompts padded to one length, with their mask, as `.npy`, `.npz` or `.safetensors`.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};

use ndarray_npy::{NpzWriter, WriteNpyExt};
use safetensors::tensor::TensorInfo;
use safetensors::{Dtype, SafeTensorError};
use serde::Serialize;

use crate::batch::Padding;
use crate::builder::PromptBuilder;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::sink::file_origin::{FileOrigin, METADATA};
use crate::sink::padded::{JsonArray, Padded};
use crate::sink::{Accepts, FileSink, FormOptions, OutputForm, PromptSpool, Sink};
use crate::tokenizer::TokenId;

pub(crate) const NPZ_FORM: OutputForm = OutputForm {
    name: "npz",
    about: "One file of NumPy arrays: input_ids and attention_mask, padded",
    extension: "npz",
    accepts: ACCEPTS,
    open: Some(|builder, options| open(ArrayFormat::Npz, builder, options)),
};

pub(crate) const NPY_FORM: OutputForm = OutputForm {
    name: "npy",
    about: "The same arrays one after the other in a plain NumPy file",
    extension: "npy",
    accepts: ACCEPTS,
    open: Some(|builder, options| open(ArrayFormat::Npy, builder, options)),
};

pub(crate) const SAFETENSORS_FORM: OutputForm = OutputForm {
    name: "safetensors",
    about: "The same arrays as safetensors",
    extension: "safetensors",
    accepts: ACCEPTS,
    open: Some(|builder, options| open(ArrayFormat::Safetensors, builder, options)),
};

const ACCEPTS: Accepts = Accepts { padding: true, ..Accepts::FILE };

fn open(format: ArrayFormat, builder: &PromptBuilder, options: FormOptions) -> Result<Sink> {
    let usual = builder.padding()?;
    let padding = Padding {
        padding_side: options.padding_side.unwrap_or(usual.padding_side),
        pad_to_multiple_of: options.pad_to_multiple_of.unwrap_or(usual.pad_to_multiple_of),
        ..usual
    };
    Ok(Sink::file(Arrays::new(builder, format, padding, options.fingerprint)))
}

/// How many bytes are written at once.
const BUFFER: usize = 1 << 18;

/// Readers of safetensors refuse a longer header.
pub(super) const LONGEST_HEADER: usize = 100_000_000;

/// A file format for arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrayFormat {
    /// NumPy's archive of arrays, uncompressed. The metadata is JSON in an array of bytes.
    Npz,
    /// One plain NumPy file with several arrays: `input_ids`, `attention_mask`, and the bytes of the metadata.
    /// `numpy.load` returns the first, which it can map into memory; called on an open file again and again, it returns
    /// all of them.
    Npy,
    /// Hugging Face's format. The metadata is JSON under one key.
    Safetensors,
}

/// Writes `input_ids` and `attention_mask` (`i64`, a row for each prompt), and metadata about the prompts and stops.
///
/// Neither array is ever in memory as a whole.
#[derive(Debug)]
pub struct Arrays {
    format: ArrayFormat,
    padding: Padding,
    origin: FileOrigin,
}

/// The metadata of a file.
#[derive(Serialize)]
struct Metadata<'a> {
    /// The keys of the prompts, row by row.
    prompts: &'a PromptSpool,
    padding_side: crate::batch::PaddingSide,
    pad_token_id: TokenId,
    #[serde(flatten)]
    origin: &'a FileOrigin,
}

impl Arrays {
    /// Creates a sink for the prompts of a builder, with their fingerprint if it is known.
    pub fn new(
        builder: &PromptBuilder,
        format: ArrayFormat,
        padding: Padding,
        fingerprint: impl Into<Option<Fingerprint>>,
    ) -> Self {
        Self { format, padding, origin: FileOrigin::new(builder, fingerprint.into()) }
    }
}

impl FileSink for Arrays {
    fn unit(&self) -> &'static str {
        "an array"
    }

    fn finish(&self, prompts: &PromptSpool, file: &mut File) -> Result<()> {
        let padded = Padded::new(prompts, self.padding)?;
        let metadata = Metadata {
            prompts,
            padding_side: self.padding.padding_side,
            pad_token_id: self.padding.pad_token_id,
            origin: &self.origin,
        };
        let file = BufWriter::with_capacity(BUFFER, file);
        let written = match self.format {
            ArrayFormat::Npz => npz(padded, &metadata, file),
            ArrayFormat::Npy => npy(padded, &metadata, file),
            ArrayFormat::Safetensors => safetensors(padded, &metadata, file),
        };
        Ok(written?)
    }
}

fn npz(padded: Padded<'_>, metadata: &Metadata<'_>, out: BufWriter<&mut File>) -> io::Result<()> {
    let mut file = NpzWriter::new(out);
    let mut add = || {
        file.add_array("attention_mask", &padded.attention_mask())?;
        file.add_array("input_ids", &padded.input_ids())?;
        file.add_array(METADATA, &JsonArray(metadata))
    };
    if let Err(error) = add() {
        // Dropped, it would try to write its end, and print that this fails.
        std::mem::forget(file);
        return Err(io::Error::other(error));
    }
    file.finish().map_err(io::Error::other)?.flush()
}

fn npy(padded: Padded<'_>, metadata: &Metadata<'_>, mut out: BufWriter<&mut File>) -> io::Result<()> {
    padded.input_ids().write_npy(&mut out).map_err(io::Error::other)?;
    padded.attention_mask().write_npy(&mut out).map_err(io::Error::other)?;
    JsonArray(metadata).write_npy(&mut out).map_err(io::Error::other)
}

fn safetensors(padded: Padded<'_>, metadata: &Metadata<'_>, mut out: BufWriter<&mut File>) -> io::Result<()> {
    // A map of several keys would be written in a different order each time.
    let metadata = HashMap::from([(METADATA.to_owned(), serde_json::to_string(metadata)?)]);
    let arrays = [("attention_mask", padded.attention_mask()), ("input_ids", padded.input_ids())];
    let (mut infos, mut end) = (Vec::new(), 0);
    for (name, array) in &arrays {
        let [rows, columns] = array.shape();
        let start = end;
        end += rows * columns * size_of::<i64>();
        let info = TensorInfo { dtype: Dtype::I64, shape: vec![rows, columns], data_offsets: (start, end) };
        infos.push(((*name).to_owned(), info));
    }
    let header = safetensors::tensor::Metadata::new(Some(metadata), infos).map_err(io::Error::other)?;
    let mut header = serde_json::to_vec(&header)?;
    header.resize(header.len().next_multiple_of(size_of::<u64>()), b' ');
    if header.len() > LONGEST_HEADER {
        return Err(io::Error::other(SafeTensorError::HeaderTooLarge));
    }
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)?;
    arrays.iter().try_for_each(|(_, array)| array.write(&mut out))?;
    out.flush()
}
