// Flags for the requests, and for the responses that count as ok.
import { existsSync } from 'node:fs';
import { usageError } from '../../../errors/millrace-error.js';
import { DEFAULTS, LIMITS } from '../../../load/defaults.js';
import { splitExpect } from '../../../load/requests/expect.js';
import { readHeaderFile, splitHeader } from '../../../load/requests/header.js';
import { parseBytes, parsePositiveShare } from '../../../validation/units.js';
import type { Flag } from '../flag.js';
import { storeIn } from '../kinds.js';
import { setBody } from './body.js';
import { addHeaders } from './headers.js';
import type { Invocation } from './invocation.js';
import { reinterpret } from './reinterpret.js';
import { addUrl } from './target.js';

const { count, parsed, text, toggle } = storeIn(({ options }: Invocation) => options);

/** Reads a method. No method is a number: in h2load -m is the number of streams. */
function readMethod(value: string, flag: string): string {
  if (/^\s*\{/.test(value)) {
    throw usageError(
      `${flag} must be a method such as POST (got ${value}); metadata of gRPC, as ghz's -m, are header fields: -H 'name: value'`,
    );
  }
  if (!/^\d+$/.test(value)) return value;
  throw usageError(
    `${flag} must be a method such as POST (got ${value}); requests in flight on each connection, as h2load's -m ${value} streams, are -p ${value}`,
  );
}

export const REQUEST_FLAGS: readonly Flag<Invocation>[] = [
  parsed('method', 'method', readMethod, {
    short: 'm',
    aliases: ['X', 'request'],
    value: 'METHOD',
    common: true,
    fallback: DEFAULTS.method.join(', with a body '),
    help: 'request method',
  }),
  {
    name: 'header',
    short: 'H',
    aliases: ['headers'],
    value: "'NAME: VALUE'|@FILE",
    repeatable: true,
    common: true,
    help: 'a header, or a file of them; repeatable',
    details:
      "Replaces millrace's own Host, User-Agent and Accept. Connection: close means --connection close; Content-Length is set from the body. Values may contain placeholders.",
    set({ options }, value, flag) {
      const isFile = value.startsWith('@');
      addHeaders(options, isFile ? readHeaderFile(value.slice(1)) : [splitHeader(value, flag)]);
    },
  },
  reinterpret(
    {
      name: 'body',
      short: 'b',
      value: 'TEXT|@FILE',
      common: true,
      help: 'request body, or @ and the file that contains it',
      details:
        'Text may contain placeholders. Content of a file that is not UTF-8 is sent unchanged. No Content-Type is sent unless -H gives one. @- is standard input. -body with one dash and the name of a file is taken as --body @FILE, as in vegeta, and the report says so.',
      set({ options }, value) {
        setBody(options, value);
      },
    },
    ({ options }, value, flag) => {
      if (flag !== '-body' || !existsSync(value)) return null;
      options.bodyFile = value;
      return `-body ${value} is taken as --body @${value}; a text is --body TEXT`;
    },
  ),
  text('name', 'name', {
    value: 'NAME',
    fallback: 'method and path, with :id for what varies',
    help: 'name of the request in the report and in conditions',
    details:
      "For a single request. Targets have names of their own: a line '# @name: NAME' before the request, or the field name. Requests with the same name have their figures together; up to 200 names are told apart.",
  }),
  text('input', 'bodyFile', {
    short: 'i',
    value: 'FILE',
    help: 'file that contains the request body',
    details: 'The same as --body @FILE. - is standard input.',
  }),
  {
    name: 'url',
    value: 'URL',
    repeatable: true,
    help: 'a URL; the same as one without the flag',
    details:
      'http://, https:// or unix:/path/to.sock:/target; the scheme may be omitted, and the host before a port. Several URLs are requested in turn. With -- COMMAND a URL may begin with /. Beside --targets it is one, without a path: the server of those targets that begin with /.',
    set(invocation, value) {
      addUrl(invocation, value);
    },
  },
  text('targets', 'targetsFile', {
    value: 'FILE',
    common: true,
    help: "requests in vegeta's text or JSON form",
    details:
      'Text: a line METHOD URL, its headers a line each, a line @FILE for the body, an empty line between targets; # begins a comment. JSON: one object per line with method, url, header ({"Name": ["value"]}), body (base64), and weight. UTF-8 or UTF-16. Targets are requested in turn, or by weight. - is standard input.',
  }),
  text('scenario', 'scenario', {
    value: 'FILE',
    help: 'what users do, step by step: a module of scenarios',
    details:
      'The same as millrace run FILE, for the other commands too. The file imports from millrace/scenario and exports scenarios; setup() and teardown() run before and after. Rates, -n and --stage are then those of iterations.',
  }),
  parsed('max-body', 'maxBody', (value, flag) => parseBytes(value, flag), {
    value: 'BYTES',
    fallback: '1mib',
    help: 'bytes of a body that checks and saves of scenarios see',
    details:
      'A longer body fails a step that looks at it. Bodies that no step looks at are not kept.',
  }),
  count('follow', 'follow', LIMITS.follow, {
    aliases: ['max-redirects', 'max-redirs', 'redirects', 'redirect'],
    fallback: String(DEFAULTS.follow),
    help: 'follow up to N redirections of a request',
    details:
      'Statuses 301, 302, 303, 307 and 308 that lead to the same server. A request with its redirections is one request: its status is that of the last response, its latency the time to that. 303 continues with GET, and so do 301 and 302 after POST. Cookies that a redirection sets are not kept. One that leads to another server, ends its connection or is one too many counts as it is. Not with --pipelining or --connection close.',
  }),
  toggle('no-placeholders', 'placeholders', false, {
    help: 'send {{...}} unchanged',
    details:
      'Without the flag these are replaced in URL, headers and body for each request: {{seq}}, a number that counts the requests from 0; {{random:1-100}}; {{uuid}}; {{csv:FILE:COLUMN}}, a value of the row whose turn it is, from a file whose first line names the columns.',
  }),
  parsed('traceparent', 'traceparent', (value, flag) => parsePositiveShare(value, flag), {
    value: 'SHARE',
    help: 'give a share of the requests a trace context: 1, 0.01',
    details:
      'The header traceparent of W3C, sampled. The report names the ten slowest of these requests by trace id. Each has a trace of its own; the requests of an iteration of a scenario share one, and the share is one of iterations. The same --seed gives the same ids.',
  }),
  text('grpc', 'grpc', {
    aliases: ['call'],
    value: 'METHOD',
    help: 'call package.Service/Method of gRPC',
    details:
      'Each request is a call, unary or with a stream of responses, over HTTP/2, without a further flag. -b @FILE is its message, bytes of protobuf; -b JSON needs --proto; without -b it is empty. -H is metadata, and the URL is the server, without a path. The status is that of the call: OK counts as ok, --expect OK,NOT_FOUND allows others.',
  }),
  text('proto', 'proto', {
    value: 'FILE',
    help: 'describes the messages of --grpc: -b is JSON',
    details:
      'Imports are looked for in the folder of the file that imports, and in those above. Needs the package protobufjs: npm install protobufjs.',
  }),
  parsed('expect', 'expect', splitExpect, {
    value: 'STATUSES',
    fallback: 'all below 400; with --grpc OK',
    help: 'statuses that count as ok: 2xx, or 200,201,3xx,404',
    details:
      'Statuses, classes and ranges (200-204), separated by commas; with --grpc names or numbers of its statuses (OK,NOT_FOUND). A response with another status is a status error: it counts in errors of --fail-on, and the report shows the first response of each such status.',
  }),
];
