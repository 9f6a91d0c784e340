//! Whether the images, audio and video of a conversation exist.

use crate::conversation::Conversation;
use crate::error::{At, Place, Result};

/// Checks every image, audio and video, see [`crate::conversation::Media::check`].
pub(super) fn check_media(conversation: &Conversation, files: bool) -> Result<()> {
    let mut media = conversation.media();
    media.try_for_each(|(message, _, media)| media.check(files).at(Place::Message(message)))
}
