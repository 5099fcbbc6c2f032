import { createServer } from 'node:http';
import { type AddressInfo, isIPv6 } from 'node:net';
import { listenErrorReason } from '../errors/listen-errors.js';
import { usageError } from '../errors/millrace-error.js';
import type { LoadSnapshot } from '../index.js';
import { formatPrometheus, PROMETHEUS_BUCKETS_MS } from '../report/index.js';
import type { SocketAddress } from './flags/socket-address.js';
import type { RunFollower } from './run-follower.js';

/** An endpoint with the running figures in Prometheus' text format. */
export interface MetricsEndpoint extends RunFollower {
  url: string;
}

/** Serves `/metrics` at an address; refuses one that cannot be listened on. */
export async function serveMetrics({ host, port }: SocketAddress): Promise<MetricsEndpoint> {
  let newest: LoadSnapshot | null = null;
  const server = createServer((request, response) => {
    const [path] = (request.url ?? '').split('?');
    if (path !== '/metrics') {
      response
        .writeHead(404, { 'Content-Type': 'text/plain' })
        .end('The metrics are at /metrics\n');
      return;
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { Allow: 'GET, HEAD' }).end();
      return;
    }
    response.writeHead(200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' });
    response.end(formatPrometheus(newest));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      const where = formatAddress(host, port);
      reject(usageError(`--prometheus cannot listen on ${where}: ${listenErrorReason(error)}`));
    });
    server.listen(port, host, resolve);
  });
  const listening = server.address() as AddressInfo;
  return {
    url: `http://${formatAddress(listening.address, listening.port)}/metrics`,
    bucketsMs: PROMETHEUS_BUCKETS_MS,
    async follow(snapshots) {
      for await (const snapshot of snapshots) newest = snapshot;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function formatAddress(host: string, port: number): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
