//! Streams without TLS against sockets of the standard library.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use millrace_net::{Address, Read, Transport as _};
use socket2::SockRef;

use crate::client::Client;

fn listen() -> (TcpListener, Address) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Inet(listener.local_addr().unwrap());
    (listener, address)
}

fn connected() -> (Client, TcpStream) {
    let (listener, address) = listen();
    let (client, resumed) = Client::connect(&address, None).unwrap();
    assert_eq!(resumed, None, "there is no TLS");
    (client, listener.accept().unwrap().0)
}

/// More than the buffers of two sockets hold.
fn much() -> Vec<u8> {
    (0..8_000_000u32).map(|n| n.to_le_bytes()[usize::from(n % 3 == 0)]).collect()
}

#[test]
fn a_port_without_listener_refuses() {
    let (listener, address) = listen();
    drop(listener);
    let error = Client::connect(&address, None).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
}

/// Sends a question and an answer, and ends the stream.
fn exchange(mut client: Client, mut peer: impl io::Read + io::Write) {
    client.write_all(b"question").unwrap();
    let mut question = [0; 8];
    peer.read_exact(&mut question).unwrap();
    assert_eq!(&question, b"question");
    peer.write_all(b"answer").unwrap();
    drop(peer);
    assert_eq!(client.read_to_end().unwrap(), b"answer");
}

#[test]
fn bytes_go_both_ways_to_the_end_of_the_stream() {
    let (client, peer) = connected();
    exchange(client, peer);
}

#[test]
fn a_read_tells_whether_more_may_be_there() {
    let (mut client, mut peer) = connected();
    let mut buffer = [0; 4];
    let nothing = client.stream.read(&mut buffer).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
    peer.write_all(b"123456").unwrap();
    let first = client.drive(|stream, _| stream.read(&mut buffer)).unwrap();
    assert_eq!(first, Read { count: 4, drained: false });
    let second = client.stream.read(&mut buffer).unwrap();
    assert_eq!(second, Read { count: 2, drained: cfg!(unix) });
}

#[test]
fn a_write_that_the_socket_does_not_take_goes_on_later() {
    let (mut client, mut peer) = connected();
    let much = much();
    let expected = much.clone();
    let reader = thread::spawn(move || {
        let mut found = Vec::new();
        peer.read_to_end(&mut found).map(|_| found)
    });
    let taken = client.stream.write(&much).unwrap();
    assert!(taken < much.len(), "the sockets' buffers hold it all");
    client.write_all(&much[taken..]).unwrap();
    drop(client);
    assert!(reader.join().unwrap().unwrap() == expected, "the bytes have changed");
}

#[test]
fn much_is_read_in_order() {
    let (mut client, mut peer) = connected();
    let much = much();
    let expected = much.clone();
    let writer = thread::spawn(move || peer.write_all(&much));
    assert!(client.read_to_end().unwrap() == expected, "the bytes have changed");
    writer.join().unwrap().unwrap();
}

#[test]
fn a_reset_is_an_error_of_the_read() {
    let (mut client, peer) = connected();
    SockRef::from(&peer).set_linger(Some(Duration::ZERO)).unwrap();
    drop(peer);
    let error = client.read_to_end().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::net::UnixListener;
    use std::path::PathBuf;

    use super::*;

    /// A path that is removed at the end.
    struct SocketPath(PathBuf);

    impl SocketPath {
        fn new(name: &str) -> Self {
            let file = format!("millrace-net-{}-{name}.sock", std::process::id());
            Self(std::env::temp_dir().join(file))
        }

        fn address(&self) -> Address {
            Address::Unix(self.0.clone())
        }
    }

    impl Drop for SocketPath {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn connect_error(path: &SocketPath) -> io::Error {
        Client::connect(&path.address(), None).err().unwrap()
    }

    #[test]
    fn bytes_go_both_ways() {
        let path = SocketPath::new("both");
        let listener = UnixListener::bind(&path.0).unwrap();
        let (client, _) = Client::connect(&path.address(), None).unwrap();
        exchange(client, listener.accept().unwrap().0);
    }

    #[test]
    fn a_path_that_does_not_exist_is_told_from_one_without_listener() {
        let path = SocketPath::new("none");
        assert_eq!(connect_error(&path).kind(), ErrorKind::NotFound);
        drop(UnixListener::bind(&path.0).unwrap());
        assert_eq!(connect_error(&path).kind(), ErrorKind::ConnectionRefused);
    }
}

/// A stream whose peer has closed first, and the address that it came from.
#[cfg(target_os = "linux")]
fn ended(
    listener: &TcpListener,
    address: &Address,
) -> (millrace_net::Stream, std::net::SocketAddr) {
    let (mut client, _) = Client::connect(address, None).unwrap();
    let from = listener.accept().unwrap().1;
    assert_eq!(client.read_to_end().unwrap(), b"");
    (client.stream, from)
}

#[cfg(target_os = "linux")]
#[test]
fn an_ended_stream_connects_again_from_another_port() {
    let (listener, address) = listen();
    let (stream, first) = ended(&listener, &address);
    let again = stream.into_spare().unwrap().connect(&address).unwrap();
    let (mut peer, second) = listener.accept().unwrap();
    assert_ne!(first, second, "a connection of its own");
    drop(again);
    assert_eq!(peer.read(&mut [0]).unwrap(), 0, "it ends in order");
}

#[cfg(target_os = "linux")]
#[test]
fn a_stream_connects_again_only_where_it_can() {
    let (listener, address) = listen();
    let spare = ended(&listener, &address).0.into_spare().unwrap();
    assert!(spare.connect(&Address::Inet("[::1]:9".parse().unwrap())).is_none());
    let (open, _) = Client::connect(&address, None).unwrap();
    let mut open = open.stream.into_spare().expect_err("the peer has not closed");
    assert_eq!(open.write(b"x").unwrap(), 1, "and can still be sent to");
}

#[cfg(unix)]
#[test]
fn a_path_that_no_socket_can_have_is_named() {
    let connect = |length| {
        let address = Address::Unix("x".repeat(length).into());
        Client::connect(&address, None).err().unwrap().to_string()
    };
    let text = connect(200);
    assert!(text.starts_with("the path of the Unix socket is too long: at most 10"), "{text}");
    assert!(text.ends_with("(got 200)"), "{text}");
    assert!(!connect(103).contains("too long"));
}
