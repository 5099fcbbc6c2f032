import { readFileSync } from 'node:fs';
import { fileErrorReason } from '../../errors/file-errors.js';
import { selectPem } from '../../validation/pem.js';
import { type CertificateOptions, readPemCertificates } from './certificates.js';

/** Authorities that are trusted beside the system's: PEM, `null` without any; and why those that were named are not. */
export interface ExtraAuthorities {
  pem: Buffer | null;
  error: string | null;
}

export const NO_EXTRA: ExtraAuthorities = { pem: null, error: null };

/**
 * Reads the file that NODE_EXTRA_CA_CERTS names, unless the options name authorities. As with Node, a file that cannot be
 * used is no error: it is left out, with a warning.
 */
export function readExtraAuthorities(options: CertificateOptions): ExtraAuthorities {
  const path = process.env.NODE_EXTRA_CA_CERTS;
  if (!path || selectPem('ca', options) !== null) return NO_EXTRA;
  const refuse = (why: string) => ({
    pem: null,
    error: `The authorities of NODE_EXTRA_CA_CERTS are not trusted: '${path}' ${why}.`,
  });
  try {
    const pem = readPemCertificates(readFileSync(path));
    return pem === null ? refuse('contains no certificate in PEM') : { pem, error: null };
  } catch (error) {
    return refuse(`cannot be read: ${fileErrorReason(error)}`);
  }
}
