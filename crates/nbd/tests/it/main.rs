//! The server as clients see it: an own client that can send anything, and programs that others wrote.

mod abuse;
mod client;
mod fuzz;
mod memory;
mod negotiation;
mod programs;
mod server;
mod sockets;
mod transmission;
