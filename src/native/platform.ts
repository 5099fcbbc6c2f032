import { readFileSync } from 'node:fs';

/** This platform, as addons are named: `linux-x64-gnu`. */
export function platformName(): string {
  const { platform, arch } = process;
  if (platform === 'win32') return `win32-${arch}-msvc`;
  if (platform !== 'linux') return `${platform}-${arch}`;
  return `linux-${arch}-${usesMusl() ? 'musl' : 'gnu'}`;
}

/** The platforms that every release has an addon for. */
export function supportedPlatforms(): string[] {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { napi } = JSON.parse(manifest) as { napi: { targets: string[] } };
  return napi.targets.map(nameOfTarget);
}

/** Which C library this is, its files tell. Node's report knows it, too, and takes ten milliseconds. */
function usesMusl(): boolean {
  try {
    return readFileSync('/proc/self/maps', 'utf8').includes('/ld-musl-');
  } catch {
    return false;
  }
}

const NODES: Record<string, string> = { x86_64: 'x64', aarch64: 'arm64', windows: 'win32' };

/** A target of Rust, as addons are named: `aarch64-apple-darwin` is `darwin-arm64`. */
function nameOfTarget(target: string): string {
  const [cpu = '', , system = '', abi] = target.split('-');
  const name = `${NODES[system] ?? system}-${NODES[cpu] ?? cpu}`;
  return abi ? `${name}-${abi}` : name;
}
