import { type EncodedBody, encodeBody } from './body.js';
import { buildHeaders } from './headers.js';
import {
  type ClientSettings,
  type RequestOptions,
  type ResolvedTimeouts,
  resolveCallTimeouts,
} from './options.js';

/** The request of a call, sent by each of its tries, and its time limits. */
export interface PreparedRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: EncodedBody;
  readonly timeouts: ResolvedTimeouts;
}

/** Methods accepted in any case: those that `fetch` normalizes, and PATCH. */
const ANY_CASE = /^(?:delete|get|head|options|patch|post|put)$/i;

export function prepareRequest(
  url: URL,
  options: RequestOptions,
  settings: ClientSettings,
): PreparedRequest {
  const { method = 'GET', headers = {} } = options;
  const body = encodeBody(options.body);
  return {
    url,
    method: ANY_CASE.test(method) ? method.toUpperCase() : method,
    headers: buildHeaders(headers, body),
    body,
    timeouts: resolveCallTimeouts(options, settings),
  };
}
