/** The answer of the Express applications. */
export function list(_request, response) {
  response.json({
    items: [
      { id: 1, name: 'one of two' },
      { id: 2, name: 'the other' },
    ],
    total: 2,
  });
}
