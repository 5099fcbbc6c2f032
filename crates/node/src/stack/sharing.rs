//! Ports that processes share: how they are joined, off the JavaScript thread.

use std::cell::RefCell;
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use millrace_share::joining::{JoinError, Joined, ReactorId, join};
use millrace_share::{SharedPorts, UrlPrefix};
use millrace_stack::router::RouterContext;
use napi::bindgen_prelude::AsyncTask;
use napi::{Env, Error, Result, Task};
use napi_derive::napi;

use crate::ffi::descriptor::GivenSocket;
use crate::ffi::shared_memory::Bytes;
use crate::stack::{duplicate, system_error, with};

thread_local! {
    /// What was joined and is not shared yet, by ticket.
    static JOINED: RefCell<HashMap<u32, Ticket>> = RefCell::new(HashMap::new());
}

struct Ticket {
    joined: Joined,
    /// What to listen with; `None`: nobody shares the address yet.
    listener: Option<OwnedFd>,
    /// A duplicate of it that the caller was given.
    given: Option<GivenSocket>,
}

/// Calls the shared ports of this thread's reactor, which has them from the first call on.
fn with_ports<R>(action: impl FnOnce(&mut SharedPorts, &mut RouterContext<'_>) -> R) -> Result<R> {
    let result = with(|reactor| {
        if !reactor.has_router() {
            reactor.set_router(Box::new(SharedPorts::default()));
        }
        reactor.with_router(action)
    })?;
    // There is no other router.
    result.ok_or_else(nothing_joined)
}

/// A URL prefix, taken apart.
#[napi(object)]
pub struct NativePrefix {
    /// What is wrong with it; the rest is missing then.
    pub error: Option<String>,
    /// As it is known to others.
    pub text: String,
    /// https.
    pub secure: bool,
    /// Where to listen; missing: everywhere.
    pub address: Option<String>,
    /// Port.
    pub port: u32,
}

/// Takes a URL prefix apart.
#[napi]
pub fn stack_prefix(text: String) -> NativePrefix {
    match UrlPrefix::parse(&text) {
        Ok(prefix) => NativePrefix {
            error: None,
            text: prefix.to_string(),
            secure: prefix.is_secure(),
            address: prefix.address().map(|address| address.to_string()),
            port: prefix.port().into(),
        },
        Err(error) => NativePrefix {
            error: Some(error.to_string()),
            text,
            secure: false,
            address: None,
            port: 0,
        },
    }
}

/// What came of joining.
#[napi(object)]
pub struct NativeJoined {
    /// For [`stack_joined_listener`], and for [`stack_share`] or [`stack_abandon`], one of which has to follow.
    pub ticket: u32,
    /// Others share the address: it is listened to with their socket.
    pub shared: bool,
    /// Why it failed: the system's name for that; the rest is missing then.
    pub code: Option<String>,
    /// The same in words.
    pub message: Option<String>,
}

/// Joins those who share an address.
pub struct Joining {
    base: PathBuf,
    prefix: UrlPrefix,
    own: ReactorId,
}

impl Task for Joining {
    type Output = std::result::Result<Joined, JoinError>;
    type JsValue = NativeJoined;

    fn compute(&mut self) -> Result<Self::Output> {
        Ok(join(&self.base, self.prefix.clone(), self.own))
    }

    fn resolve(&mut self, _: Env, joined: Self::Output) -> Result<Self::JsValue> {
        let mut joined = match joined {
            Ok(joined) => joined,
            Err(error) => {
                let (code, message) = (Some(error.code().into()), Some(error.to_string()));
                return Ok(NativeJoined { ticket: 0, shared: false, code, message });
            }
        };
        let listener = match joined.take_listener() {
            None => with_ports(|ports, _| ports.shared_listener(joined.prefix()))?
                .transpose()
                .map_err(system_error)?,
            listener => listener,
        };
        if joined.is_here() && listener.is_none() {
            // It has just ceased to.
            let (code, message) = (Some("EAGAIN".into()), Some("try again".into()));
            return Ok(NativeJoined { ticket: 0, shared: false, code, message });
        }
        let shared = listener.is_some();
        let ticket = JOINED.with_borrow_mut(|all| {
            let ticket = (1..).find(|ticket| !all.contains_key(ticket)).unwrap_or_default();
            all.insert(ticket, Ticket { joined, listener, given: None });
            ticket
        });
        Ok(NativeJoined { ticket, shared, code: None, message: None })
    }
}

/// Joins those who share the address of a prefix, who meet in this directory.
#[napi(ts_return_type = "Promise<NativeJoined>")]
pub fn stack_join(base: String, prefix: String) -> Result<AsyncTask<Joining>> {
    let prefix =
        UrlPrefix::parse(&prefix).map_err(|error| Error::from_reason(error.to_string()))?;
    let own = with_ports(|ports, _| ports.id())?;
    Ok(AsyncTask::new(Joining { base: base.into(), prefix, own }))
}

/// What to listen with at an address that others share: a descriptor for the caller, until [`stack_abandon`].
#[napi]
pub fn stack_joined_listener(ticket: u32) -> Result<i32> {
    JOINED.with_borrow_mut(|all| {
        let ticket = all.get_mut(&ticket).filter(|ticket| ticket.given.is_none());
        let (listener, given) = ticket
            .and_then(|ticket| ticket.listener.as_ref().zip(Some(&mut ticket.given)))
            .ok_or_else(nothing_joined)?;
        let duplicate = GivenSocket::duplicate_of(listener).map_err(system_error)?;
        Ok(given.insert(duplicate).number())
    })
}

/// Lets a server share an address that was joined: with this listening socket, whose descriptor is duplicated.
#[napi]
pub fn stack_share(server: u32, ticket: u32, fd: i32) -> Result<()> {
    let ticket = JOINED.with_borrow_mut(|all| all.remove(&ticket));
    let Ticket { joined, .. } = ticket.ok_or_else(nothing_joined)?;
    let listener = duplicate(fd)?;
    with_ports(|ports, context| ports.share(server as usize, joined, listener, context))?
        .map_err(system_error)
}

/// Leaves what was joined, if it is not shared. `unused`: nobody uses the descriptor that was given for it.
#[napi]
pub fn stack_abandon(ticket: u32, unused: bool) {
    let ticket = JOINED.with_borrow_mut(|all| all.remove(&ticket));
    if let Some(Ticket { listener: Some(listener), given: Some(given), .. }) = ticket
        && unused
    {
        given.take_back(&listener);
    }
}

fn nothing_joined() -> Error {
    Error::from_reason("nothing was joined")
}

/// Gives a server's prefix back.
#[napi]
pub fn stack_unshare(server: u32) -> Result<()> {
    with_ports(|ports, context| ports.unshare(server as usize, context))
}

/// Whether the text of a TLS connection goes to another process.
#[napi]
pub fn stack_is_relayed(connection: u32) -> Result<bool> {
    with(|reactor| reactor.is_relayed(connection as usize))
}

/// Whether a request belongs to a server that shares its port.
#[napi]
pub fn stack_owns(
    server: u32,
    #[napi(ts_arg_type = "Uint8Array")] target: Bytes,
    #[napi(ts_arg_type = "Uint8Array")] host: Bytes,
) -> Result<bool> {
    with_ports(|ports, context| ports.owns(server as usize, &target.0, &host.0, context.now()))
}
