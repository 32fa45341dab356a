package lc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/anthropic"
	"github.com/tmc/langchaingo/llms/ollama"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/lc"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
)

type modelFunc func(ctx context.Context, o *llms.CallOptions) (*llms.ContentResponse, error)

func (f modelFunc) GenerateContent(ctx context.Context, _ []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, set := range options {
		set(&o)
	}
	return f(ctx, &o)
}

func (f modelFunc) Call(context.Context, string, ...llms.CallOption) (string, error) {
	return "", errors.ErrUnsupported
}

func ok() (*llms.ContentResponse, error) {
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: "ok"}}}, nil
}

// Providers of langchaingo have the status in the text of a plain error.
func TestFailures(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want model.ErrorKind
	}{
		{errors.New("API returned unexpected status code: 429: slow down"), model.ErrorRateLimit},
		{errors.New("anthropic: API returned unexpected status code: 529"), model.ErrorRateLimit},
		{errors.New("googleapi: Error 503: overloaded"), model.ErrorUnavailable},
		{errors.New("API returned unexpected status code: 401: key"), model.ErrorAuth},
		{errors.New("API returned unexpected status code: 408"), model.ErrorTimeout},
		{errors.New("API returned unexpected status code: 504"), model.ErrorUnavailable},
		{errors.New("API returned unexpected status code: 501"), model.ErrorNotFound},
		{errors.New("API returned unexpected status code: 413: large"), model.ErrorTooLong},
		{errors.New("API returned unexpected status code: 400: bad"), model.ErrorInvalid},
		{errors.New("status code: 400: the maximum context length is 5 tokens"), model.ErrorTooLong},
		{errors.New("operation error Bedrock Runtime: InvokeModel, https response error StatusCode: 429, RequestID: 1, ThrottlingException: no"), model.ErrorRateLimit},
		{fmt.Errorf("send request: %w", &url.Error{Op: "Post", Err: syscall.ECONNREFUSED}), model.ErrorUnavailable},
		{fmt.Errorf("send request: %w", &url.Error{Op: "Post", Err: os.ErrDeadlineExceeded}), model.ErrorTimeout},
		{errors.New("network error: failed to reach API server"), model.ErrorUnavailable},
		{errors.New("request timeout: network operation exceeded timeout"), model.ErrorTimeout},
		{errors.New("status code: 400: input length and `max_tokens` exceed context limit: 9 + 2 > 10"), model.ErrorTooLong},
		{errors.New("https response error StatusCode: 400, ValidationException: Input is too long for requested model."), model.ErrorTooLong},
		{errors.New("no status"), 0},
		{llms.NewError(llms.ErrCodeQuotaExceeded, "acme", "no money"), model.ErrorAuth},
		{llms.NewError(llms.ErrCodeContentFilter, "acme", "no"), model.ErrorRefused},
	} {
		m := modelFunc(func(context.Context, *llms.CallOptions) (*llms.ContentResponse, error) { return nil, tt.err })
		var err error
		for _, err = range lc.Model(m, nil).Generate(t.Context(), new(model.Request)) {
		}
		got, isOne := errors.AsType[*model.Error](err)
		check.That(t, isOne && got.Kind == tt.want && errors.Is(err, tt.err), "%v: got %#v, want the kind %d", tt.err, err, tt.want)
	}
}

// The error of a call that was cancelled is that of the context, also if the provider keeps only a text of it.
func TestCancelledCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := modelFunc(func(context.Context, *llms.CallOptions) (*llms.ContentResponse, error) {
		cancel()
		return nil, errors.New("network error: failed to reach API server")
	})
	var err error
	for _, err = range lc.Model(m, nil).Generate(ctx, new(model.Request)) {
	}
	check.Is(t, err, context.Canceled)
	check.Text(t, err, "failed to reach API server")
}

// A failure that passes is tried again by the agent.
func TestPassingFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		m := modelFunc(func(context.Context, *llms.CallOptions) (*llms.ContentResponse, error) {
			if calls++; calls == 1 {
				return nil, errors.New("status code: 503")
			}
			return ok()
		})
		got := mustRun(t, wrapping(t, m, nil, nil))
		check.That(t, got.Output == "ok" && calls == 2, "got %q after %d calls", got.Output, calls)
	})
}

// A provider of langchaingo that drops tools is refused with some. A call for which no temperature is asked has that of the host.
func TestProvidersOfLangchaingo(t *testing.T) {
	w := &memhttp.Wire{Replies: []string{anthropicAnswer}}
	local := check.Value(ollama.New(ollama.WithModel("m")))(t)
	check.Text(t, check.Err(agent.New(lc.Model(local, nil), &agent.Options{Tools: []adapter.Source{forecast()}})), "http://localhost:11434/v1")
	check.NoError(t, check.Err(agent.New(lc.Model(local, nil), nil)), "without tools")
	claude := check.Value(anthropic.New(anthropic.WithToken("x"), anthropic.WithModel("claude"), anthropic.WithHTTPClient(w)))(t)
	half := 0.5
	for i, tt := range []struct {
		options  []llms.CallOption
		settings agent.ModelSettings
		want     float64
	}{
		{nil, agent.ModelSettings{}, 1},
		{[]llms.CallOption{llms.WithTemperature(0)}, agent.ModelSettings{}, 0},
		{[]llms.CallOption{llms.WithTemperature(0.7)}, agent.ModelSettings{}, 0.7},
		{[]llms.CallOption{llms.WithTemperature(0.7)}, agent.ModelSettings{Temperature: &half}, 0.5},
	} {
		mustRun(t, wrapping(t, claude, &lc.ModelOptions{CallOptions: tt.options}, &agent.Options{Model: tt.settings}))
		check.Same(t, "temperature", w.Requests[i]["temperature"], tt.want)
	}
}

func TestInfo(t *testing.T) {
	claude := check.Value(anthropic.New(anthropic.WithToken("x")))(t)
	for _, tt := range []struct {
		model             llms.Model
		opts              *lc.ModelOptions
		provider, profile string
	}{
		{claude, nil, "anthropic", "anthropic"},
		{claude, &lc.ModelOptions{Dialect: "google"}, "anthropic", "googleai"},
		{play(), nil, "unknown", "openai"},
		{play(), &lc.ModelOptions{Dialect: "mistral"}, "mistral_ai", "openai"},
		{play(), &lc.ModelOptions{Dialect: "bedrock"}, "aws.bedrock", "openai"},
		{play(), &lc.ModelOptions{Dialect: "google"}, "gcp.gemini", "googleai"},
		{play(), &lc.ModelOptions{Dialect: "openai-strict"}, "openai", "openai-strict"},
		{play(), &lc.ModelOptions{Dialect: "gemini"}, "gcp.gemini", "gemini"},
		{play(), &lc.ModelOptions{Dialect: "llamacpp"}, "llamacpp", "llamacpp"},
	} {
		got := lc.Model(tt.model, tt.opts).Info()
		check.That(t, got.Provider == tt.provider && string(got.Profile) == tt.profile && got.NoStreaming,
			"%T, %+v: got %+v, want %s, %s", tt.model, tt.opts, got, tt.provider, tt.profile)
	}
	named := lc.Model(play(), &lc.ModelOptions{CallOptions: []llms.CallOption{llms.WithModel("m-1"), llms.WithMaxTokens(7)}}).Info()
	check.That(t, named.Name == "m-1" && named.MaxTokens == 7, "got %+v", named)
	check.Equal(t, "no model", lc.Model(nil, nil), nil)
	defer func() { check.That(t, recover() != nil, "no panic for a dialect that there is not") }()
	lc.Model(play(), &lc.ModelOptions{Dialect: "klingon"})
}

// What the request says goes before the options of the calls.
func TestCallOptions(t *testing.T) {
	m := play(says("x"))
	callers := func(context.Context, []byte) error { return nil }
	wrapped := lc.Model(m, &lc.ModelOptions{CallOptions: []llms.CallOption{
		llms.WithModel("m-1"), llms.WithMaxTokens(7), llms.WithN(3), llms.WithCandidateCount(2), llms.WithTopK(5),
		llms.WithStreamingFunc(callers), llms.WithTools([]llms.Tool{{Type: "function"}}), llms.WithToolChoice("required"),
	}})
	for _, err := range wrapped.Generate(t.Context(), &model.Request{MaxTokens: 5, Stop: []string{"end"}, Stream: true}) {
		check.Must(t, err)
	}
	check.Same(t, "options", m.options, llms.CallOptions{Model: "m-1", MaxTokens: 5, TopK: 5, StopWords: []string{"end"}, N: 1, CandidateCount: 1})
}

func TestSchemasForGoogle(t *testing.T) {
	m := play(says("x"))
	for _, err := range lc.Model(m, &lc.ModelOptions{Dialect: "google"}).Generate(t.Context(), &model.Request{Tools: []model.Tool{{Name: "f", Schema: []byte(`{"type":"object"}`)}}}) {
		check.Must(t, err)
	}
	check.Same(t, "schema", m.options.Tools[0].Function.Parameters, any(map[string]any{"type": "object"}))
}

func TestMistralHasNoToolsAtTheEnd(t *testing.T) {
	m := play(uses("1", "forecast", `{"city":"Oslo"}`), says("done"))
	got := mustRun(t, wrapping(t, m, &lc.ModelOptions{Dialect: "mistral"},
		&agent.Options{Tools: []adapter.Source{forecast()}, Limits: run.Limits{Turns: 1}}))
	check.That(t, m.options.Tools == nil && m.options.ToolChoice == nil && got.StopReason == "max_turns",
		"tools %v, choice %v; want none", m.options.Tools, m.options.ToolChoice)
	last := len(m.seen[1]) - 1
	check.Equal(t, "the last message", m.seen[1][last].Role, llms.ChatMessageTypeHuman)
	check.Equal(t, "the message after a result", m.seen[1][last-1].Role, llms.ChatMessageTypeAI)
}

// A model may stream from a goroutine of its own, as langchaingo's provider for Anthropic does, and go on when nobody listens.
func TestStreamsFromAnyGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late func(context.Context, []byte) error
		var failed error
		m := modelFunc(func(ctx context.Context, o *llms.CallOptions) (*llms.ContentResponse, error) {
			late = o.StreamingFunc
			done := make(chan error, 1)
			go func() {
				done <- errors.Join(o.StreamingFunc(ctx, []byte("o")), o.StreamingFunc(ctx, nil), o.StreamingFunc(ctx, []byte("k")))
			}()
			if failed = <-done; failed != nil {
				return nil, failed
			}
			return ok()
		})
		wrapped := lc.Model(m, &lc.ModelOptions{Stream: true})
		var pieces []string
		for d, err := range wrapped.Generate(t.Context(), &model.Request{Stream: true}) {
			check.Must(t, err)
			pieces = append(pieces, d.Text)
		}
		check.Same(t, "pieces", pieces, []string{"o", "k", ""})
		check.Fails(t, late(t.Context(), []byte("more")), "text after the end of the call")
		for range wrapped.Generate(t.Context(), &model.Request{Stream: true}) {
			break
		}
		check.That(t, failed != nil, "the model is not told that the caller has left")
	})
}

func TestStreamingModelPanics(t *testing.T) {
	m := modelFunc(func(context.Context, *llms.CallOptions) (*llms.ContentResponse, error) { panic("boom") })
	_, err := wrapping(t, m, &lc.ModelOptions{Stream: true}, nil).Run(t.Context(), agent.Text("go"))
	_, isOne := errors.AsType[*bound.PanicError](err)
	check.That(t, isOne, "got %v, want the panic", err)
}

// script is a model that gives one reply for every call, the last one again and again. It streams text.
type script struct {
	replies []*llms.ContentChoice
	err     error // after the replies
	seen    [][]llms.MessageContent
	options llms.CallOptions // of the last call
}

func (s *script) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, set := range options {
		set(&o)
	}
	s.seen, s.options = append(s.seen, messages), o
	if len(s.seen) > len(s.replies) {
		return nil, s.err
	}
	reply := s.replies[len(s.seen)-1]
	if o.StreamingFunc != nil && reply.Content != "" {
		if err := o.StreamingFunc(ctx, []byte(reply.Content)); err != nil {
			return nil, err
		}
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{reply}}, nil
}

func (s *script) Call(context.Context, string, ...llms.CallOption) (string, error) {
	return "", errors.New("not used")
}

func play(replies ...*llms.ContentChoice) *script {
	return &script{replies: replies, err: errors.New("the script is over")}
}

func says(text string) *llms.ContentChoice {
	return &llms.ContentChoice{Content: text, StopReason: "stop"}
}

func uses(id, name, arguments string) *llms.ContentChoice {
	return &llms.ContentChoice{StopReason: "tool_calls", ToolCalls: []llms.ToolCall{
		{ID: id, Type: "function", FunctionCall: &llms.FunctionCall{Name: name, Arguments: arguments}},
	}}
}

type place struct {
	City string `json:"city"`
}

func forecast() adapter.Source {
	return adapter.Func("forecast", "Weather of a city", func(_ context.Context, in place) (string, error) {
		if in.City != "Oslo" {
			return "", errors.New("unknown city")
		}
		return "Sunny.", nil
	}, nil)
}

func newAgent(t testing.TB, model llms.Model, opts *agent.Options) *agent.Agent {
	t.Helper()
	return wrapping(t, model, &lc.ModelOptions{Stream: true}, opts)
}

func wrapping(t testing.TB, model llms.Model, o *lc.ModelOptions, opts *agent.Options) *agent.Agent {
	t.Helper()
	return check.Value(agent.New(lc.Model(model, o), opts))(t)
}

const (
	anthropicCalls = `{"id":"1","type":"message","role":"assistant","model":"claude","stop_reason":"tool_use",
		"content":[{"type":"text","text":"Let me look."},
			{"type":"tool_use","id":"t1","name":"a","input":{"x":1}},
			{"type":"tool_use","id":"t2","name":"b","input":{}}],
		"usage":{"input_tokens":10,"output_tokens":5}}`
	anthropicAnswer = `{"id":"2","type":"message","role":"assistant","model":"claude","stop_reason":"end_turn",
		"content":[{"type":"text","text":"Done."}],"usage":{"input_tokens":20,"output_tokens":3,"cache_read_input_tokens":7}}`
)

func TestAnthropic(t *testing.T) {
	w := &memhttp.Wire{Replies: []string{anthropicCalls, anthropicAnswer}}
	model := check.Value(anthropic.New(anthropic.WithToken("x"), anthropic.WithModel("claude"), anthropic.WithHTTPClient(w)))(t)
	got := mustRun(t, wrapping(t, model, nil, nil))
	// Every block repeats the usage of its message; it counts once.
	check.Same(t, "usage", got.Usage, run.Usage{Turns: 2, Calls: 2, Input: 37, Output: 8, Total: 45, Cached: 7})
	check.Equal(t, "finish reason", got.FinishReason, "end_turn")
	check.Same(t, "second request", w.Requests[1]["messages"], decode(t, `[
		{"role":"user","content":[{"type":"text","text":"go"}]},
		{"role":"assistant","content":[{"type":"text","text":"Let me look."}]},
		{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"a","input":{"x":1}}]},
		{"role":"assistant","content":[{"type":"tool_use","id":"t2","name":"b","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"Error: there is no tool named \"a\". There are no tools."}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"Error: there is no tool named \"b\". There are no tools."}]}
	]`))
}

const (
	openaiCalls = `{"model":"gpt","choices":[{"finish_reason":"tool_calls","message":{"role":"assistant","content":"Let me look.",
		"tool_calls":[{"id":"t1","type":"function","function":{"name":"a","arguments":"{\"x\":1}"}},
			{"id":"t2","type":"function","function":{"name":"b","arguments":"{oops"}}]}}],
		"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"completion_tokens_details":{"reasoning_tokens":2}}}`
	openaiAnswer = `{"model":"gpt","choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"Done."}}],
		"usage":{"prompt_tokens":20,"completion_tokens":3,"total_tokens":23}}`
)

func TestOpenAI(t *testing.T) {
	w := &memhttp.Wire{Replies: []string{openaiCalls, openaiAnswer}}
	model := check.Value(openai.New(openai.WithToken("x"), openai.WithModel("gpt"), openai.WithHTTPClient(w)))(t)
	got := mustRun(t, wrapping(t, model, nil, nil))
	check.Same(t, "usage", got.Usage, run.Usage{Turns: 2, Calls: 2, Input: 30, Output: 8, Total: 38, Reasoning: 2})
	messages := w.Requests[1]["messages"].([]any)
	check.Same(t, "replayed calls", messages[1].(map[string]any)["tool_calls"], decode(t, `[
		{"id":"t1","type":"function","function":{"name":"a","arguments":"{\"x\":1}"}},
		{"id":"t2","type":"function","function":{"name":"b","arguments":"{}"}}
	]`))
	for i, id := range []string{"t1", "t2"} {
		message := messages[2+i].(map[string]any)
		check.That(t, message["role"] == "tool" && message["tool_call_id"] == id, "message %d is %v, want the tool message of %s", 2+i, message, id)
	}
	check.Equal(t, "arguments in the history, as the model wrote them", got.Messages[1].Parts[2].Arguments, "{oops")
}

func mustRun(t *testing.T, a *agent.Agent) *agent.Result {
	t.Helper()
	return check.Value(a.Run(t.Context(), agent.Text("go")))(t)
}

func decode(t *testing.T, text string) any {
	t.Helper()
	var v any
	check.Must(t, json.Unmarshal([]byte(text), &v))
	return v
}

func TestChain(t *testing.T) {
	model := play(uses("1", "forecast", `{"city":"Oslo"}`), says("Take sunglasses."))
	a := newAgent(t, model, &agent.Options{Tools: []adapter.Source{forecast()}})
	var streamed strings.Builder
	answer := check.Value(chains.Run(t.Context(), lc.Chain(a), "What do I need in Oslo?",
		chains.WithStreamingFunc(func(_ context.Context, chunk []byte) error { streamed.Write(chunk); return nil })))(t)
	check.Equal(t, "answer", answer, "Take sunglasses.")
	check.Equal(t, "streamed", streamed.String(), answer)
}

func TestChainKeepsAConversation(t *testing.T) {
	model := play(says("Hello."), says("Again?"))
	a := newAgent(t, model, &agent.Options{Durable: agent.Durable{Store: record.NewMemory()}})
	chain := lc.Chain(a, agent.WithRun("ada"))
	for _, input := range []string{"Hi", "Hi again"} {
		check.Must(t, check.Err(chains.Run(t.Context(), chain, input)))
	}
	check.Equal(t, "messages for the second input", len(model.seen[1]), 3)
}

func TestChainWaits(t *testing.T) {
	model := play(uses("1", "forecast", `{"city":"Oslo"}`), says("Take sunglasses."))
	a := newAgent(t, model, &agent.Options{Tools: []adapter.Source{forecast()}, Person: agent.Person{Approve: agent.AskPerson}, Durable: agent.Durable{Store: record.NewMemory()}})
	check.Is(t, check.Err(chains.Run(t.Context(), lc.Chain(a, agent.WithRun("ada")), "What do I need?")), agent.ErrWaiting)
	key := run.Key{ID: "ada"}
	questions := check.Value(a.Questions(t.Context(), key))(t)
	check.Equal(t, "answer", check.Value(a.Resume(t.Context(), key, questions[0].Allow()))(t).Output, "Take sunglasses.")
}

// promptPerson stores a reply as soon as a run waits for one.
type promptPerson struct {
	record.Store
}

func (s promptPerson) Append(ctx context.Context, l record.Lease, head run.Head, records []run.Record, replies ...run.Reply) error {
	if err := s.Store.Append(ctx, l, head, records, replies...); err != nil || head.Status != run.StatusWaiting {
		return err
	}
	return s.Store.Reply(ctx, head.Key, []run.Reply{{Question: head.QuestionIDs[0], Action: run.ActionAllow}})
}

// A run that gets a reply before its process has left it continues.
func TestChainContinues(t *testing.T) {
	model := play(uses("1", "forecast", `{"city":"Oslo"}`), says("Take sunglasses."))
	a := newAgent(t, model, &agent.Options{Tools: []adapter.Source{forecast()}, Person: agent.Person{Approve: agent.AskPerson}, Durable: agent.Durable{Store: promptPerson{record.NewMemory()}}})
	answer := check.Value(chains.Run(t.Context(), lc.Chain(a, agent.WithRun("ada")), "What do I need?"))(t)
	check.Equal(t, "answer", answer, "Take sunglasses.")
}

func TestChainRefuses(t *testing.T) {
	stop := errors.New("stop")
	streaming := chains.WithStreamingFunc(func(context.Context, []byte) error { return stop })
	for _, test := range []struct {
		name    string
		model   *script
		input   any
		options []chains.ChainCallOption
		want    string
	}{
		{"an input that is not text", play(), 7, nil, "want a string"},
		{"options of the model", play(), "Hi", []chains.ChainCallOption{chains.WithTemperature(1)}, "agent.Options.Model"},
		{"an option that is 0", play(), "Hi", []chains.ChainCallOption{chains.WithTemperature(0)}, "agent.Options.Model"},
		{"a stream that fails", play(says("Hello.")), "Hi", []chains.ChainCallOption{streaming}, "stop"},
		{"a model that fails", play(), "Hi", nil, "overloaded"},
	} {
		test.model.err = errors.New("overloaded")
		check.Text(t, check.Err(chains.Run(t.Context(), lc.Chain(newAgent(t, test.model, nil)), test.input, test.options...)), test.want, test.name)
	}
}
