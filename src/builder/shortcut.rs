//! A second, faster builder for conversations on which it was verified to give the same ids.

use std::fmt;
use std::sync::atomic::Ordering;

use aho_corasick::AhoCorasick;

use crate::assemble::{Detail, TokenizedPrompt};
use crate::builder::{BuilderOptions, PromptBuilder, Session, Shortcut, ShortcutSource};
use crate::conversation::{ChatMessage, Content, Conversation, Mode, is_space};
use crate::dialect::ChatTemplate;
use crate::error::{ErrorKind, Result};
use crate::render::Renderer;
use crate::tokenizer::Tokenizer;

/// One in this many prompts is built both ways and compared.
const COMPARED: u64 = 256;
/// How many messages a chat has for which a shortcut is taken, at most.
pub(crate) const MOST_MESSAGES: usize = 64;

impl Shortcut {
    /// For a builder that may have one.
    pub(super) fn of(
        template: &ChatTemplate,
        renderer: &dyn Renderer,
        tokenizer: &Tokenizer,
        options: &BuilderOptions,
    ) -> Self {
        let BuilderOptions { mode, continue_final_message, open_answer, always_render, .. } = *options;
        let is_special = continue_final_message || (open_answer && mode == Mode::Score);
        // A date changes while prompts are built.
        let tells_time = template.tells_time();
        if always_render || is_special || tells_time || !options.reserve.is_empty() || !options.unreserve.is_empty() {
            return Self::default();
        }
        // The meta template may write fewer of them, but all stay reserved.
        let used = renderer.used_tokens().into_iter().filter_map(|id| tokenizer.added_token(id));
        let reserve = used.filter(|token| !token.is_ordinary_text()).map(|token| token.content.clone()).collect();
        let options = BuilderOptions { reserve, chat_wrapper: None, ..options.clone() };
        let source = Box::new(ShortcutSource { template: template.clone(), options });
        Self { source: Some(source), ..Self::default() }
    }

    /// Whether this prompt is compared: the first one, and then one in many.
    fn is_compared(&self) -> bool {
        self.built.fetch_add(1, Ordering::Relaxed).is_multiple_of(COMPARED)
    }
}

impl PromptBuilder {
    /// What a shortcut could be made of; none if there can be none, or if there is one.
    pub(crate) fn shortcut_source(&self) -> Option<&ShortcutSource> {
        self.shared.shortcut.source.as_deref().filter(|_| self.shared.shortcut.builder.get().is_none())
    }

    /// Builds plain chats with this builder from now on, unless it has a shortcut.
    pub(crate) fn set_shortcut(&self, builder: PromptBuilder, sought: AhoCorasick) {
        let _ = self.shared.shortcut.builder.set((builder, sought));
    }
}

impl Session {
    /// Builds a prompt by the shortcut; false if there is none for it.
    pub(super) fn build_by_shortcut(
        &mut self,
        conversation: &Conversation,
        detail: Detail,
        prompt: &mut TokenizedPrompt,
    ) -> Result<bool> {
        let shortcut = &self.builder.shared.shortcut;
        let Some((builder, sought)) = shortcut.builder.get() else { return Ok(false) };
        if shortcut.is_wrong.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let needs_template = detail.needs_origins() || self.builder.continue_final_message;
        let is_plain = |text: &str| has_plain_ends(text) && !sought.is_match(text);
        if needs_template || !is_plain_chat(conversation, self.builder.mode(), is_plain) {
            return Ok(false);
        }
        let is_compared = shortcut.is_compared();
        let session = self.shortcut.get_or_insert_with(|| Box::new(builder.session()));
        // What the shortcut refuses, the template may build, or refuse in its own words.
        if session.build_any(conversation, detail, prompt).is_err() {
            return Ok(false);
        }
        if is_compared {
            let mut rendered = TokenizedPrompt::default();
            let differs = match self.build_rendered(conversation, detail, &mut rendered) {
                Ok(()) if rendered.input_ids == prompt.input_ids => return Ok(true),
                Ok(()) => "gives other ids for this conversation".to_owned(),
                // Were it refused here, which conversations are built would depend on which are compared.
                Err(error) => format!("builds this conversation, which the chat template refuses ({error})"),
            };
            self.builder.shared.shortcut.is_wrong.store(true, Ordering::Relaxed);
            return Err(ErrorKind::MetaTemplateDiffers(differs).into());
        }
        Ok(true)
    }
}

/// Whether a conversation is like those that shortcuts are verified on: perhaps a system message, then questions and
/// answers by turns, not too many, of text alone that is like this.
pub(crate) fn is_plain_chat(conversation: &Conversation, mode: Mode, is_plain: impl Fn(&str) -> bool) -> bool {
    let messages = match conversation {
        Conversation::Messages(messages) => messages,
        Conversation::Chat(chat) if chat.is_bare() => &chat.messages,
        _ => return false,
    };
    let is_text = |message: &ChatMessage| {
        message.others.is_empty()
            && matches!(&message.content, Content::Text(text) if is_plain(text) && !ChatTemplate::has_marks(text))
    };
    let turns = match &messages[..] {
        [system, turns @ ..] if system.role == "system" => turns,
        turns => turns,
    };
    let speakers = ["user", "assistant"].into_iter().cycle();
    let by_turns = turns.iter().zip(speakers).all(|(message, speaker)| message.role == speaker);
    let ends_well = mode == Mode::Score || turns.len() % 2 == 1;
    let is_short = !turns.is_empty() && messages.len() <= MOST_MESSAGES;
    is_short && by_turns && ends_well && messages.iter().all(is_text)
}

/// Whether a text is not blank and has at each end no white space, or spaces alone, or line ends alone: a strip takes all
/// of these or none, whichever characters it strips.
fn has_plain_ends(text: &str) -> bool {
    let is_seen = |c: char| !is_space(c);
    let is_plain = |is: &dyn Fn(char) -> bool| [' ', '\n'].into_iter().any(is);
    is_plain(&|blank| text.trim_start_matches(blank).starts_with(is_seen))
        && is_plain(&|blank| text.trim_end_matches(blank).ends_with(is_seen))
}

impl fmt::Debug for Shortcut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shortcut").field("is_set", &self.builder.get().is_some()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::dialect::Model;

    #[test]
    fn a_difference_is_an_error_and_ends_the_shortcut() {
        let tokenizer = Arc::new(Tokenizer::demo().expect("the demo loads"));
        let builder = |source: &str| {
            let model = Model::from(ChatTemplate::new("mine", source));
            PromptBuilder::new(&model, Arc::clone(&tokenizer), &BuilderOptions::default()).expect("it fits")
        };
        let (fast, rendered) = (builder("{{ messages[0].content }}"), builder("{{ messages[0].content }}"));
        fast.set_shortcut(builder("{{ messages[0].content }}!"), AhoCorasick::new(["x"]).expect("it is one text"));
        let said = |text: &str| [("user", text)].into_iter().collect::<Conversation>();
        assert_eq!(fast.build(&said("axe")).ok(), rendered.build(&said("axe")).ok());
        // The first prompt is compared.
        let error = fast.build(&said("Hi")).expect_err("the ids differ").to_string();
        assert!(error.contains("gives other ids for this conversation") && error.contains("always_render"), "{error}");
        assert_eq!(fast.build(&said("Hi")).ok(), rendered.build(&said("Hi")).ok());
    }

    #[test]
    fn plain_ends_have_one_kind_of_white_space() {
        for text in ["a", " a", "a\n\n", "\n\na  ", "a \t\n b"] {
            assert!(has_plain_ends(text), "{text:?}");
        }
        for text in ["", " ", "\n", " \na", "a\n ", "\ta", "a\u{a0}", "\u{3000}a", "a\u{1c}", "\r\na", " \u{2028}a"] {
            assert!(!has_plain_ends(text), "{text:?}");
        }
    }
}
