// Finds secrets in text of any form, in time linear in its length: each part of the text is read a bounded number of times.
import { isCredentialHeader, isSecretHeader, isSecretName } from './names.js';

/** A secret value within a text. */
export interface SecretSpan {
  from: number;
  to: number;
  /** Whether the value is a number or a structure of JSON: its mask needs quotes. */
  isBare: boolean;
}

/** Bounds on what is read before a separator and in a header between name and value. */
const MAX_NAME = 128;
const MAX_SPACES = 3;

/** How far the end of a value is searched for where the search may be in vain. */
const MAX_SEARCH = 1024;
const MAX_ELEMENT = 8192;

/** Characters that end a name, begin a tag or end userinfo. `%3A` and `%3D` are the separators of text in percent encoding. */
const SEPARATOR = /[=:<@]|%(?:25)*3[ad]/gi;

/**
 * Finds what looks like a secret: userinfo of URLs; values of query parameters, form fields, variables, fields of JSON (also in a
 * string of JSON), header fields, XML elements and attributes, HTML inputs and multipart fields whose names say so; credentials
 * of an authorization scheme; JSON Web Tokens. Spans are in the order of the text and do not overlap.
 */
export function findSecretSpans(text: string): SecretSpan[] {
  const spans: SecretSpan[] = [];
  SEPARATOR.lastIndex = 0;
  let userinfoFrom = 0;
  for (let match = SEPARATOR.exec(text); match; match = SEPARATOR.exec(text)) {
    const { index, 0: separator } = match;
    const after = index + separator.length;
    let span: SecretSpan | null;
    if (separator === '@') {
      span = findBareUserinfo(text, userinfoFrom, index);
      userinfoFrom = after;
    } else if (separator === '<') span = findInTag(text, index);
    else if (text.startsWith('://', index)) span = findUserinfo(text, index);
    else span = findNamed(text, index, separator);
    // The search goes on behind a value, and must not read what was read already.
    SEPARATOR.lastIndex = Math.max(after, span?.to ?? 0);
    userinfoFrom = Math.max(userinfoFrom, span?.to ?? 0);
    if (span) spans.push(span);
  }
  return mergeSpans([...spans, ...findTokens(text)]);
}

const SCHEME = /\b(?:bearer|basic|digest|negotiate|apikey) +(?!realm=)([\w.~+/=-]{6,})/dgi;

/** A JSON Web Token (RFC 7519), wherever it stands. */
const JSON_WEB_TOKEN = /(?<![\w-])(eyJ[\w-]{8,}\.[\w-]+\.[\w-]*)/dg;

function findTokens(text: string): SecretSpan[] {
  return [SCHEME, JSON_WEB_TOKEN].flatMap((pattern) =>
    [...text.matchAll(pattern)].map(({ indices }) => {
      const [from = 0, to = 0] = indices?.[1] ?? [];
      return { from, to, isBare: false };
    }),
  );
}

function mergeSpans(spans: SecretSpan[]): SecretSpan[] {
  const merged: SecretSpan[] = [];
  for (const span of spans.sort((a, b) => a.from - b.from || b.to - a.to)) {
    const last = merged.at(-1);
    if (last && span.from < last.to) last.to = Math.max(last.to, span.to);
    else merged.push(span);
  }
  return merged;
}

function toSpan(from: number, to: number, isBare = false): SecretSpan | null {
  return to > from ? { from, to, isBare } : null;
}

// --- Userinfo of URLs ---

/** `http://user:password@host`: everything up to the last @ of the authority. */
function findUserinfo(text: string, colon: number): SecretSpan | null {
  if (!/[\w+.-]/.test(text[colon - 1] ?? '')) return null;
  const from = colon + 3;
  let end = from;
  let at = -1;
  while (end < text.length && !endsAuthority(text, end)) {
    if (text[end] === '@') at = end;
    end += 1;
  }
  if (at < 0 && /[^\]]:[^:\]]*[^\d:\]][^:\]]*$/.test(text.slice(from, Math.min(end, from + 256)))) {
    // Not a port: a password that contains the end of an authority.
    const rest = text.slice(end, end + MAX_SEARCH);
    if (rest.includes('@')) at = end + (/^[^\s<>]*@/.exec(rest)?.[0].length ?? at - end + 1) - 1;
  }
  return toSpan(from, at);
}

function endsAuthority(text: string, index: number): boolean {
  const char = text[index] as string;
  return /[\s/?#<>]/.test(char) || (isQuote(char) && closes(text, index));
}

const USER = /(?:^|[(,=[{"'`])([\w.+~%!$*-]{1,128}):(?!\/\/)/;
const NOT_USERS = /^(?:mailto|sips?|acct|xmpp|from|to|cc|bcc|e-?mail)$/i;

/** `user:password@host`, without a scheme. The text from `min` on contains no other @. */
function findBareUserinfo(text: string, min: number, at: number): SecretSpan | null {
  let start = at;
  while (start > min && !/[\s/?#<>]/.test(text[start - 1] as string)) start -= 1;
  const before = text.slice(start, at);
  const match = USER.exec(before);
  const [whole = '', user = ''] = match ?? [];
  if (user === '' || NOT_USERS.test(user) || !/[\w[]/.test(text[at + 1] ?? '')) return null;
  start += (match?.index ?? 0) + whole.length - user.length - 1;
  // A Unix socket in the abstract namespace, as in unix:@name:/target.
  if (/^unix:$/i.test(text.slice(start, at))) return null;
  for (let index = start; index < at; index += 1) {
    if (isQuote(text[index]) && closes(text, index)) return null;
  }
  let end = at;
  for (let index = at; index < text.length && !endsAuthority(text, index); index += 1) {
    if (text[index] === '@') end = index;
  }
  return toSpan(start, end);
}

// --- Tags of XML and HTML ---

const TAG = /<([A-Za-z_][\w.:-]{0,127})(\s[^<>]*)?(>?)/y;
const NAMED_BY = /\b(?:name|id|key|property)\s{0,3}=\s{0,3}["']?([\w.[\]:-]{1,128})/i;
const VALUE_OF = /\b(?:value|content)\s{0,3}=\s{0,3}/i;

/** `<password>x</password>`, `<input name="password" value="x">`, `<add key="password" value="x"/>`. */
function findInTag(text: string, index: number): SecretSpan | null {
  TAG.lastIndex = index;
  const match = TAG.exec(text);
  if (!match) return null;
  const [whole, name = '', attributes = '', close] = match;
  const local = name.slice(name.indexOf(':') + 1);
  const from = index + whole.length;
  if (close !== '' && !attributes.endsWith('/') && isSecretName(local)) {
    // In prose, as in `login <password> <file>`, it is followed by a space.
    const length = text.slice(from, from + MAX_ELEMENT).indexOf(`</${name}`);
    if (length >= 0) return toSpan(from, from + length);
    if (!/[\s<\])]/.test(text[from] ?? ' ')) {
      const next = text.indexOf('<', from);
      return toSpan(from, next < 0 ? text.length : next);
    }
  }
  const [, by] = NAMED_BY.exec(attributes) ?? [];
  const value = VALUE_OF.exec(attributes);
  if (by === undefined || !value || !isSecretName(stripBrackets(by))) return null;
  return readValue(text, index + 1 + name.length + value.index + value[0].length, false);
}

// --- Names with values ---

interface Name {
  name: string;
  /** Whether it is in quotes. */
  isQuoted: boolean;
  /** Where it begins. */
  from: number;
}

/** `name=value`, `"name": "value"`, `Name: value`. */
function findNamed(text: string, index: number, separator: string): SecretSpan | null {
  const { name, isQuoted, from } = readName(text, index);
  // The shortest name of a secret has three letters.
  if (name.length < 3) return null;
  const isAssignment = /[=d]$/i.test(separator);
  const after = index + separator.length;
  if (/^(?:name|key)$/i.test(name)) {
    const paired = findPaired(text, after);
    if (paired) return paired;
  }
  if (!isSecretHeader(name)) return null;
  if (isAssignment) {
    const value = text[after] === '>' ? after + 1 : after;
    return readValue(text, skipSpaces(text, value, MAX_SPACES), separator !== '=');
  }
  const value = skipSpaces(text, after, isQuoted ? MAX_NAME : MAX_SPACES);
  const quote = readOpeningQuote(text, value);
  if (isQuoted) return readJsonValue(text, value, name);
  if (isCredentialHeader(name)) return readHeaderValue(text, value, name);
  const isWord = !/[-_]/.test(name);
  // `password: x` in prose is a sentence; at the beginning of a line it is YAML.
  if (quote) return isWord && /^key$/i.test(name) ? null : readValue(text, value, false);
  if (separator !== ':') return readValue(text, value, true);
  if (isWord && !isAlone(text, from, value)) return null;
  return readValue(text, value, false);
}

/** The name before a separator: what stands before it in one piece, or in quotes. */
function readName(text: string, separator: number): Name {
  let end = separator;
  while (separator - end < MAX_SPACES && isSpace(text[end - 1])) end -= 1;
  let isQuoted = false;
  if (isQuote(text[end - 1])) {
    isQuoted = true;
    end -= 1;
    while (separator - end < MAX_NAME && text[end - 1] === '\\') end -= 1;
  } else if (text.startsWith('&quot;', end - 6) || text.startsWith('%22', end - 3)) {
    isQuoted = true;
    end -= text[end - 1] === ';' ? 6 : 3;
  }
  let from = end;
  while (from > 0 && end - from < MAX_NAME && isNameChar(text.charCodeAt(from - 1))) from -= 1;
  const name = text
    .slice(from, end)
    .replace(/%5[bd]/gi, (code) => (/b/i.test(code) ? '[' : ']'))
    .replace(/^.*%(?:25)*[\dA-F]{2}/i, '')
    .replace(/^-+/, '');
  return { name: stripBrackets(name), isQuoted, from };
}

/** `user[password]` is a password. */
function stripBrackets(name: string): string {
  return name.replace(/\]+$/, '');
}

const PAIRED_VALUE =
  /\s{0,9}:?\s{0,9}\\{0,7}["']([\w.[\]-]{1,128})\\{0,7}["']\s{0,9},\s{0,9}\\{0,7}["']value\\{0,7}["']\s{0,9}:\s{0,9}/iy;
const LINE_END = '(?:\\r?\\n|\\\\r\\\\n|\\\\n)';
const MULTIPART = new RegExp(
  `\\\\{0,7}["']?([\\w.[\\]-]{1,128})(?![\\w.[\\]-])\\\\{0,7}["']?[^\\r\\n\\\\]{0,256}(?:${LINE_END}[\\w-]{1,64}:[^\\r\\n\\\\]{0,256}){0,4}${LINE_END}${LINE_END}`,
  'y',
);

/** `{"name": "password", "value": "x"}`, and a field of multipart/form-data. */
function findPaired(text: string, after: number): SecretSpan | null {
  PAIRED_VALUE.lastIndex = after;
  const pair = PAIRED_VALUE.exec(text);
  if (pair) {
    const [, name = ''] = pair;
    return isSecretHeader(name) ? readJsonValue(text, PAIRED_VALUE.lastIndex, name) : null;
  }
  MULTIPART.lastIndex = after;
  const [, field] = MULTIPART.exec(text) ?? [];
  if (field === undefined || !isSecretName(stripBrackets(field))) return null;
  const from = MULTIPART.lastIndex;
  const end = /(?:\r?\n|\\r\\n|\\n)--/g;
  end.lastIndex = from;
  return toSpan(from, end.exec(text)?.index ?? text.length);
}

/** The value of a header field, to the end of its line. The scheme and the cookie's name are not secret. */
function readHeaderValue(text: string, from: number, name: string): SecretSpan | null {
  let end = from;
  while (end < text.length && !/[\r\n]/.test(text[end] as string)) {
    if (isQuote(text[end]) && closes(text, end)) break;
    if (text[end] === ';' && /^set-/i.test(name)) break;
    end += 1;
  }
  return maskedPart(text, from, end, name);
}

/** What of the value of a header field is secret. */
function maskedPart(text: string, from: number, to: number, name: string): SecretSpan | null {
  const head = text.slice(from, Math.min(to, from + MAX_NAME));
  const lower = name.toLowerCase();
  if (lower.endsWith('authorization')) {
    return toSpan(from + (/^[\w-]+ +/.exec(head)?.[0].length ?? 0), to);
  }
  if (lower.startsWith('set-cookie')) {
    const length = text.slice(from, to).indexOf(';');
    return toSpan(from + head.indexOf('=') + 1, length < 0 ? to : from + length);
  }
  return toSpan(from, to);
}

/** The value of a field of JSON: text, a number, or a structure. */
function readJsonValue(text: string, from: number, name: string): SecretSpan | null {
  const quote = readOpeningQuote(text, from);
  if (quote) {
    const { end } = readQuoted(text, from, quote);
    return isCredentialHeader(name)
      ? maskedPart(text, from + quote.length, end, name)
      : toSpan(from + quote.length, end);
  }
  const first = text[from] ?? '';
  if (first === '[' || first === '{') {
    return text.startsWith('{{', from) ? null : toSpan(from, findStructureEnd(text, from), true);
  }
  if (!/[-\d]/.test(first)) return null;
  let end = from;
  while (/[\w.+-]/.test(text[end] ?? '')) end += 1;
  return toSpan(from, end, true);
}

/** The end of an array or an object of JSON; of one that is cut the end of the text. */
function findStructureEnd(text: string, from: number): number {
  let depth = 0;
  for (let index = from; index < text.length; index += 1) {
    const char = text[index] as string;
    if (char === '"') {
      const { end } = readQuoted(text, index, '"');
      index = end;
    } else if (char === '[' || char === '{') depth += 1;
    else if (char === ']' || char === '}') {
      depth -= 1;
      if (depth === 0) return index + 1;
    }
  }
  return text.length;
}

/** A value in quotes, or one that a space, & or the text around it ends. `isEncoded`: in percent encoding. */
function readValue(text: string, from: number, isEncoded: boolean): SecretSpan | null {
  const quote = readOpeningQuote(text, from);
  if (!quote) return toSpan(from, trimEnd(text, from, findBareEnd(text, from, isEncoded)));
  const { end, after } = readQuoted(text, from, quote);
  // In a shell a word goes on behind a quote: 'it'\''s'.
  const goesOn = isQuote(quote) && after < text.length && !closes(text, after - 1);
  if (!goesOn) return toSpan(from + quote.length, end);
  return toSpan(from + quote.length, trimEnd(text, from, findBareEnd(text, after, isEncoded)));
}

function findBareEnd(text: string, from: number, isEncoded: boolean): number {
  let end = from;
  for (; end < text.length; end += 1) {
    const char = text[end] as string;
    if (char === '{' && text[end + 1] === '{') {
      const length = text.slice(end, end + MAX_SEARCH).indexOf('}}');
      if (length >= 0) end += length + 1;
    } else if (char === '&' || isWhite(char)) break;
    else if (isQuote(char) && closes(text, end)) break;
    else if (char === '<' && /[/!]/.test(text[end + 1] ?? '')) break;
    else if (isEncoded && char === '%' && /^%(?:25){0,9}2[26]/.test(text.slice(end, end + 24)))
      break;
  }
  return end;
}

/** Punctuation behind a value belongs to the text around it. */
function trimEnd(text: string, from: number, to: number): number {
  let end = to;
  while (
    end > from &&
    /[,;)\]}\\]/.test(text[end - 1] as string) &&
    !text.startsWith('}}', end - 2)
  ) {
    end -= 1;
  }
  return end;
}

// --- Quotes ---

/** The opening quote at `index`, with the backslashes before it in a string of JSON; `null`: there is none. */
function readOpeningQuote(text: string, index: number): string | null {
  let end = index;
  while (text[end] === '\\' && end - index < 64) end += 1;
  if (isQuote(text[end])) return text.slice(index, end + 1);
  if (text.startsWith('&quot;', index)) return '&quot;';
  return /^%22$/.test(text.slice(index, index + 3)) ? '%22' : null;
}

/** Where the text in quotes from `from` on ends: before the closing quote, and behind it. One that is cut ends with the text. */
function readQuoted(text: string, from: number, quote: string): { end: number; after: number } {
  const start = from + quote.length;
  const mark = quote.at(-1) as string;
  if (!isQuote(mark)) {
    const end = text.indexOf(quote, start);
    return end < 0 ? { end: text.length, after: text.length } : { end, after: end + quote.length };
  }
  // The quote of the same level has as many backslashes as the opening one, behind pairs of them.
  const level = quote.length - 1;
  let slashes = 0;
  for (let index = start; index < text.length; index += 1) {
    const char = text[index];
    if (char === '\\') {
      slashes += 1;
      continue;
    }
    const isEnd = mark === "'" && level === 0 ? true : slashes % (2 * level + 2) === level;
    if (char === mark && isEnd) return { end: index - level, after: index + 1 };
    slashes = 0;
  }
  return { end: text.length, after: text.length };
}

/** Whether a quote, or a run of quotes, is followed by something else than more of the same value. */
function closes(text: string, index: number): boolean {
  let next = index + 1;
  while (next - index < 8 && (isQuote(text[next]) || text[next] === '\\')) next += 1;
  return !/[\w%~+/=@!*$^.-]/.test(text[next] ?? ' ');
}

// --- Characters ---

function isQuote(char: string | undefined): boolean {
  return char === '"' || char === "'" || char === '`';
}

function isSpace(char: string | undefined): boolean {
  return char === ' ' || char === '\t';
}

function isWhite(char: string): boolean {
  return char <= ' ' || char === '\u00a0';
}

/** Word characters and `. [ ] % -`. */
function isNameChar(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 93 && code !== 92) ||
    (code >= 48 && code <= 57) ||
    code === 95 ||
    code === 45 ||
    code === 46 ||
    code === 37
  );
}

function skipSpaces(text: string, from: number, max: number): number {
  let index = from;
  while (index - from < max && isWhite(text[index] ?? 'x')) index += 1;
  return index;
}

/** Whether a name begins its line and a single word follows it. */
function isAlone(text: string, from: number, value: number): boolean {
  let start = from;
  while (from - start < 64 && isSpace(text[start - 1])) start -= 1;
  if (start > 0 && text[start - 1] !== '\n') return false;
  return /^\S{1,4096}\s*?(?:\r?\n|$)/.test(text.slice(value, value + 4200));
}
