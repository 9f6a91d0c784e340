//! The sections of a prompt list: which one is open, and whether the prompt was cut.

use crate::conversation::{Item, Marker, Section};
use crate::error::{Error, ErrorKind, Place, Result};

/// Whether the prompt goes on, or was cut so that the model continues it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Continue,
    Cut,
}

/// The error of a message that no section has.
pub(super) fn outside_every_section(role: &str) -> ErrorKind {
    ErrorKind::Sections(format!(
        "the message of role {role:?} is outside every section; put {{\"section\": \"round\", \"pos\": \"begin\"}} before it and a marker with \"end\" after it"
    ))
}

/// Opens or closes a section by the marker at `index`, and returns the section that is now complete.
///
/// OpenCompass opens a section within a round, and stops with a KeyError when that round closes; in a prompt to
/// continue it never closes it if a round within it is cut. The earlier messages of the outer round would then be lost
/// silently, so this is an error here.
pub(super) fn close(
    marker: &Marker,
    items: &[Item],
    open: &mut Vec<(Section, usize)>,
    index: usize,
) -> Result<Option<Section>> {
    let within_round = open.last().is_some_and(|(section, _)| is_round(*section));
    if marker.opens && within_round && has_said(&items[..index]) {
        let name = marker.section.name();
        let what =
            format!("a section {name:?} cannot begin in a round that has messages already; close the round before it");
        return Err(ErrorKind::Sections(what).into());
    }
    // OpenCompass opens the section `end` with a closing marker, and crashes on it.
    if marker.opens || (marker.section == Section::End && open.is_empty()) {
        open.push((marker.section, index));
        return Ok(None);
    }
    match open.pop() {
        Some((section, _)) if section == marker.section && !is_round(section) => Ok(Some(section)),
        Some((section, start)) if section == marker.section => {
            let within = (start + 1..index).find_map(|at| match &items[at] {
                Item::Marker(marker) => Some((marker.section.name(), at)),
                _ => None,
            });
            let Some((name, at)) = within else { return Ok(Some(section)) };
            let what = format!(
                "the {:?} that ends here contains a section {name:?}, begun by item {at}; close that one first",
                section.name()
            );
            Err(ErrorKind::Sections(what).into())
        }
        Some((section, start)) => Err(ErrorKind::Sections(format!(
            "the section {:?} ends here, but the open section is {:?}, begun by item {start}",
            marker.section.name(),
            section.name()
        ))
        .into()),
        None => {
            Err(ErrorKind::Sections(format!("the section {:?} ends here but never began", marker.section.name()))
                .into())
        }
    }
}

/// Checks that every section was closed.
///
/// OpenCompass leaves out what an open round has. Nothing is left out silently here.
pub(super) fn check_closed(open: &[(Section, usize)]) -> Result<()> {
    match open.first() {
        None => Ok(()),
        Some((section, at)) => {
            let what = format!("the section {:?} that begins here has no end", section.name());
            Err(Error::from(ErrorKind::Sections(what)).at(Place::Item(*at)))
        }
    }
}

/// The rounds of what is said in a section, and whether each is the last one; a single empty one if nothing is said.
///
/// A round begins with every message whose position, which is that of its role, is not after the one before.
pub(super) fn rounds<T>(said: &[T], position: impl Fn(&T) -> usize) -> impl Iterator<Item = (&[T], bool)> {
    let mut rest = Some(said);
    std::iter::from_fn(move || {
        let said = rest?;
        let last = said.windows(2).position(|pair| position(&pair[1]) <= position(&pair[0]));
        let (round, after) = said.split_at(last.map_or(said.len(), |last| last + 1));
        rest = (!after.is_empty()).then_some(after);
        Some((round, rest.is_none()))
    })
}

fn is_round(section: Section) -> bool {
    matches!(section, Section::Round | Section::Ice)
}

/// Whether a message follows the last marker.
fn has_said(items: &[Item]) -> bool {
    let since = items.iter().rev().take_while(|item| !matches!(item, Item::Marker(_)));
    since.into_iter().any(|item| matches!(item, Item::Message(_)))
}
