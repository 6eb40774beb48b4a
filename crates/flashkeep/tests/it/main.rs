//! The integration tests, in one binary so that the model is linked once. Modules are grouped by feature;
//! `cargo test -p flashkeep --test it ftl::wear` runs one of them.

mod architecture;
mod arrays;
mod common;
mod conformance;

/// What dies and channels do, and when.
mod flash {
    mod energy;
    mod timeline;
    mod timing;
}

/// Address mapping, garbage collection, wear.
mod ftl {
    mod closed_forms;
    mod end_of_life;
    mod existing;
    mod failed_maps;
    mod mapping;
    mod packing;
    mod remap;
    mod wear;
    mod wear_maps;
}

/// What single schemes cost; what all of them survive is in `conformance`.
mod schemes {
    mod chained;
    mod mirror;
    mod parity;
    mod stripes;
}

/// Failures and power cuts of whole runs.
mod faults {
    mod fail_slow;
    mod failures;
    mod power;
}

/// Properties of all runs: contents, determinism, untimed runs, drives that are not new.
mod runs {
    mod buffer;
    mod flows;
    mod flushes;
    mod integrity;
    mod latency;
    mod live;
    mod steady;
    mod tails;
    mod untimed;
}

/// Published figures.
mod papers {
    mod atc08;
    mod published;
}
