package lc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/lc/internal/convert"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/internal/guard"
)

// ModelOptions say how a model of langchaingo is used. Nil and the zero value are valid.
type ModelOptions struct {
	// CallOptions go with every call. Tools, the format, streaming and that there is one candidate
	// are decided by the agent, and so is what its settings name. llms.WithModel names the model for
	// prices and telemetry, and so does a method ModelName() string of the model. Default: none.
	CallOptions []llms.CallOption

	// Dialect is the form of messages that the model's provider takes: "openai"; "anthropic", one part in a message of the model, no
	// blank text, marks of caches; "bedrock", the same without marks; "google", the results of a turn in one message, schemas as
	// maps; "mistral", no message of a person after results, no tools for a last answer. Name it for a model that wraps another
	// one, which hides its type. Default: by the package of the model's type, and as a rule "openai".
	Dialect string

	// Provider names the provider for telemetry, in the words of OpenTelemetry's conventions for
	// generative AI. Default: by the package of the model's type, or by Dialect.
	Provider string

	// Profile is the provider for which the schemas of tools are written. Default: by the dialect:
	// [profile.Anthropic], [profile.GoogleAI] or [profile.OpenAI].
	Profile profile.Profile

	// Stream has the model stream. Some models of langchaingo mix up parallel tool calls then, pass them as
	// text, or take a broken stream for a whole answer, the one for OpenAI among them. Default: if the
	// model says by a method StreamsToolCalls() bool that it streams tool calls correctly.
	Stream bool

	// Media reports whether the model takes a part of a tool's result that is not text, by its MIME
	// type. Such parts follow the results in a message of a person. Default: PNG, JPEG, GIF and WebP
	// images.
	Media func(mimeType string) bool
}

// Model makes a model for agents of any model of langchaingo, and nil of nil. It panics if the options name
// no dialect that there is.
//
// langchaingo's types have no place for much of what a provider gives: reasoning is kept with a run and not
// sent back, and what was cached is known from some providers only. Packages openaimodel and anthropicmodel
// do not have these limits. The effort of a request is not sent.
func Model(m llms.Model, o *ModelOptions) agent.Model {
	if v := reflect.ValueOf(m); m == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	w := &wrapped{model: m}
	if o != nil {
		w.options = *o
	}
	form := formOf(w.options.Dialect, m)
	w.rules = form.rules
	asked := llms.CallOptions{Temperature: math.NaN()}
	for _, set := range w.options.CallOptions {
		set(&asked)
	}
	if path := langchaingo(m); math.IsNaN(asked.Temperature) && (path == "anthropic" || path == "openai") {
		w.temperature = 1
	}
	if s, ok := m.(interface{ StreamsToolCalls() bool }); ok && s.StreamsToolCalls() {
		w.options.Stream = true
	}
	w.info = model.Info{
		Provider: w.options.Provider, Name: asked.Model, Profile: w.options.Profile, MaxTokens: asked.MaxTokens,
		Media: w.options.Media, Whole: !w.options.Stream, NoTools: noTools(m),
	}
	if named, ok := m.(interface{ ModelName() string }); ok && w.info.Name == "" {
		w.info.Name = named.ModelName()
	}
	if w.info.Provider == "" {
		w.info.Provider = form.provider
	}
	if w.info.Profile == "" {
		w.info.Profile = form.profile
	}
	return w
}

// wrapped is a model of langchaingo.
type wrapped struct {
	model       llms.Model
	options     ModelOptions
	rules       convert.Rules
	temperature float64 // of calls for which none is asked; 0: none is set
	info        model.Info
}

// Info implements [model.Model].
func (w *wrapped) Info() model.Info { return w.info }

// Generate implements [model.Model].
func (w *wrapped) Generate(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		messages := w.encoder(r.Kept).Encode(r.System, r.Messages)
		var response *llms.ContentResponse
		var err error
		if r.Stream && w.options.Stream {
			var stopped bool
			if response, stopped, err = w.stream(ctx, messages, r, yield); stopped {
				return
			}
		} else {
			response, err = w.model.GenerateContent(ctx, messages, w.callOptions(r, nil)...)
		}
		if err != nil {
			yield(model.Delta{}, failure(ctx, err))
			return
		}
		yield(model.Delta{Response: &model.Response{
			Message: convert.FromResponse(response), ID: convert.ID(response), Finish: convert.Finish(response),
			Usage: convert.Usage(response), Warning: convert.Warning(response),
		}}, nil)
	}
}

// encoder is the one that has written the conversation so far.
func (w *wrapped) encoder(kept *any) *convert.Encoder {
	if kept == nil {
		kept = new(any)
	}
	e, ok := (*kept).(*convert.Encoder)
	if !ok {
		e = convert.NewEncoder(convert.Options{Rules: w.rules, Media: w.info.Takes, AppendOnly: true})
		*kept = e
	}
	return e
}

// errLeft ends a stream whose caller has left.
var errLeft = errors.New("the caller of the model has left")

// stream asks the model on a goroutine of its own: a model may call its streaming functions on any. It returns
// when the model does.
func (w *wrapped) stream(ctx context.Context, messages []llms.MessageContent, r *model.Request, yield func(model.Delta, error) bool) (response *llms.ContentResponse, stopped bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	pieces, done, over := make(chan model.Delta), make(chan struct{}), make(chan struct{})
	send := func(d model.Delta) error {
		select {
		case <-over: // the model has returned
			return errLeft
		default:
		}
		select {
		case pieces <- d:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-over:
			return errLeft
		}
	}
	go func() {
		defer close(done)
		defer close(over)
		err = errors.New("it ended the goroutine of its call")
		err = guard.Run("model", func() (err error) {
			response, err = w.model.GenerateContent(ctx, messages, w.callOptions(r, send)...)
			return err
		})
	}()
	for {
		select {
		case d := <-pieces:
			if !stopped && !yield(d, nil) {
				stopped = true
				cancel(errLeft)
			}
		case <-done:
			return response, stopped, err
		}
	}
}

// callOptions are the options of a call. What the request says comes last. send takes pieces of the reply; nil:
// the reply comes whole.
func (w *wrapped) callOptions(r *model.Request, send func(model.Delta) error) []llms.CallOption {
	tools, choice := w.rules.Tools(toolsOf(r.Tools)), choiceOf(r)
	if choice == "none" && w.rules.NoToolsAtEnd {
		tools = nil
	}
	decide := func(o *llms.CallOptions) {
		o.Tools, o.Functions = tools, nil
		o.StreamingFunc, o.StreamingReasoningFunc = nil, nil
		if send != nil {
			o.StreamingFunc = func(_ context.Context, text []byte) error { return sendTo(send, model.Delta{Text: string(text)}) }
			o.StreamingReasoningFunc = func(_ context.Context, thought, _ []byte) error {
				return sendTo(send, model.Delta{Reasoning: string(thought)})
			}
		}
		if r.MaxTokens > 0 {
			o.MaxTokens = r.MaxTokens
		}
		switch {
		case r.Temperature != nil:
			o.Temperature = *r.Temperature
		case w.temperature != 0:
			o.Temperature = w.temperature
		}
		if len(r.Stop) > 0 {
			o.StopWords = r.Stop
		}
		switch {
		case len(tools) == 0:
			o.ToolChoice = nil
		case choice != nil:
			o.ToolChoice = choice
		}
		o.N, o.CandidateCount = min(o.N, 1), min(o.CandidateCount, 1)
	}
	return append(slices.Clip(w.options.CallOptions), decide)
}

// sendTo sends a piece that has something.
func sendTo(send func(model.Delta) error, d model.Delta) error {
	if d == (model.Delta{}) {
		return nil
	}
	return send(d)
}

func toolsOf(all []model.Tool) []llms.Tool {
	if len(all) == 0 {
		return nil
	}
	out := make([]llms.Tool, len(all))
	functions := make([]llms.FunctionDefinition, len(all))
	for i, t := range all {
		functions[i] = llms.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: json.RawMessage(t.Schema), Strict: t.Strict}
		out[i] = llms.Tool{Type: "function", Function: &functions[i]}
	}
	return out
}

// choiceOf is langchaingo's word for a choice, nil if the model decides.
func choiceOf(r *model.Request) any {
	switch r.Choice {
	case model.ChoiceNone:
		return "none"
	case model.ChoiceRequired:
		return "required"
	case model.ChoiceTool:
		return llms.ToolChoice{Type: "function", Function: &llms.FunctionReference{Name: r.ChosenTool}}
	}
	return nil
}

// toolless are the packages of langchaingo's providers that do not send the tools of a call, without a word.
var toolless = []string{"cloudflare", "cohere", "ernie", "huggingface", "llamafile", "local", "maritaca", "ollama", "watsonx"}

// compatibleURL are examples.
var compatibleURL = map[string]string{"ollama": ", such as http://localhost:11434/v1", "llamafile": ", such as http://localhost:8080/v1"}

// noTools is why a model would never be told of tools, nil if it is.
func noTools(m llms.Model) error {
	path := langchaingo(m)
	if !slices.Contains(toolless, path) {
		return nil
	}
	return fmt.Errorf("langchaingo's provider %s does not send tools to its model; use package openaimodel with the provider's OpenAI-compatible URL%s", path, compatibleURL[path])
}
