import sys
def sub(p,*prs):
    s=open(p).read()
    for a,b in prs:
        if a not in s: print('MISSING',p,a[:70]); continue
        s=s.replace(a,b)
    open(p,'w').write(s)
E='src/explain/'
sub(E+'run.ts',
("`budget: ${budgetMs / 1000} s given; accepted: ${MIN_BUDGET_MS / 1000} s or more`","`budget must be at least ${MIN_BUDGET_MS / 1000}s (got ${budgetMs / 1000}s)`"),
("'looking at the server'","'examining the server'"),
("what is at port ${other}, where the command listens, too: give its URL","port ${other}: the command listens there too; give its URL to load it"),
("a part of the server from inside: ${reason}","some processes of the server from inside: ${reason}"),
("the server speaks TLS; give ${started ? `its address before the command: ${secure} -- COMMAND` : secure}","the server expects TLS: use ${secure}${started ? ' -- COMMAND' : ''}"),
("'attach: the process of the server is not known here; accepted: a server on this machine, or --pid'","'attach needs the process of a server on this machine, which is unknown: give its pid'"))
sub(E+'phases/baseline.ts',("onStep('looking at the server without load')","onStep('observing the server without load')"),
("onStep('one request at a time')","onStep('measuring one request at a time')"),
("onStep('warming up with the load as asked for')","onStep('warming up')"),
("onStep('measuring with the load as asked for')","onStep('measuring the baseline')"),
("(warmupTargetMs: number, minMs","(targetMs: number, minMs"),("Math.max(minMs, warmupTargetMs)","Math.max(minMs, targetMs)"),
("const wantedMs =","const requestedMs ="),("Math.max(wantedMs, ","Math.max(requestedMs, "))
R=E+'phases/experiment-runner.ts'
sub(R,("too few responses to reason with: ${completedOf(metrics.base.load)} in ${time(metrics.base.load.durationMs)} (--budget, --timeout)","too few responses for a verdict: ${completedOf(metrics.base.load)} in ${time(metrics.base.load.durationMs)}; give it more time (--budget, --timeout)"),
("experiments: blocks of ${time(this.#blockMs())} leave no time (--budget)","experiments: no time, since a block takes ${time(this.#blockMs())}; give it more time (--budget)"),
("`trying: ${what}`","`experiment: ${what}`"),
("${name}: the probe could not: ${why}","${name}: the probe failed: ${why}"),
("`trying: ${count(connections)} connections`","`experiment: ${count(connections)} connections`"),
("all experiments: meanwhile ${share(failing)} of the requests failed as they were asked for, at first ${share(this.#metrics.errorShare)}","all experiments: ${share(failing)} of the requests under the unchanged load failed meanwhile, at first ${share(this.#metrics.errorShare)}"),
("`trying: ${experiment.name}`","`experiment: ${experiment.name}`"),
("${name}: no time was left of the budget (--budget)","${name}: no time left; give it more time (--budget)"),
("'its own cost'","'cost of the probe'"),
("'taking a profile'","'taking a CPU profile'"),
("`trying for longer: ${experiment.name}`","`repeating for longer: ${experiment.name}`"),
("${what}: the probe could not: ${error.message}","${what}: the probe failed: ${error.message}"),
("${name}: it gave too little to compare","${name}: too few responses to compare"),
("${experiment.name}: the command sets its own environment","${experiment.name}: the command overrides the environment variable"))
sub(E+'investigation.ts',("subject.endReason ?? 'is gone'","subject.endReason ?? 'no longer answers'"))
sub(E+'target/reference-server.ts',("'measuring a server that does nothing'","'measuring a reference server that does nothing'"),("`a server that does nothing: ${error.message}`","`reference server: ${error.message}`"))
sub(E+'target/restarts.ts',("the server does not start so: ","the server does not start with this change: "))
sub(E+'target/server-under-test.ts',("'no agent with a bound was seen'","'no agent with maxSockets and no limited pool was seen'"),("'no connection holds back what it is given'",'"no connection uses Nagle\'s algorithm"'),("'its main module is not known'","'its main module is unknown'"),("'no port is free for it'","'there is no free port for it'"),("'most of the calls cannot be delayed'","'most calls cannot be delayed'"))
sub(E+'observe/probe/hub.ts',("the probe, after it rested: ","the probe could not be resumed: "))
sub(E+'observe/probe/process.ts',("the process has gone","the process has ended"))
sub(E+'observe/probe/attach.ts',("'which workers of its cluster serve the port cannot be seen from here'","'the workers of its cluster that serve the port are unknown'"),
("`port ${DEBUGGER_PORT}, where its debugger would open, is taken by a debugger`","`another debugger is open on port ${DEBUGGER_PORT}`"),
("'its debugger does not open'","'its debugger did not open'"),("'the probe does not answer'","'the probe did not answer'"),
("'it does not wait for SIGUSR1 (started with --disable-sigusr1?)'","'it does not handle SIGUSR1 (was it started with --disable-sigusr1?)'"),
("`its debugger is that of process ${own}`","`the debugger belongs to process ${own}`"),
("`cannot put the probe into process ${pid}: ${reason}`","`cannot attach the probe to process ${pid}: ${reason}`"))
sub(E+'observe/probe/cdp-client.ts',("'what listens there is no debugger'","'the port does not belong to a debugger'"))
sub(E+'observe/probe-absence.ts',("Node's permission model keeps the probe out; add ","Node.js's permission model denies the probe; add "),
("'it is not Node.js, only its threads are seen'","'it is not Node.js; only its threads are visible'"),
("'let millrace start it (millrace explain -- COMMAND), or permit --attach'","'start it with millrace (millrace explain -- COMMAND), or use --attach'"),
("its NODE_OPTIONS are set anew, without the probe, as by a script of package.json: write NODE_OPTIONS=\"$NODE_OPTIONS ...\" there, give the command behind the script, or start the server and explain its URL with --attach","its NODE_OPTIONS were replaced, often by a script in package.json: use NODE_OPTIONS=\"$NODE_OPTIONS ...\" there, give the command itself, or start the server and explain its URL with --attach"),
("'the probe saw no request of node:http or node:https'","'the probe saw no request through node:http or node:https'"))
sub(E+'observe/visibility-gaps.ts',
("'how full the network is: no link of this machine tells its speed'","'utilisation of the network: no interface of this machine reports its speed'"),
("threads and sockets of the server: ${process.platform} does not tell; Linux does","threads and sockets of the server: ${process.platform} does not report them; run on Linux"),
("the server's process: its owner is not known, it may be another user's or in a container; give its --pid, run as its user, or as root","the server's process: unknown, it may belong to another user or run in a container; give its --pid, or run as its user or as root"),
("it is another user's; run as that user, or as root","it belongs to another user; run as that user or as root"),
("'number of descriptors of the server'","'open descriptors of the server'"),("'calls of the server to read and write'","'read and write calls of the server'"),
("'waiting for a core: this kernel keeps no scheduling statistics'","'time that threads wait for a core: this kernel keeps no scheduling statistics'"),
("a quota of CPU: the server's cgroup cannot be seen from here; run where it is mounted (outside the container)","CPU quota: the server's cgroup is not visible; run where it is mounted (outside the container)"),
("'pressure on the disk: this kernel does not tell (psi=1 at boot makes it)'","'disk pressure: this kernel does not report it (boot with psi=1)'"),
("'how many connections may wait to be accepted: the server has a network of its own (a container); run there'","'limit of the accept queue: the server has its own network namespace (a container); run there'"),
("'bytes that wait in sockets: the kernel does not tell of Unix sockets; load a TCP port'","'bytes waiting in sockets: the kernel does not report them for Unix sockets; load a TCP port'"),
("const OTHER_USER = \"it is","const OTHER_USER = \"it is"))
sub(E+'quick-hint.ts',("so one loop gives about ","so one loop can serve about "),
("likely a timer of TCP: ${time(gapMedianMs)} lie between the first and the last byte of a response (Nagle's algorithm and a delayed acknowledgement).","likely Nagle's algorithm with delayed acknowledgements: the last byte of a response follows the first after ${time(gapMedianMs)}."),
(" req/s. Unless the requests queue inside."," req/s, unless they are queued inside the server."))
sub('src/process/temporary-folder.ts',("no folder for temporary files (${reason}); accepted: another TMPDIR","no usable folder for temporary files (${reason}): set TMPDIR to another one"))
sub('test/fixtures/explain/explanations.js',("'inside the server: let millrace start it (millrace explain -- COMMAND), or permit --attach'","'inside the server: start it with millrace (millrace explain -- COMMAND), or use --attach'"))
T='test/integration/explain/'
sub(T+'explain.test.js',("the server speaks TLS; give https://${address}","the server expects TLS: use https://${address}"),("/budget: 5 s given; accepted: 15 s or more/","/budget must be at least 15s \\(got 5s\\)/"))
sub(T+'probe-attached.test.js',("cannot put the probe into process","cannot attach the probe to process"))
sub(T+'start.test.js',("its NODE_OPTIONS are set anew.*","its NODE_OPTIONS were replaced.*"),("the probe saw no request of node:http or node:https","the probe saw no request through node:http or node:https"),("Node's permission model keeps the probe out; add","Node\\.js's permission model denies the probe; add"))
sub('test/timing/explain/explain.test.js',("/what is at port \\d+, where the command listens, too/","/port \\d+: the command listens there too; give its URL/"),("/^trying: connections x2/","/^experiment: connections x2/"))
sub('test/timing/explain/outside.test.js',("['environment', 'output and outgoing connections', 'calls']","['environment', 'output and outgoing connections', 'read and write calls']"),(": it is another user's`",": it belongs to another user`"))
sub('test/unit/explain/experiment-runner.test.js',("the server does not start so: it exited","the server does not start with this change: it exited"),("the probe could not: the process has gone","the probe failed: the process has gone"))
