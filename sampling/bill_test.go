package sampling

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/cost"
	"github.com/mcpchain/mcpchain/price"
)

// purse is an account with so many tokens and millionths of a dollar.
type purse struct {
	mu                sync.Mutex
	tokens, micro     int64
	reserved, settled []cost.Charge
	twice             bool // a reservation was settled again
}

var errEmpty = errors.New("the purse is empty")

func (p *purse) Reserve(most cost.Charge) (func(cost.Charge), error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	tokens, micro := most.Tokens.Input+most.Tokens.Output, most.Cost.Micro
	if tokens > p.tokens || micro > p.micro {
		return nil, errEmpty
	}
	p.tokens, p.micro, p.reserved = p.tokens-tokens, p.micro-micro, append(p.reserved, most)
	done := false
	return func(c cost.Charge) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.twice, done = p.twice || done, true
		p.tokens += tokens - c.Tokens.Input - c.Tokens.Output
		p.micro += micro - c.Cost.Micro
		p.settled = append(p.settled, c)
	}, nil
}

var cents = &price.Table{Date: "2026-11-22", Models: []price.Price{
	{Model: "gpt-4.1", Currency: "USD", Input: 1e6, Cached: 1e5, CacheWrite: 15e5, Output: 2e6},
	{Model: "gpt-4.1-nano", Currency: "USD", Input: 1e5, Output: 1e5},
}}

func dollars(micro int64) cost.Money { return cost.Money{Currency: "USD", Micro: micro} }

// TestAccount checks the charges to an account for each outcome of a request. The question has
// at most 34 tokens of text, and its reply 100.
func TestAccount(t *testing.T) {
	most := cost.Charge{Model: "gpt-4.1", Tokens: cost.Tokens{Input: 34, Output: 100}, Cost: dollars(251)}
	nothing := func(model string) cost.Charge { return cost.Charge{Model: model} }
	deny := &Review{Request: func(context.Context, *Request) error { return errors.New("no") }}
	longer := &Review{Request: func(_ context.Context, r *Request) error { r.Params.MaxTokens = 200; return nil }}
	const counted = `{"choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}],
		"usage":{"prompt_tokens":20,"completion_tokens":10,"prompt_tokens_details":{"cached_tokens":10,"cache_write_tokens":4},"completion_tokens_details":{"reasoning_tokens":4}}}`
	for name, test := range map[string]struct {
		host              http.HandlerFunc
		review            *Review
		reserved, settled []cost.Charge
	}{
		"answered": {answering(counted), nil, []cost.Charge{most}, []cost.Charge{
			{Model: "gpt-4.1", Tokens: cost.Tokens{Input: 20, Cached: 10, CacheWrite: 4, Output: 10, Reasoning: 4}, Cost: dollars(6 + 1 + 6 + 20)}}},
		"refused by the host": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400) }, nil, []cost.Charge{most},
			[]cost.Charge{nothing("gpt-4.1")}},
		"broken off": {brokenOff, nil, []cost.Charge{most},
			[]cost.Charge{{Model: "gpt-4.1", Tokens: cost.Tokens{Input: 8, Output: 100}, Cost: dollars(208)}}},
		"denied": {answering(counted), deny, []cost.Charge{most}, []cost.Charge{nothing("")}},
		"edited": {answering(counted), longer, []cost.Charge{most, {Model: "gpt-4.1", Tokens: cost.Tokens{Input: 34, Output: 200}, Cost: dollars(451)}},
			[]cost.Charge{nothing("gpt-4.1"), {Model: "gpt-4.1", Tokens: cost.Tokens{Input: 20, Cached: 10, CacheWrite: 4, Output: 10, Reasoning: 4}, Cost: dollars(33)}}},
	} {
		s := newHost(t, test.host).sampler(t, &Options{Prices: cents, Review: test.review, Retries: -1})
		p := &purse{tokens: 1000, micro: 1000}
		_, _ = s.CreateMessage(cost.WithAccount(t.Context(), p), question(t, hi)) // some fail
		check.Same(t, name+": reserved", p.reserved, test.reserved)
		check.Same(t, name+": settled", p.settled, test.settled)
		check.Equal(t, name+": settled twice", p.twice, false)
	}
}

// TestAccountRefuses checks that a refusal by the account asks nothing and counts in no limit.
func TestAccountRefuses(t *testing.T) {
	h := newHost(t, answering(plainAnswer))
	s := h.sampler(t, &Options{Prices: cents, Models: []Model{{ID: "gpt-4.1"}, {ID: "gpt-4.1-nano"}}, Limits: alone(Limits{Total: Budget{Requests: 2}})})
	ask := func(p *purse) error {
		return check.Err(s.CreateMessage(cost.WithAccount(t.Context(), p), question(t, hi)))
	}
	for range 3 {
		err := ask(&purse{tokens: 1000, micro: 13})
		wantRefusal(t, err, kindCost)
		check.Is(t, err, errEmpty, "the error of the account")
	}
	wantRefusal(t, ask(&purse{tokens: 133, micro: 1000}), kindCost)
	h.wantAsked(t, 0)
	cheap := &purse{tokens: 1000, micro: 14} // enough for the cheaper model
	check.Must(t, ask(cheap))
	check.Equal(t, "model", cheap.reserved[0].Model, "gpt-4.1-nano")
	check.NoError(t, ask(&purse{tokens: 1000, micro: 1000}), "an answer: the refused ones take no place")
	full := &purse{tokens: 1000, micro: 1000}
	wantRefusal(t, ask(full), kindBudget)
	check.That(t, full.tokens == 1000 && len(full.settled) == 1,
		"got %d tokens left after %d settlements, want all 1000 after one", full.tokens, len(full.settled))
	s = h.sampler(t, nil) // without prices
	wantRefusal(t, ask(&purse{tokens: 133}), kindBudget)
}

// TestReviewerChoosesAnUnpricedModel checks that a reviewer cannot avoid a limit of cost.
func TestReviewerChoosesAnUnpricedModel(t *testing.T) {
	h := newHost(t, answering(plainAnswer))
	s := h.sampler(t, &Options{
		Prices: cents, Limits: Limits{Total: Budget{Cost: map[string]int64{"USD": 1_000_000}}},
		Review: &Review{Request: func(_ context.Context, r *Request) error { r.Model = "gpt-9"; return nil }},
	})
	wantRefusal(t, ask(t, s, hi), kindCost)
	h.wantAsked(t, 0)
}
