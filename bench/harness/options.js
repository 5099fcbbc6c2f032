// The command line of the suites that run cases.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { suites } from '../load/cases.js';
import { exitWithUsageError } from './usage.js';

/** The suites that measure servers, which can run on several versions of Node.js. */
const ofServers = ['stack', 'apps'];

/**
 * Reads the options: `{ suites, rounds, quick, list, chosen, nodes, register }`, where `suites` are the names of suites
 * with their cases, and `nodes` the wanted versions.
 */
export function readOptions() {
  const known = {
    case: { type: 'string', multiple: true },
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    list: { type: 'boolean', default: false },
    node: { type: 'string', multiple: true },
    register: { type: 'string' },
  };
  let parsed;
  try {
    parsed = parseArgs({ options: known, allowPositionals: true });
  } catch (error) {
    exitWithUsageError(error.message);
  }
  const { values, positionals } = parsed;
  const names = selectSuites(positionals[0] ?? 'load');
  const { quick, list, node, register } = values;
  checkServerOptions(names, { node, register });
  return {
    suites: names.map((name) => ({ name, cases: selectCases(suites[name], values.case) })),
    rounds: readRounds(values),
    ...{ quick, list, chosen: values.case ?? [], nodes: node },
    register: register && resolve(register),
  };
}

function selectSuites(word) {
  if (word === 'all') return Object.keys(suites);
  if (word in suites) return [word];
  const all = [
    ...Object.keys(suites),
    'all',
    'tables',
    'pictures',
    'budget',
    'explain',
    'deadlines',
    'compare',
  ];
  return exitWithUsageError(`${word}: the suites are ${all.join(', ')}`);
}

function readRounds({ rounds: given, quick }) {
  const rounds = Number(given ?? (quick ? 2 : 5));
  if (Number.isInteger(rounds) && rounds >= 1) return rounds;
  return exitWithUsageError(`--rounds ${given}: a whole number from 1`);
}

function checkServerOptions(names, { node, register }) {
  const allowed = names.some((name) => ofServers.includes(name));
  for (const [flag, value] of Object.entries({ node, register })) {
    if (value !== undefined && !allowed)
      exitWithUsageError(`--${flag}: only for the suites ${ofServers.join(' and ')}`);
  }
  if (register !== undefined && !existsSync(register))
    exitWithUsageError(`--register ${register}: no such file`);
}

/** Selects cases by name or prefix; all without names. */
function selectCases(all, wanted = ['']) {
  const chosen = wanted.map((text) => {
    const exact = all.filter(({ name }) => name === text);
    const cases = exact.length > 0 ? exact : all.filter(({ name }) => name.startsWith(text));
    if (cases.length > 0) return cases;
    return exitWithUsageError(
      `--case ${text}: the cases are ${all.map(({ name }) => name).join(', ')}`,
    );
  });
  return [...new Set(chosen.flat())];
}
