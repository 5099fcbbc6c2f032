//! Kinds of errors and their public names.

use std::io;

use millrace_load::ErrorKind;

#[test]
fn the_names_are_those_of_the_result() {
    let names = ErrorKind::ALL.map(ErrorKind::name);
    let public = "connect-refused connect-timeout dns tls reset closed-early timeout protocol \
                  stream-reset refused-stream flow-control fd-limit other";
    assert_eq!(names.join(" "), public);
    for (index, kind) in ErrorKind::ALL.into_iter().enumerate() {
        assert_eq!(kind as usize, index);
        assert_eq!(kind.to_string(), kind.name());
    }
}

#[test]
fn errors_of_the_system_have_their_kind() {
    for (error, kind) in [
        (io::ErrorKind::ConnectionRefused, ErrorKind::ConnectRefused),
        (io::ErrorKind::NotFound, ErrorKind::ConnectRefused),
        (io::ErrorKind::TimedOut, ErrorKind::ConnectTimeout),
        (io::ErrorKind::ConnectionReset, ErrorKind::Reset),
        (io::ErrorKind::ConnectionAborted, ErrorKind::Reset),
        (io::ErrorKind::BrokenPipe, ErrorKind::Reset),
        (io::ErrorKind::UnexpectedEof, ErrorKind::ClosedEarly),
        (io::ErrorKind::PermissionDenied, ErrorKind::Other),
        (io::ErrorKind::InvalidData, ErrorKind::Other),
    ] {
        assert_eq!(ErrorKind::of(&error.into()), kind, "{error:?}");
    }
    for code in [23, 24] {
        assert_eq!(ErrorKind::of(&io::Error::from_raw_os_error(code)), ErrorKind::FdLimit);
    }
}
