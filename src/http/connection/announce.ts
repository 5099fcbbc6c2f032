import diagnostics from 'node:diagnostics_channel';
import type http from 'node:http';
import { emit } from '../install/node-methods.js';

/** The channel that tells of new connections. */
export const connections = diagnostics.channel('net.server.socket');

/** Tells of a new connection; as Node does, first by the event and then by the channel. */
export function announce(server: http.Server, socket: object): void {
  server.emit('connection', socket as never);
  if (connections.hasSubscribers) connections.publish({ socket });
}

/** What 'drop' tells of. */
interface Ends {
  address(): { address?: string; port?: number; family?: string };
  remoteAddress: string | undefined;
  remotePort: number | undefined;
  remoteFamily: string | undefined;
}

/** Tells of a connection that exceeds `maxConnections`, before it is closed. One of a Unix socket has no addresses. */
export function announceDrop(server: http.Server, socket: Ends): void {
  if (server.emit === emit && server.listenerCount('drop') === 0) return;
  const { address, port, family } = socket.address();
  if (address === undefined) {
    server.emit('drop');
    return;
  }
  server.emit('drop', {
    __proto__: null,
    localAddress: address,
    localPort: port,
    localFamily: family,
    remoteAddress: socket.remoteAddress,
    remotePort: socket.remotePort,
    remoteFamily: socket.remoteFamily,
  } as never);
}
