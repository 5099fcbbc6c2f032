import type { X509Certificate } from 'node:crypto';
import { nodeTls } from './node-tls.js';

/** What newer versions of `node:tls` have. */
interface ModernTls {
  getCACertificates?(type: 'default'): readonly string[];
  setDefaultCACertificates?(certificates: readonly unknown[]): void;
}

/** The authorities that Node trusts by default, from one change of them to the next. */
export interface DefaultAuthorities {
  /** PEM; read when they are first needed or about to change. */
  texts?: readonly string[];
  certificates?: X509Certificate[];
}

const OPENSSL_CA = /(?:^|\s)--use-openssl-ca(?:\s|$)/;

/** Node reads it at its start. */
const hasExtraFile = Boolean(process.env.NODE_EXTRA_CA_CERTS);
const usesOpenSsl = OPENSSL_CA.test(
  [...process.execArgv, process.env.NODE_OPTIONS ?? ''].join(' '),
);

let current: DefaultAuthorities = {};

/** Returns the authorities that a context without its own gets if it is created now. */
export function currentAuthorities(): DefaultAuthorities {
  return current;
}

/** Whether Node tells which authorities it trusts. */
export function areAuthoritiesKnown(): boolean {
  const { getCACertificates } = nodeTls() as ModernTls;
  return !usesOpenSsl && (getCACertificates !== undefined || !hasExtraFile);
}

/** Returns the texts of default authorities. */
export function readTexts(authorities: DefaultAuthorities): readonly string[] {
  const tls = nodeTls();
  authorities.texts ??= (tls as ModernTls).getCACertificates?.('default') ?? tls.rootCertificates;
  return authorities.texts;
}

/** Follows changes of the default authorities. As with Node, contexts that exist keep theirs. */
export function followAuthorities(): void {
  const tls = nodeTls() as ModernTls;
  const { setDefaultCACertificates } = tls;
  if (setDefaultCACertificates === undefined) return;
  tls.setDefaultCACertificates = function (this: unknown, ...args) {
    readTexts(current);
    const result = setDefaultCACertificates.apply(this, args);
    current = {};
    return result;
  };
  Object.defineProperty(tls.setDefaultCACertificates, 'name', {
    value: 'setDefaultCACertificates',
  });
}
