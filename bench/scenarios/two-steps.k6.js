// The flow of two steps for k6. A failed check ends the run, as without a summary nothing counts it.
import { check } from 'k6';
import exec from 'k6/execution';
import http from 'k6/http';

// biome-ignore lint/correctness/noUndeclaredVariables: a global of k6
const url = __ENV.URL;

export default function run() {
  const token = http.get(`${url}login`).json('token');
  const items = http.get(`${url}items`, { headers: { authorization: `Bearer ${token}` } });
  const paid = check(items, { paid: (response) => response.json('state') === 'paid' });
  if (!paid) exec.test.abort('the check failed');
}
