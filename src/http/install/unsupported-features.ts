import type { HttpServer } from '../node/node-internals.js';
import { areSocketsUnpatched } from '../node/node-methods.js';
import { isSecure } from '../tls/secure-server.js';

/** Returns why only Node's own code can serve a server; `null`: the stack can. */
export function findUnsupportedFeature(server: HttpServer): string | null {
  const option = findNodeOption(server);
  if (option !== null) return `the option ${option} is served by Node's own stack`;
  if (areSocketsUnpatched()) return null;
  return "methods of net.Socket were replaced, which only Node's own stack calls";
}

function findNodeOption(server: HttpServer): string | null {
  if (server.insecureHTTPParser) return 'insecureHTTPParser';
  if (server.blockList) return 'blockList';
  // For HTTPS it is decided with each handshake.
  if (server.pauseOnConnect && !isSecure(server)) return 'pauseOnConnect';
  const { httpValidation } = server;
  return httpValidation === 'insecure' || httpValidation === 'relaxed' ? 'httpValidation' : null;
}
