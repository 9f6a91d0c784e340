//! Options that would have no effect: rejected, with the reason.

use crate::args::{BuildArgs, CheckArgs, InputArgs, OnError, RejectArgs, RequestArgs, RunArgs, TemplateArgs, ViewArgs};
use crate::source::is_dash;
use crate::{request, setup};
use metatok::conversation::Mode;
use metatok::error::{ErrorKind, Result};
use metatok::forms::OUTPUT_FORMS;
use metatok::prepared::PreparedDataset;
use metatok::sink::Accepts;

/// Rejects the first given option, with the reason why it has no effect.
fn refuse<const N: usize>(flags: [(&str, bool); N], why: &str) -> Result<()> {
    match flags.into_iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => Err(ErrorKind::Usage(format!("{flag} {why}")).into()),
        None => Ok(()),
    }
}

/// Options of `build` that cannot be combined.
pub(crate) fn check_build(args: &BuildArgs) -> Result<()> {
    setup::check_room(&args.input)?;
    let accepts = args.format.accepts;
    if !accepts.details {
        let ids = [
            ("--text", args.text),
            ("--spans", args.spans),
            ("--labels", args.labels),
            ("--attention-mask", args.attention_mask),
        ];
        refuse(ids, "needs --format ids: no other format has a place for it")?;
    }
    #[cfg(feature = "arrays")]
    if !accepts.padding {
        let arrays = [
            ("--padding-side", args.padding_side.is_some()),
            ("--pad-to-multiple-of", args.pad_to_multiple_of.is_some()),
        ];
        refuse(arrays, "needs --format npz, npy or safetensors: nothing else is padded")?;
    }
    if !accepts.columns {
        let why = "writes columns beside each prompt, and this form has no place for them; build with --format ids, or join by id";
        refuse([("--keep", !args.input.keep.is_empty())], why)?;
    }
    check_request(args)?;
    check_rejects(&args.errors)?;
    if args.format.has_ids() { Ok(()) } else { check_messages(args) }
}

/// Options for bad lines that cannot be combined.
pub(crate) fn check_rejects(args: &RejectArgs) -> Result<()> {
    if args.on_error == OnError::Stop {
        let rejects = [("--rejects", args.rejects.is_some())];
        refuse(rejects, "is for rejected lines, but the first one stops the command; add --on-error reject")?;
    }
    let to_stdout = args.rejects.as_deref().is_some_and(is_dash);
    refuse([("--rejects", to_stdout)], "must name a file: standard output is for the results")
}

/// What goes with requests to servers.
fn check_request(args: &BuildArgs) -> Result<()> {
    let accepts = args.format.accepts;
    if !accepts.served_model_name {
        let why =
            format!("goes with --format {}: other engines have one model", forms(|accepts| accepts.served_model_name));
        refuse([("--served-model-name", args.served_model_name.is_some())], &why)?;
    }
    if accepts.request {
        let why = "writes what built a prompt beside it, and this form has no place for it: the server refuses keys that it does not know";
        return refuse([("--fingerprint", args.fingerprint && !accepts.columns)], why);
    }
    let forms = forms(|accepts| accepts.request);
    let why = format!("goes with --format {forms}: other forms are not requests");
    refuse(sampling(&args.request), &why)?;
    refuse([("--param", !args.request.params.is_empty())], &why)?;
    let has_answers = args.answers.answers.is_some() || !args.input.judge.is_empty();
    let run_id = [("--run-id", args.input.run_id.run_id.is_some() && !has_answers)];
    refuse(run_id, &format!("goes with --format {forms}, or with the answers of --answers or --judge"))
}

/// The options of sampling.
fn sampling(args: &RequestArgs) -> [(&'static str, bool); 4] {
    let RequestArgs { temperature, top_p, top_k, seed, .. } = args;
    [
        ("--temperature", temperature.is_some()),
        ("--top-p", top_p.is_some()),
        ("--top-k", top_k.is_some()),
        ("--seed", seed.is_some()),
    ]
}

/// The names of the forms that accept something.
fn forms(accept: impl Fn(&Accepts) -> bool) -> String {
    let names: Vec<&str> = OUTPUT_FORMS.iter().filter(|form| accept(&form.accepts)).map(|form| form.name).collect();
    let (last, names) = names.split_last().expect("there are forms of requests");
    format!("{} and {last}", names.join(", "))
}

/// Refuses what chooses among samples where none are taken.
pub(crate) fn check_sampling(args: &RequestArgs, dataset: Option<&PreparedDataset>) -> Result<()> {
    if request::sampling_params(args, dataset).temperature.is_some_and(|temperature| temperature != 0.0) {
        return Ok(());
    }
    let flags = [("--top-p", args.top_p.is_some_and(|top_p| top_p < 1.0)), ("--top-k", args.top_k.is_some())];
    refuse(flags, "limits which tokens are sampled, but without --temperature none are sampled")
}

fn check_messages(args: &BuildArgs) -> Result<()> {
    let ids = [
        ("--truncate", args.truncate.is_some()),
        ("--fingerprint", args.fingerprint),
        ("--tokenizer", args.model.tokenizer.is_some()),
        ("--special-tokens", args.prompts.special_tokens.is_some()),
        ("--content", args.prompts.template.content.is_some()),
        ("--reserve", !args.prompts.template.reserve.is_empty()),
        ("--unreserve", !args.prompts.template.unreserve.is_empty()),
        ("--stop-id", !args.prompts.stop.stop_id.is_empty()),
        ("--max-seq-len", args.input.max_seq_len.is_some() && args.input.dataset.is_none()),
    ];
    refuse(ids, "is for token ids, but messages have none; remove it, or build in another format")?;
    let templates = [
        ("--conversation", args.model.conversation.is_some()),
        ("--chat-template", args.model.chat_template.is_some()),
        ("--template-kwargs", args.model.template_kwargs.is_some()),
    ];
    refuse(templates, "is for the template of token ids, but the server applies its own to messages; remove it")?;
    let max_out_len = [("--max-out-len", args.input.max_out_len.is_some() && args.input.max_seq_len.is_none())];
    refuse(max_out_len, "leaves room within --max-seq-len, but messages do not pass it to the server; remove it")
}

/// Options that no command accepts for texts to score.
pub(crate) fn check_template(args: &TemplateArgs, mode: Mode) -> Result<()> {
    let open = [("--continue-final-message", args.continue_final_message && mode == Mode::Score)];
    refuse(open, "is for prompts to continue, but these are texts to score; remove it")
}

/// Options that `build` does not accept for texts to score.
pub(crate) fn check_mode(args: &BuildArgs, mode: Mode) -> Result<()> {
    check_template(&args.prompts.template, mode)?;
    if mode == Mode::Generate {
        let labels = [("--labels", args.labels)];
        refuse(labels, "is for texts to score, but these are prompts to continue; add --mode ppl")?;
    } else {
        let why = "is for answers, but texts to score have none; remove it";
        refuse([("--max-out-len", args.input.max_out_len.is_some())], why)?;
        refuse(sampling(&args.request), why)?;
    }
    if mode == Mode::Score || args.answers.answers.is_some() {
        let why = "is only for independent prompts to continue: a text to score would lose the scored part, and an answered dialogue its prefix";
        refuse([("--truncate", args.truncate.is_some())], why)?;
    }
    Ok(())
}

/// Options of `run` that cannot be combined.
pub(crate) fn check_run(args: &RunArgs, dataset: Option<&PreparedDataset>) -> Result<()> {
    if !args.generation_config {
        check_sampling(&args.request, dataset)?;
    }
    if args.server.url.is_none() {
        let params = [("--param", !args.request.params.is_empty())];
        refuse(params, "is a key of a request to a server, and the engine is in this process; remove it")?;
        check_run_id(&args.input, "the engine is in this process")?;
    }
    check_thoughts(&args.input, dataset.is_some_and(PreparedDataset::needs_model_answers))
}

/// Refuses the prefix of request ids where there are none.
fn check_run_id(args: &InputArgs, why: &str) -> Result<()> {
    let run_id = [("--run-id", args.run_id.run_id.is_some() && args.judge.is_empty())];
    refuse(run_id, &format!("is a prefix of request ids, but {why}; remove it"))
}

/// Refuses to take thoughts out where no answer of a model stands in a prompt.
pub(crate) fn check_thoughts(args: &InputArgs, has_answers: bool) -> Result<()> {
    let thoughts = [("--strip-thoughts", args.strip_thoughts && !has_answers && args.judge.is_empty())];
    refuse(
        thoughts,
        "is for a model's own answers in prompts, but there are none: they come from --answers, --judge, or earlier turns of `run`",
    )
}

/// Options of `view` that cannot be combined.
pub(crate) fn check_view(args: &ViewArgs, dataset: Option<&PreparedDataset>) -> Result<()> {
    let limit = [("--max-seq-len", args.input.dataset.is_none() && args.input.max_seq_len.is_some())];
    refuse(limit, "only applies to rows, with --dataset; for conversations, only `build` applies it")?;
    if args.answers.answers.is_none() {
        check_run_id(&args.input, "there are no answers from a server")?;
    }
    refuse([("--keep", !args.input.keep.is_empty())], NOTHING_WRITTEN)?;
    check_thoughts(&args.input, args.answers.answers.is_some())?;
    setup::check_room(&args.input)?;
    let room = [("--max-out-len", args.input.max_out_len.is_some() && args.input.max_seq_len.is_none())];
    refuse(room, "leaves room within --max-seq-len, so it has no effect without that; remove it")?;
    let has_turns = dataset.is_some_and(|dataset| dataset.dataset().inferencer.kind.has_turns());
    refuse(
        [("--turn", args.turn.is_some() && !has_turns)],
        "selects a turn, but the dataset does not generate turn by turn",
    )?;
    refuse(
        [("--label", args.label.is_some() && has_turns)],
        "selects a label, but the dataset generates turn by turn; use --turn",
    )?;
    let answers =
        [("--answers", args.answers.answers.is_some() && !dataset.is_some_and(PreparedDataset::needs_model_answers))];
    refuse(answers, ANSWERS)
}

/// Why columns written with prompts have no effect.
const NOTHING_WRITTEN: &str = "is for what `build` and `run` write with each prompt; remove it";

/// Why answers have no effect.
pub(crate) const ANSWERS: &str = "is for turns that need the model's own answers to earlier turns: ChatInferencer or MultiTurnGenInferencer, and --infer-mode every or every_empty";

/// Options of `check` that cannot be combined.
pub(crate) fn check_check(args: &CheckArgs) -> Result<()> {
    refuse(
        [("--keep", !args.input.keep.is_empty()), ("--id-column", args.input.id_column.is_some())],
        NOTHING_WRITTEN,
    )?;
    let lengths =
        [("--max-seq-len", args.input.max_seq_len.is_some()), ("--max-out-len", args.input.max_out_len.is_some())];
    if args.against.is_none() {
        refuse(lengths, "shortens prompts, but check accepts any length; remove it")?;
        refuse(
            [("--judge", !args.input.judge.is_empty())],
            "is for `build`, `run` and `view`: check only reads the dataset's own prompts",
        )?;
        refuse(
            [("--answers", args.answers.answers.is_some())],
            "goes with --against: check reads the rows' own answers",
        )?;
    }
    if args.answers.answers.is_none() {
        check_run_id(&args.input, "`check` sends no requests")?;
    }
    check_thoughts(&args.input, args.answers.answers.is_some())?;
    setup::check_room(&args.input)
}
