//! Every form of requests writes what its server takes, by a schema that was written from the server's source.

use metatok::builder::BuilderOptions;
use metatok::dataset::prompter::SamplingParams;
use metatok::forms::OUTPUT_FORMS;
use metatok::server::RequestOptions;
use metatok::sink::{FormOptions, OutputForm, PromptKey, Sink};
use metatok::{ChatMessage, Conversation, Mode, Model, PromptBuilder, Tokenizer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::harness::{Tests, tests};
use crate::root::root;
use crate::schema::validate;

pub(crate) fn tests() -> Tests {
    tests![
        requests_are_what_their_servers_take,
        texts_to_score_are_requests_where_servers_score,
        greedy_requests_leave_nothing_to_the_server,
        the_schemas_refuse_what_the_servers_refuse,
        no_request_has_an_empty_prompt
    ]
}

fn forms() -> impl Iterator<Item = &'static OutputForm> {
    OUTPUT_FORMS.iter().filter(|form| form.accepts.request)
}

fn schema(form: &OutputForm) -> Value {
    let path = root().join("tests/engines/schemas").join(format!("{}.json", form.name));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn raw(json: &str) -> &RawValue {
    serde_json::from_str(json).expect("it is JSON")
}

fn builder(stop_strings: &[&str]) -> PromptBuilder {
    let stop_strings = stop_strings.iter().map(|string| (*string).to_owned()).collect();
    let options = BuilderOptions { stop_strings, ..BuilderOptions::default() };
    let tokenizer = Tokenizer::demo().expect("it is embedded").into();
    PromptBuilder::new(&Model::load("demo").expect("it is built in"), tokenizer, &options).expect("it fits")
}

/// A request for a prompt, with what each form has a place for.
fn request(form: &OutputForm, builder: &PromptBuilder, request: RequestOptions, key: &PromptKey<'_>) -> Value {
    let request = RequestOptions { served_model_name: Some("demo".into()), ..request };
    let sink = form.open(builder, FormOptions { request, ..FormOptions::default() });
    let Ok(Sink::Lines(sink)) = sink else { panic!("{}: its files are lines", form.name) };
    let prompt = builder.build(&Conversation::Messages(vec![ChatMessage::new("user", "1+1=?")])).expect("it is built");
    let key = if form.accepts.columns {
        PromptKey { columns: Some(raw(r#"{"answer":2}"#)), fingerprint: Some(raw("{}")), ..*key }
    } else {
        *key
    };
    let mut line = Vec::new();
    sink.write(&key, &(&prompt).into(), &mut line).expect("it has a place");
    serde_json::from_slice(&line).unwrap_or_else(|error| panic!("{}: {error}", form.name))
}

fn sampled() -> RequestOptions {
    RequestOptions {
        sampling: SamplingParams { temperature: Some(0.7), top_p: Some(0.9), top_k: Some(40) },
        seed: Some(7),
        run_id: Some("night".into()),
        stream: true,
        ..RequestOptions::default()
    }
}

fn requests_are_what_their_servers_take() {
    let turn = PromptKey { turn: Some(1), repeat: Some(0), max_out_len: Some(5), ..PromptKey::of(raw("7")) };
    let all = SamplingParams { top_k: Some(-1), ..sampled().sampling };
    let cases = [
        ("greedy", RequestOptions::default(), PromptKey::of(raw("\"a\""))),
        ("sampled", sampled(), PromptKey::of(raw("0"))),
        ("all tokens", RequestOptions { sampling: all, ..sampled() }, PromptKey::of(raw("0"))),
        ("a turn", RequestOptions::default(), turn),
    ];
    for form in forms() {
        let schema = schema(form);
        for stop_strings in [&[][..], &["Q:"]] {
            for (name, options, key) in &cases {
                let options = RequestOptions {
                    sampling: SamplingParams {
                        top_k: options.sampling.top_k.filter(|_| form.name != "openai"),
                        ..options.sampling
                    },
                    ..options.clone()
                };
                let request = request(form, &builder(stop_strings), options, key);
                let errors = validate(&schema, &request, "");
                assert!(errors.is_empty(), "{}, {name}: {errors:?}\n{request}", form.name);
            }
        }
    }
}

/// A form has a place for texts to score, or says so when it is opened.
fn texts_to_score_are_requests_where_servers_score() {
    let options = BuilderOptions { mode: Mode::Score, ..BuilderOptions::default() };
    let model = Model::load("demo").expect("it is built in");
    let tokenizer = Tokenizer::demo().expect("it is embedded").into();
    let builder = PromptBuilder::new(&model, tokenizer, &options).expect("it fits");
    for form in forms() {
        if !form.accepts.scores {
            let request = RequestOptions { served_model_name: Some("demo".into()), ..RequestOptions::default() };
            let error =
                form.open(&builder, FormOptions { request, ..FormOptions::default() }).expect_err("it scores none");
            assert!(error.to_string().contains("has no place for a text to score"), "{error}");
            continue;
        }
        let label = "yes".into();
        let key = PromptKey { label: Some(&label), label_index: Some(1), ..PromptKey::of(raw("7")) };
        let request = request(form, &builder, RequestOptions::default(), &key);
        let errors = validate(&schema(form), &request, "");
        assert!(errors.is_empty(), "{}: {errors:?}\n{request}", form.name);
        let id = request.get("request_id").or(request.get("rid"));
        assert_eq!(id, Some(&json!("7-label-1")), "{}", form.name);
    }
}

fn greedy_requests_leave_nothing_to_the_server() {
    for form in forms() {
        let request = request(form, &builder(&[]), RequestOptions::default(), &PromptKey::of(raw("0"))).to_string();
        let is_stated = |names: &[&str]| names.iter().any(|name| request.contains(&format!("\"{name}\"")));
        for names in [
            &["max_tokens", "max_new_tokens", "n_predict", "request_output_len"][..],
            &["temperature"],
            &["top_p", "runtime_top_p"],
            &["top_k", "runtime_top_k"],
            &["repetition_penalty", "repeat_penalty"],
        ] {
            // OpenAI's API has neither of two.
            let has = |name: &&str| schema(form).pointer("/properties").is_some_and(|keys| keys.get(*name).is_some());
            let is_nested = ["sglang", "vllm-generate", "triton"].contains(&form.name);
            if !is_nested && !names.iter().any(has) {
                assert_eq!(form.name, "openai");
                continue;
            }
            assert!(is_stated(names), "{}: {names:?} in {request}", form.name);
        }
        assert!(!is_stated(&["seed", "sampling_seed", "stream", "streaming"]), "{}: {request}", form.name);
    }
}

/// The schemas are looked at too: each refuses something that its server does.
fn the_schemas_refuse_what_the_servers_refuse() {
    for (form, pointer, value) in [
        ("vllm", "/stop", json!(["a", "b", "c", "d", "e"])),
        ("vllm", "/top_k", json!(-2)),
        ("vllm", "/prompt", json!([])),
        ("vllm", "/prompt_logprobs", json!(-2)),
        ("vllm-generate", "/sampling_params/max_tokens", json!(0)),
        ("vllm-generate", "/sampling_params/max_new_tokens", json!(5)),
        ("sglang", "/sampling_params/max_tokens", json!(5)),
        ("sglang", "/sampling_params/top_p", json!(0)),
        ("llama-cpp", "/seed", json!(4_294_967_295_u64)),
        ("lmdeploy", "/top_k", json!(-1)),
        ("trtllm", "/request_id", json!("a")),
        ("trtllm", "/return_token_ids", json!(true)),
        ("dynamo", "/request_id", json!("a")),
        ("dynamo", "/stop", json!([])),
        ("triton", "/inputs/0/datatype", json!("INT64")),
        ("triton", "/inputs/1/shape", json!([1])),
    ] {
        let form = OutputForm::find(form).expect("it is there");
        let mut request = request(form, &builder(&[]), RequestOptions::default(), &PromptKey::of(raw("0")));
        let (parent, key) = pointer.rsplit_once('/').expect("it is below something");
        let parent = request.pointer_mut(parent).expect("it is there");
        parent[key] = value;
        assert!(!validate(&schema(form), &request, "").is_empty(), "{}: {pointer}", form.name);
    }
}

fn no_request_has_an_empty_prompt() {
    let builder = builder(&[]);
    let mut prompt = builder.build(&Conversation::Text("a".into())).expect("it is built");
    prompt.input_ids.clear();
    for form in forms() {
        let request = RequestOptions { served_model_name: Some("demo".into()), ..RequestOptions::default() };
        let sink = form.open(&builder, FormOptions { request, ..FormOptions::default() });
        let Ok(Sink::Lines(sink)) = sink else { panic!("{}: its files are lines", form.name) };
        let error =
            sink.write(&PromptKey::of(raw("0")), &(&prompt).into(), &mut Vec::new()).expect_err("it has no token");
        assert!(error.to_string().ends_with("refuses an empty prompt, and this one has no tokens"), "{error}");
    }
}
