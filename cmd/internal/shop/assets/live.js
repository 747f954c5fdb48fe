// Keeps the live part of a page up to date. Without this script the page is the
// same, as of when it was loaded.
const live = document.querySelector('[data-live]');

async function refresh() {
  if (!document.hidden) {
    const answer = await fetch(location.href, { headers: { Accept: 'text/html', Live: '1' } });
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const fresh = page.querySelector('[data-live]');
    if (answer.ok && fresh && fresh.innerHTML !== live.innerHTML) live.innerHTML = fresh.innerHTML;
  }
}

function later() {
  setTimeout(() => refresh().catch(() => {}).finally(later), 1000);
}

if (live) later();
