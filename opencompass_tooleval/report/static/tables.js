// Tables are sorted by their headings and filtered by the model's name; further text is in tips.
'use strict';

function sortValue(cell) {
  const text = cell.dataset.value ?? cell.textContent.trim();
  return text === '' || Number.isNaN(Number(text)) ? text : Number(text);
}

function compareValues(a, b) {
  if (a === '' || b === '') return (a === '') - (b === ''); // empty cells come last in both orders
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a).localeCompare(String(b));
}

const bestFirst = (heading) => !('lower' in heading.dataset); // fewer errors are better

// Best first; a second click reverses the order.
function sortBy(heading, down = heading.hasAttribute('aria-sort') ? heading.getAttribute('aria-sort') !== 'descending' : bestFirst(heading)) {
  const table = heading.closest('table');
  const column = heading.cellIndex;
  for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
  heading.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [sortValue(row.cells[column]), row]);
  rows.sort(([a], [b]) => {
    const order = compareValues(a, b);
    return a === '' || b === '' || !down ? order : -order;
  });
  body.append(...rows.map(([, row]) => row));
}

function filterRows() {
  const wanted = document.getElementById('filter').value.toLowerCase();
  const published = document.getElementById('published')?.checked;
  for (const row of document.querySelectorAll('.board tbody tr')) {
    const isPublished = row.classList.contains('published');
    row.hidden = (isPublished && !published) || !row.cells[0].textContent.toLowerCase().includes(wanted);
  }
}

function mergePublished() {
  filterRows();
  for (const table of document.querySelectorAll('.board.sortable')) {
    const measured = [...table.tBodies[0].rows].filter((row) => !row.classList.contains('published'));
    const headings = [...table.tHead.rows[0].cells].slice(1);
    const main = headings.find(({ cellIndex }) => measured.some((row) => row.cells[cellIndex].dataset.value)); // the first that is there
    if (main) sortBy(main, bestFirst(main));
  }
}

const tip = document.createElement('div');
tip.id = 'tip';
tip.setAttribute('role', 'tooltip');
tip.hidden = true;

function showTip(owner) {
  tip.textContent = owner.dataset.tip;
  tip.hidden = false;
  owner.setAttribute('aria-describedby', 'tip');
  const [at, size] = [owner.getBoundingClientRect(), tip.getBoundingClientRect()];
  tip.style.left = `${Math.max(4, Math.min(at.left, innerWidth - size.width - 8))}px`;
  const below = at.bottom + 6;
  tip.style.top = `${below + size.height < innerHeight ? below : Math.max(4, at.top - size.height - 6)}px`;
}

function hideTip() {
  document.querySelector('[aria-describedby=tip]')?.removeAttribute('aria-describedby');
  tip.hidden = true;
}

for (const [event, work] of [['pointerover', showTip], ['focusin', showTip], ['click', showTip]]) {
  document.addEventListener(event, ({ target }) => {
    const owner = target.closest?.('[data-tip]');
    if (owner) work(owner);
    else if (event !== 'focusin') hideTip();
  });
}
document.addEventListener('focusout', hideTip);
document.addEventListener('scroll', hideTip, true);
document.addEventListener('keydown', ({ key }) => { if (key === 'Escape') hideTip(); });
document.body.append(tip);

// A table that goes on beyond its right edge says so: not every system shows scroll bars.
function hintAtMore({ target }) {
  target.classList.toggle('more', target.scrollWidth - target.clientWidth - target.scrollLeft > 8);
}

const sizes = new ResizeObserver((entries) => entries.forEach(({ target }) => hintAtMore({ target: target.closest('.scroll') })));
for (const box of document.querySelectorAll('.scroll')) {
  box.addEventListener('scroll', hintAtMore);
  for (const part of [box, ...box.children]) sizes.observe(part);
}

for (const button of document.querySelectorAll('.sortable th button')) {
  button.addEventListener('click', () => sortBy(button.parentElement));
}
document.getElementById('filter')?.addEventListener('input', filterRows);
document.getElementById('published')?.addEventListener('change', mergePublished);
document.getElementById('halves')?.addEventListener('change', ({ target }) => {
  document.body.classList.toggle('halves', target.checked);
});
