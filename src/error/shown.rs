//! An error or a warning as one line of text.

use std::fmt::{self, Display};

use crate::error::{Place, SettingName, WayOut, place};

/// The places, what is wrong there, and the way out, in one line.
pub(super) struct Shown<'a, M> {
    pub(super) places: &'a [Place],
    pub(super) message: M,
    pub(super) way_out: Option<&'a WayOut>,
    pub(super) name: &'a SettingName<'a>,
}

impl<M: Display> Display for Shown<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        place::write_all(self.places, f, self.name)?;
        write!(f, "{}", self.message)?;
        self.way_out.map_or(Ok(()), |way_out| write!(f, "; {}", way_out.display_with(self.name)))
    }
}
