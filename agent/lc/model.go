// Package lc connects agents with langchaingo.
//
// [Model] adapts any model of langchaingo for agents:
//
//	a, err := agent.New(lc.Model(llm, nil), nil)
//
// [Chain] makes a chain from an agent:
//
//	chain := lc.Chain(a)
//	answer, err := chains.Run(ctx, chain, "What do I need in Oslo?") // chains is a package of langchaingo
//
// The guide docs/agent.md of the repository has a chapter on langchaingo.
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

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/internal/convert"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/bound"
)

// ModelOptions configure [Model]. Nil and the zero value are valid.
type ModelOptions struct {
	// CallOptions are added to every call. The agent overrides tools, streaming, the number of
	// candidates, and all that its own settings set. llms.WithModel names the model for prices and
	// telemetry; so does a method ModelName() string of the model. Default: none.
	CallOptions []llms.CallOption

	// Dialect is the form of messages that the model's provider accepts:
	//
	//   - "openai"
	//   - "anthropic" and "bedrock": one part in a message of the model, no blank text
	//   - "google": the results of a turn in one message, schemas as maps
	//   - "mistral": no message of the user after results, no tools for a last answer
	//   - "openai-strict": as "openai", with the schemas of tools that OpenAI enforces where that is possible
	//   - "gemini" and "llamacpp": as "openai", with schemas for an endpoint of Gemini, or for llama.cpp and
	//     programs built on it
	//
	// It also determines how the schemas of tools are written. Set it for a model that wraps another one
	// and so hides its type. Default: by the package of the model's type, "openai" for an unknown one.
	Dialect string

	// Stream makes the model stream. Some models of langchaingo, such as the one for OpenAI, then mix up
	// parallel tool calls, return them as text, or take a broken stream for a complete answer. Default:
	// true if the model has a method StreamsToolCalls() bool that returns true, else false.
	Stream bool
}

// Model adapts a model of langchaingo for agents. It returns nil if m is nil, which [agent.New]
// refuses, and panics if the dialect is unknown.
//
// langchaingo's types lack some data of providers: reasoning is stored with a run but not sent
// back, and only some providers report cached tokens. The effort of a request is not sent. Packages
// openaimodel and anthropicmodel do not have these limits.
//
// The context window of the model is unknown, and agents assume 128,000 tokens. For a smaller one set
// Compact of [agent.Options] to compact.Trim(&compact.Options{Window: n}).
func Model(m llms.Model, opts *ModelOptions) agent.Model {
	if v := reflect.ValueOf(m); m == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	w := &langchainModel{model: m}
	if opts != nil {
		w.options = *opts
	}
	w.form = formOf(w.options.Dialect, m)
	asked := llms.CallOptions{Temperature: math.NaN()}
	for _, set := range w.options.CallOptions {
		set(&asked)
	}
	if math.IsNaN(asked.Temperature) {
		switch packageOf(m) {
		case "anthropic", "openai":
			w.temperature = 1
		}
	}
	if s, ok := m.(interface{ StreamsToolCalls() bool }); ok && s.StreamsToolCalls() {
		w.options.Stream = true
	}
	w.info = model.Info{
		Provider: w.form.provider, Name: asked.Model, Profile: w.form.profile, MaxTokens: asked.MaxTokens,
		NoStreaming: !w.options.Stream, ToolsErr: noTools(m),
	}
	if named, ok := m.(interface{ ModelName() string }); ok && w.info.Name == "" {
		w.info.Name = named.ModelName()
	}
	return w
}

// langchainModel adapts a model of langchaingo.
type langchainModel struct {
	model       llms.Model
	options     ModelOptions
	form        form
	temperature float64 // for calls without a temperature; 0: none
	info        model.Info
}

// Info implements [model.Model].
func (w *langchainModel) Info() model.Info { return w.info }

// Generate implements [model.Model].
func (w *langchainModel) Generate(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		messages := convert.ToLLMS(w.form.rules, r.System, r.Messages)
		var response *llms.ContentResponse
		var err error
		if r.Stream && w.options.Stream {
			var stopped bool
			response, stopped, err = w.stream(ctx, messages, r, yield)
			if stopped {
				return
			}
		} else {
			response, err = w.model.GenerateContent(ctx, messages, w.callOptions(r, nil)...)
		}
		if err != nil {
			yield(model.Delta{}, failure(ctx, err))
			return
		}
		yield(model.Delta{Response: convert.FromResponse(response)}, nil)
	}
}

// errStopped ends a stream whose caller has stopped the iteration.
var errStopped = errors.New("caller has stopped the iteration")

// stream asks the model on its own goroutine, because a model may call its streaming functions on any
// goroutine. It returns when the model does.
func (w *langchainModel) stream(
	ctx context.Context, messages []llms.MessageContent, r *model.Request, yield func(model.Delta, error) bool,
) (response *llms.ContentResponse, stopped bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	pieces, done := make(chan model.Delta), make(chan struct{})
	send := func(d model.Delta) error {
		if d == (model.Delta{}) {
			return nil
		}
		select {
		case <-done: // the model has returned
			return errStopped
		default:
		}
		select {
		case pieces <- d:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-done:
			return errStopped
		}
	}
	go func() {
		defer close(done)
		err = errors.New("model ended the goroutine of its call")
		err = bound.Run("model", func() (err error) {
			response, err = w.model.GenerateContent(ctx, messages, w.callOptions(r, send)...)
			return err
		})
	}()
	for {
		select {
		case d := <-pieces:
			if !yield(d, nil) {
				cancel(errStopped)
				<-done // without taking pieces, so that the next one fails
				return nil, true, nil
			}
		case <-done:
			return response, false, err
		}
	}
}

// callOptions returns the options of a call. The settings of the request override the others. send
// gets pieces of the reply; nil: no streaming.
func (w *langchainModel) callOptions(r *model.Request, send func(model.Delta) error) []llms.CallOption {
	tools := w.toolsOf(r.Tools)
	choice := choiceOf(r)
	if choice == "none" && w.form.noToolsAtEnd {
		tools = nil
	}
	decide := func(o *llms.CallOptions) {
		o.Tools, o.Functions = tools, nil
		o.StreamingFunc, o.StreamingReasoningFunc = nil, nil
		if send != nil {
			o.StreamingFunc = func(_ context.Context, text []byte) error { return send(model.Delta{Text: string(text)}) }
			o.StreamingReasoningFunc = func(_ context.Context, thought, _ []byte) error {
				return send(model.Delta{Reasoning: string(thought)})
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

func (w *langchainModel) toolsOf(all []model.Tool) (out []llms.Tool) {
	for _, t := range all {
		f := &llms.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: t.Schema, Strict: t.Strict}
		if w.form.schemaMaps {
			var schema map[string]any
			if json.Unmarshal(t.Schema, &schema) == nil {
				f.Parameters = schema
			}
		}
		out = append(out, llms.Tool{Type: "function", Function: f})
	}
	return out
}

// choiceOf returns langchaingo's value for a choice, nil if the model decides.
func choiceOf(r *model.Request) any {
	switch r.ToolChoice {
	case model.ChoiceNone:
		return "none"
	case model.ChoiceRequired:
		return "required"
	case model.ChoiceTool:
		return llms.ToolChoice{Type: "function", Function: &llms.FunctionReference{Name: r.ToolName}}
	}
	return nil
}

// toolless are the packages of langchaingo's providers that silently drop the tools of a call.
var toolless = []string{"cloudflare", "cohere", "ernie", "huggingface", "llamafile", "local", "maritaca", "ollama", "watsonx"}

// compatibleURL has an example of an OpenAI-compatible URL for some of them.
var compatibleURL = map[string]string{"ollama": ", such as http://localhost:11434/v1", "llamafile": ", such as http://localhost:8080/v1"}

// noTools returns an error if a model would never see tools.
func noTools(m llms.Model) error {
	path := packageOf(m)
	if !slices.Contains(toolless, path) {
		return nil
	}
	return fmt.Errorf("langchaingo's provider %s does not send tools to its model; "+
		"use package openaimodel with the provider's OpenAI-compatible URL%s", path, compatibleURL[path])
}

// Messages returns a history of langchaingo as the input of an agent. Consecutive messages of the model become one, and so
// do those of tools. Content of types that are not langchaingo's own is left out; other content that has no equivalent is
// converted as far as possible. The data of media is shared with the history.
func Messages(messages ...llms.MessageContent) []run.Message {
	all, _ := convert.FromLLMS(messages)
	return all
}
