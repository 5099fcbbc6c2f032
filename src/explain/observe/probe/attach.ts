import { once } from 'node:events';
import { readlinkSync } from 'node:fs';
import { get } from 'node:http';
import { basename } from 'node:path';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type MillraceError, usageError } from '../../../errors/millrace-error.js';
import type { ProbeOptions } from '../../../probe/agent.cjs';
import { findAcceptingProcesses } from '../../../process/listening/accepting-processes.js';
import { findListeningSockets } from '../../../process/listening/port-owners.js';
import type { Endpoint } from '../../../process/listening/types.js';
import { readText } from '../../../process/procfs/procfs.js';
import { CdpClient } from './cdp-client.js';
import type { ProbeHub } from './hub.js';

const PROBE = fileURLToPath(new URL('../../../probe/agent.cjs', import.meta.url));
/** The port on which Node.js opens its debugger on SIGUSR1, unless configured otherwise. */
export const DEBUGGER_PORT = 9229;
const TIMEOUT_MS = 5000;
const POLL_MS = 20;
const REQUEST_TIMEOUT_MS = 500;
/** Bit in the signal mask, see proc_pid_status(5). */
const SIGUSR1 = 1n << 9n;

/**
 * Attaches the probe to a running server: to its process, or to the processes that accept its connections, such as the
 * workers of a cluster. Processes are attached one at a time, since all may open their debuggers on the same port. A
 * cluster's primary process is left out: Node.js would open the debuggers of all its workers, including those of other
 * servers.
 *
 * Returns the reason for each process that could not get the probe. Workers that are forked later have no probe either.
 *
 * @param isObserver whether the probes only observe, in production
 * @throws {MillraceError} `ERR_MILLRACE_USAGE` with the reason, if no process can get it.
 */
export async function attachProbes(
  server: number,
  endpoint: Endpoint | null,
  hub: ProbeHub,
  signal: AbortSignal,
  isObserver = false,
): Promise<string[]> {
  const pids = await findAcceptingProcesses(server, endpoint, signal);
  if (pids === null) {
    throw createAttachError(server, 'the workers of its cluster that serve the port are unknown');
  }
  const failures: Error[] = [];
  for (const pid of pids) {
    await attachProbe(pid, hub, isObserver).catch((error: Error) => failures.push(error));
  }
  const [first] = failures;
  if (first && failures.length === pids.length) throw first;
  return failures.map(({ message }) => message);
}

/**
 * Attaches the probe to a running process: SIGUSR1 makes Node.js open its debugger on 127.0.0.1, the probe is loaded
 * through it, and the debugger is closed again. Resolves when the probe is connected.
 *
 * @throws {MillraceError} `ERR_MILLRACE_USAGE` with the reason, if it fails.
 */
export async function attachProbe(pid: number, hub: ProbeHub, isObserver = false): Promise<void> {
  const fail = (reason: string) => createAttachError(pid, reason);
  checkTarget(pid, fail);
  if (await findDebuggerUrl(DEBUGGER_PORT)) {
    throw fail(`another debugger is open on port ${DEBUGGER_PORT}`);
  }
  const before = findListeningPorts(pid);
  try {
    process.kill(pid, 'SIGUSR1');
  } catch (error) {
    throw fail(describeError(error));
  }
  const url = await waitForDebugger(pid, before);
  if (!url) throw fail('its debugger did not open');
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const joined = waitForHello(hub, pid, signal);
  // Its rejection matters only if nothing failed before.
  joined.catch(() => {});
  try {
    const options: ProbeOptions = { isRunning: true, isObserver };
    await loadProbe(pid, url, { channel: hub.path, options }, signal);
    await joined;
  } catch (error) {
    throw fail(signal.aborted ? 'the probe did not answer' : (error as Error).message);
  }
}

function createAttachError(pid: number, reason: string): MillraceError {
  return usageError(`cannot attach the probe to process ${pid}: ${reason}`);
}

/** Checks that the process handles SIGUSR1, which would end it otherwise. */
function checkTarget(pid: number, fail: (reason: string) => MillraceError): void {
  if (process.platform !== 'linux') throw fail(`not supported on ${process.platform}`);
  let program: string;
  try {
    program = basename(readlinkSync(`/proc/${pid}/exe`));
  } catch (error) {
    throw fail(describeError(error));
  }
  if (!/^node/.test(program)) throw fail(`it is ${program}, not node`);
  const caught = /^SigCgt:\s*([\da-f]+)/m.exec(readText(`/proc/${pid}/status`) ?? '')?.[1];
  if ((BigInt(`0x${caught ?? 0}`) & SIGUSR1) === 0n) {
    throw fail('it does not handle SIGUSR1 (was it started with --disable-sigusr1?)');
  }
}

function describeError(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  const reasons: Record<string, string> = {
    ENOENT: 'there is no such process',
    ESRCH: 'there is no such process',
    EACCES: 'not permitted',
    EPERM: 'not permitted',
  };
  return reasons[code] ?? message;
}

/** Returns the WebSocket URL of the debugger on a port; `null` if there is none. */
async function findDebuggerUrl(port: number): Promise<string | null> {
  try {
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    const asked = get({ host: '127.0.0.1', port, path: '/json/list', agent: false, signal });
    const [response] = await once(asked, 'response');
    const [target] = (await json(response)) as { webSocketDebuggerUrl?: string }[];
    const url: unknown = target?.webSocketDebuggerUrl;
    return typeof url === 'string' && /^ws:/.test(url) ? url : null;
  } catch {
    return null;
  }
}

/** Waits for the debugger on a new port: `--inspect-port` may change the default. */
async function waitForDebugger(pid: number, before: Set<number>): Promise<string | null> {
  const until = performance.now() + TIMEOUT_MS;
  while (performance.now() < until) {
    for (const port of findListeningPorts(pid)) {
      const url = before.has(port) ? null : await findDebuggerUrl(port);
      if (url) return url;
    }
    await sleep(POLL_MS);
  }
  return null;
}

function findListeningPorts(pid: number): Set<number> {
  return new Set(findListeningSockets(pid).map(({ port }) => port));
}

async function waitForHello(hub: ProbeHub, pid: number, signal: AbortSignal): Promise<void> {
  while (!hub.processes.some((hello) => hello.pid === pid)) {
    await once(hub.events, 'hello', { signal });
  }
}

async function loadProbe(
  pid: number,
  url: string,
  { channel, options }: { channel: string; options: ProbeOptions },
  signal: AbortSignal,
): Promise<void> {
  const client = await CdpClient.connect(url, signal);
  try {
    signal.addEventListener('abort', () => client.close());
    const own = await evaluate(client, 'process.pid');
    if (own !== readNamespacePid(pid)) throw new Error(`the debugger belongs to process ${own}`);
    const how = [channel, options].map((one) => JSON.stringify(one)).join(', ');
    try {
      const connect = `require(${JSON.stringify(PROBE)}).connectProbe(${how})`;
      await evaluate(client, `${connect}; undefined`);
    } finally {
      // Closing the debugger ends this connection. Node.js 20 may crash if the connection ends from this side
      // meanwhile.
      await evaluate(client, "setImmediate(require('node:inspector').close); undefined");
      await client.ended;
    }
  } finally {
    client.close();
  }
}

/** Reads the id that a process has in its own namespace. */
function readNamespacePid(pid: number): number {
  const namespaces = /^NSpid:\s*(.*)$/m.exec(readText(`/proc/${pid}/status`) ?? '')?.[1];
  return Number(namespaces?.split('\t').at(-1) ?? pid);
}

async function evaluate(client: CdpClient, expression: string): Promise<unknown> {
  const { result, exceptionDetails } = (await client.call('Runtime.evaluate', {
    expression,
    includeCommandLineAPI: true,
    returnByValue: true,
  })) as {
    result?: { value?: unknown };
    exceptionDetails?: { text: string; exception?: { description?: string } };
  };
  if (exceptionDetails) {
    const [line] = (exceptionDetails.exception?.description ?? exceptionDetails.text).split('\n');
    throw new Error(line);
  }
  return result?.value;
}
