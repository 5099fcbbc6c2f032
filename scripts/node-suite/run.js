// Runs tests of Node.js, each in a process of its own.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readStatistics } from './statistics.js';
import { parseMajor } from './tests.js';

/** Time limit: twice the time of the slowest test. */
const TIME_LIMIT_MS = 30_000;
/** Length of the end of a test's output that is kept. */
const OUTPUT_CHARACTERS = 64 * 1024;
const ERROR_CHARACTERS = 200;
/** Variables of the developer's shell that change what Node.js does. */
const FOREIGN = /^NODE_|_proxy$/i;

/**
 * Runs tests, the sequential ones last and one at a time, and resolves to a result for each name:
 * `{ outcome: 'pass' | 'fail' | 'skip', error?, seconds, attempts, statistics }`. A test that fails runs again as long as
 * it has attempts. The setting is `{ node, version, folder, register? }`: with a `register` file the stack is on, also in the
 * processes that a test starts.
 */
export async function runTests(tests, { jobs, attemptsOf, onResult, ...setting }) {
  const scratch = mkdtempSync(join(tmpdir(), 'node-suite-'));
  process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));
  const results = {};
  const runAll = async (queue, slot) => {
    const place = { ...setting, slot, scratch: join(scratch, String(slot)) };
    mkdirSync(place.scratch, { recursive: true });
    for (const test of queue) {
      results[test.name] = await runUntilPassed(test, place, attemptsOf(test));
      onResult(test);
    }
  };
  const parallel = tests.filter((test) => !test.sequential).values();
  await Promise.all(Array.from({ length: jobs }, (_, slot) => runAll(parallel, slot)));
  await runAll(tests.filter((test) => test.sequential).values(), 0);
  return results;
}

async function runUntilPassed(test, place, attempts) {
  for (let count = 1; ; count++) {
    const result = await runOnce(test, place);
    if (result.outcome !== 'fail' || count === attempts) return { ...result, attempts: count };
  }
}

async function runOnce(test, place) {
  const statisticsFile = join(place.scratch, 'statistics.jsonl');
  rmSync(statisticsFile, { force: true });
  const start = performance.now();
  const ending = await runToEnd(place.node, [...test.flags, test.file], {
    cwd: place.folder,
    env: buildEnvironment(test, place, statisticsFile),
  });
  return {
    ...classify(ending),
    seconds: Math.round((performance.now() - start) / 10) / 100,
    statistics: readStatistics(statisticsFile),
  };
}

function buildEnvironment(test, { version, register, slot, scratch }, statisticsFile) {
  const own = Object.entries(process.env).filter(([name]) => !FOREIGN.test(name));
  const nodeOptions = [
    register && `--import=${pathToFileURL(register)}`,
    // Otherwise Node warns when test/common reads it, and tests that expect no warning fail.
    parseMajor(version) >= 25 && `--localstorage-file="${join(scratch, 'localstorage')}"`,
  ];
  return {
    ...Object.fromEntries(own),
    // Settings for Node's test/common: where to write, and whether the fixed port may be used.
    NODE_TEST_DIR: scratch,
    TEST_SERIAL_ID: String(slot),
    ...(!test.sequential && { TEST_PARALLEL: '1' }),
    NODE_OPTIONS: nodeOptions.filter(Boolean).join(' '),
    MILLRACE_STATS_FILE: statisticsFile,
    ...test.env,
  };
}

const running = new Set();
process.once('exit', () => running.forEach(endGroup));

/** Runs a command to its end: `{ code, signal, timedOut, output }`. */
function runToEnd(command, args, options) {
  return new Promise((resolve) => {
    // A process group of its own, so that processes that a test leaves behind are ended.
    const stdio = ['ignore', 'pipe', 'pipe'];
    const child = spawn(command, args, { ...options, detached: true, stdio });
    running.add(child);
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      endGroup(child);
      // A process outside the group may keep them open.
      child.stdout.destroy();
      child.stderr.destroy();
    }, TIME_LIMIT_MS);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output = (output + text).slice(-OUTPUT_CHARACTERS);
      });
    }
    child.on('exit', () => endGroup(child));
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, timedOut, output });
    });
  });
}

/** Ends the group once; afterwards its id may be reused. */
function endGroup(child) {
  if (!running.delete(child)) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    // No such group, or (macOS) only a process that has ended is in it.
    if (error.code !== 'ESRCH' && error.code !== 'EPERM') throw error;
  }
}

function classify({ code, signal, timedOut, output }) {
  const error = findLastError(output);
  if (timedOut)
    return { outcome: 'fail', error: `not ended after ${TIME_LIMIT_MS / 1000} s; ${error}` };
  if (code !== 0) return { outcome: 'fail', error: `${signal ?? `exit ${code}`}: ${error}` };
  const skipped = output.match(/^1\.\.0 # Skipped: (.*)$/m);
  return skipped ? { outcome: 'skip', error: skipped[1] } : { outcome: 'pass' };
}

/** Finds the last error with its message, or the last line. */
function findLastError(output) {
  const lines = output.split('\n').map((line) => line.trim());
  const named = lines.findLastIndex((line) => /^(Uncaught )?\w*(Error|Exception)\b/.test(line));
  if (named === -1) return lines.findLast((line) => !/^$|^at /.test(line)) ?? 'no output';
  const stack = lines.findIndex((line, index) => index > named && line.startsWith('at '));
  const message = lines.slice(named, stack === -1 ? named + 1 : stack).filter(Boolean);
  return message.join(' ').slice(0, ERROR_CHARACTERS);
}
