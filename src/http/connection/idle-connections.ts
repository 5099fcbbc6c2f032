import { Duplex } from 'node:stream';
import { nodeHttp } from '../node/node-http.js';
import { nodeConnection } from '../node/node-internals.js';

/** This Node.js counts a connection that has sent nothing yet among the idle ones, which `server.close()` ends: 26 and later do. */
export const endsUnused = ((): boolean => {
  const server = nodeHttp.createServer();
  // Connections are listed from here on.
  server.emit('listening');
  const unused = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  nodeConnection.call(server, unused);
  // No listener sees that this server is closed, not even an application that replaces `emit` of servers.
  server.emit = () => false;
  server.close();
  const { destroyed } = unused;
  unused.destroy();
  return destroyed;
})();
