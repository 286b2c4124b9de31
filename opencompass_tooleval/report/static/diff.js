// Values side by side, argument by argument. Everything becomes text nodes; depth, size and time are bounded.
'use strict';

const MOST_PATHS = 1000;
const MOST_PAIRS = 100000; // elements of lists that are held against each other, in all
const MOST_FIELDS = 50; // that are looked at to tell how alike two elements are
const LONGEST = 20000; // characters of a cell
const DEEPEST = 20;

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  Object.assign(made, properties);
  made.append(...children);
  return made;
}

function pretty(value) {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 1) ?? '';
}

const [FEW_CHARS, FEW_LINES] = [150, 8]; // a box with no more of either does not scroll, also on a telephone

// A text in a box that scrolls if it has to, also without a mouse.
function boxOf(className, text) {
  const box = element('pre', { className, textContent: text });
  if (text.length > FEW_CHARS || text.split('\n').length > FEW_LINES) box.tabIndex = 0;
  return box;
}

const isTree = (value) => value !== null && typeof value === 'object';
const child = (tree, key) => (tree !== undefined && Object.hasOwn(tree, key) ? tree[key] : undefined);

// The value with its type, as text; the order of keys does not count.
function typed(value) {
  const sorted = (_, it) => (isTree(it) && !Array.isArray(it) ? Object.fromEntries(Object.entries(it).sort()) : it);
  return JSON.stringify(value, sorted);
}

function features(value) {
  const keys = isTree(value) ? Object.keys(value).slice(0, MOST_FIELDS) : [];
  return { whole: typed(value), fields: new Map(keys.map((key) => [key, typed(value[key])])) };
}

// 4 for the same, else 1 to 3 by the share of fields that are the same.
function likeness(a, b) {
  if (a.whole === b.whole) return 4;
  const most = Math.max(a.fields.size, b.fields.size);
  let same = 0;
  for (const [key, text] of a.fields) same += b.fields.get(key) === text;
  return 1 + (most ? 2 * same / most : 0);
}

// Pairs of places in two lists, in order, -1 for none: the longest common subsequence, weighed by likeness.
function align(mine, wanted, budget) {
  const [n, m] = [mine.length, wanted.length];
  budget.pairs -= n * m;
  if (budget.pairs < 0) {
    return Array.from({ length: Math.max(n, m) }, (_, i) => [i < n ? i : -1, i < m ? i : -1]);
  }
  const right = wanted.map(features);
  const alike = mine.map(features).map((a) => right.map((b) => likeness(a, b)));
  const best = Array.from({ length: n + 1 }, () => new Float64Array(m + 1)); // of what is left from i and j
  for (let i = n - 1; i >= 0; i -= 1) {
    for (let j = m - 1; j >= 0; j -= 1) {
      best[i][j] = Math.max(alike[i][j] + best[i + 1][j + 1], best[i + 1][j], best[i][j + 1]);
    }
  }
  const pairs = [];
  let [i, j] = [0, 0];
  while (i < n || j < m) {
    if (i < n && j < m && best[i][j] === alike[i][j] + best[i + 1][j + 1]) pairs.push([i++, j++]);
    else if (j === m || (i < n && best[i][j] === best[i + 1][j])) pairs.push([i++, -1]);
    else pairs.push([-1, j++]);
  }
  return pairs;
}

// Keys that could be taken for a path are quoted.
function step(path, key) {
  if (!/^[^.[\]"→]+$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path ? `${path}.${key}` : key;
}

const place = (i, j) => (i === j || j < 0 ? `[${i}]` : i < 0 ? `[${j}]` : `[${i}→${j}]`);

// Path, answered and gold of every leaf; undefined is what is not there.
function* leaves(mine, wanted, path, depth, budget) {
  const there = [mine, wanted].filter((value) => value !== undefined);
  const ofLists = there.every(Array.isArray);
  const isOpen = there.every(isTree) && (ofLists || !there.some(Array.isArray));
  if (!isOpen || depth >= DEEPEST || !there.some((value) => Object.keys(value).length)) {
    yield [path, mine, wanted];
  } else if (ofLists) {
    for (const [i, j] of align(mine ?? [], wanted ?? [], budget)) {
      yield* leaves(child(mine, i), child(wanted, j), path + place(i, j), depth + 1, budget);
    }
  } else {
    for (const key of new Set([...Object.keys(wanted ?? {}), ...Object.keys(mine ?? {})])) {
      yield* leaves(child(mine, key), child(wanted, key), step(path, key), depth + 1, budget);
    }
  }
}

function texts(mine, wanted, kind) {
  const plain = [mine, wanted].map((value) => (value === undefined ? '' : pretty(value)));
  // Quotes tell where only the types differ.
  const told = kind === 'other' && plain[0] === plain[1] ? [mine, wanted].map((value) => JSON.stringify(value)) : plain;
  return told.map((text) => (text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}\n[cut: ${text.length} characters]`));
}

function differences(answered, gold) {
  const table = element('table', { className: 'diff' });
  const head = table.createTHead().insertRow();
  for (const title of ['', 'argument', 'answered', 'gold']) head.append(element('th', { scope: 'col', textContent: title }));
  const body = table.createTBody();
  const [whole, sought] = [answered ?? undefined, gold ?? undefined];
  if (whole === undefined && sought === undefined) return table;
  for (const [path, mine, wanted] of leaves(whole, sought, '', 0, { pairs: MOST_PAIRS })) {
    if (body.rows.length >= MOST_PATHS) {
      table.createCaption().textContent = `only the first ${MOST_PATHS} arguments are shown`;
      break;
    }
    const [kind, sign] = sought === undefined ? ['same', ''] : mine === undefined ? ['lacking', '− lacking'] : wanted === undefined ? ['extra', '+ extra']
      : typed(mine) === typed(wanted) ? ['same', '='] : ['other', '≠ differs'];
    const row = body.insertRow();
    row.className = kind;
    for (const text of [sign, path || '(whole)', ...texts(mine, wanted, kind)]) row.insertCell().textContent = text;
  }
  return table;
}
