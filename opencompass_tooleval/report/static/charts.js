// Charts are drawn by plotly when they come into view, in the colours of the page, and all of them for paper. Plotly is
// loaded with the first of them, or when the page is idle: print cannot wait for it.
'use strict';

const tooleval = { charts: {}, figures(charts) { tooleval.charts = charts; } };

const PAPER = { autosize: false, width: 650, height: 320 }; // fits on A4 with margins

function colours(onPaper) {
  const style = getComputedStyle(document.body);
  const text = onPaper ? '#000' : style.color; // also a dark page is printed on white
  const grid = onPaper ? '#ccc' : style.getPropertyValue('--line');
  const axis = { gridcolor: grid, linecolor: grid, zerolinecolor: grid };
  return {
    font: { color: text, family: style.fontFamily },
    paper_bgcolor: 'transparent',
    plot_bgcolor: 'transparent',
    modebar: { bgcolor: 'transparent', color: grid, activecolor: text },
    xaxis: axis,
    yaxis: axis,
  };
}

function merge(base, more) {
  const merged = { ...base };
  for (const [key, value] of Object.entries(more)) {
    const deep = value && typeof value === 'object' && !Array.isArray(value) && base[key];
    merged[key] = deep ? merge(base[key], value) : value;
  }
  return merged;
}

let loading = null;

function loadPlotly() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = 'plotly.js';
    script.onload = resolve;
    script.onerror = () => reject(new Error('plotly.js cannot be loaded'));
    document.head.append(script);
  });
  return loading;
}

async function draw(figure, onPaper = false) {
  const chart = tooleval.charts[figure.dataset.figure];
  if (!chart || figure.hidden) return;
  figure.dataset.drawn = 'yes';
  if (!window.Plotly) await loadPlotly(); // printed charts must exist when this returns
  const box = figure.querySelector('.chart');
  const fresh = structuredClone(chart);
  Plotly.react(box, fresh.data, { ...merge(colours(onPaper), fresh.layout), ...(onPaper ? PAPER : { autosize: true }) }, {
    displayModeBar: false, // no zoom, and no button that uploads a chart
    responsive: true,
    scrollZoom: false,
    plotlyServerURL: '',
  });
  box.removeAllListeners?.('plotly_click');
  if (chart.links.length) {
    box.on('plotly_click', (event) => {
      const point = event.points[0];
      const link = chart.links[point.curveNumber][point.pointIndex];
      if (link) location.href = `samples.html#${link}`;
    });
  }
}

function start() {
  const figures = [...document.querySelectorAll('figure[data-figure]')];
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting && !entry.target.dataset.drawn) draw(entry.target);
    }
  }, { rootMargin: '200px' });
  for (const figure of figures) seen.observe(figure);
  let onPaper = false; // what is printed is light: on a dark page the scheme changes meanwhile
  const redraw = () => figures.filter((figure) => figure.dataset.drawn).forEach((figure) => draw(figure, onPaper));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  addEventListener('beforeprint', () => {
    onPaper = true;
    figures.forEach((figure) => draw(figure, onPaper));
  });
  addEventListener('afterprint', () => {
    onPaper = false;
    redraw();
  });
  if (figures.length) addEventListener('load', () => setTimeout(loadPlotly, 500));
}

document.addEventListener('DOMContentLoaded', start);
