import { EXPLAIN_DEFAULTS, MIN_BUDGET_MS, WAIT_STACKS } from '../../explain/defaults.js';
import type { ExplainOptions } from '../../index.js';
import { parseFlagDuration } from '../../validation/units.js';
import type { CommandFlags } from './command-flags.js';
import {
  checkWatchFlags,
  newWatchFlags,
  WATCH_FLAGS,
  type WatchFlags,
} from './explain-watch-flags.js';
import type { Flag } from './flag.js';
import { storeIn } from './kinds.js';
import { HOSTS_UNSUPPORTED } from './load/hosts-flags.js';
import { type Invocation, newInvocation } from './load/invocation.js';
import { bodyForDuration, reinterpret } from './load/reinterpret.js';
import { PID_RANGE } from './load/result-flags.js';
import { shareLoadFlags } from './load/shared-flags.js';
import type { UnsupportedFlags } from './parse.js';

/** A parsed command line of `millrace explain`. */
export interface ExplainInvocation extends Invocation, WatchFlags {
  own: Pick<
    ExplainOptions,
    | 'budget'
    | 'warmup'
    | 'pid'
    | 'attach'
    | 'allowMoreLoad'
    | 'allowDependencyExperiments'
    | 'waitStacks'
  >;
  /** Whether the command only prints the catalogue. */
  list: boolean;
  /** Folder for the profiles. */
  profile?: string;
  /** The limit of which the command only prints the entry in the catalogue. */
  why?: string;
}

/** Flags of the load that explain chooses by itself or has no use for. */
const UNSUPPORTED: UnsupportedFlags = {
  series: 'a series is that of one load: millrace load --series FILE',
  ...HOSTS_UNSUPPORTED,
  'log-result': 'results in logs are those of shares: millrace load --log-result',
  segment: 'shares are those of one load: millrace load --segment I/N',
  'start-at': 'the start of one load can be planned: millrace load --start-at INSTANT',
  prometheus: 'explain runs many short loads; the running figures are those of millrace load',
  otlp: 'explain runs many short loads; the running figures are those of millrace load',
  requests: 'explain runs many short loads; the time for all is --budget 60s',
  'connections-stage': 'explain needs a load that does not change: -c N',
  strict: 'a saturated generator is one of the limits that explain names',
  'fail-on': 'conditions are for millrace load',
  'abort-on-fail': 'conditions are for millrace load',
  csv: 'the figures are in the JSON: -o FILE',
  junit: 'conditions are for millrace load',
  follow:
    'a request with several responses has no one cause; give the URL that the redirection leads to',
  baseline: 'results of loads are compared: millrace compare OLD.json NEW.json',
  latency: 'the report of a load shows it',
};

const { count, duration, toggle } = storeIn(({ own }: ExplainInvocation) => own);
const invocation = storeIn((invocation: ExplainInvocation) => invocation);

const [minStacks, maxStacks] = WAIT_STACKS;
const [shortestMs, longestMs] = EXPLAIN_DEFAULTS.warmupMs;

const OWN: Flag<ExplainInvocation>[] = [
  duration(
    'budget',
    'budget',
    {
      fallback: `${EXPLAIN_DEFAULTS.budgetMs / 1000}s`,
      help: 'time for everything',
      details: 'At least 15 s. The report says what was not tried because the time was over.',
    },
    MIN_BUDGET_MS,
  ),
  reinterpret(
    {
      name: 'duration',
      short: 'd',
      aliases: ['z'],
      value: 'TIME',
      help: 'the same as --budget; 15s if it is less',
      details: 'It is the time of a load elsewhere; the report says how it was understood.',
      set({ own, notes }, value, flag) {
        const budgetMs = Math.max(parseFlagDuration(value, flag), MIN_BUDGET_MS);
        own.budget = budgetMs;
        notes.push(
          `${flag} ${value} is taken as --budget ${budgetMs / 1000}s, the time for everything; at least 15s`,
        );
      },
    },
    bodyForDuration('60s'),
  ),
  {
    name: 'warmup',
    value: 'TIME',
    fallback: `as long as the server seems to need, ${shortestMs / 1000}s to ${longestMs / 1000}s`,
    help: 'load the server this long before it is measured',
    details: 'It is part of --budget, and takes half of it at most.',
    set({ own, notes }, value, flag) {
      own.warmup = parseFlagDuration(value, flag);
      notes.push(
        `${flag} ${value} is part of --budget: the load runs this long before it is measured`,
      );
    },
  },
  count('pid', 'pid', PID_RANGE, {
    fallback: 'the local owner of the port',
    help: "the server's process",
  }),
  toggle('attach', 'attach', true, {
    help: 'put the probe into a server that runs already',
    details:
      'By its debugger: SIGUSR1 opens it on 127.0.0.1:9229, and it is closed again at once. A server that millrace starts always has the probe.',
  }),
  toggle('allow-more-load', 'allowMoreLoad', true, {
    help: 'more load than asked for, on another machine too',
    details:
      'Without this flag, only a server on this machine gets more: up to twice the load, and up to 2000 connections if connections are the limit and the server calls no other machine.',
  }),
  count(
    'wait-stacks',
    'waitStacks',
    { min: minStacks, max: maxStacks },
    {
      fallback: String(EXPLAIN_DEFAULTS.waitStacks),
      help: 'frames of the stacks that tell where requests wait',
      details:
        'More show callers that are further away, and cost the server more; the report prints what the observation costs.',
    },
  ),
  invocation.text('profile', 'profile', {
    value: 'DIR',
    help: 'write profiles for DevTools, speedscope, pprof',
    details:
      "cpu.cpuprofile and heap.heapprofile are V8's own formats, which DevTools and speedscope open; cpu.pb.gz, waits.pb.gz and heap.pb.gz are for pprof, with the names and lines of the sources. Each is written if it was measured. The folder is created.",
  }),
  ...WATCH_FLAGS,
  toggle('allow-dependency-experiments', 'allowDependencyExperiments', true, {
    help: 'change calls to other services for a while',
    details:
      'Only of a server that millrace starts. A database pool gets twice the connections, where the database has room for twice as many more; GET and HEAD requests are answered from memory, with a response to the same request; exchanges with a database are delayed. Requests that write are never answered or repeated, and all is undone after each block, and if millrace is killed.',
  }),
  invocation.toggle('list', 'list', true, { help: 'print the limits that are known, and end' }),
  invocation.text('why', 'why', { value: 'LIMIT', help: 'print all about one limit, and end' }),
];

const SHARED = shareLoadFlags(OWN, UNSUPPORTED);

/** The flags of `millrace explain`. */
export const EXPLAIN: CommandFlags<ExplainInvocation> = {
  groups: [{ title: 'millrace explain', flags: OWN }],
  ...SHARED,
  create: () => ({ ...newInvocation(), ...newWatchFlags(), own: {}, list: false }),
  setOperands(into, operands) {
    SHARED.setOperands(into, operands);
    checkWatchFlags(into, into.typed);
  },
};
