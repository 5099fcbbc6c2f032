import { usageError } from '../errors.js';
import { LONGEST_TIMER } from '../outbound/clock.js';
import {
  DEADLINE_NAMES,
  DEADLINES,
  type DeadlineLimits,
  type DeadlineName,
} from '../outbound/limits.js';
import { hasDurationUnit, parseDuration } from '../units.js';
import { nearest } from '../validation/nearest.js';
import { hostName, isHostPattern } from './host-name.js';

/** What the environment says about limits. */
export interface Given {
  isOff: boolean;
  /** Of all hosts. */
  all: Partial<DeadlineLimits>;
  /** By pattern: a host, `*.example.com` or `*`. */
  hosts: Map<string, Partial<DeadlineLimits>>;
}

const PREFIX = 'MILLRACE_DEADLINE';
const SWITCH = 'MILLRACE_DEADLINES';
const HOSTS = 'MILLRACE_DEADLINE_HOSTS';
const ACCEPTED = 'milliseconds, or 500ms, 3s, 1m30s; 0 or off: no limit';

/** Reads the variables; one that cannot be used, or that nobody knows, is an error of one line. */
export function givenBy(environment: NodeJS.ProcessEnv): Given {
  refuseUnknown(environment);
  if (isOff(environment[SWITCH])) return { isOff: true, all: noLimits(), hosts: new Map() };
  const all: Partial<DeadlineLimits> = {};
  for (const name of DEADLINE_NAMES) {
    const { variable } = DEADLINES[name];
    const text = environment[variable];
    if (text) all[name] = limitOf(text, variable);
  }
  return { isOff: false, all, hosts: hostsOf(environment[HOSTS] ?? '') };
}

function isOff(text = ''): boolean {
  if (text !== '' && text !== 'off') {
    throw usageError(`${SWITCH}: '${text}' given; accepted: off, which turns deadlines off`);
  }
  return text === 'off';
}

function refuseUnknown(environment: NodeJS.ProcessEnv): void {
  const known = [...DEADLINE_NAMES.map((name) => DEADLINES[name].variable), HOSTS, SWITCH];
  for (const variable of Object.keys(environment)) {
    if (!variable.startsWith(PREFIX) || known.includes(variable)) continue;
    const near = nearest(variable, known);
    throw usageError(
      `${variable}: unknown variable; ${near ? `did you mean ${near}?` : `accepted: ${known.join(', ')}`}`,
    );
  }
}

/** Of `api.example.com=10s;*.slow.test=first-byte:5s,total:30s`. */
function hostsOf(text: string): Given['hosts'] {
  const hosts: Given['hosts'] = new Map();
  for (const entry of text.split(';').filter((one) => one.trim() !== '')) {
    const [, pattern = '', value = ''] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(entry) ?? [];
    if (pattern === '' || value === '') {
      throw usageError(
        `${HOSTS}: '${entry.trim()}' given; accepted: api.example.com=10s;*.slow.test=first-byte:5s,total:30s`,
      );
    }
    if (!isHostPattern(pattern)) {
      throw usageError(
        `${HOSTS}: '${pattern}' given; accepted: a host without scheme, port and path, as api.example.com, *.slow.test, 10.0.0.1, ::1, unix:/run/app.sock or *`,
      );
    }
    const host = hostName(pattern);
    if (hosts.has(host)) throw usageError(`${HOSTS}: '${pattern}' given twice; accepted: once`);
    hosts.set(host, limitsOf(value, `${HOSTS}: ${pattern}`));
  }
  return hosts;
}

/** A duration is the total; `off` is no limit at all. */
function limitsOf(text: string, name: string): Partial<DeadlineLimits> {
  if (text === 'off' || text === '0') return noLimits();
  if (!text.includes(':')) return { total: limitOf(text, name) };
  const limits: Partial<DeadlineLimits> = {};
  for (const part of text.split(',')) {
    const [word = '', value = '', ...more] = part.split(':').map((one) => one.trim());
    const limit = DEADLINE_NAMES.find((one) => DEADLINES[one].word === word);
    if (limit === undefined || value === '' || more.length > 0) {
      throw usageError(
        `${name}: '${part.trim()}' given; accepted: ${words()} with a time, as in total:10s`,
      );
    }
    if (limits[limit] !== undefined)
      throw usageError(`${name}: '${text}' given; accepted: ${word} once`);
    limits[limit] = limitOf(value, `${name}: ${word}`);
  }
  return limits;
}

function noLimits(): Partial<DeadlineLimits> {
  return Object.fromEntries(DEADLINE_NAMES.map((limit) => [limit, 0]));
}

function words(): string {
  return DEADLINE_NAMES.map((name: DeadlineName) => DEADLINES[name].word).join(', ');
}

function limitOf(text: string, name: string): number {
  if (text === 'off') return 0;
  const isDigits = /^\d+$/.test(text);
  if (!isDigits && !hasDurationUnit(text))
    throw usageError(`${name}: '${text}' given; accepted: ${ACCEPTED}`);
  const ms = isDigits ? Number(text) : parseDuration(text, name);
  if (ms <= LONGEST_TIMER) return ms;
  throw usageError(
    `${name}: '${text}' given; accepted: ${LONGEST_TIMER}ms (24 days) at most, or off`,
  );
}
