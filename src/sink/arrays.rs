//! Files of arrays: all prompts padded to one length, with their mask, as `.npy`, `.npz` or `.safetensors`.

use std::collections::HashMap;
use std::io::Cursor;

use ndarray::{Array1, Array2, ArrayView1, Ix1, OwnedRepr};
use ndarray_npy::{NpzReader, NpzWriter, ReadNpyExt, WriteNpyExt};
use safetensors::{Dtype, SafeTensors, View};
use serde::Serialize;

use crate::batch::{Batch, Padding};
use crate::builder::PromptBuilder;
use crate::error::{ErrorKind, Result, Setting, counted, way_out};
use crate::fingerprint::Fingerprint;
use crate::sink::file::{FILE, METADATA, Origin, not_ours};
use crate::sink::{Accepts, FileSink, FormOptions, OutputForm, PromptRecord, Sink};
use crate::tokenizer::TokenId;

pub(crate) const NPZ_FORM: OutputForm = OutputForm {
    name: "npz",
    about: "One file of NumPy arrays: input_ids and attention_mask, padded",
    ending: "npz",
    accepts: ACCEPTS,
    open: Some(|builder, options| open(ArrayFormat::Npz, builder, options)),
};

pub(crate) const NPY_FORM: OutputForm = OutputForm {
    name: "npy",
    about: "The same arrays one after the other in a plain NumPy file",
    ending: "npy",
    accepts: ACCEPTS,
    open: Some(|builder, options| open(ArrayFormat::Npy, builder, options)),
};

pub(crate) const SAFETENSORS_FORM: OutputForm = OutputForm {
    name: "safetensors",
    about: "The same arrays as safetensors",
    ending: "safetensors",
    accepts: ACCEPTS,
    open: Some(|builder, options| open(ArrayFormat::Safetensors, builder, options)),
};

const ACCEPTS: Accepts = Accepts { padding: true, ..FILE };

fn open(format: ArrayFormat, builder: &PromptBuilder, options: FormOptions) -> Result<Sink> {
    let usual = builder.padding()?;
    let padding = Padding {
        padding_side: options.padding_side.unwrap_or(usual.padding_side),
        pad_to_multiple_of: options.pad_to_multiple_of.unwrap_or(usual.pad_to_multiple_of),
        ..usual
    };
    Ok(Sink::file(Arrays::new(builder, format, padding, options.fingerprint)))
}

/// The first bytes of an array in a `.npy` file.
const NPY_MAGIC: &[u8] = b"\x93NUMPY";

/// A file format for arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrayFormat {
    /// NumPy's archive of arrays, uncompressed. The metadata is JSON in an array of bytes.
    Npz,
    /// The same arrays in one plain NumPy file: `input_ids`, `attention_mask`, and the bytes of the metadata.
    /// `numpy.load` returns the first, which it can map into memory; called on an open file again and again, it returns
    /// all of them.
    Npy,
    /// Hugging Face's format. The metadata is JSON under one key.
    Safetensors,
}

/// Writes `input_ids` and `attention_mask` (`i64`, a row for each prompt), and metadata about the prompts and stops.
///
/// All prompts stay in memory until [`FileSink::finish`].
#[derive(Debug)]
pub struct Arrays {
    format: ArrayFormat,
    padding: Padding,
    origin: Origin,
}

/// The metadata of a file.
#[derive(Serialize)]
struct Metadata<'a> {
    /// The keys of the prompts, row by row.
    prompts: &'a [PromptRecord],
    padding_side: crate::batch::PaddingSide,
    pad_token_id: TokenId,
    #[serde(flatten)]
    origin: &'a Origin,
}

impl Arrays {
    /// For the prompts of a builder, with their fingerprint if it is known.
    pub fn new(
        builder: &PromptBuilder,
        format: ArrayFormat,
        padding: Padding,
        fingerprint: impl Into<Option<Fingerprint>>,
    ) -> Self {
        Self { format, padding, origin: Origin::new(builder, fingerprint.into()) }
    }
}

impl FileSink for Arrays {
    fn unit(&self) -> &'static str {
        "an array"
    }

    fn finish(&self, prompts: &[PromptRecord]) -> Result<Vec<u8>> {
        let ids: Vec<&[TokenId]> = prompts.iter().map(|prompt| &prompt.input_ids[..]).collect();
        self.check_memory(&ids)?;
        let batch: Batch<i64> = Batch::new(&ids, self.padding)?;
        let metadata = serde_json::to_string(&Metadata {
            prompts,
            padding_side: self.padding.padding_side,
            pad_token_id: self.padding.pad_token_id,
            origin: &self.origin,
        });
        let metadata = metadata.expect("strings and numbers are JSON");
        let arrays = [("attention_mask", batch.attention_mask()), ("input_ids", batch.input_ids)];
        match self.format {
            ArrayFormat::Npz => npz(&arrays, &metadata),
            ArrayFormat::Npy => npy(&arrays, &metadata),
            ArrayFormat::Safetensors => safetensors(&arrays, metadata),
        }
    }
}

impl Arrays {
    /// Checks that there is memory for everything at once: both arrays, and the file with both.
    fn check_memory(&self, prompts: &[&[TokenId]]) -> Result<()> {
        let multiple = self.padding.pad_to_multiple_of.get();
        let longest = prompts.iter().map(|ids| ids.len()).max().unwrap_or(0);
        let longest = longest.checked_next_multiple_of(multiple).unwrap_or(usize::MAX);
        let bytes = prompts.len().saturating_mul(longest).saturating_mul(4 * size_of::<i64>());
        if Vec::<u8>::new().try_reserve_exact(bytes).is_ok() {
            return Ok(());
        }
        let what = format!("arrays of {} of {longest} tokens do not fit into memory", counted(prompts.len(), "row"));
        let padded_to = Setting::PAD_TO_MULTIPLE_OF.set_to(multiple.to_string());
        Err(ErrorKind::OutOfMemory(what).with_way_out(way_out!["build fewer prompts at a time, or lower ", padded_to]))
    }
}

fn npz(arrays: &[(&str, Array2<i64>)], metadata: &str) -> Result<Vec<u8>> {
    let failed = |error: ndarray_npy::WriteNpzError| ErrorKind::Io(std::io::Error::other(error));
    let mut file = NpzWriter::new(Cursor::new(Vec::new()));
    for (name, array) in arrays {
        file.add_array(*name, array).map_err(failed)?;
    }
    file.add_array(METADATA, &ArrayView1::from(metadata.as_bytes())).map_err(failed)?;
    Ok(file.finish().map_err(failed)?.into_inner())
}

fn npy([(_, mask), (_, ids)]: &[(&str, Array2<i64>); 2], metadata: &str) -> Result<Vec<u8>> {
    let mut file = Vec::new();
    let written = ids.write_npy(&mut file).and_then(|()| mask.write_npy(&mut file));
    let written = written.and_then(|()| ArrayView1::from(metadata.as_bytes()).write_npy(&mut file));
    written.map_err(|error| ErrorKind::Io(std::io::Error::other(error)))?;
    Ok(file)
}

fn safetensors(arrays: &[(&str, Array2<i64>)], metadata: String) -> Result<Vec<u8>> {
    let arrays = arrays.iter().map(|(name, array)| (*name, Tensor(array)));
    // A map of several keys would be written in a different order each time.
    let metadata = HashMap::from([(METADATA.to_owned(), metadata)]);
    let written = safetensors::serialize(arrays, Some(metadata));
    Ok(written.map_err(|error| ErrorKind::Io(std::io::Error::other(error)))?)
}

/// An array as the crate `safetensors` reads it.
struct Tensor<'a>(&'a Array2<i64>);

impl View for Tensor<'_> {
    fn dtype(&self) -> Dtype {
        Dtype::I64
    }

    fn shape(&self) -> &[usize] {
        self.0.shape()
    }

    fn data(&self) -> std::borrow::Cow<'_, [u8]> {
        let mut bytes = Vec::with_capacity(self.data_len());
        self.0.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
        bytes.into()
    }

    fn data_len(&self) -> usize {
        self.0.len() * size_of::<i64>()
    }
}

/// The metadata of a file of arrays, as JSON.
///
/// # Errors
/// [`ErrorKind::Parse`] if the bytes are not such a file.
pub(crate) fn metadata(format: ArrayFormat, bytes: &[u8]) -> Result<String> {
    let name = match format {
        ArrayFormat::Npz => ".npz",
        ArrayFormat::Npy => ".npy",
        ArrayFormat::Safetensors => ".safetensors",
    };
    let parse = |what: &dyn std::fmt::Display| ErrorKind::Parse(format!("this is no {name} file: {what}"));
    match format {
        ArrayFormat::Npz => {
            let mut file = NpzReader::new(Cursor::new(bytes)).map_err(|error| parse(&error))?;
            let json: Array1<u8> =
                file.by_name::<OwnedRepr<u8>, Ix1>(&format!("{METADATA}.npy")).map_err(|_| not_ours())?;
            Ok(String::from_utf8(json.to_vec()).map_err(|error| parse(&error))?)
        }
        ArrayFormat::Npy => {
            // The last array of the file.
            let start = memchr::memmem::rfind(bytes, NPY_MAGIC).ok_or_else(|| parse(&"it does not begin like one"))?;
            let json: Array1<u8> = Array1::read_npy(&bytes[start..]).map_err(|_| not_ours())?;
            Ok(String::from_utf8(json.to_vec()).map_err(|error| parse(&error))?)
        }
        ArrayFormat::Safetensors => {
            let (_, header) = SafeTensors::read_metadata(bytes).map_err(|error| parse(&error))?;
            let json = header.metadata().as_ref().and_then(|metadata| metadata.get(METADATA));
            Ok(json.cloned().ok_or_else(not_ours)?)
        }
    }
}
