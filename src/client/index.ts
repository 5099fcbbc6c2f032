/**
 * An HTTP client: undici with time limits, bounded pools and a retry budget.
 *
 * @module millrace/client
 */
import { Client } from './client.js';
import { type ClientOptions, resolveOptions } from './options.js';

/** Creates a client, for one origin or for any. */
export function createClient(options: ClientOptions = {}): Client {
  return new Client(resolveOptions(options));
}

export type { RequestHeaders } from '../validation/headers.js';
export type { RequestBody } from './body.js';
export type { Client, ClientStats } from './client.js';
export type { ClientOptions, ClientTimeouts, RequestOptions, RetryOptions } from './options.js';
export type { ClientResponse } from './response.js';
