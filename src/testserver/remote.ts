import type { ChildProcess } from 'node:child_process';
import type { TestServerPlan } from './options.js';
import type { RunningServer } from './serve.js';

/** What is asked of a process that serves. */
export type ServerCommand = { serve: TestServerPlan } | { count: 'requests' };

/** What it tells: first that it can be asked, then an answer to each question, in order. */
export type ServerReport =
  | { ready: true }
  | { listening: { port: number | null; pids: number[] } }
  | { requests: number }
  | { error: { message: string; code?: string | undefined } };

/** Has a child process that runs `child.js` serve the plan. Rejects with the error of listening there. */
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
      // The loss of the channel is what ends the child, as when this process is killed.
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

/** A process that could not be started tells so by an error alone. */
function onExit(child: ChildProcess, listener: () => void): void {
  child.once('exit', listener).once('error', listener);
  // There may be more than one.
  child.on('error', () => {});
}

function toError(report: ServerReport): Error {
  const { message, code } = 'error' in report ? report.error : { message: 'unexpected report' };
  return Object.assign(new Error(message), { code });
}
