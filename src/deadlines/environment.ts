import { usageError } from '../errors/millrace-error.js';
import { MAX_TIMER_MS } from '../outbound/clock.js';
import { DEADLINE_NAMES, DEADLINES, type DeadlineLimits } from '../outbound/limits.js';
import { findNearest } from '../validation/nearest.js';
import { hasDurationUnit, parseDuration } from '../validation/units.js';
import { isHostPattern, normalizeHost } from './host-name.js';

/** The limits that the environment sets. */
export interface EnvironmentLimits {
  isOff: boolean;
  /** The limits of all hosts. */
  all: Partial<DeadlineLimits>;
  /** The limits of some hosts, by pattern: a host, `*.example.com` or `*`. */
  hosts: Map<string, Partial<DeadlineLimits>>;
}

const PREFIX = 'MILLRACE_DEADLINE';
const SWITCH = 'MILLRACE_DEADLINES';
const HOSTS = 'MILLRACE_DEADLINE_HOSTS';
const EXAMPLE = 'api.example.com=10s;*.slow.test=headers:5s,total:30s';

/** Reads the variables; throws a usage error of one line for an unknown variable and for a value that is not valid. */
export function readEnvironment(environment: NodeJS.ProcessEnv): EnvironmentLimits {
  refuseUnknown(environment);
  if (isOff(environment[SWITCH])) return { isOff: true, all: noLimits(), hosts: new Map() };
  const all: Partial<DeadlineLimits> = {};
  for (const name of DEADLINE_NAMES) {
    const { variable } = DEADLINES[name];
    const text = environment[variable];
    if (text) all[name] = parseLimit(text, variable);
  }
  return { isOff: false, all, hosts: parseHosts(environment[HOSTS] ?? '') };
}

function isOff(text = ''): boolean {
  if (text !== '' && text !== 'off') {
    throw usageError(`${SWITCH} must be off, which turns deadlines off (got '${text}')`);
  }
  return text === 'off';
}

function refuseUnknown(environment: NodeJS.ProcessEnv): void {
  const known = [...DEADLINE_NAMES.map((name) => DEADLINES[name].variable), HOSTS, SWITCH];
  for (const variable of Object.keys(environment)) {
    if (!variable.startsWith(PREFIX) || known.includes(variable)) continue;
    const near = findNearest(variable, known);
    throw usageError(
      near
        ? `${variable} is an unknown variable; did you mean ${near}?`
        : `${variable} is an unknown variable; the variables are ${known.join(', ')}`,
    );
  }
}

/** Parses entries such as `api.example.com=10s;*.slow.test=headers:5s,total:30s`. */
function parseHosts(text: string): EnvironmentLimits['hosts'] {
  const hosts: EnvironmentLimits['hosts'] = new Map();
  for (const entry of text.split(';').filter((one) => one.trim() !== '')) {
    const [, pattern = '', value = ''] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(entry) ?? [];
    if (pattern === '' || value === '') {
      throw usageError(
        `${HOSTS} must be hosts with limits, such as ${EXAMPLE} (got '${entry.trim()}')`,
      );
    }
    if (!isHostPattern(pattern)) {
      throw usageError(
        `${HOSTS}: a host must have no scheme, port or path, such as api.example.com, *.slow.test, 10.0.0.1, ::1, unix:/run/app.sock or * (got '${pattern}')`,
      );
    }
    const host = normalizeHost(pattern);
    if (hosts.has(host))
      throw usageError(`${HOSTS}: a host must appear once (got '${pattern}' twice)`);
    hosts.set(host, parseLimits(value, `${HOSTS}: ${pattern}`));
  }
  return hosts;
}

/** Parses the limits of a host: a duration is its total; `off` turns all of them off. */
function parseLimits(text: string, name: string): Partial<DeadlineLimits> {
  if (text === 'off' || text === '0') return noLimits();
  if (!text.includes(':')) return { total: parseLimit(text, name) };
  const limits: Partial<DeadlineLimits> = {};
  for (const part of text.split(',')) {
    const [word = '', value = '', ...more] = part.split(':').map((one) => one.trim());
    const limit = DEADLINE_NAMES.find((one) => one === word);
    if (limit === undefined || value === '' || more.length > 0) {
      throw usageError(
        `${name}: limits must be ${DEADLINE_NAMES.join(', ')}, each with a duration, such as total:10s (got '${part.trim()}')`,
      );
    }
    if (limits[limit] !== undefined) {
      throw usageError(`${name}: ${limit} must appear once (got '${text}')`);
    }
    limits[limit] = parseLimit(value, `${name}: ${limit}`);
  }
  return limits;
}

function noLimits(): Partial<DeadlineLimits> {
  return Object.fromEntries(DEADLINE_NAMES.map((limit) => [limit, 0]));
}

function parseLimit(text: string, name: string): number {
  if (text === 'off' || text === '0') return 0;
  if (/^[\d.]+$/.test(text)) {
    throw usageError(`${name} needs a unit, such as ${text}ms or ${text}s (got '${text}')`);
  }
  if (!hasDurationUnit(text)) {
    throw usageError(
      `${name} must be a duration with a unit, such as 500ms, 3s or 1m30s, or off for no limit (got '${text}')`,
    );
  }
  const ms = toMilliseconds(text);
  if (ms <= MAX_TIMER_MS) return ms;
  throw usageError(
    `${name} must be at most ${MAX_TIMER_MS}ms (24 days), or off for no limit (got '${text}')`,
  );
}

/** Converts a duration with a unit; one that is too long for a number is infinite. */
function toMilliseconds(text: string): number {
  try {
    return parseDuration(text, 'duration');
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
