//! The models that are built in, and the demo's conversations.

use crate::dialect::Model;

macro_rules! built_in {
    ($($name:literal)*) => {
        [("demo", include_str!("../../models/demo/model.toml")), $(($name, include_str!(concat!("../../models/", $name, ".toml")))),*]
    };
}

const MODELS: [(&str, &str); 34] = built_in! {
    "alpaca"
    "baichuan2-chat"
    "chatglm3"
    "chatml"
    "command-r"
    "deepseek-r1"
    "deepseek-v2"
    "deepseek-v3"
    "falcon-chat"
    "gemma-2"
    "gemma-3"
    "glm-4"
    "internlm-chat"
    "internlm2-chat"
    "internlm3"
    "llama-2-chat"
    "llama-3"
    "mistral-instruct-tekken"
    "mistral-instruct-v1"
    "mistral-instruct-v3"
    "mistral-instruct-v7"
    "mixtral"
    "moss"
    "phi-3"
    "phi-4"
    "plain"
    "qwen2.5"
    "qwen2.5-vl"
    "qwen3"
    "qwen3-no-think"
    "vicuna"
    "yi-chat"
    "zephyr"
};

/// Names less alike than this are not worth suggesting.
const ALIKE: f64 = 0.75;

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    MODELS.iter().map(|(name, _)| *name)
}

pub(crate) fn text(name: &str) -> Option<&'static str> {
    MODELS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Every built-in model: the demo, and then by name.
pub(crate) fn models() -> impl Iterator<Item = Model> {
    MODELS.iter().map(|(name, text)| Model::parse(name, text.as_bytes()).expect("the tests read every built-in model"))
}

/// The built-in model that claims a repository of the hub: of several, the one whose pattern says most.
pub(crate) fn claiming(repository: &str) -> Option<Model> {
    let claim = |model: &Model| model.hub.iter().filter(|hub| claims(hub, repository)).map(String::len).max();
    models().filter(|model| claim(model).is_some()).max_by_key(claim)
}

/// Whether `pattern`, in which one `*` stands for anything, is this repository.
fn claims(pattern: &str, repository: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == repository,
        Some((start, end)) => repository
            .strip_prefix(start)
            .and_then(|rest| rest.strip_suffix(end))
            .is_some_and(|middle| !middle.contains('/')),
    }
}

/// The built-in models and their repositories whose names are most like `name`, the best first.
pub(crate) fn near(name: &str) -> Vec<String> {
    let repositories: Vec<String> =
        models().flat_map(|model| model.hub).filter(|pattern| !pattern.contains('*')).collect();
    let own = names().map(|name| -> &str { name });
    near_among(name, own.chain(repositories.iter().map(String::as_str)))
}

/// The names most like `name`, the best first.
pub(crate) fn near_among<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let name = name.to_lowercase();
    let mut near: Vec<(f64, &str)> = names
        .map(|known| (strsim::jaro_winkler(&name, &known.to_lowercase()), known))
        .filter(|(alike, _)| *alike >= ALIKE)
        .collect();
    near.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    near.dedup_by(|(_, a), (_, b)| a == b);
    near.into_iter().map(|(_, known)| known.to_owned()).take(3).collect()
}

/// The conversations that `metatok build` builds when it is given none, as JSON lines.
pub(crate) fn demo_conversations() -> &'static str {
    include_str!("../../models/demo/conversations.jsonl")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        assert!(claims("Qwen/Qwen2.5-*-Instruct", "Qwen/Qwen2.5-72B-Instruct"));
        assert!(!claims("Qwen/Qwen2.5-*-Instruct", "Qwen/Qwen2.5-72B"));
        assert!(claims("a/b*", "a/b"));
        assert!(!claims("a/*", "a/b/c"));
        assert!(!claims("a/b-*-b", "a/b-b"));
    }

    #[test]
    fn every_claim_holds() {
        for model in models() {
            for pattern in &model.hub {
                let like = pattern.replace('*', "7B");
                let others = models().flat_map(|other| other.hub).filter(|other| other.len() == pattern.len());
                assert_eq!(claiming(&like).map(|model| model.name), Some(model.name.clone()), "{like}");
                assert_eq!(others.filter(|other| claims(other, &like)).count(), 1, "{like}");
            }
        }
    }
}
