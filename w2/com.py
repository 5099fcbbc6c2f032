import re,sys,subprocess,textwrap,json
def blocks(s):
    lines=s.split('\n'); out=[]; i=0
    while i<len(lines):
        st=lines[i].strip()
        if st.startswith('/**'):
            j=i
            while '*/' not in lines[j]: j+=1
            if lines[j].strip().endswith('*/'): out.append(('doc',i,j))
            i=j+1; continue
        if st.startswith('//') and not st.startswith('// biome'):
            j=i
            while j+1<len(lines) and lines[j+1].strip().startswith('//'): j+=1
            out.append(('line',i,j)); i=j+1; continue
        i+=1
    return lines,out
def text(lines,b):
    k,i,j=b
    if k=='line': return ' '.join(l.strip()[2:].strip() for l in lines[i:j+1])
    t='\n'.join(lines[i:j+1]).strip()[3:-2]
    ls=[re.sub(r'^\s*\*\s?','',l).rstrip() for l in t.split('\n')]
    # join paragraphs
    paras=[];cur=[]
    for l in ls:
        l=l.strip() if not l.startswith('  ') else l
        if l.strip()=='' : 
            if cur: paras.append(' '.join(cur));cur=[]
            continue
        if l.startswith('@') or l.startswith('- ') or l.startswith('const ') :
            if cur: paras.append(' '.join(cur));cur=[]
        cur.append(l.strip())
    if cur: paras.append(' '.join(cur))
    return '\n'.join(paras)
def render(kind,indent,t):
    if kind=='line':
        w=textwrap.wrap(t,120-len(indent)-3,break_long_words=False,break_on_hyphens=False)
        return [f'{indent}// {l}' for l in w]
    paras=t.split('\n')
    if len(paras)==1 and len(indent)+7+len(t)<=120: return [f'{indent}/** {t} */']
    res=[f'{indent}/**']; prev=None
    for p in paras:
        if p=='': res.append(f'{indent} *'); continue
        w=textwrap.wrap(p,120-len(indent)-3,break_long_words=False,break_on_hyphens=False,subsequent_indent='  ' if p.startswith(('@','- ')) else '')
        res+=[f'{indent} * {l}' for l in w]
    res.append(f'{indent} */'); return res
if sys.argv[1]=='list':
    for p in sys.argv[2:]:
        lines,bs=blocks(open(p).read())
        print('=',p)
        for n,b in enumerate(bs):
            nxt=lines[b[2]+1].strip()[:50] if b[2]+1<len(lines) else ''
            print(n,text(lines,b).replace('\n',' \\n '),'»',nxt)
else:
    cur=None; edits={}
    for raw in open(sys.argv[2]).read().split('\n'):
        if raw.startswith('= '): cur=raw[2:].strip(); edits[cur]={}; last=None; continue
        m=re.match(r'^(\d+) (.*)$',raw)
        if m and cur: last=int(m[1]); edits[cur][last]=m[2]; continue
        if raw.startswith('+ ') or raw=='+': edits[cur][last]+='\n'+raw[2:]
    for p,e in edits.items():
        lines,bs=blocks(open(p).read())
        for n in sorted(e,reverse=True):
            k,i,j=bs[n]; ind=re.match(r'\s*',lines[i])[0]
            if e[n].strip()=='DEL': lines[i:j+1]=[]
            else: lines[i:j+1]=render(k,ind,e[n])
        open(p,'w').write('\n'.join(lines))
        print(p,len(e))
