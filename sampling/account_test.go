package sampling

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/cost"
	"github.com/mcpchain/mcpchain/price"
)

// usageAnswer is an answer with a host's count of tokens.
func usageAnswer(prompt, completion int) string {
	return fmt.Sprintf(`{"choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`, prompt, completion)
}

// Each row exceeds a limit with ten concurrent requests: how many are admitted, and how many more
// after an hour. A request has at most 2+16+16 tokens of text, and 100 of its reply.
func TestBudgets(t *testing.T) {
	prices := &price.Table{Date: "2026-11-22", Models: []price.Price{{Model: "gpt-4.1", Currency: "USD", Input: 1e6, Output: 1e6}}}
	for _, tt := range []struct {
		name        string
		limits      Limits
		kind        string
		first, more int
	}{
		{"requests", alone(Limits{Total: Budget{Requests: 3}}), kindBudget, 3, 3},
		{"tokens", alone(Limits{Total: Budget{Tokens: 134 * 5}}), kindBudget, 5, 5},
		{"tokens but for one", alone(Limits{Total: Budget{Tokens: 134*5 - 1}}), kindBudget, 4, 4},
		{"cost", alone(Limits{Total: Budget{Cost: map[string]int64{"USD": 134 * 2}}}), kindCost, 2, 2},
		{"requests of a server", Limits{PerServer: Budget{Requests: 3}}, kindBudget, 3, 3},
		{"tokens of a server", Limits{PerServer: Budget{Tokens: 134 * 5}}, kindBudget, 5, 5},
		{"requests of a call", Limits{PerCall: Budget{Requests: 3}}, kindBudget, 3, 3},
		{"cost of a call", Limits{PerCall: Budget{Cost: map[string]int64{"USD": 134 * 2}}}, kindCost, 2, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// The whole reservation is spent.
				h := newHost(t, answering(usageAnswer(34, 100)))
				s := h.sampler(t, &Options{Prices: prices, Limits: tt.limits, Origin: duringCall})
				round := func(want int) {
					t.Helper()
					var passed atomic.Int64
					var wg sync.WaitGroup
					for range 10 {
						wg.Go(func() {
							if _, err := s.CreateMessage(inCall(t.Context(), "1"), question(t, hi)); err != nil {
								wantRefusal(t, err, tt.kind)
							} else {
								passed.Add(1)
							}
						})
					}
					wg.Wait()
					check.Equal(t, "answered", int(passed.Load()), want)
				}
				round(tt.first)
				time.Sleep(time.Hour)
				round(tt.more)
				check.Equal(t, "at the model", h.Asked(), tt.first+tt.more)
			})
		})
	}
}

// Each call has a budget of its own, as long as requests of the call come.
func TestBudgetOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, answering(plainAnswer))
		s := h.sampler(t, &Options{Origin: duringCall, Limits: Limits{PerCall: Budget{Requests: 2}, Window: time.Hour}})
		ask := func(call string) error { return check.Err(s.CreateMessage(inCall(t.Context(), call), question(t, hi))) }
		check.Must(t, errors.Join(ask("1"), ask("2"), ask("3")))
		time.Sleep(50 * time.Minute)
		check.Must(t, ask("1"))
		time.Sleep(50 * time.Minute) // the first request of the call is out of the window
		wantRefusal(t, ask("1"), kindBudget)
		check.Must(t, ask("4"))
		check.Equal(t, "accounts of calls, without idle ones", len(s.governor.calls), 2)
	})
}

// The unspent part of a reservation is free for other requests. The host counts the spent part, or it is estimated.
func TestReservationsAreSettled(t *testing.T) {
	for _, tt := range []struct {
		name      string
		host      http.HandlerFunc
		used      int64 // tokens of 134 reserved
		estimated bool
	}{
		{"counted", answering(usageAnswer(3, 2)), 5, false},
		{"not counted", answering(plainAnswer), 34/4 + 2, true},
		{"refused by the host", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400) }, 0, false},
		{"broken off", brokenOff, 34/4 + 100, true},
		{"an error within a stream", answering("data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\ndata: {\"error\":{\"code\":503}}\n\n"), 34/4 + 100, true},
		{"an error as a stream", answering("data: {\"error\":{\"code\":400}}\n\n"), 0, false},
		{"no use", answering(`{"choices":[]}`), 34/4 + 100, true},
		{"no use, and counted", answering(`{"choices":[{"finish_reason":"error"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`), 5, false},
		{"no use, and counted in part", answering(`{"choices":[{"finish_reason":"error"}],"usage":{"prompt_tokens":3}}`), 103, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, tt.host)
			var r record
			s := h.sampler(t, &Options{Audit: auditTo(t, func(got record) { r = got })})
			_ = ask(t, s, hi) // some fail
			check.Equal(t, "tokens", r.InputTokens+r.OutputTokens, tt.used)
			check.Equal(t, "estimated", r.Estimated, tt.estimated)
			c := s.governor.allServers.charges[0]
			check.That(t, !c.open && c.reserved == (usage{}) && c.spent.tokens() == tt.used,
				"got the charge %+v, want %d tokens and nothing reserved", c, tt.used)
		})
	}
}

// A second chance costs tokens, too, and the limits may forbid it.
func TestSecondChanceIsCharged(t *testing.T) {
	const bad = `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"g"}}]}}],"usage":{"prompt_tokens":20,"completion_tokens":30}}`
	const none = `{"choices":[{"message":{"content":"No."}}],"usage":{"prompt_tokens":20,"completion_tokens":30}}`
	params := `{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"maxTokens":100,"tools":[{"name":"f","inputSchema":{"type":"object","properties":{}}}],"toolChoice":{"mode":"required"}}`
	for _, tt := range []struct {
		name, answer string
		tokens       int64
		asked        int
		used         int64
	}{
		{"nonsense", bad, 0, 2, 100},
		{"no call", none, 0, 2, 100},
		{"nonsense, and nothing left", bad, 260, 1, 50},
		{"no call, and nothing left", none, 260, 1, 50},
		{"Groq fails to read it", `{"error":{"message":"x","code":"tool_use_failed"}}`, 0, 2, 2 * (68/4 + 100)},
	} {
		h := newHost(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(tt.answer, "error") {
				w.WriteHeader(400)
			}
			answering(tt.answer)(w, r)
		})
		s := h.sampler(t, &Options{Limits: alone(Limits{Total: Budget{Tokens: tt.tokens}})})
		check.Text(t, ask(t, s, params), "", tt.name)
		h.wantAsked(t, tt.asked)
		check.Equal(t, tt.name+": tokens", s.governor.allServers.charges[0].spent.tokens(), tt.used)
	}
}

// If the best model costs more than the rest of the budget, a cheaper model answers.
func TestCheaperModel(t *testing.T) {
	h := newHost(t, answering(usageAnswer(34, 100)))
	s := h.sampler(t, &Options{
		Models: []Model{{ID: "gpt-4.1"}, {ID: "gpt-4.1-nano"}},
		Prices: &price.Table{Date: "2026-11-22", Models: []price.Price{
			{Model: "gpt-4.1", Currency: "USD", Input: 1e6, Output: 1e6}, {Model: "gpt-4.1-*", Currency: "USD", Input: 1e4, Output: 1e4},
		}},
		Limits: alone(Limits{Total: Budget{Cost: map[string]int64{"USD": 136}}}),
	})
	for _, want := range []string{`"gpt-4.1"`, `"gpt-4.1-nano"`} {
		check.NoError(t, ask(t, s, hi))
		check.Contains(t, "request", h.Last(), want)
	}
	wantRefusal(t, ask(t, s, hi), kindCost)
}

// A cheaper model with more room writes as much as it can, though the model that is too expensive has less room.
func TestCheaperModelWithMoreRoom(t *testing.T) {
	h := newHost(t, answering(plainAnswer))
	s := h.sampler(t, &Options{
		Models: []Model{{ID: "gpt-4.1", Context: 1000}, {ID: "gpt-4.1-nano", Context: 3000}},
		Prices: &price.Table{Date: "2026-11-22", Models: []price.Price{
			{Model: "gpt-4.1", Currency: "USD", Input: 1e6, Output: 1e6}, {Model: "gpt-4.1-*", Currency: "USD", Input: 1e4, Output: 1e4},
		}},
		Limits: alone(Limits{Total: Budget{Cost: map[string]int64{"USD": 136}}}),
	})
	check.NoError(t, ask(t, s, `{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"maxTokens":4000}`))
	check.Contains(t, "request", h.Last(), `"max_completion_tokens":2992,`)
}

// A reviewer cannot ask for more than the rest of the budget, and is told so.
func TestReviewerIsHeldToTheBudget(t *testing.T) {
	h := newHost(t, answering(plainAnswer))
	s := h.sampler(t, &Options{Limits: alone(Limits{Total: Budget{Tokens: 1000}}), Review: &Review{Request: func(_ context.Context, r *Request) error {
		r.Params.MaxTokens = 2000
		return nil
	}}})
	wantRefusal(t, ask(t, s, hi), kindBudget)
	h.wantAsked(t, 0)
}

// A nested request shares the turn of its parent, and Depth bounds the nesting.
func TestDepth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, answering(plainAnswer))
		var s *Sampler
		var records []record
		var deepest error
		s = h.sampler(t, &Options{
			Origin: duringCall, Limits: Limits{Total: Budget{Concurrent: 1}, PerServer: Budget{Concurrent: 1}},
			Audit: auditTo(t, func(r record) { records = append(records, r) }),
			Review: &Review{Request: func(ctx context.Context, _ *Request) error {
				_, err := s.CreateMessage(inCall(ctx, "inner"), question(t, hi))
				if deepest == nil {
					deepest = err
				}
				return nil
			}},
		})
		check.Must(t, check.Err(s.CreateMessage(inCall(t.Context(), "outer"), question(t, hi))))
		wantRefusal(t, deepest, kindDepth)
		check.Equal(t, "records", len(records), 3)
		h.wantAsked(t, 2)
		for i, r := range records {
			check.That(t, r.Depth == 3-i && r.Call == "outer", "got depth %d, charged to %q, want %d, the outer call", r.Depth, r.Call, 3-i)
		}
	})
}

// One server's queue does not delay the other servers, with limits and by default.
func TestConcurrencyOfAServer(t *testing.T) {
	for name, o := range map[string]*Options{
		"by default":  nil,
		"with limits": {Limits: Limits{Total: Budget{Concurrent: 3}, PerServer: Budget{Concurrent: 2}}},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { concurrencyOfAServer(t, o) }) })
	}
}

func concurrencyOfAServer(t *testing.T, o *Options) {
	release := make(chan struct{})
	answer := answering(plainAnswer)
	h := newHost(t, func(w http.ResponseWriter, r *http.Request) { <-release; answer(w, r) })
	s := h.sampler(t, o)
	var wg sync.WaitGroup
	for _, server := range []string{"a", "a", "a", "a", "b"} {
		wg.Go(func() { answered(t, s.ForServer(server), hi) })
	}
	synctest.Wait()
	h.wantAsked(t, 3)
	close(release)
	wg.Wait()
	h.wantAsked(t, 5)
}

// A request longer than the window counts until its end.
func TestLongRequestsStayCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, slowly(5*time.Minute))
		s := h.sampler(t, &Options{Limits: Limits{Total: Budget{Requests: 1}, Window: time.Minute}})
		first := make(chan error)
		go func() { first <- ask(t, s, hi) }()
		time.Sleep(2 * time.Minute)
		wantRefusal(t, ask(t, s, hi), kindBudget)
		check.Must(t, <-first)
		check.NoError(t, ask(t, s, hi), "after the first")
	})
}

// The refusal of a large request tells its need and the rest of the budget.
func TestWhatIsLeft(t *testing.T) {
	g := newGovernor(Limits{Total: Budget{Tokens: 450}}.withDefaults())
	err := check.Err(g.admit(&requester{}, usage{Tokens: cost.Tokens{Input: 200, Output: 100}}))
	check.Text(t, err, "the request may take 300 tokens, and 225 of 225 in 1h0m0s are left for one server")
}

// Each currency has its own limit.
func TestCurrencies(t *testing.T) {
	g := newGovernor(alone(Limits{Total: Budget{Cost: map[string]int64{"USD": 10, "EUR": 10}}}).withDefaults())
	for i, step := range []struct {
		cost cost.Money
		ok   bool
	}{
		{cost.Money{Currency: "USD", Micro: 10}, true}, {cost.Money{Currency: "EUR", Micro: 10}, true},
		{cost.Money{Currency: "USD", Micro: 1}, false}, {cost.Money{Currency: "CHF"}, false}, {cost.Money{}, false},
	} {
		_, err := g.admit(&requester{}, usage{Cost: step.cost})
		check.That(t, (err == nil) == step.ok, "step %d, %v: got %v, want admitted: %t", i, step.cost, err, step.ok)
	}
}
