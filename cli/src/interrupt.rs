//! Ctrl-C, TERM and HUP during a run: noted, so that the run can end in order.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The signal that came, or 0.
#[derive(Clone, Default)]
pub(crate) struct Interrupt(Arc<AtomicUsize>);

impl Interrupt {
    /// From now on the first signal is noted, and a second one ends the program. If this is not possible, the first one
    /// does.
    pub(crate) fn watch() -> Self {
        let interrupt = Self::default();
        #[cfg(unix)]
        let _ = unix::note(&interrupt.0);
        #[cfg(windows)]
        {
            let noted = Arc::clone(&interrupt.0);
            windows::at_ctrl_c(move || noted.store(windows::SIGINT.into(), Ordering::Relaxed));
        }
        interrupt
    }

    /// The exit code that shells expect after the signal that came.
    pub(crate) fn exit_code(&self) -> Option<u8> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            signal => u8::try_from(signal).ok()?.checked_add(128),
        }
    }

    /// The program will end in order, because of the signal that came.
    pub(crate) fn ends_in_order(&self) {
        ENDED_BY.store(self.0.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// The signal because of which the program ends in order, or 0.
static ENDED_BY: AtomicUsize = AtomicUsize::new(0);

/// When all is done, a signal that ended a run ends the program too.
pub(crate) fn end() {
    #[cfg(unix)]
    if let Ok(signal @ 1..) = i32::try_from(ENDED_BY.load(Ordering::Relaxed)) {
        unix::end_by(signal);
    }
}

#[cfg(unix)]
pub(crate) mod unix {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize};
    use std::{fs, io};

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::flag;
    use signal_hook::low_level::emulate_default_handler;

    pub(super) fn note(to: &Arc<AtomicUsize>) -> io::Result<()> {
        for signal in signals() {
            second_ends(signal)?;
            flag::register_usize(signal, Arc::clone(to), signal.unsigned_abs() as usize)?;
        }
        Ok(())
    }

    /// Ends the program by a signal that came, or else a shell would go on with its loop.
    pub(crate) fn end_by(signal: i32) {
        // If this is not possible, the exit code says it.
        let _ = emulate_default_handler(signal);
    }

    /// Lets a second signal end the program.
    pub(crate) fn second_ends(signal: i32) -> io::Result<()> {
        let is_second = Arc::new(AtomicBool::new(false));
        flag::register_conditional_default(signal, Arc::clone(&is_second))?;
        flag::register(signal, is_second)?;
        Ok(())
    }

    /// The signals that end this program.
    pub(crate) fn signals() -> Vec<i32> {
        [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal)).collect()
    }

    /// Whether this program was started so that a signal does not end it, as by `nohup`. Where the system does not tell,
    /// a lost terminal ends it as usual.
    fn is_ignored(signal: i32) -> bool {
        let ignored = fs::read_to_string("/proc/self/status").ok().and_then(|status| {
            let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
            u64::from_str_radix(mask.trim(), 16).ok()
        });
        ignored.map_or(signal == SIGHUP, |mask| mask >> (signal - 1) & 1 == 1)
    }
}

#[cfg(windows)]
pub(crate) mod windows {
    use std::sync::{Mutex, MutexGuard, Once, PoisonError};
    use std::{mem, process, thread};

    /// What Ctrl-C is elsewhere.
    pub(crate) const SIGINT: u8 = 2;

    type Act = Box<dyn Fn() + Send>;

    static ACTS: Mutex<Vec<Act>> = Mutex::new(Vec::new());

    fn acts() -> MutexGuard<'static, Vec<Act>> {
        ACTS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does this, too, at the first Ctrl-C. A second one ends the program.
    pub(crate) fn at_ctrl_c(act: impl Fn() + Send + 'static) {
        static ONCE: Once = Once::new();
        acts().push(Box::new(act));
        ONCE.call_once(|| {
            // If this is not possible, the first one ends it.
            let _ = ctrlc::set_handler(|| {
                let taken = mem::take(&mut *acts());
                // On a thread of their own, because the second one comes to this thread.
                let started = !taken.is_empty()
                    && thread::Builder::new().spawn(move || taken.iter().for_each(|act| act())).is_ok();
                if !started {
                    process::exit(128 + i32::from(SIGINT));
                }
            });
        });
    }
}
