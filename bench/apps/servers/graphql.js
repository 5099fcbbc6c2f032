// What both GraphQL servers answer.
export const typeDefs = `
  type Item { id: Int! name: String! related: [Item!]! }
  type Query { item(id: Int!): Item }`;

const named = (id) => ({ id, name: `item ${id}` });

export const resolvers = {
  Query: { item: (_parent, { id }) => named(id) },
  Item: { related: ({ id }) => [named(id + 1), named(id + 2)] },
};
