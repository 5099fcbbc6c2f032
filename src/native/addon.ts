import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { MillraceError } from '../errors/millrace-error.js';
import { platformName, supportedPlatforms } from './platform.js';

export type {
  NativeBound,
  NativeCacheEntry,
  NativeCacheStatistics,
  NativeCheck,
  NativeCsv,
  NativeDistribution,
  NativeDurations,
  NativeFlowOutcome,
  NativeFlows,
  NativeHeader,
  NativeHookCall,
  NativeHookResponse,
  NativeHookResult,
  NativeIterationCounts,
  NativeKeptResponse,
  NativeNameCounts,
  NativeNameStats,
  NativeOrigin,
  NativeOutcome,
  NativePkcs12,
  NativePlan,
  NativeRequest,
  NativeRun,
  NativeSave,
  NativeScenarioOutcome,
  NativeSnapshot,
  NativeSource,
  NativeStage,
  NativeStep,
  NativeStepOutcome,
  NativeTimes,
  NativeTls,
  NativeTracedStep,
  NativeUnfinished,
} from '../../native/index.js';
export { platformName } from './platform.js';

export type Native = typeof import('../../native/index.js');

const require = createRequire(import.meta.url);

let loaded: Native | undefined;

/**
 * The native addon, loaded at the first call: what does not send requests does not need it.
 * Throws `ERR_MILLRACE_NATIVE` where it is missing or cannot be loaded.
 */
export function loadNative(): Native {
  loaded ??= load();
  return loaded;
}

/** A self-signed certificate and its key, both PEM, for these names. */
export async function selfSignedCertificate(
  names: string[],
): Promise<{ cert: string; key: string }> {
  return loadNative().selfSignedCertificate(names);
}

function load(): Native {
  const platform = platformName();
  try {
    return requireAddon(platform);
  } catch (cause) {
    throw new MillraceError('ERR_MILLRACE_NATIVE', lack(platform, cause), { cause });
  }
}

/** Returns the path of the addon's file. */
export function locateAddon(): string {
  const platform = platformName();
  try {
    return require.resolve(`../../native/millrace.${platform}.node`);
  } catch {
    return require.resolve(packageFor(platform));
  }
}

/** From a checkout, where it is built, or from the package for this platform. */
function requireAddon(platform: string): Native {
  try {
    return require(`../../native/millrace.${platform}.node`) as Native;
  } catch (error) {
    if (!isMissing(error)) throw error;
    return require(packageFor(platform)) as Native;
  }
}

function packageFor(platform: string): string {
  return `@millrace/native-${platform}`;
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND';
}

/** Why there is no addon, and how to install one. */
function lack(platform: string, cause: unknown): string {
  if ((cause as NodeJS.ErrnoException).code === 'ERR_DLOPEN_DISABLED') {
    return 'no addon may be loaded here (--no-addons, or the permission model without --allow-addons)';
  }
  const isCheckout = existsSync(new URL('../../crates', import.meta.url));
  if (!isMissing(cause)) {
    const reason = cause instanceof Error ? cause.message.split('\n')[0] : String(cause);
    const again = isCheckout ? '; npm run build rebuilds it' : '';
    return `the native addon for ${platform} cannot be loaded (${reason})${again}`;
  }
  if (isCheckout) return `the native addon for ${platform} is missing; npm run build makes it`;
  const supported = supportedPlatforms();
  return supported.includes(platform)
    ? `the native addon for ${platform} is missing; npm install without --omit=optional installs ${packageFor(platform)}`
    : `there is no native addon for ${platform}, but for ${supported.join(', ')}`;
}
