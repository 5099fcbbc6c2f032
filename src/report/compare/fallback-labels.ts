/** The reasons for which Node's own code serves connections, in words. */
const LABELS: Record<string, string> = {
  upgrade: 'upgrades',
  'unsupported-request': "requests that only Node's parser reads",
  'connection-listener': "Node's listener for 'connection' removed",
  'raw-data-listener': 'a listener for the bytes of the socket',
  'out-of-descriptors': 'no descriptor left',
  'http2-no-request-listener': "no listener for 'request'",
  'tls-parameters': 'TLS parameters that rustls does not support',
  'tls-client-hello': 'first bytes that are not TLS 1.2 or later',
  'tls-key': 'a key that rustls does not support',
  'tls-no-certificate': 'TLS without a certificate',
  'tls-default-authorities': "TLS with OpenSSL's authorities",
  'tls-unknown-context': 'a TLS context of unknown origin',
};

/** What the kinds of reasons with a name are called. */
const KINDS = { tls: 'TLS', http2: 'node:http2' } as const;

/** Puts a reason of `fallbackReasons` into words: `tls-option:pfx` names an option of TLS. */
export function labelFallback(reason: string): string {
  if (Object.hasOwn(LABELS, reason)) return LABELS[reason] ?? reason;
  const [, of, kind, name] = /^(tls|http2)-(option|event|member):(.+)$/s.exec(reason) ?? [];
  return of === undefined ? reason : `the ${KINDS[of as keyof typeof KINDS]} ${kind} ${name}`;
}
