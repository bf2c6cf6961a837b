//! Programs and connections inside a network namespace of this machine.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use anyhow::Context;

use crate::Launch;

pub fn enter(namespace: &Path, program: &Path) -> Launch {
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy();
    Launch::program("nsenter")
        .named(name)
        .arg(format!("--net={}", namespace.display()))
        .arg("--")
        .arg(program)
}

/// Forwards the returned loopback port to `to` inside `namespace` while this process lives.
pub fn way_in(namespace: &Path, to: SocketAddr) -> anyhow::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    let namespace = namespace.to_owned();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let namespace = namespace.clone();
            std::thread::spawn(move || {
                // A client whose connection cannot be forwarded finds it closed, and reports that itself.
                let _ = dial(&namespace, to).and_then(|server| Ok(join(&client, &server)?));
            });
        }
    });
    Ok(port)
}

/// For threads that end afterwards, as a thread stays in the namespace that it has entered.
fn dial(namespace: &Path, to: SocketAddr) -> anyhow::Result<TcpStream> {
    let file = std::fs::File::open(namespace).with_context(|| format!("{} is gone", namespace.display()))?;
    nix::sched::setns(file, nix::sched::CloneFlags::CLONE_NEWNET)?;
    Ok(TcpStream::connect_timeout(&to, Duration::from_secs(5))?)
}

fn join(client: &TcpStream, server: &TcpStream) -> io::Result<()> {
    let one_way = |mut from: &TcpStream, mut to: &TcpStream| {
        // Notifies the reader of this direction, whatever ended it.
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    };
    std::thread::scope(|threads| {
        threads.spawn(|| one_way(server, client));
        one_way(client, server);
    });
    Ok(())
}
