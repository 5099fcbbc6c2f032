import { rm, writeFile } from 'node:fs/promises';
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { startCommand } from '../../process/command/start-command.js';
import { findProcessTree } from '../../process/discovery/process-tree.js';
import { findFreePorts } from '../../process/listening/free-port.js';
import { withTemporaryFolder } from '../../process/temporary-folder.js';
import { startTestServer } from '../../testserver/start.js';
import { pinCommand, pinProcesses } from './pinning.js';

/** A server that counts its requests. */
export interface CountingServer {
  url: string;
  /** Process ids of all its processes. */
  pids: number[];
  /** Number of requests so far. */
  requests(): Promise<number>;
  /** Number of connections so far, if the server counts them. */
  connections?(): Promise<number>;
  close(): Promise<void>;
}

const START_MS = 10_000;

/** Starts Millrace's test server, which is plain `node:http`. */
export async function startOwnServer(
  processes: number,
  cores: string | null,
): Promise<CountingServer> {
  const server = await startTestServer({ processes });
  const pids = [...new Set([server.pid, ...server.pids])];
  await pinProcesses(cores, pids);
  return {
    url: server.url,
    pids,
    requests: () => server.requests(),
    close: () => server.close(),
  };
}

/** Starts nginx with the given number of workers. */
export async function startNginx(
  program: string,
  workers: number,
  cores: string | null,
  signal: AbortSignal,
): Promise<CountingServer> {
  const folder = await withTemporaryFolder('millrace-nginx', async (made) => made);
  const removeFolder = () => rm(folder, { recursive: true, force: true });
  try {
    const [port = 0, statusPort = 0] = await findFreePorts(2);
    const config = join(folder, 'nginx.conf');
    await writeFile(config, buildNginxConfig(folder, workers, port, statusPort));
    const command = pinCommand(cores, [program, '-p', folder, '-e', 'stderr', '-c', config]);
    const nginx = await startCommand(command, { port, timeoutMs: START_MS, signal });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    let asked = 0;
    const ask = async () => {
      const status = await fetchText(statusPort, agent);
      asked += 1;
      const found = /(\d+) (\d+) (\d+)/.exec(status);
      if (!found) throw new Error(`cannot parse the status page of nginx: ${status.slice(0, 60)}`);
      const [, accepted, , requests] = found;
      return { connections: Number(accepted), requests: Number(requests) - asked };
    };
    return {
      url: `http://127.0.0.1:${port}/`,
      pids: findProcessTree(nginx.pid),
      requests: async () => (await ask()).requests,
      connections: async () => (await ask()).connections,
      async close() {
        agent.destroy();
        await nginx.stop();
        await removeFolder();
      },
    };
  } catch (error) {
    await removeFolder();
    throw error;
  }
}

/** Builds a configuration with the test server's response, without logs and limits of keep-alive. */
function buildNginxConfig(
  folder: string,
  workers: number,
  port: number,
  statusPort: number,
): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(folder, name)};`,
  );
  return `daemon off;
worker_processes ${workers};
pid ${join(folder, 'nginx.pid')};
error_log stderr crit;
events { worker_connections 4096; }
http {
  ${temporary.join('\n  ')}
  access_log off;
  default_type text/plain;
  keepalive_requests 1000000000;
  keepalive_timeout 1h;
  server { listen 127.0.0.1:${port} backlog=4096; location / { return 200 "hello, world\\n"; } }
  server { listen 127.0.0.1:${statusPort}; location / { stub_status; } }
}
`;
}

function fetchText(port: number, agent: Agent): Promise<string> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, agent }, (response) => {
      text(response).then(resolve, reject);
    }).on('error', reject);
  });
}
