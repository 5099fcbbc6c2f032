/*
 * Names of fields that most requests have, as constants: `headers` compares each name with those that Node.js knows, and V8 compares
 * constants by their address (docs/decisions/0010-v8-and-node-internals.md).
 */

const NAMES = [
  'Accept',
  'Accept-Encoding',
  'Accept-Language',
  'Authorization',
  'Cache-Control',
  'Connection',
  'Content-Length',
  'Content-Type',
  'Cookie',
  'DNT',
  'Expect',
  'Forwarded',
  'Host',
  'If-Modified-Since',
  'If-None-Match',
  'Keep-Alive',
  'Origin',
  'Pragma',
  'Priority',
  'Range',
  'Referer',
  'Sec-CH-UA',
  'Sec-CH-UA-Mobile',
  'Sec-CH-UA-Platform',
  'Sec-Fetch-Dest',
  'Sec-Fetch-Mode',
  'Sec-Fetch-Site',
  'Sec-Fetch-User',
  'TE',
  'Traceparent',
  'Tracestate',
  'Transfer-Encoding',
  'Upgrade-Insecure-Requests',
  'User-Agent',
  'Via',
  'X-Forwarded-For',
  'X-Forwarded-Host',
  'X-Forwarded-Port',
  'X-Forwarded-Proto',
  'X-Real-IP',
  'X-Request-ID',
  'X-Requested-With',
];

/** A power of two. */
const PLACES = 1024;

/** Each name, as it is written here and in lower case, at its place; of two with the same place, the first. */
const TABLE: string[] = new Array(PLACES).fill('');
for (const name of NAMES.flatMap((name) => [name, name.toLowerCase()])) {
  TABLE[placeOf(name, 0, name.length)] ||= name;
}

/** By length, first and last character. */
function placeOf(text: string, start: number, end: number): number {
  const ends = text.charCodeAt(start) * 5 + text.charCodeAt(end - 1) * 11;
  return ((end - start) * 37 + ends) & (PLACES - 1);
}

/** Finds the name of a field, one character at least, among the common ones. */
export function findName(head: string, start: number, end: number): string | undefined {
  const name = TABLE[placeOf(head, start, end)] as string;
  return name.length === end - start && head.startsWith(name, start) ? name : undefined;
}
