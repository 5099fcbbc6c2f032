import diagnostics from 'node:diagnostics_channel';
import type http from 'node:http';
import { emit } from '../node/node-methods.js';
import type { native } from '../reactor/native.js';

/** The channel that reports new connections. */
export const connections = diagnostics.channel('net.server.socket');

/** Announces a new connection; as Node does, first by the event and then by the channel. */
export function announce(server: http.Server, socket: object): void {
  server.emit('connection', socket as never);
  if (connections.hasSubscribers) connections.publish({ socket });
}

/** Reports a connection that exceeds `maxConnections`, before it is closed. On a Unix socket it has no addresses. */
export function announceDrop(
  server: http.Server,
  { local, remote }: ReturnType<typeof native.stackAddresses>,
): void {
  if (server.emit === emit && server.listenerCount('drop') === 0) return;
  if (local?.address === undefined) {
    server.emit('drop');
    return;
  }
  server.emit('drop', {
    __proto__: null,
    localAddress: local.address,
    localPort: local.port,
    localFamily: local.family,
    remoteAddress: remote?.address,
    remotePort: remote?.port,
    remoteFamily: remote?.family,
  } as never);
}
