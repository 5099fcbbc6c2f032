import { isIPv6 } from 'node:net';
import { usageError } from '../../errors/millrace-error.js';
import type { LoadOptions } from '../options.js';

/** A URL to load: its server, and the parts that are sent. */
export interface Location {
  tls: boolean;
  /** Name or address, without brackets. */
  host: string;
  port: number;
  unixPath?: string;
  /** The value of the Host header. */
  authority: string;
  /** The request-target; may contain placeholders. */
  target: string;
  /** The value of the Authorization header, from the URL's user and password. */
  authorization?: string;
}

const ACCEPTED = 'use http://host/, https://host/ or unix:/path/to.sock:/target';
const DEFAULT_PORT = { 'http:': 80, 'https:': 443 } as const;

/** Lists the URLs of an option as text. */
export function listUrls(url: LoadOptions['url']): string[] {
  return [url ?? []].flat().map(String);
}

/**
 * Parses a URL; `http` without a scheme. A URL that begins with `/` is one of `base`. The target is kept as written;
 * only characters that a request line cannot contain are escaped.
 */
export function parseUrl(input: string, where: string, base?: Location): Location {
  const text = typeof input === 'string' ? input.trim() : '';
  if (text === '') throw badUrl(where, input, 'it is empty');
  if (text.startsWith('/')) {
    if (base) return { ...base, target: buildTarget(text) };
    throw badUrl(where, text, 'it names no host');
  }
  const unix = parseUnixUrl(text);
  if (unix) return unix;
  if (/^unix:/i.test(text)) throw badUrl(where, text, 'it names no socket and target');

  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text);
  const protocol = `${scheme?.[1] ?? 'http'}:`.toLowerCase();
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw badUrl(where, text, `the scheme ${protocol}// is not known`);
  }
  const rest = text.slice(scheme?.[0].length ?? 0);
  const end = rest.search(/[/?#]/);
  const authority = end < 0 ? rest : rest.slice(0, end);
  // The URL standard reads a bare number as an address; here it is more likely the value of an unknown flag, as is a dash.
  const isValue = /^(?:\d+|-|https?:)$/i.test(authority);
  if (authority.includes('{{')) {
    throw badUrl(
      where,
      text,
      'placeholders are supported after the host and in headers (-H), not in the host',
    );
  }
  const { authority: plain, zone } = readHost(authority, where, text);
  const url = isValue ? null : parseAuthority(protocol, plain);
  if (!url) {
    const [, digits] = /:(\d+)$/.exec(authority) ?? [];
    const isBeyondPorts = digits !== undefined && Number(digits) > 65_535;
    throw badUrl(
      where,
      text,
      isBeyondPorts ? `${digits} is not a port` : `'${authority}' is not a host`,
    );
  }

  const port = url.port === '' ? DEFAULT_PORT[protocol] : Number(url.port);
  if (port === 0) throw badUrl(where, text, 'port 0 cannot be connected to');
  const location: Location = {
    tls: protocol === 'https:',
    host: url.hostname.replace(/^\[|\]$/g, '') + zone,
    port,
    authority: url.host,
    target: buildTarget(end < 0 ? '/' : rest.slice(end)),
  };
  return url.username || url.password ? { ...location, authorization: encodeBasic(url) } : location;
}

/** Formats the location as a URL, without user and password. */
export function formatUrl({ tls, unixPath, authority, target }: Location): string {
  if (unixPath !== undefined && !tls) return `unix:${unixPath}:${target}`;
  return `${tls ? 'https' : 'http'}://${authority}${target}`;
}

// unix:PATH:TARGET, unix://PATH:TARGET, http://unix:PATH:TARGET, and http+unix://PERCENT-ENCODED-PATH/TARGET as in other clients.
function parseUnixUrl(text: string): Location | null {
  const plain = /^(?:(https?):\/\/unix:(?=\/)|unix:(?:\/\/)?)([^:]+)(?::(\/.*)?)?$/i.exec(text);
  const encoded = /^(https?)\+unix:\/\/(%2f[^/?#]*)(.*)$/i.exec(text);
  const [, scheme = 'http', path, target] = plain ?? encoded ?? [];
  if (path === undefined) return null;
  const tls = scheme.toLowerCase() === 'https';
  return {
    tls,
    host: 'localhost',
    port: tls ? 443 : 80,
    unixPath: encoded ? decode(path) : path,
    authority: 'localhost',
    target: buildTarget(target || '/'),
  };
}

/**
 * Turns a host into the form of the URL standard: a port alone is one of localhost, IPv6 is in brackets, and its zone
 * (RFC 6874) is separate.
 */
function readHost(
  authority: string,
  where: string,
  text: string,
): { authority: string; zone: string } {
  if (/^:\d+$/.test(authority)) return { authority: `localhost${authority}`, zone: '' };
  const at = authority.lastIndexOf('@') + 1;
  const [user, host] = [authority.slice(0, at), authority.slice(at)];
  const [, address, id, port] = /^\[([^\]%]+)%(?:25)?([^\]]+)\](.*)$/.exec(host) ?? [];
  if (id !== undefined) return { authority: `${user}[${address}]${port}`, zone: `%${id}` };
  const [, before = '', last] = /^([^[\]]+):(\d+)$/.exec(host) ?? [];
  if (isIPv6(before)) {
    if (!isIPv6(host)) return { authority: `${user}[${before}]:${last}`, zone: '' };
    throw badUrl(where, text, `IPv6 needs brackets, as in [${before}]:${last} or [${host}]`);
  }
  if (!isIPv6(host)) return { authority, zone: '' };
  const [plain, zone] = host.split('%');
  return { authority: `${user}[${plain}]`, zone: zone === undefined ? '' : `%${zone}` };
}

function parseAuthority(protocol: string, authority: string): URL | null {
  try {
    const url = new URL(`${protocol}//${authority}`);
    // A path other than / means that the authority contained a backslash.
    return url.pathname === '/' && url.hostname !== '' ? url : null;
  } catch {
    return null;
  }
}

// RFC 9110, 4.1: the fragment is not sent. Placeholders are kept unchanged.
function buildTarget(text: string): string {
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

function encodeBasic({ username, password }: URL): string {
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
