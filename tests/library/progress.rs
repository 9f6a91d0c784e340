//! The progress of a run: the input counts as read when its lines are done, not when they are taken.

use std::ops::ControlFlow;

use metatok::PromptBuilder;
use metatok::engine::CandleEngine;
use metatok::input::Input;
use metatok::run::{RunAnswers, RunEvent, RunOptions, Runner};

use crate::harness::{Tests, tests};

pub(crate) fn tests() -> Tests {
    tests![progress_is_that_of_the_answers]
}

const LINES: &str = "\"1+1=?\"\n\"2+2=?\"\n\"3+3=?\"\n\"4+4=?\"\n";

fn progress_is_that_of_the_answers() {
    let engine = CandleEngine::demo().expect("it is embedded");
    let options = RunOptions { max_out_len: Some(2), ..RunOptions::default() };
    let runner = Runner::new(PromptBuilder::demo().expect("it is embedded"), Box::new(engine), None, options);
    let (mut read, mut at_answers) = (0, Vec::new());
    let ran = runner.run(vec![Input::new("lines", LINES.as_bytes())], &mut RunAnswers::streamed(), &mut |event| {
        match event {
            RunEvent::Read(bytes) => read += bytes,
            RunEvent::Answer => at_answers.push(read),
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    });
    ran.and_then(|(_, outcome)| outcome.into_result()).expect("they are conversations");
    let line = read / 4;
    assert!(line > 0 && read <= LINES.len() as u64, "{read} bytes");
    assert_eq!(at_answers, [0, line, 2 * line, 3 * line]);
}
