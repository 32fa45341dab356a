package agent_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/sampling"
)

// newPoet is a host of models, which says "roses" to each request.
func newPoet() *memhttp.Wire {
	return &memhttp.Wire{Replies: []string{
		`{"model":"poet-1","choices":[{"message":{"role":"assistant","content":"roses"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`,
	}}
}

// reviewed is an agent with a toolset of its own, whose server may use the poet's model if a person allows it.
func reviewed(t *testing.T, poet *memhttp.Wire, revision string, model *script, opts agent.Options) *agent.Agent {
	t.Helper()
	config := openai.DefaultConfig("key")
	config.BaseURL, config.HTTPClient = "http://poet.test/v1", poet
	sampler := check.Value(sampling.New(config, "poet-1", &sampling.Options{Review: sampling.AskLater(), Limits: sampling.Limits{MaxTokens: 7}}))(t)
	toolset, _ := open(t, &adapter.Options{ClientOptions: &mcpclient.Options{Sampling: sampler, Protocol: mcpclient.Protocol{Revision: revision}}})
	return withTools(t, model, toolset, &opts)
}

// edited is what a person makes of a request for a poem.
var edited = json.RawMessage(`{"messages":[{"role":"user","content":{"type":"text","text":"a short poem"}}],"maxTokens":5}`)

// wantSampling checks the usage of servers, which have asked for a poem once if asked is true.
func wantSampling(t *testing.T, got run.Usage, asked bool) {
	t.Helper()
	var want run.Usage
	if asked {
		want.Sampling.Requests, want.Sampling.Tokens = 1, 5
	}
	check.Same(t, "what servers took", got.Sampling, want.Sampling)
}

// A sampling request waits for a person, who sees what goes to the model, and may edit it. The
// answer comes in another process, and the model is asked once.
func TestSamplingReviewInAnotherProcess(t *testing.T) {
	for name, tt := range map[string]struct {
		answer func(*run.Question) run.Reply
		asked  string // of the poet
		want   string
	}{
		"allow": {(*run.Question).Allow, `"a poem"`, `tool: 1/sample→"roses"`},
		"edit":  {func(q *run.Question) run.Reply { return allowWith(q, edited) }, `"a short poem"`, `tool: 1/sample→"roses"`},
		"deny": {func(q *run.Question) run.Reply { return q.Deny("no poems here") }, "",
			`tool: 1/sample→"Error: the user did not let the tool's server use the model: no poems here. The call was given up; it may or may not have run."`},
		"fail": {(*run.Question).Allow, `"a poem"`, `tool: 1/sample→"Error: the tool's server asked for a completion of the model, which failed. The call was given up; it may or may not have run."`},
	} {
		t.Run(name, func(t *testing.T) {
			store, host := record.NewMemory(), newPoet()
			first := reviewed(t, host, eras[1], play(uses(toolCall("1", "sample", "{}"))), agent.Options{Durable: agent.Durable{Store: store}})
			got := asks(t, first, 1, run.QuestionSampling)
			q := got.Questions[0]
			check.Same(t, "what the person sees, and the requests",
				[]any{q.Model, q.Sampling.MaxTokens, len(q.Sampling.Messages), q.Server, len(host.Requests)}, []any{"poet-1", int64(7), 1, "box", 0})
			if name == "fail" {
				host.Replies = []string{"{}"}
			}
			got = resumed(t, reviewed(t, host, eras[1], play(says("done")), agent.Options{Durable: agent.Durable{Store: store}}), tt.answer(q))
			check.Same(t, "result", lines(got.Messages)[2], tt.want)
			asked := jsonOf(host.Requests)
			check.That(t, strings.Count(asked, `"messages"`) <= 1 && strings.Contains(asked, tt.asked), "the model was asked %s, want %s once", asked, tt.asked)
			if name != "fail" {
				wantSampling(t, got.Usage, tt.asked != "")
			}
		})
	}
}

// A legacy server waits for its answer, so that the person at hand decides.
func TestSamplingReviewAtHand(t *testing.T) {
	for name, tt := range map[string]struct {
		answer func(context.Context, *run.Question) (run.Reply, error)
		want   string
	}{
		"allow": {func(_ context.Context, q *run.Question) (run.Reply, error) {
			check.Same(t, "a review that ends with the process", []any{q.Survives, q.Kind, q.Model}, []any{false, run.QuestionSampling, "poet-1"})
			return q.Allow(), nil
		}, "roses"},
		"deny":      {func(_ context.Context, q *run.Question) (run.Reply, error) { return q.Deny("no"), nil }, "not approved"},
		"no person": {nil, "no person was asked"},
	} {
		t.Run(name, func(t *testing.T) {
			a := reviewed(t, newPoet(), eras[0], play(uses(toolCall("1", "sample", "{}")), says("done")),
				agent.Options{Person: agent.Person{Reply: tt.answer}})
			result := mustRun(t, a, human("go"))
			check.Contains(t, "result", lines(result.Messages)[2], tt.want)
			wantSampling(t, result.Usage, name == "allow")
		})
	}
}

// The request of a legacy server is a question of a kept run: another process answers it while the call is held.
func TestHeldSamplingReview(t *testing.T) {
	for name, tt := range map[string]struct {
		answer func(*run.Question) run.Reply // nil: none
		asked  string                        // of the poet
		want   string
	}{
		"allow":   {(*run.Question).Allow, `"a poem"`, "roses"},
		"edit":    {func(q *run.Question) run.Reply { return allowWith(q, edited) }, `"a short poem"`, "roses"},
		"deny":    {func(q *run.Question) run.Reply { return q.Deny("no") }, "", "not approved"},
		"expires": {nil, "", "not approved"},
	} {
		synctestRun(t, name, func(t *testing.T) {
			store, host := record.NewMemory(), newPoet()
			first := reviewed(t, host, eras[0], play(uses(toolCall("1", "sample", "{}")), says("done")),
				agent.Options{Durable: agent.Durable{Store: store}})
			ended := begin(t.Context(), first)
			synctest.Wait()
			second := reviewed(t, host, eras[0], play(says("no")), agent.Options{Durable: agent.Durable{Store: store}})
			q := openQuestions(t, second, 1)[0]
			check.Same(t, "the request that goes to the model", []any{q.Kind, q.Survives, q.Model, q.Sampling != nil},
				[]any{run.QuestionSampling, false, "poet-1", true})
			if tt.answer != nil {
				check.Must(t, second.Reply(t.Context(), theRun, tt.answer(q)))
			}
			got := <-ended
			check.Must(t, got.err)
			check.Contains(t, "result", lines(got.Result.Messages)[2], tt.want)
			asked := jsonOf(host.Requests)
			check.That(t, (len(host.Requests) > 0) == (tt.asked != "") && strings.Contains(asked, tt.asked), "the model was asked %q, want %q", asked, tt.asked)
		})
	}
}

// A process that ends after a completion does not pay for it again.
func TestCompletionIsKept(t *testing.T) {
	store, host := record.NewMemory(), newPoet()
	first := reviewed(t, host, eras[1], play(uses(toolCall("1", "sample", "{}"))), agent.Options{Durable: agent.Durable{Store: store}})
	got := mustRun(t, first, human("go"), agent.WithRun(theRun.ID))
	dying := (&dying{at: 2, keep: true}).in(store) // the review with the answer, the completion
	second := reviewed(t, host, eras[1], play(says("done")), agent.Options{Durable: agent.Durable{Store: dying, LeaseTTL: 1}})
	check.Fails(t, check.Err(second.Resume(t.Context(), theRun, got.Questions[0].Allow())), "the process")
	log := load(t, store, theRun)
	last := ledger.ChangeOf(log.Records[len(log.Records)-1])
	_, ok := last.(*ledger.Sampled)
	check.Require(t, ok, "the last record is a %T, want the completion", last)
	got = resumed(t, reviewed(t, host, eras[1], play(says("done")), agent.Options{Durable: agent.Durable{Store: store}}))
	check.Same(t, "result", lines(got.Messages)[2], `tool: 1/sample→"roses"`)
	check.Equal(t, "calls of the model", len(host.Requests), 1)
}
