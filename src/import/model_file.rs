//! An imported model as a file, with a comment of what was verified.

use std::fmt::Write;

use crate::conversation::Mode;
use crate::error::{ErrorKind, Result};
use crate::import::{ContentKind, Imported};

impl Imported {
    /// The model file, in TOML, with comments of what was verified and what it does not do.
    ///
    /// # Errors
    /// None that a user could cause.
    pub fn to_toml(&self) -> Result<String> {
        let mut file = String::new();
        let (mut exact, mut partial) = (Vec::new(), Vec::new());
        for kind in ContentKind::ALL.into_iter().chain(ContentKind::FURTHER) {
            let tallies = [Mode::Generate, Mode::Score].map(|mode| self.verified.tally(kind, mode));
            let [generate, score] = tallies;
            let all = generate.all + score.all;
            if all == 0 {
                continue;
            }
            match generate.is_exact() && score.is_exact() {
                true => exact.push(format!("{} ({all} prompts)", kind.name())),
                false => partial.push((kind, format!("{}: gen {generate}, ppl {score}", kind.name()))),
            }
        }
        let _ = writeln!(file, "# Made of the chat template of {} and compared with it.", self.model.name);
        let _ = writeln!(file, "# The same ids: {}.", if exact.is_empty() { "none".into() } else { exact.join(", ") });
        if self.tells_time {
            file.push_str("# The chat template can write the day of its use. This model always writes the day on which it was made.\n");
        }
        if self.verified.tally(ContentKind::Long, Mode::Generate).all == 0 {
            file.push_str(
                "# Not compared: long chats and contents. The template's code does not tell which lengths matter.\n",
            );
        }
        for (kind, counts) in partial {
            let _ = writeln!(file, "# Not always the same: {counts}");
            if kind == ContentKind::Orders {
                let orders = self.verified.orders.iter().map(String::as_str).collect::<Vec<_>>();
                let _ = writeln!(file, "#   {}", orders.join(", "));
            }
            if let Some(difference) = self.verified.differences.get(&kind) {
                let _ = writeln!(file, "#   {difference}");
            }
        }
        let body = toml::to_string(&self.model).map_err(|error| ErrorKind::Parse(error.to_string()))?;
        file.push_str(&body);
        Ok(file)
    }
}
