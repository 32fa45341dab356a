package chat

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Reply is the model's answer.
type Reply struct {
	ID       string
	Model    string // the host's name for it, or the requested name if the host gives none
	Endpoint string // [Chat] or [Responses]

	Text      string
	Refusal   string          // the model's reason not to answer, if the host separates it from the text
	Reasoning string          // the part that the host shows
	Details   json.RawMessage // the reasoning as OpenRouter wants it back, nil for none
	ToolCalls []ToolCall

	// Items are the reply in the order of the Responses API. Chat Completions has none.
	Items []Item

	// Finish is the reason for the end of the reply: one of the constants, or the
	// host's own word for another reason. It may be empty.
	Finish string

	// Stopped says that one of Request.Stop ended the text. Most hosts that cut the
	// text themselves do not report it.
	Stopped bool

	Usage *Usage // nil if unknown

	Warning string // what a person should know about how the model was asked; may be empty

	// Size is the number of bytes that the model wrote: text, refusal, reasoning and calls, with the parts that a stop
	// sequence or the end of the tokens cut off.
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
	id, model    string
	text         string
	refusal      string
	reasoning    string
	details      json.RawMessage
	calls        []ToolCall
	items        []Item // in the Responses API; each of the calls has one, which is empty
	finish       string
	stopSequence string // stop sequence that ended the text, if the host tells
	usage        *Usage

	openThought bool // the text began with a thought, which did not end
	stopped     bool // the text was cut before a stop sequence
	cutOff      int  // bytes of the answer from the stop sequence on
}

// cutAt cuts the text before the first stop sequence in it.
func (a *answer) cutAt(stops []string) {
	if a.stopped {
		return
	}
	before := len(a.text)
	a.text, a.stopped = cutAtStop(a.text, stops)
	a.cutOff += before - len(a.text)
}

// size returns the number of bytes that the model wrote. It is the same before and after cutAt.
func (a *answer) size() int {
	n := len(a.text) + a.cutOff + len(a.refusal) + len(a.reasoning)
	for _, call := range a.calls {
		n += len(call.Name) + len(call.Arguments)
	}
	return n
}

// readWhole decodes an answer in one piece and passes it to the callbacks.
func (x *exchange) readWhole(d *draft, deltas *Deltas, decode func() (*answer, error)) (*answer, error) {
	a, err := decode()
	if err != nil {
		return nil, err
	}
	thoughts := d.newThoughtFilter()
	thought, text := thoughts.write(a.text)
	held, rest := thoughts.flush()
	a.reasoning, a.text, a.openThought = a.reasoning+thought+held, text+rest, thoughts.at == inThought
	d.splitThought(a)
	if deltas == nil {
		return a, nil
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
		a.calls = append(a.calls, ToolCall{call.id, call.name, wellFormed(call.arguments), call.extra})
	}
	return a, nil
}

// newReply makes the reply of an answer, without the peculiarities of the host, and remembers what the host wants back
// with it. It returns an error for an answer that the host broke off, or withheld without a text.
func (d *draft) newReply(x *exchange, a *answer) (*Reply, error) {
	if a.openThought && finishWord(a.finish) != FinishLength && len(a.calls) == 0 { // it is the answer
		a.text, a.reasoning = thoughtStart+a.reasoning, ""
	}
	a.cutAt(d.stops)
	r := d.replyWithoutCalls(a)
	var calls []*ToolCall // by the index in a.calls
	switch {
	case a.stopped: // the model would have stopped here, before any call
		r.Finish = FinishStop
	case r.Finish == FinishContentFilter: // a part of the calls may be withheld
	default:
		var err error
		if calls, err = d.setCalls(x, r, a.calls); err != nil {
			return nil, err
		}
		r.Stopped = r.Finish == FinishStop && slices.Contains(d.stops, a.stopSequence)
	}
	if d.endpoint == Responses {
		r.Items = a.replyItems(calls)
	}
	if err := x.checkFinish(r, a.finish); err != nil {
		return nil, err
	}
	switch {
	case len(r.ToolCalls) > 0 && r.Finish != FinishLength:
		r.Finish = FinishToolCalls
	case len(r.ToolCalls) == 0 && r.Finish == FinishToolCalls: // vLLM without a tool parser
		r.Finish = FinishStop
	}
	d.rememberReply(r)
	return r, nil
}

// replyWithoutCalls returns a reply with all of an answer but its calls and items.
func (d *draft) replyWithoutCalls(a *answer) *Reply {
	size := a.size()
	return &Reply{
		ID:        a.id,
		Model:     cmp.Or(a.model, d.model),
		Endpoint:  d.endpoint,
		Text:      a.text,
		Refusal:   a.refusal,
		Reasoning: a.reasoning,
		Details:   a.details,
		Finish:    finishWord(a.finish),
		Stopped:   a.stopped,
		Warning:   d.warning,
		Usage:     a.usage.plausible(d.textBytes, size),
		Size:      size,
	}
}

// setCalls sets the calls of a reply: those of the answer with the caller's names and unique ids, without those that are
// empty or cut off. It returns the reply's calls by their index in the answer, nil for one that was dropped.
func (d *draft) setCalls(x *exchange, r *Reply, answered []ToolCall) (byIndex []*ToolCall, err error) {
	used := map[string]bool{}
	byIndex = make([]*ToolCall, len(answered))
	calls := make([]ToolCall, 0, len(answered))
	for i, call := range answered {
		arguments := strings.TrimSpace(call.Arguments)
		if strings.HasPrefix(arguments, "{}{") { // of gateways to Bedrock
			arguments = arguments[len("{}"):]
		}
		switch {
		case call.Name == "" && (arguments == "" || arguments == "{}"):
			continue // some hosts announce calls that they do not make
		case call.Name == "":
			return nil, x.newError(CodeMalformed, "a tool call without a name")
		case r.Finish == FinishLength && i == len(answered)-1 && !json.Valid([]byte(arguments)):
			continue // the reply was cut off within the call, or before its arguments
		case arguments == "":
			arguments = "{}"
		}
		id := call.ID
		if id == "" || used[id] || d.ids[id] {
			id = newCallID()
		}
		used[id] = true
		calls = append(calls, ToolCall{ID: id, Name: d.names.incoming(call.Name), Arguments: arguments, Extra: call.Extra})
		byIndex[i] = &calls[len(calls)-1]
	}
	if len(calls) > 0 {
		r.ToolCalls = calls
	}
	return byIndex, nil
}

// checkFinish returns an error for a reply that the host broke off, or withheld without a text. finish is the host's
// own word.
func (x *exchange) checkFinish(r *Reply, finish string) error {
	hasContent := r.Text != "" || r.Refusal != "" || len(r.ToolCalls) > 0
	switch {
	case r.Finish == finishBroken && hasContent:
		return x.newError(CodeTruncated, "the host broke off with finish reason "+finish)
	case r.Finish == finishBroken:
		return x.newError(CodeEmpty, "the host broke off with finish reason "+finish)
	case r.Finish == FinishContentFilter && !hasContent:
		return x.newError(CodeContentFilter, "the host withheld the answer")
	}
	return nil
}

// finishBroken means that the host did not finish the reply.
const finishBroken = "error"

// finishWord translates a host's finish reason into one of the constants. It returns any other reason as it is.
func finishWord(reason string) string {
	word, _, _ := strings.Cut(strings.ToLower(reason), ":") // Gemini: "function_call_filter: MALFORMED_FUNCTION_CALL"
	switch word {
	case "stop", "eos", "end_turn", "stop_sequence":
		return FinishStop
	case "length", "max_tokens", "model_length":
		return FinishLength
	case "tool_calls", "tool_use":
		return FinishToolCalls
	case "content_filter", "safety", "refusal":
		return FinishContentFilter
	case "error", "network_error",
		"insufficient_system_resource",                    // DeepSeek
		"abort",                                           // vLLM, when it is shut down
		"function_call_filter", "malformed_function_call": // Gemini cannot read a call of its model
		return finishBroken
	}
	return reason
}
