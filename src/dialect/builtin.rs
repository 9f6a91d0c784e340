//! The built-in models, and the demo's conversations.

use crate::dialect::Model;

macro_rules! built_in {
    ($($name:literal)*) => {
        [("demo", include_str!("../../models/demo/model.toml")), $(($name, include_str!(concat!("../../models/", $name, ".toml")))),*]
    };
}

const MODELS: [(&str, &str); 67] = built_in! {
    "alpaca"
    "baichuan2-chat"
    "chatglm3"
    "chatml"
    "codellama-instruct"
    "command-r"
    "deepseek-coder"
    "deepseek-r1"
    "deepseek-r1-0528"
    "deepseek-v2"
    "deepseek-v3"
    "deepseek-v3.1"
    "ernie-4.5"
    "exaone-3.5"
    "exaone-4"
    "falcon-chat"
    "gemma-2"
    "gemma-3"
    "glm-4"
    "glm-4.5"
    "glm-4.7"
    "granite-4.0"
    "internlm-chat"
    "internlm2-chat"
    "internlm3"
    "kimi-k2-thinking"
    "lfm2"
    "llama-2-chat"
    "llama-3"
    "llama-3.1"
    "llama-4"
    "minicpm"
    "minimax-m2"
    "minimax-m2.5"
    "minimax-m2.7"
    "mistral-instruct-tekken"
    "mistral-instruct-v1"
    "mistral-instruct-v3"
    "mistral-instruct-v7"
    "mixtral"
    "moss"
    "nemotron-3-nano"
    "nemotron-nano-v2"
    "olmo"
    "olmo-2"
    "phi-3"
    "phi-3-medium"
    "phi-4"
    "phi-4-mini"
    "plain"
    "qwen1.5-chat"
    "qwen2.5"
    "qwen2.5-vl"
    "qwen3"
    "qwen3-instruct"
    "qwen3-no-think"
    "qwen3-thinking"
    "qwen3-vl"
    "qwen3-vl-thinking"
    "qwen3.5"
    "qwq"
    "seed-oss"
    "vicuna"
    "yi-1.5-chat"
    "yi-chat"
    "zephyr"
};

/// Less similar names are not worth suggesting.
const ALIKE: f64 = 0.75;

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    MODELS.iter().map(|(name, _)| *name)
}

pub(crate) fn text(name: &str) -> Option<&'static str> {
    MODELS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Every built-in model: the demo first, then by name.
pub(crate) fn models() -> impl Iterator<Item = Model> {
    MODELS.iter().map(|(name, text)| Model::parse(name, text.as_bytes()).expect("the tests read every built-in model"))
}

/// The built-in model for a repository of the hub. If there are several, the one with the most specific pattern.
pub(crate) fn claiming(repository: &str) -> Option<Model> {
    let claim = |model: &Model| model.hub.iter().filter(|hub| claims(hub, repository)).map(String::len).max();
    models().filter(|model| claim(model).is_some()).max_by_key(claim)
}

/// The built-in model for a repository with this name, whoever owns it.
pub(crate) fn claiming_name(name: &str) -> Option<String> {
    let own = |pattern: &String| pattern.split_once('/').is_some_and(|(_, pattern)| claims(pattern, name));
    models().find(|model| model.hub.iter().any(own)).map(|model| model.name)
}

/// Whether `pattern`, in which one `*` matches a size or version, matches this repository.
fn claims(pattern: &str, repository: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == repository,
        Some((start, end)) => {
            repository.strip_prefix(start).and_then(|rest| rest.strip_suffix(end)).is_some_and(is_size_or_version)
        }
    }
}

/// Other names for weights with the same template: how they are stored, and how far they are trained.
const SAME_TEMPLATE: [&str; 7] = ["instruct", "sft", "plus", "awq", "gptq", "mlx", "hf"];

/// Whether this is `7B`, `30B-A3B-Instruct-2507` or the like. Any other word may mean another template, such as `Base`,
/// `Embedding`, `VL` and `Thinking`.
fn is_size_or_version(name: &str) -> bool {
    let is_harmless = |word: &str| {
        word.is_empty()
            || word.contains(|c: char| c.is_ascii_digit())
            || SAME_TEMPLATE.contains(&word.to_ascii_lowercase().as_str())
    };
    !name.contains('/') && name.split(['-', '_']).all(is_harmless)
}

/// The built-in models and their repositories with names similar to `name`, the best match first.
pub(crate) fn near(name: &str) -> Vec<String> {
    let repositories: Vec<String> =
        models().flat_map(|model| model.hub).filter(|pattern| !pattern.contains('*')).collect();
    let own = names().map(|name| -> &str { name });
    near_among(name, own.chain(repositories.iter().map(String::as_str)))
}

/// What to do about a name that is not built in: these are similar, and the command lists all.
pub(crate) fn similar_or_listed(near: &[String], command: &str) -> String {
    match near {
        [] => format!("`{command}` lists the built-in ones"),
        near => format!("did you mean {}? `{command}` lists all", near.join(" or ")),
    }
}

/// The names most similar to `name`, the best match first.
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

/// The default conversations of `metatok build`, as JSON lines.
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
        assert!(!claims("a/*", "a/1/2"));
        assert!(!claims("a/b-*-b", "a/b-b"));
    }

    #[test]
    fn repositories() {
        #[rustfmt::skip]
        let table = [
            ("qwen3", "Qwen/Qwen3-0.6B Qwen/Qwen3-8B Qwen/Qwen3-30B-A3B Qwen/Qwen3-8B-AWQ Qwen/Qwen3-32B-FP8 Qwen/Qwen3-8B-MLX-4bit \
                Qwen/Qwen3-14B-GPTQ-Int8"),
            ("qwen3-instruct", "Qwen/Qwen3-235B-A22B-Instruct-2507 Qwen/Qwen3-4B-Instruct-2507-FP8 Qwen/Qwen3-Coder-30B-A3B-Instruct \
                Qwen/Qwen3-Next-80B-A3B-Instruct"),
            ("qwen3-thinking", "Qwen/Qwen3-30B-A3B-Thinking-2507 Qwen/Qwen3-Next-80B-A3B-Thinking"),
            ("qwen3-vl", "Qwen/Qwen3-VL-8B-Instruct Qwen/Qwen3-VL-235B-A22B-Instruct-FP8"),
            ("qwen3-vl-thinking", "Qwen/Qwen3-VL-8B-Thinking Qwen/Qwen3-VL-235B-A22B-Thinking-FP8"),
            ("qwen3.5", "Qwen/Qwen3.5-4B Qwen/Qwen3.5-27B-FP8 Qwen/Qwen3.5-397B-A17B Qwen/Qwen3.6-35B-A3B-FP8"),
            ("", "Qwen/Qwen3.5-0.8B Qwen/Qwen3.5-2B Qwen/Qwen3.5-4B-Base Qwen/Qwen3.5-35B-A3B-Base Qwen/Qwen3.8-27B"),
            ("", "Qwen/Qwen3-8B-Base Qwen/Qwen3-30B-A3B-Base Qwen/Qwen3-Embedding-8B Qwen/Qwen3-Reranker-0.6B \
                Qwen/Qwen3-VL-Embedding-2B Qwen/Qwen3-Omni-30B-A3B-Instruct Qwen/Qwen3Guard-Gen-8B \
                Qwen/Qwen3-8B-GGUF Qwen/Qwen3-ASR-1.7B \
                Qwen/Qwen3-TTS-12Hz-1.7B-Base Qwen/Qwen3-4B-SafeRL"),
            ("qwen2.5", "Qwen/Qwen2.5-7B-Instruct Qwen/Qwen2.5-0.5B-Instruct Qwen/Qwen2.5-Coder-32B-Instruct"),
            ("qwen2.5-vl", "Qwen/Qwen2.5-VL-7B-Instruct Qwen/Qwen2-VL-2B-Instruct"),
            ("", "Qwen/Qwen2.5-7B Qwen/Qwen2.5-Math-7B-Instruct Qwen/Qwen2.5-Math-RM-72B Qwen/Qwen2.5-Math-PRM-7B \
                Qwen/Qwen2.5-Omni-7B Qwen/Qwen2-7B Qwen/Qwen2-Audio-7B-Instruct Qwen/Qwen2-Math-7B-Instruct \
                Qwen/Qwen2-VL-7B Qwen/Qwen2.5-7B-Instruct-GGUF Qwen/QwQ-32B-Preview Qwen/QVQ-72B-Preview"),
            ("qwen1.5-chat", "Qwen/Qwen1.5-7B-Chat Qwen/Qwen1.5-110B-Chat Qwen/Qwen1.5-MoE-A2.7B-Chat Qwen/Qwen1.5-0.5B-Chat Qwen/Qwen2-7B-Instruct"),
            ("qwq", "Qwen/QwQ-32B Qwen/QwQ-32B-AWQ"),
            ("deepseek-coder", "deepseek-ai/deepseek-coder-33b-instruct"),
            ("minicpm", "openbmb/MiniCPM-2B-sft-bf16 openbmb/MiniCPM-2B-dpo-fp32"),
            ("", "Qwen/Qwen1.5-7B deepseek-ai/deepseek-coder-6.7b-base deepseek-ai/deepseek-coder-7b-instruct-v1.5 openbmb/MiniCPM3-4B openbmb/MiniCPM-V-2"),
            ("llama-3", "meta-llama/Meta-Llama-3-8B-Instruct"),
            ("llama-3.1", "meta-llama/Meta-Llama-3.1-405B-Instruct meta-llama/Llama-3.1-8B-Instruct meta-llama/Llama-3.3-70B-Instruct"),
            ("llama-4", "meta-llama/Llama-4-Scout-17B-16E-Instruct"),
            ("", "meta-llama/Llama-3.1-8B meta-llama/Llama-3.2-3B-Instruct meta-llama/Llama-3.2-11B-Vision-Instruct meta-llama/Llama-Guard-3-8B \
                meta-llama/Llama-4-Scout-17B-16E meta-llama/Prompt-Guard-86M"),
            ("llama-2-chat", "meta-llama/Llama-2-7b-chat-hf meta-llama/Llama-2-70b-chat-hf"),
            ("codellama-instruct", "meta-llama/CodeLlama-34b-Instruct-hf codellama/CodeLlama-7b-Instruct-hf"),
            ("", "meta-llama/Llama-2-7b-hf codellama/CodeLlama-70b-Instruct-hf meta-llama/CodeLlama-70b-Instruct-hf meta-llama/CodeLlama-7b-Python-hf"),
            ("deepseek-r1", "deepseek-ai/DeepSeek-R1 deepseek-ai/DeepSeek-R1-Distill-Qwen-7B deepseek-ai/DeepSeek-R1-Distill-Llama-70B"),
            ("deepseek-r1-0528", "deepseek-ai/DeepSeek-R1-0528 deepseek-ai/DeepSeek-R1-0528-Qwen3-8B"),
            ("deepseek-v3.1", "deepseek-ai/DeepSeek-V3.1 deepseek-ai/DeepSeek-V3.2-Exp"),
            ("", "deepseek-ai/DeepSeek-R1-Zero deepseek-ai/DeepSeek-V3.1-Base deepseek-ai/DeepSeek-V3.2"),
            ("deepseek-v3", "deepseek-ai/DeepSeek-V3 deepseek-ai/DeepSeek-V3-0324 deepseek-ai/DeepSeek-V2.5-1210"),
            ("", "deepseek-ai/DeepSeek-V3-Base deepseek-ai/DeepSeek-Prover-V2-7B"),
            ("deepseek-v2", "deepseek-ai/deepseek-llm-7b-chat deepseek-ai/DeepSeek-V2-Lite-Chat"),
            ("", "deepseek-ai/deepseek-llm-7b-base deepseek-ai/DeepSeek-V2 deepseek-ai/DeepSeek-V2-Chat-0628 deepseek-ai/deepseek-vl-7b-chat"),
            ("gemma-2", "google/gemma-2-9b-it google/gemma-1.1-7b-it google/gemma-2b-it"),
            ("gemma-3", "google/gemma-3-4b-it google/gemma-3-270m-it google/gemma-3n-E4B-it"),
            ("", "google/gemma-2-9b google/gemma-3-4b-pt google/gemma-3n-E4B google/gemma-3-4b-it-qat-q4_0-gguf \
                google/embeddinggemma-300m google/paligemma-3b-mix-224 google/shieldgemma-2b"),
            ("chatglm3", "THUDM/chatglm3-6b THUDM/chatglm3-6b-32k zai-org/chatglm3-6b-128k"),
            ("glm-4", "THUDM/glm-4-9b-chat zai-org/glm-4-9b-chat-1m-hf zai-org/GLM-4-32B-0414"),
            ("glm-4.5", "zai-org/GLM-4.5-Air zai-org/GLM-4.6"),
            ("glm-4.7", "zai-org/GLM-4.7"),
            ("", "THUDM/chatglm3-6b-base THUDM/glm-4-9b THUDM/glm-4v-9b zai-org/GLM-4.5V zai-org/GLM-4.7-Flash zai-org/GLM-Z1-9B-0414 zai-org/GLM-4-32B-Base-0414"),
            ("internlm2-chat", "internlm/internlm2-chat-7b internlm/internlm2-chat-1_8b-sft internlm/internlm2_5-7b-chat"),
            ("internlm-chat", "internlm/internlm-chat-7b internlm/internlm-chat-20b"),
            ("", "internlm/internlm2-7b internlm/internlm2-base-7b internlm/internlm2-7b-reward internlm/internlm-chat-7b-v1_1 \
                internlm/internlm2-chat-7b-gguf internlm/internlm-xcomposer2-vl-7b"),
            ("command-r", "CohereForAI/c4ai-command-r-v01 CohereLabs/c4ai-command-r-plus-08-2024 CohereLabs/c4ai-command-r-v01-4bit"),
            ("", "CohereLabs/c4ai-command-r7b-12-2024 CohereLabs/c4ai-command-a-03-2025 CohereLabs/aya-expanse-8b"),
            ("chatml", "teknium/OpenHermes-2.5-Mistral-7B"),
            ("olmo-2", "allenai/OLMo-2-1124-13B-Instruct"),
            ("", "HuggingFaceTB/SmolLM2-1.7B-Instruct NousResearch/Hermes-3-Llama-3.1-8B NousResearch/Hermes-4-70B"),
            ("phi-3", "microsoft/Phi-3-mini-4k-instruct microsoft/Phi-3.5-mini-instruct"),
            ("phi-3-medium", "microsoft/Phi-3-medium-128k-instruct"),
            ("phi-4-mini", "microsoft/Phi-4-mini-instruct"),
            ("", "microsoft/Phi-3-small-8k-instruct microsoft/Phi-3-vision-128k-instruct microsoft/Phi-3-mini-4k-instruct-gguf \
                microsoft/Phi-3.5-MoE-instruct microsoft/Phi-4-mini-reasoning microsoft/phi-4-gguf"),
            ("vicuna", "lmsys/vicuna-7b-v1.5 lmsys/vicuna-13b-v1.5-16k lmsys/vicuna-33b-v1.3"),
            ("yi-chat", "01-ai/Yi-6B-Chat 01-ai/Yi-34B-Chat-4bits"),
            ("yi-1.5-chat", "01-ai/Yi-1.5-34B-Chat 01-ai/Yi-1.5-9B-Chat-16K"),
            ("exaone-3.5", "LGAI-EXAONE/EXAONE-3.5-2.4B-Instruct"),
            ("exaone-4", "LGAI-EXAONE/EXAONE-4.0-32B"),
            ("ernie-4.5", "baidu/ERNIE-4.5-21B-A3B-PT baidu/ERNIE-4.5-0.3B-PT"),
            ("", "baidu/ERNIE-4.5-VL-28B-A3B-PT baidu/ERNIE-4.5-21B-A3B-Base-PT moonshotai/Kimi-K2-Instruct ibm-granite/granite-3.3-8b-instruct"),
            ("", "lmsys/vicuna-7b-delta-v1.1 lmsys/vicuna-7b-delta-v0 01-ai/Yi-6B 01-ai/Yi-Coder-9B-Chat 01-ai/Yi-VL-6B"),
            ("moss", "fnlp/moss-moon-003-sft fnlp/moss-moon-003-sft-int4"),
            ("zephyr", "HuggingFaceH4/zephyr-7b-beta"),
            ("minimax-m2", "MiniMaxAI/MiniMax-M2"),
            ("minimax-m2.5", "MiniMaxAI/MiniMax-M2.5"),
            ("minimax-m2.7", "MiniMaxAI/MiniMax-M2.7"),
            ("seed-oss", "ByteDance-Seed/Seed-OSS-36B-Instruct"),
            ("lfm2", "LiquidAI/LFM2-1.2B LiquidAI/LFM2-8B-A1B"),
            ("", "MiniMaxAI/MiniMax-M2.1 ByteDance-Seed/Seed-OSS-36B-Base LiquidAI/LFM2-VL-1.6B LiquidAI/LFM2.5-1.2B-Instruct"),
            ("falcon-chat", "tiiuae/falcon-180B-chat"),
            ("", "fnlp/moss-moon-003-sft-plugin fnlp/moss-moon-003-base HuggingFaceH4/zephyr-7b-gemma-v0.1 \
                tiiuae/falcon-mamba-7b-instruct tiiuae/Falcon3-7B-Instruct tiiuae/falcon-180B"),
            ("mistral-instruct-v3", "mistralai/Mistral-7B-Instruct-v0.3"),
            ("", "mistralai/Mistral-7B-v0.3 mistralai/Pixtral-12B-2409 mistralai/Mamba-Codestral-7B-v0.1 mistralai/Magistral-Small-2506"),
        ];
        for (name, repositories) in table {
            for repository in repositories.split_whitespace() {
                let claimed = claiming(repository).map(|model| model.name).unwrap_or_default();
                assert_eq!(claimed, name, "{repository}");
            }
        }
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
