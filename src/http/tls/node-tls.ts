import type crypto from 'node:crypto';
import type https from 'node:https';
import type tls from 'node:tls';

/*
 * Node's own modules of TLS. Not imported: they take longer to load than all of the stack, and an application that serves plain
 * HTTP may never use them.
 */
export function nodeCrypto(): typeof crypto {
  return process.getBuiltinModule('node:crypto');
}
export function nodeTls(): typeof tls {
  return process.getBuiltinModule('node:tls');
}
export function nodeHttps(): typeof https {
  return process.getBuiltinModule('node:https');
}

const { moduleLoadList } = process as unknown as { moduleLoadList?: string[] };
const loaded = new Set<string>();

/** Whether a module of Node's is loaded, by whomever; `true` if Node does not tell. */
export function isLoaded(name: 'https' | 'tls'): boolean {
  const isFound = loaded.has(name) || (moduleLoadList?.includes(`NativeModule ${name}`) ?? true);
  if (isFound) loaded.add(name);
  return isFound;
}
