import { isIPv6 } from 'node:net';

/** Prefix of a socket in the file system, in place of a host. */
const UNIX_PREFIX = 'unix:';

/**
 * Normalizes a host or a pattern of hosts: spelt as in a URL, without brackets. So variables, options and URLs may
 * differ in case, a trailing dot, IDN, or zeros of an address.
 */
export function normalizeHost(text: string): string {
  if (text.startsWith(UNIX_PREFIX)) return text;
  if (text.startsWith('*.')) return `*.${normalizeDomain(text.slice(2))}`;
  const host = stripBrackets(text).replace(/\.$/, '');
  return parseAsUrlHost(host) ?? host.toLowerCase();
}

/** Normalizes the domain of a pattern. `0.0.2` stays as it is: it is an address by itself, and part of one here. */
function normalizeDomain(text: string): string {
  const host = text.replace(/\.$/, '');
  return /^[\d.]+$/.test(host) ? host : normalizeHost(host);
}

function parseAsUrlHost(host: string): string | null {
  // In a URL these characters would end a host, or have another meaning.
  if (!isIPv6(host) && /[\s:/\\?#@%[\]]/.test(host)) return null;
  const url = isIPv6(host) ? `http://[${host}]` : `http://${host}`;
  return URL.canParse(url) ? stripBrackets(new URL(url).hostname) : null;
}

/** Finds the host of an absolute URL of HTTP; `undefined` if the text is none. */
export function findUrlHost(text: string): string | undefined {
  return /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text).hostname : undefined;
}

/** Whether a text is a host pattern: a name or an address, `*.` and a name, `*`, or `unix:` and a path. */
export function isHostPattern(text: string): boolean {
  if (text.startsWith(UNIX_PREFIX)) return text.length > UNIX_PREFIX.length;
  if (text === '*' || isIPv6(stripBrackets(text))) return true;
  return /^(?:\*\.)?[^\s.*:/\\?#@%[\]]+(?:\.[^\s.*:/\\?#@%[\]]+)*\.?$/.test(text);
}

/** Yields the patterns that match a host, the most specific first: the host itself, then wildcards. */
export function* findPatterns(host: string): Iterable<string> {
  yield host;
  if (!host.startsWith(UNIX_PREFIX)) {
    for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
      yield `*${host.slice(dot)}`;
    }
  }
  yield '*';
}

/** Removes the brackets of an IPv6 address. */
function stripBrackets(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}
