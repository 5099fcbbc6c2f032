import type { Session } from 'node:inspector';

/** Runs a function with a session of V8's inspector in this process, which is closed afterwards. */
export async function withInspector<Result>(
  use: (session: Session) => Promise<Result>,
): Promise<Result> {
  const session = await openInspector();
  try {
    return await use(session);
  } finally {
    session.disconnect();
  }
}

let coverageSession: Session | null = null;

/**
 * Runs a function with a session whose profiler is enabled. If Node.js measures coverage, the session stays open: closing it
 * would end the coverage.
 */
export async function withProfiler<Result>(
  use: (session: Session) => Promise<Result>,
): Promise<Result> {
  const enable = async (session: Session) => {
    await post(session, 'Profiler.enable');
    return use(session);
  };
  if (!process.env.NODE_V8_COVERAGE) return withInspector(enable);
  coverageSession ??= await openInspector();
  return enable(coverageSession);
}

/** Opens a session of V8's inspector in this process. */
export async function openInspector(): Promise<Session> {
  // Imported on demand: some builds of Node.js lack it.
  const { Session } = await import('node:inspector');
  const session = new Session();
  session.connect();
  return session;
}

/** Calls a method of the inspector. */
export function post(session: Session, method: string, parameters = {}): Promise<unknown> {
  return new Promise((resolve, reject) => {
    session.post(method, parameters, (error, result) => (error ? reject(error) : resolve(result)));
  });
}
