//! The prompts of a file before it is written: the beginning of such a file says what all of them are. A few are in memory,
//! many in a file of their own.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Seek as _, SeekFrom, Write as _};

use serde::ser::{Error as _, SerializeSeq as _};
use serde::{Serialize, Serializer};

use crate::sink::PromptRecord;
use crate::tokenizer::TokenId;

/// How many bytes are in memory before they go to the file.
const IN_MEMORY: usize = 32 << 20;

/// How many bytes are read at once.
const BUFFER: usize = 1 << 18;

/// The prompts of a file, in order.
///
/// ```
/// use metatok::sink::{PromptRecord, PromptSpool};
///
/// let mut prompts = PromptSpool::new(|| Err(std::io::ErrorKind::Unsupported.into()));
/// let id = serde_json::value::to_raw_value(&7)?;
/// prompts.push(&PromptRecord { id, repeat: None, turn: None, max_out_len: None, input_ids: vec![1, 2] })?;
/// assert_eq!((prompts.len(), prompts.longest()), (1, 2));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct PromptSpool {
    /// Those that came last.
    memory: Vec<u8>,
    in_memory: usize,
    /// Those before.
    file: Option<File>,
    create: Box<dyn Fn() -> io::Result<File> + Send + Sync>,
    len: usize,
    longest: usize,
    tokens: usize,
}

impl PromptSpool {
    /// Without prompts. `create` creates an empty file for reading and writing, once there are too many to stay in memory.
    pub fn new(create: impl Fn() -> io::Result<File> + Send + Sync + 'static) -> Self {
        Self {
            memory: Vec::new(),
            in_memory: IN_MEMORY,
            file: None,
            create: Box::new(create),
            len: 0,
            longest: 0,
            tokens: 0,
        }
    }

    /// Adds a prompt.
    ///
    /// # Errors
    /// Those of creating the file, or of writing to it.
    pub fn push(&mut self, prompt: &PromptRecord) -> io::Result<()> {
        serde_json::to_writer(&mut self.memory, prompt)?;
        self.memory.push(b'\n');
        self.memory.extend_from_slice(&(prompt.input_ids.len() as u64).to_le_bytes());
        self.memory.extend(prompt.input_ids.iter().flat_map(|id| id.to_le_bytes()));
        self.len += 1;
        self.longest = self.longest.max(prompt.input_ids.len());
        self.tokens += prompt.input_ids.len();
        if self.memory.len() >= self.in_memory { self.move_to_file() } else { Ok(()) }
    }

    /// How many prompts there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many tokens the longest prompt has.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// How many tokens all prompts have together.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    fn move_to_file(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert((self.create)()?),
        };
        file.seek(SeekFrom::End(0))?;
        file.write_all(&self.memory)?;
        self.memory.clear();
        Ok(())
    }

    /// All prompts from the first one on, one after the other. Only the latest of these iterators may be used.
    ///
    /// # Errors
    /// Those of reading the file.
    pub fn prompts(&self) -> io::Result<impl Iterator<Item = io::Result<PromptRecord>>> {
        let in_file: Box<dyn Read + '_> = match &self.file {
            Some(file) => {
                let mut file = file;
                file.seek(SeekFrom::Start(0))?;
                Box::new(file)
            }
            None => Box::new(io::empty()),
        };
        let mut reader = BufReader::with_capacity(BUFFER, in_file.chain(&self.memory[..]));
        let mut bytes = Vec::new();
        Ok((0..self.len).map(move |_| prompt(&mut reader, &mut bytes)))
    }
}

/// Reads a prompt, by way of a buffer.
fn prompt(reader: &mut BufReader<impl Read>, bytes: &mut Vec<u8>) -> io::Result<PromptRecord> {
    bytes.clear();
    reader.read_until(b'\n', bytes)?;
    let mut prompt: PromptRecord = serde_json::from_slice(bytes)?;
    let mut tokens = [0; size_of::<u64>()];
    reader.read_exact(&mut tokens)?;
    let length = usize::try_from(u64::from_le_bytes(tokens)).map_err(io::Error::other)?;
    bytes.resize(length.saturating_mul(size_of::<TokenId>()), 0);
    reader.read_exact(bytes)?;
    let (ids, _) = bytes.as_chunks();
    prompt.input_ids.extend(ids.iter().map(|id| TokenId::from_le_bytes(*id)));
    Ok(prompt)
}

impl Serialize for PromptSpool {
    /// A list of the prompts without their tokens.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.len))?;
        for prompt in self.prompts().map_err(S::Error::custom)? {
            list.serialize_element(&prompt.map_err(S::Error::custom)?)?;
        }
        list.end()
    }
}

impl fmt::Debug for PromptSpool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PromptSpool").field("len", &self.len).field("in_file", &self.file).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    fn record(number: u32) -> PromptRecord {
        let id = RawValue::from_string(format!("\"é\\n{number}\"")).expect("it is JSON");
        let turn = number.is_multiple_of(2).then_some(3);
        PromptRecord { id, repeat: None, turn, max_out_len: Some(9), input_ids: (0..number % 50).collect() }
    }

    #[test]
    fn prompts_come_back_from_memory_and_from_the_file() {
        for in_memory in [0, 1_000, IN_MEMORY] {
            let mut spool = PromptSpool::new(tempfile::tempfile);
            spool.in_memory = in_memory;
            for number in 0..500 {
                spool.push(&record(number)).expect("there is room");
                // Reading in between changes nothing.
                if number == 250 {
                    assert_eq!(
                        spool
                            .prompts()
                            .expect("it can be read")
                            .nth(3)
                            .expect("it is there")
                            .ok()
                            .and_then(|prompt| prompt.turn),
                        None
                    );
                }
            }
            assert_eq!((spool.len(), spool.longest(), spool.tokens()), (500, 49, 12_250));
            assert_eq!(spool.file.is_some(), in_memory < IN_MEMORY);
            for _ in 0..2 {
                let found: Vec<PromptRecord> = spool.prompts().and_then(Iterator::collect).expect("it can be read");
                let expected: Vec<PromptRecord> = (0..500).map(record).collect();
                assert_eq!(format!("{found:?}"), format!("{expected:?}"));
                let json = serde_json::to_string(&expected).expect("it is JSON");
                assert_eq!(serde_json::to_string(&spool).expect("it is JSON"), json);
            }
        }
    }
}
