//! Templates that never let the model speak, or not at the right point.

use crate::check::{Findings, Level, Lint, Subject};
use crate::error::Result;
use crate::template::RoleTemplate;

pub(super) const LINT: Lint = Lint {
    code: "generating-role",
    level: Level::Warning,
    about: "No role of the round generates, or more than one, or the wrong one.",
    why: "A prompt to continue ends where the role with generate = true begins, and leaves out what comes behind. So one \
          role of the round must have it: the model's, behind the user's. Without it prompts end with a turn that is closed \
          already, and the model answers nothing; in the wrong place they lose the last question.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    if subject.model.meta_template.is_none() {
        return Ok(());
    }
    let roles: Vec<_> = subject.role_templates().collect();
    for (place, role) in roles.iter().filter(|(_, role)| role.generation_prompt.is_some() && !role.generate) {
        let message = format!("generation_prompt says nothing here: role {:?} does not generate", role.role);
        let help = "write generate = true beside it, or leave it out";
        findings.add(format_args!("{place}.generation_prompt"), message, help);
    }
    let (round, reserved) = roles.split_at(subject.roles_in_round());
    for (place, role) in reserved.iter().filter(|(_, role)| role.generate) {
        let message = format!("role {:?} generates, and is a reserved role: no prompt ends where it begins", role.role);
        findings.add(*place, message, "move it into round, or leave generate out");
    }
    let generating: Vec<usize> = (0..round.len()).filter(|&i| round[i].1.generate).collect();
    let Some(&first) = generating.first() else {
        none_generates(subject, round, findings);
        return Ok(());
    };
    for &(place, role) in generating[1..].iter().map(|&i| &round[i]) {
        let message = format!(
            "roles {:?} and {:?} both generate: every prompt ends where {0:?} begins, and {:?} is never asked",
            round[first].1.role, role.role, role.role
        );
        findings.add(place, message, "leave generate = true at the model's role only");
    }
    before_the_user(subject, round, first, findings);
    Ok(())
}

fn none_generates(subject: &Subject, round: &[(&str, &RoleTemplate)], findings: &mut Findings) {
    let help = match subject.speaker("assistant", "BOT").and_then(|role| round.get(role)) {
        Some((place, role)) => format!("write generate = true at {place}, the role {:?}", role.role),
        None => "write generate = true at the role that the model plays".to_owned(),
    };
    let message =
        "no role of the round generates: prompts end with a closed turn, and the model is not asked to answer";
    findings.add("meta_template.round", message, help);
}

/// The role that ends prompts must come after the user's.
fn before_the_user(subject: &Subject, round: &[(&str, &RoleTemplate)], first: usize, findings: &mut Findings) {
    let (place, role) = round[first];
    let Some(user) = subject.speaker("user", "HUMAN").filter(|&user| user < round.len()) else { return };
    let (message, help) = match user.cmp(&first) {
        std::cmp::Ordering::Less => return,
        std::cmp::Ordering::Equal => (
            format!("role {:?} generates, and the user speaks by it: prompts end before the last question", role.role),
            "write generate = true at the model's role instead, such as BOT".to_owned(),
        ),
        std::cmp::Ordering::Greater => (
            format!(
                "role {:?} generates and stands before {:?} in the round: prompts end before the last question",
                role.role, round[user].1.role
            ),
            format!("let {:?} stand before {:?} in the round", round[user].1.role, role.role),
        ),
    };
    findings.add(place, message, help);
}
