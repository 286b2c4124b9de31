// Values side by side, argument by argument. Everything becomes text nodes; depth and size are bounded.
'use strict';

const MOST_PATHS = 1000;
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

// Path -> text of every leaf.
function leaves(value, path = '', depth = 0, found = new Map()) {
  if (found.size >= MOST_PATHS) return found;
  const isTree = value && typeof value === 'object' && depth < DEEPEST && Object.keys(value).length;
  if (!isTree) {
    found.set(path, pretty(value));
    return found;
  }
  for (const key of Object.keys(value)) {
    const step = Array.isArray(value) ? `[${key}]` : path ? `.${key}` : key;
    leaves(value[key], path + step, depth + 1, found);
  }
  return found;
}

function differences(answered, gold) {
  const left = answered === null || answered === undefined ? new Map() : leaves(answered);
  const right = gold === null || gold === undefined ? new Map() : leaves(gold);
  const table = element('table', { className: 'diff' });
  const head = table.createTHead().insertRow();
  for (const title of ['', 'argument', 'answered', 'gold']) head.append(element('th', { scope: 'col', textContent: title }));
  const body = table.createTBody();
  for (const path of new Set([...right.keys(), ...left.keys()])) {
    const [mine, wanted] = [left.get(path), right.get(path)];
    const [kind, sign] = mine === wanted ? ['same', '=']
      : mine === undefined ? ['lacking', '− lacking'] : wanted === undefined ? ['extra', '+ extra'] : ['other', '≠ differs'];
    const row = body.insertRow();
    row.className = kind;
    for (const text of [sign, path || '(whole)', mine ?? '', wanted ?? '']) row.insertCell().textContent = text;
  }
  if (left.size >= MOST_PATHS || right.size >= MOST_PATHS) {
    table.createCaption().textContent = `only the first ${MOST_PATHS} arguments are shown`;
  }
  return table;
}
