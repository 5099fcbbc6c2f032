/** What is unusual in a request, so that it leaves the fast path; of several reasons the first. */
export type UnusualReason =
  /** An upgrade, as for a WebSocket; also one that the server declines. `curl` asks for one with `--http2`, not with `--http1.1`. */
  | 'upgrade'
  /** Bytes behind a request that closes the connection. The client should send `Connection: close` with its last request. */
  | 'after-close'
  /** CONNECT: the client takes the server for a proxy. */
  | 'connect'
  /** A method that not every version of Node.js knows, such as QUERY, or one in lower case. Or another protocol, such as TLS or HTTP/2: check scheme and port of the URL. */
  | 'method'
  /** A target that is not a path, such as an absolute URL. The client should not use the server as its proxy. */
  | 'target-form'
  /** A control character or a byte above ASCII in the target. The client should percent-encode it. */
  | 'target-byte'
  /** Something else than `HTTP/1.1` or `HTTP/1.0` behind the target, often since a space in the target is not percent-encoded. */
  | 'version'
  /** A line that ends with LF instead of CRLF. Node.js refuses or accepts it, depending on version and place. */
  | 'bare-lf'
  /** A CR that no LF follows. */
  | 'bare-cr'
  /** A line that begins with white space, as if it continued the one before (obsolete line folding). The client should write each field in one line. */
  | 'line-folding'
  /** A field without a name or a colon, with white space before the colon, or with another byte that names cannot have. */
  | 'field-name'
  /** A control character in a field's value, a tab in `Connection`, or an empty `Upgrade`. */
  | 'field-value'
  /** More than 1000 fields in a head or in trailers, or than `maxHeadersCount` if that is lower. */
  | 'field-count'
  /** A head of `maxHeaderSize` bytes or more, its request line included, or of 64 KiB. Often cookies: store less in them. A greater `maxHeaderSize` helps up to 64 KiB. */
  | 'head-size'
  /** A `Content-Length` that is not a number of at most 15 digits. */
  | 'content-length'
  /** A transfer coding other than `chunked`, or any in HTTP/1.0. Compressed bodies should have a `Content-Encoding` instead. */
  | 'transfer-encoding'
  /** More than one field that says where the body ends: `Content-Length`, `Transfer-Encoding`. It may be an attack (request smuggling): find out who sends it. */
  | 'multiple-framing'
  /** More than one `Host`. It may be an attack: find out who sends it. */
  | 'multiple-host'
  /** `Proxy-Connection`, which clients send to proxies. A proxy in front of the server should remove it. */
  | 'proxy-connection'
  /** A chunk's size that is not a hexadecimal number of at most 16 digits, or that has white space behind it. */
  | 'chunk-size'
  /** Chunk extensions other than one `;name` or `;name=value` in each chunk, or of more than 512 bytes in a body. */
  | 'chunk-extension'
  /** A chunk whose data does not have its size. */
  | 'chunk-end'
  /** A field in trailers that belongs into the head, such as `Content-Length` or `Connection`. */
  | 'trailer-field'
  /** Trailers of `maxHeaderSize` bytes or more, or of 16 KiB. */
  | 'trailer-size';
