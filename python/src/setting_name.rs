//! Options in messages, as a person writes them in Python; those that only the command line has, as its flags.

use metatok::error::Setting;

/// The library's options that are keys of `sampling`, with their names there.
const OF_SAMPLING: [(Setting, &str); 2] = [(Setting::SERVED_MODEL_NAME, "model"), (Setting::RUN_ID, "run_id")];

const OF_THE_COMMAND_LINE: [Setting; 14] = [
    Setting::ANSWERS,
    Setting::CHOICES,
    Setting::COLUMNS,
    Setting::FORMAT,
    Setting::INPUT_FORMAT,
    Setting::JUDGE,
    Setting::LABEL,
    Setting::LABELS,
    Setting::MAX_LINE_BYTES,
    Setting::MAX_ROW_BYTES,
    Setting::OUTPUT,
    Setting::PROMPT,
    Setting::RESUME,
    Setting::TURN,
];

/// An option as a person writes it.
///
/// `special_tokens = "always"`, `compat = True`, `model` in `sampling`, `--format messages` of the command line.
pub(crate) fn setting_name(setting: &Setting) -> String {
    let name = setting.name();
    if let Some((_, key)) = OF_SAMPLING.iter().find(|(known, _)| known.name() == name) {
        return format!("`{key}` in `sampling`");
    }
    if OF_THE_COMMAND_LINE.iter().any(|known| known.name() == name) {
        let value = setting.value().map_or_else(String::new, |value| format!(" {value}"));
        return format!("`--{}{value}` of the command line", name.replace('_', "-"));
    }
    match (name, setting.value()) {
        (name, Some("true")) => format!("`{name} = True`"),
        (name, Some("false")) => format!("`{name} = False`"),
        (name, None) if name == Setting::TRUNCATE.name() => "`truncation`".to_owned(),
        (name, Some(value)) if name == Setting::TRUNCATE.name() => format!("`truncation = {value:?}`"),
        _ => setting.to_string(),
    }
}
