package sampling

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/price"
)

// alone lets one server use all of the limits.
func alone(l Limits) Limits {
	l.PerServer = l.Total
	return l
}

// Concurrent requests never exceed the limits together.
func TestLimitsUnderConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		answer := answering(plainAnswer)
		h := newHost(t, func(w http.ResponseWriter, r *http.Request) {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(time.Second)
			now.Add(-1)
			answer(w, r)
		})
		s := h.sampler(t, &Options{
			Limits: alone(Limits{Total: Budget{Requests: 50, Concurrent: 7}}),
			Review: &Review{Request: func(_ context.Context, r *Request) error { r.Params.MaxTokens = 1e9; return nil }},
		})
		var answered, refused atomic.Int64
		var wg sync.WaitGroup
		for range 200 {
			wg.Go(func() {
				switch err := ask(t, s, hi); {
				case err == nil:
					answered.Add(1)
				case errors.Is(err, mcp.ErrRejected):
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		h.wantAsked(t, 50)
		check.Equal(t, "answered", answered.Load(), 50)
		check.Equal(t, "refused", refused.Load(), 150)
		check.Equal(t, "at the same time", most.Load(), 7)
		check.Contains(t, "the limit, which a reviewer cannot exceed", h.Last(), `"max_completion_tokens":4096`)
	})
}

func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGovernor(alone(Limits{Total: Budget{Requests: 2}, Window: time.Hour}).withDefaults())
		admit := func(want bool) {
			t.Helper()
			ticket, err := g.admit(&requester{}, usage{})
			check.Require(t, (err == nil) == want, "got %v, want admitted: %t", err, want)
			if err == nil {
				ticket.close()
			}
		}
		admit(true)
		time.Sleep(40 * time.Minute)
		admit(true)
		admit(false)
		time.Sleep(20 * time.Minute) // an hour after the first
		admit(true)
		admit(false)
		time.Sleep(40 * time.Minute) // an hour after the second
		admit(true)
		admit(false)
		time.Sleep(24 * time.Hour)
		admit(true)
		admit(true)
		admit(false)
	})
}

func TestWaitingForATurnEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGovernor(Limits{Total: Budget{Concurrent: 1}}.withDefaults())
		var tickets [2]*ticket
		for i := range tickets {
			tickets[i] = check.Value(g.admit(&requester{}, usage{}))(t)
			defer tickets[i].close()
		}
		check.Must(t, tickets[0].wait(t.Context()))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		check.Is(t, tickets[1].wait(ctx), context.DeadlineExceeded)
	})
}

func TestInputBytes(t *testing.T) {
	s := newHost(t, answering(plainAnswer)).sampler(t, &Options{Limits: Limits{InputBytes: 132}})
	for _, tt := range []struct {
		name, params string
		ok           bool
	}{
		{"just fits", `{"maxTokens":1,"messages":[{"role":"user","content":{"type":"text","text":"` + strings.Repeat("x", 100) + `"}}]}`, true},
		{"text", `{"maxTokens":1,"messages":[{"role":"user","content":{"type":"text","text":"` + strings.Repeat("x", 101) + `"}}]}`, false},
		{"image", `{"maxTokens":1,"messages":[{"role":"user","content":{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("AAAA", 34) + `"}}]}`, false},
		{"many blocks", `{"maxTokens":1,"messages":[{"role":"user","content":[` + strings.Repeat(`{"type":"text","text":""},`, 9) + `{"type":"text","text":""}]}]}`, false},
		{"system prompt", `{"maxTokens":1,"systemPrompt":"` + strings.Repeat("x", 100) + `","messages":[{"role":"user","content":{"type":"text","text":"x"}}]}`, false},
		{"tools", `{"maxTokens":1,"tools":[{"name":"f","description":"` + strings.Repeat("x", 100) + `"}],"messages":[{"role":"user","content":{"type":"text","text":"x"}}]}`, false},
		{"beside a tool use", `{"maxTokens":1,"messages":[{"role":"assistant","content":{"type":"tool_use","id":"a","name":"f","_meta":{"io.github.mcpchain/host-extra":{"x":"` + strings.Repeat("x", 50) + `"}}}},{"role":"user","content":{"type":"tool_result","toolUseId":"a","content":[]}}]}`, false},
		{"results", `{"maxTokens":1,"messages":[{"role":"assistant","content":{"type":"tool_use","id":"a","name":"f"}},{"role":"user","content":{"type":"tool_result","toolUseId":"a","content":[{"type":"resource","resource":{"uri":"a:b","text":"` + strings.Repeat("x", 100) + `"}}]}}]}`, false},
	} {
		err := ask(t, s, tt.params)
		check.That(t, tt.ok && err == nil || !tt.ok && errors.Is(err, mcp.ErrRejected), "%s: got %v, want accepted: %t", tt.name, err, tt.ok)
	}
}

// One server cannot use up the limits for all servers, unless the host allows it.
func TestShareOfAServer(t *testing.T) {
	prices := &price.Table{Date: "2026-11-22", Models: []price.Price{{Model: "gpt-4.1", Currency: "USD", Input: 1e6, Output: 1e6}}}
	for _, tt := range []struct {
		name        string
		limits      Limits
		first, next int // answered requests of ten, for each of two servers
	}{
		{"requests", Limits{Total: Budget{Requests: 6}}, 3, 3},
		{"an odd number", Limits{Total: Budget{Requests: 7}}, 4, 3},
		{"the only one", Limits{Total: Budget{Requests: 1}}, 1, 0},
		{"tokens", Limits{Total: Budget{Tokens: 134 * 6}}, 3, 3},
		{"cost", Limits{Total: Budget{Cost: map[string]int64{"USD": 134 * 6}}}, 3, 3},
		{"everything", alone(Limits{Total: Budget{Requests: 6}}), 6, 0},
		{"its own limit", Limits{Total: Budget{Requests: 6}, PerServer: Budget{Requests: 5}}, 5, 1},
		{"its own limit of something else", Limits{Total: Budget{Requests: 6}, PerServer: Budget{Tokens: 1e6}}, 3, 3},
	} {
		s := newHost(t, answering(usageAnswer(34, 100))).sampler(t, &Options{Prices: prices, Limits: tt.limits})
		answered := map[string]int{}
		for _, server := range []string{"first", "next"} {
			for range 10 {
				if ask(t, s.ForServer(server), hi) == nil {
					answered[server]++
				}
			}
		}
		check.That(t, answered["first"] == tt.first && answered["next"] == tt.next,
			"%s: got %v, want %d and %d", tt.name, answered, tt.first, tt.next)
	}
}
