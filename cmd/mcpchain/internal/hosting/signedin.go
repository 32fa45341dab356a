package hosting

import (
	"context"
	"time"
)

// checkInterval is how often [WhileSignedIn] asks.
const checkInterval = 15 * time.Second

// WhileSignedIn returns a context for a long response. It ends within 15 s after signedIn has become
// false: the person has signed out, or the token was revoked. end ends it, and waits for signedIn.
func WhileSignedIn(parent context.Context, signedIn func() bool) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancel(parent)
	stop := startLoop(checkInterval, func(context.Context) {
		if !signedIn() {
			cancel()
		}
	})
	return ctx, func() { cancel(); stop() }
}
