package mcpclient_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// hostility is what a peer does to a client, from Connect to Close, and the most that
// this may cost.
type hostility struct {
	name   string
	lasts  time.Duration // by the clock of the bubble
	memory uint64        // bytes that are allocated, those of the peer included
	meet   func(t *testing.T)
}

// TestHostilePeers bounds the time, the memory and the goroutines that a peer takes
// from its client.
func TestHostilePeers(t *testing.T) {
	for _, h := range hostilities() {
		t.Run(h.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var before, after runtime.MemStats
				goroutines, start := runtime.NumGoroutine(), time.Now()
				runtime.ReadMemStats(&before)
				h.meet(t)
				within(t, "the client", start, h.lasts)
				runtime.ReadMemStats(&after)
				if got := after.TotalAlloc - before.TotalAlloc; got > h.memory {
					t.Errorf("got %d MiB of memory, want at most %d", got>>20, h.memory>>20)
				}
				synctest.Wait()
				if got := runtime.NumGoroutine(); got > goroutines {
					t.Errorf("got %d goroutines after Close, want %d", got, goroutines)
				}
			})
		})
	}
}

func hostilities() []hostility {
	return []hostility{
		{"handshakes of the client's own beside a large call", 0, 128 << 20, handshakesBesideLargeCall},
	}
}

// metBy runs what a client does that is connected to a peer by a pipe, and closes it.
func metBy(t *testing.T, opts mcpclient.Options, f func(c *mcpclient.Client, p *peer)) {
	t.Helper()
	c, p, err := connect(t, t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	f(c, p)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// What looks like a handshake of the client's own is no reason to encode the calls
// that wait.
func handshakesBesideLargeCall(t *testing.T) {
	metBy(t, legacy(), func(c *mcpclient.Client, p *peer) {
		args := map[string]string{"text": strings.Repeat("x", 8<<20)}
		done := make(chan error, 1)
		go func() {
			_, err := c.CallTool(t.Context(), "a", args)
			done <- err
		}()
		call := p.next()
		for range 500 {
			for _, method := range []string{"initialize", "server/discover"} {
				p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q}`, call.ID, method))
			}
		}
		synctest.Wait()
		p.answer(call)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
