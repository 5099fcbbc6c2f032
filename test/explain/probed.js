// The service of fixtures/probe with the probe in it, driven by requests of known numbers.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { Agent, createServer, get } from 'node:http';
import { fileURLToPath } from 'node:url';
import { openProbeHub } from '../../dist/explain/probe.js';

const SERVICE = fileURLToPath(new URL('../fixtures/probe/service.mjs', import.meta.url));
/** What runs a service on millrace's own stack. */
export const STACK = new URL('../../dist/http/register.js', import.meta.url).href;
export const PATIENCE_MS = 20_000;

/** Runs the service, drives it, and returns what the probe saw of that time. */
export async function observe(paths, { env = {}, ...how }) {
  let view;
  await served({ env }, async ({ drive }) => {
    // What is compiled and loaded at first is no part of it.
    await drive(paths, { connections: 1, requests: 4 });
    view = await drive(paths, how);
  });
  return view;
}

/** Runs the service with a hub for the time of `use`. */
export async function served({ args = [], env = {}, probed = true }, use) {
  const hub = await openProbeHub();
  const all = { ...process.env, ...env };
  const child = spawn(process.execPath, [...args, SERVICE], {
    env: probed ? hub.environment(all) : all,
    stdio: ['ignore', 'pipe', probed ? 'inherit' : 'ignore', 'ipc'],
  });
  let written = '';
  child.stdout.on('data', (chunk) => {
    written += chunk;
  });
  try {
    const [{ port, beside }] = await once(child, 'message');
    // Its line to here is another: the one may be faster than the other.
    while (probed && hub.processes.length === 0) await once(hub.events, 'hello', patience());
    await use({
      hub,
      port,
      beside,
      child,
      drive: (paths, how) => drive(hub, port, paths, how),
      driveBeside: (paths, how) => drive(hub, beside, paths, how),
      async output(enough = () => true) {
        while (!enough(written)) await once(child.stdout, 'data', patience());
        return written;
      },
    });
  } finally {
    if (child.exitCode === null && child.signalCode === null) {
      const gone = once(child, 'exit');
      child.disconnect();
      child.kill('SIGKILL');
      await gone;
    }
    if (existsSync(hub.path)) await hub.close();
  }
}

/** Sends requests over so many connections at a time; returns what the probe saw of that time. */
async function drive(hub, port, paths, { connections, requests, samples = true }) {
  const list = [paths].flat();
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  if (samples) await hub.sampledAfter(performance.now(), PATIENCE_MS);
  const from = performance.now();
  let next = 0;
  const one = async () => {
    while (next < requests) await request(port, list[next++ % list.length], agent);
  };
  await Promise.all(Array.from({ length: connections }, one));
  const to = performance.now();
  agent.destroy();
  if (samples) await hub.sampledAfter(to, PATIENCE_MS);
  return hub.between(from, to);
}

export function request(port, path, agent = false) {
  return new Promise((resolve, reject) => {
    const sent = get({ host: '127.0.0.1', port, path, agent }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    });
    sent.on('error', reject);
  });
}

/** A server that takes 20 ms, and knows how many requests it has at once. */
export async function withDependency(use) {
  let now = 0;
  const looks = new Set();
  const changed = (by) => {
    now += by;
    dependency.most = Math.max(dependency.most, now);
    for (const look of looks) look(now);
  };
  const when = (wanted) =>
    new Promise((resolve) => {
      const look = (count) => {
        if (!wanted(count)) return;
        looks.delete(look);
        resolve();
      };
      looks.add(look);
    });
  const dependency = {
    most: 0,
    reaches: (count) => when((now) => now >= count),
    /** The next to come finds fewer. */
    falls: (count) => when((now) => now < count),
  };
  const server = createServer((_, response) => {
    changed(1);
    setTimeout(() => {
      changed(-1);
      response.end('answer');
    }, 20);
  });
  // It ends no connection itself: who has one too many has to.
  server.keepAliveTimeout = 600_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await use(`http://127.0.0.1:${server.address().port}`, dependency);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

export function patience() {
  return { signal: AbortSignal.timeout(PATIENCE_MS) };
}

export function notLinux() {
  return process.platform === 'linux' ? false : 'needs /proc';
}

export function near(value, expected, share) {
  assert.ok(Math.abs(value - expected) <= expected * share, `${value}, not about ${expected}`);
}
