/** Methods by the number that the parser gives (`crates/http/src/received.rs`). */
export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'];
