//! The input of a run, line by line. It is read ahead in a thread of its own, so that nothing under way waits for a slow input.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::vec;

use crate::dataset::Examples;
use crate::error::Error;
use crate::input::{Batches, LineBatch};

/// Takes lines of the batch that is there, and asks for the next one.
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
    /// The end of a batch of so many bytes, and why nothing comes after it.
    Batch(usize, Option<Error>),
    /// Nothing yet: a batch is being read.
    Awaited,
    /// Nothing.
    End,
}

impl LineReader {
    /// Reads a batch whenever one is asked for, and hands it to `deliver`, which returns whether it was wanted. None is the end
    /// of the input. The thread is not waited for: it may be blocked reading a terminal.
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

    /// Takes what was delivered.
    pub(super) fn take(&mut self, batch: Option<LineBatch>) {
        self.is_awaited = false;
        self.is_done = batch.is_none();
        self.lines = batch.map(|mut batch| {
            let examples = std::mem::take(&mut batch.examples).into_iter();
            Lines { batch, next: 0, examples }
        });
    }

    /// Whether a batch was asked for and is not there yet.
    pub(super) fn is_awaited(&self) -> bool {
        self.is_awaited
    }

    pub(super) fn next(&mut self) -> Read<'_> {
        if let Some(ended) = self.lines.take_if(|lines| lines.next == lines.batch.lines.len()) {
            return Read::Batch(ended.batch.size, ended.batch.error);
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
