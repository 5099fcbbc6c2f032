//! How a process joins those that share an address: it finds their rendezvous sockets in a directory, and gets the listening socket
//! from any of them.
//!
//! Blocks, for as long as those processes take to answer, which has a bound of seconds; meant for a thread that may wait.

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use millrace_net::{Clock as _, Monotonic, Nanos};
use rustix::process::Pid;

use crate::directory::{Directory, RendezvousSocket};
use crate::limits::{MAX_LINKS, MAX_PREFIXES};
use crate::link::Link;
use crate::message::{Message, VERSION};
use crate::orphans::{MAX_ORPHANS, OrphanedPrefix};
use crate::prefix::UrlPrefix;
use crate::trust::{is_listener_at, is_trusted, own_user, peer_of};

/// How long those who share the address may take to answer, in all; and where none of them has.
const USUAL: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(5);
/// The least time for somebody whose answer may have come already.
const LOOK: Duration = Duration::from_millis(1);

/// Tells a reactor from all others of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReactorId(pub(crate) u64);

/// What a process has that has joined, until it shares: others wait for that.
#[derive(Debug)]
pub struct Joined {
    pub(crate) prefix: UrlPrefix,
    pub(crate) rendezvous: Option<RendezvousSocket>,
    pub(crate) others: Vec<Other>,
    listener: Option<OwnedFd>,
    here: bool,
    _lock: File,
}

/// A process that shares the address already.
#[derive(Debug)]
pub(crate) struct Other {
    pub(crate) link: Link<UnixStream>,
    pub(crate) user: u32,
    pub(crate) process: Option<Pid>,
    pub(crate) prefixes: HashSet<UrlPrefix>,
    /// Prefixes that nobody has any more, as it says, and for how long they are remembered.
    pub(crate) orphans: Vec<(OrphanedPrefix, Duration)>,
    /// It has answered.
    pub(crate) welcomed: bool,
}

/// Why a process cannot join.
#[derive(Debug)]
pub enum JoinError {
    /// The system refuses: what, and why.
    System(&'static str, PathBuf, io::Error),
    /// The prefix is another user's.
    Taken(UrlPrefix, u32),
    /// Those who share the address have (`true`) or have no TLS.
    OtherScheme(bool),
    /// They speak another version of the protocol.
    OtherVersion,
    /// Somebody else joins them at this moment.
    Busy,
    /// None of them has answered.
    Silent,
    /// None of them has given a socket that can be listened with.
    NoSocket,
}

impl JoinError {
    /// The system's name for such an error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::System(_, _, error) => match error.kind() {
                io::ErrorKind::PermissionDenied => "EACCES",
                io::ErrorKind::NotFound => "ENOENT",
                _ => "EIO",
            },
            Self::Taken(..) => "EACCES",
            Self::OtherScheme(_) | Self::OtherVersion | Self::NoSocket => "EADDRINUSE",
            Self::Busy => "EBUSY",
            Self::Silent => "ETIMEDOUT",
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(what, path, error) => write!(f, "{what} {}: {error}", path.display()),
            Self::Taken(prefix, user) => write!(f, "{prefix} belongs to user {user}"),
            Self::OtherScheme(true) => f.write_str("those who share the port use https"),
            Self::OtherScheme(false) => f.write_str("those who share the port use http"),
            Self::OtherVersion => {
                f.write_str("those who share the port use another version of millrace")
            }
            Self::Busy => f.write_str("another process is joining those who share the port"),
            Self::Silent => f.write_str("those who share the port do not answer"),
            Self::NoSocket => {
                f.write_str("those who share the port give no socket that listens to it here")
            }
        }
    }
}

impl std::error::Error for JoinError {}

impl Joined {
    /// The socket that those who share the address listen with; `None`: there is nobody, or this reactor only.
    pub fn take_listener(&mut self) -> Option<OwnedFd> {
        self.listener.take()
    }

    /// This reactor shares the address already.
    #[must_use]
    pub fn is_here(&self) -> bool {
        self.here
    }

    /// What was asked for.
    #[must_use]
    pub fn prefix(&self) -> &UrlPrefix {
        &self.prefix
    }
}

/// Joins those who share the address of a prefix. `base` is where all such addresses have their directories: whoever may
/// write there may join. `own` is the reactor that is to share. [`JoinError::Busy`]: to be tried again.
pub fn join(base: &Path, prefix: UrlPrefix, own: ReactorId) -> Result<Joined, JoinError> {
    let mode = fs::metadata(base)
        .map_err(|error| JoinError::System("cannot use", base.into(), error))?
        .permissions()
        .mode();
    // What the group may do to the directory, it may do to what is in it.
    let is_shared = mode & 0o020 != 0;
    let path = base.join(name_of(&prefix));
    let system = |what| {
        let path = path.clone();
        move |error| JoinError::System(what, path, error)
    };
    let directory = Directory::open(&path, is_shared).map_err(system("cannot use"))?;
    let lock = directory.lock().map_err(system("cannot lock"))?.ok_or(JoinError::Busy)?;
    let own_name = format!("{}.{:016x}", std::process::id(), own.0);
    let names = directory.rendezvous().map_err(system("cannot read"))?;
    let here = names.contains(&own_name);
    let mut joined =
        Joined { prefix, rendezvous: None, others: Vec::new(), listener: None, here, _lock: lock };
    if here {
        return Ok(joined);
    }
    for name in names {
        match connect(&directory.path(&name)) {
            Ok(socket) => joined.greet(socket).map_err(system("cannot join in"))?,
            // Its queue is full of those who have come, and it does not look.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(JoinError::Silent);
            }
            // Whoever made it is gone.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                directory.remove(&name);
            }
            Err(error) => return Err(JoinError::System("cannot join in", path, error)),
        }
    }
    joined.read_messages()?;
    let rendezvous = directory.open_rendezvous(own_name).map_err(system("cannot listen in"))?;
    joined.rendezvous = Some(rendezvous);
    Ok(joined)
}

/// Does not wait for room in the queue.
fn connect(path: &Path) -> io::Result<UnixStream> {
    let socket = UnixStream::from(mio::net::UnixStream::connect(path)?);
    socket.set_nonblocking(false)?;
    Ok(socket)
}

fn name_of(prefix: &UrlPrefix) -> String {
    match prefix.address() {
        Some(address) => format!("{address}-{}", prefix.port()),
        None => format!("any-{}", prefix.port()),
    }
}

impl Joined {
    fn greet(&mut self, socket: UnixStream) -> io::Result<()> {
        let (user, process) = peer_of(&socket)?;
        let known = self.others.iter().filter(|other| other.user == user).count();
        if known >= MAX_LINKS && !is_trusted(user) {
            return Ok(());
        }
        let mut link = Link::new(socket);
        let hello = Message::Hello { version: VERSION, secure: self.prefix.is_secure() };
        // One that ends in this moment has nothing to say.
        if link.send(&hello, None).is_ok() {
            let (prefixes, orphans) = (HashSet::new(), Vec::new());
            let welcomed = false;
            self.others.push(Other { link, user, process, prefixes, orphans, welcomed });
        }
        Ok(())
    }

    /// Waits for what the others say.
    fn read_messages(&mut self) -> Result<(), JoinError> {
        let clock = Monotonic::new();
        for patience in [USUAL, PATIENCE] {
            let until = clock.now() + patience;
            let mut heard = Vec::new();
            for mut other in std::mem::take(&mut self.others) {
                if other.welcomed
                    || other.read_messages((&clock, until), &mut self.listener, &self.prefix)?
                {
                    heard.push(other);
                }
            }
            self.others = heard;
            // Those who are busy are heard of later.
            if self.listener.is_some() || self.others.is_empty() {
                break;
            }
        }
        if self.listener.is_none() && !self.others.is_empty() {
            let is_answered = self.others.iter().any(|other| other.welcomed);
            return Err(if is_answered { JoinError::NoSocket } else { JoinError::Silent });
        }
        match self.barring() {
            Some(user) => Err(JoinError::Taken(self.prefix.clone(), user)),
            None => Ok(()),
        }
    }

    /// The user who has the prefix, or had it last, if that is somebody else.
    fn barring(&self) -> Option<u32> {
        let own = own_user();
        let orphans = self.others.iter().flat_map(|other| &other.orphans);
        let orphans = orphans.map(|(it, _)| it).filter(|it| it.prefix == self.prefix);
        let holders = self.others.iter().filter(|other| other.prefixes.contains(&self.prefix));
        // Who is trusted is right, whatever others say.
        if let Some(orphan) = orphans.clone().find(|orphan| orphan.confirmed) {
            return Some(orphan.user).filter(|&user| user != own);
        }
        let mut holders = holders.map(|other| other.user).filter(|&user| user != own);
        holders.next().or_else(|| orphans.map(|it| it.user).find(|&user| user != own))
    }
}

impl Other {
    /// Waits for a welcome, and what comes before; `false`: it is gone.
    fn read_messages(
        &mut self,
        (clock, until): (&Monotonic, Nanos),
        listener: &mut Option<OwnedFd>,
        prefix: &UrlPrefix,
    ) -> Result<bool, JoinError> {
        let mut is_late = false;
        loop {
            match self.next(prefix)? {
                Next::Noted => continue,
                Next::Welcome(socket) => {
                    *listener = listener.take().or(socket);
                    self.welcomed = true;
                    return Ok(true);
                }
                Next::Nothing => {}
            }
            let time = until.since(clock.now());
            // One that says a little now and then is not waited for either.
            if time.is_zero() && std::mem::replace(&mut is_late, true) {
                return Ok(true);
            }
            self.link.socket.set_read_timeout(Some(time.max(LOOK))).ok();
            match self.link.receive() {
                Ok(1..) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => return Ok(false),
            }
        }
    }

    /// Takes the next thing that it has said.
    fn next(&mut self, prefix: &UrlPrefix) -> Result<Next, JoinError> {
        let Self { link, prefixes, orphans, user, .. } = self;
        let read = |text: &str| UrlPrefix::parse(text).ok();
        let message = link.next(|message, socket| match message {
            Message::Welcome { version: VERSION, secure } => Some(Some((*secure, socket))),
            Message::Added { prefix: text } => {
                prefixes.extend(read(text).filter(|_| prefixes.len() < MAX_PREFIXES));
                Some(None)
            }
            Message::Removed { prefix: text } => {
                if let Some(prefix) = read(text) {
                    prefixes.remove(&prefix);
                }
                Some(None)
            }
            Message::Orphaned(orphan) => {
                let is_believed = orphans.len() < MAX_ORPHANS || is_trusted(*user);
                orphans.extend(OrphanedPrefix::told_by(orphan, *user).filter(|_| is_believed));
                Some(None)
            }
            // Nothing else comes first.
            _ => None,
        });
        match message {
            Ok(None) => Ok(Next::Nothing),
            Ok(Some(Some(None))) => Ok(Next::Noted),
            Ok(Some(Some(Some((theirs, _))))) if theirs != prefix.is_secure() => {
                Err(JoinError::OtherScheme(theirs))
            }
            Ok(Some(Some(Some((_, socket))))) => {
                Ok(Next::Welcome(socket.filter(|socket| self.may_give(socket, prefix))))
            }
            Ok(Some(None)) | Err(_) => Err(JoinError::OtherVersion),
        }
    }

    /// Whether a socket that it gives can be what those listen with who share the address.
    fn may_give(&self, socket: &OwnedFd, prefix: &UrlPrefix) -> bool {
        let place = (prefix.address(), prefix.port());
        is_trusted(self.user) || is_listener_at(socket, place, &self.link.socket)
    }
}

/// What an answer brings.
enum Next {
    Nothing,
    Noted,
    /// It is complete; with the listening socket, if that has come and can be used.
    Welcome(Option<OwnedFd>),
}
