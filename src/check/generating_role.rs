//! Templates that never let the model speak, or not at the right point.

use crate::check::{Findings, Level, Lint, Subject};
use crate::compile::Atom;
use crate::error::Result;
use crate::template::RoleTemplate;

pub(super) const LINT: Lint = Lint {
    code: "generating-role",
    level: Level::Warning,
    about: "No role of the round generates, or more than one, or the wrong one.",
    why: "A prompt list to continue ends where the first role with generate = true begins, and leaves out everything \
        after it. So exactly one role of the round must have it: the model's, which comes after the user's. Without it, \
        the list ends with a turn that is already closed, and the model has nothing to answer. In the wrong place, its \
        last question is lost. Messages end where the assistant's role begins, and are refused if that role does not \
        generate.",
    find,
};

fn find(subject: &Subject, findings: &mut Findings) -> Result<()> {
    if subject.model.meta_template.is_none() {
        return Ok(());
    }
    let roles: Vec<_> = subject.role_templates().collect();
    for (place, role) in roles.iter().filter(|(_, role)| role.generation_prompt.is_some() && !role.generate) {
        let message = format!("generation_prompt has no effect: role {:?} does not generate", role.role);
        let help = "set generate = true for this role, or remove generation_prompt";
        findings.add(format_args!("{place}.generation_prompt"), message, help);
    }
    unlike_begin(subject, findings);
    let (round, reserved) = roles.split_at(subject.roles_in_round());
    for (place, role) in reserved.iter().filter(|(_, role)| role.generate) {
        let message = format!(
            "reserved role {:?} has generate = true, but no prompt ends where a reserved role begins",
            role.role
        );
        findings.add(*place, message, "move it into round, or remove generate");
    }
    let generating: Vec<usize> = (0..round.len()).filter(|&i| round[i].1.generate).collect();
    let Some(&first) = generating.first() else {
        none_generates(subject, round, findings);
        return Ok(());
    };
    for &(place, role) in generating[1..].iter().map(|&i| &round[i]) {
        let message = format!(
            "roles {:?} and {:?} both generate: prompt lists end where {0:?} begins, so {:?} never generates in them",
            round[first].1.role, role.role, role.role
        );
        findings.add(place, message, "keep generate = true only for the model's role");
    }
    before_the_user(subject, round, first, findings);
    Ok(())
}

/// A generation prompt must begin the model's turn, as its `begin` does.
fn unlike_begin(subject: &Subject, findings: &mut Findings) {
    let Some(compiled) = &subject.compiled else { return };
    for (place, role) in subject.roles.iter().zip(&compiled.roles) {
        let Some(prompt) = role.generation_prompt.as_deref().filter(|prompt| !prompt.is_empty()) else { continue };
        let has_token = |atoms: &[Atom]| atoms.iter().any(|atom| matches!(atom, Atom::Token(_)));
        let begins_as = |begin: &[Atom]| has_token(begin) && prompt.starts_with(begin);
        let other = compiled.roles.iter().find(|other| begins_as(&other.begin) && !begins_as(&role.begin));
        let shares_token = role.begin.iter().any(|atom| matches!(atom, Atom::Token(_)) && prompt.contains(atom));
        let message = match other {
            Some(other) => format!("it begins as role {:?} does, so the model continues that role's turn", other.name),
            None if has_token(&role.begin) && !shares_token => {
                format!("it has none of the control tokens with which the turns of role {:?} begin", role.name)
            }
            None => continue,
        };
        let help = "write it as begin, up to where the model goes on, or remove it";
        findings.add(format_args!("{place}.generation_prompt"), message, help);
    }
}

fn none_generates(subject: &Subject, round: &[(&str, &RoleTemplate)], findings: &mut Findings) {
    let help = match subject.speaker("assistant", "BOT").and_then(|role| round.get(role)) {
        Some((place, role)) => format!("set generate = true for {place}, the role {:?}", role.role),
        None => "set generate = true for the model's role".to_owned(),
    };
    let message = "no role of the round has generate = true: prompt lists end with a closed turn, and the model is not asked to answer";
    findings.add("meta_template.round", message, help);
}

/// The role that ends prompts must come after the user's.
fn before_the_user(subject: &Subject, round: &[(&str, &RoleTemplate)], first: usize, findings: &mut Findings) {
    let (place, role) = round[first];
    let Some(user) = subject.speaker("user", "HUMAN").filter(|&user| user < round.len()) else { return };
    let (message, help) = match user.cmp(&first) {
        std::cmp::Ordering::Less => return not_the_assistant(subject, round, first, findings),
        std::cmp::Ordering::Equal => (
            format!(
                "role {:?} has generate = true, but it is the user's role: prompt lists end before their last question",
                role.role
            ),
            "set generate = true for the model's role instead, such as BOT".to_owned(),
        ),
        std::cmp::Ordering::Greater => (
            format!(
                "role {:?} has generate = true but comes before {:?} in the round: prompt lists end before their last question",
                role.role, round[user].1.role
            ),
            format!("put {:?} before {:?} in the round", round[user].1.role, role.role),
        ),
    };
    findings.add(place, message, help);
}

/// The role that ends prompts must be the one that speaks the assistant's messages.
fn not_the_assistant(subject: &Subject, round: &[(&str, &RoleTemplate)], first: usize, findings: &mut Findings) {
    let assistant = subject.compiled.as_ref().and_then(|compiled| compiled.chat_role("assistant"));
    let Some((place, role)) = assistant.and_then(|assistant| round.get(assistant)) else { return };
    if role.generate {
        return;
    }
    let own = round[first].1;
    let message = format!(
        "role {:?} has generate = true, but the assistant's messages are of role {:?}: messages are refused",
        own.role, role.role
    );
    let help = match &role.api_role {
        api_role @ Some(name) if *api_role == own.api_role => {
            format!("only one of them can have api_role = {name:?}: remove it from {place}")
        }
        _ => format!("set generate = true for {place} instead, if that is the model's role"),
    };
    findings.add(round[first].0, message, help);
}
