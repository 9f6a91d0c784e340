//! The contents of one file, downloaded into the cache: all of them, or an error that keeps what came for the next time.

use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind::Unsupported, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use ureq::Body;
use ureq::http::{Response, header};

use crate::error::{ErrorKind, Result};
use crate::tokenizer::hub::cached::Blob;
use crate::tokenizer::hub::failure::{Failure, of_cache};
use crate::tokenizer::hub::server::{Description, Server, header_of, reason};

/// So many attempts in a row may bring nothing; the rest may be as many as it takes.
const FRUITLESS: usize = 2;

/// Downloads the contents, unless they are there.
pub(super) fn fill(server: &Server, url: &str, found: &Description, blob: &Blob) -> std::result::Result<(), Failure> {
    let size = found.size;
    let is_whole = || fs::metadata(&blob.path).is_ok_and(|found| size.is_none_or(|size| size == found.len()));
    if is_whole() {
        return Ok(());
    }
    for folder in [&blob.path, &blob.lock].into_iter().filter_map(|path| path.parent()) {
        of_cache(fs::create_dir_all(folder), folder)?;
    }
    let lock = lock(blob, server.patience() * 6)?;
    if is_whole() {
        return Ok(());
    }
    // Where there are no locks, each process has its own file.
    let own = if lock.is_some() { String::new() } else { format!(".{}", std::process::id()) };
    // Not that of `huggingface_hub`, whose parts may have holes.
    let partial = with_suffix(&blob.path, &format!("{own}.metatok.incomplete"));
    Download::open(server, url, found, &partial)?.finish()?;
    of_cache(fs::rename(&partial, &blob.path), &blob.path)?;
    Ok(())
}

struct Download<'a> {
    server: &'a Server,
    url: &'a str,
    path: &'a Path,
    file: File,
    /// How much is there.
    len: u64,
    size: Option<u64>,
    sha256: Option<&'a str>,
}

impl<'a> Download<'a> {
    fn open(server: &'a Server, url: &'a str, found: &'a Description, path: &'a Path) -> Result<Self> {
        let mut file = of_cache(File::options().create(true).truncate(false).write(true).open(path), path)?;
        let len = of_cache(file.seek(SeekFrom::End(0)), path)?;
        let (size, sha256) = (found.size, found.sha256.as_deref());
        let mut download = Self { server, url, path, file, len, size, sha256 };
        if size.is_some_and(|size| len > size) {
            download.start_over()?;
        }
        Ok(download)
    }

    /// Downloads all of the right contents.
    fn finish(&mut self) -> std::result::Result<(), Failure> {
        self.go_on()?;
        if self.wrong_hash()?.is_none() {
            return Ok(());
        }
        // What was there before may have been of something else.
        self.start_over()?;
        self.go_on()?;
        let Some(found) = self.wrong_hash()? else { return Ok(()) };
        self.start_over()?;
        let expected = self.sha256.unwrap_or_default();
        Err(self.unusable(format!("has the SHA-256 {found}, but the hub says {expected}")))
    }

    /// Goes on as often as it takes, as long as something comes.
    fn go_on(&mut self) -> std::result::Result<(), Failure> {
        let (mut longest, mut fruitless) = (self.len, 0);
        while self.size != Some(self.len) {
            match self.attempt() {
                Err(Failure::Network(why)) => {
                    fruitless = if self.len > longest { 0 } else { fruitless + 1 };
                    longest = longest.max(self.len);
                    if fruitless == FRUITLESS {
                        return Err(Failure::Network(why));
                    }
                }
                done => return done,
            }
        }
        Ok(())
    }

    /// Asks for what is not there yet.
    fn attempt(&mut self) -> std::result::Result<(), Failure> {
        let response = self.server.get(self.url, self.len)?;
        let Some(sent) = Sent::of(&response, self.len) else {
            self.start_over()?;
            return Err(Failure::Network("the answer was of another part of the file".into()));
        };
        if header_of(&response, header::CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
            return Err(self.unusable("comes compressed, which was not asked for".into()));
        }
        if sent.start != self.len {
            // The server ignores that only the rest was asked for.
            self.start_over()?;
        }
        if let (Some(size), Some(total)) = (self.size, sent.total)
            && size != total
        {
            return Err(self.unusable(format!("has {size} bytes, but the answer is of {total}")));
        }
        self.size = self.size.or(sent.total);
        if self.size.is_none() && !sent.is_chunked {
            return Err(self.unusable("comes without its length, so that nothing tells whether it is whole".into()));
        }
        self.copy(response)
    }

    fn copy(&mut self, response: Response<Body>) -> std::result::Result<(), Failure> {
        let mut body = response.into_body().into_reader();
        let mut buffer = vec![0; 1 << 16];
        loop {
            let read = match body.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) => return Err(Failure::Network(reason(error.into()))),
            };
            if self.size.is_some_and(|size| self.len + read as u64 > size) {
                self.start_over()?;
                return Err(self.unusable("is longer than the hub says".into()));
            }
            of_cache(self.file.write_all(&buffer[..read]), self.path)?;
            self.len += read as u64;
        }
        match self.size {
            Some(size) if size != self.len => {
                Err(Failure::Network(format!("it ended after {} of {size} bytes", self.len)))
            }
            _ => Ok(()),
        }
    }

    /// The SHA-256 of what is there, if the hub tells another one.
    fn wrong_hash(&self) -> Result<Option<String>> {
        let Some(expected) = self.sha256 else { return Ok(None) };
        let mut hash = Sha256::new();
        of_cache(File::open(self.path).and_then(|mut file| std::io::copy(&mut file, &mut hash)), self.path)?;
        let found: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Some(found).filter(|found| found != expected))
    }

    fn start_over(&mut self) -> Result<()> {
        self.len = 0;
        of_cache(self.file.set_len(0).and_then(|()| self.file.rewind()), self.path)
    }

    fn unusable(&self, why: String) -> Failure {
        let what = ErrorKind::Hub(format!("{} {why}", self.url));
        what.with_way_out("try again, and check that HF_ENDPOINT is a Hub").into()
    }
}

/// Which part of a file an answer is.
struct Sent {
    start: u64,
    total: Option<u64>,
    is_chunked: bool,
}

impl Sent {
    /// None if it is neither what was asked for nor all of the file.
    fn of(response: &Response<Body>, asked: u64) -> Option<Self> {
        let is_chunked = header_of(response, header::TRANSFER_ENCODING).is_some();
        let number = |text: &str| text.trim().parse().ok();
        match response.status().as_u16() {
            206 => {
                let (range, total) =
                    header_of(response, header::CONTENT_RANGE)?.strip_prefix("bytes ")?.split_once('/')?;
                let start = number(range.split('-').next()?)?;
                (start == asked).then(|| Self { start, total: number(total), is_chunked })
            }
            416 => None,
            _ => {
                let total = header_of(response, header::CONTENT_LENGTH).and_then(number);
                Some(Self { start: 0, total, is_chunked })
            }
        }
    }
}

/// Waits for another process that downloads the same, as long as something comes. None where files cannot be locked.
fn lock(blob: &Blob, patience: Duration) -> Result<Option<File>> {
    let file = of_cache(File::options().create(true).truncate(false).write(true).open(&blob.lock), &blob.lock)?;
    let (mut seen, mut since) = (0, Instant::now());
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) if error.kind() == Unsupported => return Ok(None),
            Err(TryLockError::Error(error)) => return of_cache(Err(error), &blob.lock),
        }
        let now = bytes_beside(&blob.path);
        if now != seen {
            (seen, since) = (now, Instant::now());
        }
        if since.elapsed() > patience {
            let what = format!(
                "another process has locked {} for {} s without downloading anything",
                blob.lock.display(),
                patience.as_secs()
            );
            return Err(ErrorKind::Hub(what).with_way_out("stop that process, or try again when it is done"));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// How much of these contents is there, in files whose names depend on who downloads them.
fn bytes_beside(blob: &Path) -> u64 {
    let name = blob.file_name().unwrap_or_default().to_string_lossy();
    let files = blob.parent().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let of_these = files.filter(|file| file.file_name().to_string_lossy().starts_with(&*name));
    of_these.filter_map(|file| Some(file.metadata().ok()?.len())).sum()
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
