// Ends the connection with each answer, as old proxies taught it to. Express.
import express from 'express';

const app = express();
app.disable('x-powered-by');
app.get('/', (_request, response) => {
  if (process.env.REMEDY !== '1') response.set('Connection', 'close');
  response.send('done\n');
});
app.listen(process.env.PORT ?? 0, '127.0.0.1');
