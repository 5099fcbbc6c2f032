import { writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findFreePorts } from '../../dist/process/listening/free-port.js';
import { listDescendants, readCpuNs } from '../harness/proc.js';
import { end, start } from '../harness/processes.js';

/**
 * Starts nginx with one worker that answers `return 200`. `tls` is a certificate's pair of files;
 * without `resume` no session is resumed, so that every handshake is a full one. With `http2` it speaks that. With `cached` the answer
 * comes from `proxy_cache`, in front of another server of the same nginx. `locations` are further answers by path:
 * `{ json, cookie? }`, a body and the value of `Set-Cookie`.
 */
export async function startNginx({ cores, directory, tls, http2, resume, cached, locations = {} }) {
  const [port, statusPort] = await findFreePorts(2);
  const config = join(directory, 'nginx.conf');
  const about = { directory, tls, http2, resume, cached, locations };
  writeFileSync(config, buildConfiguration({ ...about, port, statusPort }));
  const child = start(['nginx', '-p', directory, '-e', 'stderr', '-c', config], cores);
  child.stderr.pipe(process.stderr);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let asked = 0;
  const status = async () => {
    const text = await fetchText({ host: '127.0.0.1', port: statusPort, agent });
    asked++;
    return text;
  };
  await waitUntilReady(status, child);
  const workers = listDescendants(child.pid);
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}/`,
    port,
    pid: workers[0],
    cert: tls?.cert,
    /** Counts of the server so far, without its status requests, and the time of the reading. */
    async sample() {
      const text = await status();
      const ns = Number(process.hrtime.bigint());
      const [, connections, , requests] = /(\d+) (\d+) (\d+)/.exec(text).map(Number);
      return {
        ns,
        requests: requests - asked,
        connections: connections - 1,
        serverCpuNs: readCpuNs(workers),
      };
    },
    async stop() {
      agent.destroy();
      end(child);
      await child.exited;
      return {};
    },
  };
}

function buildConfiguration({ directory, port, statusPort, tls, http2, ...about }) {
  const { resume, cached, locations } = about;
  const secure = `
    ssl_certificate ${tls?.cert};
    ssl_certificate_key ${tls?.key};
    ssl_protocols TLSv1.3;
    ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;
    ssl_ecdh_curve X25519;
    ssl_session_cache off;
    ssl_session_tickets ${resume ? 'on' : 'off'};`;
  const hello = 'return 200 "hello world\\n";';
  const answer = cached
    ? `proxy_pass http://127.0.0.1:${statusPort}/hello; proxy_cache answers; proxy_cache_valid 200 1h;`
    : hello;
  // Started as root, nginx would run its worker as a user who cannot write there.
  const user = cached && process.getuid() === 0 ? 'user root;' : '';
  const cache = cached ? `proxy_cache_path ${join(directory, 'cache')} keys_zone=answers:1m;` : '';
  const servers = `
  ${cache}
  server {
    listen 127.0.0.1:${port} backlog=4096${tls ? ' ssl' : ''}${http2 ? ' http2' : ''};${tls ? secure : ''}
    location / { ${answer} }${Object.entries(locations).map(buildLocation).join('')}
  }
  server {
    listen 127.0.0.1:${statusPort};
    location / { stub_status; }
    location /hello { ${hello} }
  }`;
  return user + wrapConfiguration(directory, servers);
}

function buildLocation([path, { json, cookie }]) {
  const field = cookie ? `add_header Set-Cookie "${cookie}"; ` : '';
  const answer = `default_type application/json; ${field}return 200 '${JSON.stringify(json)}';`;
  return `
    location = ${path} { ${answer} }`;
}

/**
 * Idle connections to each upstream server: at least as many as the load can have in flight, so that none is closed and
 * reopened.
 */
const KEPT_UPSTREAM = 64;

/**
 * The configuration of a proxy at `port`: requests whose path begins with that of a server in `behind` (`{ path, port }`) are
 * passed to it, over HTTP/1.1 and connections that stay.
 */
export function buildProxyConfiguration({ directory, port, behind }) {
  const upstreams = behind.map(
    (server) => `
  upstream at-${server.port} {
    server 127.0.0.1:${server.port};
    keepalive ${KEPT_UPSTREAM};
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
  }`,
  );
  const locations = behind.map(
    (server) => `
    location ${server.path} { proxy_pass http://at-${server.port}; }`,
  );
  const servers = `${upstreams.join('')}
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  server {
    listen ${port} backlog=4096;${locations.join('')}
  }`;
  return wrapConfiguration(directory, servers);
}

/** Wraps server blocks in the common configuration: one worker, without logs, with keep-alive. */
function wrapConfiguration(directory, servers) {
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `
daemon off;
worker_processes 1;
worker_rlimit_nofile 20000;
pid ${join(directory, 'nginx.pid')};
error_log stderr crit;
events { worker_connections 16384; }
http {
  ${paths.map((path) => `${path}_temp_path ${join(directory, path)};`).join('\n  ')}
  access_log off;
  default_type text/plain;
  keepalive_requests 1000000000;
  keepalive_timeout 1h;
${servers}
}
`;
}

function fetchText(options) {
  return new Promise((resolve, reject) => {
    get(options, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => resolve(text));
      response.on('error', reject);
    }).on('error', reject);
  });
}

async function waitUntilReady(status, child) {
  for (;;) {
    try {
      return await status();
    } catch (error) {
      if (child.exitCode !== null) throw new Error('nginx did not start', { cause: error });
      await delay(10);
    }
  }
}
