import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const KEYS = {
  ecdsa: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  rsa: ['-newkey', 'rsa:2048'],
};

/** Creates a self-signed certificate for 127.0.0.1 with an `ecdsa` or `rsa` key; returns the paths of two PEM files. */
export function createCertificate(kind, directory) {
  const cert = join(directory, `${kind}.pem`);
  const key = join(directory, `${kind}.key`);
  const names = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  // Verifying clients reject the certificate of an authority as that of a server.
  names.push('-addext', 'basicConstraints=critical,CA:FALSE');
  const files = ['-nodes', '-days', '2', '-keyout', key, '-out', cert];
  execFileSync('openssl', ['req', '-x509', ...KEYS[kind], ...files, ...names], { stdio: 'pipe' });
  return { cert, key };
}
