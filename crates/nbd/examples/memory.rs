//! Serves memory over NBD until it is killed, to measure the server alone:
//!
//! ```text
//! cargo run --release -p flashkeep-nbd --example memory -- 256 unix:/tmp/memory.sock
//! fio --name=read --ioengine=nbd --uri='nbd+unix:///?socket=/tmp/memory.sock' --rw=randread --bs=4k --iodepth=32
//! ```
//!
//! The first argument is the size in MiB. Addresses follow.

#[path = "../tests/it/memory.rs"]
mod memory;

use std::env;
use std::error::Error;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use flashkeep_nbd::{Export, Limits, Listen, Server};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let size = arguments.next().ok_or("the size in MiB is missing")?.parse::<u64>()? << 20;
    let listen = arguments.map(|address| address.parse()).collect::<Result<Vec<Listen>, _>>()?;
    let export = Export { multi_conn: true, ..Export::new("memory", size) };
    let server = Server::bind(&listen, false, export, Limits::default())?;
    let device = memory::Memory::new(server.completions(), size);
    device.with(memory::Contents::fill);
    let running = server.start(Arc::new(device))?;
    for address in running.addresses() {
        println!("{address}");
    }
    loop {
        thread::sleep(Duration::from_secs(5));
        println!("{:?}", running.counts());
    }
}
