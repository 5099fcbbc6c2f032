// The tests of Node.js, and the class of each.
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

/** The classes of tests. */
export const CLASSES = {
  A: 'server',
  B: 'client or agent, with a server',
  C: 'client or module, no server',
  D: 'message classes, no server',
  E: 'internals of Node.js',
  F: 'server on an injected duplex',
  G: 'server with child processes, workers',
  H: 'HTTP/2, requests and responses',
  I: 'HTTP/2, streams and sessions',
};

/** Parses the major version of a version such as `v20.1.0`. */
export function parseMajor(version) {
  return Number(version.match(/\d+/)[0]);
}

const PARTS = ['parallel', 'sequential'];
const TEST = /^test-.*\.m?js$/;
const NAME = /^test-https?[-.]/;
const HTTP2_NAME = /^test-http2-/;
/** Tests of clusters, domains, streams and others load the modules, too. */
const LOADS_HTTP = /\b(require\(|from\s)\s*['"](node:)?https?['"]/;

/** Finds the folder that contains `parallel` and `sequential`: `tree` or its `test`; undefined if neither does. */
export function findTestFolder(tree) {
  const found = [tree, join(tree, 'test')].find((folder) =>
    PARTS.every((part) => existsSync(join(folder, part))),
  );
  return found && realpathSync(found);
}

/**
 * Lists the tests of HTTP, HTTPS and HTTP/2, by name or because they load one of the first two modules:
 * `{ name: 'parallel/test-http-x.js', file, sequential, class, flags, env }`.
 */
export function listHttpTests(folder) {
  return PARTS.flatMap((part) =>
    readdirSync(join(folder, part))
      .filter((name) => TEST.test(name))
      .sort()
      .flatMap((name) => read(folder, part, name) ?? []),
  );
}

/** Reads a test; undefined if it is none of HTTP. */
function read(folder, part, name) {
  const file = join(folder, part, name);
  const source = readFileSync(file, 'utf8');
  const isHttp2 = HTTP2_NAME.test(name);
  if (!isHttp2 && !NAME.test(name) && !LOADS_HTTP.test(source)) return undefined;
  const own = readDirective('Env', source).map((word) => word.split('='));
  return {
    name: `${part}/${name}`,
    file,
    sequential: part === 'sequential',
    class: isHttp2 ? classifyHttp2(name, source) : classify(name, source),
    flags: readDirective('Flags', source),
    // The switch, without which the stack leaves HTTP/2 to Node.js.
    env: { ...(isHttp2 && { MILLRACE_HTTP2: 'on' }), ...Object.fromEntries(own) },
  };
}

/** Reads the words of a line such as `// Flags: --expose-internals`. */
function readDirective(title, source) {
  const line = source.match(new RegExp(`^// ${title}:\\s+(.*)$`, 'm'))?.[1] ?? '';
  return line.split(/\s+/).filter(Boolean);
}

const INTERNALS =
  /--expose[-_]internals|['"](node:)?_http_(agent|common)['"]|process\.binding|internalBinding/;
const HTTP_SERVER = /(?<!\b(net|tls)\.)\b(createServer|Server)(\.call)?\s*\(/;
const MESSAGE_CLASS = /\b(OutgoingMessage|ServerResponse|IncomingMessage)\b/;
const INJECTED_DUPLEX = /\.emit\(\s*['"]connection['"]|\bduplexpair\b/i;
const PROCESSES = /child_process|['"](node:)?cluster['"]|worker_threads|\bfork\(/;
const CLIENT_NAME = /^test-https?-(client|agent)/;

function classify(name, source) {
  if (INTERNALS.test(source)) return 'E';
  if (!HTTP_SERVER.test(source)) return MESSAGE_CLASS.test(source) ? 'D' : 'C';
  if (INJECTED_DUPLEX.test(source)) return 'F';
  if (PROCESSES.test(source)) return 'G';
  return CLIENT_NAME.test(name) ? 'B' : 'A';
}

const REQUEST_LISTENER =
  /\bHttp2Server(Request|Response)\b|['"]request['"]|Server\(.*\b(req|request|_)\b/;

function classifyHttp2(name, source) {
  return name.includes('-compat-') || REQUEST_LISTENER.test(source) ? 'H' : 'I';
}
