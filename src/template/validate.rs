//! What must hold for a template whatever its tokenizer: keys that contradict each other are errors.

use crate::error::{At, ErrorKind, Result};
use crate::template::{EmptyContent, MergeAt, MetaTemplate, RoleTemplate, RoundItem, Trim};

impl MetaTemplate {
    /// Checks what does not need a tokenizer: that no two roles have the same name, and that every role has only keys
    /// that have an effect on it.
    ///
    /// # Errors
    /// [`ErrorKind::DuplicateRole`] with both places, [`ErrorKind::ReservedOnly`] and [`ErrorKind::NoEffect`] for a key
    /// where it means nothing, [`ErrorKind::UnknownMergeInto`].
    pub fn validate(&self) -> Result<()> {
        let roles: Vec<_> = self.roles().collect();
        for (i, (place, role)) in roles.iter().enumerate() {
            let place = format_args!("meta_template.{place}");
            if let Some((first, _)) = roles[..i].iter().find(|(_, other)| other.role == role.role) {
                let error = ErrorKind::DuplicateRole { role: role.role.clone(), first: first.clone() };
                return Err(crate::Error::from(error).at(place));
            }
            self.check_reserved_only(role).at(place)?;
            if let Some(NoEffect { key, why, way_out }) = without_effect(role) {
                return Err(ErrorKind::NoEffect { key, why }.with_way_out(way_out)).at(format_args!("{place}.{key}"));
            }
        }
        Ok(())
    }

    fn check_reserved_only(&self, role: &RoleTemplate) -> Result<()> {
        let in_round = || self.round.iter().filter_map(RoundItem::role).map(|role| role.role.clone());
        if in_round().any(|name| name == role.role) {
            let keys = [
                ("merge_into", role.merge_into.is_some()),
                ("at", role.at != MergeAt::Next),
                ("default_prompt", role.default_prompt),
                ("silent", role.silent),
                ("refuse", role.refuse.is_some()),
            ];
            let wrong = keys.into_iter().find(|(_, is_set)| *is_set);
            return wrong.map_or(Ok(()), |(key, _)| Err(ErrorKind::ReservedOnly(key).into()));
        }
        match &role.merge_into {
            Some(target) if !in_round().any(|name| name == *target) => {
                Err(ErrorKind::UnknownMergeInto { role: target.clone(), known: in_round().collect() }.into())
            }
            _ => Ok(()),
        }
    }
}

/// A key that changes nothing where it is.
struct NoEffect {
    key: &'static str,
    why: &'static str,
    way_out: &'static str,
}

fn without_effect(role: &RoleTemplate) -> Option<NoEffect> {
    let no_effect = |key, why, way_out| Some(NoEffect { key, why, way_out });
    let thinks = role.thoughts.as_ref().is_some_and(|end| !end.is_empty());
    if role.at != MergeAt::Next && role.merge_into.is_none() {
        return no_effect("at", "the role is not merged into another", "remove it, or name that role in merge_into");
    }
    if role.thoughts.is_some() && !role.generate {
        return no_effect(
            "thoughts",
            "only the model thinks, and this is not its role",
            "remove it, or set generate = true",
        );
    }
    if role.thoughts.is_some() && !thinks {
        return no_effect(
            "thoughts",
            "it is empty",
            "write the text that ends thoughts, such as \"</think>\", or remove it",
        );
    }
    if role.last_begin.is_some() && !thinks {
        return no_effect("last_begin", "the role has no thoughts", "remove it, or add thoughts, such as \"</think>\"");
    }
    let (why, way_out) = match (role.silent, &role.refuse) {
        (false, None) => return None,
        (true, None) => ("silent = true leaves the role's messages out", "remove it, or silent"),
        (_, Some(_)) => ("refuse makes the role's messages errors", "remove it, or refuse"),
    };
    of_what_is_written(role).map(|key| NoEffect { key, why, way_out })
}

/// A key for messages that are written. Also where the role has none, the model may speak as it: `generate` and
/// `generation_prompt` have an effect.
fn of_what_is_written(role: &RoleTemplate) -> Option<&'static str> {
    let keys = [
        ("silent", role.silent && role.refuse.is_some()),
        ("begin", !role.begin.is_empty()),
        ("prompt", !role.prompt_text().is_empty()),
        ("end", !role.end.is_empty()),
        ("trim", role.trim != Trim::None),
        ("empty", role.empty != EmptyContent::Written),
        ("merge_into", role.merge_into.is_some()),
        ("default_prompt", role.default_prompt),
        ("thoughts", role.thoughts.is_some()),
        ("last_begin", role.last_begin.is_some()),
    ];
    keys.into_iter().find(|(_, is_set)| *is_set).map(|(key, _)| key)
}
