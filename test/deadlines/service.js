import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const app = fileURLToPath(new URL('app.js', import.meta.url));
const cwd = fileURLToPath(new URL('../..', import.meta.url));

/** The application as a process with deadlines, for the time of the test `t`; `way` is how they are loaded. */
export function service(t, env = {}, way = '--import') {
  const child = fork(app, {
    execArgv: [way, 'millrace/deadlines'],
    env: { ...process.env, ...env },
    cwd,
  });
  t.after(() => child.kill());
  const ask = async (message) => {
    child.send(message);
    const [answer] = await once(child, 'message');
    return answer;
  };
  return {
    call: (call, argument = {}) => ask({ call, argument }),
    stats: () => ask({ call: 'stats' }),
  };
}
