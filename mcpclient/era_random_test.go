package mcpclient_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// A server that fails, hangs and changes its era at random, also during a probe, ends neither the client nor
// the program. Afterwards calls succeed, whatever it speaks.
func TestServerThatChangesAtRandom(t *testing.T) {
	for seed := range testenv.Pick(25, 2000) {
		bubble(t, fmt.Sprint(seed), func(t *testing.T) {
			random := make(chan uint64)
			go func() {
				for r := rand.NewPCG(uint64(seed), 0); ; {
					select {
					case random <- r.Uint64():
					case <-t.Context().Done():
						return
					}
				}
			}()
			changeAtRandom(t, func(n int) int { return int(<-random % uint64(n)) })
		})
	}
}

func changeAtRandom(t *testing.T, roll func(n int) int) {
	var rough atomic.Bool // false before and after the random part
	revisions := []string{mcp.Revision20251125, mcp.Revision20260728}
	a := &changingServer{sse: roll(2) == 0, speaks: revisions[roll(2)], refuses: refusals[[]string{"400", "-32000", "-32601", "-32022"}[roll(4)]]}
	a.before = func(w http.ResponseWriter, _ *http.Request, _ message) bool {
		time.Sleep(time.Duration(roll(200)) * time.Millisecond)
		if !rough.Load() {
			return false
		}
		switch roll(12) {
		case 0:
			w.WriteHeader([]int{400, 403, 404, 500, 502, 503}[roll(6)])
			return true
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			time.Sleep(time.Duration(roll(20)) * time.Second)
		case 3:
			a.become(revisions[roll(2)])
		}
		return false
	}
	c := connectTo(t, serve(t, a), heeding(mcpclient.Options{LogLevel: []mcp.LogLevel{"", "debug"}[roll(2)], Protocol: mcpclient.Protocol{AllowUndeclared: roll(2) == 0}}))
	use := []func(ctx context.Context){
		func(ctx context.Context) { _, _ = c.CallTool(ctx, "a", nil) },
		func(ctx context.Context) { _, _ = c.CallTool(ctx, "a", nil, mcpclient.WithTask(&mcp.Tool{Name: "a"})) },
		func(ctx context.Context) { _ = c.Task("t", "a").Cancel(ctx) },
		func(ctx context.Context) { _ = c.Ping(ctx) },
		func(ctx context.Context) { _ = c.SetLogLevel(ctx, "info") },
		func(ctx context.Context) { _ = c.Notify(ctx, "notifications/x", nil) },
		func(ctx context.Context) {
			for range c.Tools(ctx) {
			}
		},
		func(ctx context.Context) {
			s, err := c.Subscribe(ctx, mcp.SubscriptionFilter{ToolsListChanged: true, Resources: []string{"file:///a"}})
			if err != nil {
				return
			}
			for range s.Changes(ctx) {
			}
			if roll(2) == 0 {
				_ = s.Close()
			}
		},
	}
	synctest.Wait()
	rough.Store(true)
	together(6, func() {
		for range 25 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+roll(30_000))*time.Millisecond)
			use[roll(len(use))](ctx)
			cancel()
			time.Sleep(time.Duration(roll(3000)) * time.Millisecond)
		}
	})
	time.Sleep(time.Minute)
	rough.Store(false)
	for _, revision := range append(revisions, revisions...) {
		time.Sleep(time.Minute)
		a.become(revision)
		_, _ = c.CallTool(t.Context(), "a", nil) // which may fail if it notices the change
		check.Must(t, check.Err(c.CallTool(t.Context(), "a", nil)))
	}
}
