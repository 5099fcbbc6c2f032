// Which names stand for secrets.

/** Parts of a name: `access_token`, `X-Api-Key`, `clientSecret`. */
const SECRET_WORDS =
  'token(?!s)|secret|password|passwd|passphrase|pwd|signature|credentials?|jwt|api[-_]?key|access[-_]?key|private[-_]?key';
const SECRET_NAME = new RegExp(
  `(?:${SECRET_WORDS})|(?:^|[^a-z])(?:key|sig|auth|pass|session(?:id)?|sid)$`,
  'i',
);
const CAMEL = /[a-z](?:Key|Sig|Auth)$/;

/** Reports whether a query parameter, a field of a form or of JSON, an XML element or a variable of this name holds a secret. */
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

/** Reports whether the values of these header fields are secrets by the definition of the field, whatever they contain. */
export function isCredentialHeader(name: string): boolean {
  return SECRET_HEADERS.has(name.toLowerCase());
}

/** Reports whether a header of this name holds a secret. */
export function isSecretHeader(name: string): boolean {
  return isCredentialHeader(name) || isSecretName(name);
}
