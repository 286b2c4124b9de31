// What an agent did, step by step; two agents' steps beside each other. Everything becomes text nodes.
'use strict';

const sum = (values) => values.reduce((a, b) => a + b, 0);
const many = (count, one, more = `${one}s`) => `${count.toLocaleString('en')} ${count === 1 ? one : more}`;
const spelled = (code) => code.replaceAll('_', ' ');

function tokensOf([asked, answered]) {
  if (asked === null && answered === null) return '';
  const shown = [asked, answered].map((count) => (count === null ? '?' : count.toLocaleString('en')));
  return `${shown[0]} tokens in, ${shown[1]} out`;
}

const secondsOf = (seconds) => (seconds === null ? '' : `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`);

// Where an observation comes from, in words; a simulated one says by whom.
function sourceChip({ source, fault }, settings) {
  const [name, sentence] = wordsOf(tooleval.sources, fault || source);
  const who = source === 'simulated' && settings.simulator ? ` by ${settings.simulator}` : '';
  const chip = element('span', { className: `source ${Object.hasOwn(tooleval.sources, source) ? source : ''}`, textContent: name + who });
  chip.dataset.tip = tipOf(fault || source, [name, sentence]);
  return chip;
}

function legendOf(trajectories) {
  const used = new Map();
  for (const { steps } of trajectories) {
    for (const call of steps.flatMap(({ calls }) => calls)) if (call.source) used.set(call.fault || call.source, call);
  }
  const terms = [...used.values()].flatMap((call) => [
    element('dt', {}, sourceChip(call, {})), element('dd', { textContent: wordsOf(tooleval.sources, call.fault || call.source)[1] })]);
  return element('details', { className: 'legend' }, element('summary', { textContent: 'Sources of observations' }), element('dl', {}, ...terms));
}

const LINE = 300; // characters of a value that stands in one line

// A line per argument.
function argumentsOf(value) {
  if (!isTree(value) || Array.isArray(value)) return pretty(value);
  return Object.entries(value).map(([name, inner]) => {
    const line = JSON.stringify(inner);
    return `${name}: ${line.length <= LINE ? line : pretty(inner)}`;
  }).join('\n');
}

const isBare = (value) => value === undefined || value === '' || (isTree(value) && !Object.keys(value).length);

function callOf(call, settings, wanted) {
  const box = element('div', { className: 'act' });
  const head = element('p', { className: 'call' }, element('b', { textContent: call.name || '(no name)' }));
  if (isBare(call.arguments)) head.append('()');
  box.append(head);
  if (wanted) {
    head.append(' ', element('span', { className: `wanted ${wanted.same ? 'same' : 'other'}`, textContent: wanted.text }));
  }
  if (!isBare(call.arguments)) box.append(boxOf('arguments', argumentsOf(call.arguments)));
  const from = element('p', { className: 'from' });
  if (call.source) from.append(sourceChip(call, settings));
  if (call.error) from.append(element('span', { className: 'note', textContent: ` recorded as an error: ${spelled(call.error)}` }));
  if (call.whole) from.append(element('span', { className: 'note', textContent: ` the model saw ${call.seen.toLocaleString('en')} of ${call.whole.toLocaleString('en')} characters` }));
  if (from.childNodes.length) box.append(from);
  if (call.observation) box.append(boxOf('observation', call.observation));
  return box;
}

// Whether gold is calls; where nobody knows these, it is the tools that are needed.
const areCalls = (gold) => gold.some((wanted) => 'arguments' in wanted);
const isCall = (value) => isTree(value) && typeof value.name === 'string';
const isGold = (gold) => Array.isArray(gold) && gold.length > 0 && gold.every(isCall);

// Call by its place on the way to the end -> what its badge says of the gold call that it was matched with.
function wantedBy(gold, matches) {
  const found = new Map();
  (isGold(gold) ? matches ?? [] : []).forEach(({ call, same }, i) => {
    const text = areCalls(gold) ? `gold call ${i + 1}${same ? '' : ', other arguments'}` : 'a needed tool';
    if (Number.isInteger(call)) found.set(call, { text, same });
  });
  return found;
}

// Step on the way to the end -> place of its first call of a tool among those of all these steps.
function firstCalls({ steps, path }) {
  const first = new Map();
  let next = 0;
  for (const place of path) {
    first.set(place, next);
    next += steps[place].calls.filter(({ source }) => source).length;
  }
  return first;
}

function stepOf(agent, place, model = '') {
  const { trajectory, wanted, first } = agent;
  const step = trajectory.steps[place];
  const spent = [step.purpose && spelled(step.purpose), tokensOf(step.tokens), secondsOf(step.seconds)].filter(Boolean);
  const title = element('p', { className: 'head' }, element('b', { textContent: `${model ? `${model} · ` : ''}Step ${place + 1}` }), element('span', { className: 'note', textContent: spent.map((part) => ` · ${part}`).join('') }));
  if (step.reason) title.append(' ', reasonLabel(step.reason));
  if (step.serving) title.append(' ', reasonLabel(step.serving.cause), element('span', { className: 'note', textContent: ` ${step.serving.note}` }));
  const box = element('div', { className: 'step' }, title);
  if (step.text) box.append(boxOf('thought', step.text));
  let next = first.get(place) ?? NaN; // calls of a branch that was left match no gold call
  for (const call of step.calls) box.append(callOf(call, trajectory.settings, call.source ? wanted.get(next++) : undefined));
  if (step.serving) box.append(...rawOf(step.serving));
  return box;
}

// The steps to the end, each with the branches that were given up before it; the last entry may have only these.
function lineOf({ steps, path }) {
  const followers = new Map();
  steps.forEach(({ parent }, place) => followers.set(parent, [...(followers.get(parent) ?? []), place]));
  const last = (place) => followers.get(place)?.at(-1);
  const chain = (place) => {
    const places = [];
    for (let at = place; at !== undefined; at = last(at)) places.push(at);
    return places;
  };
  const withBranches = (line, parent) => {
    const isOn = new Set(line);
    const given = (at) => (followers.get(at) ?? []).filter((place) => !isOn.has(place))
      .map((place) => withBranches(chain(place), null));
    const entries = line.map((place, i) => ({ place, left: i ? given(line[i - 1]) : parent === null ? [] : given(parent) }));
    const rest = line.length ? given(line.at(-1)) : [];
    return rest.length ? [...entries, { place: -1, left: rest }] : entries;
  };
  return withBranches(path.length ? [...new Set(path)] : chain(last(-1)), -1);
}

function countOf(branch, steps) {
  return branch.reduce(([all, calls], { place, left }) => {
    const inner = left.map((one) => countOf(one, steps));
    const counted = place < 0 ? [0, 0] : [1, steps[place].calls.length];
    return [all + counted[0] + sum(inner.map(([n]) => n)), calls + counted[1] + sum(inner.map(([, n]) => n))];
  }, [0, 0]);
}

function branchOf(agent, branch) {
  const [steps, calls] = countOf(branch, agent.trajectory.steps);
  const box = element('details', { className: 'branch' }, element('summary', { textContent: `abandoned branch: ${many(steps, 'step')}, ${many(calls, 'call')}` }));
  box.append(...branch.flatMap((entry) => entryOf(agent, entry)));
  return box;
}

function entryOf(agent, { place, left }, model) {
  return [...left.map((branch) => branchOf(agent, branch)), ...(place < 0 ? [] : [stepOf(agent, place, model)])];
}

// The gold calls, and which of them were made; where nobody knows the calls, the tools that are needed.
function goldOf(gold, matches) {
  if (!isGold(gold)) return [];
  const [made, lacking] = areCalls(gold) ? ['made', 'not made'] : ['called', 'not called'];
  const items = gold.map((wanted, i) => {
    const match = matches?.[i];
    const [kind, text] = !match ? ['', ''] : !Number.isInteger(match.call) ? ['lacking', lacking] : match.same ? ['same', made] : ['other', `${made}, other arguments`];
    const item = element('li', {}, element('b', { textContent: wanted.name }), ' ');
    if (text) item.append(element('span', { className: `wanted ${kind}`, textContent: text }));
    if (!isBare(wanted.arguments)) item.append(boxOf('arguments', argumentsOf(wanted.arguments)));
    const open = Array.isArray(wanted.open_arguments) ? wanted.open_arguments : [];
    if (open.length) item.append(element('span', { className: 'note', textContent: `any value of ${open.join(', ')} is correct` }));
    return item;
  });
  const [tag, title] = areCalls(gold) ? ['ol', 'Gold calls'] : ['ul', 'Needed tools'];
  return [element('section', { className: 'gold' }, element('h4', { textContent: title }), element(tag, {}, ...items))];
}

// The same in one line, to be opened: beside another agent the steps are what matters.
function foldedGoldOf(gold, matches) {
  return goldOf(gold, matches).map((section) => {
    const count = (matches ?? []).filter(({ call }) => Number.isInteger(call)).length;
    const title = `${section.querySelector('h4').textContent}: ${count} of ${gold.length} ${areCalls(gold) ? 'made' : 'called'}`;
    section.querySelector('h4').remove();
    return element('details', { className: 'legend' }, element('summary', { textContent: title }), section);
  });
}

function agentOf({ trajectory, gold, matches, judged }) {
  return { trajectory, gold, matches, judged, wanted: wantedBy(gold, matches), first: firstCalls(trajectory), line: lineOf(trajectory) };
}

// In one line: how it went about the task, and what that took.
function summaryOf({ trajectory }) {
  const calls = trajectory.steps.flatMap((step) => step.calls).filter(({ source }) => source);
  const spent = [
    spelled(trajectory.loop), many(trajectory.all, 'step'), many(calls.length, 'call'), tokensOf(trajectory.tokens), secondsOf(trajectory.seconds),
    trajectory.omitted_observations ? `${many(trajectory.omitted_observations, 'observation')} left out of what was asked` : '',
    trajectory.all > trajectory.steps.length ? `only the first ${trajectory.steps.length} steps are shown` : '',
  ].filter(Boolean);
  return element('p', { className: 'note', textContent: spent.join(' · ') });
}

// What judges found, each opinion a line.
function judgedOf(judged) {
  if (!judged?.length) return [];
  const items = judged.map(({ area, value, decided_by: by, why, fault }) => element('li', {}, `${spelled(area)}: `,
    element('b', { textContent: fault ? 'not judged' : spelled(value.toLowerCase()) }), by ? ` by ${spelled(by)}` : '',
    fault || why ? boxOf('why', fault || why) : ''));
  return [element('h4', { textContent: 'Judged' }), element('ul', { className: 'judged' }, ...items)];
}

function endOf({ trajectory, judged }) {
  const box = element('section', { className: 'end' }, element('h4', { textContent: 'Final answer' }));
  if (trajectory.stopped) box.append(element('p', { className: 'verdict lost' }, reasonLabel(trajectory.stopped), ` ${wordsOf(tooleval.reasons, trajectory.stopped)[1]}`));
  box.append(trajectory.answer ? boxOf('answer', trajectory.answer) : element('p', { className: 'note', textContent: 'There is none.' }), ...judgedOf(judged));
  return box;
}

function trajectoryOf(agent) {
  const steps = element('div', { className: 'steps' }, ...agent.line.flatMap((entry) => entryOf(agent, entry)), endOf(agent));
  const gold = goldOf(agent.gold, agent.matches);
  return element('section', { className: 'agent' }, summaryOf(agent), legendOf([agent.trajectory]),
    element('div', { className: gold.length ? 'both' : '' }, steps, ...gold));
}

// In what two agents' settings differ: a bank, a simulator, limits.
function unlikeOf(agents, models) {
  const settings = agents.map(({ trajectory }) => trajectory.settings);
  const keys = [...new Set(settings.flatMap(Object.keys))].filter((key) => child(settings[0], key) !== child(settings[1], key));
  if (!keys.length) return [];
  const shown = keys.map((key) => `${spelled(key)} ${settings.map((ofAgent, side) => `${child(ofAgent, key) || 'none'} (${models[side]})`).join(', ')}`);
  return [element('p', { className: 'warning', textContent: `The models have different conditions: ${shown.join('; ')}.` })];
}

// What tells two steps apart, for readers: the calls, or else what was observed; '' where nothing does.
function otherwise(a, b) {
  const [first, second] = [a.calls, b.calls];
  if (first.length !== second.length) return first.length && second.length ? 'different numbers of calls' : 'only one calls a tool';
  const apart = (part) => first.some((call, i) => typed(part(call)) !== typed(part(second[i])));
  return apart(({ name }) => name) ? 'another tool' : apart((call) => call.arguments) ? 'other arguments'
    : apart(({ observation }) => observation) ? 'another observation' : '';
}

const likenessOf = ({ calls }) => ({ names: calls.map(({ name }) => name), passed: calls.map((call) => call.arguments) });

// Two agents' steps to the end, aligned by what they call; the first difference is marked.
function besideOf(agents, models) {
  const lines = agents.map(({ line }) => line.filter(({ place }) => place >= 0));
  const rests = agents.map(({ line }) => line.filter(({ place }) => place < 0));
  const stepAt = (side, at) => agents[side].trajectory.steps[lines[side][at].place];
  const pairs = align(...lines.map((line, side) => line.map((_, at) => likenessOf(stepAt(side, at)))), { pairs: MOST_PAIRS });
  const grid = element('div', { className: 'beside' });
  let isFirst = true;
  for (const pair of pairs) {
    const why = pair.includes(-1) ? `only ${models[pair.indexOf(-1) ? 0 : 1]} has this step` : otherwise(stepAt(0, pair[0]), stepAt(1, pair[1]));
    if (why && isFirst) grid.append(element('p', { className: 'differs' }, element('b', { textContent: 'First difference: ' }), why));
    if (why) isFirst = false;
    grid.append(...pair.map((at, side) => element('div', { className: at < 0 ? 'none' : '' }, ...(at < 0 ? [] : entryOf(agents[side], lines[side][at], models[side])))));
  }
  if (isFirst) grid.append(element('p', { className: 'differs none', textContent: 'All steps have the same calls and observations.' }));
  if (rests.some((rest) => rest.length)) grid.append(...rests.map((rest, side) => element('div', {}, ...rest.flatMap((entry) => entryOf(agents[side], entry)))));
  return grid;
}
