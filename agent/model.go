package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
)

// lastCall asks for an answer without tools. It is not part of the history.
const lastCall = "No more tool calls are possible. Answer now with what you have, and say what is missing."

// ask calls the model once.
func (r *run) ask(final bool) (*reply, error) {
	a := r.agent
	r.catalog = new(adapter.Catalog)
	if a.tools != nil {
		r.catalog = a.tools.Catalog(a.rules.profile)
	}
	tools := r.catalog.Definitions()
	messages := withSystem(a.opts.System, r.history)
	if final && a.rules.humanAfterTools {
		messages = append(messages, llms.TextParts(llms.ChatMessageTypeHuman, lastCall))
	}
	if final && !a.rules.toolsAtEnd {
		tools = nil
	}
	var stream *streamed
	if a.streams() {
		stream = &streamed{run: r, turn: r.turn}
	}
	options, model := r.callOptions(tools, stream, final)
	if !r.emit(&ModelStart{Turn: r.turn, Model: model, Final: final, Messages: messages}) {
		return nil, r.ended()
	}

	start := time.Now()
	var response *llms.ContentResponse
	err := guarded("model", func() (err error) {
		response, err = a.model.GenerateContent(r.ctx, a.rules.encode(messages), options...)
		return err
	})
	switch {
	case r.ctx.Err() != nil:
		return nil, r.ended()
	case err != nil:
		return nil, fmt.Errorf("call model: %w", err)
	}
	reply := newReply(response, r.history)
	if reply.model == "" {
		reply.model = model
	}
	if !r.emit(reply.event(r.turn, stream.has(reply.text), time.Since(start))) {
		return nil, r.ended()
	}
	return reply, nil
}

// streams reports whether to stream the model's text.
func (a *Agent) streams() bool {
	switch a.opts.Stream {
	case StreamAlways:
		return true
	case StreamNever:
		return false
	}
	s, ok := a.model.(interface{ StreamsToolCalls() bool })
	return ok && s.StreamsToolCalls()
}

// callOptions completes the caller's options and returns the model that they ask
// for. What the agent decides comes last.
func (r *run) callOptions(tools []llms.Tool, stream *streamed, final bool) (options []llms.CallOption, model string) {
	var asked llms.CallOptions
	for _, set := range r.agent.opts.CallOptions {
		set(&asked)
	}
	decide := func(o *llms.CallOptions) {
		o.Tools, o.Functions = r.agent.rules.definitions(tools), nil
		o.StreamingFunc, o.StreamingReasoningFunc = nil, nil
		if stream != nil {
			o.StreamingFunc = stream.take
		}
		switch {
		case len(tools) == 0:
			o.ToolChoice = nil
		case final:
			o.ToolChoice = "none"
		}
		o.N, o.CandidateCount = min(o.N, 1), min(o.CandidateCount, 1)
	}
	return append(slices.Clip(r.agent.opts.CallOptions), decide), asked.Model
}

// streamed is the text of a turn as it comes from a model that streams.
type streamed struct {
	run  *run
	turn int

	mu   sync.Mutex
	text strings.Builder
}

// take takes a piece of text from the model, on any goroutine.
func (s *streamed) take(_ context.Context, chunk []byte) error {
	if len(chunk) == 0 {
		return nil
	}
	s.mu.Lock()
	s.text.Write(chunk)
	s.mu.Unlock()
	if !s.run.emit(&TextDelta{Turn: s.turn, Text: string(chunk)}) {
		return s.run.ended()
	}
	return nil
}

// has reports whether all of the text came in pieces. A model may not stream
// although it was asked to, or not everything, such as a refusal.
func (s *streamed) has(text string) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return text != "" && s.text.String() == text
}

// withSystem puts the system prompt before the messages, joined with system
// messages that they begin with: some providers take one only.
func withSystem(system string, messages []llms.MessageContent) []llms.MessageContent {
	if system == "" {
		return slices.Clone(messages)
	}
	texts := []string{system}
	for len(messages) > 0 && messages[0].Role == llms.ChatMessageTypeSystem {
		for _, part := range messages[0].Parts {
			if text, ok := part.(llms.TextContent); ok {
				texts = append(texts, text.Text)
			}
		}
		messages = messages[1:]
	}
	out := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeSystem, strings.Join(texts, "\n\n"))}
	return append(out, messages...)
}
