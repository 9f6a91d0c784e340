//! The small programs of `examples/` run, and what they assert holds.

#[path = "../../examples/agent.rs"]
mod agent;
#[path = "../../examples/columns_with_rayon.rs"]
mod columns_with_rayon;
#[path = "../../examples/few_shot_from_structs.rs"]
mod few_shot_from_structs;
#[path = "../../examples/http_service.rs"]
mod http_service;
#[path = "../../examples/own_renderer.rs"]
mod own_renderer;
#[path = "../../examples/streams_in_a_map.rs"]
mod streams_in_a_map;
#[path = "../../examples/template_in_code.rs"]
mod template_in_code;

use libtest_mimic::{Failed, Trial};

use crate::harness::Tests;

pub(crate) fn tests() -> Tests {
    macro_rules! programs {
        ($($name:ident),*) => {
            vec![$(Trial::test(concat!("examples/", stringify!($name)), || $name::main().map_err(Failed::from))),*]
        };
    }
    programs![
        agent,
        columns_with_rayon,
        few_shot_from_structs,
        http_service,
        own_renderer,
        streams_in_a_map,
        template_in_code
    ]
}
