import { ApolloServer } from '@apollo/server';
import { startStandaloneServer } from '@apollo/server/standalone';
import { announce } from '../../stack/apps/announce.js';
import { resolvers, typeDefs } from './graphql.js';

const apollo = new ApolloServer({ typeDefs, resolvers });
const listen = { port: 0, host: '127.0.0.1' };
const { port } = new URL((await startStandaloneServer(apollo, { listen })).url);
announce({ listening: true, address: () => ({ port: Number(port) }) });
