import type { NativeOrigin, NativeOutcome } from '../../native/addon.js';

/** Kinds of errors when a server waits for a TLS handshake, or closes because it got something else. */
const SILENT = new Set(['closed-early', 'reset', 'timeout']);

/** Replaces the examples of errors by a hint if the server sent nothing because it speaks TLS. */
export async function addTlsHint(outcome: NativeOutcome, origins: NativeOrigin[]): Promise<void> {
  const [origin, ...others] = origins;
  const { errors, bytes } = outcome;
  const isSilent = errors.length > 0 && errors.every(({ kind }) => SILENT.has(kind));
  if (bytes.received > 0 || !isSilent || !origin || others.length > 0) return;
  if (origin.tls || origin.unixPath !== undefined) return;
  // Loaded late, as few runs need it.
  const { speaksTls } = await import('../../process/listening/trial-request.js');
  if (!(await speaksTls(origin))) return;
  for (const error of errors) error.example = 'the server speaks TLS: use https://';
}
