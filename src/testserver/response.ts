import type { ServerResponse } from 'node:http';
import { Http2ServerResponse } from 'node:http2';

/** A response of either protocol. */
export type Response = ServerResponse | Http2ServerResponse;

/** Resets the stream with an error of HTTP/2 in place of a response; over HTTP/1.1 the connection ends. */
export function reset(response: Response, code: number): void {
  if (response instanceof Http2ServerResponse) response.stream.close(code);
  else response.destroy();
}

/** Closes the connection after the response; over HTTP/2 after those to all requests that have arrived. */
export function closeAfter(response: Response): void {
  if (response instanceof Http2ServerResponse) {
    const { session } = response.stream;
    response.once('close', () => session?.close());
  } else {
    response.shouldKeepAlive = false;
  }
}

/**
 * Ends the connection after the response. Over HTTP/2 a GOAWAY with this error comes before it, which names its request as
 * the last one: those that were sent after it are refused.
 */
export function endAfter(response: Response, code: number): void {
  if (response instanceof Http2ServerResponse) {
    response.stream.session?.goaway(code, response.stream.id);
  }
  closeAfter(response);
}
