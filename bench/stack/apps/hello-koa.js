import Koa from 'koa';
import { announce } from './announce.js';

const app = new Koa();
app.use((context) => {
  context.body = 'hello world\n';
});
announce(app.listen(0, '127.0.0.1'));
