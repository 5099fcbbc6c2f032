import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { signalGroup, stopGroup } from './process-group.js';

/** Ends process groups when this process ends, however it ends. */
export interface GroupGuard {
  /** Guards another group. */
  add(group: number): void;
  /** Leaves the groups alone: they have ended. Resolves when nothing of the guard is left. */
  release(): Promise<void>;
}

/** Guards a process group: by the exit of this process, by signals to it, and by a shell that outlives it. */
export function guardGroup(first: number): GroupGuard {
  const groups = new Set([first]);
  const shell = process.platform === 'win32' ? null : startShell();
  shell?.write(`${first}\n`);
  if (guarded.size === 0) listen();
  guarded.add(groups);
  return {
    add(group) {
      groups.add(group);
      shell?.write(`${group}\n`);
    },
    async release() {
      guarded.delete(groups);
      if (guarded.size === 0) stopListening();
      await shell?.end();
    },
  };
}

/** The groups of each guard. */
const guarded = new Set<ReadonlySet<number>>();

function listGroups(): number[] {
  return [...guarded].flatMap((groups) => [...groups]);
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

function listen(): void {
  process.on('exit', onExit);
  // First, so that it knows whether there are others: a listener for once is removed before it is called.
  for (const signal of SIGNALS) process.prependListener(signal, onSignal);
}

function stopListening(): void {
  process.off('exit', onExit);
  for (const signal of SIGNALS) process.off(signal, onSignal);
}

function onExit(): void {
  for (const group of listGroups()) signalGroup(group, 'SIGKILL');
}

/**
 * Ends the groups before a signal ends this process. Where the application listens for the signal, it decides what happens;
 * libraries that end the process where nobody else listens must not count this listener. A second signal ends the process
 * at once.
 */
function onSignal(signal: NodeJS.Signals): void {
  stopListening();
  if (process.listenerCount(signal) > 0) {
    setImmediate(() => {
      if (guarded.size > 0) listen();
    });
    return;
  }
  const groups = listGroups();
  const stopped = Promise.all(groups.map((group) => stopGroup(group)));
  stopped.then(() => collectEnded(groups)).then(() => process.kill(process.pid, signal));
}

/** Waits until the ended processes are collected, so that none stays as a zombie: not every container's init does it. */
async function collectEnded(groups: number[]): Promise<void> {
  for (let turn = 0; turn < 20; turn++) {
    if (!groups.some((group) => signalGroup(group, 0))) return;
    await sleep(5);
  }
}

/**
 * Reads groups from its standard input, a line each. That ends with the process that holds its other end: by a signal,
 * SIGKILL too, or a crash. Then the groups get SIGTERM, and after 3 s SIGKILL.
 */
const SHELL = `trap '' INT TERM HUP
groups=
while read -r group; do groups="$groups -$group"; done
test "$groups" || exit 0
kill -s TERM -- $groups
for turn in 1 2 3; do
  sleep 1
  kill -s 0 -- $groups || exit 0
done
kill -s KILL -- $groups`;

/** Starts the shell, in a session of its own. It does not keep this process alive. Where there is none, nothing is done. */
function startShell(): { write(line: string): void; end(): Promise<void> } {
  const shell = spawn('/bin/sh', ['-c', SHELL], {
    cwd: '/',
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin' },
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const input = shell.stdin as Socket;
  const ended = new Promise<void>((resolve) => {
    shell.on('error', () => resolve());
    shell.on('exit', () => resolve());
  });
  input.on('error', () => {});
  shell.unref();
  input.unref();
  return {
    write: (line) => input.write(line),
    end() {
      shell.ref();
      shell.kill('SIGKILL');
      input.destroy();
      return ended;
    },
  };
}
