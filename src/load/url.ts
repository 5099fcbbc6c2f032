import { usageError } from '../errors.js';

/** Where a request goes, and what of the URL is sent. */
export interface Location {
  tls: boolean;
  /** Name or address, without brackets. */
  host: string;
  port: number;
  unixPath?: string;
  /** Value of the Host header. */
  authority: string;
  /** The request-target; may hold placeholders. */
  target: string;
  /** Value of an Authorization header, from the URL's user and password. */
  authorization?: string;
}

const ACCEPTED = 'accepted: http://host/, https://host/ or unix:/path/to.sock:/target';
const DEFAULT_PORT = { 'http:': 80, 'https:': 443 } as const;

/**
 * Reads a URL; without a scheme it is `http`. One that begins with `/` goes to `base`.
 * The target is kept as written, but for characters that no request line may hold.
 */
export function parseUrl(text: string, where: string, base?: Location): Location {
  if (typeof text !== 'string' || text === '') throw badUrl(where, text, 'it is empty');
  if (text.startsWith('/')) {
    if (base) return { ...base, target: requestTarget(text) };
    throw badUrl(where, text, 'it names no host');
  }
  if (/^unix:/i.test(text)) return parseUnixUrl(text, where);

  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text);
  const protocol = `${scheme?.[1] ?? 'http'}:`.toLowerCase();
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw badUrl(where, text, `the scheme ${protocol}// is not known`);
  }
  const rest = text.slice(scheme?.[0].length ?? 0);
  const end = rest.search(/[/?#]/);
  const authority = end < 0 ? rest : rest.slice(0, end);
  // A bare number is an address to the URL standard, and the value of some unknown flag to its writer; so is a dash.
  const url = /^(?:\d+|-)$/.test(authority) ? null : parseAuthority(protocol, authority);
  if (!url) {
    const [, digits] = /:(\d+)$/.exec(authority) ?? [];
    const beyond = digits !== undefined && Number(digits) > 65_535;
    throw badUrl(where, text, beyond ? `${digits} is no port` : `'${authority}' is not a host`);
  }

  const port = url.port === '' ? DEFAULT_PORT[protocol] : Number(url.port);
  if (port === 0) throw badUrl(where, text, 'port 0 cannot be connected to');
  const location: Location = {
    tls: protocol === 'https:',
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port,
    authority: url.host,
    target: requestTarget(end < 0 ? '/' : rest.slice(end)),
  };
  return url.username || url.password ? { ...location, authorization: basic(url) } : location;
}

/** The location as a URL, without user and password. */
export function formatUrl({ tls, unixPath, authority, target }: Location): string {
  if (unixPath !== undefined && !tls) return `unix:${unixPath}:${target}`;
  return `${tls ? 'https' : 'http'}://${authority}${target}`;
}

function parseUnixUrl(text: string, where: string): Location {
  const match = /^unix:(?:\/\/)?([^:]+)(?::(\/.*))?$/i.exec(text);
  if (!match?.[1]) throw badUrl(where, text, 'it names no socket and target');
  return {
    tls: false,
    host: 'localhost',
    port: 80,
    unixPath: match[1],
    authority: 'localhost',
    target: requestTarget(match[2] ?? '/'),
  };
}

function parseAuthority(protocol: string, authority: string): URL | null {
  try {
    const url = new URL(`${protocol}//${authority}`);
    // A backslash would have begun a path.
    return url.pathname === '/' && url.hostname !== '' ? url : null;
  } catch {
    return null;
  }
}

// The fragment stays at home (RFC 9110, 4.1). Placeholders stay as they are, whatever they hold.
function requestTarget(text: string): string {
  let target = '';
  for (const [index, part] of text.split(/(\{\{.*?\}\})/).entries()) {
    const isPlaceholder = index % 2 === 1;
    const fragment = isPlaceholder ? -1 : part.indexOf('#');
    target += isPlaceholder ? part : escapeUnsafe(fragment < 0 ? part : part.slice(0, fragment));
    if (fragment >= 0) break;
  }
  return target.startsWith('/') ? target : `/${target}`;
}

function escapeUnsafe(text: string): string {
  return text.replace(/[^\x21-\x7e]|["<>\\^`]/gu, (char) =>
    Buffer.from(char).toString('hex').toUpperCase().replace(/../g, '%$&'),
  );
}

function basic({ username, password }: URL): string {
  const plain = `${decode(username)}:${decode(password)}`;
  return `Basic ${Buffer.from(plain).toString('base64')}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function badUrl(where: string, text: string, reason: string): Error {
  return usageError(`${where}: '${text}' is not a URL to load: ${reason}; ${ACCEPTED}`);
}
