//! Whether the images, audio and video of a conversation exist.

use crate::conversation::Conversation;
use crate::error::{At, Place, Result};

impl Conversation {
    /// Checks every image, audio and video, see [`crate::conversation::Media::check`].
    pub(crate) fn check_media(&self, files: bool) -> Result<()> {
        self.media().try_for_each(|(message, _, media)| media.check(files).at(Place::Message(message)))
    }
}
