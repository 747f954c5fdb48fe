/**
 * What became of a request. The server's own words, if it says them (across
 * origins only if it exposes the header Idempotency-Status):
 *
 * - `created` ran now · `replayed` had run before, this is the first answer
 * - `released` refused or failed, nothing has happened
 * - `in-progress` the first request still runs: do not pay again
 * - `mismatch` the key belongs to another request, which was carried out
 * - `invalid` key missing or malformed, or the body cannot be read: nothing has happened
 * - `not-kept` done before, the answer is no longer there
 * - `unknown` nobody can tell whether it happened: look before doing it again
 * - `unavailable` it may or may not have happened; the same key may be sent again
 *
 * Else what the status tells: `done` (below 400), `refused` (400 and above), or
 * `unknown` (408, 409, 425, 429, 500 and above).
 */
export type Outcome =
	| 'created' | 'replayed' | 'released' | 'in-progress' | 'mismatch'
	| 'invalid' | 'not-kept' | 'unknown' | 'unavailable' | 'done' | 'refused'

/** What fetch takes beside the browser's own. The method defaults to POST. */
export interface Init extends Omit<RequestInit, 'body'> {
	/** Sent again with every try: not a stream. */
	body?: Exclude<BodyInit, ReadableStream> | null
	/** Milliseconds until a try without an answer is followed by another. Defaults to 30,000. */
	timeout?: number
	/** Milliseconds for all tries together. Defaults to 120,000. */
	limit?: number
	/** Called before each wait for another try. */
	onretry?: (again: {
		/** Milliseconds; being online again ends it early. */
		wait: number
		/** The last answer, if there was one. Its body must be left alone. */
		response?: Response
	}) => void
}

/** One intent of the page, with a key of its own. */
export interface Action {
	/** The key that is open: sent, and not known to be done. */
	readonly key: string | undefined

	/**
	 * Begins a new intent on purpose, after asking the person: the one that is open
	 * may have taken effect.
	 */
	renew(): void

	/**
	 * Sends a request with the key of this intent: the same for two clicks at once
	 * (they get one request, and each a copy of its answer), for every try, and
	 * after a reload; a new one after success, or when the body has changed after a
	 * definite failure. Resolves with the last answer, whatever its status, once it
	 * has come whole: not for event streams.
	 *
	 * Rejects when nothing was answered; with the reason of `init.signal`; or with a
	 * DOMException named `OpenError`, and sends nothing, when the body is another
	 * than that of a request whose outcome is open. Ask the person, then `renew`.
	 *
	 * The route must be protected: this sends POSTs again.
	 */
	fetch(url: string | URL, init?: Init): Promise<Response>
}

/** The intent of that name, such as "order": the same on all pages of a tab. */
export function action(name: string): Action

/** What became of a request, for the page to say. */
export function outcome(response: Response): Outcome

/**
 * Like `action(name).fetch`, with a key that the caller makes once for each intent
 * and keeps. Rejects without a key. The route must be protected: this sends POSTs
 * again.
 */
export function fetch(url: string | URL, init: Init & {key: string}): Promise<Response>

/** Protects a form, as the attribute `data-nebis` does. */
export function guard(form: HTMLFormElement): void

/** A new key, a UUID of version 7. */
export function newKey(): string
