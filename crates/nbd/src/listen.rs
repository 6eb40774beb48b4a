//! Addresses to listen on, and sockets that only their owner may use.

use std::error::Error;
use std::fmt;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::stream::Stream;

/// An address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// A Unix socket, made with mode 0600.
    Unix(PathBuf),
    /// A TCP port; port 0 lets the system choose.
    Tcp(SocketAddr),
}

impl FromStr for Listen {
    type Err = String;

    /// Reads `unix:PATH` or `tcp:HOST:PORT`, where the host is a numeric address or `localhost`.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return match path {
                "" => Err(format!("`{text}`: a path must follow `unix:`")),
                path => Ok(Self::Unix(path.into())),
            };
        }
        let Some(address) = text.strip_prefix("tcp:") else {
            return Err(format!(
                "`{text}`: expected unix:PATH or tcp:HOST:PORT, such as tcp:127.0.0.1:10809"
            ));
        };
        let numeric = match address.strip_prefix("localhost:") {
            Some(port) => format!("127.0.0.1:{port}"),
            None => address.to_owned(),
        };
        numeric.parse().map(Self::Tcp).map_err(|_| {
            format!(
                "`{text}`: expected a numeric address or localhost, and a port from 0 to 65535, \
                 such as tcp:127.0.0.1:10809 or tcp:[::1]:0"
            )
        })
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(formatter, "unix:{}", path.display()),
            Self::Tcp(address) => write!(formatter, "tcp:{address}"),
        }
    }
}

/// Why a server cannot listen.
#[derive(Debug)]
#[non_exhaustive]
pub enum BindError {
    /// No address was given.
    Nowhere,
    /// An address that other machines can reach, without permission.
    Remote(SocketAddr),
    /// A live server has the Unix socket.
    InUse(PathBuf),
    /// The path of a Unix socket is another kind of file.
    NotASocket(PathBuf),
    /// The path of a Unix socket is too long for the system.
    TooLong(PathBuf),
    /// The export has an impossible field, or a limit is impossible.
    Invalid(String),
    /// The system refused.
    Io(Listen, io::Error),
}

impl fmt::Display for BindError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nowhere => write!(formatter, "no address to listen on: give unix:PATH or tcp:HOST:PORT"),
            Self::Remote(address) => write!(
                formatter,
                "tcp:{address}: other machines could reach this address, and NBD has no passwords; listen on \
                 127.0.0.1, [::1] or a Unix socket, or allow remote clients"
            ),
            Self::InUse(path) => {
                write!(formatter, "unix:{}: another server is listening on this socket", path.display())
            }
            Self::NotASocket(path) => {
                write!(formatter, "unix:{}: the file exists and is not a socket", path.display())
            }
            Self::TooLong(path) => write!(
                formatter,
                "unix:{}: the path of a Unix socket has at most {MAX_PATH} bytes",
                path.display()
            ),
            Self::Invalid(text) => formatter.write_str(text),
            Self::Io(listen, error) => write!(formatter, "{listen}: {error}"),
        }
    }
}

impl Error for BindError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io(_, error) => Some(error),
            _ => None,
        }
    }
}

/// The longest path of a Unix socket that every system accepts.
const MAX_PATH: usize = 103;

/// A listening Unix socket of mode 0600. Dropping it removes its file, unless another server has replaced it.
#[derive(Debug)]
pub struct PrivateSocket {
    socket: UnixListener,
    path: PathBuf,
    /// The device and the inode of the file are its identity.
    identity: (u64, u64),
}

impl PrivateSocket {
    /// Binds a path. The socket of a server that has ended is replaced.
    pub fn bind(path: &Path) -> Result<Self, BindError> {
        if path.as_os_str().as_bytes().len() > MAX_PATH {
            return Err(BindError::TooLong(path.to_owned()));
        }
        let failed = |error| BindError::Io(Listen::Unix(path.to_owned()), error);
        let (socket, identity) = PrivateFolder::beside(path).map_err(failed)?.bind(path, failed)?;
        Ok(Self { socket, path: path.to_owned(), identity })
    }

    /// Waits for a client.
    pub fn accept(&self) -> io::Result<UnixStream> {
        self.socket.accept().map(|(stream, _)| stream)
    }

    /// Makes a blocked [`accept`](Self::accept), and each later one, fail. Linux does so for a listening
    /// socket that is shut down; `std` shuts down only streams, so a duplicate of the descriptor becomes one.
    pub fn stop(&self) -> io::Result<()> {
        UnixStream::from(OwnedFd::from(self.socket.try_clone()?)).shutdown(Shutdown::Both)
    }
}

impl Drop for PrivateSocket {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|file| (file.dev(), file.ino()) == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A listening socket.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: Socket,
    /// The address, with the port that the system chose.
    pub(crate) address: Listen,
}

#[derive(Debug)]
enum Socket {
    Unix(PrivateSocket),
    Tcp(TcpListener),
}

impl Listener {
    /// Binds an address. Without `allow_remote` it must be out of reach for other machines.
    pub(crate) fn bind(listen: &Listen, allow_remote: bool) -> Result<Self, BindError> {
        let failed = |error| BindError::Io(listen.clone(), error);
        match listen {
            Listen::Tcp(address) if !address.ip().is_loopback() && !allow_remote => {
                Err(BindError::Remote(*address))
            }
            Listen::Tcp(address) => {
                let socket = TcpListener::bind(address).map_err(failed)?;
                let address = Listen::Tcp(socket.local_addr().map_err(failed)?);
                Ok(Self { socket: Socket::Tcp(socket), address })
            }
            Listen::Unix(path) => {
                Ok(Self { socket: Socket::Unix(PrivateSocket::bind(path)?), address: listen.clone() })
            }
        }
    }

    /// Waits for a client.
    pub(crate) fn accept(&self) -> io::Result<Stream> {
        match &self.socket {
            Socket::Unix(socket) => socket.accept().map(Stream::Unix),
            Socket::Tcp(socket) => {
                let (stream, _) = socket.accept()?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
        }
    }

    /// Makes a blocked [`accept`](Self::accept), and each later one, fail ([`PrivateSocket::stop`]).
    pub(crate) fn stop(&self) -> io::Result<()> {
        match &self.socket {
            Socket::Unix(socket) => socket.stop(),
            Socket::Tcp(socket) => {
                TcpStream::from(OwnedFd::from(socket.try_clone()?)).shutdown(Shutdown::Both)
            }
        }
    }
}

/// A folder beside the socket that only its owner can enter. The socket is bound and gets its mode here, and
/// is then linked to its path, which fails if the path exists: no client of another user can connect in
/// between, and no file is replaced by mistake. The process's umask, which is shared by all threads, is not
/// touched.
struct PrivateFolder(PathBuf);

impl PrivateFolder {
    fn beside(path: &Path) -> io::Result<Self> {
        let mut attempt = 0;
        loop {
            let folder = path.with_file_name(format!(".nbd-{:x}-{attempt:x}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => return Ok(Self(folder)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => attempt += 1,
                Err(error) => return Err(error),
            }
        }
    }

    fn bind(
        &self,
        path: &Path,
        failed: impl Fn(io::Error) -> BindError,
    ) -> Result<(UnixListener, (u64, u64)), BindError> {
        let socket = self.listen().map_err(&failed)?;
        for _ in 0..10 {
            match fs::hard_link(self.new_file(), path) {
                Ok(()) => {
                    let file = fs::symlink_metadata(self.new_file()).map_err(&failed)?;
                    return Ok((socket, (file.dev(), file.ino())));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    self.remove_stale(path, &failed)?;
                }
                Err(error) => return Err(failed(error)),
            }
        }
        Err(BindError::InUse(path.to_owned()))
    }

    /// Binds a socket of mode 0600 in the folder. Where possible the folder is named by a descriptor, since
    /// its path may be too long for a socket.
    fn listen(&self) -> io::Result<UnixListener> {
        let folder = File::open(&self.0)?;
        let short = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        let base = if short.exists() { &short } else { &self.0 };
        let socket = UnixListener::bind(base.join("new"))?;
        fs::set_permissions(self.new_file(), Permissions::from_mode(0o600))?;
        Ok(socket)
    }

    /// Removes the socket of a server that has ended. It is taken out of its place first, so that a server
    /// that replaced it at the same time is noticed, and put back.
    fn remove_stale(&self, path: &Path, failed: &impl Fn(io::Error) -> BindError) -> Result<(), BindError> {
        let gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        match fs::symlink_metadata(path) {
            Ok(file) if !file.file_type().is_socket() => return Err(BindError::NotASocket(path.to_owned())),
            Ok(_) => {}
            Err(error) if gone(&error) => return Ok(()),
            Err(error) => return Err(failed(error)),
        }
        if is_live(path).map_err(failed)? {
            return Err(BindError::InUse(path.to_owned()));
        }
        match fs::rename(path, self.old_file()) {
            Ok(()) => {}
            Err(error) if gone(&error) => return Ok(()),
            Err(error) => return Err(failed(error)),
        }
        if UnixStream::connect(self.old_file()).is_ok() {
            fs::hard_link(self.old_file(), path).map_err(failed)?;
            return Err(BindError::InUse(path.to_owned()));
        }
        fs::remove_file(self.old_file()).map_err(failed)
    }

    fn new_file(&self) -> PathBuf {
        self.0.join("new")
    }

    fn old_file(&self) -> PathBuf {
        self.0.join("old")
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.new_file());
        let _ = fs::remove_file(self.old_file());
        let _ = fs::remove_dir(&self.0);
    }
}

/// Whether a server listens on the socket.
fn is_live(path: &Path) -> io::Result<bool> {
    match UnixStream::connect(path) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}
