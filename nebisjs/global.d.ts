// For pages that load the plain script: window.nebis.
import * as nebis from './nebis.js'

declare global {
	interface Window {
		nebis: typeof nebis
	}
}

export {}
