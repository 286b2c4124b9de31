// The sample browser. The state is the address's fragment, so that every view can be linked to.
'use strict';

const PAGE = 50;
const FIELDS = ['model', 'other', 'dataset', 'reason', 'domain', 'cause', 'metric', 'from', 'to', 'text'];
const TICKS = ['differ', 'talk'];
const LATE = ['reason', 'domain', 'cause', 'metric']; // their choices are known once the index is there
const tooleval = {
  pairs: [],
  size: 100,
  reasons: {},
  sources: {},
  metrics: {},
  loaded: new Map(),
  manifest(found) { Object.assign(tooleval, found); },
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
let view = null; // what the list shows: the keys walk through it

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

const LOST = 'lost'; // instead of a reason: all samples that are not right
const wordsOf = (table, code) => (Object.hasOwn(table, code) ? table[code] : [code, '']);
const reasonName = (reason) => (reason === LOST ? 'all lost points' : wordsOf(tooleval.reasons, reason)[0]);
const tipOf = (code, [name, sentence]) => `${sentence || name} (${code})`;
const titleOf = (dataset) => tooleval.pairs.find((pair) => pair.dataset === dataset)?.title ?? dataset;

function options(name, values, all, shown = (value) => value) {
  const select = form.elements[name];
  const kept = select.value;
  const made = values.map((value) => new Option(shown(value), value));
  select.replaceChildren(...(all === undefined ? [] : [new Option(all, '')]), ...made);
  select.value = values.includes(kept) || (all !== undefined && !kept) ? kept : select.options[0]?.value ?? '';
}

// Sample -> its score by a metric, by default by its main metrics.
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

// Name of a sample: its record, and its number among several trials.
const nameOf = (index, i) => (index.trials ? `${index.ids[i]} · trial ${index.trials[i]}` : index.ids[i]);

// Sample of A -> the same sample of B: by record, and number of earlier rows of the record.
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

async function searched(pair, rows, text, talk, turn) {
  const wanted = text.toLowerCase();
  const found = [];
  const index = tooleval.loaded.get(`${pair.folder}/index`);
  for (const i of rows) {
    const chunk = await chunkOf(pair, i);
    if (turn !== asked) return [];
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

const fits = (reason, wanted) => (wanted === LOST ? reason !== 'ok' : reason === wanted);

async function show() {
  const turn = ++asked;
  const now = state();
  const pair = pairOf(now.model, now.dataset);
  const other = now.other && pairOf(now.other, now.dataset);
  if (!pair) {
    status.textContent = 'There are no samples for this model and data set.';
    list.replaceChildren();
    pager.replaceChildren();
    return;
  }
  status.textContent = 'Loading…';
  const index = await load(`${pair.folder}/index`);
  const beside = other ? await load(`${other.folder}/index`) : null;
  if (turn !== asked) return;
  options('reason', [...index.reasons, LOST], 'all reasons', reasonName);
  options('domain', index.domains.filter(Boolean), 'all domains');
  options('cause', causesOf(index), 'all answers', reasonName);
  options('metric', index.metrics, mainLabel(index), (metric) => wordsOf(tooleval.metrics, metric)[0]);
  const filter = state();
  const scoreOf = scorer(index, filter.metric);
  const twin = beside ? matches(index, beside) : [];
  let rows = index.ids.map((_, i) => i).filter((i) => {
    const score = scoreOf(i);
    return (!filter.reason || fits(index.reasons[index.reason[i]], filter.reason))
      && (!filter.cause || index.causes?.[i] === filter.cause)
      && (!filter.domain || index.domains[index.domain[i]] === filter.domain)
      && (filter.from === '' || (score !== null && score >= Number(filter.from)))
      && (filter.to === '' || (score !== null && score <= Number(filter.to)))
      && (!beside || !filter.differ || (twin[i] !== undefined && differ(index, i, beside, twin[i])));
  });
  if (filter.text) rows = await searched(pair, rows, filter.text, filter.talk, turn);
  if (turn !== asked) return;
  status.textContent = `${rows.length} of ${index.ids.length} samples`;
  showChips(index);
  fill(pair, index, rows, other, beside, twin);
}

function reasonLabel(reason) {
  const label = element('span', { className: `reason ${reason === 'ok' ? 'fine' : ''}`, textContent: reasonName(reason) });
  label.dataset.tip = tipOf(reason, wordsOf(tooleval.reasons, reason));
  return label;
}

function scoreCell(cell, score) {
  cell.textContent = shownScore(score);
  cell.className = 'score';
  if (score !== null) cell.style.setProperty('--part', `${score}%`);
}

// Every reason of the data set with its count, and every fault of its server; the first ones stand for all samples.
function showChips(index) {
  const counts = index.reasons.map((reason, r) => [reason, index.reason.filter((number) => number === r).length]);
  const lost = counts.filter(([reason]) => reason !== 'ok').reduce((sum, [, count]) => sum + count, 0);
  const wanted = [['', index.ids.length], ...(lost ? [[LOST, lost]] : []), ...counts.sort(([, a], [, b]) => b - a)];
  const causes = causesOf(index).map((cause) => [cause, index.causes.filter((one) => one === cause).length]);
  document.getElementById('chips').replaceChildren(
    ...wanted.map(([reason, count]) => chipOf('reason', reason, count)),
    ...causes.map(([cause, count]) => chipOf('cause', cause, count)));
}

const causesOf = (index) => [...new Set(index.causes)].filter(Boolean);

// A button that filters by a code; a fault of the server is beside the reason, and a second click takes it back.
function chipOf(field, code, count) {
  const chip = element('button', { type: 'button', textContent: `${code ? reasonName(code) : 'all'} ${count}` });
  const isChosen = code === form.elements[field].value;
  chip.setAttribute('aria-pressed', String(isChosen));
  if (code && code !== LOST) chip.dataset.tip = tipOf(code, wordsOf(tooleval.reasons, code));
  chip.addEventListener('click', () => {
    form.elements[field].value = field === 'cause' && isChosen ? '' : code;
    form.elements[field].dispatchEvent(new Event('change', { bubbles: true }));
  });
  return chip;
}

function markOpened() {
  for (const row of list.tBodies[0]?.rows ?? []) row.classList.toggle('opened', Number(row.dataset.sample) === opened);
}

function fill(pair, index, rows, other, beside, twin) {
  page = Math.max(0, Math.min(page, Math.ceil(rows.length / PAGE) - 1));
  view = { pair, index, rows, other, beside, twin };
  list.replaceChildren();
  const { metric } = state();
  const [scoreOf, otherScoreOf] = [scorer(index, metric), beside && scorer(beside, metric)];
  const titles = ['record', 'task', 'answer', 'reason', 'score', ...(beside ? [`${other.model}: reason`, 'its score'] : [])];
  const head = list.createTHead().insertRow();
  for (const title of titles) head.append(element('th', { scope: 'col', textContent: title }));
  const body = list.createTBody();
  for (const i of rows.slice(page * PAGE, (page + 1) * PAGE)) {
    const row = body.insertRow();
    row.dataset.sample = i;
    const open = element('button', { type: 'button', textContent: nameOf(index, i) });
    open.addEventListener('click', told(() => openSample(i)));
    row.insertCell().append(open);
    row.insertCell().textContent = index.tasks[i];
    row.insertCell().textContent = index.answers[i];
    row.insertCell().append(reasonLabel(index.reasons[index.reason[i]]));
    scoreCell(row.insertCell(), scoreOf(i));
    if (beside) {
      const j = twin[i];
      row.insertCell().append(j === undefined ? 'not there' : reasonLabel(beside.reasons[beside.reason[j]]));
      scoreCell(row.insertCell(), j === undefined ? null : otherScoreOf(j));
    }
  }
  markOpened();
  const pages = Math.max(1, Math.ceil(rows.length / PAGE));
  const turn = (by, text) => {
    const button = element('button', { type: 'button', textContent: text, disabled: page + by < 0 || page + by >= pages });
    button.addEventListener('click', () => {
      page += by;
      fill(pair, index, rows, other, beside, twin);
      remember();
      const [previous, next] = pager.querySelectorAll('button');
      const same = by < 0 ? previous : next;
      (same.disabled ? (by < 0 ? next : previous) : same).focus();
    });
    return button;
  };
  pager.replaceChildren(turn(-1, 'Previous'), ` page ${page + 1} of ${pages} `, turn(1, 'Next'));
}

async function conversation(pair, i, row) {
  if (row.prompt) return row.prompt;
  const asked = await load(`${pair.prompts}/${Math.floor(i / tooleval.size)}`);
  return asked.rows[i % tooleval.size].map(([role, text]) => [role, asked.texts[text]]);
}

const ROLES = { system: 'system', human: 'user', user: 'user', bot: 'model', assistant: 'model', function: 'tool', tool: 'tool' };

// The offered tools; '' if they cannot be read.
function toolNames(text) {
  try {
    const names = JSON.parse(text).map((tool) => (tool.function ?? tool).name);
    return `${names.length} offered: ${names.join(', ')}`;
  } catch {
    return ''; // a text of another format, or one that was cut
  }
}

function turnOf(role, text, open) {
  const kind = ROLES[role.toLowerCase()] ?? 'user';
  const beginning = (role === 'tools' && toolNames(text)) || text.slice(0, 80);
  const turn = element('details', { className: `turn ${kind}`, open });
  turn.append(element('summary', {}, element('b', { textContent: role || 'prompt' }), ` ${open ? '' : beginning}`), boxOf('', text));
  return turn;
}

function askedOf(messages) {
  const box = element('section', { className: 'asked' }, element('h3', { textContent: 'Prompt' }));
  messages.forEach(([role, text], i) => box.append(turnOf(role, text, i === messages.length - 1)));
  return box;
}

// A dialogue turn by turn, then its calls with their results.
function traceOf({ rounds, calls, answer }) {
  const box = element('section', { className: 'trace' });
  rounds.forEach(([asked, said], i) => box.append(
    turnOf(`prompt, round ${i + 1}`, asked, false), turnOf('assistant', said, true)));
  calls.forEach(([name, passed, result, fault]) => box.append(element('p', { className: 'call' },
    element('code', { textContent: `${name}(${pretty(passed)})` }), ' → ', element('code', { textContent: fault || pretty(result) }))));
  box.append(boxOf('answer', answer));
  return box;
}

async function sampleOf(pair, i) {
  const index = await load(`${pair.folder}/index`);
  const row = (await chunkOf(pair, i))[i % tooleval.size];
  return { pair, index, row, i, agent: row.trajectory && agentOf(row) };
}

// The fault of the server, and the scores of the answer as the model wrote it.
function faultOf({ cause, note, values }) {
  const [name, sentence] = wordsOf(tooleval.reasons, cause);
  const scores = Object.entries(values ?? {}).map(([metric, value]) => `${wordsOf(tooleval.metrics, metric)[0]} ${(100 * value).toFixed(1)}`);
  return element('p', { className: 'verdict lost server' }, reasonLabel(cause), ` ${sentence || name}${note ? ` (${note})` : ''}`,
    scores.length ? `. As the model wrote it: ${scores.join(' · ')}` : '');
}

// The raw text is no answer: it is folded, and named.
function rawOf({ raw }) {
  return raw ? [element('details', { className: 'raw' }, element('summary', { textContent: 'What the model wrote, before the server read it' }), boxOf('raw', raw))] : [];
}

function headOf({ pair, index, row, i }) {
  const reason = index.reasons[index.reason[i]];
  const [name, sentence] = wordsOf(tooleval.reasons, reason);
  const values = index.metrics.map((metric, m) => {
    const value = index.values[m][i];
    return `${wordsOf(tooleval.metrics, metric)[0]} ${typeof value === 'number' ? (100 * value).toFixed(1) : '–'}`;
  });
  const parts = [
    element('h3', { textContent: pair.model }),
    element('p', { className: reason === 'ok' ? 'verdict' : 'verdict lost' }, reasonLabel(reason), ` ${sentence || name}`),
    element('p', { className: 'note', textContent: values.join(' · ') })];
  if (row.cut) parts.push(element('p', { className: 'note', textContent: 'Truncated at the limit of tokens (max_out_len).' }));
  if (row.serving) parts.push(faultOf(row.serving));
  if (row.infra) parts.push(element('p', { className: 'warning', textContent: `No answer: ${row.infra}` }));
  return parts;
}

// The parsed answer, and further details of the score.
function scoredOf({ row }) {
  const title = `Parsed answer (${row.parse_method === 'none' ? 'unreadable' : `parse method “${row.parse_method}”`}), compared with the gold answer`;
  const table = element('div', { className: 'scroll', tabIndex: 0 }, differences(row.parsed, row.gold));
  const parts = row.trajectory ? [element('details', {}, element('summary', { textContent: 'Calls compared with the gold calls, argument by argument' }), table)] : [element('h4', { textContent: title }), table];
  if (row.more) {
    parts.push(element('details', {}, element('summary', { textContent: 'Further details of the score: steps, judgements' }), boxOf('', pretty(row.more))));
  }
  return parts;
}

function answeredOf({ row, agent }) {
  return [
    element('h4', { textContent: agent ? 'Trajectory' : 'Answer' }),
    agent ? trajectoryOf(agent) : row.trace ? traceOf(row.trace) : boxOf('answer', row.answer),
    ...(row.serving && !agent ? rawOf(row.serving) : [])];
}

const inSides = (samples, parts) => element('div', { className: 'sides' }, ...samples.map((sample) => element('article', {}, ...parts(sample))));

function bothOf(samples) {
  if (!samples.every(({ agent }) => agent) || samples.length < 2) {
    return [inSides(samples, (sample) => [...headOf(sample), ...answeredOf(sample), ...scoredOf(sample)])];
  }
  const [agents, models] = [samples.map(({ agent }) => agent), samples.map(({ pair }) => pair.model)];
  return [
    inSides(samples, (sample) => [...headOf(sample), summaryOf(sample.agent), ...foldedGoldOf(sample.agent.gold, sample.agent.matches)]),
    element('h3', { textContent: 'Step by step' }), ...unlikeOf(agents, models), legendOf(agents.map(({ trajectory }) => trajectory)),
    besideOf(agents, models),
    inSides(samples, (sample) => [endOf(sample.agent), ...scoredOf(sample)])];
}

async function sidesOf(i, { pair, index, other, twin }) {
  const samples = [await sampleOf(pair, i)];
  if (other && twin[i] !== undefined) samples.push(await sampleOf(other, twin[i]));
  const name = `${pair.title} · ${nameOf(index, i)} · ${index.domains[index.domain[i]]}`.replace(/ · $/, '');
  const asked = askedOf(await conversation(pair, i, samples[0].row));
  return [element('h2', { textContent: name }), asked, ...bothOf(samples)];
}

async function openSample(i, isAsked = true) {
  const turn = ++sought;
  opened = i;
  markOpened();
  remember();
  try {
    const shown = await sidesOf(i, view);
    if (turn !== sought) return;
    panel.replaceChildren(...shown);
    if (!isAsked) return; // the focus stays in a list of choices
    panel.focus({ preventScroll: true });
    panel.scrollIntoView({ block: 'start' });
  } catch (error) {
    if (turn !== sought) return;
    panel.replaceChildren(element('p', { className: 'warning', textContent: error.message }));
    throw error;
  }
}

// The sample after the one that is open, or before it; the list follows.
async function walk(by) {
  if (!view?.rows.length) return;
  const at = opened === null ? (by > 0 ? 0 : view.rows.length - 1) : view.rows.indexOf(opened) + by;
  if (at < 0 || at >= view.rows.length) return;
  if (Math.floor(at / PAGE) !== page) {
    page = Math.floor(at / PAGE);
    fill(view.pair, view.index, view.rows, view.other, view.beside, view.twin);
  }
  await openSample(view.rows[at]);
}

function closeSample() {
  sought += 1;
  opened = null;
  panel.replaceChildren();
  markOpened();
}

async function changed({ target }) {
  if (target.name === 'other') form.elements.differ.checked = Boolean(target.value);
  if (['model', 'dataset'].includes(target.name)) closeSample();
  page = 0;
  remember();
  await show();
  remember();
  if (target.name === 'other' && opened !== null) await openSample(opened, false);
}

async function restore() {
  const { hash } = location;
  const wanted = hash.length > 1 ? new URLSearchParams(hash.slice(1)) : new URLSearchParams(firstView());
  const unique = (name) => [...new Set(tooleval.pairs.map((pair) => pair[name]))].sort();
  clearTimeout(pause);
  closeSample();
  options('model', unique('model'));
  options('other', unique('model'), '-');
  options('dataset', unique('dataset'), undefined, titleOf);
  for (const name of FIELDS) {
    const field = form.elements[name];
    const value = wanted.get(name) ?? '';
    // Until the index is loaded the requested value is the only choice.
    if (LATE.includes(name)) field.replaceChildren(new Option(value, value));
    field.value = wanted.has(name) || !['model', 'dataset'].includes(name) ? value : field.options[0]?.value ?? '';
  }
  for (const name of TICKS) form.elements[name].checked = wanted.get(name) === '1';
  page = Math.trunc(Number(wanted.get('page'))) || 0;
  if (!tooleval.pairs.length) { status.textContent = 'There are no samples: nothing has been scored yet.'; return; }
  await show();
  if (location.hash !== hash) return; // another view was requested meanwhile
  if (!hash) remember(); // the address also names the first view
  const [pair, sample] = [pairOf(form.elements.model.value, form.elements.dataset.value), wanted.get('sample')];
  if (pair && view && /^\d+$/.test(sample ?? '') && Number(sample) < pair.samples) await openSample(Number(sample));
}

// By default: the lost points of the model and data set with most of them.
function firstView() {
  const worst = [...tooleval.pairs].sort((a, b) => b.lost - a.lost)[0];
  return worst ? { model: worst.model, dataset: worst.dataset, ...(worst.lost ? { reason: LOST } : {}) } : {};
}

const told = (work) => (event) => work(event).catch((error) => { status.textContent = String(error.message ?? error); });
let pause = 0;
form.addEventListener('submit', (event) => event.preventDefault());
// Text fields filter while the user types, lists when a choice is made: the other event of each would come later again.
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
document.addEventListener('keydown', (event) => {
  const isWriting = event.target.matches?.('input, select, textarea');
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 'Escape' && opened !== null) {
    const row = list.querySelector('.opened button');
    closeSample();
    remember();
    row?.focus();
  } else if (!isWriting && (event.key === 'j' || event.key === 'k')) {
    told(() => walk(event.key === 'j' ? 1 : -1))();
  } else if (!isWriting && event.key === '/') {
    event.preventDefault();
    form.elements.text.focus();
  }
});
document.addEventListener('DOMContentLoaded', told(restore));
