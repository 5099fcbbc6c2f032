const kSocketPath = Symbol('millrace.path');

/** A socket with the name of the socket in the file system that it is connected to. */
interface SocketWithPath {
  [kSocketPath]?: string;
}

/** Records the path of a connection to a socket in the file system: its library need not know it. */
export function setSocketPath(socket: object, name: string): void {
  (socket as SocketWithPath)[kSocketPath] = name;
}

export function getSocketPath(socket: object): string | undefined {
  return (socket as SocketWithPath)[kSocketPath];
}
