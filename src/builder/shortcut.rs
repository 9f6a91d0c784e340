//! A second, faster builder for conversations on which it was verified to give the same ids.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use aho_corasick::AhoCorasick;

use crate::assemble::{Detail, TokenizedPrompt};
use crate::builder::plain_chat::{MOST_MESSAGES, Shape, has_plain_ends, plain_chat};
use crate::builder::{BuilderOptions, PromptBuilder, ReadyShortcut, Session, Shortcut, ShortcutSource};
use crate::conversation::{Conversation, Mode};
use crate::dialect::{ChatTemplate, Day};
use crate::error::{ErrorKind, Result};
use crate::render::Renderer;
use crate::tokenizer::Tokenizer;

/// One in this many prompts is built both ways and compared.
const COMPARED: u64 = 256;
/// The most turns of the chats that tell at once whether a shortcut is right.
const SHORT: usize = 3;

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
        // The time changes while prompts are built.
        let tells_time = template.tells_more_than_the_day();
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

impl ReadyShortcut {
    fn new(builder: PromptBuilder, sought: AhoCorasick, day: Option<Day>) -> Self {
        Self {
            builder,
            sought,
            day,
            is_right_for: Box::new([(); 2].map(|()| [const { OnceLock::new() }; MOST_MESSAGES])),
        }
    }

    /// Whether its day is over, or not there yet.
    fn is_of_another_day(&self) -> bool {
        self.day.as_ref().is_some_and(|day| !day.is_now())
    }

    /// Whether it is right for chats of this shape, if that is known.
    fn known_for(&self, shape: Shape) -> &OnceLock<bool> {
        &self.is_right_for[usize::from(shape.has_system)][shape.turns - 1]
    }
}

impl PromptBuilder {
    /// What a shortcut could be made of; none if there can be none, or if there is one.
    pub(crate) fn shortcut_source(&self) -> Option<&ShortcutSource> {
        self.shared.shortcut.source.as_deref().filter(|_| self.ready_shortcut().is_none())
    }

    fn ready_shortcut(&self) -> Option<&ReadyShortcut> {
        self.shared.shortcut.ready.get()
    }

    /// Builds plain chats with this builder from now on, or as long as it is this day, unless it has a shortcut or this one is
    /// wrong for short chats. Returns whether it does.
    pub(crate) fn set_shortcut(&self, builder: PromptBuilder, sought: AhoCorasick, day: Option<Day>) -> bool {
        let shortcut = &self.shared.shortcut;
        if shortcut.ready.set(ReadyShortcut::new(builder, sought, day)).is_err() {
            return false;
        }
        let mut session = self.session();
        let mut shapes = (1..=SHORT).flat_map(|turns| [false, true].map(|has_system| Shape { has_system, turns }));
        let is_right = shapes.all(|shape| session.has_shortcut_for(shape));
        shortcut.is_wrong.fetch_or(!is_right, Ordering::Relaxed);
        is_right
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
        let Some(ready) = self.builder.ready_shortcut() else { return Ok(false) };
        let is_wrong = self.builder.shared.shortcut.is_wrong.load(Ordering::Relaxed);
        if is_wrong || detail.needs_origins() || self.builder.continue_final_message {
            return Ok(false);
        }
        let is_plain = |text: &str| has_plain_ends(text) && !ready.sought.is_match(text);
        let Some(shape) = plain_chat(conversation, self.builder.mode(), is_plain) else { return Ok(false) };
        if ready.is_of_another_day() || !self.has_shortcut_for(shape) {
            return Ok(false);
        }
        let is_compared = self.builder.shared.shortcut.is_compared();
        // What the shortcut refuses, the template may build, or refuse in its own words.
        if self.shortcut().is_none_or(|session| session.build_any(conversation, detail, prompt).is_err()) {
            return Ok(false);
        }
        if is_compared {
            let mut rendered = TokenizedPrompt::default();
            let differs = match self.build_rendered(conversation, detail, &mut rendered) {
                Ok(()) if rendered.input_ids == prompt.input_ids => return Ok(true),
                // The day has just ended.
                _ if self.builder.ready_shortcut().is_some_and(ReadyShortcut::is_of_another_day) => {
                    return Ok(false);
                }
                Ok(()) => "gives other ids for this conversation".to_owned(),
                // Were it refused here, which conversations are built would depend on which are compared.
                Err(error) => format!("builds this conversation, which the chat template refuses ({error})"),
            };
            self.builder.shared.shortcut.is_wrong.store(true, Ordering::Relaxed);
            return Err(ErrorKind::MetaTemplateDiffers(differs).into());
        }
        Ok(true)
    }

    fn shortcut(&mut self) -> Option<&mut Session> {
        let ReadyShortcut { builder, .. } = self.builder.ready_shortcut()?;
        Some(self.shortcut.get_or_insert_with(|| Box::new(builder.session())))
    }

    /// Whether the shortcut gives the same prompts for chats of this shape. They are compared before the first such chat is
    /// built: long ones take time, and most people have short ones.
    fn has_shortcut_for(&mut self, shape: Shape) -> bool {
        // Nobody waits for another thread, which may be gone after a fork.
        if let Some(is_right) = self.builder.ready_shortcut().and_then(|ready| ready.known_for(shape).get()) {
            return *is_right;
        }
        let is_right = self.compare_shortcut_for(shape);
        if let Some(ready) = self.builder.ready_shortcut() {
            let _ = ready.known_for(shape).set(is_right);
        }
        is_right
    }

    /// What a template that does not look into contents writes around them, and strips from them, depends on nothing else.
    /// Contents with no white space at their ends, with blanks, and with line ends show each kind of strip.
    fn compare_shortcut_for(&mut self, shape: Shape) -> bool {
        let builder = self.builder.clone();
        let Some(ReadyShortcut { sought, .. }) = builder.ready_shortcut() else { return false };
        let mut is_right_with = |(around, word): (&str, &str)| {
            let content = |at: usize| format!("{around}{word}{at}{word}{around}");
            let chat = shape.chat(content);
            // A chat is plain whatever the contents, unless the template looks for something in these.
            if (0..=shape.turns).any(|at| sought.is_match(&content(at))) {
                return false;
            }
            if plain_chat(&chat, builder.mode(), |_| true).is_none() {
                return true;
            }
            let [mut ours, mut theirs] = [(); 2].map(|()| TokenizedPrompt::default());
            let built = self.shortcut().map(|session| session.build_any(&chat, Detail::default(), &mut ours));
            match (built, self.build_rendered(&chat, Detail::default(), &mut theirs)) {
                (Some(Ok(())), Ok(())) => ours == theirs,
                (Some(Ok(())), Err(_)) | (None, _) => false,
                // What the shortcut refuses, the template is asked for.
                (Some(Err(_)), _) => true,
            }
        };
        // What has something that is sought is rendered.
        is_right_with(("", "Qx"))
            && [(" ", "Jy"), ("\n", "Vz")].into_iter().all(|of| sought.is_match(of.0) || is_right_with(of))
    }
}

impl fmt::Debug for Shortcut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shortcut").field("is_set", &self.ready.get().is_some()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::dialect::Model;

    fn builder(source: &str) -> PromptBuilder {
        let model = Model::from(ChatTemplate::new("mine", source));
        let tokenizer = Arc::new(Tokenizer::demo().expect("the demo loads"));
        PromptBuilder::new(&model, tokenizer, &BuilderOptions::default()).expect("it fits")
    }

    fn sought() -> AhoCorasick {
        AhoCorasick::new(["axe"]).expect("it is one text")
    }

    fn said(text: &str) -> Conversation {
        [("user", text)].into_iter().collect()
    }

    const CONTENT: &str = "{{ messages[0].content }}";
    const DIFFERS: &str = "{{ messages[0].content }}{% if messages[0].content == 'Hi' %}!{% endif %}";

    #[test]
    fn a_difference_is_an_error_and_ends_the_shortcut() {
        let (fast, rendered) = (builder(CONTENT), builder(CONTENT));
        assert!(!rendered.set_shortcut(builder("{{ messages[0].content }}!"), sought(), None), "it is always wrong");
        assert!(fast.set_shortcut(builder(DIFFERS), sought(), None));
        assert_eq!(fast.build(&said("axe")).ok(), rendered.build(&said("axe")).ok());
        // The first prompt is compared.
        let error = fast.build(&said("Hi")).expect_err("the ids differ").to_string();
        assert!(error.contains("gives other ids for this conversation") && error.contains("always_render"), "{error}");
        assert_eq!(fast.build(&said("Hi")).ok(), rendered.build(&said("Hi")).ok());
    }

    #[test]
    fn a_shortcut_of_another_day_is_not_taken() {
        for (day, is_taken) in [(None, true), (Day::today(), true), (Some(Day::long_ago()), false)] {
            let builder_of_day = builder(CONTENT);
            builder_of_day.set_shortcut(builder(DIFFERS), sought(), day);
            assert_eq!(builder_of_day.build(&said("Hi")).is_err(), is_taken);
        }
    }
}
