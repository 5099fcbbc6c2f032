import Module from 'node:module';

/** Where the debugger's evaluation finds the prototypes and leaves the objects. */
const EXCHANGE = Symbol.for('millrace.live-objects');

/** Finds the exports of the loaded CommonJS modules whose path matches. */
export function findLoadedModules(path: RegExp): unknown[] {
  const { _cache: cache } = Module as unknown as { _cache: Record<string, NodeJS.Module> };
  return Object.keys(cache).flatMap((name) => (path.test(name) ? [cache[name]?.exports] : []));
}

/**
 * Finds all objects that have one of the prototypes, by this process's own debugger session. V8 collects garbage first,
 * so nothing that is out of use is found.
 *
 * @throws if Node.js has no debugger
 */
export async function findLiveObjects(prototypes: object[]): Promise<object[]> {
  // Imported on demand: some builds of Node.js lack it.
  const { Session } = await import('node:inspector');
  const session = new Session();
  const found = new Set<object>();
  const take = (some: object[]) => {
    // The prototype of a subclass is none.
    for (const one of some) if (!Object.hasOwn(one, 'constructor')) found.add(one);
  };
  const exchange = { prototypes, take };
  const call = <Result,>(method: string, parameters: object): Promise<Result> =>
    new Promise((resolve, reject) => {
      session.post(method, parameters, (error, result) =>
        error ? reject(error) : resolve(result as Result),
      );
    });
  Object.defineProperty(globalThis, EXCHANGE, { value: exchange, configurable: true });
  session.connect();
  try {
    const place = "globalThis[Symbol.for('millrace.live-objects')]";
    for (const index of prototypes.keys()) {
      const expression = `${place}.prototypes[${index}]`;
      const { result } = await call<{ result: { objectId: string } }>('Runtime.evaluate', {
        expression,
      });
      const { objects } = await call<{ objects: { objectId: string } }>('Runtime.queryObjects', {
        prototypeObjectId: result.objectId,
      });
      await call('Runtime.callFunctionOn', {
        objectId: objects.objectId,
        functionDeclaration: `function () { ${place}.take([...this]); }`,
      });
    }
  } finally {
    session.disconnect();
    Reflect.deleteProperty(globalThis, EXCHANGE);
  }
  return [...found];
}
