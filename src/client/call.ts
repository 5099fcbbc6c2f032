import { type Body, bodyOf } from './body.js';
import { fieldsOf } from './headers.js';
import { type Limits, limitsOfCall, type RequestOptions, type Settings } from './options.js';

/** What is sent by each try of a call, and how long it may take. */
export interface Call {
  readonly url: URL;
  readonly method: string;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: Body;
  readonly limits: Limits;
}

/** Those that `fetch` takes in any case, and PATCH. */
const ANY_CASE = /^(?:delete|get|head|options|patch|post|put)$/i;

export function callOf(url: URL, options: RequestOptions, settings: Settings): Call {
  const { method = 'GET', headers = {} } = options;
  const body = bodyOf(options.body);
  return {
    url,
    method: ANY_CASE.test(method) ? method.toUpperCase() : method,
    headers: fieldsOf(headers, body),
    body,
    limits: limitsOfCall(options, settings),
  };
}
