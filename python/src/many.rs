//! Many conversations on all cores: Python's objects are read on this thread, and others build meanwhile.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use metatok::Session;
use metatok::error::{At, Place, Result};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::at_least_one::Threads;
use crate::conversation::{Reader, Said};
use crate::error::exception;
use crate::shared::Shared;

/// How many conversations a thread takes at once.
const CHUNK: usize = 32;

/// How often it is asked whether the user wants to stop.
const ASKED: Duration = Duration::from_millis(50);

/// Conversations for a thread, with the number of the first.
type Chunk<C> = (usize, Vec<C>);

/// What became of a chunk, with the number of its first conversation.
type Built<T> = (usize, Result<Vec<T>>);

/// Python's objects as conversations, one by one, of which the first has this number.
pub(crate) fn of_objects<'a>(
    objects: &'a Bound<'_, PyAny>,
    first: usize,
    shared: &Shared,
    reader: &'a mut Reader<'_>,
) -> PyResult<impl Iterator<Item = PyResult<Said>> + 'a> {
    // Only a list and its like say how many they are.
    let count = objects.len().unwrap_or_default();
    objects.py().detach(|| shared.expect(count));
    let objects = (first..).zip(objects.try_iter()?);
    Ok(objects.map(|(i, object)| reader.object(&object?, Place::Conversation(i))))
}

/// Builds every conversation with `build`, on this many threads, and returns the results in order. `start` is the number of
/// the first one, for errors. The conversations are made on this thread.
///
/// # Errors
/// That of the first conversation that fails, or cannot be made; `KeyboardInterrupt`.
pub(crate) fn build_many<C: Send + Sync, T: Send>(
    py: Python<'_>,
    conversations: impl Iterator<Item = PyResult<C>>,
    start: usize,
    shared: &Shared,
    threads: Option<Threads>,
    build: impl Fn(&mut Session, C) -> Result<T> + Sync,
) -> PyResult<Vec<T>> {
    let mut chunks = Chunks { conversations, py, next: start, failed: None };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.map_or(cores, |threads| threads.get().get().min(cores));
    let work = Work { shared, build: &build, failed: AtomicUsize::new(usize::MAX) };
    let Some(first) = chunks.read() else { return chunks.failed.map_or(Ok(Vec::new()), Err) };
    if threads == 1 || first.1.len() < CHUNK {
        return work.alone(py, first, &mut chunks);
    }
    let (to_work, chunk) = sync_channel(2 * threads);
    let (to_us, mut built) = channel();
    let chunk = Arc::new(Mutex::new(chunk));
    let mut results = Vec::new();
    thread::scope(|scope| {
        for number in 0..threads {
            let (work, chunk, to_us) = (&work, Arc::clone(&chunk), to_us.clone());
            let started = thread::Builder::new().spawn_scoped(scope, move || work.take(&chunk, &to_us));
            match started {
                Err(error) if number == 0 => {
                    let what = format!("the system refuses to start a thread: {error}");
                    return Err(exception(py, &io::Error::new(error.kind(), what).into()));
                }
                // One is enough.
                Err(_) => break,
                Ok(_) => {}
            }
        }
        // Only the other threads have these: if all were gone, nothing would wait for them.
        drop((chunk, to_us));
        let given = work.give(py, first, &mut chunks, to_work);
        let finished = given.and_then(|()| wait(py, &mut built, &mut results));
        if finished.is_err() {
            work.failed.store(0, Ordering::Relaxed);
        }
        finished
    })?;
    results.sort_unstable_by_key(|(first, _)| *first);
    let mut all = Vec::with_capacity(chunks.next - start);
    for (_, built) in results {
        all.extend(built.map_err(|error| exception(py, &error))?);
    }
    chunks.failed.map_or(Ok(all), Err)
}

/// Conversations, made chunk by chunk.
struct Chunks<'py, I> {
    conversations: I,
    py: Python<'py>,
    next: usize,
    /// Why the next one cannot be made. Those before it may fail first.
    failed: Option<PyErr>,
}

impl<C, I: Iterator<Item = PyResult<C>>> Chunks<'_, I> {
    /// The next chunk; none at the end, or where one cannot be made.
    fn read(&mut self) -> Option<Chunk<C>> {
        let first = self.next;
        let mut chunk = Vec::with_capacity(CHUNK);
        while chunk.len() < CHUNK && self.failed.is_none() {
            match self.conversations.next() {
                Some(Ok(said)) => {
                    chunk.push(said);
                    self.next += 1;
                }
                Some(Err(error)) => self.failed = Some(at(self.py, error, self.next)),
                None => break,
            }
        }
        Some((first, chunk)).filter(|(_, chunk)| !chunk.is_empty())
    }
}

/// Says of which conversation an exception is, which has none yet.
pub(crate) fn at(py: Python<'_>, error: PyErr, number: usize) -> PyErr {
    let value = error.value(py);
    match value.getattr("_at_conversation").and_then(|at| at.call1((number,))) {
        Ok(value) => PyErr::from_value(value),
        Err(_) if error.is_instance_of::<PyTypeError>(py) => {
            PyTypeError::new_err(format!("conversation {number}: {value}"))
        }
        // Another one of Python's own. Python 3.10 has no notes.
        Err(_) => {
            let _ = value.call_method1("add_note", (format!("conversation {number}"),));
            error
        }
    }
}

/// What all threads do.
struct Work<'a, C, T> {
    shared: &'a Shared,
    build: &'a (dyn Fn(&mut Session, C) -> Result<T> + Sync),
    /// The first conversation of the first chunk that failed: nothing after it is built.
    failed: AtomicUsize,
}

impl<C: Send + Sync, T: Send> Work<'_, C, T> {
    /// Builds on this thread, and lets the interpreter's lock go meanwhile.
    fn alone<I: Iterator<Item = PyResult<C>>>(
        &self,
        py: Python<'_>,
        mut chunk: Chunk<C>,
        chunks: &mut Chunks<'_, I>,
    ) -> PyResult<Vec<T>> {
        let (mut all, mut session) = (Vec::new(), self.shared.builder.session());
        loop {
            let built = py.detach(|| self.build(&mut session, chunk));
            all.extend(built.map_err(|error| exception(py, &error))?);
            py.check_signals()?;
            match chunks.read() {
                Some(next) => chunk = next,
                None => return chunks.failed.take().map_or(Ok(all), Err),
            }
        }
    }

    /// Gives every chunk to the other threads.
    fn give<I: Iterator<Item = PyResult<C>>>(
        &self,
        py: Python<'_>,
        mut chunk: Chunk<C>,
        chunks: &mut Chunks<'_, I>,
        to_work: SyncSender<Chunk<C>>,
    ) -> PyResult<()> {
        loop {
            if let Err(TrySendError::Full(chunk)) = to_work.try_send(chunk) {
                // It only fails if all threads are gone, which the results then say.
                let _ = py.detach(|| to_work.send(chunk));
                py.check_signals()?;
            }
            match chunks.read() {
                Some(next) if self.failed.load(Ordering::Relaxed) == usize::MAX => chunk = next,
                _ => return Ok(()),
            }
        }
    }

    /// Builds what comes, on a thread of its own.
    fn take(&self, chunks: &Mutex<Receiver<Chunk<C>>>, to_us: &Sender<Built<T>>) {
        let mut session = self.shared.builder.session();
        loop {
            let next = chunks.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(chunk) = next else { return };
            let first = chunk.0;
            if self.failed.load(Ordering::Relaxed) < first {
                continue;
            }
            let built = self.build(&mut session, chunk);
            if built.is_err() {
                self.failed.fetch_min(first, Ordering::Relaxed);
            }
            if to_us.send((first, built)).is_err() {
                return;
            }
        }
    }

    fn build(&self, session: &mut Session, (first, chunk): Chunk<C>) -> Result<Vec<T>> {
        self.shared.count(chunk.len());
        let conversations = (first..).zip(chunk);
        conversations.map(|(i, said)| (self.build)(session, said).at(Place::Conversation(i))).collect()
    }
}

/// Waits for all results, and asks now and then whether the user wants to stop.
fn wait<T: Send>(py: Python<'_>, built: &mut Receiver<Built<T>>, results: &mut Vec<Built<T>>) -> PyResult<()> {
    loop {
        let until = Instant::now() + ASKED;
        let (built, results) = (&mut *built, &mut *results);
        let is_done = py.detach(move || {
            loop {
                match built.recv_timeout(until.saturating_duration_since(Instant::now())) {
                    Ok(result) => results.push(result),
                    Err(RecvTimeoutError::Timeout) => return false,
                    Err(RecvTimeoutError::Disconnected) => return true,
                }
            }
        });
        if is_done {
            return Ok(());
        }
        py.check_signals()?;
    }
}
