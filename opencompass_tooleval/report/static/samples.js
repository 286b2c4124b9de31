// The sample browser. The state is the address's fragment, so that every view can be linked to.
'use strict';

const PAGE = 50;
const FIELDS = ['model', 'other', 'dataset', 'reason', 'domain', 'metric', 'from', 'to', 'text'];
const TICKS = ['differ', 'talk'];
const LATE = ['reason', 'domain', 'metric']; // their choices are known once the index is there
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
const pager = document.getElementById('pager');
let page = 0;
let opened = null; // number of the sample that is shown
let asked = 0; // the latest view: an older one that is still loading gives up
let sought = 0; // the latest sample, likewise

function load(name) {
  if (tooleval.loaded.has(name)) return Promise.resolve(tooleval.loaded.get(name));
  if (!waiting.has(name)) {
    waiting.set(name, new Promise((resolve, reject) => {
      const script = element('script', { src: `samples/${name}.js` });
      script.onload = () => {
        script.remove();
        waiting.delete(name);
        if (tooleval.loaded.has(name)) resolve(tooleval.loaded.get(name));
        else reject(new Error(`samples/${name}.js is damaged`));
      };
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

// Sample -> its score by a metric, or by what stands for the whole if none is named.
function scorer(index, metric) {
  const columns = (metric ? [metric] : index.main).map((name) => index.values[index.metrics.indexOf(name)] ?? []);
  return (i) => {
    const values = columns.map((column) => column[i]).filter((value) => typeof value === 'number');
    return values.length ? Math.round(1e4 * values.reduce((a, b) => a + b, 0) / values.length) / 100 : null;
  };
}

function mainLabel(index) {
  const names = index.main.join(', ');
  return index.main.length > 1 ? `mean of ${names}` : names || 'none';
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

async function searched(pair, rows, text, talk, view) {
  const wanted = text.toLowerCase();
  const found = [];
  const index = tooleval.loaded.get(`${pair.folder}/index`);
  for (const i of rows) {
    const chunk = await chunkOf(pair, i);
    if (view !== asked) return [];
    const row = chunk[i % tooleval.size];
    const said = [index.ids[i], row.answer, ...(talk ? (await conversation(pair, i, row)).map(([, turn]) => turn) : [])];
    if (said.some((one) => one.toLowerCase().includes(wanted))) found.push(i);
  }
  return found;
}

function state() {
  const fields = FIELDS.map((name) => [name, form.elements[name].value]);
  return Object.fromEntries([...fields, ...TICKS.map((name) => [name, form.elements[name].checked])]);
}

function remember() {
  const ticks = TICKS.map((name) => [name, form.elements[name].checked ? '1' : '']);
  const kept = Object.entries({ ...state(), ...Object.fromEntries(ticks), page: page || '', sample: opened ?? '' });
  history.replaceState(null, '', `#${new URLSearchParams(kept.filter(([, value]) => value !== ''))}`);
}

async function show() {
  const view = ++asked;
  const now = state();
  const pair = pairOf(now.model, now.dataset);
  const other = now.other && pairOf(now.other, now.dataset);
  if (!pair) {
    status.textContent = 'There are no samples of this model and data set.';
    list.replaceChildren();
    pager.replaceChildren();
    return;
  }
  status.textContent = 'Loading…';
  const index = await load(`${pair.folder}/index`);
  const beside = other ? await load(`${other.folder}/index`) : null;
  if (view !== asked) return;
  options('reason', index.reasons, 'all reasons');
  options('domain', index.domains.filter(Boolean), 'all domains');
  options('metric', index.metrics, mainLabel(index));
  const filter = state();
  const scoreOf = scorer(index, filter.metric);
  const twin = beside ? matches(index, beside) : [];
  let rows = index.ids.map((_, i) => i).filter((i) => {
    const score = scoreOf(i);
    return (!filter.reason || index.reasons[index.reason[i]] === filter.reason)
      && (!filter.domain || index.domains[index.domain[i]] === filter.domain)
      && (filter.from === '' || (score !== null && score >= Number(filter.from)))
      && (filter.to === '' || (score !== null && score <= Number(filter.to)))
      && (!beside || !filter.differ || (twin[i] !== undefined && differ(index, i, beside, twin[i])));
  });
  if (filter.text) rows = await searched(pair, rows, filter.text, filter.talk, view);
  if (view !== asked) return;
  status.textContent = `${rows.length} of ${index.ids.length} samples`;
  fill(pair, index, rows, other, beside, twin);
}

function fill(pair, index, rows, other, beside, twin) {
  page = Math.max(0, Math.min(page, Math.ceil(rows.length / PAGE) - 1));
  list.replaceChildren();
  const { metric } = state();
  const [scoreOf, otherScoreOf] = [scorer(index, metric), beside && scorer(beside, metric)];
  const titles = ['record', 'reason', 'score', ...(beside ? [`${other.model}: reason`, 'its score'] : [])];
  const head = list.createTHead().insertRow();
  for (const title of titles) head.append(element('th', { scope: 'col', textContent: title }));
  const body = list.createTBody();
  for (const i of rows.slice(page * PAGE, (page + 1) * PAGE)) {
    const row = body.insertRow();
    const open = element('button', { type: 'button', textContent: index.ids[i] });
    open.addEventListener('click', told(() => openSample(pair, i, other, twin[i])));
    row.insertCell().append(open);
    row.insertCell().textContent = index.reasons[index.reason[i]];
    row.insertCell().textContent = shownScore(scoreOf(i));
    if (beside) {
      const j = twin[i];
      row.insertCell().textContent = j === undefined ? 'not there' : beside.reasons[beside.reason[j]];
      row.insertCell().textContent = j === undefined ? '' : shownScore(otherScoreOf(j));
    }
  }
  const pages = Math.max(1, Math.ceil(rows.length / PAGE));
  const turn = (by, text) => {
    const button = element('button', { type: 'button', textContent: text, disabled: page + by < 0 || page + by >= pages });
    button.addEventListener('click', () => {
      page += by;
      fill(pair, index, rows, other, beside, twin);
      remember();
      const [before, after] = pager.querySelectorAll('button');
      const same = by < 0 ? before : after;
      (same.disabled ? (by < 0 ? after : before) : same).focus();
    });
    return button;
  };
  pager.replaceChildren(turn(-1, 'Before'), ` page ${page + 1} of ${pages} `, turn(1, 'After'));
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

async function sidesOf(pair, i, other, j) {
  const index = await load(`${pair.folder}/index`);
  const sides = [await answerOf(pair, i)];
  if (other && j !== undefined) sides.push(await answerOf(other, j));
  const name = `${pair.dataset} · ${index.ids[i]} · ${index.domains[index.domain[i]]}`.replace(/ · $/, '');
  sides[0].querySelector('details').open = sides.length === 1;
  return [element('h2', { textContent: name }), element('div', { className: 'sides' }, ...sides)];
}

async function openSample(pair, i, other, j) {
  const view = ++sought;
  opened = i;
  remember();
  try {
    const shown = await sidesOf(pair, i, other, j);
    if (view !== sought) return;
    panel.replaceChildren(...shown);
    panel.focus({ preventScroll: true });
    panel.scrollIntoView({ block: 'start' });
  } catch (error) {
    if (view !== sought) return;
    panel.replaceChildren(element('p', { className: 'warning', textContent: error.message }));
    throw error;
  }
}

function closeSample() {
  sought += 1;
  opened = null;
  panel.replaceChildren();
}

async function changed({ target }) {
  if (target.name === 'other') form.elements.differ.checked = Boolean(target.value);
  if (['model', 'other', 'dataset'].includes(target.name)) closeSample();
  page = 0;
  remember();
  await show();
  remember();
}

async function restore() {
  const { hash } = location;
  const wanted = new URLSearchParams(hash.slice(1));
  const unique = (name) => [...new Set(tooleval.pairs.map((pair) => pair[name]))].sort();
  clearTimeout(pause);
  closeSample();
  options('model', unique('model'));
  options('other', unique('model'), 'nobody');
  options('dataset', unique('dataset'));
  for (const name of FIELDS) {
    const field = form.elements[name];
    const value = wanted.get(name) ?? '';
    // Until the index is there the wish itself is the only choice.
    if (LATE.includes(name)) field.replaceChildren(new Option(value, value));
    field.value = wanted.has(name) || !['model', 'dataset'].includes(name) ? value : field.options[0]?.value ?? '';
  }
  for (const name of TICKS) form.elements[name].checked = wanted.get(name) === '1';
  page = Math.trunc(Number(wanted.get('page'))) || 0;
  if (!tooleval.pairs.length) { status.textContent = 'There are no samples: nothing has been scored yet.'; return; }
  await show();
  if (location.hash !== hash) return; // something else is wanted by now
  const [pair, sample] = [pairOf(form.elements.model.value, form.elements.dataset.value), wanted.get('sample')];
  if (pair && /^\d+$/.test(sample ?? '') && Number(sample) < pair.samples) {
    const other = pairOf(form.elements.other.value, form.elements.dataset.value);
    const twin = other && matches(await load(`${pair.folder}/index`), await load(`${other.folder}/index`));
    await openSample(pair, Number(sample), other, twin?.[Number(sample)]);
  }
}

const told = (work) => (event) => work(event).catch((error) => { status.textContent = String(error.message ?? error); });
let pause = 0;
form.addEventListener('submit', (event) => event.preventDefault());
// What is typed counts as it is typed, what is chosen once it is chosen: the other event of each would come again later.
const isTyped = (field) => field.matches('input:not([type=checkbox])');
form.addEventListener('input', (event) => {
  if (!isTyped(event.target)) return;
  clearTimeout(pause);
  pause = setTimeout(told(changed), 200, event);
});
form.addEventListener('change', (event) => {
  if (!isTyped(event.target)) told(changed)(event);
});
addEventListener('hashchange', (event) => {
  if (location.hash === '#main') remember(); // the link that skips to the content; the view stays
  else told(restore)(event);
});
document.addEventListener('DOMContentLoaded', told(restore));
