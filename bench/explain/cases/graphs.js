// Services of which it is known by construction what share of CPU time, waits and allocations is where. They are there for
// the graphs of explain.
const env = { FIX: '1' };

export const graphs = [
  {
    name: 'graph-cpu',
    service: 'graphs/cpu/server',
    flags: ['-c', '20'],
    expected: ['event-loop-cpu', 'single-core'],
    because:
      'two functions compute 4 and 6 ms: 40 % of the CPU time is in one of them, X = 1 / 10 ms',
    remedy: { change: 'without the 4 ms', env, of: [] },
    where: {
      cpu: [
        { place: 'applyDiscounts', share: 0.4 },
        { place: 'renderRows', share: 0.6 },
      ],
    },
  },
  {
    name: 'graph-waits',
    service: 'graphs/waits/server',
    flags: ['-c', '100'],
    expected: ['serialized'],
    partly: ['outbound-pool'],
    because:
      'of 100 requests 61 are in the ledger, where a mutex admits one, 24 in reports, for which there are four connections, and 15 at the journal, one at a time: 60 wait for the mutex, 20 for a connection. X = 1 / 10.5 ms + 4 / 11 ms + 1 / 10.5 ms = 550/s',
    remedy: { change: 'no mutex for the ledger', env, of: [] },
    where: {
      waits: [
        { place: 'lockLedger', share: 0.6 },
        { place: 'takeConnection', share: 0.2 },
        { place: 'lockJournal', share: 0.14 },
      ],
    },
  },
  {
    name: 'graph-line',
    service: 'graphs/line/server',
    flags: ['-R', '2000', '-c', '20'],
    expected: ['memory-growth'],
    because:
      'one line allocates 1024 bytes a request, and keeps them: 2000/s are 2 MB/s for ever; the rate itself is served',
    remedy: { change: 'a thousand are kept', env, of: [] },
    where: {
      // V8 notes the function that allocates, not the line.
      allocations: { place: 'record', bytes: 1024 },
      growth: { place: 'record', retainer: 'audit', bytes: 1024 },
    },
  },
  {
    name: 'graph-map',
    service: 'graphs/map/server',
    flags: ['-R', '500', '-c', '20'],
    expected: ['memory-growth'],
    because:
      'each request adds an entry of 4 kB to a Map, a field of a VisitLog, and none is removed, 2 MB/s: an array of 500 numbers, 4048 bytes, its Visit and a place in the Map',
    remedy: { change: 'the Map is cleared', env, of: [] },
    where: { growth: { place: 'Visit', retainer: 'visits', bytes: 4048 } },
  },
  {
    name: 'graph-garbage',
    service: 'graphs/garbage/server',
    flags: ['-c', '20'],
    expected: ['gc-young', 'event-loop-cpu', 'single-core'],
    partly: ['gc-old'],
    because:
      'a request allocates 12 000 rows, three quarters of them in one function, and 64 requests are kept, so that the collector has to move them',
    remedy: { change: 'a hundredth of the rows', env, of: [] },
    where: {
      allocations: [
        { place: 'loadHistory', share: 0.75 },
        { place: 'loadOrders', share: 0.25 },
      ],
    },
  },
];
