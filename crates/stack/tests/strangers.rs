//! What comes of whatever another user's process says and gives that shares an address: it is not believed of others, and costs no more than so
//! much. Several users are only root's to be: without it, there is one, and these tests prove nothing.

#![cfg(target_os = "linux")]

#[expect(dead_code, reason = "the crate's own, of which messages take a part")]
#[path = "../src/forwarded.rs"]
mod forwarded;
#[expect(dead_code, reason = "the crate's own, of which this takes a part")]
#[path = "../src/sharing/link.rs"]
mod link;
#[expect(dead_code, reason = "the crate's own, of which this takes a part")]
#[path = "../src/sharing/message.rs"]
mod message;

use std::borrow::Cow;
use std::fs::{self, File, Permissions};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use forwarded::About;
use link::Link;
use message::{Message, VERSION};
use millrace_stack::batch::{Batch, EVENT_LENGTH, Kind, secure};
use millrace_stack::sharing::joining::join;
use millrace_stack::sharing::prefix::UrlPrefix;
use millrace_stack::{Reactor, Settings};
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::process::{Uid, geteuid};
use rustix::thread::set_thread_res_uid;

/// A user that need not exist.
const STRANGER: u32 = 64_321;
/// Far more than anything here takes.
const TURNS: usize = 20_000;
const REQUEST: &[u8] = b"GET /a/ HTTP/1.1\r\nHost: a\r\n\r\n";
const OTHER_PLACE: ([u8; 4], u16) = ([198, 51, 100, 1], 443);

/// A reactor that shares an address, which this test drives.
struct Victim {
    reactor: Reactor,
    prefix: UrlPrefix,
    base: PathBuf,
    told: Vec<[i32; EVENT_LENGTH]>,
}

impl Victim {
    fn new(scheme: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("millrace-strangers-{}-{number}", std::process::id());
        let base = std::env::temp_dir().join(name);
        fs::create_dir(&base).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let prefix = UrlPrefix::parse(&format!("{scheme}://127.0.0.1:{port}/a/")).unwrap();
        let mut reactor = Reactor::new().unwrap();
        let tls = prefix.is_secure().then_some(Duration::from_secs(10));
        let server = reactor.add_server(Settings { tls, ..Settings::default() });
        let joined = join(&base, prefix.clone(), reactor.id()).unwrap();
        listener.set_nonblocking(true).unwrap();
        let listener = OwnedFd::from(listener);
        reactor.share(server, joined, listener).unwrap();
        Self { reactor, prefix, base, told: Vec::new() }
    }

    /// The end of a link that a process of this user has; everybody may join.
    fn link(&self, user: u32) -> Link<UnixStream> {
        let open =
            |path: &PathBuf| fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
        let place = fs::read_dir(&self.base).unwrap().next().unwrap().unwrap().path();
        let files = fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().path());
        let door = files.into_iter().find(|path| !path.ends_with("lock")).unwrap();
        for path in [&self.base, &place, &door] {
            fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
        }
        let connect = move || {
            if user != geteuid().as_raw() {
                let user = Uid::from_raw(user);
                set_thread_res_uid(user, user, user).unwrap();
            }
            UnixStream::connect(door).unwrap()
        };
        // Of this thread alone.
        let socket = thread::spawn(connect).join().unwrap();
        socket.set_nonblocking(true).unwrap();
        let mut link = Link::new(socket);
        let secure = self.prefix.is_secure();
        link.send(&Message::Hello { version: VERSION, secure }, None).unwrap();
        link
    }

    fn turn(&mut self) {
        let (mut events, mut bytes) = (vec![0; EVENT_LENGTH * 64], vec![0; 1024 * 1024]);
        let mut batch = Batch::new(&mut events, &mut bytes);
        self.reactor.turn(&mut batch).unwrap();
        let count = batch.count();
        self.told.extend(events.as_chunks().0[..count].iter());
        self.reactor.wake_again();
    }

    /// The next event of a kind: its connection and details.
    fn told(&mut self, kind: Kind) -> (usize, [i32; EVENT_LENGTH]) {
        for _ in 0..TURNS {
            self.turn();
            let mut told = self.told.drain(..);
            if let Some(event) = told.find(|event| event[0] == kind as i32) {
                return (usize::try_from(event[1]).unwrap(), event);
            }
        }
        panic!("nothing of the kind {kind:?}")
    }

    /// What is said to the other end that `take` wants; `None`: the link has ended.
    fn said<T>(
        &mut self,
        link: &mut Link<UnixStream>,
        mut take: impl FnMut(&Message<'_>) -> Option<T>,
    ) -> Option<T> {
        for _ in 0..TURNS {
            self.turn();
            match link.receive() {
                Ok(true) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                _ => return None,
            }
            while let Some(said) = link.next(|message, _| take(message)).unwrap() {
                if said.is_some() {
                    return said;
                }
            }
        }
        panic!("nothing is said")
    }

    /// A connection of a client, and what its end is here.
    fn client(&self) -> (TcpStream, TcpStream) {
        let listener = self.reactor.shared_listener(&self.prefix).unwrap().unwrap();
        let client = TcpStream::connect(("127.0.0.1", self.prefix.port())).unwrap();
        let (accepted, _) = TcpListener::from(listener).accept().unwrap();
        (client, accepted)
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.base).unwrap();
    }
}

fn can_be_others() -> bool {
    geteuid().is_root()
}

fn claimed() -> SocketAddr {
    OTHER_PLACE.into()
}

fn about() -> About {
    About {
        local: Some(claimed()),
        peer: Some(claimed()),
        name: Some("a".into()),
        asked: true,
        certificates: vec![vec![1, 2, 3]],
        ..About::default()
    }
}

fn give(
    link: &mut Link<UnixStream>,
    socket: impl Into<OwnedFd>,
    about: Option<&About>,
    bytes: &[u8],
) {
    let (peer, about) = (Some(claimed()), about.map(Cow::Borrowed));
    let message = Message::Connection { serial: 7, hops: 0, peer, about, bytes };
    link.send(&message, Some(Arc::new(socket.into()))).unwrap();
}

#[test]
fn a_certificate_is_there_only_if_who_has_seen_it_is_believed() {
    for user in [geteuid().as_raw(), STRANGER] {
        if !can_be_others() && user == STRANGER {
            return;
        }
        let mut victim = Victim::new("https");
        let mut link = victim.link(user);
        let (_client, text) = UnixStream::pair().unwrap();
        give(&mut link, text, Some(&about()), REQUEST);
        let (id, event) = victim.told(Kind::Forwarded);
        let (is_asked, certificates) =
            (event[5] & secure::ASKED != 0, victim.reactor.certificates(id));
        let believed = user != STRANGER;
        assert_eq!((is_asked, certificates.len()), (believed, usize::from(believed)));
        let address = believed.then(claimed);
        assert_eq!(victim.reactor.addresses(id), (address, address));
    }
}

#[test]
fn an_address_is_the_sockets() {
    for user in [geteuid().as_raw(), STRANGER] {
        if !can_be_others() && user == STRANGER {
            return;
        }
        let mut victim = Victim::new("http");
        let mut link = victim.link(user);
        let (client, accepted) = victim.client();
        give(&mut link, accepted, None, REQUEST);
        let (id, _) = victim.told(Kind::Request);
        let expected = if user == STRANGER { client.local_addr().unwrap() } else { claimed() };
        assert_eq!(victim.reactor.addresses(id).1, Some(expected));
    }
}

/// What nobody can have accepted here.
#[test]
fn what_is_no_connection_of_the_listener_is_refused() {
    if !can_be_others() {
        return;
    }
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    let there = elsewhere.local_addr().unwrap();
    let outbound = TcpStream::connect(there).unwrap();
    let (accepted, _) = elsewhere.accept().unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.connect(there).unwrap();
    let mut victim = Victim::new("http");
    let listener = victim.reactor.shared_listener(&victim.prefix).unwrap().unwrap();
    let given: [OwnedFd; 7] = [
        File::open("/dev/null").unwrap().into(),
        io::pipe().unwrap().0.into(),
        UnixStream::pair().unwrap().0.into(),
        udp.into(),
        outbound.into(),
        accepted.into(),
        listener,
    ];
    let mut link = victim.link(STRANGER);
    for socket in given {
        give(&mut link, socket, None, REQUEST);
        let refused = victim.said(&mut link, |message| match message {
            Message::Refused { serial } => Some(*serial),
            _ => None,
        });
        assert_eq!(refused, Some(7));
    }
    // It has harmed nobody.
    let (_client, accepted) = victim.client();
    give(&mut link, accepted, None, REQUEST);
    victim.told(Kind::Request);
}

/// One that blocks would stop us where it is read.
#[test]
fn what_is_taken_does_not_block() {
    if !can_be_others() {
        return;
    }
    let mut victim = Victim::new("http");
    let mut link = victim.link(STRANGER);
    let (_client, accepted) = victim.client();
    accepted.set_nonblocking(false).unwrap();
    let kept = accepted.try_clone().unwrap();
    give(&mut link, accepted, None, REQUEST);
    victim.told(Kind::Request);
    assert!(fcntl_getfl(kept).unwrap().contains(OFlags::NONBLOCK));
}

#[test]
fn text_of_a_session_where_there_is_none_ends_the_link() {
    let mut victim = Victim::new("http");
    let mut link = victim.link(geteuid().as_raw());
    let (_client, text) = UnixStream::pair().unwrap();
    give(&mut link, text, Some(&about()), REQUEST);
    assert_eq!(
        victim.said(&mut link, |message| matches!(message, Message::Taken { .. }).then_some(())),
        None
    );
}
