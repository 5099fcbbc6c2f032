// What every server here does: it says where it listens, and closes when it is told to.

/** `close` gives a promise; when it has been kept, nothing should keep the process. */
export function announce(server, close) {
  process.on('SIGTERM', async () => {
    console.log('SIGTERM');
    await close();
    console.log('closed');
  });
  console.log(`listening ${server.address().port}`);
}

/** Writes on and on, until the client has gone. */
export function endless(response) {
  const timer = setInterval(() => response.write('more\n'), 20);
  response.on('close', () => {
    clearInterval(timer);
    console.log(`left, ended ${response.writableEnded}`);
  });
}

/** A text that is worth compressing. */
export const page = Array.from({ length: 2_000 }, (_, line) => `line ${line} of a page\n`).join('');
