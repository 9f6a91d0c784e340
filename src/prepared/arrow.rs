//! Rows in the form of Hugging Face `datasets`, which depends on all of them.

use crate::dataset::{BadRow, Holds, arrow_rows};
use crate::error::{Place, Result};
use crate::input::{Input, RecordPlace};
use crate::prepared::PreparedDataset;

impl PreparedDataset {
    /// The inputs' rows in the form of Hugging Face `datasets`, as one input, if that is requested. A record that is no row
    /// stays one, so that it is rejected in its turn.
    ///
    /// # Errors
    /// Errors of reading them.
    pub fn through_arrow(&self, inputs: Vec<Input>) -> Result<Vec<Input>> {
        if !self.options.arrow_compat {
            return Ok(inputs);
        }
        let (name, several) = (inputs.iter().map(Input::name).collect::<Vec<_>>().join(", "), inputs.len() > 1);
        let longest = self.options.max_line_bytes;
        let (mut rows, mut bad) = (Vec::new(), Vec::new());
        for input in inputs {
            let name = input.name().to_owned();
            let (mut records, mut bytes) = (input.records(longest, Holds::Rows), Vec::new());
            while let Some(record) = records.next_into(&mut bytes).map_err(|error| error.at(Place::file(&name)))? {
                let row = record.raw(&bytes, longest).and_then(|record| Ok(record.row()?.into_owned()));
                bad.push(match row {
                    Ok(row) => {
                        rows.push(row);
                        None
                    }
                    Err(_) if record.line.is_too_long => Some(BadRow::TooLong),
                    Err(error) => {
                        let place = RecordPlace::new(&name, &record.line);
                        // The rows of the new input have numbers of their own.
                        let is_number_of_row = !several && place.number() == bad.len() as u64 + 1;
                        let error = if is_number_of_row { error } else { place.of_error(error) };
                        Some(BadRow::new(error, record.bytes(&bytes)?.into_owned()))
                    }
                });
                bytes.clear();
            }
        }
        let mut rows = arrow_rows(rows, &format!("{}_test", self.dataset.abbr())).into_iter();
        let all = bad.into_iter().filter_map(|bad: Option<BadRow>| match bad {
            Some(bad) => Some(Err(bad)),
            None => rows.next().map(Ok),
        });
        Ok(vec![Input::table(name, all.collect())])
    }
}
