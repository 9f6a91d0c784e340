//! An outage: requests wait until the server is back, if it still serves what it served before.

use std::time::{Duration, Instant};

use crate::client::failure::Failure;
use crate::client::gate::Gate;
use crate::client::http::Http;
use crate::client::options::{Notice, SILENT};
use crate::client::ready::VerifiedServer;

/// The pauses between checks of a server that is down: the first, and the longest.
const PROBES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));

/// The server accepts no connections: checks until it does, and opens the gate. Gives up on a server of another model.
pub(super) async fn wait_out(http: &Http, known: &VerifiedServer, gate: &Gate, notice: &Notice) {
    let started = Instant::now();
    let mut wait = PROBES.0;
    let mut is_said = false;
    while gate.is_closed() {
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(PROBES.1);
        match back(http, known).await {
            Ok(Some(difference)) => gate.give_up(difference),
            Ok(None) => gate.open(),
            Err(why) => {
                if started.elapsed() > SILENT && !std::mem::replace(&mut is_said, true) {
                    notice.say(&format!("waiting for the server: {why}"));
                }
                gate.failed(&why);
            }
        }
    }
}

/// Whether the server is back, and what is different; or why it is not back.
async fn back(http: &Http, known: &VerifiedServer) -> Result<Option<String>, String> {
    match http.get(known.protocol.health).await {
        Ok(_) | Err(Failure::Refused { .. }) => known.difference(http).await,
        Err(failure) => Err(failure.message()),
    }
}
