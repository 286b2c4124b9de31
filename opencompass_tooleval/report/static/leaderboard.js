// Filters of a leaderboard by benchmark and method; those by model and date are in tables.js.
'use strict';

function filterSections() {
  const [benchmark, method] = ['benchmark', 'method'].map((id) => document.getElementById(id)?.value ?? '');
  filterRows();
  let shown = 0;
  for (const section of document.querySelectorAll('section.ranked')) {
    const is = (wanted, has) => !wanted || wanted === has;
    const hasRows = section.querySelector('.board tbody tr:not([hidden])') !== null;
    section.hidden = !(is(benchmark, section.dataset.benchmark) && is(method, section.dataset.method) && hasRows);
    shown += !section.hidden;
    for (const apart of section.querySelectorAll('.apart')) {
      apart.hidden = apart.querySelector('.board tbody tr:not([hidden])') === null;
    }
  }
  document.getElementById('nothing').hidden = shown > 0;
}

const filters = ['filter', 'benchmark', 'method', 'since', 'published'].map((id) => document.getElementById(id)).filter(Boolean);
for (const filter of filters) {
  for (const event of ['input', 'change']) filter.addEventListener(event, filterSections);
}
// A browser that goes back keeps what was entered.
if (filters.some((filter) => (filter.type === 'checkbox' ? filter.checked : filter.value))) filterSections();
