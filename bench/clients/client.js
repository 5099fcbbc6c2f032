// Runs one client against a server, and measures both from outside.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { listDescendants, readCpuNs, readMachineBusySeconds } from '../harness/proc.js';
import { collect, end, errorLine, start } from '../harness/processes.js';
import { buildCommand, tools } from './tools.js';

const SAMPLE_MS = 50;
/** Time that a client may take beyond its duration, unless it needs more. */
const GRACE_SECONDS = 15;

/**
 * Runs the tool `name` with `load` on `cores`, samples `server` meanwhile, and returns
 * `{ command, startedNs, samples, server, serverCpuSeconds, cpuSeconds, wallSeconds, maxRssKb, others, said }`:
 * `server` is what the server did, `serverCpuSeconds` its CPU time, `cpuSeconds` and `maxRssKb` are those of the client and its
 * children, `others` is how many cores anything else on the machine used, `said` the tool's own words.
 */
export async function runClient(name, load, { cores, server, directory, observe = true }) {
  const usageFile = join(directory, 'usage');
  const command = buildCommand(name, load);
  const measured = ['time', '-q', '-o', usageFile, '-f', '%e %U %S %M', ...command.argv];
  const busyBefore = readMachineBusySeconds();
  const before = await server.sample();
  const startedNs = Number(process.hrtime.bigint());
  const child = start(measured, cores);
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const { results = [0], graceSeconds = GRACE_SECONDS, read } = tools[name];
  const limitMs = (load.seconds + graceSeconds) * 1000;
  const timer = setTimeout(() => end(child, 'SIGKILL'), limitMs);
  const samples = observe ? await sampleWhile(child, server) : [];
  const { code, signal } = await child.exited;
  clearTimeout(timer);
  const after = await server.sample();
  const busySeconds = readMachineBusySeconds() - busyBefore;
  const elapsedSeconds = (Number(process.hrtime.bigint()) - startedNs) / 1e9;
  if (signal) throw new Error(`still running after ${limitMs / 1000} s`);
  if (!results.includes(code) || stdout() === '') {
    throw new Error(`exit code ${code}, ${errorLine(stderr() || stdout())}`);
  }
  const usage = readFileSync(usageFile, 'utf8').trim().split(' ').map(Number);
  const [wallSeconds, user, system, maxRssKb] = usage;
  const cpuSeconds = user + system;
  const serverCpuSeconds = (after.serverCpuNs - before.serverCpuNs) / 1e9;
  return {
    command: command.text,
    startedNs,
    samples,
    server: subtract(before, after),
    serverCpuSeconds,
    wallSeconds,
    cpuSeconds,
    maxRssKb,
    others: Math.max(0, busySeconds - serverCpuSeconds - cpuSeconds) / elapsedSeconds,
    said: read(stdout()),
  };
}

async function sampleWhile(child, server) {
  const samples = [];
  let running = true;
  const stopped = child.exited.then(() => {
    running = false;
  });
  while (running) {
    const sample = await server.sample();
    const clientCpuNs = readCpuNsOfDescendants(child.pid);
    if (clientCpuNs !== null) samples.push({ ...sample, clientCpuNs });
    await Promise.race([stopped, delay(SAMPLE_MS)]);
  }
  return samples;
}

/** Reads the CPU time of the descendants of `pid`; null if one of them ended meanwhile. */
function readCpuNsOfDescendants(pid) {
  try {
    return readCpuNs(listDescendants(pid));
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return null;
    throw error;
  }
}

function subtract(before, after) {
  const { ns: _, serverCpuNs: __, ...counts } = after;
  return Object.fromEntries(
    Object.entries(counts).map(([key, value]) => [key, value - before[key]]),
  );
}
