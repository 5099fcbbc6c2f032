import { startTestServer, type TestServerOptions } from '../../index.js';
import { EXIT } from '../exit.js';
import { onInterrupt } from '../terminal/interrupt.js';
import { printMessage, printText } from '../terminal/print.js';

/** Serves until Ctrl-C or SIGTERM; prints one line, the URL. */
export async function testServerCommand(options: TestServerOptions): Promise<number> {
  const interrupted = new Promise<number>((resolve) => onInterrupt(() => resolve(EXIT.ok)));
  const server = await startTestServer(options);
  printText(`Listening on ${server.url}`);
  const code = await Promise.race([interrupted, server.exited.then(() => EXIT.failure)]);
  if (code === EXIT.failure) printMessage('a process of the test server has ended');
  await server.close();
  return code;
}
