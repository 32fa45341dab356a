package mcpclient_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// advance sends progress for a call every second, and its answer after the
// given number of notices; none for a negative one.
func (p *peer) advance(notices int) {
	m := p.next()
	for i := 0; i != notices; i++ {
		time.Sleep(time.Second)
		if p.conn.Send(context.Background(), []byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`+string(m.ID)+`,"progress":1}}`)) != nil {
			return // the client is gone
		}
	}
	p.answer(m)
}

// Progress extends the time of a call, up to a bound.
func TestPatience(t *testing.T) {
	for name, opts := range map[string]mcpclient.Options{"legacy": legacy(), "modern": modern()} {
		opts.CallTimeout = time.Millisecond // which WithPatience replaces
		t.Run(name, func(t *testing.T) {
			inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
				go p.advance(10)
				seen := 0
				callText(t, t.Context(), c, "slow", "slow", mcpclient.WithProgress(func(mcpclient.Progress) { seen++ }), mcpclient.WithPatience(1500*time.Millisecond, time.Minute))
				if seen != 10 {
					t.Errorf("got %d notices, want 10", seen)
				}

				start := time.Now()
				_, err := c.CallTool(t.Context(), "silent", nil, mcpclient.WithPatience(1500*time.Millisecond, time.Minute))
				if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != 1500*time.Millisecond {
					t.Errorf("silence: got %v after %v, want the deadline after 1.5 s", err, took)
				}
				p.next()
				if m := p.next(); m.Method != "notifications/cancelled" {
					t.Errorf("silence: got %s, want the notice that the call is cancelled", m.Method)
				}

				var endless sync.WaitGroup
				endless.Go(func() { p.advance(-1) })
				start = time.Now()
				_, err = c.CallTool(t.Context(), "endless", nil, mcpclient.WithPatience(1500*time.Millisecond, 20*time.Second))
				if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != 20*time.Second {
					t.Errorf("progress without end: got %v after %v, want the deadline after 20 s", err, took)
				}
				_ = c.Close()
				endless.Wait()
			})
		})
	}
}

// A context that ends by itself is told from silence.
func TestPatienceCancelled(t *testing.T) {
	inBubble(t, modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := c.CallTool(ctx, "silent", nil, mcpclient.WithPatience(time.Minute, time.Hour))
		if !errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want that the context was canceled", err)
		}
	})
}

func TestProgressString(t *testing.T) {
	total := 1e6
	for want, p := range map[string]mcpclient.Progress{
		"0.5":                  {Progress: 0.5},
		`1 of 1000000: "a\nb"`: {Progress: 1, Total: &total, Message: "a\nb"},
		`2: "` + strings.Repeat("m", 1024) + `…"`: {Progress: 2, Message: strings.Repeat("m", 2000)},
	} {
		if got := fmt.Sprint(p); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Of the two bounds the last one given counts.
func TestPatienceReplaced(t *testing.T) {
	inBubble(t, modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
		start := time.Now()
		_, err := c.CallTool(t.Context(), "silent", nil, mcpclient.WithPatience(time.Second, time.Hour), mcpclient.WithTimeout(3*time.Second))
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != 3*time.Second {
			t.Errorf("got %v after %v, want the deadline after 3 s", err, took)
		}
	})
}
