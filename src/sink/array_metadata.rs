//! The metadata in a file of arrays, which may be larger than memory: the arrays are not read.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

use ndarray::{Array1, Ix1, OwnedRepr};
use ndarray_npy::{NpzReader, ReadNpyExt};
use safetensors::tensor::Metadata;

use crate::error::{ErrorKind, Result};
use crate::sink::arrays::{ArrayFormat, LONGEST_HEADER};
use crate::sink::file_origin::{METADATA, not_ours};
use crate::sink::padded::NPY_MAGIC;

/// How much of the end of a file is searched first, and how many times as much each time after that.
const TAIL: u64 = 1 << 20;
const MORE: u64 = 8;
/// Where the shape of metatok's own array is at the latest.
const LONGEST_SHAPE: usize = 256;

/// The metadata of a file of arrays, as JSON.
///
/// # Errors
/// [`ErrorKind::Parse`] if it is not such a file; errors of reading it.
pub(crate) fn array_metadata(format: ArrayFormat, file: File) -> Result<String> {
    match format {
        ArrayFormat::Npz => of_npz(file),
        ArrayFormat::Npy => of_npy(file),
        ArrayFormat::Safetensors => of_safetensors(file),
    }
}

fn of_npz(file: File) -> Result<String> {
    let mut arrays = NpzReader::new(BufReader::new(file)).map_err(|error| other("npz", &error))?;
    let json: Array1<u8> = arrays.by_name::<OwnedRepr<u8>, Ix1>(&format!("{METADATA}.npy")).map_err(|_| not_ours())?;
    text("npz", json.to_vec())
}

/// It is the last array of the file.
fn of_npy(mut file: File) -> Result<String> {
    let length = file.metadata()?.len();
    let mut start = [0; NPY_MAGIC.len()];
    let begins_so = length >= start.len() as u64 && file.read_exact(&mut start).map(|()| start == *NPY_MAGIC)?;
    if !begins_so {
        return Err(other("npy", &"it does not begin like one").into());
    }
    let mut searched = TAIL;
    loop {
        let start = length.saturating_sub(searched);
        file.seek(SeekFrom::Start(start))?;
        let mut tail = Vec::new();
        file.read_to_end(&mut tail)?;
        // Its own bytes may look like the begin of another array.
        let starts = memchr::memmem::rfind_iter(&tail, NPY_MAGIC);
        let mut whole = starts.filter(|at| has_room_for(&tail[*at..]));
        if let Some(json) = whole.find_map(|at| Array1::<u8>::read_npy(&tail[at..]).ok()) {
            return text("npy", json.to_vec());
        }
        if start == 0 {
            return Err(not_ours().into());
        }
        searched *= MORE;
    }
}

/// Whether an array's header says that it has no more bytes than there are: its memory is taken before it is read.
fn has_room_for(array: &[u8]) -> bool {
    const SHAPE: &[u8] = b"'shape': (";
    let header = &array[..array.len().min(LONGEST_SHAPE)];
    let shape = memchr::memmem::find(header, SHAPE).map(|at| &header[at + SHAPE.len()..]);
    let length = shape.and_then(|shape| str::from_utf8(&shape[..shape.iter().position(|byte| *byte == b',')?]).ok());
    length.and_then(|length| length.trim().parse().ok()).is_some_and(|length: usize| length <= array.len())
}

fn of_safetensors(mut file: File) -> Result<String> {
    let length = file.metadata()?.len();
    let mut size = [0; size_of::<u64>()];
    if length < size.len() as u64 {
        return Err(other("safetensors", &"it is too short").into());
    }
    file.read_exact(&mut size)?;
    let size = u64::from_le_bytes(size);
    let begin = size.saturating_add(size_of::<u64>() as u64);
    if size > LONGEST_HEADER as u64 || begin > length {
        return Err(other("safetensors", &format!("its header would have {size} bytes")).into());
    }
    let mut header = Vec::new();
    file.take(size).read_to_end(&mut header)?;
    let header: Metadata = serde_json::from_slice(&header).map_err(|error| other("safetensors", &error))?;
    let expected = begin + header.data_len() as u64;
    if expected != length {
        return Err(other("safetensors", &format!("it has {length} bytes, but its header says {expected}")).into());
    }
    let json = header.metadata().as_ref().and_then(|metadata| metadata.get(METADATA));
    Ok(json.cloned().ok_or_else(not_ours)?)
}

fn text(extension: &str, json: Vec<u8>) -> Result<String> {
    Ok(String::from_utf8(json).map_err(|error| other(extension, &error))?)
}

fn other(extension: &str, what: &dyn std::fmt::Display) -> ErrorKind {
    ErrorKind::Parse(format!("this is not a .{extension} file: {what}"))
}
