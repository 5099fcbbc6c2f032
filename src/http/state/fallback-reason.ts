/** The reasons for which Node's own code serves a connection; docs/reference/stack.md says when each applies. */
export type FallbackReason =
  | 'upgrade'
  | 'unsupported-request'
  | 'connection-listener'
  | 'raw-data-listener'
  | 'out-of-descriptors'
  // `http2.createServer` and `createSecureServer`: decided before the first byte is sent.
  | 'http2-no-request-listener'
  | `http2-event:${string}`
  | `http2-option:${string}`
  | `http2-member:${string}`
  // HTTPS: decided before the first byte is sent.
  | `tls-option:${string}`
  | `tls-event:${string}`
  | 'tls-parameters'
  | 'tls-client-hello'
  | 'tls-key'
  | 'tls-no-certificate'
  | 'tls-default-authorities'
  | 'tls-unknown-context';
