// Nest on Express; its decorators are called as TypeScript calls them.
import 'reflect-metadata';
import * as common from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FileInterceptor } from '@nestjs/platform-express';
import { interval, map, tap } from 'rxjs';
import { WebSocketServer } from 'ws';
import { announce, endless, page } from './announce.mjs';

class Pages {
  root() {
    return { hello: 'world' };
  }
  page() {
    return page;
  }
  item(id) {
    if (id === 0) throw new common.NotFoundException('none');
    return { id };
  }
  echo(request) {
    return { method: request.method, body: request.body ?? null };
  }
  upload(file, body) {
    return { size: file.size, title: body.title };
  }
  file() {
    return new common.StreamableFile(Buffer.from(page), { type: 'text/plain' });
  }
  events() {
    return interval(20).pipe(map((n) => ({ data: `event ${n}` })));
  }
  endless(response) {
    endless(response);
  }
  async slow() {
    console.log('slow');
    await new Promise((resolve) => setTimeout(resolve, 500));
    return 'slow';
  }
  fail() {
    throw new Error('on purpose');
  }
  beforeApplicationShutdown() {
    console.log('beforeApplicationShutdown');
  }
}

class Log {
  intercept(context, next) {
    const { method, url } = context.switchToHttp().getRequest();
    return next.handle().pipe(tap({ complete: () => console.log(`${method} ${url} done`) }));
  }
}

/** Decorates a method of `Pages`, and its parameters. */
function route(name, decorators, parameters = []) {
  for (const [index, decorate] of parameters.entries()) decorate(Pages.prototype, name, index);
  const descriptor = Object.getOwnPropertyDescriptor(Pages.prototype, name);
  for (const decorate of decorators.toReversed()) decorate(Pages.prototype, name, descriptor);
}

const { Get, Post } = common;
route('root', [Get()]);
route('page', [Get('page'), common.Header('Content-Type', 'text/plain')]);
route('item', [Get('items/:id')], [common.Param('id', common.ParseIntPipe)]);
route('echo', [common.All('echo')], [common.Req()]);
const parameters = [common.UploadedFile(), common.Body()];
route('upload', [Post('upload'), common.UseInterceptors(FileInterceptor('file'))], parameters);
route('file', [Get('file')]);
route('events', [common.Sse('events')]);
route('endless', [Get('endless')], [common.Res()]);
route('slow', [Get('slow')]);
route('fail', [Get('fail')]);
common.UseInterceptors(Log)(Pages);
common.Controller()(Pages);

class Application {}
common.Module({ controllers: [Pages] })(Application);

const app = await NestFactory.create(Application, { logger: false });
await app.listen(0, '127.0.0.1');
const server = app.getHttpServer();
const sockets = new WebSocketServer({ server, path: '/socket' });
sockets.on('connection', (socket) => {
  socket.on('message', (data, binary) => socket.send(data, { binary }));
  socket.on('close', (code) => console.log(`socket closed ${code}`));
});
announce(server, () => app.close());
