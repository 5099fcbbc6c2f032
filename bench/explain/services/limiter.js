// A rate limiter before a cheap handler: 300 requests in a second, then 429 until the next one. Express.
import express from 'express';

const limit = process.env.REMEDY === '1' ? Infinity : 300;
let second = 0;
let used = 0;

const app = express();
app.use((_request, response, next) => {
  const now = Math.floor(Date.now() / 1000);
  if (now !== second) {
    second = now;
    used = 0;
  }
  if (++used > limit) response.status(429).send('too many requests\n');
  else next();
});
app.get('/', (_request, response) => {
  response.send('done\n');
});
app.listen(process.env.PORT ?? 0, '127.0.0.1');
