package sampling

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/cost"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
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

// A host's count that cannot be true, or is far too small for the text, is ignored: an estimate
// counts. An empty reply has no tokens, and 0 is a valid count.
func TestUsageThatCannotBeTrue(t *testing.T) {
	const counted = `"prompt_tokens":12,"completion_tokens":8`
	long := fmt.Sprintf(`{"messages":[{"role":"user","content":{"type":"text","text":%q}}],"maxTokens":100}`, strings.Repeat("word ", 2000))
	type row struct {
		usage string
		want  usage
	}
	for _, tt := range []struct {
		question, reply string
		rows            []row
	}{
		{hi, "Hello", []row{ // 34 bytes, or 8 tokens, and 5 bytes, or 2 tokens
			{`{` + counted + `}`, usage{Tokens: cost.Tokens{Input: 12, Output: 8}}},
			{`{"input_tokens":12,"output_tokens":8}`, usage{Tokens: cost.Tokens{Input: 12, Output: 8}}},
			{`{` + counted + `,"total_tokens":30}`, usage{Tokens: cost.Tokens{Input: 12, Output: 18}}},
			{`{"prompt_tokens":12,"total_tokens":30}`, usage{Tokens: cost.Tokens{Input: 12, Output: 18}}},
			{`{"completion_tokens":8,"total_tokens":30}`, usage{Tokens: cost.Tokens{Input: 22, Output: 8}}},
			{`{"total_tokens":30}`, usage{Tokens: cost.Tokens{Input: 28, Output: 2}, Estimated: true}},
			{`{"total_tokens":1}`, usage{Tokens: cost.Tokens{Output: 1}, Estimated: true}},
			{`{"prompt_tokens":12}`, usage{Tokens: cost.Tokens{Input: 12, Output: 2}, Estimated: true}},
			{`{"prompt_tokens":12,"completion_tokens":0}`, usage{Tokens: cost.Tokens{Input: 12, Output: 2}, Estimated: true}},
			{`{"prompt_tokens":0,"completion_tokens":8}`, usage{Tokens: cost.Tokens{Input: 8, Output: 8}, Estimated: true}},
			{`{"prompt_tokens":-3,"completion_tokens":-8}`, usage{Tokens: cost.Tokens{Input: 8, Output: 2}, Estimated: true}},
			{`{"prompt_tokens":1e300,"completion_tokens":1e300}`, usage{Tokens: cost.Tokens{Input: 8, Output: 2}, Estimated: true}},
			{`{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`, usage{Tokens: cost.Tokens{Input: 8, Output: 2}, Estimated: true}},
			{`{"tokens_in":12,"tokens_out":8}`, usage{Tokens: cost.Tokens{Input: 8, Output: 2}, Estimated: true}},
			{`{}`, usage{Tokens: cost.Tokens{Input: 8, Output: 2}, Estimated: true}},
			{`null`, usage{Tokens: cost.Tokens{Input: 8, Output: 2}, Estimated: true}},
			{`"many"`, usage{Tokens: cost.Tokens{Input: 8, Output: 2}, Estimated: true}},
		}},
		{hi, "", []row{
			{`{"prompt_tokens":12,"completion_tokens":0}`, usage{Tokens: cost.Tokens{Input: 12}}},
			{`{"prompt_tokens":12,"completion_tokens":7}`, usage{Tokens: cost.Tokens{Input: 12, Output: 7}}},
			{`{"completion_tokens":0}`, usage{Tokens: cost.Tokens{Input: 8}, Estimated: true}},
			{`{"total_tokens":20}`, usage{Tokens: cost.Tokens{Input: 20}, Estimated: true}},
		}},
		{long, strings.Repeat("word ", 1000), []row{
			{`{"prompt_tokens":1,"completion_tokens":1}`, usage{Tokens: cost.Tokens{Input: 10032 / 4, Output: 1250}, Estimated: true}},
			{`{"prompt_tokens":1,"completion_tokens":1000}`, usage{Tokens: cost.Tokens{Input: 10032 / 4, Output: 1000}, Estimated: true}},
			{`{"prompt_tokens":2000,"completion_tokens":1}`, usage{Tokens: cost.Tokens{Input: 2000, Output: 1250}, Estimated: true}},
			{`{"total_tokens":2}`, usage{Tokens: cost.Tokens{Input: 10032 / 4, Output: 1250}, Estimated: true}},
			{`{"prompt_tokens":79,"completion_tokens":40}`, usage{Tokens: cost.Tokens{Input: 79, Output: 40}}},
			{`{"prompt_tokens":100000,"completion_tokens":50000}`, usage{Tokens: cost.Tokens{Input: 100000, Output: 50000}}},
		}},
	} {
		for _, r := range tt.rows {
			h := newHost(t, answering(fmt.Sprintf(`{"choices":[{"message":{"content":%q},"finish_reason":"stop"}],"usage":%s}`, tt.reply, r.usage)))
			s := h.sampler(t, nil)
			answered(t, s, tt.question)
			check.Equal(t, fmt.Sprintf("%s for a reply of %d bytes", r.usage, len(tt.reply)), s.governor.allServers.charges[0].spent, r.want)
		}
	}
}

// The sampler ends the text at the server's stop sequence; the host's count comes after it.
func TestStopSequenceIsCounted(t *testing.T) {
	params := `{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"maxTokens":9,"stopSequences":["END"]}`
	for usage, want := range map[string]usage{
		`{"prompt_tokens":10,"completion_tokens":3000}`: {Tokens: cost.Tokens{Input: 10, Output: 3000}},
		`{}`: {Tokens: cost.Tokens{Input: 37 / 4, Output: (400 + 3) / 4}, Estimated: true},
	} {
		h := newHost(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, text := range []string{"so END", strings.Repeat("x", 394)} {
				fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%q}}]}\n\n", text)
			}
			fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[],\"usage\":%s}\n\n", usage)
		})
		shown := ""
		s := h.sampler(t, &Options{OnText: func(_ context.Context, _ *Request, piece string) { shown += piece }})
		got := answered(t, s, params)
		texts := []string{got.Content[0].(*mcp.TextContent).Text, shown, got.StopReason}
		check.Same(t, "text, shown, stopped for", texts, []string{"so ", "so ", "stopSequence"})
		check.Equal(t, usage, s.governor.allServers.charges[0].spent, want)
	}
}

// The host's extra data of a tool use comes back to the host, and is not counted as text.
func TestHostExtraIsNoText(t *testing.T) {
	const use = `{"maxTokens":1,"messages":[{"role":"assistant","content":{"type":"tool_use","id":"a","name":"f"%s}},{"role":"user","content":{"type":"tool_result","toolUseId":"a","content":[]}}]}`
	without, with := question(t, fmt.Sprintf(use, "")), question(t, fmt.Sprintf(use, `,"_meta":{"io.github.mcpchain/host-extra":{"x":"y"}}`))
	got, want := newNeeds(with), newNeeds(without)
	check.That(t, got.tokens() == want.tokens() && got.maxTokens() == want.maxTokens() && got.size() > want.size(), "got %+v, want %+v, and a larger request", got, want)
}
