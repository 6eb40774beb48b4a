//! Addresses and sockets.

use std::fs;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use flashkeep_nbd::{BindError, BlockSizes, Export, Limits, Listen, Server};

use crate::server::{Folder, Manual, SIZE, serve_memory};

fn bind(listen: &[Listen], allow_remote: bool) -> Result<Server, BindError> {
    Server::bind(listen, allow_remote, Export::new("", SIZE), Limits::default())
}

fn bind_unix(path: PathBuf) -> Result<Server, BindError> {
    bind(&[Listen::Unix(path)], false)
}

#[test]
fn address_is_read_from_text() {
    for text in ["unix:/run/a b.sock", "tcp:127.0.0.1:10809", "tcp:[::1]:0", "tcp:192.0.2.1:1"] {
        assert_eq!(text.parse::<Listen>().expect("it is valid").to_string(), text);
    }
    assert_eq!("tcp:localhost:9".parse::<Listen>().expect("it is valid").to_string(), "tcp:127.0.0.1:9");
    for text in
        ["", "unix:", "/run/x", "tcp:", "tcp:10809", "tcp:example.org:1", "tcp:127.0.0.1:65536", "udp:x"]
    {
        let error = text.parse::<Listen>().expect_err("it is invalid");
        assert!(error.contains(&format!("`{text}`")), "{error}");
    }
}

#[test]
fn unix_socket_belongs_to_its_owner_alone() {
    let served = serve_memory();
    let socket = served.folder.socket();
    let mode = fs::symlink_metadata(&socket).expect("it exists").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(fs::read_dir(served.folder.path()).expect("it exists").count(), 1, "nothing else is left");
    let error = bind_unix(socket.clone()).expect_err("the server is live").to_string();
    assert!(error.ends_with("another server is listening on this socket"), "{error}");
    assert!(served.running.shutdown(Duration::from_secs(1)));
    assert!(!socket.exists());
}

#[test]
fn stale_socket_is_replaced_and_other_files_are_not() {
    let folder = Folder::new();
    drop(UnixListener::bind(folder.socket()).expect("the folder is empty"));
    assert!(folder.socket().exists());
    let server = bind_unix(folder.socket()).expect("no server listens on the socket");
    UnixStream::connect(folder.socket()).expect("the new server listens");
    // A server removes its own socket only.
    fs::remove_file(folder.socket()).expect("it exists");
    let other = UnixListener::bind(folder.socket()).expect("the path is free");
    drop(server);
    UnixStream::connect(folder.socket()).expect("the other server's socket is left alone");
    drop(other);
    let file = folder.path().join("file");
    fs::write(&file, "text").expect("the folder can be written");
    std::os::unix::fs::symlink(folder.socket(), folder.path().join("link"))
        .expect("the folder can be written");
    for name in ["file", "link"] {
        let error = bind_unix(folder.path().join(name)).expect_err("it is no socket").to_string();
        assert!(error.ends_with("the file exists and is not a socket"), "{error}");
    }
    assert_eq!(fs::read_to_string(&file).expect("it exists"), "text");
    assert!(matches!(bind_unix(folder.path().join("missing/socket")), Err(BindError::Io(..))));
    assert_eq!(fs::read_dir(folder.path()).expect("it exists").count(), 3);
}

#[test]
fn one_of_many_servers_gets_the_socket() {
    let folder = Folder::new();
    drop(UnixListener::bind(folder.socket()).expect("the folder is empty"));
    let servers: Vec<_> = std::thread::scope(|scope| {
        let threads = [0; 8].map(|_| scope.spawn(|| bind_unix(folder.socket())));
        threads.map(|thread| thread.join().expect("no panic")).into()
    });
    assert_eq!(servers.iter().filter(|one| one.is_ok()).count(), 1);
    assert!(servers.iter().all(|one| matches!(one, Ok(_) | Err(BindError::InUse(_)))), "{servers:?}");
    UnixStream::connect(folder.socket()).expect("the one that got it listens");
}

#[test]
fn long_path_is_bound_or_refused_clearly() {
    let folder = Folder::new();
    let bytes = folder.path().as_os_str().len() + 1;
    let name = |length: usize| folder.path().join("s".repeat(length - bytes));
    let server = bind_unix(name(103)).expect("the path is short enough");
    UnixStream::connect(name(103)).expect("the server listens");
    drop(server);
    let error = bind_unix(name(104)).expect_err("it is too long").to_string();
    assert!(error.ends_with("has at most 103 bytes"), "{error}");
}

#[test]
fn tcp_address_must_be_local_unless_remote_clients_are_allowed() {
    for text in ["tcp:0.0.0.0:0", "tcp:[::]:0", "tcp:192.0.2.1:0"] {
        let error = bind(&[text.parse().expect("it is valid")], false).expect_err("it is remote").to_string();
        assert!(error.contains("other machines could reach"), "{error}");
    }
    bind(&["tcp:0.0.0.0:0".parse().expect("it is valid")], true).expect("it is allowed");
    let folder = Folder::new();
    let listen = [Listen::Unix(folder.socket()), "tcp:127.0.0.1:0".parse().expect("it is valid")];
    let server = bind(&listen, false).expect("both are free");
    let device = Arc::new(Manual::new(server.completions()));
    let running = server.start(device).expect("threads can be started");
    let [Listen::Unix(_), Listen::Tcp(address)] = running.addresses() else {
        panic!("the addresses are kept")
    };
    assert_eq!(address.ip(), IpAddr::from([127, 0, 0, 1]));
    assert_ne!(address.port(), 0);
    let mut greeting = [0; 18];
    let mut client = TcpStream::connect(*address).expect("the server listens");
    std::io::Read::read_exact(&mut client, &mut greeting).expect("the server sends");
    assert!(greeting.starts_with(b"NBDMAGIC"));
    let address: SocketAddr = *address;
    assert!(running.shutdown(Duration::from_secs(1)));
    TcpStream::connect(address).expect_err("the server has stopped");
}

#[test]
fn impossible_export_is_refused() {
    let folder = Folder::new();
    let listen = [Listen::Unix(folder.socket())];
    let blocks = |minimum, preferred, maximum| Export {
        blocks: BlockSizes { minimum, preferred, maximum },
        ..Export::new("", SIZE)
    };
    for (export, text) in [
        (blocks(3, 4096, 8192), "minimum block size 3"),
        (blocks(1 << 17, 1 << 17, 1 << 20), "minimum block size 131072"),
        (blocks(1, 256, 8192), "preferred block size 256"),
        (blocks(4096, 512, 8192), "preferred block size 512"),
        (blocks(512, 4096, 4097), "maximum block size 4097"),
        (blocks(512, 4096, 64 << 20), "maximum block size 67108864"),
        (Export { size: 513, ..blocks(512, 4096, 8192) }, "size 513"),
        (Export::new("n".repeat(4097), SIZE), "at most 4096 bytes"),
    ] {
        let error =
            Server::bind(&listen, false, export, Limits::default()).expect_err("impossible").to_string();
        assert!(error.contains(text), "{error}");
    }
    let small = Limits { in_flight_bytes: 1, ..Limits::default() };
    Server::bind(&listen, false, Export::new("", SIZE), small).expect_err("no write would fit");
    bind(&[], false).expect_err("there is no address");
    assert!(!folder.socket().exists());
}
