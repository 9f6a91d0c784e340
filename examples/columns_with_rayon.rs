//! Columns of ids and offsets, as tables have them, built on all cores.

use metatok::{Conversation, PromptBuilder, TokenId};
use rayon::prelude::*;

/// Lists of ids one after the other: those of prompt `i` are `ids[offsets[i]..offsets[i + 1]]`.
struct Column {
    ids: Vec<TokenId>,
    offsets: Vec<usize>,
}

fn column(builder: &PromptBuilder, questions: &[String]) -> metatok::Result<Column> {
    let parts = questions.par_chunks(256).map(|questions| part(builder, questions));
    let parts = parts.collect::<metatok::Result<Vec<Column>>>()?;
    let mut whole = Column { ids: Vec::new(), offsets: vec![0] };
    for Column { ids, offsets } in parts {
        let start = whole.ids.len();
        whole.offsets.extend(offsets[1..].iter().map(|offset| start + offset));
        whole.ids.extend(ids);
    }
    Ok(whole)
}

/// A session keeps its memory from one prompt to the next.
fn part(builder: &PromptBuilder, questions: &[String]) -> metatok::Result<Column> {
    let mut session = builder.session();
    let mut column = Column { ids: Vec::new(), offsets: vec![0] };
    for question in questions {
        let prompt = session.append(&Conversation::from([("user", question.as_str())]), &mut column.ids)?;
        column.offsets.push(prompt.end);
    }
    Ok(column)
}

pub(crate) fn main() -> metatok::Result<()> {
    let builder = PromptBuilder::demo()?;
    let questions: Vec<String> = (0..2000).map(|number| format!("Is {number} a prime?")).collect();
    let Column { ids, offsets } = column(&builder, &questions)?;
    assert_eq!((offsets.len(), offsets.last()), (2001, Some(&ids.len())));
    let last = builder.build_messages(&[("user", "Is 1999 a prime?")])?;
    assert_eq!(ids[offsets[1999]..], last.input_ids);
    Ok(())
}
