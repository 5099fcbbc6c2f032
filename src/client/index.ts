/**
 * A client with limits: undici with time limits, bounded pools and a budget for retries.
 *
 * @module millrace/client
 */
import { Client } from './client.js';
import { type ClientOptions, settingsOf } from './options.js';

/** A client, for one origin or for all. */
export function createClient(options: ClientOptions = {}): Client {
  return new Client(settingsOf(options));
}

export type { GivenBody } from './body.js';
export type { Client, ClientStats } from './client.js';
export type { GivenHeaders } from './headers.js';
export type { ClientLimits, ClientOptions, RequestOptions, RetryOptions } from './options.js';
export type { ClientResponse } from './response.js';
