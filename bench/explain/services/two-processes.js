// The service of SERVICE by two processes.
import cluster from 'node:cluster';

if (cluster.isPrimary) {
  for (let i = 0; i < 2; i++) cluster.fork();
} else {
  await import(`./${process.env.SERVICE}.js`);
}
