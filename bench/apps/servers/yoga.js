import { createServer } from 'node:http';
import { createSchema, createYoga } from 'graphql-yoga';
import { announce } from '../../stack/apps/announce.js';
import { resolvers, typeDefs } from './graphql.js';

const yoga = createYoga({ schema: createSchema({ typeDefs, resolvers }), logging: false });
announce(createServer(yoga).listen(0, '127.0.0.1'));
