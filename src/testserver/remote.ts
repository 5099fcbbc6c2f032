import type { ChildProcess } from 'node:child_process';
import type { TestServerPlan } from './options.js';
import type { RunningServer } from './serve.js';

/** A command to a process that serves. */
export type ServerCommand = { serve: TestServerPlan } | { count: 'requests' };

/** A message from a process that serves: first that it is ready, then the reply to each command, in order. */
export type ServerReport =
  | { ready: true }
  | { listening: { port: number | null; pids: number[] } }
  | { requests: number }
  | { error: { message: string; code?: string | undefined } };

/** Lets a child process that runs `child.js` serve the plan. Rejects with the error of listening there. */
export async function serveInChild(
  child: ChildProcess,
  plan: TestServerPlan,
): Promise<RunningServer> {
  const exited = new Promise<void>((resolve) => onExit(child, resolve));
  const { nextReport, send } = openChannel(child);
  await nextReport();
  const report = await send({ serve: plan });
  if (!('listening' in report)) {
    child.kill('SIGKILL');
    await exited;
    throw toError(report);
  }
  return {
    ...report.listening,
    exited,
    async requests() {
      const report = await send({ count: 'requests' });
      if ('requests' in report) return report.requests;
      throw toError(report);
    },
    async close() {
      // The child ends when it loses the channel, as it does when this process is killed.
      if (child.connected) child.disconnect();
      const killTimer = setTimeout(() => child.kill('SIGKILL'), 3000);
      await exited;
      clearTimeout(killTimer);
    },
  };
}

const ENDED: ServerReport = { error: { message: 'a process of the test server has ended' } };

interface ReportChannel {
  nextReport(): Promise<ServerReport>;
  send(question: ServerCommand): Promise<ServerReport>;
}

function openChannel(child: ChildProcess): ReportChannel {
  const waiting: ((report: ServerReport) => void)[] = [];
  child.on('message', (report: ServerReport) => waiting.shift()?.(report));
  onExit(child, () => {
    for (const receive of waiting) receive(ENDED);
  });
  return {
    nextReport: () => new Promise((resolve) => waiting.push(resolve)),
    send(question) {
      return new Promise((resolve) => {
        waiting.push(resolve);
        child.send(question, (error) => {
          if (error) resolve(ENDED);
        });
      });
    },
  };
}

/** Calls `listener` when the process ends. A process that could not be started only emits an error. */
function onExit(child: ChildProcess, listener: () => void): void {
  child.once('exit', listener).once('error', listener);
  // Further errors must not be uncaught.
  child.on('error', () => {});
}

function toError(report: ServerReport): Error {
  const { message, code } = 'error' in report ? report.error : { message: 'unexpected report' };
  return Object.assign(new Error(message), { code });
}
