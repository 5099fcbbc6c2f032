//! What no caller sees: turns of the second thread that the first one does not follow.

use std::net::{TcpListener, TcpStream};

use super::Reactor;
use crate::settings::Settings;
use crate::sharing::joining::join;
use crate::sharing::prefix::UrlPrefix;

/// Of a shared port nothing is told yet, so nobody comes to watch the connection.
#[test]
fn what_is_accepted_beside_is_watched_at_once() {
    let base = std::env::temp_dir().join(format!("millrace-beside-{}", std::process::id()));
    std::fs::create_dir(&base).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut reactor = Reactor::new().unwrap();
    let server = reactor.add_server(Settings::default());
    let prefix = UrlPrefix::parse(&format!("http://{address}/")).unwrap();
    let joined = join(&base, prefix, reactor.id()).unwrap();
    reactor.share(server, joined, listener.try_clone().unwrap().into()).unwrap();
    reactor.listen(server, listener.into()).unwrap();
    let _client = TcpStream::connect(address).unwrap();
    reactor.turn_beside(&mut vec![0; 256 * 1024]).unwrap();
    let watched: Vec<bool> = reactor.connections.iter().map(|(_, it)| !it.fresh).collect();
    assert_eq!(watched, [true]);
    drop(reactor);
    std::fs::remove_dir_all(&base).unwrap();
}
