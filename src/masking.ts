// What a secret looks like in text that is printed or stored: it is replaced, its place stays to be seen.

const MASK = '***';

/** Parts of a name: `access_token`, `X-Api-Key`, `clientSecret`. */
const SECRET_WORDS =
  'token(?!s)|secret|password|passwd|passphrase|pwd|signature|credentials?|jwt|api[-_]?key|access[-_]?key|private[-_]?key';
const SECRET_NAME = new RegExp(
  `(?:${SECRET_WORDS})|(?:^|[^a-z])(?:key|sig|auth|pass|session(?:id)?|sid)$`,
  'i',
);
const CAMEL = /[a-z](?:Key|Sig|Auth)$/;

/** Whether a query parameter, a field of a form or of JSON of this name holds a secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) || CAMEL.test(name);
}

const SECRET_HEADERS = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'set-cookie2',
  'authentication-info',
  'proxy-authentication-info',
]);

/** Whether a header of this name holds a secret. */
export function isSecretHeader(name: string): boolean {
  return SECRET_HEADERS.has(name.toLowerCase()) || isSecretName(name);
}

/** The value of a header as it may be shown. */
export function maskHeader(name: string, value: string): string {
  const lower = name.toLowerCase();
  if (!isSecretHeader(name)) return maskText(value);
  // The scheme and the cookie's name tell what was asked for, and are no secret.
  if (lower.endsWith('authorization')) return value.replace(/^([\w-]+ +)?.*$/s, `$1${MASK}`);
  if (lower.startsWith('set-cookie')) return value.replace(/=[^;]*/, `=${MASK}`);
  return MASK;
}

/**
 * Text with what looks like a secret replaced: user and password in URLs, values of parameters, form fields, JSON fields and
 * headers whose names say so, and credentials of an authorization scheme. Placeholders are no secrets.
 */
export function maskText(text: string): string {
  return (
    text
      // User and password of a URL, up to the last @ before its path.
      .replace(/(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/?#"'<>]*@/gi, `$1${MASK}@`)
      .replace(/\b((?:proxy-)?authorization|(?:set-)?cookie)(\s*:\s*)([^\r\n'"]+)/gi, maskedField)
      .replace(/\b(bearer|basic|digest|negotiate|apikey)( +)[\w.~+/=-]{6,}/gi, `$1$2${MASK}`)
      // A JSON field; one that is cut at its end, too.
      .replace(/(["'])([\w.-]+)\1(\s*:\s*)("(?:[^"\\]|\\.)*(?:"|$)|-?\d[\w.]*)/g, maskedJson)
      .replace(/([\w.[\]-]+|[\w.-]*%5B[\w.-]+%5D)=([^&\s"'<>;,)]+)/gi, maskedPair)
      .replace(/\b([\w-]+)(: +)([^\s"'<>,;]+)/g, maskedLine)
      .replace(/(\bname=(["'])([^"']*)\2[^<>]*\bvalue=)(["'])([^"'<>]*)/gi, maskedInput)
      // A JSON Web Token (RFC 7519), wherever it stands.
      .replace(/\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, MASK)
  );
}

/** The words of a command line: a header, and what follows a flag whose name says that it takes a secret. */
export function maskArguments(words: readonly string[]): string[] {
  return words.map((word, index) => {
    const [, flag = ''] = /^--?([\w-]+)$/.exec(words[index - 1] ?? '') ?? [];
    if (isSecretName(flag) && !word.startsWith('-') && flag !== 'key') return MASK;
    const [, name, space, value] = /^([\w-]+)(:\s*)(.*)$/s.exec(word) ?? [];
    const isHeader = name !== undefined && value !== undefined && isSecretHeader(name);
    return isHeader ? `${name}${space}${maskHeader(name, value)}` : maskText(word);
  });
}

function isPlaceholder(value: string): boolean {
  return /^\{\{.*\}\}$/.test(value);
}

function maskedField(_: string, name: string, colon: string, value: string): string {
  return `${name}${colon}${maskHeader(name, value)}`;
}

function maskedJson(whole: string, quote: string, name: string, colon: string): string {
  return isSecretName(name) ? `${quote}${name}${quote}${colon}"${MASK}"` : whole;
}

function maskedPair(whole: string, name: string, value: string): string {
  const isKept = isPlaceholder(value) || !isSecretName(name.replace(/\]$|%5D$/i, ''));
  return isKept ? whole : `${name}=${MASK}`;
}

// A header in text: `X-Api-Key: abc`. A name without a dash is a word of a sentence more often.
function maskedLine(whole: string, name: string, colon: string, value: string): string {
  const isKept = !name.includes('-') || isPlaceholder(value) || !isSecretName(name);
  return isKept ? whole : `${name}${colon}${MASK}`;
}

function maskedInput(whole: string, before: string, _: string, name: string, quote: string) {
  return isSecretName(name) ? `${before}${quote}${MASK}` : whole;
}

/** Values that were sent as secrets, to be found again in what a server answers. */
export class Secrets {
  readonly #values = new Set<string>();

  /** A header that is sent, and the secrets in its value. */
  addHeader(name: string, value: string): void {
    if (!isSecretHeader(name)) return;
    const lower = name.toLowerCase();
    if (lower === 'cookie') {
      for (const pair of value.split(';')) this.add(pair.slice(pair.indexOf('=') + 1).trim());
    } else if (lower.endsWith('authorization')) {
      const credentials = value.replace(/^[\w-]+ +/, '');
      this.add(credentials);
      if (/^basic /i.test(value)) this.#addBasic(credentials);
    } else this.add(value);
  }

  /** A request-target that is sent, and the secrets in its query. */
  addTarget(target: string): void {
    const query = target.slice(target.indexOf('?') + 1);
    for (const [name, value] of new URLSearchParams(query)) {
      if (isSecretName(name)) this.add(value);
    }
  }

  /** What is short is part of other words. */
  add(value: string): void {
    if (value.length >= 6 && !value.includes('{{')) this.#values.add(value);
  }

  /** Masks these values and everything that looks like a secret. */
  mask(text: string): string {
    let masked = text;
    for (const value of this.#values) masked = masked.replaceAll(value, MASK);
    return maskText(masked);
  }

  #addBasic(credentials: string): void {
    const plain = Buffer.from(credentials, 'base64').toString();
    this.add(plain.slice(plain.indexOf(':') + 1));
  }
}
