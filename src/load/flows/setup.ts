import { usageError } from '../../errors/millrace-error.js';
import type { SetupContext } from '../../scenario/module.js';
import { findPlace } from '../../scenario/place.js';
import type { LoadOptions } from '../options.js';
import { listUrls } from '../requests/url.js';
import { untilAborted } from '../until-aborted.js';
import { type ReadScenarios, readScenarios } from './read-scenarios.js';
import { unlessIdle } from './unless-idle.js';

/** Calls `use` between the scenarios' `setup()` and `teardown()`, with what `setup()` returned. */
export async function withSetup<Result>(
  options: LoadOptions,
  server: string | null,
  use: (data: unknown) => Promise<Result>,
): Promise<Result> {
  if (options.scenario === undefined) return use(undefined);
  const scenarios = readScenarios(options.scenario);
  const context: SetupContext = {
    url: findUrl(options, server),
    env: process.env,
    signal: options.signal ?? null,
  };
  const data = await callSetup(scenarios, context);
  try {
    return await use(data);
  } finally {
    await callTeardown(scenarios, data, context);
  }
}

function findUrl(options: LoadOptions, server: string | null): string | null {
  const url = listUrls(options.url).find((it) => !it.startsWith('/')) ?? server;
  return url === null || url === undefined ? null : url.replace(/\/$/, '');
}

async function callSetup({ setup }: ReadScenarios, context: SetupContext): Promise<unknown> {
  if (!setup) return undefined;
  try {
    // What is `undefined` would look as if it had not been called.
    return (await settle(setup(context), context.signal)) ?? null;
  } catch (error) {
    if (context.signal?.aborted) throw context.signal.reason;
    throw describe('setup', error);
  }
}

async function callTeardown(
  { teardown }: ReadScenarios,
  data: unknown,
  context: SetupContext,
): Promise<void> {
  if (!teardown) return;
  try {
    await settle(teardown(data ?? undefined, { ...context, signal: null }), null);
  } catch (error) {
    // The result is there, and is not to be lost.
    process.emitWarning(describe('teardown', error).message, 'MillraceWarning');
  }
}

/** Waits for what a function of the module returned, until the run is aborted. */
function settle(returned: unknown, signal: AbortSignal | null): Promise<unknown> {
  const value = unlessIdle(
    Promise.resolve(returned),
    'it waits for a promise that nothing settles',
  );
  return untilAborted(value, signal);
}

function describe(name: string, error: unknown): Error {
  const message = error instanceof Error ? error.message : String(error);
  const place = error instanceof Error ? findPlace(error.stack) : null;
  const line = message.replace(/\s*\n\s*/g, ' ');
  return usageError(
    `the scenario's ${name}() failed: ${place === null ? '' : `${place}: `}${line}`,
  );
}
