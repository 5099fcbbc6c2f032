// The flags of `millrace explain`: those of the load that apply, and its own.
import { MIN_BUDGET_MS } from '../../explain/options.js';
import { parseCount, parseFlagDuration } from '../../units.js';
import type { Flag } from './flag.js';
import { UNSUPPORTED_FLAGS } from './foreign-flags.js';
import { type Invocation, newInvocation } from './invocation.js';
import { isBody, LOAD_FLAGS, setBody, unsupportedFlags } from './load-flags.js';
import type { UnsupportedFlags } from './parse.js';

/** What a command line of `millrace explain` asks for. */
export interface ExplainInvocation extends Invocation {
  budgetMs?: number;
  warmupMs?: number;
  pid?: number;
  attach: boolean;
  allowMoreLoad: boolean;
  /** Prints the catalogue and does nothing else. */
  list: boolean;
  /** Prints this entry of the catalogue and does nothing else. */
  why?: string;
}

/** Nothing asked for yet. */
export function newExplainInvocation(): ExplainInvocation {
  return { ...newInvocation(), attach: false, allowMoreLoad: false, list: false };
}

/** Flags of the load that explain chooses by itself or has no use for, and what to do instead. */
const NOT_TAKEN: UnsupportedFlags = {
  requests: 'explain runs many short loads; the time for all is --budget 60s',
  strict: 'a saturated generator is one of the limits that explain names',
  'fail-on': 'conditions are for millrace load',
  'abort-on-fail': 'conditions are for millrace load',
  follow:
    'a request with several responses has no one cause; give the URL that the redirection leads to',
  latency: 'the report of a load shows it',
};

/** Flags of the load that mean another thing here. */
const OWN_MEANING = ['pid', 'duration', 'warmup'];

const TAKEN = LOAD_FLAGS.filter(({ name }) => !(name in NOT_TAKEN) && !OWN_MEANING.includes(name));

export const EXPLAIN_UNSUPPORTED_FLAGS: UnsupportedFlags = {
  ...UNSUPPORTED_FLAGS,
  ...unsupportedFlags(NOT_TAKEN),
};

const EXPLAIN = 'Explain';

/** The flags that only explain has. */
export const OWN_FLAGS: Flag<ExplainInvocation>[] = [
  {
    name: 'budget',
    value: 'TIME',
    group: EXPLAIN,
    common: true,
    fallback: '60s',
    help: 'time for everything',
    details: 'At least 15 s. What was not tried for want of time is said.',
    set(invocation, value, given) {
      invocation.budgetMs = parseFlagDuration(value, given);
    },
  },
  {
    name: 'duration',
    short: 'd',
    aliases: ['z'],
    value: 'TIME',
    group: EXPLAIN,
    help: 'the same as --budget; 15s if it is less',
    details: 'It is the time of a load elsewhere; the report says how it was understood.',
    set(invocation, value, given) {
      const { options, notes } = invocation;
      if (isBody(value)) {
        setBody(options, value);
        notes.push(`${given} '${value}' is taken as --body; a duration is ${given} 60s`);
        return;
      }
      invocation.budgetMs = Math.max(parseFlagDuration(value, given), MIN_BUDGET_MS);
      notes.push(
        `${given} ${value} is taken as --budget ${invocation.budgetMs / 1000}s, the time for everything; at least 15s`,
      );
    },
  },
  {
    name: 'warmup',
    value: 'TIME',
    group: EXPLAIN,
    fallback: 'as long as the server seems to need, 1.5 to 5 s',
    help: 'load the server so long before it is measured',
    details: 'It is part of --budget, and takes half of it at most.',
    set(invocation, value, given) {
      invocation.warmupMs = parseFlagDuration(value, given);
      invocation.notes.push(
        `${given} ${value} is part of --budget: the load runs so long before it is measured`,
      );
    },
  },
  {
    name: 'pid',
    value: 'N',
    group: EXPLAIN,
    common: true,
    fallback: 'the local owner of the port',
    help: "the server's process",
    set(invocation, value, given) {
      invocation.pid = parseCount(value, given, { min: 1, max: 2 ** 31 - 1 });
    },
  },
  {
    name: 'attach',
    group: EXPLAIN,
    common: true,
    help: 'put the probe into a server that runs already',
    details:
      'By its debugger: SIGUSR1 opens it on 127.0.0.1:9229, and it is closed again at once. A server that millrace starts always has the probe.',
    set(invocation) {
      invocation.attach = true;
    },
  },
  {
    name: 'allow-more-load',
    group: EXPLAIN,
    common: true,
    help: 'more load than asked for, on another machine too',
    details:
      'A server on this machine is given up to twice the load that was asked for anyway, and up to 2000 connections where those are too few and it calls nobody elsewhere.',
    set(invocation) {
      invocation.allowMoreLoad = true;
    },
  },
  {
    name: 'list',
    group: EXPLAIN,
    common: true,
    help: 'print the limits that are known, and end',
    set(invocation) {
      invocation.list = true;
    },
  },
  {
    name: 'why',
    value: 'LIMIT',
    group: EXPLAIN,
    common: true,
    help: 'print all about one limit, and end',
    set(invocation, value) {
      invocation.why = value;
    },
  },
];

export const EXPLAIN_FLAGS: Flag<ExplainInvocation>[] = [...OWN_FLAGS, ...TAKEN];
