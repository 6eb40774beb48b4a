//! The model: a deterministic simulator and reliability lab for flash storage.
//!
//! Dependencies run one way: `kernel` ← `device` ← `engine`, and `kernel` ← `flash`; `engine` does not use `flash`.
//! `ftl`, `mapping`, `schemes`, `drive`, `disk`, and `host` use these, and `simulation` uses all.
//! ARCHITECTURE.md has the table of dependencies, which a test compares with the sources.

pub mod blocks;
pub mod config;
pub mod conformance;
pub mod device;
pub mod devices;
pub mod disk;
pub mod drive;
pub mod engine;
pub mod error;
pub mod faults;
pub mod figures;
pub mod flash;
pub mod ftl;
pub mod host;
pub mod job;
pub mod kernel;
pub mod mapping;
pub mod metrics;
pub mod options;
pub mod output;
pub mod schemes;
pub mod session;
pub mod simulation;
pub mod snapshot;
pub mod timeline;
pub mod workload;

pub use simulation::run;
