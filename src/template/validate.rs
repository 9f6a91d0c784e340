//! What must hold for a template whatever its tokenizer: keys that contradict each other are errors.

use crate::error::{At, ErrorKind, Result};
use crate::template::{MetaTemplate, RoleTemplate, RoundItem};

impl MetaTemplate {
    /// Checks what does not need a tokenizer: that no two roles have the same name, and that only reserved roles have
    /// `merge_into` or `default_prompt`.
    ///
    /// # Errors
    /// [`ErrorKind::DuplicateRole`] with both places; [`ErrorKind::Usage`] for the latter.
    pub fn validate(&self) -> Result<()> {
        let roles: Vec<_> = self.roles().collect();
        for (i, (place, role)) in roles.iter().enumerate() {
            let place = format_args!("meta_template.{place}");
            if let Some((first, _)) = roles[..i].iter().find(|(_, other)| other.role == role.role) {
                let error = ErrorKind::DuplicateRole { role: role.role.clone(), first: first.clone() };
                return Err(crate::Error::from(error).at(place));
            }
            self.check_reserved_only(role).at(place)?;
        }
        Ok(())
    }

    fn check_reserved_only(&self, role: &RoleTemplate) -> Result<()> {
        let in_round = || self.round.iter().filter_map(RoundItem::role).map(|role| role.role.clone());
        if in_round().any(|name| name == role.role) {
            return match (&role.merge_into, role.default_prompt) {
                (None, false) => Ok(()),
                (Some(_), _) => Err(ErrorKind::ReservedOnly("merge_into").into()),
                (None, true) => Err(ErrorKind::ReservedOnly("default_prompt").into()),
            };
        }
        match &role.merge_into {
            Some(target) if !in_round().any(|name| name == *target) => {
                Err(ErrorKind::UnknownMergeInto { role: target.clone(), known: in_round().collect() }.into())
            }
            _ => Ok(()),
        }
    }
}
