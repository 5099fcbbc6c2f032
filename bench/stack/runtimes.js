// The runtimes that applications run on.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isOnPath, readNginxVersion } from '../clients/tools.js';
import { readVarnishVersion } from '../servers/varnish.js';

/** The module that installs Millrace under `node:http`. */
const ownRegister = fileURLToPath(new URL('../../dist/http/register.js', import.meta.url));

/**
 * Finds the rows of a case that are available: name to `{ version, server(load) }`; `server` returns the arguments of
 * startServer. `node` is the binary to run, `register` a module to load instead of Millrace's.
 */
export function findRuntimes({ node = process.execPath, register }) {
  const version = readVersion(node);
  const [bun] = isOnPath('bun') ?? [];
  const varnish = readVarnishVersion();
  const runtimes = {
    node: version && { version, server: app(node) },
    millrace: version && {
      version: register ? `${version} with ${basename(register)}` : 'of this checkout',
      server: app(node, '--import', register ?? ownRegister),
    },
    cached: version && {
      version: 'millrace with its output cache on',
      server: (load) => ({
        ...app(node, '--import', register ?? ownRegister)(load),
        env: { MILLRACE_CACHE_DURATION: '3600' },
      }),
    },
    http2: version && {
      version: 'millrace with HTTP/2 on',
      server: (load) => ({
        ...app(node, '--import', register ?? ownRegister)(load),
        env: { MILLRACE_HTTP2: 'on' },
      }),
    },
    'http2 cached': version && {
      version: 'millrace with HTTP/2 and its output cache on',
      server: (load) => ({
        ...app(node, '--import', register ?? ownRegister)(load),
        env: { MILLRACE_HTTP2: 'on', MILLRACE_CACHE_DURATION: '3600' },
      }),
    },
    bun: bun && { version: readVersion(bun), server: app(bun) },
    nginx: isOnPath('nginx') && { version: readNginxVersion(), server: nginx },
    proxy_cache: isOnPath('nginx') && {
      version: `nginx ${readNginxVersion()}`,
      server: (load) => ({ ...nginx(load), cached: true }),
    },
    varnish: varnish && { version: varnish, server: () => ({ kind: 'varnish' }) },
    shared: version && {
      version: 'millrace, where the processes share the port',
      server: severalApps('shared', node, '--import', register ?? ownRegister),
    },
    proxy_pass: version &&
      isOnPath('nginx') && {
        version: `${readNginxVersion()}, in front of processes on millrace`,
        server: severalApps('proxied', node, '--import', register ?? ownRegister),
      },
    'proxy_pass, node': version &&
      isOnPath('nginx') && {
        version: `${readNginxVersion()}, in front of processes on node`,
        server: severalApps('proxied', node),
      },
  };
  return new Map(Object.entries(runtimes).filter(([, found]) => found));
}

const CERTIFICATE = 'ecdsa';

function app(...argv) {
  return ({ app, args, tls }) => ({ kind: 'app', argv, app, args, tls: tls && CERTIFICATE });
}

/** Builds a server with an application for each path of the load, all on one port. */
function severalApps(kind, ...argv) {
  return ({ app, paths }) => ({ kind, argv, app, paths });
}

function nginx(load) {
  const tls = load.tls && CERTIFICATE;
  const http2 = load.streams !== undefined;
  return { kind: 'nginx', tls, http2, resume: load.tls === 'resume' };
}

/** Reads the version of a binary; null if it does not run. */
function readVersion(binary) {
  const { status, stdout } = spawnSync(binary, ['--version'], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : null;
}

/** Reads the versions of packages from the lock file of a folder, which is relative to this module. */
export function readPackageVersions(folder, names) {
  const lock = new URL(`${folder}/package-lock.json`, import.meta.url);
  const { packages } = JSON.parse(readFileSync(lock, 'utf8'));
  return Object.fromEntries(names.map((name) => [name, packages[`node_modules/${name}`].version]));
}
