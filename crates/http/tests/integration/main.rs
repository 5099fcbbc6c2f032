//! The tests of the public interface, as one program that is linked once.

mod beside_httparse;
mod hpack;
mod http2;
mod known_head;
mod markdown;
mod properties;
mod received;
mod received_properties;
mod received_speed;
mod received_stream;
mod request;
mod stream;
mod vectors;
