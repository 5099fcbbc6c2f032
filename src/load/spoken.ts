import type { NativeOrigin, NativeOutcome } from '../native.js';

/** Errors of a server that waits for a handshake, or breaks off what is none. */
const SILENT = new Set(['closed-early', 'reset', 'timeout']);

/** As long as a server may take for its half of a handshake. */
const PATIENCE_MS = 1000;

/** Says so in the examples of errors where not a byte was answered because the server speaks TLS. */
export async function nameTls(outcome: NativeOutcome, origins: NativeOrigin[]): Promise<void> {
  const [origin, ...others] = origins;
  const { errors, bytes } = outcome;
  const isSilent = errors.length > 0 && errors.every(({ kind }) => SILENT.has(kind));
  if (bytes.received > 0 || !isSilent || !origin || others.length > 0) return;
  if (origin.tls || origin.unixPath !== undefined) return;
  if (!(await speaksTlsSoon(origin))) return;
  for (const error of errors) error.example = 'the server speaks TLS: use https://';
}

async function speaksTlsSoon({ host, port }: NativeOrigin): Promise<boolean> {
  const { speaksTls } = await import('../process/answer.js');
  let timer: NodeJS.Timeout | undefined;
  // Its socket does not keep the process alive; the timer does.
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, PATIENCE_MS, false);
  });
  try {
    return await Promise.race([speaksTls({ host, port }), late]);
  } finally {
    clearTimeout(timer);
  }
}
