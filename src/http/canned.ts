import http from 'node:http';

/** What Node sends where nobody takes an error: its status, and the end of the connection. */
export function cannedAnswer(error: Error & { code?: string }): string {
  return lastAnswer(CANNED.get(error.code ?? '') ?? 400);
}

/** A status, and the end of the connection. */
export function lastAnswer(status: number): string {
  return `HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\nConnection: close\r\n\r\n`;
}

const CANNED = new Map([
  ['HPE_HEADER_OVERFLOW', 431],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', 413],
  ['ERR_HTTP_REQUEST_TIMEOUT', 408],
]);

/** A request takes too long to arrive. */
export function requestTimeoutError(): Error {
  return Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
}

/** A client has ended in the midst of a request. */
export function eofError(): Error {
  return Object.assign(new Error('Parse Error: Invalid EOF state'), {
    code: 'HPE_INVALID_EOF_STATE',
    reason: 'Invalid EOF state',
    bytesParsed: 0,
  });
}
