// Flags for handshakes, and for the certificates that are accepted and presented.
import { DEFAULTS } from '../../../load/defaults.js';
import type { Flag } from '../flag.js';
import { storeIn } from '../kinds.js';
import { type Invocation, TLS_MODES } from './invocation.js';

const { text, toggle } = storeIn(({ options }: Invocation) => options);
const invocation = storeIn((invocation: Invocation) => invocation);

export const TLS_FLAGS: readonly Flag<Invocation>[] = [
  invocation.choice('tls', 'tls', TLS_MODES, {
    common: true,
    fallback: `${DEFAULTS.connection}, with --connection close ${DEFAULTS.handshake}`,
    help: 'keep-alive, or for each request: resume, full',
    details:
      'keep-alive: one handshake per connection; resume: --connection close, where each connection resumes a session; full: the same with a full handshake. Only for https:// URLs.',
  }),
  toggle('insecure', 'insecure', true, {
    short: 'k',
    aliases: ['insecure-skip-tls-verify'],
    common: true,
    help: 'accept any certificate',
    details: 'Without the flag the certificate is verified. The report says if it was not.',
  }),
  text('ca', 'caFile', {
    aliases: ['cacert'],
    value: 'FILE',
    help: "trust these authorities instead of the system's (PEM, DER)",
  }),
  text('cert', 'certFile', {
    value: 'FILE',
    help: 'client certificate (PEM, DER, PKCS #12)',
    details: 'With --key, unless the file also contains the key.',
  }),
  text('key', 'keyFile', {
    value: 'FILE',
    help: "the client certificate's key (PEM, DER)",
  }),
  text('passphrase', 'passphrase', {
    aliases: ['pass'],
    value: 'TEXT',
    help: 'passphrase of an encrypted key',
    details:
      'Without the flag millrace asks for it at a terminal. It also opens a PKCS #12 file of --ca.',
  }),
  text('sni', 'sni', {
    aliases: ['servername'],
    value: 'NAME',
    help: "server name for TLS instead of the URL's host",
  }),
];
