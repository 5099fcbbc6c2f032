// Nest on one of its adapters, which the argument names; its decorators are called as TypeScript calls them.
import 'reflect-metadata';
import { Controller, Get, Injectable, Module, Param, ParseIntPipe } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { announce } from '../../stack/apps/announce.js';

class Items {
  find(id) {
    return { id, name: 'one of many' };
  }
}
Injectable()(Items);

class ItemController {
  constructor(items) {
    this.items = items;
  }
  one(id) {
    return this.items.find(id);
  }
}
Reflect.defineMetadata('design:paramtypes', [Items], ItemController);
Param('id', ParseIntPipe)(ItemController.prototype, 'one', 0);
const one = Object.getOwnPropertyDescriptor(ItemController.prototype, 'one');
Get('items/:id')(ItemController.prototype, 'one', one);
Controller()(ItemController);

class Application {}
Module({ controllers: [ItemController], providers: [Items] })(Application);

const adapters = {
  express: async () => new (await import('@nestjs/platform-express')).ExpressAdapter(),
  fastify: async () => new (await import('@nestjs/platform-fastify')).FastifyAdapter(),
};
const adapter = await adapters[process.argv[2]]();
const app = await NestFactory.create(Application, adapter, { logger: false });
await app.listen(0, '127.0.0.1');
announce(app.getHttpServer());
