import diagnostics from 'node:diagnostics_channel';
import type http from 'node:http';

/** The channel that tells of new connections. */
export const connections = diagnostics.channel('net.server.socket');

/** Tells of a new connection; as Node does, first by the event and then by the channel. */
export function announce(server: http.Server, socket: object): void {
  server.emit('connection', socket as never);
  if (connections.hasSubscribers) connections.publish({ socket });
}
