import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startCommand } from '../process/command/start-command.js';

/** A service of `examples/studies/`, and how it is started. */
export interface ServiceSetting {
  /** Its file, without folder and ending. */
  name: string;
  /** Its settings, by environment variables. */
  env?: Record<string, string>;
  /** Those that somebody would type in their place: what is free here may not be there. */
  exampleEnv?: Record<string, string>;
  /** Runs it on Millrace's own HTTP stack. Default `false`: on Node's. */
  native?: boolean;
  /** Receives each line that it prints. */
  onLine?: (line: string) => void;
  /** Further modules to load before it, as `millrace/deadlines/register`. */
  imports?: string[];
}

/** A service that runs. */
export interface Service {
  setting: ServiceSetting;
  /** `http://127.0.0.1:PORT` or `https://...`, without a path. */
  origin: string;
  port: number;
  pid: number;
}

const FOLDER = new URL('../../examples/studies/', import.meta.url);
const START_MS = 10_000;

/** What `--import` loads for a public name of this package: the file, so that a service need not have it installed. */
const MODULES: Record<string, string> = {
  'millrace/register': '../http/register.js',
  'millrace/deadlines/register': '../deadlines/register.js',
};

/** The command that starts a service. */
export function buildCommand(setting: ServiceSetting): string[] {
  const imports = listImports(setting).map((name) => [
    '--import',
    new URL(MODULES[name] ?? name, import.meta.url).href,
  ]);
  return [process.execPath, ...imports.flat(), fileURLToPath(resolveFile(setting))];
}

/** The same as somebody would type it here; `before`: a command that it is given to. */
export function formatCommandLine(setting: ServiceSetting, before = ''): string {
  const env = Object.entries({ ...setting.env, ...setting.exampleEnv }).map(
    ([name, value]) => `${name}=${value} `,
  );
  const imports = listImports(setting).map((name) => `--import ${name} `);
  const file = relative(process.cwd(), fileURLToPath(resolveFile(setting)));
  return `${env.join('')}${before}node ${imports.join('')}${file}`;
}

/** Starts a service, and ends it when `use` is done with it. */
export async function withService<T>(
  setting: ServiceSetting,
  signal: AbortSignal,
  use: (service: Service) => Promise<T>,
): Promise<T> {
  const server = await startCommand(buildCommand(setting), {
    timeoutMs: START_MS,
    signal,
    env: (own) => ({ ...own, ...setting.env }),
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

/** Cuts output into lines. */
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
