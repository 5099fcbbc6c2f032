import type { NativeOrigin, NativeOutcome } from '../../native.js';

/** Errors of a server that waits for a handshake, or breaks off what is none. */
const SILENT = new Set(['closed-early', 'reset', 'timeout']);

/** Says so in the examples of errors where not a byte was answered because the server speaks TLS. */
export async function addTlsHint(outcome: NativeOutcome, origins: NativeOrigin[]): Promise<void> {
  const [origin, ...others] = origins;
  const { errors, bytes } = outcome;
  const isSilent = errors.length > 0 && errors.every(({ kind }) => SILENT.has(kind));
  if (bytes.received > 0 || !isSilent || !origin || others.length > 0) return;
  if (origin.tls || origin.unixPath !== undefined) return;
  // Few runs need it.
  const { speaksTls } = await import('../../process/discovery/trial-request.js');
  if (!(await speaksTls(origin))) return;
  for (const error of errors) error.example = 'the server speaks TLS: use https://';
}
