//! A model's answer as a message of the dialogue: up to the first stop, and optionally without its thoughts.

use crate::builder::PromptBuilder;
use crate::conversation::{Content, ContentPart, END_OF_THOUGHTS};
use crate::error::Result;
use crate::stop::Stop;
use crate::tokenizer::{TokenId, Tokenizer};
use crate::turns::thoughts::without_thoughts;

/// What becomes of reserved tokens in an answer if the template works on text.
#[derive(Clone, Copy)]
pub(super) enum ReservedTokens {
    /// They stay, as ids between the text.
    Kept,
    /// They are left out, as systems do that decode each answer.
    LeftOut,
}

/// The content of an answer with these ids, and how many of them were read: up to the first stop, which ends it. It may be
/// `stop`, which only the engine knows.
///
/// # Errors
/// Names an id before the stop that is outside the vocabulary.
pub(super) fn read(
    builder: &PromptBuilder,
    ids: &[TokenId],
    stop: Option<&Stop>,
    strip_thoughts: bool,
    reserved: ReservedTokens,
) -> Result<(Content, usize)> {
    let trimmer = builder.trimmer()?;
    let trimmer = if let Some(stop) = stop { trimmer.with_stop(stop)? } else { trimmer };
    let end = trimmer.end(ids)?;
    let (said, begun) = (&ids[..end.tokens], trimmer.begun_token(ids, end)?);
    let said = if strip_thoughts { said_after_thoughts(builder, said)? } else { ContentPart::Ids(said.to_vec()) };
    let content = match said {
        ContentPart::Ids(ids) if !builder.writes_ids() => match reserved {
            ReservedTokens::Kept => as_text(builder, &ids)?,
            ReservedTokens::LeftOut => Content::Text(builder.tokenizer().decode(&ids, true)?),
        },
        ContentPart::Text(part) if !builder.writes_ids() => Content::Text(part.text),
        part => Content::Parts(vec![part]),
    };
    Ok((followed_by(content, begun), end.read))
}

/// What an answer says that is given as text: up to the first stop, as `trim` cuts it.
pub(super) fn read_text<'t>(builder: &PromptBuilder, text: &'t str, strip_thoughts: bool) -> &'t str {
    let said = builder.stop().before_in(text, builder.tokenizer());
    if strip_thoughts { without_thoughts(said) } else { said }
}

fn followed_by(content: Content, text: String) -> Content {
    match content {
        content if text.is_empty() => content,
        Content::Text(said) => Content::Text(said + &text),
        Content::Parts(mut parts) => {
            parts.push(ContentPart::text(text));
            Content::Parts(parts)
        }
        Content::Null => Content::Text(text),
    }
}

/// The text of ids, in which reserved tokens stay ids: as text they would be content, which gives none.
fn as_text(builder: &PromptBuilder, ids: &[TokenId]) -> Result<Content> {
    let tokenizer = builder.tokenizer();
    let is_reserved = |id: &TokenId| builder.is_reserved(*id) && tokenizer.added_token(*id).is_some();
    if !ids.iter().any(is_reserved) {
        return Ok(Content::Text(tokenizer.decode(ids, false)?));
    }
    let (mut parts, mut before) = (Vec::new(), &[][..]);
    for run in ids.chunk_by(|left, right| !is_reserved(left) && !is_reserved(right)) {
        parts.push(match run {
            [id] if is_reserved(id) => ContentPart::Ids(vec![*id]),
            _ => ContentPart::text(text_after(tokenizer, before, run)?),
        });
        before = run;
    }
    Ok(Content::Parts(parts))
}

/// The text of ids after others: some decoders take a space off the begin of what they decode.
fn text_after(tokenizer: &Tokenizer, before: &[TokenId], ids: &[TokenId]) -> Result<String> {
    let (head, whole) = (tokenizer.decode(before, false)?, tokenizer.decode(&[before, ids].concat(), false)?);
    match whole.strip_prefix(&head) {
        Some(text) => Ok(text.to_owned()),
        None => tokenizer.decode(ids, false),
    }
}

/// The content of ids after the model's thoughts: as ids if the end of thoughts is a token, else as text.
fn said_after_thoughts(builder: &PromptBuilder, said: &[TokenId]) -> Result<ContentPart> {
    let tokenizer = builder.tokenizer();
    let Some(end) = tokenizer.token_to_id(END_OF_THOUGHTS) else {
        let text = tokenizer.decode(said, false)?;
        let behind = without_thoughts(&text);
        let has_thoughts = behind.len() < text.len();
        return Ok(if has_thoughts { ContentPart::text(behind) } else { ContentPart::Ids(said.to_vec()) });
    };
    let Some(end) = said.iter().rposition(|&id| id == end) else {
        let is_thinking = without_thoughts(&tokenizer.decode(said, false)?).is_empty();
        return Ok(ContentPart::Ids(if is_thinking { Vec::new() } else { said.to_vec() }));
    };
    let is_line_end = |id: &&TokenId| {
        let bytes = tokenizer.token_bytes(**id);
        bytes.is_some_and(|bytes| !bytes.is_empty() && bytes.iter().all(|byte| *byte == b'\n'))
    };
    let behind = &said[end + 1..];
    let line_ends = behind.iter().take_while(is_line_end).count();
    Ok(ContentPart::Ids(behind[line_ends..].to_vec()))
}
