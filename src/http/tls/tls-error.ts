/** Reasons of OpenSSL for alerts that a peer has sent, by their numbers (ssl/ssl_err.c). */
const ALERTS = new Map([
  [10, 'ssl alert unexpected message'],
  [20, 'ssl alert bad record mac'],
  [21, 'tlsv1 alert decryption failed'],
  [22, 'tlsv1 alert record overflow'],
  [30, 'ssl alert decompression failure'],
  [40, 'ssl alert handshake failure'],
  [41, 'ssl alert no certificate'],
  [42, 'ssl alert bad certificate'],
  [43, 'ssl alert unsupported certificate'],
  [44, 'ssl alert certificate revoked'],
  [45, 'ssl alert certificate expired'],
  [46, 'ssl alert certificate unknown'],
  [47, 'ssl alert illegal parameter'],
  [48, 'tlsv1 alert unknown ca'],
  [49, 'tlsv1 alert access denied'],
  [50, 'tlsv1 alert decode error'],
  [51, 'tlsv1 alert decrypt error'],
  [60, 'tlsv1 alert export restriction'],
  [70, 'tlsv1 alert protocol version'],
  [71, 'tlsv1 alert insufficient security'],
  [80, 'tlsv1 alert internal error'],
  [86, 'tlsv1 alert inappropriate fallback'],
  [90, 'tlsv1 alert user cancelled'],
  [100, 'tlsv1 alert no renegotiation'],
  [109, 'tlsv13 alert missing extension'],
  [110, 'tlsv1 unsupported extension'],
  [111, 'tlsv1 certificate unobtainable'],
  [112, 'tlsv1 unrecognized name'],
  [113, 'tlsv1 bad certificate status response'],
  [114, 'tlsv1 bad certificate hash value'],
  [115, 'tlsv1 unknown psk identity'],
  [116, 'tlsv13 alert certificate required'],
  [120, 'tlsv1 alert no application protocol'],
]);

/** OpenSSL 3.2 has renamed them. */
const [major = 0, minor = 0] = (process.versions.openssl ?? '').split('.').map(Number);
const PREFIX = major > 3 || (major === 3 && minor >= 2) ? 'ssl/tls alert' : 'sslv3 alert';

/** Kinds of failure, as `crates/stack/src/batch/event.rs` numbers them. */
const ALERT = 1;
const NO_CERTIFICATE = 2;
const DECRYPT = 3;
export const TIMEOUT = 4;

/** What went wrong in TLS, in OpenSSL's words as far as it has some. */
export function tlsError(kind: number, alert: number, text: string): Error {
  if (kind === TIMEOUT) {
    return Object.assign(new Error('TLS handshake timeout'), { code: 'ERR_TLS_HANDSHAKE_TIMEOUT' });
  }
  if (kind === ALERT) {
    const reason = (ALERTS.get(alert) ?? 'reason(0)').replace('ssl alert', PREFIX);
    return sslError(reason, `SSL alert number ${alert}`);
  }
  if (kind === NO_CERTIFICATE) return sslError('peer did not return a certificate');
  if (kind === DECRYPT) return sslError('decryption failed or bad record mac');
  return sslError(text);
}

function sslError(reason: string, more = ''): Error {
  // OpenSSL's reasons are words and a slash at most; rustls's may go into details.
  const words = /^[\w/ ]*\w/.exec(reason)?.[0] ?? 'unknown';
  const code = `ERR_SSL_${words.toUpperCase().replaceAll(' ', '_')}`;
  const message = `error:0A000000:SSL routines::${reason}:millrace:0:${more}\n`;
  return Object.assign(new Error(message), { library: 'SSL routines', reason, code });
}
