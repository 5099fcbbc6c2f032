//! Reactors that share an address, and what they make of others who say so.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use millrace_share::joining::{JoinError, Joined, join};
use millrace_share::{SharedPorts, UrlPrefix};
use millrace_stack::batch::{Batch, EVENT_LENGTH, Kind};
use millrace_stack::{Reactor, ReactorHandle, Settings};
use proptest::prelude::*;

/// Far more than it takes.
const LIMIT: Duration = Duration::from_secs(10);

/// A directory in which processes meet, for one test.
struct Base(PathBuf);

impl Base {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("millrace-{}-{number}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// The rendezvous sockets of all who share anything.
    fn rendezvous(&self) -> Vec<PathBuf> {
        let files = |path: PathBuf| fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        let all = files(self.0.clone()).flat_map(files);
        all.filter(|path| !path.ends_with("lock")).collect()
    }
}

impl Drop for Base {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// A process of its own, but for the memory: it answers each request with its name.
struct Member {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    port: u16,
}

impl Member {
    /// One that has joined. `port`: `None` for the first, who finds one.
    fn join(
        base: &Base,
        port: Option<u16>,
        path: &str,
        name: &'static str,
    ) -> Result<Self, JoinError> {
        Self::join_with(base, port, path, name, &[])
    }

    /// One that has further servers with these paths, which accept nothing.
    fn join_with(
        base: &Base,
        port: Option<u16>,
        path: &str,
        name: &'static str,
        further: &[String],
    ) -> Result<Self, JoinError> {
        let mut reactor = Reactor::new().unwrap();
        let ports = SharedPorts::default();
        let id = ports.id();
        reactor.set_router(Box::new(ports));
        let server = reactor.add_server(Settings::default());
        let mut own = None;
        let port = port.unwrap_or_else(|| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            own.insert(listener).local_addr().unwrap().port()
        });
        let prefix = UrlPrefix::parse(&format!("http://127.0.0.1:{port}{path}")).unwrap();
        let mut joined = join(&base.0, prefix, id)?;
        let listener = joined.take_listener().unwrap_or_else(|| own.unwrap().into());
        share(&mut reactor, server, joined, &listener);
        for path in further {
            let prefix = UrlPrefix::parse(&format!("http://127.0.0.1:{port}{path}")).unwrap();
            let joined = join(&base.0, prefix, id)?;
            let server = reactor.add_server(Settings::default());
            share(&mut reactor, server, joined, &listener);
        }
        reactor.listen(server, listener).unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&over);
        let shared = ReactorHandle::new(reactor);
        let thread = thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                answer(&shared, name);
            }
        });
        Ok(Self { over, thread: Some(thread), port })
    }

    fn ask(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }
}

/// Ends as a process does that is killed: without a word.
impl Drop for Member {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

fn share(reactor: &mut Reactor, server: usize, joined: Joined, listener: &OwnedFd) {
    let listener = listener.try_clone().unwrap();
    reactor
        .with_router(|ports: &mut SharedPorts, context| {
            ports.share(server, joined, listener, context)
        })
        .unwrap()
        .unwrap();
}

fn answer(shared: &ReactorHandle, name: &str) {
    let (mut events, mut bytes) = (vec![0; EVENT_LENGTH * 64], vec![0; 256 * 1024]);
    let mut batch = Batch::new(&mut events, &mut bytes);
    shared.turn(&mut batch).unwrap();
    let count = batch.count();
    for event in events.chunks(EVENT_LENGTH).take(count) {
        let id = usize::try_from(event[1]).unwrap();
        if event[0] == Kind::Request as i32 {
            let length = name.len();
            let response = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{name}");
            shared.with(|reactor| reactor.send(id, response.as_bytes(), 1, true)).unwrap();
            shared.with(|reactor| reactor.end(id));
        } else if event[0] == Kind::Answered as i32 {
            shared.with(|reactor| reactor.end(id));
        } else if event[0] == Kind::Eof as i32 {
            shared.with(|reactor| reactor.close(id, false));
        }
    }
    shared.with(Reactor::wake_again);
    thread::yield_now();
}

#[test]
fn each_has_its_own_and_what_was_anothers_is_nobodys() {
    let base = Base::new();
    let first = Member::join(&base, None, "/a/", "first").unwrap();
    let second = Member::join(&base, Some(first.port), "/b/", "second").unwrap();
    for _ in 0..20 {
        assert!(first.ask("/a/x").ends_with("\r\n\r\nfirst"));
        assert!(first.ask("/b/x").ends_with("\r\n\r\nsecond"));
    }
    assert!(first.ask("/c").starts_with("HTTP/1.1 404"));
    drop(first);
    assert!(second.ask("/b/x").ends_with("second"));
    assert!(second.ask("/a/x").starts_with("HTTP/1.1 503"));
    let again = Member::join(&base, Some(second.port), "/a/", "again").unwrap();
    assert!(again.ask("/a/x").ends_with("again"));
}

/// There is more to know than a message holds, of those who are there and of those who are gone.
#[test]
fn whatever_there_is_to_know_who_joins_is_told() {
    let base = Base::new();
    let long = |number| format!("/{}{number}/", "b".repeat(1000));
    let further: Vec<_> = (0..1000).map(long).collect();
    let first = Member::join_with(&base, None, "/a/", "first", &further).unwrap();
    let second = Member::join(&base, Some(first.port), "/c/", "second").unwrap();
    assert!(second.ask("/c/").ends_with("second"));
    drop(first);
    for path in ["/a/", &long(0), &long(999)] {
        assert!(second.ask(path).starts_with("HTTP/1.1 503"));
    }
    let third = Member::join(&base, Some(second.port), "/d/", "third").unwrap();
    drop(second);
    for path in ["/a/", &long(0), &long(999)] {
        assert!(third.ask(path).starts_with("HTTP/1.1 503"), "{path}");
    }
}

#[test]
fn others_schemes_are_refused() {
    let base = Base::new();
    let member = Member::join(&base, None, "/", "it").unwrap();
    let text = format!("https://127.0.0.1:{}/b/", member.port);
    let own = SharedPorts::default().id();
    let joined = join(&base.0, UrlPrefix::parse(&text).unwrap(), own);
    assert!(matches!(joined, Err(JoinError::OtherScheme(false))), "{joined:?}");
    assert!(member.ask("/").ends_with("it"));
}

/// What no member says; its length is right where `framed`.
fn nonsense() -> impl Strategy<Value = Vec<u8>> {
    let framed = proptest::collection::vec(any::<u8>(), 0..64).prop_map(|bytes| {
        let mut message = u32::try_from(bytes.len()).unwrap().to_le_bytes().to_vec();
        message.extend(bytes);
        message
    });
    prop_oneof![proptest::collection::vec(any::<u8>(), 0..64), framed]
}

#[test]
fn nonsense_of_who_joins_harms_nobody() {
    let base = Base::new();
    let member = Member::join(&base, None, "/a/", "it").unwrap();
    let places = base.rendezvous();
    let [place] = &places[..] else { panic!("{places:?}") };
    proptest!(ProptestConfig::with_cases(300), |(said in nonsense())| {
        let mut link = UnixStream::connect(place).unwrap();
        // It may have been left in the midst of that.
        link.write_all(&said).ok();
    });
    assert!(member.ask("/a/").ends_with("it"));
    // A length that no message has: it does not wait for so much.
    let mut link = UnixStream::connect(place).unwrap();
    link.set_read_timeout(Some(LIMIT)).unwrap();
    link.write_all(&[0xff; 8]).unwrap();
    assert_eq!(link.read(&mut [0; 8]).unwrap_or(0), 0);
    let other = Member::join(&base, Some(member.port), "/b/", "other").unwrap();
    assert!(other.ask("/b/").ends_with("other"));
}
