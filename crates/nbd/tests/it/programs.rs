//! Clients that others wrote. A program that is not installed is skipped, and the test says so.

use std::fs;
use std::io::{self, Write};
use std::process::Command;

use flashkeep_nbd::{Export, Limits};

use crate::memory::Memory;
use crate::server::{Served, serve_export};

const MIB: u64 = 1 << 20;

/// A server, and its address as clients write it.
fn serve(size: u64) -> (Served<Memory>, String) {
    let export = Export { multi_conn: true, description: "memory".to_owned(), ..Export::new("drive", size) };
    let served = serve_export(export);
    let uri = format!("nbd+unix:///drive?socket={}", served.folder.socket().display());
    (served, uri)
}

/// Runs a program that must succeed; returns its output, or `None` if it is not installed.
fn run(program: &str, arguments: &[&str]) -> Option<String> {
    match Command::new(program).args(arguments).output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Not by a macro, of which the output is hidden while tests succeed.
            writeln!(io::stderr(), "skipped: {program} is not installed").expect("stderr can be written");
            None
        }
        Err(error) => panic!("{program}: {error}"),
        Ok(output) => {
            let text = format!(
                "{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
            assert!(output.status.success(), "{program} {arguments:?}: {text}");
            Some(text)
        }
    }
}

#[test]
fn nbdinfo_understands_the_export() {
    let (_served, uri) = serve(MIB);
    let Some(text) = run("nbdinfo", &[&uri]) else { return };
    for line in [
        "export-size: 1048576",
        "protocol: newstyle-fixed without TLS, using structured packets",
        "description: memory",
        "base:allocation",
        "can_multi_conn: true",
        "can_fast_zero: false",
        "block_size_maximum: 33554432",
    ] {
        assert!(text.contains(line), "{line} is missing: {text}");
    }
    run("nbdinfo", &["--list", &uri]);
    let map = run("nbdinfo", &["--map", &uri]).expect("it is installed");
    assert!(map.contains("1048576") && map.contains("hole,zero"), "{map}");
}

#[test]
fn nbdcopy_returns_what_it_wrote() {
    let (served, uri) = serve(64 * MIB);
    let (from, to) = (served.folder.path().join("from"), served.folder.path().join("to"));
    // A third of the pages are zeroes.
    let page = |number: u32| (0..4096_u32).map(move |byte| ((number % 3) * (number + byte * 31)) as u8);
    fs::write(&from, (0..16384).flat_map(page).collect::<Vec<_>>()).expect("the folder can be written");
    let [from, to] = [&from, &to].map(|path| path.to_str().expect("it is UTF-8"));
    if run("nbdcopy", &[from, &uri]).is_none() {
        return;
    }
    run("nbdcopy", &[&uri, to]);
    assert!(fs::read(from).expect("it exists") == fs::read(to).expect("it exists"), "the copy differs");
    served.wait_until_alone();
    let counts = served.running.counts();
    assert_eq!((counts.malformed, counts.invalid, counts.failed), (0, 0, 0), "{counts:?}");
}

#[test]
fn qemu_io_verifies_patterns() {
    let (served, uri) = serve(8 * MIB);
    let commands = [
        "write -P 0x11 0 1M",
        "write -P 0x22 -f 1M 512",
        "write -P 0x33 1000 5000",
        "write -z 3M 1M",
        "write -z -u 4M 64k",
        "discard 5M 1M",
        "flush",
        "read -P 0x11 0 1000",
        "read -P 0x33 1000 5000",
        "read -P 0x22 1M 512",
        "read -P 0 3M 1M",
        "map",
    ];
    let mut arguments: Vec<_> = commands.iter().flat_map(|command| ["-c", command]).collect();
    arguments.extend(["-f", "raw", &uri]);
    let Some(text) = run("qemu-io", &arguments) else { return };
    assert!(!text.contains("failed") && !text.contains("rror"), "{text}");
    let counts = served.running.counts();
    assert!(
        counts.writes >= 3 && counts.write_zeroes >= 2 && counts.trims >= 1 && counts.flushes >= 1,
        "{counts:?}"
    );
}

#[test]
fn fio_verifies_random_writes() {
    let (served, uri) = serve(32 * MIB);
    let uri = format!("--uri={uri}");
    let arguments = [
        "--name=verify",
        "--ioengine=nbd",
        &uri,
        "--rw=randwrite",
        "--bsrange=512-64k",
        "--size=32m",
        "--iodepth=16",
        "--verify=crc32c",
        "--verify_fatal=1",
        "--verify_state_save=0",
        "--fsync=64",
        "--output-format=terse",
    ];
    if run("fio", &arguments).is_none() {
        return;
    }
    served.wait_until_alone();
    let counts = served.running.counts();
    assert_eq!((counts.malformed, counts.invalid, counts.failed), (0, 0, 0), "{counts:?}");
    assert!(
        counts.written_bytes >= 32 * MIB && counts.read_bytes >= 32 * MIB && counts.flushes > 0,
        "{counts:?}"
    );
}

#[test]
fn client_over_tcp_works_too() {
    let listen = ["tcp:127.0.0.1:0".parse().expect("it is valid")];
    let server = flashkeep_nbd::Server::bind(&listen, false, Export::new("", MIB), Limits::default())
        .expect("there is a free port");
    let device = std::sync::Arc::new(Memory::new(server.completions(), MIB));
    let running = server.start(device).expect("threads can be started");
    let uri = running.addresses()[0].to_string().replace("tcp:", "nbd://");
    if let Some(text) = run("nbdinfo", &["--size", &uri]) {
        assert_eq!(text.trim(), "1048576");
    }
}
