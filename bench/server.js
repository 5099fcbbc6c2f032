import { startBareServer } from './bare.js';
import { certificate } from './certificates.js';
import { startNginx } from './nginx.js';

/**
 * Starts the server that a case names: `{ kind: 'bare' | 'nginx', tls?: 'ecdsa' | 'rsa', threads?,
 * stamp? }`, on `cores`.
 */
export function startServer({ kind, tls, ...options }, { cores, directory }) {
  const pair = tls && certificate(tls, directory);
  const starter = kind === 'nginx' ? startNginx : startBareServer;
  return starter({ ...options, tls: pair, cores, directory });
}
