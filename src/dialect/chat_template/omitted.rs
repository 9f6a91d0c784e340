//! What a chat template leaves out of a conversation without a word.

use crate::conversation::{
    ChatMessage, Content, Conversation, ENABLE_THINKING, REASONING_EFFORT, SAID_BESIDE, is_space, says_nothing,
};
use crate::dialect::chat_template::ChatTemplateRenderer;
use crate::dialect::chat_template::beside::Beside;
use crate::dialect::chat_template::context::{Chat, REASONING};
use crate::dialect::chat_template::forms::OfOne;
use crate::render::Omissions;

impl ChatTemplateRenderer {
    /// What the template does not write of a conversation.
    pub(super) fn omitted_of<'c>(&self, conversation: &'c Conversation) -> Omissions<'c> {
        let mut omissions = Omissions::default();
        // Whatever goes through all keys of a message reads this one, too, and reasoning is given under several names.
        let reads = |key: &str| {
            let others: &[&str] = if REASONING.contains(&key) { &REASONING } else { &[] };
            [key, "items"].iter().chain(others).any(|name| self.compiled.reads(name))
        };
        if let Conversation::Chat(chat) = conversation {
            let given = [("tools", chat.tools.is_some()), ("documents", chat.documents.is_some())];
            let given = given.into_iter().filter_map(|(key, is_given)| is_given.then_some(key));
            let given = given.chain(chat.chat_template_kwargs.keys().map(String::as_str));
            // A request's effort is given under both names.
            let of_effort = [ENABLE_THINKING, REASONING_EFFORT];
            let has_effort = of_effort.iter().all(|key| chat.chat_template_kwargs.contains_key(*key));
            let is_read = |key: &str| match has_effort && of_effort.contains(&key) {
                true => key == ENABLE_THINKING || of_effort.iter().any(|key| reads(key)),
                false => reads(key),
            };
            omissions.unread.extend(given.filter(|key| !is_read(key)));
        }
        for key in SAID_BESIDE {
            let is_given = |message: &ChatMessage| message.others.get(key).is_some_and(|value| !says_nothing(value));
            if conversation.messages().unwrap_or_default().iter().any(is_given) && !reads(key) {
                omissions.unread.push(key);
            }
        }
        let Ok(chat) = Chat::of(conversation, &self.added, false) else { return omissions };
        let ((forms, render), of_one) = (self.forms(chat), OfOne::default());
        let is_silent = |role: &&str| forms.is_silent(role, &render, &of_one);
        let says_something = |message: &&ChatMessage| !message.content.is_empty();
        let messages = conversation.messages().unwrap_or_default();
        let said = messages.iter().filter(says_something);
        omissions.roles.extend(said.map(|message| &*message.role).filter(is_silent));
        let render_own = |messages: &[ChatMessage]| render(messages, Beside::Own);
        let lost = lost_results(messages, &render_own);
        omissions.roles.extend(lost.filter(|role| !is_silent(role)));
        let arguments = messages.iter().flat_map(ChatMessage::call_arguments);
        let texts = arguments.filter(|arguments| arguments.as_str().is_some_and(|text| !text.is_empty())).count();
        if texts > 0 && forms.encodes_arguments(&render) {
            omissions.encoded_arguments = texts as u64;
        }
        omissions
    }
}

/// How many results without a call are looked at.
const MOST_ASKED: usize = 16;

/// The roles of results of which the template writes nothing, as some do that write results along with their calls. Only
/// those without a call are looked for.
fn lost_results<'m>(
    messages: &'m [ChatMessage],
    render: &impl Fn(&[ChatMessage]) -> Option<String>,
) -> impl Iterator<Item = &'m str> {
    let is_result = |message: &ChatMessage| message.role == "tool" && !message.content.is_empty();
    let mut has_call = false;
    let without_call = messages.iter().enumerate().filter(move |(_, message)| {
        has_call =
            is_result(message) && has_call || message.others.get("tool_calls").is_some_and(|it| !says_nothing(it));
        is_result(message) && !has_call
    });
    let mut written = None;
    // Each is another rendering.
    without_call.take(MOST_ASKED).filter_map(move |(place, message)| {
        let text = written.get_or_insert_with(|| render(messages)).as_ref()?;
        let is_written = |said: &str| text.contains(said.trim_matches(is_space));
        if matches!(&message.content, Content::Text(said) if is_written(said)) {
            return None;
        }
        let mut others = messages.to_vec();
        others[place].content = Content::Text(format!("metatok asks what becomes of message {place}"));
        (render(&others).as_ref() == Some(text)).then_some(&*message.role)
    })
}
