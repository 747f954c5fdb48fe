// window.nebis, for pages without modules. Made from nebis.js by
// go run ./cmd/internal/minify
{
	// Fields named id, method or action hide the form's own properties.
	let attribute = (form, button, name) => button?.getAttribute('form' + name) ?? form.getAttribute(name)

	// guarded says whether a form, sent by that button, is ours: not one that says off,
	// searches, closes a dialog or goes to another host.
	let guarded = (form, button) => !/off/i.test(form.getAttribute('data-nebis') ?? (form.nebis || 'off')) && (form.hasAttribute('hx-post') ||
		/post/i.test(attribute(form, button, 'method')) &&
		new URL(attribute(form, button, 'action') || location, document.baseURI).host == location.host)

	// renew changes the key of a form. One that the server filled is used as it is (it
	// may stand for a basket), unless it says data-nebis-renew.
	let renew = (input, key = newKey()) => {
		if ('nebisRenew' in input.dataset) input.value = key
	}

	// prepare gives a form its key, and returns what we know of the form: {_name, _input,
	// _busy, _timer, _print, _done}. After a reload, or Back to a page that was not kept,
	// the key is the one that may have been sent: loading a page says nothing of that.
	let prepare = form => {
		let state = form.nebis, input = form.elements.idempotency_key
		// Without autocomplete="off" Firefox puts the old key back on reload.
		if (!input) form.append(input = Object.assign(document.createElement('input'), {type: 'hidden', name: 'idempotency_key', autocomplete: 'off'}))
		input.value ||= input.dataset.nebisRenew = newKey()
		if (!state) {
			let [{type}] = performance.getEntriesByType('navigation')
			let name = location.pathname + (form.getAttribute('id') ?? form.getAttribute('action'))
			state = form.nebis = {_name: name}
			if (open[name] && type != 'navigate') renew(input, open[name].key)
			if (type != 'reload') delete open[name]
		}
		state._input = input
		return state
	}

	// hold keeps a form from being sent again while it is under way. The button is not
	// disabled: its value has to arrive, and the focus must stay.
	let hold = form => {
		let state = form?.nebis
		if (!state) return
		form.setAttribute('aria-busy', state._busy = true)
		state._done = 0
		state._timer = setTimeout(letGo, form.dataset.nebisTimeout || 3e4, form)
		open[state._name] = {key: state._input.value}
	}

	// letGo ends that, with the verdict if there is one.
	let letGo = (form, done) => {
		let state = form?.nebis
		if (!state?._busy) return
		form.removeAttribute('aria-busy')
		clearTimeout(state._timer)
		state._busy = 0
		if (done) renew(state._input)
		if (done >= 0) state._done = delete open[state._name]
	}

	// verdict is what an answer means for the key. 1: done, the next intent needs a new
	// one. 0: failed for certain. NaN: open, nothing but this key may be sent. Without
	// the server's word a refusal says nothing of an earlier try.
	let verdict = (response, tries) => {
		let word = outcome(response)
		return word == 'not-kept' || word != 'released' && response.status < 400 ? 1
			: /in-p|un/.test(word) || word == 'refused' && tries > 1 ? NaN : 0
	}

	// outcome says what became of a request: the server's word, else what the status
	// tells: done, refused or unknown.
	let outcome = response => response.headers.get('Idempotency-Status') ||
		(response.status < 400 ? 'done' : /40[89]|42[59]|5../.test(response.status) ? 'unknown' : 'refused')

	// Storage may be forbidden, full, or somebody else's.
	let take = () => {
		try {
			let found = JSON.parse(sessionStorage.nebis)
			delete sessionStorage.nebis
			return found
		} catch {}
	}

	let put = () => {
		try {
			sessionStorage.nebis = JSON.stringify(open)
		} catch {}
	}

	// What is not settled, by the name of an action or a form: {key, _print, _tries}. It is
	// in sessionStorage only while nobody looks at the page: "duplicate tab" and
	// window.open copy that storage, and must not get the keys of a page in use.
	let open = take() || {}

	// newKey returns a UUID of version 7: in the order of time, which keeps the
	// database's index compact. (crypto.randomUUID is missing on plain http.)
	let newKey = () => (0 + Date.now().toString(16)).replace(/....$/, '-$&') +
		'-7xxx-8xxx-xxxxxxxxxxxx'.replace(/x/g, () => (crypto.getRandomValues(new Uint8Array(1)) % 16).toString(16))

	// fingerprint tells one request from another. It need not be strong, as the server
	// compares too; it is stored, so it must not be the contents themselves.
	let fingerprint = (body, url) => {
		let hash = 0
		for (let char of [url, body?.size, body?.append ? new URLSearchParams(body) : body] + '') hash = (hash * 31 + char.charCodeAt()) % 1e13
		return hash
	}

	// send is nebis.fetch: it tries until there is an answer that will not change by
	// itself. Never use it on a route that is not protected. A try that takes too long
	// is left alone, not aborted: it may yet be the one that takes effect.
	let send = async (url, init, record = {...init}) => {
		let {signal, timeout = 3e4, limit = 12e4, onretry} = init
		let headers = new Headers(init.headers), end = Date.now() + limit
		if (!record.key) throw Error('nebis: no key')
		headers.set('Idempotency-Key', record.key)
		for (let backoff = 500, response, error; ; backoff *= 2) {
			let wait = backoff * (1 + Math.random())
			record._tries++
			try {
				response = await Promise.race([
					// To its end: an answer that is cut off is none.
					fetch(url, {method: 'POST', ...init, headers}).then(async response => (await response.clone().blob(), response)),
					new Promise((_, late) => setTimeout(late, timeout, Error('nebis: timeout'))),
				])
				let after = response.headers.get('Retry-After')
				if (!/^(409,.|42[59]|50[234])/.test([response.status, after])) return response
				// Seconds, or a date.
				wait = Math.max(0, after * 1e3 || Date.parse(after) - Date.now()) || wait
			} catch (cause) {
				if (signal?.aborted) throw cause
				error = cause
				// Back online, it goes on at once.
				wait *= navigator.onLine
			}
			let left = end - Date.now()
			if ((wait ||= left) > left || left < 0) {
				if (response) return response
				throw error
			}
			await new Promise(go => {
				setTimeout(go, wait)
				listen('online', go)
				signal?.addEventListener('abort', go)
				// Last, as it may abort.
				onretry?.({wait, response})
			})
		}
	}

	// action gives one intent of the page, such as "order", a key of its own.
	let action = name => ({
		// key is the one that is open, if any.
		get key() {
			return open[name]?.key
		},

		// renew begins a new intent, on purpose.
		renew() {
			delete open[name]
		},

		async fetch(url, init = {}) {
			let print = fingerprint(init.body, url)
			let record = open[name]
			if (record?._print != print) {
				if (record?._tries) throw new DOMException(name + ' is open', 'OpenError')
				record = 0
			}
			// Out of storage, or given up, there is no answer to share.
			if (!record?._answer?.then || record._signal?.aborted) {
				record = open[name] = {key: newKey(), _tries: 0, ...record, _print: print, _signal: init.signal}
				record._answer = send(url, init, record).then(response => {
					let done = verdict(response, record._tries)
					if (done && open[name] == record) delete open[name]
					if (done == 0) record._tries = 0
					return response
				}).finally(() => record._answer = 0)
			}
			return (await record._answer).clone()
		},
	})

	// A server that renders pages may import this as well: Date does nothing with what it gets.
	let listen = globalThis.addEventListener || Date

	// First of all listeners, so that a second submit reaches none of them.
	listen('submit', event => {
		let form = event.target, button = event.submitter, ours = guarded(form, button)
		let state = ours ? prepare(form) : form.nebis
		// Nobody else may see the key; two copies of this script may be on the page.
		if (!state || (state._input.disabled = !ours) || state._busy == event) return
		// A submit that somebody has prevented was none.
		if (state._busy && !state._busy.defaultPrevented) {
			event.stopImmediatePropagation()
			return event.preventDefault()
		}
		// Edited after the last send was finished: a new intent.
		if (state._print != (state._print = fingerprint(new FormData(form, button))) && state._done) renew(state._input)
		state._busy = event
		setTimeout(() => {
			if (!event.defaultPrevented) hold(form)
		})
	}, true)

	listen('pagehide', put)
	listen('visibilitychange', () => document.hidden ? put() : take())
	listen('pageshow', ({persisted}) => {
		// Another page may have settled something meanwhile.
		if (persisted) open = take() || open
		// A form that comes later is prepared when it is sent.
		for (let form of document.forms) persisted ? letGo(form, 0) : guarded(form) && prepare(form)
	})

	// htmx 1 and 2 spell their events in one way, htmx 4 in another. After a redirect
	// the form keeps its key: Turbo has not shown the other page yet.
	for (let name of 'htmx:beforeRequest htmx:before:request turbo:submit-start htmx:afterRequest htmx:finally:request turbo:submit-end'.split(' ')) {
		listen(name, ({target, detail}) => {
			// Taken down before, as the answer may have taken the form's place.
			let form = (detail.ctx || detail).nebis ||= target.closest?.('form')
			let response = (detail.ctx || detail.fetchResponse)?.response
			if (/bef|-st/.test(name)) hold(form)
			else letGo(form, detail.successful || response && !response.redirected && verdict(response))
		})
	}

	self.nebis = {action, fetch: send, guard: prepare, newKey, outcome}
}
