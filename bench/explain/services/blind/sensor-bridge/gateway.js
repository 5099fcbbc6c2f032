// The field-bus gateway daemon: one named pipe per sensor.
'use strict';
// Whoever opens a pipe gets one reading, as soon as the sensor has been polled (about 40 ms).
process.env.UV_THREADPOOL_SIZE = '64';
const fs = require('node:fs/promises');
const { setTimeout: sleep } = require('node:timers/promises');
async function serve(pipe) {
  for (let n = 0; ; n++) {
    const h = await fs.open(pipe, 'w');
    await sleep(40);
    try {
      await h.write(`${20 + (n % 10) / 10}\n`);
    } catch {}
    await h.close();
    await sleep(2);
  }
}
process.on('message', (pipes) => {
  pipes.forEach(serve);
  process.send('ready');
});
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
