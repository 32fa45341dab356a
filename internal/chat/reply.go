package chat

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
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

	// Stopped says that one of Request.Stop ended the text. Most hosts that cut the text themselves do not report it.
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

// answer is the host's reply, in one piece or assembled from events, before [draft.complete].
type answer struct {
	Reply               // in the Responses API each of the calls has an item, which is empty
	stopSequence string // stop sequence that ended the text, if the host tells
	openThought  bool   // the text began with a thought, which did not end
	cutOff       int    // bytes of the answer from the stop sequence on
}

// cutAt cuts the text before the first stop sequence in it.
func (a *answer) cutAt(stops []string) {
	if a.Stopped {
		return
	}
	before := len(a.Text)
	a.Text, a.Stopped = cutAtStop(a.Text, stops)
	a.cutOff += before - len(a.Text)
}

// size returns the number of bytes that the model wrote. It is the same before and after cutAt.
func (a *answer) size() int {
	n := len(a.Text) + a.cutOff + len(a.Refusal) + len(a.Reasoning)
	for _, call := range a.ToolCalls {
		n += len(call.Name) + len(call.Arguments)
	}
	return n
}

// malformedError returns the error of an answer in one piece that breaks the API's format.
func malformedError(want string, body []byte, err error) error {
	reason := err.Error()
	if !json.Valid(body) {
		reason = cmp.Or(plainText(body), "it is empty")
	}
	return fmt.Errorf("the answer is not a %s: %s", want, reason)
}

// complete makes the reply of an answer, without the peculiarities of the host, and remembers what the host wants back
// with it. It returns an error for an answer that the host broke off, or withheld without a text.
func (d *draft) complete(a *answer) error {
	finish := a.Finish
	a.Model, a.Endpoint, a.Warning, a.Finish = cmp.Or(a.Model, d.model), d.endpoint, d.warning, finishWord(finish)
	if a.openThought && a.Finish != FinishLength && len(a.ToolCalls) == 0 { // it is the answer
		a.Text, a.Reasoning = thoughtStart+a.Reasoning, ""
	}
	a.cutAt(d.stops)
	a.Size = a.size()
	a.Usage = a.Usage.plausible(d.textBytes, a.Size)
	answered := a.ToolCalls
	a.ToolCalls = nil
	var calls []*ToolCall // by the index in answered
	switch {
	case a.Stopped: // the model would have stopped here, before any call
		a.Finish = FinishStop
	case a.Finish == FinishContentFilter: // a part of the calls may be withheld
	default:
		var err error
		if calls, err = d.setCalls(&a.Reply, answered); err != nil {
			return err
		}
		a.Stopped = a.Finish == FinishStop && slices.Contains(d.stops, a.stopSequence)
	}
	if d.endpoint == Responses {
		a.completeItems(calls)
	}
	if err := checkFinish(&a.Reply, finish); err != nil {
		return err
	}
	switch {
	case len(a.ToolCalls) > 0 && a.Finish != FinishLength:
		a.Finish = FinishToolCalls
	case len(a.ToolCalls) == 0 && a.Finish == FinishToolCalls: // vLLM without a tool parser
		a.Finish = FinishStop
	}
	d.reply = &a.Reply
	d.rememberReply(d.reply)
	return nil
}

// setCalls sets the calls of a reply: those of the answer with the caller's names and unique ids, without those that are
// empty or cut off. It returns the reply's calls by their index in the answer, nil for one that was dropped.
func (d *draft) setCalls(r *Reply, answered []ToolCall) (byIndex []*ToolCall, err error) {
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
			return nil, &Error{Code: CodeMalformed, Message: "a tool call without a name", Usage: r.Usage}
		case r.Finish == FinishLength && i == len(answered)-1 && !json.Valid([]byte(arguments)):
			continue // the reply was cut off within the call, or before its arguments
		case arguments == "":
			arguments = "{}"
		}
		id := call.ID
		if id == "" || used[id] || d.ids.out[id] != "" {
			id = "call_" + rand.Text()[:20]
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

// checkFinish returns an error for a reply that the host broke off, or withheld without a text. finish is the host's own
// word.
func checkFinish(r *Reply, finish string) error {
	hasContent := r.Text != "" || r.Refusal != "" || len(r.ToolCalls) > 0
	switch {
	case r.Finish == finishBroken && hasContent:
		return &Error{Code: CodeTruncated, Message: "the host broke off with finish reason " + finish, Usage: r.Usage}
	case r.Finish == finishBroken:
		return &Error{Code: CodeEmpty, Message: "the host broke off with finish reason " + finish, Usage: r.Usage}
	case r.Finish == FinishContentFilter && !hasContent:
		return &Error{Code: CodeContentFilter, Message: "the host withheld the answer", Usage: r.Usage}
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
