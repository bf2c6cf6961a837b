//! The port: the one of the last run if it is free, so that a kubeconfig stays valid after a restart.

use crate::serve::folder::Folder;
use crate::serve::private_file::{self, PrivateFileError};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::ops::Range;
use tokio::net::TcpListener;

/// Ports below the ephemeral ones (from 32768), which another program could get while this one does not run.
const CHOICE: Range<u16> = 20_000..30_000;
const TRIES: usize = 16;

#[derive(Debug)]
pub struct Bound {
    pub listener: TcpListener,
    pub address: SocketAddr,
    /// Port of the last run, if another program uses it now.
    pub moved_from: Option<u16>,
}

#[derive(Debug, thiserror::Error)]
pub enum PortError {
    #[error("{0} is taken by another program; name another port, or 0 for any")]
    Taken(SocketAddr),
    #[error("cannot listen on {address}: {source}; name an address of this machine")]
    Refused { address: SocketAddr, source: io::Error },
    #[error(transparent)]
    File(#[from] PrivateFileError),
}

pub async fn bind(folder: &Folder, listen: SocketAddr) -> Result<Bound, PortError> {
    if listen.port() != 0 {
        let listener = try_bind(listen).await?.ok_or(PortError::Taken(listen))?;
        return bound(listener, listen, None);
    }
    let file = folder.path().join("port");
    // A file that cannot be parsed counts as none: another port is chosen, and reported.
    let last: Option<u16> = private_file::read(&file)?.and_then(|text| text.trim().parse().ok());
    let with_port = |port| SocketAddr::new(listen.ip(), port);
    if let Some(port) = last.filter(|&port| port != 0)
        && let Some(listener) = try_bind(with_port(port)).await?
    {
        return bound(listener, with_port(port), None);
    }
    let listener = free(listen).await?;
    let found = bound(listener, listen, last)?;
    private_file::write(&file, &format!("{}\n", found.address.port()))?;
    Ok(found)
}

async fn free(listen: SocketAddr) -> Result<TcpListener, PortError> {
    for _ in 0..TRIES {
        let port = rand::random_range(CHOICE);
        if let Some(listener) = try_bind(SocketAddr::new(listen.ip(), port)).await? {
            return Ok(listener);
        }
    }
    try_bind(listen).await?.ok_or(PortError::Taken(listen))
}

async fn try_bind(address: SocketAddr) -> Result<Option<TcpListener>, PortError> {
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if error.kind() == ErrorKind::AddrInUse => Ok(None),
        Err(source) => Err(PortError::Refused { address, source }),
    }
}

fn bound(listener: TcpListener, requested: SocketAddr, moved_from: Option<u16>) -> Result<Bound, PortError> {
    let local = listener.local_addr();
    let address = local.map_err(|source| PortError::Refused {
        address: requested,
        source,
    })?;
    if let Some(port) = moved_from {
        tracing::warn!(
            from = port,
            to = address.port(),
            "port is taken by another program; moved"
        );
    }
    Ok(Bound {
        listener,
        address,
        moved_from,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::folder::scratch as folder;

    fn any() -> SocketAddr {
        "127.0.0.1:0".parse().unwrap()
    }

    #[tokio::test]
    async fn a_restart_has_the_port_of_the_last_time() {
        let (_directory, folder) = folder();
        let first = bind(&folder, any()).await.unwrap();
        let port = first.address.port();
        drop(first);
        let second = bind(&folder, any()).await.unwrap();
        assert_eq!((second.address.port(), second.moved_from), (port, None));
    }

    #[tokio::test]
    async fn a_port_in_use_is_left_for_another_one_which_is_used_from_then_on() {
        let (_directory, folder) = folder();
        let taken = bind(&folder, any()).await.unwrap();
        let second = bind(&folder, any()).await.unwrap();
        assert_eq!(second.moved_from, Some(taken.address.port()));
        let port = second.address.port();
        drop(second);
        let third = bind(&folder, any()).await.unwrap();
        assert_eq!((third.address.port(), third.moved_from), (port, None));
    }

    #[tokio::test]
    async fn a_port_that_was_requested_is_used_or_refused() {
        let (_directory, folder) = folder();
        let taken = bind(&folder, any()).await.unwrap();
        let error = bind(&folder, taken.address).await.unwrap_err();
        assert!(matches!(error, PortError::Taken(address) if address == taken.address));
        drop(taken);
    }

    #[tokio::test]
    async fn an_address_of_another_machine_is_refused() {
        let (_directory, folder) = folder();
        let error = bind(&folder, "192.0.2.1:0".parse().unwrap()).await.unwrap_err();
        assert!(matches!(error, PortError::Refused { .. }));
    }

    #[tokio::test]
    async fn a_port_file_with_nonsense_is_replaced() {
        let (_directory, folder) = folder();
        private_file::write(&folder.path().join("port"), "99999").unwrap();
        let found = bind(&folder, any()).await.unwrap();
        let stored = std::fs::read_to_string(folder.path().join("port")).unwrap();
        assert_eq!(stored.trim(), found.address.port().to_string());
    }
}
