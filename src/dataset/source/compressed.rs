//! Compressed files, recognized by their first bytes whatever their name.

use std::io::{self, BufRead, Cursor, Read};

use crate::dataset::source::fill;
use crate::dataset::source::later::Later;

/// How data is compressed.
#[derive(Clone, Copy)]
enum Format {
    Gzip,
    Zstd,
    /// In a way that is not read here, with the program that unpacks it to its standard output.
    Other(&'static str),
    /// Files in one, as those of spreadsheets are.
    Archive,
}

/// The first bytes of each format.
const MAGICS: [(&[u8], Format); 5] = [
    (b"\x1f\x8b", Format::Gzip),
    (b"\x28\xb5\x2f\xfd", Format::Zstd),
    (b"\xfd7zXZ\0", Format::Other("xz -dc")),
    (b"PK\x03\x04", Format::Archive),
    // The second half begins the first block.
    (b"BZh91AY&SY", Format::Other("bzip2 -dc")),
];

/// The first bytes of Zstandard's frames without data, which parallel tools write first, but for the first one.
const SKIPPABLE: [u8; 3] = [0x2A, 0x4D, 0x18];

/// The extensions of compressed files, which come after that of the format.
pub(crate) const ENDINGS: [&str; 3] = ["gz", "zst", "zstd"];

/// Decompresses compressed data, and leaves other data unchanged. Nothing is read in advance.
pub(crate) fn decompressed(reader: impl BufRead + Send + 'static) -> Box<dyn BufRead + Send> {
    Box::new(Later::new(|| open(Box::new(reader))))
}

type Reader = Box<dyn BufRead + Send>;

fn open(mut reader: Reader) -> io::Result<Reader> {
    let skippable: Vec<[u8; 4]> =
        (0x50..=0x5F).map(|first| [first, SKIPPABLE[0], SKIPPABLE[1], SKIPPABLE[2]]).collect();
    let skippable = skippable.iter().map(|magic| (&magic[..], Format::Zstd));
    let magics: Vec<(&[u8], Format)> = MAGICS.into_iter().chain(skippable).collect();
    let longest = magics.iter().map(|(magic, _)| magic.len()).max().unwrap_or_default();
    let mut head = Vec::new();
    loop {
        let available = fill(&mut reader)?;
        let begins = [&head, &available[..available.len().min(longest)]].concat();
        let may_be = |(magic, _): &(&[u8], Format)| begins.len() < magic.len() && magic.starts_with(&begins);
        // A pipe may return one byte at a time. This waits only for bytes that can decide the format.
        if available.is_empty() || !magics.iter().any(may_be) {
            let format = magics.iter().find(|(magic, _)| begins.starts_with(magic)).map(|(_, format)| *format);
            return decoded(format, Cursor::new(head).chain(reader));
        }
        let read = available.len();
        head = begins;
        reader.consume(read);
    }
}

fn decoded(format: Option<Format>, whole: impl BufRead + Send + 'static) -> io::Result<Reader> {
    match format {
        Some(Format::Gzip) => gzip(whole),
        Some(Format::Zstd) => zstd(whole),
        Some(Format::Other(program)) => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!("this is compressed in a way that metatok does not read; pipe it in from `{program}`"),
        )),
        Some(Format::Archive) => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this is a ZIP archive; pipe in one of its files from `unzip -p`, or if it is a spreadsheet, save it as CSV in UTF-8",
        )),
        None => Ok(Box::new(whole)),
    }
}

#[cfg(not(feature = "compression"))]
fn gzip(_: impl BufRead + Send + 'static) -> io::Result<Reader> {
    Err(unsupported("gzip"))
}

#[cfg(not(feature = "compression"))]
fn zstd(_: impl BufRead + Send + 'static) -> io::Result<Reader> {
    Err(unsupported("zstd"))
}

#[cfg(not(feature = "compression"))]
fn unsupported(tool: &str) -> io::Error {
    io::Error::other(format!(
        "this is compressed, and this metatok is built without the feature compression; decompress it first, for example with {tool} -d"
    ))
}

#[cfg(feature = "compression")]
fn gzip(reader: impl BufRead + Send + 'static) -> io::Result<Reader> {
    let reader = Named { reader: members::Members::new(reader), what: "gzip" };
    Ok(Box::new(io::BufReader::with_capacity(1 << 16, reader)))
}

#[cfg(feature = "compression")]
fn zstd(reader: impl BufRead + Send + 'static) -> io::Result<Reader> {
    let reader = Named { reader: frames::Frames::new(reader), what: "Zstandard" };
    Ok(Box::new(io::BufReader::with_capacity(1 << 16, reader)))
}

/// Names the compressed format in errors.
#[cfg(feature = "compression")]
struct Named<R> {
    reader: R,
    what: &'static str,
}

#[cfg(feature = "compression")]
impl<R: Read> Read for Named<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buffer).map_err(|error| {
            let what = self.what;
            match error.kind() {
                io::ErrorKind::Interrupted => error,
                io::ErrorKind::UnexpectedEof => {
                    io::Error::new(error.kind(), format!("the {what} file is truncated: it ends before its data does"))
                }
                kind => io::Error::new(kind, format!("the {what} file cannot be read: {error}")),
            }
        })
    }
}

/// What is wrong where something other than compressed data follows.
#[cfg(feature = "compression")]
const OTHER_DATA: &str = "there is other data after its end";

#[cfg(feature = "compression")]
mod members {
    use std::io::{self, BufRead, Read};

    use flate2::bufread::GzDecoder;

    /// Gzip's members one after the other, as parallel tools write them. Zeros after one are no data, as for `gzip`.
    pub(super) struct Members<R> {
        open: Option<GzDecoder<R>>,
    }

    impl<R: BufRead> Members<R> {
        pub(super) fn new(reader: R) -> Self {
            Self { open: Some(GzDecoder::new(reader)) }
        }
    }

    impl<R: BufRead> Read for Members<R> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            while let Some(member) = &mut self.open {
                let read = member.read(buffer)?;
                if read > 0 || buffer.is_empty() {
                    return Ok(read);
                }
                let has_next = next(member.get_mut())?;
                self.open = self.open.take().filter(|_| has_next).map(|member| GzDecoder::new(member.into_inner()));
            }
            Ok(0)
        }
    }

    /// Whether there is another member.
    fn next(reader: &mut impl BufRead) -> io::Result<bool> {
        loop {
            let available = reader.fill_buf()?;
            let zeros = available.iter().take_while(|byte| **byte == 0).count();
            match available.get(zeros) {
                Some(0x1f) => {
                    reader.consume(zeros);
                    return Ok(true);
                }
                Some(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, super::OTHER_DATA)),
                None if zeros == 0 => return Ok(false),
                None => reader.consume(zeros),
            }
        }
    }
}

#[cfg(feature = "compression")]
mod frames {
    use std::io::{self, BufRead, Read};

    use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
    use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

    /// Zstandard's frames one after the other, as parallel tools write them.
    pub(super) struct Frames<R> {
        reader: R,
        decoder: FrameDecoder,
        is_open: bool,
    }

    /// What no frame begins with.
    fn other_data() -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, super::OTHER_DATA)
    }

    impl<R: BufRead> Frames<R> {
        pub(super) fn new(reader: R) -> Self {
            Self { reader, decoder: FrameDecoder::new(), is_open: false }
        }

        /// Whether there is another frame.
        fn open(&mut self) -> io::Result<bool> {
            while !self.is_open {
                match self.reader.fill_buf()?.first() {
                    None => return Ok(false),
                    Some(0x28 | 0x50..=0x5f) => {}
                    Some(_) => return Err(other_data()),
                }
                match self.decoder.reset(&mut self.reader) {
                    Ok(()) => self.is_open = true,
                    Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                        length, ..
                    })) => {
                        let length = u64::from(length);
                        let skipped = io::copy(&mut (&mut self.reader).take(length), &mut io::sink())?;
                        if skipped < length {
                            return Err(io::ErrorKind::UnexpectedEof.into());
                        }
                    }
                    Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::BadMagicNumber(_))) => {
                        return Err(other_data());
                    }
                    Err(error) => return Err(self.failed(error)),
                }
            }
            Ok(true)
        }

        /// The file probably ended early.
        fn failed(&mut self, error: FrameDecoderError) -> io::Error {
            match self.reader.fill_buf() {
                Ok([]) => io::ErrorKind::UnexpectedEof.into(),
                Ok(_) => match error {
                    FrameDecoderError::WindowSizeTooBig { requested, .. } => io::Error::new(
                        io::ErrorKind::OutOfMemory,
                        format!("it needs {} MiB at once; pipe it in from zstd -dc --long=31", requested >> 20),
                    ),
                    FrameDecoderError::DictNotProvided { .. } => {
                        io::Error::new(io::ErrorKind::Unsupported, "it needs a dictionary; pipe it in from zstd -dc -D")
                    }
                    _ => io::Error::new(io::ErrorKind::InvalidData, "its data does not match its checks"),
                },
                Err(error) => error,
            }
        }
    }

    impl<R: BufRead> Read for Frames<R> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if buffer.is_empty() {
                return Ok(0);
            }
            while self.open()? {
                let read = self.decoder.read(buffer)?;
                if read > 0 {
                    return Ok(read);
                }
                if self.decoder.is_finished() {
                    self.is_open = false;
                    let declared = self.decoder.get_checksum_from_data();
                    if declared.is_some() && declared != self.decoder.get_calculated_checksum() {
                        return Err(io::Error::new(io::ErrorKind::InvalidData, "its data does not match its checksum"));
                    }
                    continue;
                }
                if let Err(error) = self.decoder.decode_blocks(&mut self.reader, BlockDecodingStrategy::UptoBlocks(1)) {
                    return Err(self.failed(error));
                }
            }
            Ok(0)
        }
    }
}
