//! The sections of a prompt list: which is open, and whether the prompt was cut.

use crate::conversation::{Marker, Section};
use crate::error::{ErrorKind, Result};

/// Whether the prompt goes on, or was cut for the model to continue it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Continue,
    Cut,
}

/// Opens or closes a section; gives the section that is now complete.
pub(super) fn close(marker: &Marker, open: &mut Vec<(Section, usize)>, index: usize) -> Result<Option<Section>> {
    let nested = open.last().is_some_and(|(section, _)| matches!(section, Section::Round | Section::Ice));
    if marker.opens && nested {
        return Err(
            ErrorKind::Sections(format!("a section {:?} cannot begin within a round", marker.section.name())).into()
        );
    }
    // OpenCompass opens the section `end` with a closing marker, and crashes on it.
    if marker.opens || (marker.section == Section::End && open.is_empty()) {
        open.push((marker.section, index));
        return Ok(None);
    }
    match open.pop() {
        Some((section, _)) if section == marker.section => Ok(Some(section)),
        Some((section, start)) => Err(ErrorKind::Sections(format!(
            "the section {:?} ends here, but the one that is open is {:?}, begun by item {start}",
            marker.section.name(),
            section.name()
        ))
        .into()),
        None => {
            Err(ErrorKind::Sections(format!("the section {:?} ends here and never began", marker.section.name()))
                .into())
        }
    }
}
