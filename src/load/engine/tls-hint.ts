import type { NativeOrigin, NativeOutcome, NativePlan } from '../../native/addon.js';

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

/** Returns the error of a run that could not connect, with a hint if the server did not say a word of HTTP/2 because it speaks TLS. */
export async function addTlsHintToError(
  error: unknown,
  { origins, http2 }: Pick<NativePlan, 'origins' | 'http2'>,
): Promise<unknown> {
  const [origin, ...others] = origins;
  if (
    !(error instanceof Error) ||
    !origin ||
    !(http2?.cleartext || origin.http2) ||
    others.length > 0
  )
    return error;
  if (origin.unixPath !== undefined || !/SETTINGS frame/.test(error.message)) return error;
  const { speaksTls } = await import('../../process/listening/trial-request.js');
  if (await speaksTls(origin)) {
    error.message = error.message.replace(
      /: (?:the server closed|no SETTINGS).*/,
      `: the server speaks TLS: use https://${origin.http2 ? '' : ' and --http2'}`,
    );
  }
  return error;
}
