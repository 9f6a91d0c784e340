//! Where output ends: FastChat's streams and judges, UltraFeedback's scripts.
//!
//! What metatok gives is held against a plain search first, so that no rule can hide anything else.

use metatok::dialect::ConversationTemplate;
use metatok::stop::{FinishReason, StopCriteria, StopSource};
use serde_json::{Value, json};

use crate::infer::is_python_space;
use crate::{Outcome, Replayer};

/// Replays a case, or gives nothing if it is none of these.
pub(crate) fn replay(replayer: &Replayer, case: &Value) -> Option<Outcome> {
    let found = match case["op"].as_str()? {
        "partial_stop" => partial(case),
        "stream" => stream(case),
        "judge" => judge(replayer, case),
        "uf_output" => ultrafeedback(case),
        _ => return None,
    };
    Some(match found {
        Ok(()) => Outcome::Passed,
        Err((facts, message)) => match replayer.excepted(&json!({ "stop": facts }), &Value::Null) {
            Some(rule) => Outcome::Excepted(rule),
            None => Outcome::Failed(message),
        },
    })
}

/// What differs, and the facts of the case that a rule may name.
type Compared = Result<(), (Vec<&'static str>, String)>;

fn compare(found: &Value, recorded: &Value, facts: &[(&'static str, bool)]) -> Compared {
    if found == recorded {
        return Ok(());
    }
    let facts = facts.iter().filter(|(_, holds)| *holds).map(|(fact, _)| *fact).collect();
    Err((facts, format!("found {found}, recorded {recorded}")))
}

fn strings(stops: &Value) -> Vec<String> {
    match stops {
        Value::String(stop) => vec![stop.clone()],
        other => other.as_array().into_iter().flatten().filter_map(|stop| stop.as_str().map(str::to_owned)).collect(),
    }
}

fn numbers(ids: &Value) -> Vec<u32> {
    ids.as_array().into_iter().flatten().filter_map(|id| id.as_u64()?.try_into().ok()).collect()
}

fn criteria(strings: &[String], ids: &[u32]) -> StopCriteria {
    let mut criteria = StopCriteria::default();
    strings.iter().for_each(|string| criteria.add_string(string));
    ids.iter().for_each(|&id| criteria.add_id(id, StopSource::ConversationTemplate));
    criteria
}

/// The text before the stop that is complete first, by trying every end.
fn searched<'t>(text: &'t str, stops: &[String]) -> Option<&'t str> {
    let stops: Vec<&String> = stops.iter().filter(|stop| !stop.is_empty()).collect();
    (1..=text.len()).find_map(|end| {
        let ended = |stop: &&&String| text.as_bytes()[..end].ends_with(stop.as_bytes());
        let longest = stops.iter().filter(ended).map(|stop| stop.len()).max()?;
        Some(&text[..end - longest])
    })
}

fn partial(case: &Value) -> Compared {
    let (text, stop) = (case["output"].as_str().unwrap_or_default(), case["stop_str"].as_str().unwrap_or_default());
    let matcher = criteria(&[stop.to_owned()], &[]).matcher().expect("it is one");
    // The reference takes a whole stop for a part of one, but looks at nothing that stands before one.
    let is_partial = match matcher.trim(text).1 {
        FinishReason::Length => matcher.held_back(text) > 0,
        _ => text == stop || (1..stop.len()).any(|at| stop.is_char_boundary(at) && text.ends_with(&stop[..at])),
    };
    compare(&json!(is_partial), &case["expect"]["partial"], &[])
}

/// The scripted tokens.
struct Vocabulary(Vec<(String, bool)>);

impl Vocabulary {
    fn new(case: &Value) -> Self {
        let entry = |entry: &Value| (entry[0].as_str().unwrap_or_default().to_owned(), entry[1] == 1);
        Self(case["vocab"].as_array().into_iter().flatten().map(entry).collect())
    }

    fn is_special(&self, id: u32) -> bool {
        self.0[id as usize].1
    }

    fn text(&self, ids: &[u32], skip_special: bool) -> String {
        let shown = ids.iter().filter(|&&id| !(skip_special && self.is_special(id)));
        shown.map(|&id| self.0[id as usize].0.as_str()).collect()
    }
}

fn stream(case: &Value) -> Compared {
    let vocabulary = Vocabulary::new(case);
    let eos = case["eos_token_id"].as_u64().unwrap_or_default() as u32;
    let stops = strings(&case["stop"]);
    let ids: Vec<u32> = numbers(&case["stop_token_ids"]).into_iter().chain([eos]).collect();
    let criteria = criteria(&stops, &ids);
    let matcher = criteria.matcher().expect("they are few");
    // What the script does not say is eos.
    let generated = numbers(&case["gen_ids"]).into_iter().chain(std::iter::repeat(eos));
    let generated: Vec<u32> = generated.take(case["max_new_tokens"].as_u64().unwrap_or_default() as usize).collect();

    let (mut stream, mut text, mut last) = (matcher.stream(), String::new(), None);
    for &id in &generated {
        last = Some(id);
        if stream.push(id, &vocabulary.text(&[id], true), &mut text).is_some() {
            break;
        }
    }
    let reason = stream.finish(&mut text);

    let before_id = generated.iter().position(|id| ids.contains(id)).unwrap_or(generated.len());
    let whole = vocabulary.text(&generated[..before_id], true);
    let by_search = searched(&whole, &stops);
    assert_eq!(by_search.unwrap_or(&whole), text, "{}", case["id"]);
    assert_eq!(by_search.is_some(), matches!(reason, FinishReason::StopString(_)), "{}", case["id"]);

    let echo = case["echo"] == true;
    let prompt = if echo { vocabulary.text(&numbers(&case["prompt_ids"]), true) } else { String::new() };
    let recorded = case["expect"]["yields"].as_array().and_then(|yields| yields.last()).cloned().unwrap_or_default();
    let finish = if reason == FinishReason::Length { "length" } else { "stop" };
    let found = json!({ "text": prompt.clone() + &text, "finish_reason": finish });
    let recorded = json!({ "text": recorded["text"], "finish_reason": recorded["finish_reason"] });
    let shown = last.filter(|id| ids.contains(id) && !vocabulary.is_special(*id)).is_some();
    compare(
        &found,
        &recorded,
        &[
            ("judges the end of sentences", case["judge_sent_end"] == true),
            (
                "cuts the prompt",
                case["context_len"].as_u64() < Some((numbers(&case["prompt_ids"]).len() + generated.len() + 1) as u64),
            ),
            ("echoes the prompt", echo && !stops.is_empty()),
            ("a stop token has text", shown),
            ("a stop string comes", by_search.is_some()),
            ("an empty stop string", stops.iter().any(String::is_empty)),
        ],
    )
}

fn judge(replayer: &Replayer, case: &Value) -> Compared {
    let vocabulary = Vocabulary::new(case);
    let template: ConversationTemplate = match serde_json::from_value(
        replayer.conversation("fastchat", case["template"].as_str().unwrap_or_default()),
    ) {
        Ok(template) => template,
        // One without a style can still be asked where output ends.
        Err(_) => return compare(&Value::Null, &case["stop_str"], &[]),
    };
    assert_eq!(json!(template.stop_str), case["stop_str"]);
    let stops = strings(&case["stop_str"]);
    let ids = numbers(&case["stop_token_ids"]);
    let matcher = criteria(&stops, &ids).matcher().expect("they are few");
    let generated = numbers(&case["gen_ids"]);
    let (kept, _) = matcher.trim_ids(&generated);
    let whole = vocabulary.text(kept, false);
    let (text, _) = matcher.trim(&whole);
    assert_eq!(searched(&whole, &stops).unwrap_or(&whole), text, "{}", case["id"]);
    // What the judge does then: special tokens are deleted wherever they stand.
    let mut turn = text.to_owned();
    for special in case["special_tokens_map"].as_object().into_iter().flatten().map(|(_, special)| special) {
        for token in strings(special) {
            turn = turn.replace(&token, "");
        }
    }
    let mut turn = turn.trim_matches(is_python_space).to_owned();
    if template.name == "xgen" {
        turn =
            turn.strip_prefix("Assistant:").map(|rest| rest.trim_matches(is_python_space).to_owned()).unwrap_or(turn);
    }
    let starts = stops.iter().any(|stop| !stop.is_empty() && whole.starts_with(stop.as_str()));
    compare(&json!(turn), &case["expect"]["turn"], &[("a stop string at the start", starts)])
}

fn ultrafeedback(case: &Value) -> Compared {
    let model = case["model_type"].as_str().unwrap_or_default();
    let template = ConversationTemplate::of_ultrafeedback_model(model);
    let raw = case["raw"].as_str().unwrap_or_default();
    let is_main = case["script"] == "main";
    // The scripts' own trimming, but for the suffix.
    let strip = |text| str::trim_matches(text, is_python_space);
    let response = match is_main {
        true => strip(strip(raw.trim_matches('\n')).split("\n\n\n\n").next().unwrap_or_default()),
        false => strip(strip(raw).trim_end_matches("</s>")),
    };
    let stops: Vec<&str> = template.iter().flat_map(|template| template.stop_str.iter()).collect();
    let found = json!({ "response": response, "stop": stops });
    let set = !is_main && strip(raw).ends_with(['<', '/', 's', '>']);
    compare(
        &found,
        &json!({ "response": case["expect"]["response"], "stop": case["expect"]["stop"] }),
        &[
            ("trims a set of characters", set),
            (
                "stops are decoded, or not used",
                json!(stops) != case["expect"]["stop"] && response == case["expect"]["response"],
            ),
        ],
    )
}
