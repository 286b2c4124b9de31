// The review of a made set: a task at a time, decisions by keyboard. Everything becomes text nodes.
'use strict';

const FORMAT = 1;
const CHOICES = { '': 'undecided', accept: 'accepted', edit: 'accepted with edits', drop: 'dropped' };
const data = JSON.parse(document.getElementById('data').textContent);
const tooleval = { sources: data.sources }; // where sourceChip looks for words
const tasks = data.tasks;
const byId = new Map(tasks.map((task) => [task.id, task]));
const controls = document.getElementById('filters').elements;
const panel = document.getElementById('task');
const KEY = `tooleval-review:${data.set}:${data.digest}`;
const decisions = new Map(); // id -> { choice, comment, edit }
let current = tasks[0] ?? null;
let form = null; // the text that is being written: { keep, cancel }
let unsaved = 0; // changes since the last save
let isSaving = false; // until the name is there

const wordsOf = (table, code) => (Object.hasOwn(table, code) ? table[code] : [code, '']);
const tipOf = (code, [name, sentence]) => `${sentence || name} (${code})`;
const say = (text) => { document.getElementById('status').textContent = text; };
const decisionOf = (task) => decisions.get(task.id) ?? { choice: '', comment: '', edit: null };
const isDecided = (task) => decisionOf(task).choice !== '' || task.reviewed;
const editable = ({ query, goal }) => ({ query, facts: goal.facts, forbidden: goal.forbidden });
const shownOf = (task) => decisionOf(task).edit ?? editable(task);
const isSame = (a, b) => typed(a) === typed(b);
const fits = (task) => ({ undecided: !isDecided(task), warned: task.warnings.length > 0 })[controls.filter.value] ?? true;
const stateOf = (task) => (task.reviewed && !decisionOf(task).choice ? 'reviewed before' : CHOICES[decisionOf(task).choice]);

// The file that `tooleval make apply` takes.
function toFile() {
  const rows = [...decisions].map(([task, decision]) => ({ task, digest: byId.get(task).digest, ...decision }));
  return { tooleval_decisions: FORMAT, set: data.set, digest: data.digest, reviewer: controls.reviewer.value.trim(), decisions: rows };
}

const areTexts = (value) => Array.isArray(value) && value.every((text) => typeof text === 'string');
const isEdit = (edit) => edit === null || (isTree(edit) && typeof edit.query === 'string' && areTexts(edit.facts) && areTexts(edit.forbidden));
const isRow = (row) => isTree(row) && typeof row.choice === 'string' && Object.hasOwn(CHOICES, row.choice) && typeof row.comment === 'string'
  && isEdit(row.edit) && (row.choice !== 'edit' || row.edit !== null);

// Takes over the decisions of a file; returns the ids of those that are about another state of a task.
function takeIn(file) {
  if (!isTree(file) || file.tooleval_decisions !== FORMAT || !Array.isArray(file.decisions)) throw new Error('it is no decisions file');
  if (file.digest !== data.digest) throw new Error('it is of another set');
  if (!file.decisions.every(isRow)) throw new Error('a decision in it is damaged');
  const stale = [];
  for (const { task, digest, choice, comment, edit } of file.decisions) {
    const known = byId.get(task);
    if (!known || digest !== known.digest) stale.push(String(task));
    else decisions.set(task, { choice, comment, edit: edit && { query: edit.query, facts: edit.facts, forbidden: edit.forbidden } });
  }
  if (typeof file.reviewer === 'string' && !controls.reviewer.value) controls.reviewer.value = file.reviewer;
  return stale;
}

function keepDraft() {
  try {
    localStorage.setItem(KEY, JSON.stringify(toFile()));
  } catch {
    say('This browser keeps no draft: save before you close the page.');
  }
}

function decide(changes) {
  decisions.set(current.id, { ...decisionOf(current), ...changes });
  unsaved += 1;
  keepDraft();
}

function save() {
  if (!controls.reviewer.value.trim()) {
    isSaving = true;
    say('Type your name and press Enter: the decisions file says whose it is.');
    controls.reviewer.focus();
    return;
  }
  isSaving = false;
  const file = new Blob([`${JSON.stringify(toFile(), null, 1)}\n`], { type: 'application/json' });
  const name = `decisions-${data.set}-${controls.reviewer.value.trim()}`.replace(/[^\p{L}\p{N}_-]+/gu, '_').slice(0, 100);
  const link = element('a', { href: URL.createObjectURL(file), download: `${name}.json` });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  unsaved = 0;
  showProgress();
  say(`Saved as ${link.download}.`);
}

async function load(file) {
  try {
    const stale = takeIn(JSON.parse(await file.text()));
    keepDraft();
    say(stale.length ? `Loaded, without ${many(stale.length, 'decision')} on tasks that have changed since: ${stale.slice(0, 20).join(', ')}` : `Loaded ${file.name}.`);
  } catch (error) {
    say(`${file.name} was not loaded: ${error.message}`);
  }
  show();
}

function showProgress() {
  const counts = Object.entries(CHOICES).slice(1).map(([choice, name]) => [tasks.filter((task) => decisionOf(task).choice === choice).length, name]);
  const before = tasks.filter((task) => task.reviewed && !decisionOf(task).choice).length;
  const decided = tasks.filter(isDecided).length;
  const parts = [...counts, [before, 'reviewed before'], [unsaved, 'not saved']].filter(([count]) => count).map(([count, name]) => `${count} ${name}`);
  const [bar, text] = document.getElementById('progress').children;
  Object.assign(bar, { max: Math.max(tasks.length, 1), value: decided });
  text.textContent = [`${decided} of ${tasks.length} decided`, ...parts].join(' · ');
  controls.task.replaceChildren(...tasks.filter((task) => fits(task) || task === current).map((task) => new Option(
    `${task.id} · ${stateOf(task)}${task.warnings.length ? ` · ${many(task.warnings.length, 'warning')}` : ''}`, task.id, false, task === current)));
}

const heading = (text) => element('h3', { textContent: text });
const listOf = (texts, tag = 'ul') => element(tag, {}, ...texts.map((text) => element('li', { textContent: text })));
const folded = (title, open, ...children) => element('details', { open }, element('summary', { textContent: title }), ...children);

function goldCallOf({ name, arguments: passed, open_arguments: open }) {
  const box = callOf({ name, arguments: passed }, {});
  if (open.length) box.append(element('p', { className: 'note', textContent: `any value of ${open.join(', ')} is right` }));
  return box;
}

function changesOf(changes) {
  if (!changes) return [];
  return Object.entries(changes).map(([part, value]) => element('div', {}, element('code', { textContent: part }), value === '' ? ' is gone' : boxOf('', value)));
}

function goalOf({ goal }, { facts, forbidden }) {
  const box = element('dl', { className: 'settings' });
  const row = (name, ...content) => { if (content.length) box.append(element('dt', { textContent: name }), element('dd', {}, ...content)); };
  row('a right answer', goal.answer ? boxOf('answer', goal.answer) : 'not known');
  if (goal.result) row('result', listOf([`${goal.result} (${goal.form})`]));
  row('facts in the answer', facts.length ? listOf(facts) : 'none');
  row('effects', ...(goal.effects === null ? ['the state cannot be read'] : Object.keys(goal.effects).length ? changesOf(goal.effects) : ['none']));
  row('must not be called', forbidden.length ? listOf(forbidden) : 'nothing');
  if (goal.missing) row('the query lacks', goal.missing);
  if (goal.fails_first) row('fails at first', goal.fails_first);
  if (goal.order.length) row('order', goal.order.map(([first, second]) => `${first + 1} before ${second + 1}`).join(', '));
  row('paths', goal.is_single_path ? 'all solutions made the same calls' : 'more than one');
  const calls = goal.calls.map((alternatives) => element('li', {}, ...alternatives.flatMap((call, i) => [...(i ? ['or'] : []), goldCallOf(call)])));
  row('calls', calls.length ? element('ol', {}, ...calls) : 'none');
  return box;
}

function solutionOf(solution, i) {
  const title = `Solution ${i + 1} by ${solution.model}: ${many(solution.all, 'call')}`;
  const box = folded(title, i === 0);
  if (solution.plan.length) box.append(folded('Plan', false, listOf(solution.plan, 'ol')));
  for (const call of solution.calls) box.append(...(call.thought ? [boxOf('thought', call.thought)] : []), callOf(call, {}));
  if (solution.all > solution.calls.length) box.append(element('p', { className: 'note', textContent: `only the first ${solution.calls.length} calls are shown` }));
  box.append(element('h4', { textContent: 'Final answer' }), solution.answer ? boxOf('answer', solution.answer) : 'none');
  const changes = changesOf(solution.changes);
  if (changes.length) box.append(element('h4', { textContent: 'What it changed' }), ...changes);
  return box;
}

function toolsOf({ tools }) {
  const rows = tools.flatMap(({ name, description, parameters }) => [element('dt', { textContent: name }),
    element('dd', {}, description, element('div', { className: 'note', textContent: parameters.length ? `takes ${parameters.join(', ')}` : 'takes nothing' }))]);
  return folded(`${many(tools.length, 'tool')} offered: ${tools.slice(0, 12).map(({ name }) => name).join(', ')}${tools.length > 12 ? ', …' : ''}`, false, element('dl', { className: 'settings' }, ...rows));
}

function show() {
  form = null;
  if (current && !fits(current)) current = tasks.find(fits) ?? current;
  showProgress();
  if (!current) { panel.replaceChildren(element('p', { textContent: 'The set has no tasks.' })); return; }
  const { choice, comment, edit } = decisionOf(current);
  const shown = shownOf(current);
  const tag = (text, kind = '') => element('span', { className: `tag ${kind}`, textContent: text });
  const title = element('h2', {}, element('span', { className: 'id', textContent: current.id }), tag(stateOf(current), choice || (current.reviewed ? 'accept' : 'open')), tag(spelled(current.kind)), tag(current.language));
  if (current.operation) title.append(tag(current.operation));
  panel.replaceChildren(title);
  if (current.warnings.length) panel.append(element('div', { className: 'warning' }, listOf(current.warnings)));
  if (current.comment) panel.append(element('p', { className: 'note', textContent: `Comment of an earlier review: ${current.comment}` }));
  if (comment) panel.append(element('p', {}, element('b', { textContent: 'Your comment: ' }), element('span', { className: 'comment', textContent: comment })));
  panel.append(heading('Query'), boxOf('query', shown.query));
  if (edit && edit.query !== current.query) panel.append(element('p', { className: 'note', textContent: `before: ${current.query}` }));
  panel.append(toolsOf(current), heading('Goal'), goalOf(current, shown), heading('Solutions'), ...current.solutions.map(solutionOf));
  if (current.left_out) panel.append(element('p', { className: 'note', textContent: `${many(current.left_out, 'solution')} more` }));
  const made = Object.entries(current.made_by).map(([role, model]) => `${role}: ${model}`).join(' · ');
  if (made) panel.append(element('p', { className: 'note', textContent: `Made by ${made}` }));
}

function go(by) {
  if (!leaveForm()) return;
  const at = tasks.indexOf(current);
  const next = by > 0 ? tasks.find((task, i) => i > at && fits(task)) : tasks.findLast((task, i) => i < at && fits(task));
  if (!next) { say(by > 0 ? 'This is the last task.' : 'This is the first task.'); show(); return; }
  visit(next);
}

function visit(task) {
  current = task;
  say('');
  show();
  scrollTo(0, 0);
  panel.focus({ preventScroll: true });
}

function choose(choice) {
  if (!current || !leaveForm()) return;
  decide({ choice });
  const at = tasks.indexOf(current);
  const next = tasks.find((task, i) => i > at && fits(task));
  if (next && choice) { visit(next); return; }
  show();
  if (tasks.every(isDecided)) say('Every task is decided: s saves the decisions file.');
}

// Keeps what is being written, where it can be kept.
function leaveForm() {
  return form === null || form.keep();
}

// A text area whose value is the original where nobody changed it: the area itself loses carriage returns.
function areaOf(original, rows) {
  const area = element('textarea', { rows, value: original });
  const initial = area.value;
  return { area, text: () => (area.value === initial ? original : area.value) };
}

function openForm(title, fields, keep) {
  const box = element('section', { className: 'edit', ariaLabel: title });
  const done = (work) => () => {
    const fault = work();
    if (fault) { say(fault); return false; }
    form = null;
    say('');
    show();
    panel.focus({ preventScroll: true });
    return true;
  };
  form = { keep: done(keep), cancel: done(() => '') };
  const button = (text, work) => { const made = element('button', { type: 'button', textContent: text }); made.addEventListener('click', work); return made; };
  box.append(heading(title), ...fields, button('Keep (Ctrl+Enter)', () => form.keep()), ' ', button('Leave as it was (Esc)', () => form.cancel()));
  panel.querySelector('h2').after(box);
  box.querySelector('textarea').focus();
  box.scrollIntoView({ block: 'nearest' });
}

function writeComment() {
  if (!current || !leaveForm()) return;
  const { area, text } = areaOf(decisionOf(current).comment, 3);
  area.maxLength = data.longest_comment;
  openForm('Comment', [element('label', {}, 'Comment', area)], () => { decide({ comment: text().trim() }); return ''; });
}

const plainOf = (text) => text.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').replace(/(\d),(?=\d{3}(?!\d))/g, '$1').trim();

function writeEdit() {
  if (!current || !leaveForm()) return;
  const task = current;
  const shown = shownOf(task);
  const query = areaOf(shown.query, 4);
  const facts = [];
  const group = element('fieldset', {}, element('legend', { textContent: 'Facts that the answer must hold; an empty one is left out' }));
  const addFact = (fact) => {
    facts.push(areaOf(fact, 1));
    group.append(element('label', {}, `fact ${facts.length}`, facts.at(-1).area));
    return facts.at(-1).area;
  };
  shown.facts.forEach(addFact);
  group.addEventListener('input', () => { if (facts.at(-1).area.value) addFact(''); });
  addFact('');
  const gold = new Set(task.gold);
  const names = [...new Set([...task.tools.map(({ name }) => name), ...task.goal.forbidden])];
  const boxes = names.map((name) => {
    const checked = shown.forbidden.includes(name);
    return element('input', { type: 'checkbox', value: name, checked, disabled: gold.has(name) && !checked });
  });
  const forbidden = element('fieldset', {}, element('legend', { textContent: 'Tools that must not be called; a gold call needs the grey ones' }),
    ...boxes.map((box) => element('label', { className: 'tool' }, box, ` ${box.value}`)));
  openForm('Edit', [element('label', {}, 'Query', query.area), group, forbidden], () => {
    const ticked = boxes.filter(({ checked }) => checked).map(({ value }) => value);
    const edit = { query: query.text(), facts: facts.map(({ text }) => text()).filter((text) => text.trim()), forbidden: isSame([...ticked].sort(), [...task.goal.forbidden].sort()) ? task.goal.forbidden : ticked };
    if (!edit.query.trim()) return 'The query is empty.';
    const lacking = edit.facts.filter((fact) => !task.goal.facts.includes(fact) && !plainOf(task.goal.answer).includes(plainOf(fact)));
    if (task.goal.answer && lacking.length) return `The right answer does not hold this fact: ${lacking[0]}`;
    if (isSame(edit, editable(task))) {
      const { choice } = decisionOf(task);
      decide({ edit: null, choice: choice === 'edit' ? '' : choice });
    } else decide({ edit, choice: 'edit' });
    return '';
  });
}

const accept = () => choose(current && decisionOf(current).edit ? 'edit' : 'accept');
const help = document.getElementById('help');
const WORK = {
  j: () => go(1), k: () => go(-1), a: accept, d: () => choose('drop'), e: writeEdit, c: writeComment, u: () => choose(''),
  s: () => { if (leaveForm()) save(); }, '?': () => { help.open = !help.open; },
};

document.addEventListener('keydown', (event) => {
  if (form && event.key === 'Escape') form.cancel();
  else if (form && event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.keep();
  else if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.('input, select, textarea')) return;
  else if (Object.hasOwn(WORK, event.key)) WORK[event.key]();
  else return;
  event.preventDefault();
});
document.getElementById('filters').addEventListener('submit', (event) => event.preventDefault());
controls.filter.addEventListener('change', () => { if (leaveForm()) { controls.filter.blur(); show(); if (!fits(current)) say('No task fits.'); } });
controls.task.addEventListener('change', () => { const wanted = byId.get(controls.task.value); if (leaveForm()) visit(wanted); });
controls.load.addEventListener('change', async () => { if (leaveForm() && controls.load.files[0]) await load(controls.load.files[0]); controls.load.value = ''; controls.load.blur(); });
controls.reviewer.addEventListener('change', () => keepDraft());
controls.reviewer.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter') return;
  event.preventDefault();
  controls.reviewer.blur();
  if (isSaving) save();
});
const ACTIONS = [['Accept', 'a'], ['Drop', 'd'], ['Edit', 'e'], ['Comment', 'c'], ['Undecided', 'u'], ['Previous', 'k'], ['Next', 'j'], ['Save', 's']];
document.getElementById('actions').append(...ACTIONS.map(([name, key]) => {
  const button = element('button', { type: 'button' }, `${name} `, element('kbd', { textContent: key }));
  button.addEventListener('click', () => WORK[key]());
  return button;
}));
try {
  const draft = localStorage.getItem(KEY);
  if (draft) {
    const stale = takeIn(JSON.parse(draft));
    unsaved = decisions.size;
    say(`Your draft is loaded${stale.length ? `, without ${many(stale.length, 'decision')} on tasks that have changed since` : ''}.`);
  }
} catch {
  say('The draft in this browser cannot be read; it is left out.');
}
show();
