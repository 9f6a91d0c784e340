//! Rendering with a chat template: the text that Jinja gives, cut into the template's pieces and the conversation's.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::OnceLock;

use foldhash::HashSet;
use jiff::civil::DateTime;

use crate::conversation::{ChatMessage, Content, Conversation, Mode};
use crate::dialect::chat_template::beside::{Beside, EXAMPLE_DOCUMENTS, EXAMPLE_TOOLS};
use crate::dialect::chat_template::compiled::Compiled;
use crate::dialect::chat_template::context::{Added, Chat, message_of};
use crate::dialect::chat_template::forgery::Forgery;
use crate::dialect::chat_template::forms::Forms;
use crate::dialect::chat_template::marks::{Marked, has_marks};
use crate::dialect::chat_template::values::Marking;
use crate::dialect::chat_template::{ChatTemplate, flow, source};
use crate::error::{ErrorKind, Place, Result, Setting, way_out};
use crate::render::{Element, Omissions, Part, Renderer, Segments};
use crate::stop::{StopCriteria, StopSource};
use crate::tokenizer::{AddedToken, TokenId, Tokenizer};

/// A chat template with its tokenizer.
#[derive(Debug)]
pub struct ChatTemplateRenderer {
    template: ChatTemplate,
    pub(super) compiled: Compiled,
    /// What the template takes without tools, and with them: that may be another one.
    forms: [Forms; 2],
    used: Vec<TokenId>,
    pub(super) added: Added,
    stop: StopCriteria,
    /// What content must not touch where its place in the text is unknown; none if content is trusted.
    forgery: Option<Forgery>,
    /// Whether it writes messages of roles that it does not name, once somebody asked.
    writes_any_role: OnceLock<bool>,
}

impl ChatTemplateRenderer {
    /// Reads the template. Added tokens that occur in it, or that it puts together, belong to it.
    ///
    /// # Errors
    /// [`ErrorKind::Template`] with the line of what Jinja cannot read.
    pub fn new(template: &ChatTemplate, tokenizer: &Tokenizer) -> Result<Self> {
        let compiled = Compiled::new(template)?;
        let sources = || [Some(&template.source), template.tool_use.as_ref()].into_iter().flatten();
        let occurs = |token: &AddedToken| {
            !token.content.is_empty()
                && (sources().any(|source| source.contains(&token.content))
                    || template.special_tokens.values().any(|own| *own == token.content))
        };
        let added = tokenizer.added_tokens().map(|token| (token.id, token.content.clone())).collect();
        let (stop, forms) = (StopCriteria::default(), Default::default());
        let mut renderer = Self {
            template: template.clone(),
            compiled,
            forms,
            used: Vec::new(),
            added,
            stop,
            forgery: None,
            writes_any_role: OnceLock::new(),
        };
        let put_together = renderer.written(tokenizer);
        let is_used = |token: &&AddedToken| occurs(token) || put_together.contains(&token.id);
        let used: Vec<TokenId> = tokenizer.added_tokens().filter(is_used).map(|token| token.id).collect();
        let reserved = tokenizer.added_tokens().filter(|token| token.special || used.contains(&token.id));
        let reserved: Vec<&AddedToken> = reserved.filter(|token| !token.is_ordinary_text()).collect();
        let entries = reserved.iter().filter_map(|token| tokenizer.entry_beside(token)).collect::<Vec<_>>();
        let reserved = reserved.into_iter().chain(&entries);
        renderer.forgery = Some(Forgery::new(reserved, &sources().map(String::as_str).collect::<Vec<_>>())?);
        renderer.used = used;
        if let Some(id) = renderer.end_of_answer(tokenizer) {
            renderer.stop.add_id(id, StopSource::ChatTemplate);
        }
        Ok(renderer)
    }

    /// Lets content write control tokens, so that nobody need know what is content.
    #[must_use]
    pub fn trusting_content(self) -> Self {
        Self { forgery: None, ..self }
    }

    /// Reserves ordinary text too, so that any content could become a reserved token.
    #[must_use]
    pub fn reserving_text(self) -> Self {
        Self { forgery: Some(Forgery::everything()), ..self }
    }

    /// The tokens of chats that have none in their contents: some templates put them together, as `<|` + role + `|>`.
    fn written(&self, tokenizer: &Tokenizer) -> BTreeSet<TokenId> {
        const CHATS: [&[&str]; 6] = [
            &["user"],
            &["system", "user", "assistant", "user"],
            &["developer", "user"],
            &["user", "assistant", "tool"],
            &["user", "assistant", "function"],
            &["user", "assistant", "observation"],
        ];
        let texts = CHATS.iter().filter_map(|roles| {
            let chat = Conversation::from_iter(roles.iter().map(|role| ChatMessage::new(*role, "1+1=?")));
            self.text(&chat, Mode::Generate).ok()
        });
        texts.filter_map(|text| tokenizer.cut(&text).ok()).flatten().filter_map(|cut| cut.token).collect()
    }

    /// The control token that the template writes after an answer.
    fn end_of_answer(&self, tokenizer: &Tokenizer) -> Option<TokenId> {
        const ANSWER: &str = "metatok asks how an answer ends";
        let messages = [ChatMessage::new("user", "1+1=?"), ChatMessage::new("assistant", ANSWER)];
        let conversation = Conversation::from(messages);
        let text = self.text(&conversation, Mode::Score).ok()?;
        let (_, after) = text.rsplit_once(ANSWER)?;
        let cuts = tokenizer.cut(after).ok()?;
        let first = cuts.iter().find(|cut| cut.token.is_some() || !after[cut.bytes.clone()].trim().is_empty())?;
        first.token.filter(|id| tokenizer.added_token(*id).is_some_and(|token| !token.is_ordinary_text()))
    }

    /// The text of a prompt, exactly as Jinja2 gives it. In prompts, contents are given in the form that the template takes.
    ///
    /// # Errors
    /// [`ErrorKind::Conversation`] with what the template refuses.
    pub fn text(&self, conversation: &Conversation, mode: Mode) -> Result<String> {
        self.plain(Chat::of(conversation, &self.added, mode == Mode::Generate)?, self.compiled.now())
    }

    /// The text of a prompt, with contents in the form that the template takes.
    pub(crate) fn prompt_text(&self, conversation: &Conversation, mode: Mode) -> Result<String> {
        let chat = Chat::of(conversation, &self.added, mode == Mode::Generate)?;
        self.plain(Chat { messages: &self.fit(chat)?, ..chat }, self.compiled.now())
    }

    /// The texts that the template looks for in contents. Plain chats without any of them are written in the same way. None
    /// if that is not known.
    pub(crate) fn sought_in_contents(&self) -> Option<BTreeSet<String>> {
        let chat =
            [("system", "Hi."), ("user", "1+1=?"), ("assistant", "2")].map(|(role, text)| ChatMessage::new(role, text));
        let chat = Conversation::from_iter(chat);
        let fitted = self.fit(Chat::of(&chat, &self.added, false).ok()?).ok()?;
        let has_parts = |message: &ChatMessage| matches!(message.content, Content::Parts(_));
        let [first, others @ ..] = &*fitted else { return None };
        let is_same = others.iter().all(|message| has_parts(message) == has_parts(first));
        flow::sought_in_contents(&self.template.source, has_parts(first)).ok().filter(|_| is_same)
    }

    /// The messages of a chat, with contents in the form that the template takes.
    pub(super) fn fit<'c>(&self, chat: Chat<'c>) -> Result<Cow<'c, [ChatMessage]>> {
        let (forms, render) = self.forms(chat);
        forms.fit(chat.messages, &render, |kind| self.compiled.literals.contains(kind))
    }

    /// What the template that writes this chat takes, and how to ask it.
    pub(super) fn forms<'c>(
        &'c self,
        own: Chat<'c>,
    ) -> (&'c Forms, impl Fn(&[ChatMessage], Beside) -> Option<String> + 'c) {
        let has_tools = own.tools.is_some();
        let render = move |messages: &[ChatMessage], beside: Beside| {
            let chat = match beside {
                Beside::Own => Chat { messages, add_generation_prompt: false, ..own },
                Beside::Nothing | Beside::Tools | Beside::Documents => Chat {
                    messages,
                    added: &self.added,
                    tools: (has_tools || beside == Beside::Tools).then_some(&*EXAMPLE_TOOLS),
                    documents: (beside == Beside::Documents).then_some(&*EXAMPLE_DOCUMENTS),
                    kwargs: None,
                    add_generation_prompt: false,
                },
            };
            self.plain(chat, self.compiled.now()).ok()
        };
        (&self.forms[usize::from(has_tools)], render)
    }

    fn plain(&self, chat: Chat<'_>, now: Option<DateTime>) -> Result<String> {
        chat.check_tools(&self.template, |name| self.compiled.reads(name))?;
        let way_out = || hard_to_write(chat);
        self.compiled.render(chat.variables(&self.template, now, None)?, chat.tools.is_some(), way_out)
    }

    /// A prompt's `text` with the places of what the conversation brings; none if they cannot be known.
    fn marked(&self, chat: Chat<'_>, forgery: &Forgery, now: Option<DateTime>, text: &str) -> Result<Option<Marked>> {
        if chat.first_mark().is_some() || has_marks(text) {
            return Ok(None);
        }
        let is_name = |text: &str| self.compiled.literals.contains(text) && source::is_name(text);
        // What becomes part of no token needs no mark. Templates sort the names of arguments.
        let is_harmless = |text: &str| !forgery.could_forge(text);
        // Templates compare the ids of calls with those of their results.
        let repeated = OnceCell::new();
        let is_repeated = |text: &str| repeated.get_or_init(|| chat.repeated()).contains(text);
        let none = |_: &str| false;
        let unmarked: [&dyn Fn(&str) -> bool; 3] = [&none, &is_name, &is_harmless];
        let shared: [&dyn Fn(&str) -> bool; 2] = [&none, &is_repeated];
        for (is_shared, is_unmarked) in
            shared.into_iter().flat_map(|shared| unmarked.map(|unmarked| (shared, unmarked)))
        {
            let marked = self.marked_by(chat, Marking { is_unmarked, is_shared }, now, text)?;
            if marked.is_some() {
                return Ok(marked);
            }
        }
        Ok(None)
    }

    /// A prompt's `text` with these marks; none if they change anything else.
    fn marked_by(
        &self,
        chat: Chat<'_>,
        marking: Marking<'_>,
        now: Option<DateTime>,
        text: &str,
    ) -> Result<Option<Marked>> {
        let variables = chat.variables(&self.template, now, Some(marking))?;
        let rendered = self.compiled.render(variables, chat.tools.is_some(), || None);
        let marked = rendered.ok().and_then(|text| Marked::read(&text));
        Ok(marked.filter(|marked| marked.text == text))
    }

    /// Where the text is that the template rewrites: beside the messages, if it writes all else as it is.
    fn place_of_rewritten(
        &self,
        chat: Chat<'_>,
        forgery: &Forgery,
        now: Option<DateTime>,
        text: &str,
    ) -> Option<Place> {
        if chat.first_mark().is_some() {
            return chat.first_forger(forgery).map(Place::Message);
        }
        let is_rewritten = |texts: &HashSet<String>| {
            let marking = Marking { is_unmarked: &|text| texts.contains(text), is_shared: &|_| false };
            self.marked_by(chat, marking, now, text).is_ok_and(|marked| marked.is_some())
        };
        let beside = chat.beside_messages().into_iter().find(|(_, texts)| !texts.is_empty() && is_rewritten(texts));
        match beside {
            Some((key, _)) => Some(key.into()),
            None => chat.first_forger(forgery).map(Place::Message),
        }
    }

    /// Writes a prompt, and returns its text.
    pub(super) fn write<'a>(&self, chat: Chat<'_>, segments: &mut Segments<'a>) -> Result<&'a str> {
        let fitted = self.fit(chat)?;
        let chat = Chat { messages: &fitted, ..chat };
        // The same time in all renderings of a prompt.
        let now = self.compiled.now();
        let text = self.plain(chat, now)?;
        let Some(forgery) = &self.forgery else {
            let text = segments.owned(text);
            segments.template(text);
            return Ok(text);
        };
        // Most content could forge nothing, and marks cost a second rendering.
        let could_forge = chat.could_forge(forgery);
        let marked = if could_forge || segments.needs_origins { self.marked(chat, forgery, now, &text)? } else { None };
        let text = segments.owned(text);
        match marked {
            Some(marked) => {
                for (bytes, owner) in marked.pieces(0..text.len()) {
                    let part = match owner {
                        None => Part::new(Element::RoundText),
                        Some(owner) => Part { message: message_of(owner), ..Part::new(Element::Content) },
                    };
                    segments.text(&text[bytes], part);
                }
            }
            None if could_forge => {
                let error = ambiguous(chat);
                return Err(match self.place_of_rewritten(chat, forgery, now, text) {
                    Some(place) => error.at(place),
                    None => error,
                });
            }
            None => segments.template(text),
        }
        Ok(text)
    }
}

/// What to do about the first message that many templates cannot write: with the arguments of a call as a string, or without
/// content.
fn hard_to_write(chat: Chat<'_>) -> Option<String> {
    let has_string = |message: &ChatMessage| message.call_arguments().any(|arguments| arguments.is_string());
    let of_call = chat.messages.iter().position(has_string).map(|number| {
        format!(
            "message {number} has a call whose arguments are a string; if the template needs an object, write the JSON itself"
        )
    });
    let of_content =
        chat.messages.iter().position(|message| message.content == Content::Null).map(|number| {
            format!("message {number} has no content; if the template needs one, write \"content\": \"\"")
        });
    let all: Vec<String> = of_call.into_iter().chain(of_content).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn ambiguous(chat: Chat<'_>) -> crate::Error {
    let why = match chat.first_mark() {
        Some(mark) => {
            let code = u32::from(mark);
            format!(
                "the conversation has the character U+{code:X}, which metatok uses to find content in a rendered prompt"
            )
        }
        None => "the chat template rewrites what the conversation says".into(),
    };
    let what = format!(
        "{why}, so it is unknown which control tokens are the template's own, and this conversation has text that could become one"
    );
    ErrorKind::Conversation(what)
        .with_way_out(way_out!["if you trust the conversation, use ", Setting::CONTENT.set_to("trusted")])
}

impl ChatTemplateRenderer {
    /// Whether it writes what a message of this role says. As templates refuse roles where they do not expect them, several
    /// chats are tried.
    fn writes_role(&self, role: &str) -> bool {
        const BEFORE: [&[&str]; 8] = [
            &["user"],
            &[],
            &["system", "user"],
            &["user", "assistant"],
            &["system", "user", "assistant"],
            &["human"],
            &["human", "gpt"],
            &["human", "assistant"],
        ];
        BEFORE.into_iter().any(|before| self.writes(before, role))
    }

    /// Whether it writes what a message of this role says after messages of those before.
    fn writes(&self, before: &[&str], role: &str) -> bool {
        const SAID: &str = "Jy7";
        let chat: Conversation = before.iter().map(|role| (*role, "Qx")).chain([(role, SAID)]).collect();
        let text = Chat::of(&chat, &self.added, false).and_then(|chat| self.plain(chat, self.compiled.now()));
        text.is_ok_and(|text| text.contains(SAID))
    }
}

impl Renderer for ChatTemplateRenderer {
    fn render<'a>(&'a self, conversation: &'a Conversation, mode: Mode, segments: &mut Segments<'a>) -> Result<()> {
        self.write(Chat::of(conversation, &self.added, mode == Mode::Generate)?, segments).map(|_| ())
    }

    fn writes_all_keys(&self) -> bool {
        true
    }

    /// Whether it writes what such a message says: it may name the role, or write any.
    fn knows_role(&self, role: &str) -> bool {
        // A template that does not end is asked as little as possible.
        let writes_user = || self.writes(&[], "user") || self.writes(&["system"], "user");
        let writes_any = || *self.writes_any_role.get_or_init(|| writes_user() && self.writes_role("Zk"));
        match self.compiled.literals.contains(role) {
            true => self.writes_role(role),
            false => writes_any(),
        }
    }

    fn writes_ids(&self) -> bool {
        false
    }

    fn render_begun_answer<'a>(&'a self, conversation: &'a Conversation, segments: &mut Segments<'a>) -> Result<()> {
        self.write_begun_answer(conversation, segments)
    }

    fn render_scored_answer<'a>(&'a self, conversation: &'a Conversation, segments: &mut Segments<'a>) -> Result<()> {
        self.write_scored_answer(conversation, segments)
    }

    fn omissions<'c>(&self, conversation: &'c Conversation) -> Omissions<'c> {
        self.omitted_of(conversation)
    }

    fn stop(&self) -> StopCriteria {
        self.stop.clone()
    }

    fn used_tokens(&self) -> Vec<TokenId> {
        self.used.clone()
    }
}
