def sub(p,*prs):
    s=open(p).read()
    for a,b in prs:
        if a not in s: print('MISSING',p,a[:70]); continue
        s=s.replace(a,b)
    open(p,'w').write(s)
sub('test/integration/process/commands.test.js',("gets what is environment before it","gets the environment variables that are assigned before it"),
("\\(one that goes to the background is loaded by its URL, without --\\)","\\(for a server that runs in the background, give its URL without --\\)"))
sub('src/process/command/start-command.ts',("(one that goes to the background is loaded by its URL, without --)","(for a server that runs in the background, give its URL without --)"))
sub('src/process/discovery/check-pid.ts',("`no process has the id ${pid}`","`there is no process ${pid}`"),("${pid} is a thread: its process is ${owner}","${pid} is a thread of process ${owner}: give that id"),
("process ${pid} does not show whether it is Node.js: run as its user, or as root","cannot tell whether process ${pid} is Node.js: run as its user or as root"))
sub('src/process/discovery/endpoint.ts',("a server's port cannot be found on ${process.platform}: give a URL with it","the server's port cannot be found on ${process.platform}: give a URL with a port"))
sub('test/integration/explain/explain.test.js',("/no process has the id 4194300/","/there is no process 4194300/"),("test('no process has the id'","test('a pid that no process has is refused'"))
sub('test/timing/explain/outside.test.js',("`no process has the id ${2 ** 30}`","`there is no process ${2 ** 30}`"),("${child.message} is a thread: its process is ${child.pid}","${child.message} is a thread of process ${child.pid}: give that id"))
