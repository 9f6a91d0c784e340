//! How often laws are tried.

use proptest::test_runner::Config;

/// This many cases of a law, or as many as PROPTEST_CASES says.
pub(crate) fn cases(usual: u32) -> Config {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    Config { cases: asked.unwrap_or(usual), failure_persistence: None, ..Config::default() }
}
