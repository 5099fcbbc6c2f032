// Thirty middlewares that each do a little, among them a signed cookie, in Express: no function stands out.
import { createHmac, randomUUID } from 'node:crypto';
import express from 'express';

const app = express();
for (let i = 0; i < 29; i++) {
  app.use((_request, response, next) => {
    response.setHeader(
      `X-Step-${i}`,
      createHmac('sha256', 'secret').update(randomUUID()).digest('hex'),
    );
    next();
  });
}
app.get('/', (request, response) => {
  response.cookie('session', randomUUID());
  response.json({ url: request.originalUrl, headers: request.headers, query: request.query });
});
app.listen(process.env.PORT ?? 0, '127.0.0.1');
