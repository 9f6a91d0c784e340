//! Which messages of a conversation are the last: of all, and of each role.

/// The positions of the last messages. Filled only where a template asks for them.
#[derive(Debug, Default)]
pub(super) struct LastMessages {
    of_all: Option<u32>,
    of_roles: Vec<Option<u32>>,
    /// The role with which the user speaks.
    user: Option<usize>,
}

impl LastMessages {
    /// The last ones among messages in order, each with the role that speaks it.
    pub(super) fn of(user: Option<usize>, roles: usize, messages: impl Iterator<Item = (u32, Option<usize>)>) -> Self {
        let mut last = Self { of_all: None, of_roles: vec![None; roles], user };
        for (index, role) in messages {
            last.of_all = Some(index);
            if let Some(role) = role {
                last.of_roles[role] = Some(index);
            }
        }
        last
    }

    /// Whether it is the last message.
    pub(super) fn is_last(&self, index: u32) -> bool {
        self.of_all == Some(index)
    }

    /// Whether it is the last message of its role.
    pub(super) fn is_last_of(&self, role: usize, index: u32) -> bool {
        self.of_roles.get(role) == Some(&Some(index))
    }

    /// Whether it comes after the user's last message; not if there is none.
    pub(super) fn is_after_user(&self, index: u32) -> bool {
        let last = self.user.and_then(|user| *self.of_roles.get(user)?);
        last.is_some_and(|last| index > last)
    }
}
