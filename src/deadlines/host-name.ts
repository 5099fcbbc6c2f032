import { isIPv6 } from 'node:net';

/** What names a socket in the file system in place of a host. */
const UNIX = 'unix:';

/**
 * A host, or a pattern of hosts, in the one spelling of all that mean the same: as a URL has it, and without brackets.
 * So a variable, an option and a URL may differ in case, a dot at the end, IDN, or zeros of an address.
 */
export function normalizeHost(text: string): string {
  if (text.startsWith(UNIX)) return text;
  if (text.startsWith('*.')) return `*.${belowPattern(text.slice(2))}`;
  const host = bare(text).replace(/\.$/, '');
  return inUrl(host) ?? host.toLowerCase();
}

/** `0.0.2` is an address of its own, and nothing of it is to be completed where others end with it. */
function belowPattern(text: string): string {
  const host = text.replace(/\.$/, '');
  return /^[\d.]+$/.test(host) ? host : normalizeHost(host);
}

function inUrl(host: string): string | null {
  // In a URL these would end a host, or stand for something else.
  if (!isIPv6(host) && /[\s:/\\?#@%[\]]/.test(host)) return null;
  const url = isIPv6(host) ? `http://[${host}]` : `http://${host}`;
  return URL.canParse(url) ? bare(new URL(url).hostname) : null;
}

/** Whether a host can be called so: a name or an address, `*.` and a name, `*`, or `unix:` and a path. */
export function isHostPattern(text: string): boolean {
  if (text.startsWith(UNIX)) return text.length > UNIX.length;
  if (text === '*' || isIPv6(bare(text))) return true;
  return /^(?:\*\.)?[^\s.*:/\\?#@%[\]]+(?:\.[^\s.*:/\\?#@%[\]]+)*\.?$/.test(text);
}

/** Patterns that may be meant by it, the nearest first: itself, and what stands for all below a name. */
export function* findPatterns(host: string): Iterable<string> {
  yield host;
  if (!host.startsWith(UNIX)) {
    for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
      yield `*${host.slice(dot)}`;
    }
  }
  yield '*';
}

/** An IPv6 address without its brackets. */
function bare(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}
