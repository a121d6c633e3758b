/* What makes the dashboard's pages follow what happens: events that the server sends. */
'use strict';
(() => {
  const main = document.querySelector('main[data-events]');
  if (!main) return;
  const status = document.getElementById('live');
  let source = null;

  /* The page is asked for again, and the part that changes is put in the place of the old one. What
     was chosen stays chosen. The parser runs no script. */
  let waits = false;
  const swap = async () => {
    if (waits) return;
    waits = true;
    await new Promise((done) => setTimeout(done, 500));
    waits = false;
    const answer = await fetch(location.href);
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const fresh = page.getElementById('swapped');
    const old = document.getElementById('swapped');
    if (!fresh || !old) return;
    const chosen = [...old.querySelectorAll('input:checked')].map((input) => [input.name, input.value]);
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    const place = focused ? [...old.querySelectorAll('a,button,input')].indexOf(focused) : -1;
    old.replaceChildren(...fresh.childNodes);
    for (const input of old.querySelectorAll('input[type=radio]'))
      input.checked = chosen.some(([name, value]) => input.name === name && input.value === value);
    if (place >= 0) [...old.querySelectorAll('a,button,input')][place]?.focus();
    old.querySelectorAll('table.sortable').forEach(hotlap.table);
    old.querySelectorAll('figure[data-chart]').forEach(hotlap.chart);
  };

  const number = (value) => (value === null ? '-' : String(Number(value.toPrecision(4))));

  /* The cells are those of page-live.c. */
  const row = (event) => {
    const r = JSON.parse(event.data);
    const body = document.querySelector('#live-rows tbody');
    const texts = [r.outcome, r.model, r.engine, r.dtype, r.device];
    const numbers = [r.threads, r.batch_size, r.throughput_ips, r.latency_p50_ms, r.latency_p99_ms, r.memory_mb];
    const line = document.createElement('tr');
    line.dataset.row = r.row;
    if (r.outcome !== 'PASSED') line.className = 'failed';
    for (const text of texts) line.insertCell().textContent = text ?? '-';
    line.cells[0].title = r.reason ?? '';
    for (const value of numbers) {
      const cell = line.insertCell();
      cell.className = 'number';
      cell.textContent = number(value);
      if (value !== null) cell.dataset.value = value;
    }
    const there = body.querySelector(`tr[data-row="${Number(r.row)}"]`);
    if (there) there.replaceWith(line);
    else body.append(line);
  };

  const state = (event) => {
    const s = JSON.parse(event.data);
    document.getElementById('state').textContent = s.state;
    document.getElementById('progress').textContent =
      `${s.rows} row${s.rows === 1 ? '' : 's'}, ${s.passed} passed`;
    if (s.state === 'finished' || s.state === 'interrupted') {
      source.close();
      location.reload(); /* which shows the report */
    }
  };

  const follow = () => {
    source = new EventSource(main.dataset.events);
    source.onopen = () => { status.textContent = 'live'; };
    source.onerror = () => { status.textContent = 'no connection'; };
    source.addEventListener('changed', swap);
    source.addEventListener('row', row);
    source.addEventListener('state', state);
  };

  /* A browser has six connections to a server: a page that nobody sees keeps none of them. */
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) {
      source.close();
      status.textContent = 'paused';
    } else {
      follow();
      if (main.dataset.follow === 'swap') swap();
    }
  });
  follow();
})();
