//! What comes of whatever another user's process says and gives that shares an address: it is not believed of others, and costs no more than so
//! much. Several users are only root's to be: without it, there is one, and these tests prove nothing.

use std::borrow::Cow;
use std::fs::{self, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::link::Link;
use crate::message::{Message, Orphaned, VERSION};
use millrace_share::joining::{JoinError, join};
use millrace_share::{SharedPorts, UrlPrefix};
use millrace_stack::batch::{Batch, EVENT_LENGTH, Kind, secure};
use millrace_stack::router::SessionInfo;
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

fn new_base() -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("millrace-strangers-{}-{number}", std::process::id());
    let base = std::env::temp_dir().join(name);
    fs::create_dir(&base).unwrap();
    base
}

/// A reactor that shares an address, which this test drives.
struct Victim {
    reactor: Reactor,
    prefix: UrlPrefix,
    /// What all who share the address accept from.
    listener: OwnedFd,
    base: PathBuf,
    told: Vec<[i32; EVENT_LENGTH]>,
}

impl Victim {
    fn new(scheme: &str) -> Self {
        let base = new_base();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let prefix = UrlPrefix::parse(&format!("{scheme}://127.0.0.1:{port}/a/")).unwrap();
        let mut reactor = Reactor::new().unwrap();
        let ports = SharedPorts::default();
        let own = ports.id();
        reactor.set_router(Box::new(ports));
        let tls = prefix.is_secure().then_some(Duration::from_secs(10));
        let server = reactor.add_server(Settings { tls, ..Settings::default() });
        let joined = join(&base, prefix.clone(), own).unwrap();
        listener.set_nonblocking(true).unwrap();
        let listener = OwnedFd::from(listener);
        let shared = listener.try_clone().unwrap();
        reactor
            .with_router(|ports: &mut SharedPorts, context| {
                ports.share(server, joined, shared, context)
            })
            .unwrap()
            .unwrap();
        Self { reactor, prefix, listener, base, told: Vec::new() }
    }

    /// The end of a link that a process of this user has; everybody may join.
    fn link(&self, user: u32) -> Link<UnixStream> {
        let place = fs::read_dir(&self.base).unwrap().next().unwrap().unwrap().path();
        let files = fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().path());
        let rendezvous = files.into_iter().find(|path| !path.ends_with("lock")).unwrap();
        for path in [&self.base, &place, &rendezvous] {
            fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
        }
        let connect = move || {
            if user != own() {
                let user = Uid::from_raw(user);
                set_thread_res_uid(user, user, user).unwrap();
            }
            UnixStream::connect(rendezvous).unwrap()
        };
        // Of this thread alone.
        let socket = thread::spawn(connect).join().unwrap();
        socket.set_nonblocking(true).unwrap();
        Link::new(socket)
    }

    /// The same of one who has said hello, and is welcome.
    fn joined(&mut self, user: u32) -> Link<UnixStream> {
        let mut link = self.link(user);
        link.send(&self.hello(), None).unwrap();
        let is_welcome = |message: &Message<'_>| matches!(message, Message::Welcome { .. });
        assert!(self.said(&mut link, |message| is_welcome(message).then_some(())).is_some());
        link
    }

    fn hello(&self) -> Message<'static> {
        Message::Hello { version: VERSION, secure: self.prefix.is_secure() }
    }

    fn prefix_of(&self, path: &str) -> Message<'static> {
        let port = self.prefix.port();
        Message::Added { prefix: format!("http://127.0.0.1:{port}{path}").into() }
    }

    /// Until the other end of a link is gone.
    fn ends(&mut self, link: &mut Link<UnixStream>) {
        assert!(self.said(link, |_| None::<()>).is_none());
    }

    /// A client that asks, on a connection that our own user's process gives.
    fn ask(&self, giver: &mut Link<UnixStream>, path: &str) -> TcpStream {
        let (client, accepted) = self.client();
        client.set_nonblocking(true).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
        give(giver, accepted, None, request.as_bytes());
        client
    }

    fn status(&mut self, client: &mut TcpStream) -> String {
        let mut status = [0; 12];
        for _ in 0..TURNS {
            self.turn();
            match client.read(&mut status) {
                Ok(_) => return String::from_utf8(status.into()).unwrap(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => panic!("{error}"),
            }
        }
        panic!("no answer")
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
                Ok(1..) => {}
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

    /// A connection is given to the other end of a link.
    fn is_given(&mut self, link: &mut Link<UnixStream>) -> bool {
        let is_one = |message: &Message<'_>| matches!(message, Message::Connection { .. });
        self.said(link, |message| is_one(message).then_some(())).is_some()
    }

    /// A connection of a client, and what its end is here.
    fn client(&self) -> (TcpStream, TcpStream) {
        let listener = self.listener.try_clone().unwrap();
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

fn own() -> u32 {
    geteuid().as_raw()
}

fn can_be_others() -> bool {
    geteuid().is_root()
}

fn claimed() -> SocketAddr {
    OTHER_PLACE.into()
}

fn session() -> SessionInfo {
    SessionInfo {
        local: Some(claimed()),
        peer: Some(claimed()),
        name: Some("a".into()),
        asked: true,
        certificates: vec![vec![1, 2, 3]],
        ..SessionInfo::default()
    }
}

fn give(
    link: &mut Link<UnixStream>,
    socket: impl Into<OwnedFd>,
    session: Option<&SessionInfo>,
    bytes: &[u8],
) {
    let (peer, session) = (Some(claimed()), session.map(Cow::Borrowed));
    let message = Message::Connection { serial: 7, hops: 0, peer, session, bytes };
    link.send(&message, Some(Arc::new(socket.into()))).unwrap();
}

#[test]
fn a_certificate_is_there_only_if_who_has_seen_it_is_believed() {
    for user in [own(), STRANGER] {
        if !can_be_others() && user == STRANGER {
            return;
        }
        let mut victim = Victim::new("https");
        let mut link = victim.joined(user);
        let (_client, text) = UnixStream::pair().unwrap();
        give(&mut link, text, Some(&session()), REQUEST);
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
    for user in [own(), STRANGER] {
        if !can_be_others() && user == STRANGER {
            return;
        }
        let mut victim = Victim::new("http");
        let mut link = victim.joined(user);
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
    let listener = victim.listener.try_clone().unwrap();
    let given: [OwnedFd; 7] = [
        File::open("/dev/null").unwrap().into(),
        io::pipe().unwrap().0.into(),
        UnixStream::pair().unwrap().0.into(),
        udp.into(),
        outbound.into(),
        accepted.into(),
        listener,
    ];
    let mut link = victim.joined(STRANGER);
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
    let mut link = victim.joined(STRANGER);
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
    let mut link = victim.joined(own());
    let (_client, text) = UnixStream::pair().unwrap();
    give(&mut link, text, Some(&session()), REQUEST);
    victim.ends(&mut link);
}

/// What is out of order, and what is said a second time.
#[test]
fn nobody_says_what_has_no_place() {
    let mut victim = Victim::new("http");
    let gone = || {
        Message::Orphaned(Orphaned {
            prefix: "http://*:1/".into(),
            user: 1,
            confirmed: true,
            left_s: 9,
        })
    };
    let welcome = || Message::Welcome { version: VERSION, secure: false };
    let given =
        || Message::Connection { serial: 1, hops: 0, peer: None, session: None, bytes: b"" };
    for message in
        [victim.prefix_of("/b/"), welcome(), gone(), given(), Message::Refused { serial: 1 }]
    {
        let mut link = victim.link(own());
        link.send(&message, None).unwrap();
        victim.ends(&mut link);
    }
    for message in [victim.hello(), welcome(), gone()] {
        let mut link = victim.joined(own());
        link.send(&message, None).unwrap();
        victim.ends(&mut link);
    }
    // What one may say of connections that nobody knows.
    let mut link = victim.joined(own());
    link.send(&Message::Taken { serials: vec![0, 1, u32::MAX] }, None).unwrap();
    link.send(&Message::Refused { serial: 5 }, None).unwrap();
    let (_client, accepted) = victim.client();
    give(&mut link, accepted, None, REQUEST);
    victim.told(Kind::Request);
}

#[test]
fn nothing_is_too_long() {
    let mut victim = Victim::new("https");
    let long = || "a".repeat(256);
    let name = SessionInfo { name: Some(long()), ..session() };
    let protocol = SessionInfo { protocol: Some(long().into()), ..session() };
    let given: [(_, &[u8]); 3] =
        [(Some(&name), REQUEST), (Some(&protocol), REQUEST), (None, &[b'a'; 128 * 1024 + 1])];
    for (session, bytes) in given {
        let mut link = victim.joined(own());
        let socket = UnixStream::pair().unwrap().0;
        let (serial, hops, peer, session) = (1, 0, None, session.map(Cow::Borrowed));
        let message = Message::Connection { serial, hops, peer, session, bytes };
        link.push(&message, Some(Arc::new(socket.into()))).unwrap();
        while !link.is_flushed() && link.flush().is_ok() {
            victim.turn();
        }
        victim.ends(&mut link);
    }
    // Nor said.
    let mut link = victim.joined(own());
    let message = Message::Taken { serials: vec![u32::MAX; 60_000] };
    assert_eq!(link.send(&message, None).unwrap_err().kind(), io::ErrorKind::InvalidData);
}

/// A prefix of another port or address, or of the other scheme, would be asked as if it were one of this.
#[test]
fn prefixes_are_of_the_address() {
    let mut victim = Victim::new("http");
    let port = victim.prefix.port();
    let mut link = victim.joined(own());
    let mut giver = victim.joined(own());
    for place in
        ["http://127.0.0.1:1", &format!("http://*:{port}"), &format!("https://127.0.0.1:{port}")]
    {
        link.send(&Message::Added { prefix: format!("{place}/b/").into() }, None).unwrap();
        let mut client = victim.ask(&mut giver, "/b/");
        assert_eq!(victim.status(&mut client), "HTTP/1.1 404");
    }
    link.send(&victim.prefix_of("/b/"), None).unwrap();
    let _client = victim.ask(&mut giver, "/b/");
    assert!(victim.is_given(&mut link));
}

#[test]
fn a_stranger_has_so_many_prefixes() {
    if !can_be_others() {
        return;
    }
    let mut victim = Victim::new("http");
    let mut giver = victim.joined(own());
    let mut links = [victim.joined(STRANGER), victim.joined(STRANGER)];
    for number in 0..1030 {
        let added = victim.prefix_of(&format!("/{number}/"));
        links[number % 2].send(&added, None).unwrap();
        victim.turn();
    }
    // A turn for each link, and routes are made anew after a pause.
    let known = victim.ask(&mut giver, "/1000/");
    assert!(victim.is_given(&mut links[0]));
    drop(known);
    let mut client = victim.ask(&mut giver, "/1029/");
    assert_eq!(victim.status(&mut client), "HTTP/1.1 404");
}

#[test]
fn a_stranger_has_so_many_links() {
    if !can_be_others() {
        return;
    }
    let mut victim = Victim::new("http");
    let links: Vec<_> = (0..128).map(|_| victim.joined(STRANGER)).collect();
    let mut further = victim.link(STRANGER);
    victim.ends(&mut further);
    let own: Vec<_> = (0..130).map(|_| victim.joined(own())).collect();
    drop((links, own));
    victim.joined(STRANGER);
}

/// Whoever gives and does not hear what becomes of it would have us keep ever more answers.
#[test]
fn who_does_not_listen_is_not_heard_for_ever() {
    let mut victim = Victim::new("http");
    let mut link = victim.joined(own());
    let given = Message::Connection { serial: 1, hops: 0, peer: None, session: None, bytes: b"" };
    let mut count = 0;
    while link.send(&given, None).is_ok() && count < 20_000 {
        count += 1;
        victim.turn();
    }
    assert!(count < 20_000);
    assert!(count > 2048);
}

#[test]
fn a_turn_hears_so_many_messages() {
    let mut victim = Victim::new("http");
    let mut link = victim.joined(own());
    for number in 0..600 {
        link.push(&victim.prefix_of(&format!("/{number}/")), None).unwrap();
    }
    let (_client, accepted) = victim.client();
    let message =
        Message::Connection { serial: 1, hops: 0, peer: None, session: None, bytes: REQUEST };
    link.push(&message, Some(Arc::new(accepted.into()))).unwrap();
    link.flush().unwrap();
    assert!(link.is_flushed());
    for _ in 0..2 {
        victim.turn();
        assert!(victim.told.is_empty());
    }
    victim.told(Kind::Request);
}

/// Of somebody who has made a rendezvous, and answers those who come.
fn answer(user: u32, what: impl FnOnce(UnixStream) + Send + 'static) -> (PathBuf, UrlPrefix) {
    let base = new_base();
    // Nobody else listens there, as long as it is open.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let prefix = UrlPrefix::parse(&format!("http://127.0.0.1:{port}/a/")).unwrap();
    let place = base.join(format!("127.0.0.1-{port}"));
    fs::create_dir(&place).unwrap();
    for path in [&base, &place] {
        fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
    }
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        if user != own() {
            let user = Uid::from_raw(user);
            set_thread_res_uid(user, user, user).unwrap();
        }
        let rendezvous = UnixListener::bind(place.join("1.0123456789abcdef")).unwrap();
        tell.send(()).unwrap();
        what(rendezvous.accept().unwrap().0);
        drop(listener);
    });
    told.recv().unwrap();
    (base, prefix)
}

#[test]
fn a_socket_that_listens_elsewhere_is_not_taken() {
    for user in [own(), STRANGER] {
        if !can_be_others() && user == STRANGER {
            return;
        }
        let (base, prefix) = answer(user, |socket| {
            let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
            let welcome = Message::Welcome { version: VERSION, secure: false };
            let mut link = Link::new(socket);
            link.send(&welcome, Some(Arc::new(elsewhere.into()))).unwrap();
            // Until the other has what it wants.
            while matches!(link.receive(), Ok(1..)) {}
        });
        let joined = join(&base, prefix, SharedPorts::default().id());
        assert_eq!(matches!(joined, Err(JoinError::NoSocket)), user == STRANGER, "{joined:?}");
        assert_eq!(joined.is_ok(), user != STRANGER);
        fs::remove_dir_all(base).unwrap();
    }
}

#[test]
fn who_talks_without_an_end_is_not_waited_for() {
    let (base, prefix) = answer(own(), |mut socket| {
        let added = Message::Added { prefix: "http://127.0.0.1:1/".into() }.to_bytes().unwrap();
        while socket.write_all(&added).is_ok() {}
    });
    let (tell, told) = mpsc::channel();
    let place = base.clone();
    thread::spawn(move || tell.send(join(&place, prefix, SharedPorts::default().id()).err()));
    // It waits for five seconds and a half.
    let error = told.recv_timeout(Duration::from_secs(20)).unwrap();
    assert!(matches!(error, Some(JoinError::Silent)), "{error:?}");
    fs::remove_dir_all(base).unwrap();
}
