//! Panics of libraries become errors: they are caught where a library is called, and not printed.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether a panic on this thread is caught.
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// A library's result, or its message if it panics. Without a panic this costs next to nothing. Anything that the
/// library was changing may be broken afterwards.
pub(crate) fn caught<T>(library: impl FnOnce() -> T) -> Result<T, String> {
    silence_caught();
    let outer = IS_CAUGHT.replace(true);
    let given = panic::catch_unwind(AssertUnwindSafe(library));
    IS_CAUGHT.set(outer);
    given.map_err(|payload| format!("the library panicked: {}", message(&*payload)))
}

/// Installs a hook before the existing one, once. It passes on all panics that are not caught here.
fn silence_caught() {
    static HOOK: Once = Once::new();
    // A thread that is already panicking must not touch the hook.
    if HOOK.is_completed() || std::thread::panicking() {
        return;
    }
    HOOK.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // A thread that is ending no longer has a flag.
            if !IS_CAUGHT.try_with(Cell::get).unwrap_or(false) {
                previous(info);
            }
        }));
    });
}

fn message(payload: &(dyn Any + Send)) -> &str {
    let owned = || payload.downcast_ref::<String>().map(String::as_str);
    payload.downcast_ref::<&str>().copied().or_else(owned).unwrap_or("no message")
}

#[cfg(test)]
#[allow(clippy::panic, reason = "it is what is tested")]
mod tests {
    use super::*;

    #[test]
    fn what_a_panic_says() {
        assert_eq!(caught(|| 1), Ok(1));
        assert_eq!(caught(|| panic!("as it is")), Err::<(), _>("the library panicked: as it is".into()));
        let formatted = caught(|| panic!("{} is outside", std::hint::black_box(3)));
        assert_eq!(formatted, Err::<(), _>("the library panicked: 3 is outside".into()));
        assert_eq!(caught(|| panic::panic_any(1)), Err::<(), _>("the library panicked: no message".into()));
    }

    #[test]
    fn only_what_is_caught_is_silent() {
        assert!(caught(|| caught(|| panic!("inner")).is_err() && IS_CAUGHT.get()).is_ok_and(|both| both));
        assert!(!IS_CAUGHT.get());
    }
}
