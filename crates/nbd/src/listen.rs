//! Addresses to listen on, and sockets that only their owner may use.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

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
            Self::Invalid(text) => write!(formatter, "export: {text}"),
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
