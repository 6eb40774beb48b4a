//! Schemes of single publications, one file each: less common than the schemes beside this folder.

pub(super) mod diff_raid;
pub(super) mod fra;
pub(super) mod griffin;
pub(super) mod hpda;
pub(super) mod i_cash;
pub(super) mod ppc;
pub(super) mod spd_raid4;

pub use diff_raid::DiffRaid;
pub use fra::Fra;
pub use griffin::Griffin;
pub use hpda::Hpda;
pub use i_cash::ICash;
pub use ppc::Ppc;
pub use spd_raid4::SpdRaid4;
