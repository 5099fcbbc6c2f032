import type { Answers } from '../../probe/protocol.cjs';
import { MIN_ANSWERED_SHARE } from '../hypotheses/outbound/calls-from-memory.js';
import { TCP_PREFIX } from '../observe/probe/view.js';
import type { Observation } from '../observe/types.js';
import type { ProbeCommand } from './change.js';

/** A command of the probe failed: nothing was changed, or not in all processes. */
export class ProbeFailure extends Error {}

/** A change had no effect, or not on most of what it is meant for. */
export class NoEffect extends ProbeFailure {}

/** Describes why a change was not made. */
export function describeFailure(failure: ProbeFailure): string {
  return failure instanceof NoEffect ? failure.message : `the probe failed: ${failure.message}`;
}

/** Throws if the command that begins a change found nothing to change. */
export function checkBegun({ name }: ProbeCommand, answers: unknown[]): void {
  if (name === 'maxSockets' && answers.flat().length === 0) {
    throw new NoEffect('no agent with maxSockets and no limited pool was seen');
  }
  if (name === 'databasePools') checkRaised(answers as Answers['databasePools'][]);
}

/** Throws if the command that ends a change tells that it had no effect. */
export function checkEffect(
  { name, options }: ProbeCommand,
  answers: unknown[],
  observation: Observation,
): void {
  if (name === 'outboundDelay') checkDelayed(answers, observation, isHttp);
  if (name === 'exchangeDelay') checkDelayed(answers, observation, (it) => it === options.origin);
  if (name === 'answerFromMemory') checkAnswered(answers as Answers['answerFromMemory'][]);
  if (name === 'noDelay' && answers.every((connections) => connections === 0)) {
    throw new NoEffect("no connection uses Nagle's algorithm");
  }
}

const isHttp = (origin: string) => !origin.startsWith(TCP_PREFIX);

/**
 * Throws if most calls cannot be delayed: calls through a stored `fetch` or directly through undici are observed, but
 * not delayed.
 */
function checkDelayed(
  answers: unknown[],
  { inside, load }: Observation,
  isMeant: (origin: string) => boolean,
): void {
  const delayed = answers.reduce<number>((sum, calls) => sum + Number(calls), 0);
  const meant = inside?.outbound.filter(({ origin }) => isMeant(origin)) ?? [];
  const calls = meant.reduce((sum, { rate }) => sum + rate, 0) * (load.durationMs / 1000);
  if (delayed < calls / 2) throw new NoEffect('most calls cannot be delayed');
}

function checkRaised(answers: Answers['databasePools'][]): void {
  if (answers.some(({ raised }) => raised.length > 0)) return;
  const [why] = answers.flatMap(({ refused }) => refused);
  throw new NoEffect(why ?? 'no pool of a known driver has all its connections open');
}

function checkAnswered(answers: Answers['answerFromMemory'][]): void {
  const answered = answers.reduce((sum, one) => sum + one.answered, 0);
  const all = answers.reduce((sum, { passed }) => sum + passed, answered);
  if (answered >= MIN_ANSWERED_SHARE * all && all > 0) return;
  throw new NoEffect(
    all === 0
      ? 'no call could be answered from memory'
      : `only ${answered} of ${all} calls were the same as an earlier GET or HEAD request`,
  );
}
