import { bytes, count, duration, plural, rate } from '../format/units.js';
import { speaksHttp2 } from '../load/http-version.js';
import { isDefaultExpect } from '../load/requests/expect.js';
import type { FlowSummary, PlanSummary } from '../load/result.js';

/** Maximum number of targets listed; further ones are counted. */
const MAX_SHOWN_TARGETS = 3;

/** Maximum number of steps or scenarios listed. */
const MAX_SHOWN_STEPS = 6;

/**
 * Describes the settings in one sentence:
 * `closed: 50 connections x pipelining 1, 1 thread, 10 s, GET http://127.0.0.1:8080/`.
 */
export function describePlan(plan: PlanSummary): string {
  const parts = [
    ...describeModel(plan),
    plural(plan.threads, 'thread'),
    describeLength(plan),
    ...describeConnections(plan),
    ...(plan.segment ? [`share ${plan.segment.index} of ${plan.segment.count}`] : []),
    describeTargets(plan),
  ];
  return `${plan.model}: ${parts.join(', ')}`;
}

function describeModel(plan: PlanSummary): string[] {
  if (plan.flows) return describeUsers(plan, plan.flows);
  return plan.model === 'open' ? describeOpenModel(plan) : describeClosedModel(plan);
}

/** Describes the users of scenarios: `50 users`, or the rate of iterations and the most users at a time. */
function describeUsers(plan: PlanSummary, { users, ownConnections }: FlowSummary): string[] {
  const shared = ownConnections
    ? []
    : [`sharing ${plan.model === 'open' ? 'up to ' : ''}${plural(plan.connections, 'connection')}`];
  if (plan.model === 'open') {
    const own = ownConnections ? ['connections of their own'] : shared;
    return [describeSchedule(plan), `up to ${plural(users, 'user')} at a time`, ...own];
  }
  return [describeUserCount(plan, users), ...shared];
}

/** Describes how many users there are: `10 users`, or how their number changes. */
function describeUserCount(
  { initialConnections, connectionStages = [] }: PlanSummary,
  users: number,
): string {
  if (connectionStages.length === 0) return plural(users, 'user');
  const stages = connectionStages.map(
    (stage) => `${count(stage.connections)} in ${duration(stage.durationMs)}`,
  );
  return `${plural(initialConnections, 'user')}, to ${stages.join(', to ')}`;
}

/** Describes the schedule of an open run: `1,000 req/s total (constant)`, or its stages. */
export function describeSchedule(plan: PlanSummary): string {
  const start = `${rate(plan.rate ?? 0)} ${nameRate(plan)}`;
  if (plan.stages.length === 0) return `${start} total (${plan.arrivals})`;
  const stages = plan.stages.map((stage) => `${rate(stage.rate)} in ${duration(stage.durationMs)}`);
  return `${start} total, to ${stages.join(', to ')} (${plan.arrivals})`;
}

/** The unit of a plan's rates. */
export function nameRate({ flows }: Pick<PlanSummary, 'flows'>): 'iterations/s' | 'req/s' {
  return flows ? 'iterations/s' : 'req/s';
}

/** Describes the length of a run in time, requests or iterations. */
export function describeLength(plan: PlanSummary): string {
  const limits = [];
  if (plan.requests !== null) {
    limits.push(plural(plan.requests, plan.flows ? 'iteration' : 'request'));
  }
  if (plan.durationMs !== null) limits.push(duration(plan.durationMs));
  const end = limits.length > 0 ? limits.join(' or at most ') : 'until stopped';
  return plan.warmupMs > 0 ? `${end} after ${duration(Math.round(plan.warmupMs))} of warm-up` : end;
}

function describeClosedModel(plan: PlanSummary): string[] {
  const slots = `${describeConnectionCount(plan)} x ${describeDepth(plan)}`;
  return plan.thinkTimeMs > 0 ? [slots, `think time ${duration(plan.thinkTimeMs)}`] : [slots];
}

/** Describes the number of requests in flight per connection: `pipelining 4`, or `4 streams` with HTTP/2. */
function describeDepth({ pipelining, httpVersion }: PlanSummary): string {
  return speaksHttp2({ httpVersion }) ? plural(pipelining, 'stream') : `pipelining ${pipelining}`;
}

/** Describes how many connections there are: `10 connections`, or how their number changes. */
function describeConnectionCount(plan: PlanSummary): string {
  const { connections, initialConnections, connectionStages = [] } = plan;
  if (connectionStages.length === 0) return plural(connections, 'connection');
  const stages = connectionStages.map(
    (stage) => `${count(stage.connections)} in ${duration(stage.durationMs)}`,
  );
  return `${plural(initialConnections, 'connection')}, to ${stages.join(', to ')},`;
}

function describeOpenModel(plan: PlanSummary): string[] {
  const connections = `up to ${plural(plan.connections, 'connection')}`;
  return [
    describeSchedule(plan),
    plan.pipelining > 1 ? `${connections} x ${describeDepth(plan)}` : connections,
  ];
}

function describeOpening({ handshake }: PlanSummary): string {
  if (handshake === null) return 'a new connection per request';
  return `a new connection and a ${handshake === 'full' ? 'full' : 'resumed'} TLS handshake per request`;
}

/** Lists unusual settings of the connections; often none. */
export function describeConnections(plan: PlanSummary): string[] {
  const parts = [];
  if (speaksHttp2(plan)) parts.push(`HTTP/${plan.httpVersion}`);
  if (plan.connection === 'close') parts.push(describeOpening(plan));
  const { localAddresses = [] } = plan;
  if (localAddresses.length > 0) parts.push(`from ${localAddresses.join(' ')}`);
  if (plan.grpc !== undefined) parts.push('gRPC');
  if (!isUsualExpect(plan)) parts.push(`ok is ${plan.expect.join(' ')}`);
  if (plan.verifyCertificate === false) parts.push('certificate not verified');
  return parts;
}

/** Whether what counts as a success is what one expects: below 400, or OK of gRPC. */
function isUsualExpect(plan: PlanSummary): boolean {
  return isDefaultExpect(plan) || (plan.grpc !== undefined && plan.expect.join() === 'OK');
}

/** Describes the targets: `GET http://127.0.0.1:8080/`, or their number and the first of them. */
export function describeTargets(plan: PlanSummary): string {
  if (plan.flows) return describeScenarios(plan.flows);
  const listed = plan.targets.slice(0, MAX_SHOWN_TARGETS).map((target) => {
    const body = target.bodyBytes > 0 ? ` (${bytes(target.bodyBytes)} body)` : '';
    const weight = plan.order === 'weighted' ? ` (weight ${target.weight ?? 1})` : '';
    return `${target.method} ${target.url}${body}${weight}`;
  });
  if (plan.targets.length === 1) return listed.join('');
  const more = plan.targets.length - listed.length;
  if (more > 0) listed.push(`${count(more)} more`);
  const order = plan.order === 'weighted' ? 'by weight' : 'in turn';
  return `${plural(plan.targets.length, 'target')} ${order}: ${listed.join(', ')}`;
}

/** Describes scenarios: the steps of one, or the names of several with their weights. */
export function describeScenarios({ scenarios }: FlowSummary): string {
  const [first] = scenarios;
  if (scenarios.length === 1 && first) {
    const names = [...new Set(first.steps.map(({ name }) => name))];
    const listed = names.slice(0, MAX_SHOWN_STEPS);
    const more = names.length - listed.length;
    const rest = more > 0 ? [`${count(more)} more`] : [];
    return `scenario ${first.name}: ${[...listed, ...rest].join(', ')}`;
  }
  const listed = scenarios
    .slice(0, MAX_SHOWN_STEPS)
    .map(({ name, weight }) => `${name} (weight ${weight})`);
  const more = scenarios.length - listed.length;
  if (more > 0) listed.push(`${count(more)} more`);
  return `${plural(scenarios.length, 'scenario')} by weight: ${listed.join(', ')}`;
}
