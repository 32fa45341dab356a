package lc_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/anthropic"
	"github.com/tmc/langchaingo/llms/ollama"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/lc"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
)

// modelFunc is a model of langchaingo.
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
		{errors.New("anthropic: API returned unexpected status code: 529"), model.ErrorUnavailable},
		{errors.New("googleapi: Error 503: overloaded"), model.ErrorUnavailable},
		{errors.New("API returned unexpected status code: 401: key"), model.ErrorAuth},
		{errors.New("API returned unexpected status code: 404: model"), model.ErrorNotFound},
		{errors.New("API returned unexpected status code: 408"), model.ErrorTimeout},
		{errors.New("API returned unexpected status code: 400: bad"), model.ErrorInvalid},
		{errors.New("status code: 400: the maximum context length is 5 tokens"), model.ErrorTooLong},
		{errors.New("no status"), 0},
		{llms.NewError(llms.ErrCodeQuotaExceeded, "acme", "no money"), model.ErrorAuth},
		{llms.NewError(llms.ErrCodeContentFilter, "acme", "no"), model.ErrorRefused},
	} {
		m := modelFunc(func(context.Context, *llms.CallOptions) (*llms.ContentResponse, error) { return nil, tt.err })
		for _, err := range lc.Model(m, nil).Generate(t.Context(), new(model.Request)) {
			if got, isOne := errors.AsType[*model.Error](err); !isOne || got.Kind != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("%v: got %#v, want the kind %d", tt.err, err, tt.want)
			}
		}
	}
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
		if got := mustRun(t, wrapping(t, m, nil, nil)); got.Output != "ok" || calls != 2 {
			t.Errorf("got %q after %d calls", got.Output, calls)
		}
	})
}

// A provider of langchaingo that drops tools is refused with some, and the temperature of a call for which
// none is asked is that of the host.
func TestProvidersOfLangchaingo(t *testing.T) {
	w := &memhttp.Wire{Replies: []string{anthropicAnswer}}
	local, err := ollama.New(ollama.WithModel("m"))
	check.Must(t, err)
	check.Text(t, check.Err(agent.New(lc.Model(local, nil), &agent.Options{Tools: []adapter.Source{forecast()}})), "http://localhost:11434/v1")
	check.NoError(t, check.Err(agent.New(lc.Model(local, nil), nil)), "without tools")
	claude, err := anthropic.New(anthropic.WithToken("x"), anthropic.WithModel("claude"), anthropic.WithHTTPClient(w))
	check.Must(t, err)
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
	claude, err := anthropic.New(anthropic.WithToken("x"))
	check.Must(t, err)
	for _, tt := range []struct {
		model             llms.Model
		opts              *lc.ModelOptions
		provider, profile string
	}{
		{claude, nil, "anthropic", "anthropic"},
		{claude, &lc.ModelOptions{Profile: profile.Plain}, "anthropic", "plain"},
		{claude, &lc.ModelOptions{Dialect: "google"}, "anthropic", "googleai"},
		{play(), nil, "unknown", "openai"},
		{play(), &lc.ModelOptions{Dialect: "mistral"}, "mistral_ai", "openai"},
		{play(), &lc.ModelOptions{Dialect: "bedrock"}, "aws.bedrock", "openai"},
		{play(), &lc.ModelOptions{Dialect: "google"}, "gcp.gemini", "googleai"},
	} {
		got := lc.Model(tt.model, tt.opts).Info()
		if got.Provider != tt.provider || string(got.Profile) != tt.profile || !got.NoStreaming {
			t.Errorf("%T, %+v: got %+v, want %s, %s", tt.model, tt.opts, got, tt.provider, tt.profile)
		}
	}
	named := lc.Model(play(), &lc.ModelOptions{CallOptions: []llms.CallOption{llms.WithModel("m-1"), llms.WithMaxTokens(7)}}).Info()
	if named.Name != "m-1" || named.MaxTokens != 7 {
		t.Errorf("got %+v", named)
	}
	if got := lc.Model(nil, nil); got != nil {
		t.Errorf("got %v of no model", got)
	}
	defer func() {
		if v := recover(); v == nil {
			t.Error("no panic for a dialect that there is not")
		}
	}()
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
	if m.options.StreamingFunc != nil {
		t.Error("the model was asked to stream")
	}
	diff(t, "options", m.options, llms.CallOptions{Model: "m-1", MaxTokens: 5, TopK: 5, StopWords: []string{"end"}, N: 1, CandidateCount: 1})
}

func TestMistralHasNoToolsAtTheEnd(t *testing.T) {
	m := play(uses("1", "forecast", `{"city":"Oslo"}`), says("done"))
	got := mustRun(t, wrapping(t, m, &lc.ModelOptions{Dialect: "mistral"},
		&agent.Options{Tools: []adapter.Source{forecast()}, Limits: run.Limits{Turns: 1}}))
	if m.options.Tools != nil || m.options.ToolChoice != nil || got.StopReason != agent.StopMaxTurns {
		t.Errorf("tools %v, choice %v; want none", m.options.Tools, m.options.ToolChoice)
	}
	var roles []llms.ChatMessageType
	for _, message := range m.seen[1] {
		roles = append(roles, message.Role)
	}
	if last := len(roles) - 1; roles[last] != llms.ChatMessageTypeHuman || roles[last-1] != llms.ChatMessageTypeAI {
		t.Errorf("got messages of %v, want none of a person after a result", roles)
	}
}

// A model may stream from a goroutine of its own, as langchaingo's provider for Anthropic does, and go on when
// nobody listens.
func TestStreamsFromAnyGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late func(context.Context, []byte) error
		var failed error
		m := modelFunc(func(ctx context.Context, o *llms.CallOptions) (*llms.ContentResponse, error) {
			late = o.StreamingFunc
			done := make(chan error, 1)
			go func() {
				for _, piece := range []string{"o", "", "k"} {
					if err := o.StreamingFunc(ctx, []byte(piece)); err != nil {
						done <- err
						return
					}
				}
				done <- nil
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
		if !slices.Equal(pieces, []string{"o", "k", ""}) {
			t.Errorf("got the pieces %q", pieces)
		}
		check.Fails(t, late(t.Context(), []byte("more")), "text after the end of the call")
		for range wrapped.Generate(t.Context(), &model.Request{Stream: true}) {
			break
		}
		if failed == nil {
			t.Error("the model is not told that the caller has left")
		}
	})
}

func TestStreamingModelPanics(t *testing.T) {
	m := modelFunc(func(context.Context, *llms.CallOptions) (*llms.ContentResponse, error) { panic("boom") })
	_, err := wrapping(t, m, &lc.ModelOptions{Stream: true}, nil).Run(t.Context(), agent.Text("go"))
	if _, isOne := errors.AsType[*bound.PanicError](err); !isOne {
		t.Errorf("got %v, want the panic", err)
	}
}
