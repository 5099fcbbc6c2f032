import { nodeHttp } from '../node/node-http.js';

/** A status, and the end of the connection. */
export function errorResponse(status: number): string {
  return `HTTP/1.1 ${status} ${nodeHttp.STATUS_CODES[status]}\r\nConnection: close\r\n\r\n`;
}

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
