//! The pages of the repository's `docs/`, with links between them that work here too.

macro_rules! pages {
    ($($(#[$attribute:meta])* $page:ident = $file:literal;)*) => { $(
        // If a link is defined twice, the first definition counts: here the module, elsewhere the file at the page's end.
        #[cfg_attr(not(doctest), doc = include_str!("links.md"))]
        #[doc = include_str!(concat!("../../", $file))]
        $(#[$attribute])*
        pub mod $page {}
    )* };
}

pages! {
    architecture = "ARCHITECTURE.md";
    benchmarks = "docs/benchmarks.md";
    chat_templates = "docs/chat-templates.md";
    check = "docs/check.md";
    compare = "docs/compare.md";
    contract = "docs/contract.md";
    conversations = "docs/conversations.md";
    datasets = "docs/datasets.md";
    engines = "docs/engines.md";
    input = "docs/input.md";
    lm_eval = "docs/lm-eval.md";
    models = "docs/models.md";
    multimodal = "docs/multimodal.md";
    opencompass = "docs/opencompass.md";
    python = "docs/python.md";
    python_recipes = "docs/python-recipes.md";
    // Its example runs an engine.
    #[cfg(any(not(doctest), feature = "candle"))]
    run = "docs/run.md";
    safety = "docs/safety.md";
    scores = "docs/scores.md";
    security = "SECURITY.md";
    stop = "docs/stop.md";
    template = "docs/template.md";
    tokenizers = "docs/tokenizers.md";
    truncate = "docs/truncate.md";
    turns = "docs/turns.md";
    verification = "docs/verification.md";
    view = "docs/view.md";
}
