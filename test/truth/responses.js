/** A response with a Content-Length; `headers` are lines without their ends. */
export function response(body = 'ok', { status = 200, headers = [] } = {}) {
  return raw(`HTTP/1.1 ${status} Word`, ...headers, `Content-Length: ${body.length}`, '', body);
}

/** Lines joined as they go over the wire; the last one is what follows the head. */
export function raw(...lines) {
  return Buffer.from(lines.join('\r\n'), 'latin1');
}

const LARGE = 'x'.repeat(200_000);

/**
 * Every way in which a response may be framed. `closes`: the connection ends with it; `by`: the server ends it, or
 * says so and leaves it to the client. `method` is the request's, `status` what the client must count.
 */
export const FRAMINGS = {
  'Content-Length': { bytes: response('hello') },
  'Content-Length: 0': { bytes: response('') },
  'the same Content-Length twice': {
    bytes: raw('HTTP/1.1 200 OK', 'Content-Length: 5', 'content-length: 5', '', 'hello'),
  },
  chunked: {
    bytes: raw('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', '', '5', 'hello', '0', '', ''),
  },
  'chunked with extensions and trailers': {
    bytes: raw(
      'HTTP/1.1 200 OK',
      'transfer-encoding:chunked',
      '',
      '3;name=value;other="a;b"',
      'abc',
      '0000A ; spaced',
      '0\r\n\r\n0\r\n\r\n',
      '0;last',
      'Trailer-One: 1',
      'Trailer-Two: HTTP/1.1 200 OK',
      '',
      '',
    ),
  },
  'chunked without content': {
    bytes: raw('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', '', '0', '', ''),
  },
  'until the connection closes': {
    bytes: raw('HTTP/1.1 200 OK', 'Content-Type: text/plain', '', 'HTTP/1.1 200 OK\r\n\r\n'),
    closes: true,
    by: 'end',
  },
  'Content-Length with Connection: close': {
    bytes: response('bye', { headers: ['Connection: close'] }),
    closes: true,
    by: 'end',
  },
  'Connection: close, and the client closes': {
    bytes: response('bye', { headers: ['connection: Close'] }),
    closes: true,
  },
  'HTTP/1.0': {
    bytes: raw('HTTP/1.0 200 OK', 'Content-Length: 3', '', 'old'),
    closes: true,
    by: 'end',
  },
  'HTTP/1.0 with keep-alive': {
    bytes: raw('HTTP/1.0 200 OK', 'Connection: keep-alive', 'Content-Length: 3', '', 'old'),
  },
  '100 before': { bytes: Buffer.concat([raw('HTTP/1.1 100 Continue', '', ''), response()]) },
  '102 and 103 before': {
    bytes: Buffer.concat([
      raw('HTTP/1.1 102 Processing', '', ''),
      raw('HTTP/1.1 103 Early Hints', 'Link: </a.css>; rel=preload', 'Content-Length: 9', '', ''),
      response(),
    ]),
  },
  '204 without anything': { bytes: raw('HTTP/1.1 204 No Content', '', ''), status: 204 },
  '204 with a Content-Length': {
    bytes: raw('HTTP/1.1 204 No Content', 'Content-Length: 5', '', ''),
    status: 204,
  },
  '304 with the length of what is not sent': {
    bytes: raw('HTTP/1.1 304 Not Modified', 'Content-Length: 12345', 'ETag: "x"', '', ''),
    status: 304,
  },
  'HEAD with a Content-Length': {
    bytes: raw('HTTP/1.1 200 OK', 'Content-Length: 12345', '', ''),
    method: 'HEAD',
  },
  'HEAD with chunked': {
    bytes: raw('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', '', ''),
    method: 'HEAD',
  },
  'HEAD without either': { bytes: raw('HTTP/1.1 200 OK', '', ''), method: 'HEAD' },
  'no reason': { bytes: raw('HTTP/1.1 200 ', 'Content-Length: 2', '', 'ok') },
  'lines that end in LF': {
    bytes: Buffer.from('HTTP/1.1 200 OK\nContent-Length: 2\nX: y\n\nok', 'latin1'),
  },
  'an error with a body': { bytes: response('not here', { status: 404 }), status: 404 },
};

/** Too long to be split at each byte; they do not fit into one read either. */
export const LARGE_FRAMINGS = {
  'a large body': { bytes: response(LARGE) },
  'a large head': {
    bytes: response('ok', {
      headers: Array.from({ length: 300 }, (_, n) => `X-${n}: ${'y'.repeat(90)}`),
    }),
  },
  'many chunks': {
    bytes: raw(
      'HTTP/1.1 200 OK',
      'Transfer-Encoding: chunked',
      '',
      ...Array.from({ length: 4000 }, (_, n) => `7;n=${n}\r\n1234567`),
      '0',
      '',
      '',
    ),
  },
};
