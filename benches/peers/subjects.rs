//! Who is measured: metatok, its peers, and a copy of finished ids, which nobody can outrun.

use std::path::Path;
use std::sync::Arc;

use metatok::{ContentTrust, Model, Session, TokenId, TokenizedPrompt, Tokenizer};
use tokenizers::pipeline::{EncodeOptions, PipelineToken, PipelineTokenizer};

use crate::workloads::{self, Prompt};

/// The budget of fastokens' cache, in bytes: enough for all segments of a workload.
const SEGMENT_CACHE: usize = 256 << 20;

/// Someone who makes ids of prompts.
pub(crate) trait Subject {
    /// The ids of each prompt, one after the other, as they are made.
    fn run(&mut self, prompts: &[Prompt], take: &mut dyn FnMut(&[TokenId])) -> Result<(), String>;
}

/// A subject that is loaded when its turn comes, so that its caches know nothing.
pub(crate) struct Contestant {
    pub(crate) name: &'static str,
    /// Measures only one in this many prompts, because it is slow.
    pub(crate) every: usize,
    pub(crate) open: fn(&Place<'_>) -> Result<Box<dyn Subject>, String>,
}

/// Where subjects are loaded from.
pub(crate) struct Place<'a> {
    pub(crate) folder: &'a Path,
    /// The same tokenizer in one file, for peers that read no other.
    pub(crate) completed: &'a Path,
    pub(crate) model: &'a Model,
}

pub(crate) const METATOK: usize = 0;
pub(crate) const TRUSTED: usize = 1;
pub(crate) const PEERS: std::ops::Range<usize> = 2..6;

/// In the order of the table's columns.
pub(crate) const CONTESTANTS: [Contestant; 7] = [
    Contestant { name: "metatok", every: 1, open: |place| Metatok::open(place, ContentTrust::default()) },
    Contestant { name: "trusted", every: 1, open: |place| Metatok::open(place, ContentTrust::Trusted) },
    Contestant {
        name: "rc",
        every: 1,
        open: |place| Ok(Box::new(Rc { tokenizer: rc(place.completed)?, ids: Vec::new() })),
    },
    Contestant { name: "classic", every: 10, open: |place| Ok(Box::new(Classic(classic(place.completed)?))) },
    Contestant { name: "fastokens", every: 1, open: |place| Ok(Box::new(Fastokens(fastokens(place.folder)?))) },
    Contestant { name: "with its cache", every: 1, open: |place| Fastokens::cached(place) },
    Contestant { name: "copy", every: 1, open: |_| Ok(Box::new(Copy(Vec::new()))) },
];

/// The reference, which reads `tokenizer.json` alone: the fast library, or the classic one for what that cannot load.
pub(crate) fn reference(folder: &Path) -> Result<Box<dyn Subject>, String> {
    // It says only once it encodes that it lacks what a pattern needs.
    let works = |tokenizer: &PipelineTokenizer| {
        tokenizer.encode_into("a", &EncodeOptions::no_specials(), &mut Vec::new()).is_ok()
    };
    match rc(folder).ok().filter(works) {
        Some(tokenizer) => Ok(Box::new(Rc { tokenizer, ids: Vec::new() })),
        None => judge(folder),
    }
}

/// The classic library, which is right where the fast one has other ids. It takes long.
pub(crate) fn judge(folder: &Path) -> Result<Box<dyn Subject>, String> {
    Ok(Box::new(Classic(classic(folder)?)))
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

fn json(folder: &Path) -> Result<String, String> {
    std::fs::read_to_string(folder.join("tokenizer.json")).map_err(words)
}

pub(crate) fn metatok(folder: &Path) -> Result<Arc<Tokenizer>, String> {
    Tokenizer::load(&folder.display().to_string()).map(Arc::new).map_err(words)
}

pub(crate) fn rc(folder: &Path) -> Result<PipelineTokenizer, String> {
    tokenizers::from_json(&tokenizers::canonicalize_str(&json(folder)?).map_err(words)?).map_err(words)
}

pub(crate) fn classic(folder: &Path) -> Result<tokenizers_classic::Tokenizer, String> {
    tokenizers_classic::Tokenizer::from_bytes(json(folder)?).map_err(words)
}

pub(crate) fn fastokens(folder: &Path) -> Result<fastokens::Tokenizer, String> {
    fastokens::Tokenizer::from_file(&folder.join("tokenizer.json")).map_err(words)
}

struct Metatok {
    session: Session,
    prompt: TokenizedPrompt,
}

impl Metatok {
    fn open(place: &Place<'_>, content: ContentTrust) -> Result<Box<dyn Subject>, String> {
        let builder = workloads::builder(place.model, &metatok(place.folder)?, content, false);
        Ok(Box::new(Self { session: builder.session(), prompt: TokenizedPrompt::default() }))
    }
}

impl Subject for Metatok {
    fn run(&mut self, prompts: &[Prompt], take: &mut dyn FnMut(&[TokenId])) -> Result<(), String> {
        for prompt in prompts {
            self.session.build_into(&prompt.conversation, &mut self.prompt).map_err(words)?;
            take(&self.prompt.input_ids);
        }
        Ok(())
    }
}

struct Rc {
    tokenizer: PipelineTokenizer,
    ids: Vec<PipelineToken>,
}

impl Subject for Rc {
    fn run(&mut self, prompts: &[Prompt], take: &mut dyn FnMut(&[TokenId])) -> Result<(), String> {
        let options = EncodeOptions::no_specials();
        for prompt in prompts {
            self.ids.clear();
            self.tokenizer.encode_into(&prompt.text, &options, &mut self.ids).map_err(words)?;
            take(PipelineToken::cast_slice(&self.ids));
        }
        Ok(())
    }
}

struct Classic(tokenizers_classic::Tokenizer);

impl Subject for Classic {
    fn run(&mut self, prompts: &[Prompt], take: &mut dyn FnMut(&[TokenId])) -> Result<(), String> {
        for prompt in prompts {
            take(self.0.encode_fast(prompt.text.as_str(), false).map_err(words)?.get_ids());
        }
        Ok(())
    }
}

/// It encodes a text this short on the calling thread alone.
struct Fastokens(fastokens::Tokenizer);

impl Fastokens {
    fn cached(place: &Place<'_>) -> Result<Box<dyn Subject>, String> {
        let mut tokenizer = fastokens(place.folder)?;
        tokenizer.enable_segment_cache(SEGMENT_CACHE);
        Ok(Box::new(Self(tokenizer)))
    }
}

impl Subject for Fastokens {
    fn run(&mut self, prompts: &[Prompt], take: &mut dyn FnMut(&[TokenId])) -> Result<(), String> {
        for prompt in prompts {
            take(&self.0.encode(&prompt.text).map_err(words)?);
        }
        Ok(())
    }
}

struct Copy(Vec<TokenId>);

impl Subject for Copy {
    fn run(&mut self, prompts: &[Prompt], take: &mut dyn FnMut(&[TokenId])) -> Result<(), String> {
        for prompt in prompts {
            self.0.clear();
            self.0.extend_from_slice(&prompt.ids);
            take(&self.0);
        }
        Ok(())
    }
}
