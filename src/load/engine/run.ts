import { usageError } from '../../errors.js';
import type { Endpoint } from '../../process/discovery/types.js';
import { checkOptions } from '../../validation/shape.js';
import { DEFAULTS } from '../defaults.js';
import { LOAD_OPTIONS } from '../option-schema.js';
import type { LoadOptions } from '../options.js';
import { buildPlan, buildTrialRequest, type Plan } from '../plan/plan.js';
import { measure, type TimedResult } from './measure.js';
import { Snapshots } from './snapshots.js';

/** What a run may be told beyond the options of `load()`. */
export interface RunSettings {
  /** Receives the run's progress. */
  snapshots?: Snapshots;
  /**
   * An experiment of `explain`: an empty line is sent when the first part of a response has arrived and the rest has not. It
   * carries the acknowledgement that a server with Nagle's algorithm waits for. Default `false`; refused where connections
   * are not kept.
   */
  earlyAckProbe?: boolean;
  /** Another server of the same kind: half of the connections go there, with the same requests. */
  secondEndpoint?: Endpoint;
}

/** Carries a run out, its command's server included; rejects as `load()` does. */
export async function runLoad(
  options: LoadOptions,
  settings: RunSettings = {},
): Promise<TimedResult> {
  checkOptions(options, LOAD_OPTIONS);
  const { command, signal } = options;
  const { snapshots = new Snapshots(), earlyAckProbe = false, secondEndpoint } = settings;
  signal?.throwIfAborted();
  const planFor = async (server?: string) => {
    const plan = addEarlyAckProbe(await buildPlan(options, server), earlyAckProbe);
    return secondEndpoint ? addSecondEndpoint(plan, secondEndpoint) : plan;
  };
  if (!command) return measure({ options, plan: await planFor(), command: null, snapshots });

  // What cannot be run is refused before anything is started, though the port may not be known yet.
  const draft = await planFor('http://localhost');
  const { startCommand } = await import('../../process/command/start-command.js');
  const server = await startCommand(command, {
    timeoutMs: DEFAULTS.commandTimeoutMs,
    ...(draft.toCommand ? { trial: buildTrialRequest(draft) } : { port: readPort(draft) }),
    ...(signal && { signal }),
  });
  try {
    const plan = draft.toCommand ? await planFor(server.origin) : draft;
    return await measure({ options, plan, command: server, snapshots });
  } finally {
    await server.stop();
  }
}

function addEarlyAckProbe(plan: Plan, nudge: boolean): Plan {
  return { ...plan, native: { ...plan.native, nudge } };
}

/** Each request once more for the other server; what it says of its host stays. */
function addSecondEndpoint(plan: Plan, { host, port }: Endpoint): Plan {
  const { origins, requests } = plan.native;
  const others = origins.map(({ unixPath, ...origin }) => ({ ...origin, host, port }));
  const shifted = requests.map((it) => ({ ...it, origin: it.origin + origins.length }));
  return {
    ...plan,
    native: {
      ...plan.native,
      origins: [...origins, ...others],
      requests: [...requests, ...shifted],
    },
  };
}

function readPort({ native }: Plan): number {
  const origin = native.origins[0];
  if (origin && origin.unixPath === undefined) return origin.port;
  throw usageError(
    'a command cannot be combined with a Unix socket: its server must listen on a TCP port',
  );
}
