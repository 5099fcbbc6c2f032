// The flame graphs of a page: they are searched, and zoomed into by mouse, touch and keys. The page has a picture of each
// for browsers without scripts, which is replaced.

(() => {
  const SVG = 'http://www.w3.org/2000/svg';
  /** Width of a character of a label, and minimum width of a frame that is drawn, in pixels. */
  const [CHARACTER, MIN_WIDTH] = [6.7, 0.5];
  /** The whole graph, as if it were a node. */
  const WHOLE = -1;
  const numbers = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 });
  const result = JSON.parse(document.getElementById('result').textContent);

  for (const figure of document.querySelectorAll('.flame-graph')) show(figure);

  function show(figure) {
    const { field } = figure.dataset;
    const { graph } = result[field];
    const { sum, from, wide, depth, units, origins } = JSON.parse(
      document.getElementById(`layout-${field}`).textContent,
    );
    const { parents, self } = graph;
    const frames = graph.frameOf.map((index) => graph.frames[index]);
    const ends = findEnds(parents);
    const find = (selector) => figure.querySelector(selector);
    const [picture, details, output, search] = ['.picture', '.details', 'output', 'input'].map(
      find,
    );
    const row = matchMedia('(pointer: coarse)').matches ? 30 : 20;
    let [zoomed, selected, matches, drawn] = [WHOLE, WHOLE, null, new Map()];

    const tree = create('svg', { class: 'frames', role: 'tree', tabindex: 0 });
    tree.setAttribute('aria-label', `${find('h3').textContent}, by caller`);
    picture.replaceChildren(tree);
    for (const hidden of figure.querySelectorAll('[hidden]')) hidden.hidden = false;

    const fromOf = (node) => (node === WHOLE ? 0 : from[node]);
    const wideOf = (node) => (node === WHOLE ? 1 : wide[node]);
    const endOf = (node) => (node === WHOLE ? parents.length : ends[node]);
    const isWithin = (node, outer) => node >= outer && node < endOf(outer);

    function draw() {
      const pixels = picture.clientWidth;
      const [left, scale] = [fromOf(zoomed), pixels / wideOf(zoomed)];
      const all = document.createDocumentFragment();
      drawn = new Map();
      const add = (node, x, width) => {
        const frame = drawFrame(node, x, width);
        drawn.set(node, frame);
        all.append(frame);
      };
      for (let outer = zoomed; outer !== WHOLE; ) {
        outer = parents[outer];
        add(outer, 0, pixels);
      }
      for (let node = zoomed; node < endOf(zoomed); ) {
        const width = wideOf(node) * scale;
        if (width >= MIN_WIDTH) add(node, (fromOf(node) - left) * scale, width);
        // A narrow frame has narrower callees.
        node = width >= MIN_WIDTH ? node + 1 : endOf(node);
      }
      const rows = Math.max(
        1,
        ...[...drawn.keys()].map((node) => (node === WHOLE ? 1 : depth[node] + 2)),
      );
      tree.setAttribute('height', rows * row);
      tree.replaceChildren(all);
      mark();
    }

    function drawFrame(node, x, width) {
      const { name, origin } = node === WHOLE ? { name: 'all', origin: 'whole' } : frames[node];
      const level = node === WHOLE ? 0 : depth[node] + 1;
      const isOuter = node !== zoomed && !isWithin(node, zoomed);
      const kinds = `frame ${origin}${isOuter ? ' outer' : ''}${isMatch(node) ? ' match' : ''}`;
      const frame = create('g', { class: kinds, role: 'treeitem', 'aria-level': level + 1 });
      frame.id = `${field}-${node}`;
      frame.dataset.node = node;
      frame.setAttribute('aria-label', describe(node));
      // A pixel between frames; narrow ones have none to spare.
      const inner = width > 2 ? width - 1 : width;
      frame.append(create('rect', { x, y: level * row, width: inner, height: row - 1 }));
      const room = Math.floor((width - 6) / CHARACTER);
      if (room >= 3) {
        const label = create('text', { x: x + 4, y: level * row + row / 2 + 4 });
        label.textContent = name.length <= room ? name : `${name.slice(0, room - 1)}…`;
        frame.append(label);
      }
      return frame;
    }

    /** Marks the selected frame, and says what it is. */
    function mark() {
      tree.querySelector('.selected')?.classList.remove('selected');
      const frame = drawn.get(selected);
      frame?.classList.add('selected');
      // The outline of a frame would be below the frames after it.
      if (frame) tree.append(frame);
      tree.setAttribute('aria-activedescendant', `${field}-${selected}`);
    }

    function describe(node) {
      const percent = `${toText(100 * wideOf(node))} %`;
      const weight = toWeight(wideOf(node) * sum);
      if (node === WHOLE) return `all: ${weight}`;
      const { name, place, origin } = frames[node];
      const own = toText((100 * self[node]) / sum);
      const kind = origin === 'none' ? '' : origins[origin];
      return [`${name}${place && ` ${place}`}`, percent, weight, `${own} % itself`, kind]
        .filter((part) => part !== '')
        .join(' · ');
    }

    function toWeight(weight) {
      const [factor, unit] = units.find(([least]) => weight >= least) ?? units.at(-1);
      return `${toText(weight / factor)} ${unit}`;
    }

    function select(node) {
      selected = node;
      details.textContent = describe(node);
      if (drawn.has(node)) mark();
      else zoom(widest(node));
    }

    /** What to zoom to so that a node is drawn: its caller, unless the node is too narrow within it. */
    function widest(node) {
      const parent = parents[node];
      const isSeen = (wide[node] / wideOf(parent)) * picture.clientWidth >= MIN_WIDTH;
      return isSeen ? parent : node;
    }

    function zoom(node) {
      zoomed = node;
      draw();
    }

    function reset() {
      search.value = '';
      selected = WHOLE;
      match();
      zoom(WHOLE);
      details.textContent = describe(WHOLE);
    }

    function isMatch(node) {
      return node !== WHOLE && matches !== null && matches.has(graph.frameOf[node]);
    }

    /** Finds the frames whose name or place has the text, and the share of those within no other. */
    function match() {
      const wanted = search.value.trim().toLowerCase();
      matches = wanted === '' ? null : new Set();
      graph.frames.forEach(({ name, place }, index) => {
        if (matches && `${name} ${place}`.toLowerCase().includes(wanted)) matches.add(index);
      });
      figure.classList.toggle('searched', matches !== null);
      const share = listMatches().reduce((all, node) => all + wide[node], 0);
      output.textContent = matches === null ? '' : `${toText(100 * share)} % matched`;
    }

    function listMatches() {
      const found = [];
      for (let node = 0; node < parents.length; node = isMatch(node) ? ends[node] : node + 1)
        if (isMatch(node)) found.push(node);
      return found.sort((a, b) => wide[b] - wide[a]);
    }

    /** The sibling of a node at a distance. */
    function sibling(node, distance) {
      const siblings = [];
      const parent = node === WHOLE ? WHOLE : parents[node];
      for (let one = parent + 1; one < endOf(parent); one = ends[one]) siblings.push(one);
      return siblings[siblings.indexOf(node) + distance];
    }

    const nodeAt = ({ target }) => {
      const frame = target.closest('.frame');
      return frame === null ? null : Number(frame.dataset.node);
    };

    tree.addEventListener('click', (event) => {
      const node = nodeAt(event);
      if (node === null) return;
      selected = node;
      zoom(node);
      details.textContent = describe(node);
    });
    tree.addEventListener('pointerover', (event) => {
      const node = nodeAt(event);
      if (node !== null) details.textContent = describe(node);
    });
    tree.addEventListener('pointerleave', () => {
      details.textContent = describe(selected);
    });
    tree.addEventListener('keydown', (event) => {
      const moves = {
        ArrowDown: () => (selected + 1 < endOf(selected) ? selected + 1 : undefined),
        ArrowUp: () => (selected === WHOLE ? undefined : parents[selected]),
        ArrowLeft: () => (selected === WHOLE ? undefined : sibling(selected, -1)),
        ArrowRight: () => (selected === WHOLE ? undefined : sibling(selected, 1)),
        Home: () => WHOLE,
      };
      if (Object.hasOwn(moves, event.key)) {
        const node = moves[event.key]();
        if (node !== undefined) select(node);
      } else if (event.key === 'Enter' || event.key === ' ') zoom(selected);
      else if (event.key === 'Escape') reset();
      else return;
      event.preventDefault();
    });
    search.addEventListener('input', () => {
      match();
      draw();
    });
    search.addEventListener('keydown', ({ key }) => {
      if (key === 'Escape') reset();
      if (key !== 'Enter' || matches === null) return;
      const found = listMatches();
      const next = found[(found.indexOf(selected) + 1) % found.length];
      if (next !== undefined) select(next);
    });
    find('button').addEventListener('click', reset);
    let pixels = 0;
    new ResizeObserver(() => {
      if (picture.clientWidth === pixels) return;
      pixels = picture.clientWidth;
      draw();
    }).observe(picture);
  }

  /** By node: the first node that is not within it. Nodes come in the order in which a walk from the root meets them. */
  function findEnds(parents) {
    const ends = parents.map((_, node) => node + 1);
    for (let node = parents.length - 1; node >= 0; node--) {
      const parent = parents[node];
      if (parent >= 0) ends[parent] = Math.max(ends[parent], ends[node]);
    }
    return ends;
  }

  function create(name, attributes) {
    const element = document.createElementNS(SVG, name);
    for (const [attribute, value] of Object.entries(attributes))
      element.setAttribute(attribute, value);
    return element;
  }

  function toText(number) {
    return numbers.format(number);
  }
})();
