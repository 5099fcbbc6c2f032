//! Names to addresses.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use millrace_net::{Address, names};

fn inet(ip: impl Into<std::net::IpAddr>, port: u16) -> Address {
    Address::Inet(SocketAddr::new(ip.into(), port))
}

#[test]
fn address_literals_are_their_own_address() {
    let v4 = names::resolve("127.0.0.1", 8080).unwrap();
    assert_eq!(v4, [inet(Ipv4Addr::LOCALHOST, 8080)]);
    assert_eq!(names::resolve("::1", 80).unwrap(), [inet(Ipv6Addr::LOCALHOST, 80)]);
}

#[test]
fn localhost_has_loopback_addresses_each_once() {
    let addresses = names::resolve("localhost", 80).unwrap();
    assert!(!addresses.is_empty());
    for (index, address) in addresses.iter().enumerate() {
        assert!(!addresses[..index].contains(address), "{address} twice");
        let Address::Inet(address) = address else { panic!("{address} is no inet address") };
        assert!(address.ip().is_loopback() && address.port() == 80);
    }
}

#[test]
fn names_under_localhost_are_this_host() {
    for name in ["app.localhost", "a.b.LOCALHOST", "app.localhost.", "localhost."] {
        let addresses = names::resolve(name, 80).unwrap();
        assert!(!addresses.is_empty() && addresses.iter().all(Address::is_loopback), "{name}");
    }
}

#[test]
fn what_cannot_be_a_name_is_an_error() {
    assert!(names::resolve("local\0host", 80).is_err());
}

#[test]
fn addresses_are_written_as_users_write_them() {
    assert_eq!(inet(Ipv4Addr::LOCALHOST, 80).to_string(), "127.0.0.1:80");
    assert_eq!(inet(Ipv6Addr::LOCALHOST, 80).to_string(), "[::1]:80");
    assert_eq!(Address::Unix(PathBuf::from("/run/x.sock")).to_string(), "unix:/run/x.sock");
}
