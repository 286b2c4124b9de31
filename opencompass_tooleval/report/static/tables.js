// Tables are sorted by their headings and filtered by the model's name.
'use strict';

function sortValue(cell) {
  const text = cell.dataset.value ?? cell.textContent.trim();
  return text === '' || Number.isNaN(Number(text)) ? text : Number(text);
}

function compareValues(a, b) {
  if (a === '' || b === '') return (a === '') - (b === ''); // nothing comes last either way
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a).localeCompare(String(b));
}

function sortBy(heading) {
  const table = heading.closest('table');
  const column = heading.cellIndex;
  const down = heading.getAttribute('aria-sort') !== 'descending';
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
  const published = document.getElementById('published').checked;
  for (const row of document.querySelectorAll('.board tbody tr')) {
    const isPublished = row.classList.contains('published');
    row.hidden = (isPublished && !published) || !row.cells[0].textContent.toLowerCase().includes(wanted);
  }
}

for (const button of document.querySelectorAll('.sortable th button')) {
  button.addEventListener('click', () => sortBy(button.parentElement));
}
document.getElementById('filter')?.addEventListener('input', filterRows);
document.getElementById('published')?.addEventListener('change', filterRows);
