package hosting

import (
	"context"
	"sync"
	"time"
)

// Every calls do at intervals, the first time immediately, until the context ends. An interval
// begins when do has returned.
func Every(ctx context.Context, interval time.Duration, do func()) {
	for {
		do()
		select {
		case <-ctx.Done():
			return
		case <-time.After(interval):
		}
	}
}

// startLoop calls do at intervals, as Every does, on a goroutine of its own, until stop is called.
// stop ends the context of do, and waits for it.
func startLoop(interval time.Duration, do func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { Every(ctx, interval, func() { do(ctx) }) })
	return func() {
		cancel()
		work.Wait()
	}
}

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
