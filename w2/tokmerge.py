import re,subprocess,sys,json,os,tempfile
def toks(s): return re.findall(r'\w+|\s+|[^\w\s]',s)
def show(st,p):
    r=subprocess.run(['git','show',f':{st}:{p}'],capture_output=True,text=True)
    return r.stdout if r.returncode==0 else None
files=subprocess.run('git diff --name-only --diff-filter=U',shell=True,capture_output=True,text=True).stdout.split()
for p in sorted(set(files)):
    b,o,t=(show(i,p) for i in (1,2,3))
    if None in (b,o,t): print('skip',p); continue
    d=tempfile.mkdtemp()
    for n,s in (('b',b),('o',o),('t',t)):
        # separate tokens by a context line of its own so adjacent tokens do not conflict
        out=[]
        for k in toks(s):
            if k.isspace(): k='\n' if '\n' in k and n!='x' else ' '
            out.append(json.dumps(k))
        # keep original whitespace: second pass
        out=[json.dumps(k) for k in toks(s)]
        open(f'{d}/{n}','w').write('\n'.join(out)+'\n')
    r=subprocess.run(['git','merge-file','-p','--diff3',f'{d}/o',f'{d}/b',f'{d}/t'],capture_output=True,text=True)
    res=[];state=None;buf={'o':[],'b':[],'t':[]};unres=0
    def norm(l): return [x for x in l if not x.isspace()]
    for line in r.stdout.split('\n'):
        if line.startswith('<<<<<<<'): state='o';buf={'o':[],'b':[],'t':[]};continue
        if state and line.startswith('|||||||'): state='b';continue
        if state and line.startswith('======='): state='t';continue
        if state and line.startswith('>>>>>>>'):
            O,B,T=buf['o'],buf['b'],buf['t']
            if norm(O)==norm(B): res+=T
            elif norm(T)==norm(B) or norm(O)==norm(T): res+=O
            elif len(norm(O))==len(norm(B))==len(norm(T)) and all(x==y or z==y or x==z for x,y,z in zip(norm(O),norm(B),norm(T))):
                # token-wise
                m=[x if x!=y else z for x,y,z in zip(norm(O),norm(B),norm(T))]
                it=iter(m); res+=[k if k.isspace() else next(it) for k in O]
            else:
                unres+=1
                res+=['\n<<<<<<< ours\n',''.join(O),'\n=======\n',''.join(T),'\n>>>>>>> theirs\n']
            state=None;continue
        if line=='':continue
        tok=json.loads(line)
        (buf[state] if state else res).append(tok)
    open(p,'w').write(''.join(res))
    print(p,unres)
