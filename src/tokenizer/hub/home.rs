//! Where the hub's cache and token are: in the same places as for Python's `huggingface_hub`.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::error::{ErrorKind, Result};

/// The cache's folder, and the file that `hf auth login` writes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HubHome {
    pub(crate) cache: PathBuf,
    pub(crate) token: PathBuf,
}

impl HubHome {
    pub(crate) fn from_env() -> Result<Self> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        Self::find(variable, std::env::home_dir()).ok_or_else(|| {
            ErrorKind::Hub("there is no home directory for the cache".into())
                .with_way_out("set HF_HUB_CACHE or HF_HOME")
        })
    }

    /// None if neither the variables nor a home directory determine it.
    fn find(variable: impl Fn(&str) -> Option<OsString>, home: Option<PathBuf>) -> Option<Self> {
        let named = |name: &str| variable(name)?.into_string().ok();
        let path = |name: &str| {
            let value = variable(name)?;
            let path = PathBuf::from(match value.to_str() {
                Some(text) => shellexpand::env_with_context_no_errors(text, named).into_owned().into(),
                None => value,
            });
            match (path.strip_prefix("~"), &home) {
                (Ok(rest), Some(home)) => Some(home.join(rest)),
                _ => Some(path),
            }
        };
        let caches = || path("XDG_CACHE_HOME").or_else(|| Some(home.as_ref()?.join(".cache")));
        let own = path("HF_HOME").or_else(|| Some(caches()?.join("huggingface")));
        // The older name is used if the newer one is not set.
        let cache = path("HF_HUB_CACHE").or_else(|| path("HUGGINGFACE_HUB_CACHE"));
        Some(Self {
            cache: cache.or_else(|| Some(own.as_ref()?.join("hub")))?,
            token: path("HF_TOKEN_PATH").or_else(|| Some(own?.join("token"))).unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Variables, the home directory, and the cache and token that they give.
    type Line = (&'static [(&'static str, &'static str)], Option<&'static str>, Option<(&'static str, &'static str)>);

    #[test]
    fn as_huggingface_hub_finds_them() {
        let home = "/home/me";
        #[rustfmt::skip]
        let table: &[Line] = &[
            (&[], Some(home), Some(("/home/me/.cache/huggingface/hub", "/home/me/.cache/huggingface/token"))),
            (&[("XDG_CACHE_HOME", "/x")], Some(home), Some(("/x/huggingface/hub", "/x/huggingface/token"))),
            (&[("HF_HOME", "/h"), ("XDG_CACHE_HOME", "/x")], Some(home), Some(("/h/hub", "/h/token"))),
            (&[("HF_HOME", "~/h")], Some(home), Some(("/home/me/h/hub", "/home/me/h/token"))),
            (&[("HF_HOME", "$BASE/h/${BASE}$NO"), ("BASE", "/b")], Some(home), Some(("/b/h//b$NO/hub", "/b/h//b$NO/token"))),
            (&[("HF_HUB_CACHE", "/c"), ("HF_HOME", "/h")], Some(home), Some(("/c", "/h/token"))),
            (&[("HUGGINGFACE_HUB_CACHE", "/old"), ("HF_HOME", "/h")], Some(home), Some(("/old", "/h/token"))),
            (&[("HF_HUB_CACHE", "/c"), ("HUGGINGFACE_HUB_CACHE", "/old")], None, Some(("/c", ""))),
            (&[("HF_TOKEN_PATH", "/t"), ("HF_HOME", "/h")], None, Some(("/h/hub", "/t"))),
            (&[], None, None),
        ];
        for (variables, home, expected) in table {
            let variable =
                |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into());
            let expected = expected.map(|(cache, token)| HubHome { cache: cache.into(), token: token.into() });
            assert_eq!(HubHome::find(variable, home.map(PathBuf::from)), expected, "{variables:?}");
        }
    }
}
