import { MillraceError } from './errors.js';

export type {
  NativeCsv,
  NativeDistribution,
  NativeHeader,
  NativeOrigin,
  NativeOutcome,
  NativePlan,
  NativeRequest,
  NativeRun,
  NativeSnapshot,
  NativeStage,
  NativeTls,
} from '../native/index.js';

type Native = typeof import('../native/index.js');

let loading: Promise<Native> | undefined;

/**
 * The native addon, loaded at the first call: what does not send requests does not need it.
 * Rejects with `ERR_MILLRACE_NATIVE` where it is missing.
 */
export function loadNative(): Promise<Native> {
  loading ??= import('../native/index.js').catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message.split('\n')[0] : String(cause);
    throw new MillraceError(
      'ERR_MILLRACE_NATIVE',
      `the native addon for ${platform()} is missing or cannot be loaded (${reason}); in a checkout build it with: npm run build`,
      { cause },
    );
  });
  return loading;
}

/** A self-signed certificate and its key, both PEM, for these names. */
export async function selfSignedCertificate(
  names: string[],
): Promise<{ cert: string; key: string }> {
  return (await loadNative()).selfSignedCertificate(names);
}

function platform(): string {
  const { platform, arch } = process;
  if (platform !== 'linux') return `${platform}-${arch}`;
  const report = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return `${platform}-${arch}-${report.header?.glibcVersionRuntime ? 'gnu' : 'musl'}`;
}
