import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startCommand } from '../process/command/start-command.js';

/** A service of `examples/studies/`, and how to start it. */
export interface ServiceSetting {
  /** Name of its file, without folder and extension. */
  name: string;
  /** Environment variables that configure it. */
  env?: Record<string, string>;
  /** Variables to print in place of those of `env` that depend on this run, such as a free port. */
  exampleEnv?: Record<string, string>;
  /** Whether it runs on Millrace's HTTP stack. Default `false`: on Node's own. */
  native?: boolean;
  /** Called with each line that the service prints. */
  onLine?: (line: string) => void;
  /** Further modules to load before it, such as `millrace/deadlines/register`. */
  imports?: string[];
}

/** A running service. */
export interface Service {
  setting: ServiceSetting;
  /** `http://127.0.0.1:PORT` or `https://...`, without a path. */
  origin: string;
  port: number;
  pid: number;
}

const FOLDER = new URL('../../examples/studies/', import.meta.url);
const START_MS = 10_000;

/** The file of each public module of this package for `--import`, so that services need no installed package. */
const MODULES: Record<string, string> = {
  'millrace/register': '../http/register.js',
  'millrace/deadlines/register': '../deadlines/register.js',
};

/** Builds the command that starts a service. */
export function buildCommand(setting: ServiceSetting): string[] {
  const imports = listImports(setting).map((name) => [
    '--import',
    new URL(MODULES[name] ?? name, import.meta.url).href,
  ]);
  return [process.execPath, ...imports.flat(), fileURLToPath(resolveFile(setting))];
}

/** Formats the command line as a user would type it, after `before`, a command that takes it as its argument. */
export function formatCommandLine(setting: ServiceSetting, before = ''): string {
  const env = Object.entries({ ...setting.env, ...setting.exampleEnv }).map(
    ([name, value]) => `${name}=${value} `,
  );
  const imports = listImports(setting).map((name) => `--import ${name} `);
  const file = relative(process.cwd(), fileURLToPath(resolveFile(setting)));
  return `${env.join('')}${before}node ${imports.join('')}${file}`;
}

/** Starts a service, and stops it when `use` has finished. */
export async function withService<T>(
  setting: ServiceSetting,
  signal: AbortSignal,
  use: (service: Service) => Promise<T>,
): Promise<T> {
  const server = await startCommand(buildCommand(setting), {
    timeoutMs: START_MS,
    signal,
    env: setting.env,
    ...(setting.onLine && { onOutput: splitLines(setting.onLine) }),
  });
  const scheme = setting.env?.TLS === '1' ? 'https' : 'http';
  try {
    const { port, pid } = server;
    return await use({ setting, origin: `${scheme}://127.0.0.1:${port}`, port, pid });
  } finally {
    await server.stop();
  }
}

/** Splits output into lines. */
function splitLines(onLine: (line: string) => void): (chunk: Buffer) => void {
  let rest = '';
  return (chunk) => {
    const lines = (rest + chunk.toString()).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  };
}

function listImports({ native = false, imports = [] }: ServiceSetting): string[] {
  return [...(native ? ['millrace/register'] : []), ...imports];
}

function resolveFile({ name }: ServiceSetting): URL {
  return new URL(`${name}.mjs`, FOLDER);
}
