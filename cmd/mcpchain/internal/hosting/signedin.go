package hosting

import (
	"context"
	"sync"
	"time"
)

// checkInterval is how often [WhileSignedIn] asks.
const checkInterval = 15 * time.Second

// WhileSignedIn returns a context for a long response. It ends within 15 s after signedIn has become
// false: the person has signed out, or the token was revoked. end ends it, and waits for signedIn.
func WhileSignedIn(parent context.Context, signedIn func() bool) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancel(parent)
	var checking sync.WaitGroup
	checking.Go(func() {
		ticker := time.NewTicker(checkInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if !signedIn() {
					cancel()
				}
			}
		}
	})
	return ctx, func() { cancel(); checking.Wait() }
}
