// Tests of the stack at full size: soaks, 100 000 requests, every cut of every seed.
process.env.MILLRACE_TEST_SIZE = 'full';

for (const name of ['soak', 'robust', 'servers', 'differential']) {
  await import(`../integration/stack/${name}.test.js`);
}
