export const dynamic = 'force-dynamic';

const items = Array.from({ length: 20 }, (_, index) => ({ id: index, name: `item ${index}` }));

export default function Page() {
  return (
    <main>
      <h1>Items</h1>
      <ul>
        {items.map(({ id, name }) => (
          <li key={id}>{name}</li>
        ))}
      </ul>
    </main>
  );
}
