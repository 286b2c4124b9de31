// The sample browser. The state is the address's fragment, so that every view can be linked to.
'use strict';

const PAGE = 50;
const FIELDS = ['model', 'other', 'dataset', 'reason', 'domain', 'from', 'to', 'text'];
const tooleval = {
  pairs: [],
  size: 100,
  loaded: new Map(),
  manifest(found) { tooleval.pairs = found.pairs; tooleval.size = found.size; },
  index(folder, found) { tooleval.loaded.set(`${folder}/index`, found); },
  chunk(name, found) { tooleval.loaded.set(name, found); },
};
const waiting = new Map();
const form = document.getElementById('filters');
const list = document.getElementById('list');
const status = document.getElementById('status');
const panel = document.getElementById('sample');
let page = 0;
let asked = 0; // the latest view: an older one that is still loading gives up

function load(name) {
  if (tooleval.loaded.has(name)) return Promise.resolve(tooleval.loaded.get(name));
  if (!waiting.has(name)) {
    waiting.set(name, new Promise((resolve, reject) => {
      const script = element('script', { src: `samples/${name}.js` });
      script.onload = () => { script.remove(); waiting.delete(name); resolve(tooleval.loaded.get(name)); };
      script.onerror = () => { waiting.delete(name); reject(new Error(`samples/${name}.js cannot be loaded`)); };
      document.head.append(script);
    }));
  }
  return waiting.get(name);
}

const pairOf = (model, dataset) => tooleval.pairs.find((pair) => pair.model === model && pair.dataset === dataset);
const chunkOf = (pair, i) => load(`${pair.folder}/${Math.floor(i / tooleval.size)}`);

function options(name, values, all) {
  const select = form.elements[name];
  const kept = select.value;
  select.replaceChildren(...(all === undefined ? [] : [new Option(all, '')]), ...values.map((value) => new Option(value, value)));
  select.value = values.includes(kept) || (all !== undefined && !kept) ? kept : select.options[0]?.value ?? '';
}

function scoreOf(index, i) {
  const values = index.values.map((column) => column[i]).filter((value) => typeof value === 'number');
  return values.length ? 100 * values.reduce((a, b) => a + b, 0) / values.length : null;
}

const shownScore = (score) => (score === null ? '–' : score.toFixed(1));

// Sample of A -> the same sample of B: record, and how often the record has come before.
function matches(a, b) {
  const keys = (ids) => {
    const seen = new Map();
    return ids.map((id) => { const n = seen.get(id) ?? 0; seen.set(id, n + 1); return JSON.stringify([id, n]); });
  };
  const where = new Map(keys(b.ids).map((key, i) => [key, i]));
  return keys(a.ids).map((key) => where.get(key));
}

function differ(a, i, b, j) {
  if (a.reasons[a.reason[i]] !== b.reasons[b.reason[j]]) return true;
  return a.metrics.some((metric, m) => a.values[m][i] !== b.values[b.metrics.indexOf(metric)]?.[j]);
}

async function searched(pair, rows, text, view) {
  const wanted = text.toLowerCase();
  const found = [];
  const index = tooleval.loaded.get(`${pair.folder}/index`);
  for (const i of rows) {
    const chunk = await chunkOf(pair, i);
    if (view !== asked) return [];
    if (index.ids[i].toLowerCase().includes(wanted) || chunk[i % tooleval.size].answer.toLowerCase().includes(wanted)) found.push(i);
  }
  return found;
}

function state() {
  const wanted = Object.fromEntries(FIELDS.map((name) => [name, form.elements[name].value]));
  return { ...wanted, differ: form.elements.differ.checked };
}

function remember(sample) {
  const now = state();
  const kept = Object.entries({ ...now, differ: now.differ ? '1' : '', page: page || '', sample: sample ?? '' });
  history.replaceState(null, '', `#${new URLSearchParams(kept.filter(([, value]) => value !== ''))}`);
}

async function show() {
  const view = ++asked;
  const now = state();
  const pair = pairOf(now.model, now.dataset);
  const other = now.other && pairOf(now.other, now.dataset);
  if (!pair) { status.textContent = 'There are no samples of this model and data set.'; list.replaceChildren(); return; }
  status.textContent = 'Loading…';
  const index = await load(`${pair.folder}/index`);
  const beside = other ? await load(`${other.folder}/index`) : null;
  if (view !== asked) return;
  options('reason', index.reasons, 'all reasons');
  options('domain', index.domains.filter(Boolean), 'all domains');
  const filter = state();
  const twin = beside ? matches(index, beside) : [];
  let rows = index.ids.map((_, i) => i).filter((i) => {
    const score = scoreOf(index, i);
    return (!filter.reason || index.reasons[index.reason[i]] === filter.reason)
      && (!filter.domain || index.domains[index.domain[i]] === filter.domain)
      && (filter.from === '' || (score !== null && score >= Number(filter.from)))
      && (filter.to === '' || (score !== null && score <= Number(filter.to)))
      && (!beside || !filter.differ || (twin[i] !== undefined && differ(index, i, beside, twin[i])));
  });
  if (filter.text) rows = await searched(pair, rows, filter.text, view);
  if (view !== asked) return;
  status.textContent = `${rows.length} of ${index.ids.length} samples`;
  fill(pair, index, rows, other, beside, twin);
}

function fill(pair, index, rows, other, beside, twin) {
  page = Math.max(0, Math.min(page, Math.ceil(rows.length / PAGE) - 1));
  list.replaceChildren();
  const titles = ['record', 'reason', 'score', ...(beside ? [`${other.model}: reason`, 'its score'] : [])];
  const head = list.createTHead().insertRow();
  for (const title of titles) head.append(element('th', { scope: 'col', textContent: title }));
  const body = list.createTBody();
  for (const i of rows.slice(page * PAGE, (page + 1) * PAGE)) {
    const row = body.insertRow();
    const open = element('button', { type: 'button', textContent: index.ids[i] });
    open.addEventListener('click', () => openSample(pair, i, other, twin[i]));
    row.insertCell().append(open);
    row.insertCell().textContent = index.reasons[index.reason[i]];
    row.insertCell().textContent = shownScore(scoreOf(index, i));
    if (beside) {
      const j = twin[i];
      row.insertCell().textContent = j === undefined ? 'not there' : beside.reasons[beside.reason[j]];
      row.insertCell().textContent = j === undefined ? '' : shownScore(scoreOf(beside, j));
    }
  }
  const pages = Math.max(1, Math.ceil(rows.length / PAGE));
  const turn = (by, text) => {
    const button = element('button', { type: 'button', textContent: text, disabled: page + by < 0 || page + by >= pages });
    button.addEventListener('click', () => { page += by; fill(pair, index, rows, other, beside, twin); });
    return button;
  };
  document.getElementById('pager').replaceChildren(turn(-1, 'Before'), ` page ${page + 1} of ${pages} `, turn(1, 'After'));
}

async function conversation(pair, i, row) {
  if (row.prompt) return row.prompt;
  const asked = await load(`${pair.prompts}/${Math.floor(i / tooleval.size)}`);
  return asked.rows[i % tooleval.size].map(([role, text]) => [role, asked.texts[text]]);
}

async function answerOf(pair, i) {
  const index = await load(`${pair.folder}/index`);
  const row = (await chunkOf(pair, i))[i % tooleval.size];
  const values = index.metrics.map((metric, m) => {
    const value = index.values[m][i];
    return `${metric} ${typeof value === 'number' ? (100 * value).toFixed(1) : '–'}`;
  });
  const box = element('article', {},
    element('h3', { textContent: pair.model }),
    element('p', { textContent: `${index.reasons[index.reason[i]]} · ${values.join(' · ')}` }));
  if (row.infra) box.append(element('p', { className: 'warning', textContent: `No answer came: ${row.infra}` }));
  box.append(
    element('h4', { textContent: 'Answer' }), element('pre', { textContent: row.answer }),
    element('h4', { textContent: `Read by “${row.rung}”, beside the gold` }),
    element('div', { className: 'scroll' }, differences(row.parsed, row.gold)));
  if (row.more) {
    box.append(element('h4', { textContent: 'What scoring says more: steps, judgements' }), element('pre', { textContent: pretty(row.more) }));
  }
  const talk = element('details', { className: 'conversation' }, element('summary', { textContent: 'Conversation' }));
  for (const [role, text] of await conversation(pair, i, row)) {
    talk.append(element('div', { className: 'turn' }, element('b', { textContent: role || 'prompt' }), element('pre', { textContent: text })));
  }
  box.append(talk);
  return box;
}

async function openSample(pair, i, other, j) {
  const index = await load(`${pair.folder}/index`);
  const sides = [await answerOf(pair, i)];
  if (other && j !== undefined) sides.push(await answerOf(other, j));
  const name = `${pair.dataset} · ${index.ids[i]} · ${index.domains[index.domain[i]]}`.replace(/ · $/, '');
  sides[0].querySelector('details').open = sides.length === 1;
  panel.replaceChildren(element('h2', { textContent: name }), element('div', { className: 'sides' }, ...sides));
  panel.focus({ preventScroll: true });
  panel.scrollIntoView({ block: 'start' });
  remember(i);
}

async function changed(event) {
  if (event?.target.name === 'other') form.elements.differ.checked = Boolean(event.target.value);
  page = 0;
  await show();
  remember();
}

async function restore() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const unique = (name) => [...new Set(tooleval.pairs.map((pair) => pair[name]))].sort();
  options('model', unique('model'));
  options('other', unique('model'), 'nobody');
  options('dataset', unique('dataset'));
  for (const name of FIELDS) {
    const value = wanted.get(name);
    if (value === null) continue;
    // Reasons and domains are known once the index is there; until then the wish itself is the only choice.
    if (name === 'reason' || name === 'domain') form.elements[name].replaceChildren(new Option(value, value));
    form.elements[name].value = value;
  }
  form.elements.differ.checked = wanted.get('differ') === '1';
  page = Number(wanted.get('page')) || 0;
  if (!tooleval.pairs.length) { status.textContent = 'There are no samples: nothing has been scored yet.'; return; }
  await show();
  const [pair, sample] = [pairOf(form.elements.model.value, form.elements.dataset.value), wanted.get('sample')];
  if (pair && sample !== null && Number(sample) < pair.samples) {
    const other = pairOf(form.elements.other.value, form.elements.dataset.value);
    const twin = other && matches(await load(`${pair.folder}/index`), await load(`${other.folder}/index`));
    await openSample(pair, Number(sample), other, twin?.[Number(sample)]);
  }
}

const told = (work) => (event) => work(event).catch((error) => { status.textContent = String(error.message ?? error); });
let pause = 0;
form.addEventListener('submit', (event) => event.preventDefault());
for (const kind of ['input', 'change']) {
  form.addEventListener(kind, (event) => { clearTimeout(pause); pause = setTimeout(told(changed), 200, event); });
}
addEventListener('hashchange', told(restore));
document.addEventListener('DOMContentLoaded', told(restore));
