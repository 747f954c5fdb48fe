// How a page in TypeScript uses the client; it is only compiled.
import * as nebis from '../nebis.js'
import '../global.js'

export async function order(form: HTMLFormElement): Promise<string | undefined> {
	const action = nebis.action('order')
	const response: Response = await action.fetch('/orders', {
		body: JSON.stringify({item: 'tea'}),
		signal: new AbortController().signal,
		timeout: 5_000,
		limit: 60_000,
		onretry: ({wait, response}) => console.log(wait.toFixed(), response?.status),
	})
	const said: nebis.Outcome = nebis.outcome(response)
	if (said === 'in-progress') action.renew()

	await nebis.fetch(new URL('/orders', location.href), {key: nebis.newKey(), body: new FormData(form)})
	nebis.guard(form)
	window.nebis.guard(form)

	// @ts-expect-error No key.
	await nebis.fetch('/orders', {})
	// @ts-expect-error A stream cannot be sent again.
	await action.fetch('/orders', {body: new ReadableStream()})
	// @ts-expect-error No such outcome.
	if (said === 'finished') return
	// @ts-expect-error Only renew changes it.
	action.key = 'mine'
	return action.key
}
