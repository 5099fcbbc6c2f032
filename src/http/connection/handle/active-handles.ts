import { connections } from '../../reactor/registry.js';
import type { Connection } from '../../state/connection.js';

/** What Node tells of all that keeps the process alive. */
const active = process as unknown as {
  getActiveResourcesInfo(): string[];
  _getActiveHandles(): object[];
};

/** Adds native connections to Node's lists of active handles and resources, where tools look for leaks. */
export function listConnections(): void {
  const { getActiveResourcesInfo, _getActiveHandles } = active;
  replace('getActiveResourcesInfo', function (this: unknown) {
    const resources = getActiveResourcesInfo.call(this);
    // Handles come before timers.
    const end = resources.findLastIndex((name) => name.endsWith('Wrap')) + 1;
    return resources.toSpliced(end, 0, ...findConnections().map(toResource));
  });
  replace('_getActiveHandles', function (this: unknown) {
    return [..._getActiveHandles.call(this), ...findConnections().map(toOwner)];
  });
}

/** Connections that keep the process alive, without those for which there is a handle of Node's own. */
function findConnections(): Connection[] {
  return connections.filter(
    (connection): connection is Connection =>
      connection !== null && !connection.isStream && connection.isReferenced,
  );
}

function toResource(connection: Connection): string {
  return connection.local?.address === undefined ? 'PipeWrap' : 'TCPSocketWrap';
}

/** Returns the socket that Node has for a connection: that of 'connection', also over TLS. */
function toOwner({ socket }: Connection): object {
  return socket._parent ?? socket;
}

function replace(name: keyof typeof active, value: () => object[] | string[]): void {
  Object.defineProperty(value, 'name', { value: name });
  const descriptor = Object.getOwnPropertyDescriptor(process, name);
  // Does nothing where the application has frozen it.
  Reflect.defineProperty(process, name, { ...descriptor, value });
}
