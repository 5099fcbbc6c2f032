// Downloads of price lists. Each is slowed down to 1.6 MB/s, so that a reseller with a fat line leaves something to
// the others (there was one with 400 MB a minute).
import { Readable, Transform } from 'node:stream';
import Koa from 'koa';

const PIECE = 16 * 1024;
const BYTES_PER_SECOND = 1_638_400;

const lines = Array.from(
  { length: 1560 },
  (_, id) => `${id};Article ${id};${(id * 1.37).toFixed(2)};EUR;each\n`,
);
const priceList = Buffer.from(lines.join('').padEnd(4 * PIECE, '\n')).subarray(0, 4 * PIECE);

function* piecesOf(content) {
  for (let from = 0; from < content.length; from += PIECE)
    yield content.subarray(from, from + PIECE);
}

class Throttle extends Transform {
  #rate;

  constructor(rate) {
    super();
    this.#rate = rate;
  }

  _transform(piece, _encoding, callback) {
    this.push(piece);
    // The next piece may go when this one is paid for.
    setTimeout(callback, (piece.length / this.#rate) * 1000);
  }
}

// Resellers with a contract are not slowed down.
const isPartner = () => process.env.REMEDY === '1';

const app = new Koa();
app.on('error', (error) => {
  if (error.code !== 'ECONNRESET' && error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
});
app.use((context) => {
  context.type = 'text/csv';
  context.set('content-disposition', 'attachment; filename="prices.csv"');
  if (isPartner(context)) context.body = priceList;
  else {
    context.body = Readable.from(piecesOf(priceList), { objectMode: false }).pipe(
      new Throttle(BYTES_PER_SECOND),
    );
  }
});
app.listen(process.env.PORT ?? 0, '127.0.0.1');
