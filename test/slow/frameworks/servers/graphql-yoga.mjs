// GraphQL Yoga, with subscriptions as events and by WebSocket. A signal ends the process as it ends any other.
import { once } from 'node:events';
import http from 'node:http';
import { useServer } from 'graphql-ws/use/ws';
import { createSchema, createYoga } from 'graphql-yoga';
import { WebSocketServer } from 'ws';

const typeDefs = `
  type Query { hello(name: String): String list: [Int!]! fail: String slow: String }
  type Mutation { add(a: Int!, b: Int!): Int upload(file: File!): Int }
  type Subscription { count(to: Int!): Int }
  scalar File`;

async function* count(_, { to }) {
  try {
    for (let n = 0; n < to; n++) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      yield { count: n };
    }
  } finally {
    console.log('subscription ended');
  }
}

const resolvers = {
  Query: {
    hello: (_, { name }) => `hello ${name}`,
    list: () => Array.from({ length: 500 }, (_, n) => n),
    fail() {
      throw new Error('on purpose');
    },
    async slow() {
      console.log('slow');
      await new Promise((resolve) => setTimeout(resolve, 500));
      return 'slow';
    },
  },
  Mutation: {
    add: (_, { a, b }) => a + b,
    upload: async (_, { file }) => (await file.text()).length,
  },
  Subscription: { count: { subscribe: count } },
};

const schema = createSchema({ typeDefs, resolvers });
const server = http.createServer(createYoga({ schema, logging: 'debug' }));
useServer({ schema }, new WebSocketServer({ server, path: '/graphql' }));
await once(server.listen(0, '127.0.0.1'), 'listening');
console.log(`listening ${server.address().port}`);
