//! Dataset templates: how a row becomes a prompt or an in-context example. A kind of template is a file here.

mod any_template;
mod content_tags;
mod dialogue;
mod fields;
mod fill;
mod message_template;
mod multimodal_template;
mod prompt_list;
mod prompt_template;
mod qa_template;
mod turn_template;

pub use any_template::AnyTemplate;
pub use content_tags::{Fragment, FragmentKind};
pub(crate) use dialogue::{Dialogue, SECTIONS};
pub(crate) use fields::TemplateText;
pub use fields::{MissingColumns, TemplateField};
pub use fill::Substitution;
pub(crate) use fill::{Filler, MAX_ROW_BYTES, Room};
pub use message_template::MessageTemplate;
pub(crate) use message_template::message;
pub use multimodal_template::MultimodalTemplate;
pub(crate) use prompt_list::{fill_items, has_room, insert, insert_text, replace};
pub use prompt_template::PromptTemplate;
pub use qa_template::{Layout, QaTemplate};
pub use turn_template::TurnTemplate;
