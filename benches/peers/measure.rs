//! Prompts a second of one thread's processor time, for ids that are right.

use std::hint::black_box;

use cpu_time::{ProcessTime, ThreadTime};

use crate::subjects::{CONTESTANTS, Contestant, Place, Subject};
use crate::workloads::{Made, Prompt};

/// What a subject reached.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    /// Prompts a second, the median of the rounds.
    Rate(f64),
    /// It gives other ids.
    Differs,
    /// It cannot do it, and why.
    Failed(String),
}

/// Fills in the ids of all prompts.
pub(crate) fn fill_ids(reference: &mut dyn Subject, rounds: &mut [Vec<Prompt>]) -> Result<(), String> {
    for round in rounds {
        let mut all = Vec::with_capacity(round.len());
        reference.run(round, &mut |ids| all.push(ids.to_vec()))?;
        round.iter_mut().zip(all).for_each(|(prompt, ids)| prompt.ids = ids);
    }
    Ok(())
}

/// All subjects, one after the other, each on a thread of its own: what a library keeps by thread is new, too.
pub(crate) fn measure_all(place: &Place<'_>, made: &Made) -> Vec<Outcome> {
    CONTESTANTS.iter().map(|contestant| measure(contestant, place, &made.rounds)).collect()
}

/// One subject.
pub(crate) fn measure(contestant: &Contestant, place: &Place<'_>, rounds: &[Vec<Prompt>]) -> Outcome {
    let measured = std::thread::scope(|scope| {
        let worker = scope.spawn(|| try_measure(contestant, place, rounds));
        worker.join().unwrap_or_else(|_| Err("it panics".into()))
    });
    match measured {
        Ok(Some(rate)) => Outcome::Rate(rate),
        Ok(None) => Outcome::Differs,
        Err(message) => Outcome::Failed(message),
    }
}

/// None if the ids differ. Those of the first round are compared before anything is timed, which warms, and those of the
/// others at the end: before, caches would know what is said to be new.
fn try_measure(contestant: &Contestant, place: &Place<'_>, rounds: &[Vec<Prompt>]) -> Result<Option<f64>, String> {
    let mut subject = (contestant.open)(place)?;
    let part = |round: &'_ [Prompt]| round.len().div_ceil(contestant.every);
    let (first, others) = rounds.split_first().expect("there is a round to warm");
    if !is_right(&mut *subject, &first[..part(first)])? {
        return Ok(None);
    }
    let mut seconds = Vec::with_capacity(others.len());
    for round in others {
        seconds.push(time(&mut *subject, &round[..part(round)])?);
    }
    for round in others {
        if !is_right(&mut *subject, &round[..part(round)])? {
            return Ok(None);
        }
    }
    seconds.sort_by(f64::total_cmp);
    Ok(Some(part(first) as f64 / seconds[seconds.len() / 2]))
}

fn is_right(subject: &mut dyn Subject, prompts: &[Prompt]) -> Result<bool, String> {
    let (mut expected, mut right) = (prompts.iter(), true);
    subject.run(prompts, &mut |ids| right &= expected.next().is_some_and(|prompt| prompt.ids == ids))?;
    Ok(right && expected.next().is_none())
}

/// The processor time of this thread. Of the whole process if others took part.
fn time(subject: &mut dyn Subject, prompts: &[Prompt]) -> Result<f64, String> {
    let (process, thread) = (ProcessTime::now(), ThreadTime::now());
    subject.run(prompts, &mut |ids| {
        black_box(ids);
    })?;
    let (thread, process) = (thread.elapsed().as_secs_f64(), process.elapsed().as_secs_f64());
    let alone = process < thread * 1.1 + 1e-3;
    Ok(if alone { thread } else { process })
}
