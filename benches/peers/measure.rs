//! Prompts a second of one thread's processor time, for ids that are right.

use std::hint::black_box;
use std::sync::mpsc::{self, Receiver, Sender};

use cpu_time::{ProcessTime, ThreadTime};
use metatok::TokenId;

use crate::subjects::{Contestant, Place, Subject};
use crate::workloads::Prompt;

/// What a subject reached.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    /// Prompts a second, the median of the rounds.
    Rate(f64),
    /// It gives other ids, and where.
    Differs(String),
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

/// All subjects, each on a thread of its own, because libraries keep caches by thread. They take turns, round by round, so
/// that a machine which grows slower does so for all; whoever's turn it is first warms up again.
pub(crate) fn measure(contestants: &[Contestant], place: &Place<'_>, rounds: &[Vec<Prompt>]) -> Vec<Outcome> {
    std::thread::scope(|scope| {
        let start = |contestant| {
            let (go, mine) = mpsc::channel();
            let (done, theirs) = mpsc::channel();
            let turns = Turns { go: mine, done };
            (go, theirs, scope.spawn(move || try_measure(contestant, place, rounds, &turns)))
        };
        let workers: Vec<_> = contestants.iter().map(start).collect();
        // Whoever failed takes no turns any more.
        for turn in 0..=rounds.len() {
            // Whoever is first finds the prompts in no cache of the processor.
            let order = workers.iter().cycle().skip(turn).take(workers.len());
            order.filter(|(go, ..)| go.send(()).is_ok()).for_each(|(_, done, _)| {
                let _ = done.recv();
            });
        }
        let outcome = |measured| match measured {
            Ok(Ok(Ok(rate))) => Outcome::Rate(rate),
            Ok(Ok(Err(place))) => Outcome::Differs(place),
            Ok(Err(message)) => Outcome::Failed(message),
            Err(_) => Outcome::Failed("it panics".into()),
        };
        workers.into_iter().map(|(.., worker)| outcome(worker.join())).collect()
    })
}

/// When a thread may work.
struct Turns {
    go: Receiver<()>,
    done: Sender<()>,
}

impl Turns {
    fn take<T>(&self, work: impl FnOnce() -> T) -> T {
        // These fail only if nobody waits any more.
        let _ = self.go.recv();
        let result = work();
        let _ = self.done.send(());
        result
    }
}

/// The rate, or where the ids differ. Those of the first round are compared before anything is timed, which warms, and those
/// of the others at the end: before, caches would know what is said to be new.
fn try_measure(
    contestant: &Contestant,
    place: &Place<'_>,
    rounds: &[Vec<Prompt>],
    turns: &Turns,
) -> Result<Result<f64, String>, String> {
    let rounds: Vec<&[Prompt]> = rounds.iter().map(|round| &round[..round.len().div_ceil(contestant.every)]).collect();
    let (&first, others) = rounds.split_first().expect("there is a round to warm");
    let (mut subject, difference) = turns.take(|| {
        let mut subject = (contestant.open)(place)?;
        let difference = find_difference(&mut *subject, first)?;
        Ok::<_, String>((subject, difference))
    })?;
    if let Some(difference) = difference {
        return Ok(Err(difference));
    }
    let mut seconds = Vec::with_capacity(others.len());
    for round in others {
        seconds.push(turns.take(|| {
            subject.run(&first[..first.len().div_ceil(4)], &mut |_| ())?;
            time(&mut *subject, round)
        })?);
    }
    seconds.sort_by(f64::total_cmp);
    let difference = turns.take(|| {
        let differences = others.iter().map(|round| find_difference(&mut *subject, round));
        differences.collect::<Result<Vec<_>, _>>().map(|found| found.into_iter().flatten().next())
    })?;
    Ok(difference.map_or(Ok(first.len() as f64 / seconds[seconds.len() / 2]), Err))
}

/// Where the ids of the first prompt that has others differ.
fn find_difference(subject: &mut dyn Subject, prompts: &[Prompt]) -> Result<Option<String>, String> {
    let (mut expected, mut found) = (prompts.iter(), None);
    subject.run(prompts, &mut |ids| {
        let prompt = expected.next().expect("a subject gives the ids of each prompt once");
        if found.is_none() && prompt.ids != ids {
            found = Some(said(prompt, ids));
        }
    })?;
    assert!(expected.next().is_none(), "a subject gives the ids of each prompt");
    Ok(found)
}

/// A few ids of both, from where they differ.
fn said(prompt: &Prompt, ids: &[TokenId]) -> String {
    let at = prompt.ids.iter().zip(ids).take_while(|(a, b)| a == b).count();
    let some = |ids: &[TokenId]| format!("{:?}", ids.iter().skip(at.saturating_sub(2)).take(8).collect::<Vec<_>>());
    format!("{} instead of {}", some(ids), some(&prompt.ids))
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
