import { X509Certificate } from 'node:crypto';
import { native } from './native.js';
import { isSelfSigned, issuerOf, type NativeContext } from './secure-context.js';

const RESUMED = 1;
const TLS13 = 2;

/** What a finished handshake has come to. */
export class Security {
  readonly protocol: string;
  readonly resumed: boolean;
  readonly #id: number;
  readonly #suite: number;
  readonly #context: NativeContext;
  #chain: X509Certificate[] | null = null;

  constructor(id: number, suite: number, flags: number, context: NativeContext) {
    this.#id = id;
    this.#suite = suite;
    this.#context = context;
    this.protocol = flags & TLS13 ? 'TLSv1.3' : 'TLSv1.2';
    this.resumed = (flags & RESUMED) !== 0;
  }

  get cipher() {
    const [name, standardName] = SUITES.get(this.#suite) ?? ['', ''];
    return { name, standardName, version: this.protocol };
  }
  /** The server's own certificate. */
  get own(): X509Certificate | undefined {
    return this.#context.certificates[0];
  }
  get authorities(): X509Certificate[] {
    return this.#context.authorities;
  }
  /** The client's certificates as it has sent them. To be asked for while the connection lives. */
  get chain(): X509Certificate[] {
    this.#chain ??= native.stackCertificates(this.#id).map((der) => new X509Certificate(der));
    return this.#chain;
  }

  /** In the form of `tls.TLSSocket.getPeerCertificate`; `detailed`: with those that it leads to. */
  peer(detailed: boolean): object {
    const [certificate, ...others] = this.chain;
    if (!certificate) return {};
    const known = [...others, ...this.authorities];
    const result = legacy(certificate);
    for (let [last, at] = [certificate, result]; detailed; ) {
      if (isSelfSigned(last)) {
        at.issuerCertificate = at;
        break;
      }
      const issuer = issuerOf(last, known);
      if (!issuer) break;
      at.issuerCertificate = legacy(issuer);
      last = issuer;
      at = at.issuerCertificate;
    }
    return result;
  }
}

interface Legacy {
  issuerCertificate?: Legacy;
}

export function legacy(certificate: X509Certificate): Legacy {
  return certificate.toLegacyObject() as unknown as Legacy;
}

/** OpenSSL's names and the standard ones. */
const SUITES = new Map([
  [0x1301, ['TLS_AES_128_GCM_SHA256', 'TLS_AES_128_GCM_SHA256']],
  [0x1302, ['TLS_AES_256_GCM_SHA384', 'TLS_AES_256_GCM_SHA384']],
  [0x1303, ['TLS_CHACHA20_POLY1305_SHA256', 'TLS_CHACHA20_POLY1305_SHA256']],
  [0xc02b, ['ECDHE-ECDSA-AES128-GCM-SHA256', 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256']],
  [0xc02c, ['ECDHE-ECDSA-AES256-GCM-SHA384', 'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384']],
  [0xc02f, ['ECDHE-RSA-AES128-GCM-SHA256', 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256']],
  [0xc030, ['ECDHE-RSA-AES256-GCM-SHA384', 'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384']],
  [0xcca8, ['ECDHE-RSA-CHACHA20-POLY1305', 'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256']],
  [0xcca9, ['ECDHE-ECDSA-CHACHA20-POLY1305', 'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256']],
]);
