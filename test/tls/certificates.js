import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Keys and certificates made on the spot: an authority, servers under it, clients under it and not. */
export function makeCertificates() {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-tls-'));
  const openssl = (...args) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const read = (name) => readFileSync(join(folder, name), 'utf8');
  const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '3650'];
  const rsa = ['-newkey', 'rsa:2048', '-nodes', '-days', '3650'];

  function selfSigned(name, kind = ec) {
    const files = ['-keyout', `${name}.key`, '-out', `${name}.pem`];
    openssl('req', '-x509', ...kind, ...files, '-subj', `/CN=${name}`);
    return { key: read(`${name}.key`), cert: read(`${name}.pem`) };
  }
  function signed(
    name,
    { by, kind = ec, names = 'DNS:localhost', days = '3650', version1 = false },
  ) {
    openssl(
      'req',
      ...kind,
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.csr`,
      '-subj',
      `/CN=${name}`,
    );
    writeFileSync(join(folder, 'extensions'), `subjectAltName=${names}\n`);
    const authority = ['-CA', `${by}.pem`, '-CAkey', `${by}.key`, '-CAcreateserial'];
    const more = version1 ? [] : ['-extfile', 'extensions'];
    openssl(
      'x509',
      '-req',
      '-in',
      `${name}.csr`,
      ...authority,
      '-days',
      days,
      ...more,
      '-out',
      `${name}.pem`,
    );
    return { key: read(`${name}.key`), cert: read(`${name}.pem`) };
  }
  try {
    const authority = selfSigned('authority');
    const made = {
      authority,
      server: signed('server', { by: 'authority' }),
      serverRsa: signed('serverRsa', { by: 'authority', kind: rsa }),
      other: signed('other', { by: 'authority', names: 'DNS:other.example' }),
      wild: signed('wild', { by: 'authority', names: 'DNS:*.wild.example' }),
      client: signed('client', { by: 'authority' }),
      version1: signed('version1', { by: 'authority', version1: true }),
      stranger: selfSigned('stranger'),
      strangersAuthority: selfSigned('strangersAuthority'),
      underStranger: signed('underStranger', { by: 'strangersAuthority' }),
    };
    openssl(
      'pkcs12',
      '-export',
      '-inkey',
      'server.key',
      '-in',
      'server.pem',
      '-out',
      'server.p12',
      '-passout',
      'pass:',
    );
    openssl(
      'pkcs8',
      '-topk8',
      '-in',
      'server.key',
      '-out',
      'locked.key',
      '-passout',
      'pass:secret',
    );
    made.pfx = readFileSync(join(folder, 'server.p12'));
    made.locked = { key: read('locked.key'), cert: made.server.cert, passphrase: 'secret' };
    return made;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
