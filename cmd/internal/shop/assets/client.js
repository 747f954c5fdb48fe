// Shows what nebis.action(…).fetch does. A page that only wants to order needs the
// call of order.fetch in press, and little more.
const order = nebis.action('order');
const place = id => document.getElementById(id);
const words = JSON.parse(place('words').textContent);
let key = order.key; // that the story is about
let request = ''; // what was sent with it
let clicks = 0; // on that
let waiting = 0; // of them without an answer yet
let tries = 0;

async function press(button) {
  const { url, delay, timeout } = button.dataset;
  const body = JSON.stringify({ item: 'tea', qty: Number(place('qty').value), delay_ms: Number(delay) });
  let story; // the key of this one
  const sent = order.fetch(url, {
    headers: { 'Content-Type': 'application/json' },
    body,
    timeout: Number(timeout) || undefined,
    onretry: retry => { if (story === key) again(retry); },
  });
  if (order.key !== key) begin();
  else if (!waiting && request === url + body) repeat();
  request ||= url + body;
  waiting++;
  story = key;
  const click = ++clicks;
  try {
    const answer = await sent;
    if (story === key) await end(answer, click);
    else tell('former', answer.status); // the person wanted both
  } catch (error) {
    if (error.name === 'OpenError') ask(button);
    else fail();
  }
  waiting--;
}

function begin() {
  key = order.key;
  request = '';
  place('story').textContent = '';
  place('ask').hidden = place('after').hidden = true;
  repeat('sent');
}

function repeat(line = 'same') {
  clicks = 0;
  tries = 1;
  show('key', short(key));
  show('tries', tries);
  show('outcome', words.open);
  tell(line, short(key));
}

// again is called before each wait for another try.
function again({ wait, response }) {
  if (!navigator.onLine) tell('offline');
  else if (response) tell('told', response.status, nebis.outcome(response), seconds(wait));
  else tell('silence', seconds(wait));
  show('tries', ++tries);
}

async function end(answer, click) {
  const outcome = nebis.outcome(answer);
  show('outcome', outcome);
  if (click > 1) return tell('shared', click);
  tell(words['is_' + outcome] ? 'is_' + outcome : 'is_other', answer.status);
  if (!answer.ok) return;
  const { id } = await answer.json();
  place('result').href = '/orders/' + id;
  place('after').hidden = false;
  place('after').scrollIntoView({ block: 'nearest' });
}

// ask is for the person: one order is open, and this is another.
function ask(button) {
  place('ask').hidden = false;
  place('leave').focus();
  place('leave').onclick = () => { place('ask').hidden = true; };
  place('anew').onclick = () => {
    order.renew();
    press(button);
  };
}

function fail() {
  show('outcome', words.open);
  tell('nothing');
}

function tell(name, ...values) {
  const line = document.createElement('li');
  line.textContent = words[name].replace(/%s/g, () => values.shift());
  place('story').append(line);
}

function show(id, text) { place(id).textContent = text; }
function short(text) { return text.slice(0, 8) + '…' + text.slice(-4); }
function seconds(wait) { return (wait / 1000).toFixed(1); }

for (const button of document.querySelectorAll('[data-url]')) button.onclick = () => press(button);

// After a reload in the middle of a request.
if (key) {
  show('key', short(key));
  show('outcome', words.open);
  tell('left');
}
