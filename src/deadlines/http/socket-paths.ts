const kPath = Symbol('millrace.path');

/** With the name of the socket in the file system that it is connected to. */
interface Named {
  [kPath]?: string;
}

/** A connection goes to a socket in the file system, of this name: what its library knows need not say so. */
export function rememberPath(socket: object, name: string): void {
  (socket as Named)[kPath] = name;
}

export function pathOf(socket: object): string | undefined {
  return (socket as Named)[kPath];
}
