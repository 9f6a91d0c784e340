//! The input of a run, line by line. A separate thread reads it, so that open requests do not wait for a slow input.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::vec;

use crate::dataset::Examples;
use crate::error::Error;
use crate::input::{Batches, LineBatch};

/// Hands out the lines of the current batch, and asks for the next batch.
pub(super) struct LineReader {
    lines: Option<Lines>,
    /// Asks for a further batch.
    more: SyncSender<()>,
    is_awaited: bool,
    is_done: bool,
}

/// A batch whose lines are being taken.
struct Lines {
    batch: LineBatch,
    next: usize,
    examples: vec::IntoIter<Examples>,
}

/// What comes next in the input.
pub(super) enum Read<'b> {
    /// The line with this index in a batch.
    Line(&'b LineBatch, usize, Examples),
    /// The end of a batch, with the error if it ends the input.
    Batch(Option<Error>),
    /// Nothing yet: the next batch is being read.
    Awaited,
    /// Nothing.
    End,
}

impl LineReader {
    /// Reads a batch whenever one is requested, and passes it to `deliver`, which returns whether to go on. None is the
    /// end of the input. Nothing waits for the thread to end: it may be blocked reading a terminal.
    pub(super) fn start(mut batches: Batches, deliver: impl Fn(Option<LineBatch>) -> bool + Send + 'static) -> Self {
        let (more, asked) = sync_channel::<()>(1);
        thread::spawn(move || {
            while asked.recv().is_ok() {
                let batch = batches();
                let is_last = batch.is_none();
                if !deliver(batch) || is_last {
                    return;
                }
            }
        });
        Self { lines: None, more, is_awaited: false, is_done: false }
    }

    /// Takes a delivered batch.
    pub(super) fn take(&mut self, batch: Option<LineBatch>) {
        self.is_awaited = false;
        self.is_done = batch.is_none();
        self.lines = batch.map(|mut batch| {
            let examples = std::mem::take(&mut batch.examples).into_iter();
            Lines { batch, next: 0, examples }
        });
    }

    /// Whether all lines are taken, and there is no further batch.
    pub(super) fn is_at_end(&self) -> bool {
        self.is_done && self.lines.is_none()
    }

    /// Whether a batch was requested and has not arrived.
    pub(super) fn is_awaited(&self) -> bool {
        self.is_awaited
    }

    pub(super) fn next(&mut self) -> Read<'_> {
        if let Some(ended) = self.lines.take_if(|lines| lines.next == lines.batch.lines.len()) {
            return Read::Batch(ended.batch.error);
        }
        match &mut self.lines {
            Some(Lines { batch, next, examples }) => {
                *next += 1;
                Read::Line(batch, *next - 1, examples.next().unwrap_or_default())
            }
            None if self.is_done => Read::End,
            None => {
                if !std::mem::replace(&mut self.is_awaited, true) {
                    // The reader takes one at a time, and waits for it.
                    let _ = self.more.send(());
                }
                Read::Awaited
            }
        }
    }
}
