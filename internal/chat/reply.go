package chat

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Reply is the model's answer.
type Reply struct {
	ID    string
	Model string // the host's name for it, or the requested name if the host gives none

	Text      string
	Refusal   string          // the model's reason not to answer, if the host separates it from the text
	Reasoning string          // the part that the host shows
	Details   json.RawMessage // the reasoning as OpenRouter wants it back, nil for none
	ToolCalls []ToolCall

	// Items are the reply in the order of the Responses API, nil at Chat Completions.
	Items []Item

	// Finish is the reason for the end of the reply: one of the constants, or the
	// host's own word for another reason. It may be empty.
	Finish string

	// Stopped says that one of Request.Stop ended the text. Most hosts that cut the
	// text themselves do not report it.
	Stopped bool

	Usage *Usage // nil if unknown

	Warning string // what a person should know about how the model was asked; may be empty

	// Size is the number of bytes that the model wrote: text, reasoning and calls, with
	// the parts that a stop sequence or the end of the tokens cut off.
	Size int
}

// Reasons to stop.
const (
	FinishStop          = "stop"
	FinishLength        = "length" // Request.MaxTokens, or the model's own limit
	FinishToolCalls     = "tool_calls"
	FinishContentFilter = "content_filter"
)

// answer is the host's reply, in one piece or assembled from events.
type answer struct {
	id, model      string
	text           string
	refusal        string
	reasoning      string
	details        json.RawMessage
	calls          []answerCall
	items          []Item      // items of the Responses API, else nil
	replyCalls     []*ToolCall // the reply's calls, by the index in calls; nil for one that was dropped
	finish         string
	stopSequence   string // stop sequence that ended the text, if the host tells
	stopped        bool   // the text was cut at a stop sequence already
	bytesAfterStop int    // bytes after the stop sequence
	usage          *Usage
}

// cutAt cuts the text before the first stop sequence in it.
func (a *answer) cutAt(stops []string) {
	if a.stopped {
		return
	}
	before := len(a.text)
	a.text, a.stopped = cutAtStop(a.text, stops)
	a.bytesAfterStop += before - len(a.text)
}

// size returns the number of bytes that the model wrote.
func (a *answer) size() int {
	n := len(a.text) + a.bytesAfterStop + len(a.refusal) + len(a.reasoning)
	for _, call := range a.calls {
		n += len(call.Name) + len(call.Arguments)
	}
	return n
}

// answerCall is a call with the data that the host wants back.
type answerCall struct {
	ToolCall
	extra json.RawMessage
}

// readWhole decodes an answer in one piece and passes it to the callbacks.
func (x *exchange) readWhole(d *draft, deltas *Deltas, decode func() (*answer, error)) (*answer, error) {
	a, err := decode()
	if err != nil || deltas == nil {
		return a, err
	}
	a.cutAt(d.stops)
	if err := deltas.sendReasoning(a.reasoning); err != nil {
		return nil, err
	}
	return a, deltas.sendText(a.text)
}

// malformedError returns the error of an answer in one piece that breaks the API's format.
func (x *exchange) malformedError(want string, err error) *Error {
	reason := err.Error()
	if !json.Valid(x.body) {
		reason = cmp.Or(plainText(x.header.Get("Content-Type"), x.body), "it is empty")
	}
	return x.newError(CodeMalformed, "the answer is not a "+want+": "+reason)
}

// decodeReply reads a chat completion in one piece.
func (x *exchange) decodeReply() (*answer, error) {
	w, err := decode(x.ctx, x.body).reply()
	if err != nil {
		return nil, x.malformedError("chat completion", err)
	}
	if hasError(w.error) {
		return nil, x.bodyError(x.body)
	}
	if w.choice == nil {
		return nil, x.newError(CodeEmpty, "the answer has no choice")
	}
	if hasError(w.choice.error) {
		return nil, x.bodyError(w.choice.error)
	}
	m := &w.choice.message
	a := &answer{
		id: w.id, model: w.model, usage: w.usage,
		text: wellFormed(m.content), refusal: wellFormed(m.refusal), reasoning: wellFormed(m.reasoning), details: m.details,
		finish: w.choice.finish, stopSequence: w.choice.stopReason,
	}
	for _, call := range m.calls {
		a.calls = append(a.calls, answerCall{ToolCall{ID: call.id, Name: call.name, Arguments: wellFormed(call.arguments)}, call.extra})
	}
	return a, nil
}

// newReply turns an answer into the reply, without the peculiarities of the host. An answer that the host broke off, or
// withheld without a text, is an error.
func (d *draft) newReply(x *exchange, a *answer) (*Reply, error) {
	size := a.size()
	a.cutAt(d.stops)
	r := &Reply{
		ID:        a.id,
		Model:     a.model,
		Text:      a.text,
		Refusal:   a.refusal,
		Reasoning: a.reasoning,
		Details:   a.details,
		Finish:    finishWord(a.finish),
		Warning:   d.warning,
		Usage:     a.usage.plausible(d.textBytes, size),
		Size:      size,
	}
	if r.Model == "" {
		r.Model = d.model
	}
	switch {
	case a.stopped: // the model would have stopped here, before any call
		r.Finish, r.Stopped, a.calls = FinishStop, true, nil
	case r.Finish == FinishContentFilter: // a part of the calls may be withheld
		a.calls = nil
	case r.Finish == FinishStop && a.stopSequence != "":
		r.Stopped = slices.Contains(d.stops, a.stopSequence)
	}
	if err := d.setCalls(x, a, r); err != nil {
		return nil, err
	}
	setItems(a, r)
	switch hasContent := r.Text != "" || r.Refusal != "" || len(r.ToolCalls) > 0; {
	case r.Finish == "error" && !hasContent:
		return nil, x.newError(CodeEmpty, "the host broke off with finish reason "+a.finish)
	case r.Finish == "error":
		return nil, x.newError(CodeTruncated, "the host broke off with finish reason "+a.finish)
	case r.Finish == FinishContentFilter && !hasContent:
		return nil, x.newError(CodeContentFilter, "the host withheld the answer")
	case len(r.ToolCalls) > 0 && r.Finish != FinishLength:
		r.Finish = FinishToolCalls
	case len(r.ToolCalls) == 0 && r.Finish == FinishToolCalls: // vLLM without a tool parser
		r.Finish = FinishStop
	}
	return r, nil
}

// setCalls gives every call the caller's name and a unique id, drops calls that are empty or cut off, and remembers
// the data that the host wants back.
func (d *draft) setCalls(x *exchange, a *answer, r *Reply) error {
	used := map[string]bool{}
	data := hostData{reasoning: a.reasoning, details: a.details}
	a.replyCalls = make([]*ToolCall, len(a.calls))
	calls := make([]ToolCall, 0, len(a.calls))
	for i, call := range a.calls {
		arguments := strings.TrimSpace(call.Arguments)
		switch {
		case call.Name == "" && (arguments == "" || arguments == "{}"):
			continue // some hosts announce calls that they do not make
		case call.Name == "":
			return x.newError(CodeMalformed, "a tool call without a name")
		case r.Finish == FinishLength && i == len(a.calls)-1 && !json.Valid([]byte(arguments)):
			continue // the reply was cut off within the call, or before its arguments
		case arguments == "":
			arguments = "{}"
		}
		id := call.ID
		if id == "" || used[id] || d.ids[id] {
			id = newCallID()
		}
		used[id] = true
		if !isExtra(call.extra) {
			call.extra = nil
		}
		calls = append(calls, ToolCall{ID: id, Name: d.names.incoming(call.Name), Arguments: arguments, Extra: call.extra})
		a.replyCalls[i] = &calls[len(calls)-1]
		callData := data
		callData.extra = call.extra
		d.remember(a.replyCalls[i], callData)
	}
	if len(calls) > 0 {
		r.ToolCalls = calls
	} else {
		d.remember(keyOfText(r.Text), data)
	}
	return nil
}

// finishWord translates a host's finish reason into OpenAI's.
func finishWord(s string) string {
	switch s, _, _ := strings.Cut(strings.ToLower(s), ":"); s {
	case "stop", "eos", "end_turn", "stop_sequence":
		return FinishStop
	case "length", "max_tokens", "model_length":
		return FinishLength
	case "tool_calls", "tool_use":
		return FinishToolCalls
	case "content_filter", "safety":
		return FinishContentFilter
	case "error", "network_error", "insufficient_system_resource", "abort", // the latter of DeepSeek and vLLM
		"function_call_filter", "malformed_function_call": // Gemini cannot read a call of its model
		return "error"
	}
	return s
}
