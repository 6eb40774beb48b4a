//! What every device has in common: the commands that it takes, the contents of its pages, and its port.
//!
//! FLUSH: a port writes its cache back ([`port::Port::flush_all`]), then the members below do so, level by level
//! (`Engine::flush_members`): for a request of the host (`Engine::begin_flush`), or for a plan (`Plan::flushes`). FUA is
//! [`command::Flags::FUA`]: a port writes such pages past its cache, and the commands of a plan inherit it. The host sets
//! it, and schemes do for writes after which an older copy is freed.
//!
//! Placement handles: a write has one with its flags ([`command::Flags::handle`]), and what a port caches keeps it
//! ([`command::Origin`]); pages of one cause and handle leave a cache together.
//!
//! Where features belong that are not implemented yet:
//!
//! - **Unrecoverable reads.** `Done::failed` names the page below, and a port request lists its unrecoverable pages
//!   (`PortRequest::lost`). A request of the host counts them (`Finished::lost`); a list in its place would name them.
//! - **A latency estimate of a read** is `View::backlog`: the time until a read of that page would start. It counts
//!   dies, channels and arms, and pages that a port holds; it does not count the queue of a member's link
//!   ([`port::Link::next_at`]) and the read itself (`Timing::cost`).
//! - **Contents** are nothing (`()`) or tokens ([`contents::Token`]). Bytes would be a third type:
//!   [`contents::Contents`] needs addition and multiplication in GF(2⁸), and a stamp with the version of a page.

pub mod command;
pub mod contents;
pub mod latency;
pub mod port;
