import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { dirname, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import { markUserModule } from '../../environment/user-module.js';
import { fileErrorReason } from '../../errors/file-errors.js';
import { MillraceError, usageError } from '../../errors/millrace-error.js';
import type { ScenarioOption } from '../../scenario/module.js';
import { shortenPath } from '../../scenario/place.js';
import type { LoadOptions } from '../options.js';
import { noteImport } from './module-files.js';
import { readScenarios } from './read-scenarios.js';
import { unlessIdle } from './unless-idle.js';

/** Folders of modules, in which their CSV files may be. */
const folders = new WeakMap<object, string>();

/** Returns the folder of the module of scenarios that options have; `null` if they come from no file. */
export function findFolder({ scenario }: LoadOptions): string | null {
  return typeof scenario === 'object' ? (folders.get(scenario) ?? null) : null;
}

/** Extensions of TypeScript, which Node runs by itself from 22.18 on. */
const TYPESCRIPT = /\.[cm]?ts$/;

/** Extensions of modules. */
export const MODULE_FILE = /\.[cm]?[jt]s$/;

/** Name of the module that files of scenarios import. */
const SCENARIO_MODULE = 'millrace/scenario';

/**
 * Returns the options with the module of their scenario, where that is a file. The module runs in this process, with the
 * variables of the option `env` in its environment.
 */
export async function loadScenario(options: LoadOptions): Promise<LoadOptions> {
  const { scenario, env } = options;
  if (typeof scenario !== 'string' && !(scenario instanceof URL)) return options;
  for (const [name, value] of Object.entries(env ?? {})) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  return { ...options, scenario: await importScenario(scenario) };
}

async function importScenario(file: string | URL): Promise<ScenarioOption> {
  const path = typeof file === 'string' ? resolve(file) : fileURLToPath(file);
  checkFile(path, String(file));
  provideScenarioModule();
  markUserModule();
  try {
    const module = (await unlessIdle(
      import(pathToFileURL(path).href),
      'it waits for a promise that nothing settles',
    )) as ScenarioOption;
    receiveImports();
    readScenarios(module);
    folders.set(module as object, dirname(path));
    return module;
  } catch (error) {
    throw describe(error, path);
  }
}

function checkFile(path: string, shown: string): void {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw usageError(`scenario '${shown}' cannot be read: ${fileErrorReason(error)}`);
  }
  if (!text.includes(SCENARIO_MODULE)) {
    throw usageError(
      `'${shown}' is no file of scenarios: it imports nothing from '${SCENARIO_MODULE}'; a server to start follows --, as in -- node ${shown}`,
    );
  }
  if (TYPESCRIPT.test(path) && !(process.features as { typescript?: unknown }).typescript) {
    throw usageError(
      `'${shown}' is TypeScript, which Node ${process.versions.node} does not run: use Node 22.18 or later, or JavaScript`,
    );
  }
}

/** Describes what a module threw, with its place in the file. */
function describe(error: unknown, path: string): Error {
  const file = shortenPath(path);
  if (!(error instanceof Error)) return usageError(`${file}: ${String(error)}`);
  const isOwn = error instanceof MillraceError;
  // Steps know their places.
  if (isOwn && /^\S.*?:\d+: /.test(error.message)) return error;
  const number = findLine(error.stack ?? '', path) ?? findSyntaxError(error, path);
  const where = number === undefined ? file : `${file}:${number}`;
  const name = isOwn || error.name === 'Error' ? '' : `${error.name}: `;
  return usageError(`${where}: ${name}${describeMessage(error)}`);
}

function findLine(text: string, path: string): string | undefined {
  return new RegExp(`${escapeRegExp(path)}:(\\d+)`).exec(text)?.[1];
}

/** Finds the line of a syntax error, which Node tells on the standard error alone. */
function findSyntaxError(error: Error, path: string): string | undefined {
  if (!(error instanceof SyntaxError)) return undefined;
  const { stderr } = spawnSync(process.execPath, ['--check', path], { encoding: 'utf8' });
  return findLine(stderr ?? '', path);
}

function describeMessage(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'MODULE_NOT_FOUND') {
    const [line = ''] = error.message.split('\n');
    if (!line.includes(SCENARIO_MODULE)) return line;
    return `require('${SCENARIO_MODULE}') needs Node 22.15 or later, or the package millrace beside the file: use import`;
  }
  return error.message.replace(/\s*\n\s*/g, ' ');
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** The part of the hooks of `node:module` that is used here. */
interface ResolveHook {
  resolve<Result extends { url: string }, Context extends { parentURL?: string }>(
    specifier: string,
    context: Context,
    nextResolve: (specifier: string, context: Context) => Result,
  ): Result | { url: string; shortCircuit: boolean };
}

let isProvided = false;

/** Lets files import the module though this package is not installed beside them, as with npx. */
function provideScenarioModule(): void {
  if (isProvided) return;
  isProvided = true;
  const own = new URL('../../scenario/index.js', import.meta.url).href;
  // From 22.15 on.
  const { registerHooks } = nodeModule as { registerHooks?: (hooks: ResolveHook) => void };
  if (registerHooks) {
    registerHooks({
      resolve(specifier, context, nextResolve) {
        if (specifier === SCENARIO_MODULE) return { url: own, shortCircuit: true };
        const result = nextResolve(specifier, context);
        noteImport(context.parentURL, specifier, result.url);
        return result;
      },
    });
    return;
  }
  const source = `let port;
  export function initialize(data) { port = data.port; }
  export async function resolve(specifier, context, next) {
    if (specifier === ${JSON.stringify(SCENARIO_MODULE)}) return { url: ${JSON.stringify(own)}, shortCircuit: true };
    const result = await next(specifier, context);
    port.postMessage([context.parentURL, specifier, result.url]);
    return result;
  }`;
  const { port1, port2 } = new MessageChannel();
  receiveImports = () => {
    for (;;) {
      const { message } = receiveMessageOnPort(port1) ?? {};
      if (message === undefined) return;
      noteImport(...(message as Parameters<typeof noteImport>));
    }
  };
  nodeModule.register(`data:text/javascript,${encodeURIComponent(source)}`, {
    data: { port: port2 },
    transferList: [port2],
  });
}

/** Takes what the thread of the hooks has told of imports. */
let receiveImports = () => {};
