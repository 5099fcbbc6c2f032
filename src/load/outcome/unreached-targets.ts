import { lookup } from 'node:dns/promises';
import { isIP, isIPv6 } from 'node:net';
import type { NativeOrigin, NativeOutcome } from '../../native/addon.js';
import type { Plan } from '../plan/plan.js';

/** Targets of one server that could not be connected to, while others could. */
export interface UnreachedTargets {
  /** Method and URL, as in `GET http://localhost:3001/b`. */
  targets: string[];
  /** The server's addresses, all tried. */
  addresses: string[];
  /** The message of the first error, with its address; `null` if it was not kept. */
  reason: string | null;
}

/** Finds the servers that were not reached in set-up, in a run with several. */
export async function findUnreachedTargets(
  { addresses, refusedAddresses, errors }: NativeOutcome,
  { native, summary }: Plan,
): Promise<UnreachedTargets[]> {
  const { origins, requests } = native;
  // With a second server of explain each target occurs twice.
  const isEachOnce = requests.length === summary.targets.length;
  if (refusedAddresses.length === 0 || origins.length < 2 || !isEachOnce) return [];
  const refusedOf = await Promise.all(
    origins.map(async (origin) => {
      const all = await resolveOrigin(origin);
      const isUsed = all.some((address) => addresses.includes(address));
      return isUsed ? [] : all.filter((address) => refusedAddresses.includes(address));
    }),
  );
  return refusedOf.flatMap((refused, index) => {
    if (refused.length === 0) return [];
    const targets = summary.targets.filter((_, target) => requests[target]?.origin === index);
    const example = errors.find(({ example }) => refused.some((it) => example?.startsWith(it)));
    return {
      targets: targets.map(({ method, url }) => `${method} ${url}`),
      addresses: refused,
      reason: example?.example ?? null,
    };
  });
}

/** Resolves all addresses of a server, in the engine's notation. */
async function resolveOrigin(origin: NativeOrigin): Promise<string[]> {
  const { host, otherHosts = [], port, unixPath } = origin;
  if (unixPath !== undefined) return [`unix:${unixPath}`];
  const found = await Promise.all([host, ...otherHosts].map(resolveHost));
  return found.flat().map((it) => (isIPv6(it) ? `[${it}]:${port}` : `${it}:${port}`));
}

const LOCALHOST = /^(?:.+\.)?localhost\.?$/i;

async function resolveHost(host: string): Promise<string[]> {
  if (isIP(host)) return [host];
  // The engine tries both of this host.
  if (LOCALHOST.test(host)) return ['127.0.0.1', '::1'];
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address);
  } catch {
    return []; // The engine resolved the name a moment ago; without its addresses nothing can be compared.
  }
}
