// Eighteen wall displays that follow the order book.
const WebSocket = require('ws');
process.on('message', ({ port }) => {
  for (let i = 0; i < 18; i++)
    new WebSocket(`ws://127.0.0.1:${port}/live?depth=${5 + (i % 6)}`)
      .on('message', () => {})
      .on('error', () => {});
});
process.on('disconnect', () => process.exit());
