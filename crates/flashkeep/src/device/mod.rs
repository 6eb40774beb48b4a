//! What every device has in common: the commands that it takes, the contents of its pages, and its port.

pub mod command;
pub mod contents;
pub mod port;
