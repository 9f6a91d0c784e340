//! A meta template made of a chat template: probed, fitted, and verified on generated conversations.
//!
//! ```
//! use std::sync::Arc;
//!
//! use metatok::Tokenizer;
//! use metatok::dialect::ChatTemplate;
//! use metatok::import::import;
//!
//! let source = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}\
//!               {% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
//! let imported = import(&ChatTemplate::new("mine", source), &Arc::new(Tokenizer::demo()?))?;
//! assert!(imported.verified.is_exact());
//! let template = imported.model.meta_template.expect("it has one");
//! assert_eq!(template.round[0].role().map(|role| &role.begin), Some(&"<|im_start|>user\n".into()));
//! # Ok::<(), metatok::Error>(())
//! ```

mod accelerate;
mod conversations;
mod fit;
mod imported;
mod model_file;
mod probe;
mod unusual;
mod verify;

pub use accelerate::{WORTH_ACCELERATING, accelerate};
pub use conversations::{ContentKind, generated};
pub use imported::{Imported, import};
pub(crate) use unusual::unusual;
pub use verify::{PromptTally, Verified};
