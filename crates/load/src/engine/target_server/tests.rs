use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use mio::Poll;

use super::*;

/// Nothing is sent to these.
fn server(count: u16) -> TargetServer {
    let address = |port| Address::Inet(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    resolved((1..=count).map(address).collect(), Vec::new())
}

fn resolved(addresses: Vec<Address>, reserve: Vec<Address>) -> TargetServer {
    TargetServer::new(&Resolved { addresses, reserve, server_name: None }, None, &[]).unwrap()
}

/// An address refuses a connection.
fn rule_out(server: &mut TargetServer, index: usize) -> bool {
    server.rule_out(index, (ErrorKind::ConnectRefused, &format!("address {index}")))
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
    assert!(rule_out(&mut server, 1));
    assert_eq!(chosen(&mut server, 4), [0, 2, 0, 2]);
    assert!(rule_out(&mut server, 0));
    assert_eq!(chosen(&mut server, 2), [2, 2]);
    assert!(!rule_out(&mut server, 2), "no other is left");
    assert_eq!(chosen(&mut server, 3), [0, 1, 2], "all are as good as none");
}

#[test]
fn an_address_that_has_worked_is_never_left_out() {
    let mut server = server(2);
    server.mark_working(0);
    assert!(!rule_out(&mut server, 0));
    assert_eq!(chosen(&mut server, 4), [0, 1, 0, 1]);
    assert_eq!(server.addresses()[0].1, AddressHealth::Works);
}

#[test]
fn connects_that_began_before_an_address_was_left_out_go_to_another_as_well() {
    let mut server = server(3);
    assert!(rule_out(&mut server, 0));
    assert!(rule_out(&mut server, 0));
    assert_eq!(chosen(&mut server, 2), [1, 2]);
}

#[test]
fn an_address_in_reserve_is_used_where_all_others_have_failed() {
    let address = |port| Address::Inet(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let mut server = resolved(vec![address(1)], vec![address(2)]);
    assert_eq!(chosen(&mut server, 2), [0, 0]);
    assert!(server.may_rule_out(0));
    assert!(rule_out(&mut server, 0));
    assert_eq!(chosen(&mut server, 2), [1, 1]);
    assert!(!server.may_rule_out(1), "it is the last one");
    assert!(!rule_out(&mut server, 1));
    assert_eq!(chosen(&mut server, 2), [0, 0], "nothing is known of the one in reserve");
    let failure = Some((ErrorKind::ConnectRefused, "address 0".to_owned()));
    assert_eq!((server.failure(1), server.failure(0)), (failure, None), "what a user expects");
}

#[test]
fn this_host_has_both_loopback_addresses() {
    let endpoint = Endpoint::Host("localhost".into(), 80);
    let Resolved { addresses, reserve, .. } =
        Resolved::new(&Origin { endpoint, server_name: None, http2: false }).unwrap();
    let all: Vec<_> = addresses.iter().chain(&reserve).collect();
    assert!(names::loopbacks("localhost", 80).iter().all(|one| all.contains(&one)), "{all:?}");
    assert_eq!(all.iter().filter(|one| one.is_loopback()).count(), 2, "each once");
}

#[test]
fn connects_go_to_the_addresses_in_turn() {
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let address = |listener: &TcpListener| Address::Inet(listener.local_addr().unwrap());
    let mut server = resolved(listeners.iter().map(address).collect(), Vec::new());
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
    match Resolved::new(&Origin { endpoint, server_name: None, http2: false }) {
        Err(RunError::Unreachable { kind: ErrorKind::Dns, message }) => {
            assert!(message.contains("no\0name"), "{message}");
        }
        other => panic!("{other:?}"),
    }
}
