import type { X509Certificate } from 'node:crypto';
import { native } from '../reactor/native.js';
import { SUITES } from './cipher-suites.js';
import { nodeCrypto } from './node-tls.js';
import { isSelfSigned, issuerOf, type NativeContext } from './secure-context.js';

const RESUMED = 1;
const TLS13 = 2;

/** The result of a finished handshake. */
export class Security {
  readonly protocol: string;
  readonly resumed: boolean;
  readonly #id: number;
  readonly #suite: number;
  readonly #context: NativeContext | null;
  #chain: X509Certificate[] | null = null;

  constructor(id: number, suite: number, flags: number, context: NativeContext | null) {
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
    return this.#context?.certificates[0];
  }
  get authorities(): X509Certificate[] {
    return this.#context?.authorities ?? [];
  }
  /** The client's certificates as it sent them; available only while the connection is open. */
  get chain(): X509Certificate[] {
    const { X509Certificate } = nodeCrypto();
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
