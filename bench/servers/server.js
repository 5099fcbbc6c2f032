import { startBareServer } from '../native/bare.js';
import { startApp } from '../stack/app.js';
import { startProxied, startShared } from '../stack/one-port.js';
import { createCertificate } from './certificates.js';
import { startNginx } from './nginx.js';
import { startVarnish } from './varnish.js';

const starters = {
  bare: startBareServer,
  nginx: startNginx,
  app: startApp,
  shared: startShared,
  proxied: startProxied,
  varnish: startVarnish,
};

/**
 * Starts the server that a case names: `{ kind, tls?: 'ecdsa' | 'rsa' }` and what is the kind's own, on
 * `cores`.
 */
export function startServer({ kind, tls, ...options }, { cores, directory }) {
  const pair = tls && createCertificate(tls, directory);
  return starters[kind]({ ...options, tls: pair, cores, directory });
}
