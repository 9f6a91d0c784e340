//! Memory of conversations whose prompts are built, for the next ones.

use std::sync::{Mutex, MutexGuard, PoisonError};

use metatok::conversation::{ChatMessage, Content, Conversation};

/// Messages whose prompts are built. The next conversations take over their memory: making and freeing that costs more than
/// to fill it.
#[derive(Debug, Default)]
pub(crate) struct Spare(Mutex<Vec<Vec<ChatMessage>>>);

/// How many conversations are spare at most, and of how many bytes each.
const MOST_SPARE: usize = 256;
const MOST_SPARE_BYTES: usize = 1 << 15;

impl Spare {
    /// A conversation whose prompt is built.
    pub(crate) fn put(&self, conversation: Conversation) {
        let Conversation::Messages(messages) = conversation else { return };
        let bytes = |message: &ChatMessage| match &message.content {
            Content::Text(text) => text.capacity(),
            _ => 0,
        };
        if messages.iter().map(bytes).sum::<usize>() > MOST_SPARE_BYTES {
            return;
        }
        let mut all = self.all();
        if all.len() < MOST_SPARE {
            all.push(messages);
        }
    }

    /// The messages of another conversation, to be overwritten.
    pub(crate) fn take(&self) -> Vec<ChatMessage> {
        self.all().pop().unwrap_or_default()
    }

    fn all(&self) -> MutexGuard<'_, Vec<Vec<ChatMessage>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
