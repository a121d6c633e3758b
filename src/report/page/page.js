/*
 * What makes the pages of hotlap move: tables that are sorted and filtered, charts, downloads.
 *
 * Everything that is shown is in the page's HTML already. A text is only ever put in by textContent,
 * so nothing of a run becomes markup; styles are set by the style object, which the policy allows.
 * `window.hotlap` has the charts by name, chart(figure) and table(table) for what is added later, and
 * fileOf(id), the text of the JSON or CSV file that the page carries.
 */
'use strict';

(() => {
  const make = (name, attributes = {}, text = '') => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text) element.textContent = text;
    return element;
  };

  /* ---- tables ---- */

  /* What a cell is sorted by: its exact value, or the number that it begins with. */
  const valueOf = (cell, numbers) => {
    const text = cell ? cell.textContent.trim() : '';
    if (!numbers) return text;
    const number = parseFloat(cell?.dataset.value ?? text.replace(/^[~<>±]\s*/, ''));
    return Number.isNaN(number) ? null : number;
  };

  /* Unknown values stand last, whichever way. */
  const compare = (a, b, sign) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (typeof a === 'number' ? a - b : a.localeCompare(b, undefined, { numeric: true }));
  };

  const sortBy = (table, head, index) => {
    const descending = head.getAttribute('aria-sort') === 'ascending';
    for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
    const numbers = head.classList.contains('number');
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [valueOf(row.cells[index], numbers), row]);
    rows.sort((a, b) => compare(a[0], b[0], descending ? -1 : 1));
    body.append(...rows.map(([, row]) => row));
  };

  const makeSortable = (table) => {
    [...table.tHead.rows[0].cells].forEach((head, index) => {
      const button = make('button', { type: 'button' });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener('click', () => sortBy(table, head, index));
    });
  };

  /* Words that a row must have, all of them, in any cell. */
  const makeFilter = (table) => {
    const id = `${table.id || 'table'}-filter`;
    const box = make('div', { class: 'filter-row' });
    const input = make('input', { type: 'search', id, autocomplete: 'off' });
    const count = make('span', { class: 'quiet', role: 'status' });
    const rows = [...table.tBodies[0].rows];
    const apply = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const text = [...row.cells].map((cell) => cell.textContent).join('\n').toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        if (!row.hidden) shown += 1;
      }
      count.textContent = words.length ? `${shown} of ${rows.length} rows` : `${rows.length} rows`;
    };
    box.append(make('label', { for: id }, 'Rows with'), input, count);
    table.parentElement.before(box);
    input.addEventListener('input', apply);
    apply();
  };

  const table = (element) => {
    if (!element.tHead || !element.tBodies[0]) return;
    if (element.tBodies[0].rows.length > 1) makeSortable(element);
    if (element.classList.contains('filter') && element.tBodies[0].rows.length > 3)
      makeFilter(element);
    const around = element.parentElement;
    if (around.classList.contains('scroll') && around.scrollWidth > around.clientWidth) {
      around.tabIndex = 0; /* a keyboard scrolls what has the focus */
      around.setAttribute('role', 'region');
      around.setAttribute('aria-label', element.caption?.textContent ?? 'Table');
    }
  };

  /* ---- charts ---- */

  /* Okabe and Ito's colours, told apart with any colour vision; shapes and dashes differ, too. */
  const light = ['#0072B2', '#D55E00', '#009E73', '#8F4B84', '#8A6D00', '#3A87B5', '#000000'];
  const dark = ['#56B4E9', '#F0833A', '#2DC79B', '#E39BC8', '#F0E442', '#E6A100', '#FFFFFF'];
  const shapes = ['circle', 'rectRot', 'triangle', 'rect', 'crossRot', 'star'];
  const wantsDark = matchMedia('(prefers-color-scheme: dark)');
  const charts = {};
  const drawn = [];
  let printing = false;

  const theme = () => {
    const isDark = wantsDark.matches && !printing;
    return {
      palette: isDark ? dark : light,
      ink: isDark ? '#e6e9ee' : '#1b1f24',
      line: isDark ? '#3a424c' : '#d1d9e0',
      paper: isDark ? '#14181d' : '#ffffff',
    };
  };

  const short = (value, digits = 4) => {
    const size = Math.abs(value);
    if (value === 0) return '0';
    if (size >= 1e6) return `${+(value / 1e6).toPrecision(digits)}M`;
    if (size >= 1e4) return `${+(value / 1e3).toPrecision(digits)}k`;
    const rounded = +value.toPrecision(digits);
    return size < 1e-4 ? rounded.toExponential() : `${rounded}`;
  };

  /* As many digits as tell the labels of an even axis apart: 125.42, 125.44, ... */
  const digitsOf = (ticks) => {
    if (ticks.length < 2) return 4;
    const values = ticks.map(({ value }) => Math.abs(value));
    const ratio = Math.max(...values) / Math.abs(ticks[1].value - ticks[0].value);
    return Math.min(Math.max(Math.ceil(Math.log10(ratio)) + 2, 4), 12);
  };

  /* Intervals, as whiskers. */
  const whiskers = {
    id: 'whiskers',
    afterDatasetsDraw(chart) {
      const { ctx, scales } = chart;
      const { left, top, width, height } = chart.chartArea;
      const { horizontal } = chart.options.plugins.hotlap;
      chart.data.datasets.forEach((dataset, index) => {
        if (!chart.isDatasetVisible(index)) return;
        chart.getDatasetMeta(index).data.forEach((element, i) => {
          const point = dataset.data[i];
          if (point?.low == null) return;
          const scale = horizontal ? scales.x : scales.y;
          const [from, to] = [point.low, point.high].map((v) => scale.getPixelForValue(v));
          const cap = 3;
          ctx.save();
          ctx.beginPath();
          ctx.rect(left, top, width, height);
          ctx.clip();
          ctx.strokeStyle = dataset.borderColor;
          ctx.lineWidth = 1.5;
          ctx.beginPath();
          for (const [end, other] of [[from, to], [to, from]]) {
            if (horizontal) {
              ctx.moveTo(end, element.y - cap);
              ctx.lineTo(end, element.y + cap);
              ctx.moveTo(end, element.y);
              ctx.lineTo(other, element.y);
            } else {
              ctx.moveTo(element.x - cap, end);
              ctx.lineTo(element.x + cap, end);
              ctx.moveTo(element.x, end);
              ctx.lineTo(element.x, other);
            }
          }
          ctx.stroke();
          ctx.restore();
        });
      });
    },
  };

  const reference = {
    id: 'reference',
    beforeDatasetsDraw(chart) {
      const { value, horizontal, colour } = chart.options.plugins.hotlap;
      if (value == null) return;
      const { ctx, chartArea, scales } = chart;
      const at = (horizontal ? scales.x : scales.y).getPixelForValue(value);
      ctx.save();
      ctx.strokeStyle = colour;
      ctx.setLineDash([6, 4]);
      ctx.beginPath();
      ctx.moveTo(horizontal ? at : chartArea.left, horizontal ? chartArea.top : at);
      ctx.lineTo(horizontal ? at : chartArea.right, horizontal ? chartArea.bottom : at);
      ctx.stroke();
      ctx.restore();
    },
  };

  const categoriesOf = (spec) => {
    const names = [];
    for (const series of spec.series)
      for (const point of series.points) if (!names.includes(point.label)) names.push(point.label);
    return names;
  };

  const datasetsOf = (spec, colours, categories) => {
    let colour = -1;
    return spec.series.map((series) => {
      if (!series.same) colour += 1;
      const paint = colours.palette[colour % colours.palette.length];
      const data = series.points.map((point) => ({
        ...point,
        ...(spec.x.scale === 'categories' ? { x: point.label } : {}),
        ...(spec.y.scale === 'categories' ? { y: categories.indexOf(point.label) } : {}),
      }));
      return {
        label: series.name,
        type: series.bars ? 'bar' : 'line',
        data,
        showLine: series.line,
        borderColor: paint,
        backgroundColor: paint,
        borderWidth: series.bars ? 0 : 2,
        borderDash: !series.dashed ? [] : series.bare ? [2, 2] : [6, 4],
        pointStyle: shapes[colour % shapes.length],
        pointRadius: series.bare ? 0 : 4,
        pointHoverRadius: series.bare ? 2 : 6,
        pointBorderWidth: 2,
        stack: spec.stacked ? 'all' : undefined,
        maxBarThickness: 72,
      };
    });
  };

  /* From where to where the points and their intervals go. */
  const rangeOf = (spec, axis) => {
    const own = (axis === 'x') === spec.horizontal;
    const values = spec.series
      .flatMap((series) => series.points)
      .flatMap((point) => [point[axis], ...(own ? [point.low, point.high] : [])])
      .filter((value) => typeof value === 'number');
    if (own && spec.reference != null) values.push(spec.reference);
    return [Math.min(...values), Math.max(...values)];
  };

  /* 1, 2 and 5 of each decade, or of many decades some. */
  const logTicks = (low, high) => {
    const first = Math.floor(Math.log10(low));
    const last = Math.ceil(Math.log10(high));
    const steps = last - first <= 2 ? [1, 2, 5] : [1];
    const stride = Math.ceil((last - first) / 8);
    const ticks = [];
    for (let d = first; d <= last; d += last - first <= 2 ? 1 : stride)
      for (const step of steps) ticks.push({ value: step * 10 ** d });
    return ticks.filter(({ value }) => value >= low * 0.999 && value <= high * 1.001);
  };

  /* A logarithmic axis of less than half a decade has too few labels. */
  const scaleOf = (spec, axis) => {
    const { scale } = spec[axis];
    if (scale !== 'log') return scale;
    const [low, high] = rangeOf(spec, axis);
    return high / low < 3 ? 'linear' : 'log';
  };

  const axisOf = (spec, axis, colours, categories) => {
    const { title } = spec[axis];
    const scale = scaleOf(spec, axis);
    const named = scale === 'categories';
    const options = {
      type: named && axis === 'x' ? 'category' : scale.startsWith('log') ? 'logarithmic' : 'linear',
      title: { display: !(named && axis === 'y'), text: title, color: colours.ink },
      grid: { color: colours.line },
      ticks: { color: colours.ink, callback: (value) => short(value), maxRotation: 45 },
      stacked: spec.stacked,
    };
    if (scale === 'linear')
      options.ticks.callback = (value, index, ticks) => short(value, digitsOf(ticks));
    if (named && axis === 'x') delete options.ticks.callback;
    if (named && axis === 'y') {
      options.reverse = true;
      options.min = -0.5;
      options.max = categories.length - 0.5;
      options.afterBuildTicks = (built) => {
        built.ticks = categories.map((name, value) => ({ value }));
      };
      options.ticks = {
        color: colours.ink,
        autoSkip: false,
        callback(value) {
          const name = categories[value] ?? '';
          return this.chart.width < 600 ? name.split(/, | (?=against )/) : name;
        },
      };
    }
    if (scale === 'log') {
      const [low, high] = rangeOf(spec, axis);
      options.min = low / 1.25;
      options.max = high * 1.25;
      options.afterBuildTicks = (built) => {
        const ticks = logTicks(built.min, built.max);
        if (ticks.length > 1) built.ticks = ticks;
      };
    }
    if (scale === 'linear' && !spec.stacked) {
      const [low, high] = rangeOf(spec, axis);
      const bars = spec.series.some((series) => series.bars); /* which begin at 0 */
      options.suggestedMin = bars ? 0 : low;
      options.suggestedMax = high;
    }
    if (scale === 'log2') {
      const values = new Set(spec.series.flatMap((series) => series.points.map((p) => p[axis])));
      const sorted = [...values].sort((a, b) => a - b);
      options.afterBuildTicks = (built) => {
        built.ticks = sorted.map((value) => ({ value }));
      };
      options.min = sorted[0] / 1.15;
      options.max = sorted[sorted.length - 1] * 1.15;
    }
    return options;
  };

  const textOf = (spec, series, point) => {
    const parts = [series];
    if (point.label != null) parts.push(point.label);
    if (spec.x.scale !== 'categories' && point.x != null) parts.push(`${spec.x.title} ${short(point.x)}`);
    if (spec.y.scale !== 'categories' && point.y != null) parts.push(`${spec.y.title} ${short(point.y)}`);
    if (point.low != null) parts.push(`interval ${short(point.low)} to ${short(point.high)}`);
    return parts.join('; ');
  };

  const draw = (entry) => {
    const { spec, figure, categories } = entry;
    const colours = theme();
    entry.chart = new Chart(figure.querySelector('canvas'), {
      type: spec.series.some((series) => series.bars) ? 'bar' : 'line',
      data: {
        labels: spec.x.scale === 'categories' ? categories : undefined,
        datasets: datasetsOf(spec, colours, categories),
      },
      options: {
        animation: false,
        maintainAspectRatio: false,
        normalized: false,
        interaction: { mode: 'nearest', intersect: false },
        scales: {
          x: axisOf(spec, 'x', colours, categories),
          y: axisOf(spec, 'y', colours, categories),
        },
        plugins: {
          hotlap: { horizontal: spec.horizontal, value: spec.reference, colour: colours.ink },
          legend: { display: false },
          tooltip: {
            callbacks: {
              title: (items) => items[0]?.dataset.label ?? '',
              label: (item) =>
                textOf(spec, '', item.raw)
                  .replace(/^; /, '').split('; '),
            },
          },
        },
      },
      plugins: [whiskers, reference],
    });
    charts[figure.dataset.chart] = entry.chart;
  };

  /* In other colours; what is shown and what is hidden stays. */
  const paint = (entry) => {
    const { chart, spec, categories } = entry;
    const colours = theme();
    datasetsOf(spec, colours, categories).forEach(({ borderColor, backgroundColor }, i) => {
      Object.assign(chart.data.datasets[i], { borderColor, backgroundColor });
    });
    for (const axis of ['x', 'y']) {
      const { scales } = chart.options;
      scales[axis].ticks.color = colours.ink;
      scales[axis].title.color = colours.ink;
      scales[axis].grid.color = colours.line;
    }
    chart.options.plugins.hotlap.colour = colours.ink;
    chart.update();
    entry.legend?.querySelectorAll('button').forEach((button, i) => {
      swatch(button, chart.data.datasets[i]);
    });
  };

  const swatch = (button, dataset) => {
    const space = 'http://www.w3.org/2000/svg';
    button.querySelector('svg')?.remove();
    const svg = document.createElementNS(space, 'svg');
    svg.setAttribute('width', 22);
    svg.setAttribute('height', 10);
    svg.setAttribute('aria-hidden', 'true');
    const line = document.createElementNS(space, dataset.type === 'bar' ? 'rect' : 'line');
    const numbers = dataset.type === 'bar' ? { width: 22, height: 10 } : { x1: 0, y1: 5, x2: 22, y2: 5 };
    for (const [key, value] of Object.entries(numbers)) line.setAttribute(key, value);
    line.setAttribute('stroke', dataset.borderColor);
    line.setAttribute('fill', dataset.borderColor);
    line.setAttribute('stroke-width', dataset.type === 'bar' ? 0 : 3);
    if (dataset.borderDash.length) line.setAttribute('stroke-dasharray', dataset.borderDash.join(' '));
    svg.append(line);
    button.prepend(svg);
  };

  /* Buttons that show and hide a series; of one alone there is nothing to hide. */
  const makeLegend = (entry) => {
    const list = make('ul', { class: 'legend', 'aria-label': 'Series' });
    entry.chart.data.datasets.forEach((dataset, index) => {
      const item = make('li');
      const button = make('button', { type: 'button', 'aria-pressed': 'true' }, dataset.label);
      swatch(button, dataset);
      button.addEventListener('click', () => {
        const show = !entry.chart.isDatasetVisible(index);
        entry.chart.setDatasetVisibility(index, show);
        entry.chart.update();
        button.setAttribute('aria-pressed', String(show));
      });
      item.append(button);
      list.append(item);
    });
    entry.legend = list;
    entry.figure.querySelector('.canvas').after(list);
  };

  /* Arrow keys go from point to point, and each is read out. */
  const makeKeys = (entry) => {
    const canvas = entry.figure.querySelector('canvas');
    const reading = make('p', { class: 'reading', 'aria-live': 'polite' });
    let series = 0;
    let index = -1;
    canvas.tabIndex = 0;
    canvas.setAttribute('aria-description', 'Arrow keys go from point to point');
    entry.figure.querySelector('.canvas').after(reading);
    canvas.addEventListener('keydown', (event) => {
      const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
      const step = steps[event.key];
      if (!step) return;
      event.preventDefault();
      const { datasets } = entry.chart.data;
      series = (series + step[0] + datasets.length) % datasets.length;
      const { length } = datasets[series].data;
      if (!length) return;
      index = (index + step[1] + length) % length;
      if (step[0]) index = Math.max(0, Math.min(index, length - 1));
      const active = [{ datasetIndex: series, index }];
      entry.chart.setActiveElements(active);
      entry.chart.tooltip.setActiveElements(active, { x: 0, y: 0 });
      entry.chart.update();
      reading.textContent = textOf(entry.spec, datasets[series].label, datasets[series].data[index]);
    });
  };

  const chart = (figure) => {
    if (typeof Chart === 'undefined') return;
    /* In the place of one of the same name: what was swapped for a newer state. */
    const old = drawn.findIndex((entry) => entry.figure.dataset.chart === figure.dataset.chart);
    if (old >= 0) drawn.splice(old, 1)[0].chart.destroy();
    const spec = JSON.parse(figure.querySelector('script').textContent);
    const named = spec.x.scale === 'categories' || spec.y.scale === 'categories';
    const entry = { figure, spec, categories: named ? categoriesOf(spec) : [] };
    const canvas = figure.querySelector('.canvas');
    canvas.hidden = false;
    if (spec.horizontal) canvas.style.height = `${6 + 1.9 * entry.categories.length}rem`;
    draw(entry);
    makeKeys(entry);
    if (spec.series.length > 1) makeLegend(entry);
    drawn.push(entry);
  };

  const repaint = () => drawn.forEach(paint);

  /* ---- contents ---- */

  /* Links to the parts of a long page, after its head. */
  const contents = () => {
    const heads = [...document.querySelectorAll('main > section[id] > h2')];
    const after = document.querySelector('main > header');
    if (heads.length < 3 || !after || document.querySelector('main > nav')) return;
    const nav = make('nav', { class: 'contents', 'aria-label': 'On this page' });
    const list = make('ul');
    for (const head of heads) {
      const item = make('li');
      item.append(make('a', { href: `#${head.parentElement.id}` }, head.textContent));
      list.append(item);
    }
    nav.append(list);
    after.after(nav);
  };

  /* ---- downloads ---- */

  /* Of a text of which most repeats: html-pack.h says what the pieces are. */
  const unpacked = ({ separator, pieces }) => {
    const all = [];
    let back = 0;
    for (const piece of pieces) {
      if (Array.isArray(piece)) {
        all.push(piece[0]);
      } else if (typeof piece === 'string') {
        const like = all[all.length - back];
        const colon = like.indexOf('": ');
        const value = colon < 0 ? like.search(/[^ ]|$/) : colon + 3;
        all.push(like.slice(0, value) + piece);
      } else if (piece < 0) {
        back = -piece;
      } else {
        for (let i = 0; i < piece; i += 1) all.push(all[all.length - back]);
      }
    }
    return all.join(separator);
  };

  /* The text of a file that the page carries. */
  const fileOf = (id) => {
    const element = document.getElementById(id);
    if (element.dataset.packed !== undefined) return unpacked(JSON.parse(element.textContent));
    return id === 'hotlap-csv' ? JSON.parse(element.textContent) : unescaped(element.textContent);
  };

  const download = (button) => {
    const csv = button.dataset.download === 'hotlap-csv';
    const blob = new Blob([fileOf(button.dataset.download)], {
      type: csv ? 'text/csv' : 'application/json',
    });
    const link = make('a', { download: `hotlap-${button.dataset.run ?? 'run'}.${csv ? 'csv' : 'json'}` });
    link.href = URL.createObjectURL(blob);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  /* The document as `--json` writes it: without the escapes that only a page needs. */
  const unescaped = (json) =>
    json.replace(/(\\\\)|\\u(003c|003e|0026|2028|2029)/g, (all, slash, code) =>
      slash ?? String.fromCharCode(parseInt(code, 16)));

  /* ---- */

  contents();
  document.querySelectorAll('table.sortable').forEach(table);
  document.querySelectorAll('figure[data-chart]').forEach(chart);
  document.querySelectorAll('[data-download]').forEach((button) => {
    button.parentElement.hidden = false;
    button.addEventListener('click', () => download(button));
  });
  wantsDark.addEventListener('change', repaint);
  window.addEventListener('beforeprint', () => {
    printing = true;
    repaint();
  });
  window.addEventListener('afterprint', () => {
    printing = false;
    repaint();
  });
  window.hotlap = { charts, chart, table, fileOf };
})();
