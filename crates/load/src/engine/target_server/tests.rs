use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use mio::Poll;

use super::*;

/// Nothing is sent to these.
fn server(count: u16) -> TargetServer {
    let address = |port| Address::Inet(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let resolved = Resolved { addresses: (1..=count).map(address).collect(), server_name: None };
    TargetServer::new(&resolved, None, &[]).unwrap()
}

fn chosen(server: &mut TargetServer, count: usize) -> Vec<usize> {
    (0..count).map(|_| server.choose()).collect()
}

#[test]
fn all_addresses_are_used_in_turn() {
    assert_eq!(chosen(&mut server(3), 7), [0, 1, 2, 0, 1, 2, 0]);
    assert_eq!(chosen(&mut server(1), 2), [0, 0]);
}

#[test]
fn an_address_that_never_worked_is_left_out_while_others_are_left() {
    let mut server = server(3);
    assert!(server.rule_out(1));
    assert_eq!(chosen(&mut server, 4), [0, 2, 0, 2]);
    assert!(server.rule_out(0));
    assert_eq!(chosen(&mut server, 2), [2, 2]);
    assert!(!server.rule_out(2), "no other is left");
    assert_eq!(chosen(&mut server, 3), [0, 1, 2], "all are as good as none");
}

#[test]
fn an_address_that_has_worked_is_never_left_out() {
    let mut server = server(2);
    server.mark_working(0);
    assert!(!server.rule_out(0));
    assert_eq!(chosen(&mut server, 4), [0, 1, 0, 1]);
    assert_eq!(server.addresses()[0].1, AddressHealth::Works);
}

#[test]
fn an_address_is_left_out_once() {
    let mut server = server(3);
    assert!(server.rule_out(0));
    assert!(!server.rule_out(0), "a connect that began before has failed as well");
}

#[test]
fn connects_go_to_the_addresses_in_turn() {
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let address = |listener: &TcpListener| Address::Inet(listener.local_addr().unwrap());
    let resolved =
        Resolved { addresses: listeners.iter().map(address).collect(), server_name: None };
    let mut server = TargetServer::new(&resolved, None, &[]).unwrap();
    let poll = Poll::new().unwrap();
    for (turn, listener) in listeners.iter().enumerate() {
        let (index, stream) = server.connect(None, poll.registry(), Token(turn));
        assert_eq!(index, turn);
        assert!(stream.is_ok());
        listener.accept().unwrap();
    }
}

#[test]
fn a_name_without_address_is_unreachable() {
    let endpoint = Endpoint::Host("no\0name".into(), 80);
    match Resolved::new(&Origin { endpoint, server_name: None }) {
        Err(RunError::Unreachable { kind: ErrorKind::Dns, message }) => {
            assert!(message.contains("no\0name"), "{message}");
        }
        other => panic!("{other:?}"),
    }
}
