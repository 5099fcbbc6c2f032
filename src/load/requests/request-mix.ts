import { usageError } from '../../errors/millrace-error.js';
import { maskUrl } from '../../masking/text.js';
import type { NativeHeader, NativeOrigin, NativeRequest } from '../../native/addon.js';
import { DEFAULTS } from '../defaults.js';
import { checkCallFields } from '../grpc/message.js';
import type { LoadOptions } from '../options.js';
import type { PlanSummary } from '../result.js';
import { readSharedBody, toBytes } from './body.js';
import { ConnectionOverrides } from './connect-to.js';
import { completeHeaders, frameHeaders, readHeaders } from './header.js';
import { deriveRequestName, RequestNames, readRequestName } from './request-names.js';
import { type LocatedTarget, readTargetsFile } from './targets-file.js';
import { formatUrl, type Location, listUrls, parseUrl } from './url.js';

/** The complete requests of a run and their servers. */
export interface RequestMix {
  origins: NativeOrigin[];
  requests: NativeRequest[];
  /** Names of the requests, in the order of their numbers. */
  names: string[];
  weighted: boolean;
  /** Whether the requests' headers ask for `Connection: close`. */
  close: boolean;
  /** Whether some requests go to the command's server by a URL without a host. */
  toCommand: boolean;
  /** Whether requests are calls of gRPC. */
  callsGrpc: boolean;
  summary: PlanSummary['targets'];
}

/**
 * Reads the requests from the options; `command` is the location of a command's server, and `steps` are the requests of
 * scenarios, in place of other targets.
 */
export function readRequestMix(
  options: LoadOptions,
  command: Location | null,
  steps: LocatedTarget[] | null = null,
): RequestMix {
  const { targets, base } = readTargets(options, command, steps);
  const weighted = targets.some(({ weight }) => weight !== undefined);
  const shared = {
    headers: readHeaders(options.headers, 'headers'),
    body: readSharedBody(options),
    method: options.method,
    callsGrpc: options.grpc !== undefined,
  };
  const origins = new Origins(options);
  const names = new RequestNames();
  const toCommand = command !== null && base === command && targets.some(isRelative);
  const mix: RequestMix = {
    origins: origins.list,
    requests: [],
    names: names.list,
    weighted,
    close: false,
    toCommand,
    callsGrpc: shared.callsGrpc || targets.some(({ isCall }) => isCall),
    summary: [],
  };
  let closeCount = 0;
  for (const target of targets) {
    const location = applySocketPath(
      parseUrl(target.url, target.where, base),
      options,
      target.where,
    );
    const { isCall = shared.callsGrpc } = target;
    const origin = origins.findOrAdd(location, isCall);
    const { request, close } = completeRequest({ ...target, isCall }, shared, location, origin);
    const name =
      target.name === undefined
        ? deriveRequestName(request.method, request.target)
        : readRequestName(target.name, target.where);
    mix.requests.push({ ...request, name: names.findOrAdd(name) });
    closeCount += close ? 1 : 0;
    mix.summary.push({
      name,
      method: request.method,
      url: maskUrl(formatUrl(location)),
      weight: weighted ? request.weight : null,
      bodyBytes: request.body?.length ?? 0,
    });
  }
  origins.overrides.checkUsed();
  if (closeCount > 0 && closeCount < targets.length) {
    throw usageError(
      `Connection: close must be in all targets or in none (got ${closeCount} of ${targets.length})`,
    );
  }
  mix.close = closeCount > 0;
  return mix;
}

interface TargetSource {
  targets: LocatedTarget[];
  /** The server of targets that begin with `/`. */
  base?: Location;
}

function readTargets(
  options: LoadOptions,
  command: Location | null,
  steps: LocatedTarget[] | null,
): TargetSource {
  const urls = listUrls(options.url).map((url) => ({ url, where: 'URL' }));
  checkName(options, urls.length);
  const name = options.name === undefined ? {} : { name: options.name };
  const base = command ? { base: command } : {};
  if (options.targets && options.targetsFile !== undefined) {
    throw usageError('targets cannot be combined with targetsFile');
  }
  if (steps) return readStepTargets(steps, urls, base);
  const targets = options.targets
    ? options.targets.map(({ url, ...target }, index) => ({
        ...target,
        url: String(url),
        where: `targets[${index}]`,
      }))
    : options.targetsFile === undefined
      ? null
      : readTargetsFile(options.targetsFile);
  if (targets) {
    if (targets.length === 0)
      throw usageError('targets must contain at least one target (got an empty list)');
    return { targets, ...base, ...readBase(urls, targets) };
  }
  if (urls.length > 0) return { targets: urls.map((url) => ({ ...url, ...name })), ...base };
  if (command) return { targets: [{ url: '/', where: 'URL', ...name }], ...base };
  if (options.socketPath !== undefined) {
    return { targets: [{ url: 'http://localhost/', where: 'URL', ...name }] };
  }
  throw usageError('url, targets, targetsFile or command is needed: there is nothing to load');
}

/** The requests of scenarios' steps: a URL is their server, unless they all name one. */
function readStepTargets(
  steps: LocatedTarget[],
  urls: LocatedTarget[],
  base: { base?: Location },
): TargetSource {
  const relative = steps.find(isRelative);
  if (relative && urls.length === 0 && !base.base) {
    throw usageError(
      `${relative.where}: '${relative.url}' needs a server: add a URL such as http://localhost:3000, or -- COMMAND`,
    );
  }
  return { targets: steps, ...base, ...readBase(urls, steps) };
}

/** Refuses one name for several requests. */
function checkName({ name, targets, targetsFile }: LoadOptions, urls: number): void {
  if (name === undefined) return;
  if (targets || targetsFile !== undefined) {
    throw usageError(
      'name is for a single request: targets have names of their own (a line # @name: NAME, or the field name)',
    );
  }
  if (urls > 1) throw usageError(`name is for a single request (got ${urls} URLs)`);
}

// With targets, a URL is the server of the targets without a host.
function readBase(urls: LocatedTarget[], targets: LocatedTarget[]): { base?: Location } {
  const [url, ...more] = urls;
  if (!url) return {};
  if (more.length > 0 || !targets.some(isRelative)) {
    throw usageError(
      `URL '${(more[0] ?? url).url}' cannot be combined with these targets: one URL is the server of targets that begin with /`,
    );
  }
  const isPath = url.url.trim().startsWith('/');
  const base = isPath ? null : parseUrl(url.url, url.where);
  if (base?.target === '/') return { base };
  const server = base ? ` ${formatUrl({ ...base, target: '/' })} is the server` : ' leave it out';
  throw usageError(
    `URL '${url.url}' must have no path, as the targets have their own:${server}, or put the path into the targets`,
  );
}

function isRelative({ url }: LocatedTarget): boolean {
  return url.startsWith('/');
}

/** Completes a location with the Unix socket of the options. */
function applySocketPath(location: Location, { socketPath }: LoadOptions, where: string): Location {
  checkSocketPath(socketPath ?? location.unixPath ?? '');
  if (socketPath === undefined) return location;
  if (location.unixPath === undefined) return { ...location, unixPath: socketPath };
  throw usageError(`${where}: a unix: URL cannot be combined with socketPath`);
}

/** Maximum length of a Unix socket's path, in bytes: `sun_path` of unix(7), without the final zero. */
const MAX_SOCKET_PATH = process.platform === 'linux' ? 107 : 103;

function checkSocketPath(path: string): void {
  const bytes = Buffer.byteLength(path);
  if (bytes <= MAX_SOCKET_PATH) return;
  throw usageError(
    `the path of a Unix socket must have at most ${MAX_SOCKET_PATH} bytes (got ${bytes}): '${path}'`,
  );
}

/** What all requests have unless their target says otherwise. */
interface SharedRequest {
  headers: NativeHeader[];
  body: Buffer | undefined;
  method: string | undefined;
  /** All are calls of gRPC. */
  callsGrpc: boolean;
}

const EXPECTS_CONTENT = new Set(['POST', 'PUT', 'PATCH']);

function completeRequest(
  target: LocatedTarget,
  shared: SharedRequest,
  location: Location,
  origin: number,
): { request: Omit<NativeRequest, 'name'>; close: boolean } {
  const { where, weight = 1, isCall = false } = target;
  const content = toBytes(target.body) ?? shared.body;
  const method = readMethod(
    target.method ?? shared.method ?? DEFAULTS.method[content ? 1 : 0],
    where,
  );
  // RFC 9110, 8.6: a request with one of these methods and no content is sent with Content-Length: 0.
  const body = content ?? (EXPECTS_CONTENT.has(method) ? Buffer.alloc(0) : undefined);
  const own = readHeaders(target.headers, where);
  const complete = completeHeaders(own, shared.headers, location, isCall);
  if (isCall) checkCallFields(complete, where);
  const { headers, close } = frameHeaders(complete, body?.length ?? 0, where);
  if (!(weight > 0 && weight < Number.POSITIVE_INFINITY)) {
    throw usageError(`${where}: weight must be a number above 0 (got ${weight})`);
  }
  const request = { origin, method, target: location.target, headers, weight };
  return { request: body ? { ...request, body } : request, close };
}

function readMethod(method: string, where: string): string {
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(method) || method.toUpperCase() === 'CONNECT') {
    throw usageError(
      `${where}: method must be the name of a method such as GET or POST, but not CONNECT (got '${method}')`,
    );
  }
  return method.toUpperCase();
}

/** The origins of the requests, each once. */
class Origins {
  readonly list: NativeOrigin[] = [];
  readonly #indexes = new Map<string, number>();
  readonly #sni: string | undefined;
  readonly overrides: ConnectionOverrides;

  constructor(options: LoadOptions) {
    this.#sni = options.sni;
    this.overrides = new ConnectionOverrides(options);
  }

  /** Returns the index of an origin; adds it if it is new. `isCalled`: it gets calls of gRPC. */
  findOrAdd(location: Location, isCalled: boolean): number {
    const index = this.#findOrAdd(location);
    const origin = this.list[index];
    if (origin && isCalled) origin.http2 = true;
    return index;
  }

  #findOrAdd({ tls, host, port, unixPath }: Location): number {
    const key = `${tls} ${unixPath ?? ''} ${host} ${port}`;
    const known = this.#indexes.get(key);
    if (known !== undefined) return known;
    const origin: NativeOrigin = { host, port, tls };
    if (unixPath !== undefined) origin.unixPath = unixPath;
    else Object.assign(origin, this.#applyOverrides(host, port));
    // RFC 6066, section 3: the server name has neither a zone nor a trailing dot.
    if (tls) origin.serverName = this.#sni ?? host.replace(/%.*$|\.$/, '');
    this.#indexes.set(key, this.list.length);
    return this.list.push(origin) - 1;
  }

  #applyOverrides(host: string, port: number): Pick<NativeOrigin, 'host' | 'otherHosts' | 'port'> {
    const destination = this.overrides.findDestination(host, port);
    const [first, ...otherHosts] = destination.hosts;
    return {
      host: first,
      port: destination.port,
      ...(otherHosts.length > 0 && { otherHosts }),
    };
  }
}
