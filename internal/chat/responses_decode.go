package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

const (
	maxItems         = 1_024   // items of a response
	maxReasoningItem = 1 << 20 // bytes of a reasoning item; a larger one is not kept
)

var errManyItems = fmt.Errorf("response has more than %d items", maxItems)

// responseWire is a response, in one piece or at the end of a stream.
type responseWire struct {
	replyHead
	status, reason string
	items          []itemWire
	hasOutput      bool // the response has a member "output"
}

// itemWire is an item of a response.
type itemWire struct {
	kind          string
	text, refusal string
	phase         string
	summary       string // summary of the reasoning, or the reasoning itself
	callID, name  string
	arguments     string
	raw           json.RawMessage // the whole item, for reasoning
}

// itemTexts joins the texts of an item, or of all items.
type itemTexts struct{ text, refusal, summary strings.Builder }

// response reads a response.
func (d *decoder) response() (w responseWire) {
	if !d.opens('{') {
		return w
	}
	for key := range d.Members {
		if d.headMember(&w.replyHead, key) {
			continue
		}
		switch string(key) {
		case "status":
			w.status = d.word()
		case "incomplete_details":
			for key := range d.objectMembers() {
				if string(key) == "reason" {
					w.reason = d.word()
				}
			}
		case "output":
			w.items, w.hasOutput = d.items(), true
		}
	}
	return w
}

// responseEvent holds the members that matter here, of all kinds of events.
type responseEvent struct {
	kind     string
	index    int    // output_index, the index of the item
	delta    string // a piece of text
	item     itemWire
	response responseWire
}

// responseEvent reads an event of the Responses API.
func (d *decoder) responseEvent() (e responseEvent) {
	for key := range d.Members {
		switch string(key) {
		case "type":
			e.kind = d.word()
		case "output_index":
			e.index = int(decodeCount(d.Raw()))
		case "delta":
			e.delta, _ = d.plainString()
		case "item":
			if d.opens('{') {
				e.item = d.item()
			}
		case "response":
			e.response = d.response()
		}
	}
	return e
}

// items reads at most maxItems items.
func (d *decoder) items() (items []itemWire) {
	for range d.objects {
		if len(items) == maxItems {
			d.Fail(errManyItems)
			break
		}
		items = append(items, d.item())
	}
	return items
}

// item reads an item.
func (d *decoder) item() (w itemWire) {
	start := d.Offset()
	var texts itemTexts
	for key := range d.Members {
		switch string(key) {
		case "type":
			w.kind = d.word()
		case "phase":
			w.phase = d.word()
		case "call_id":
			w.callID = d.callID()
		case "name":
			w.name = d.callName()
		case "arguments":
			w.arguments = d.json()
		case "content", "summary":
			d.contents(&texts)
		}
	}
	w.text, w.refusal, w.summary = texts.text.String(), texts.refusal.String(), texts.summary.String()
	if w.kind == "reasoning" && d.Err() == nil {
		if raw := bytes.TrimSpace(d.Since(start)); len(raw) <= maxReasoningItem {
			w.raw = bytes.Clone(d.countReread(raw))
		}
	}
	return w
}

// contents reads the parts of a message or of a reasoning item.
func (d *decoder) contents(texts *itemTexts) {
	for range d.objects {
		kind, text := "", ""
		for key := range d.Members {
			switch string(key) {
			case "type":
				kind = d.word()
			case "text", "refusal":
				text, _ = d.plainString()
			}
		}
		switch kind {
		case "output_text":
			texts.text.WriteString(text)
		case "refusal":
			texts.refusal.WriteString(text)
		case "summary_text", "reasoning_text":
			appendParagraph(&texts.summary, text)
		}
	}
}

// appendParagraph appends a paragraph to a text.
func appendParagraph(text *strings.Builder, more string) {
	if text.Len() > 0 && more != "" {
		text.WriteString("\n\n")
	}
	text.WriteString(more)
}

// decodeResponse reads a response in one piece.
func (x *exchange) decodeResponse() (*answer, error) {
	d := decode(x.ctx, x.body)
	w := d.response()
	if err := d.End(); err != nil {
		return nil, x.malformedError("response", err)
	}
	return x.answerOf(&w)
}

// checkResponse returns an error for a response that is not an answer.
func (x *exchange) checkResponse(w *responseWire) error {
	switch {
	case hasError(w.error):
		return x.bodyError(append(append([]byte(`{"error":`), w.error...), '}'))
	case w.status == "failed", w.status == "cancelled":
		return x.newError(CodeTruncated, "the host says that the response has "+w.status)
	case !w.hasOutput:
		return x.newError(CodeEmpty, "the answer has no output")
	}
	return nil
}

// answerOf turns a response into an answer. Its call items are empty: replyItems completes them.
func (x *exchange) answerOf(w *responseWire) (*answer, error) {
	if err := x.checkResponse(w); err != nil {
		return nil, err
	}
	a := &answer{id: w.id, model: w.model, usage: w.usage, finish: FinishStop}
	if w.status == "incomplete" {
		a.finish = FinishLength
		if w.reason == "content_filter" {
			a.finish = FinishContentFilter
		}
	}
	var reasoning []json.RawMessage
	var texts itemTexts
	for i := range w.items {
		switch item := &w.items[i]; item.kind {
		case "message":
			text := wellFormed(item.text)
			texts.text.WriteString(text)
			texts.refusal.WriteString(wellFormed(item.refusal))
			if text != "" {
				a.items = append(a.items, Item{Text: &ItemText{text, item.phase}})
			}
		case "reasoning":
			summary := wellFormed(item.summary)
			appendParagraph(&texts.summary, summary)
			if item.raw != nil {
				reasoning = append(reasoning, item.raw)
				a.items = append(a.items, Item{Raw: item.raw, Summary: summary})
			}
		case "function_call":
			if len(a.calls) == maxCalls {
				return nil, x.newError(CodeMalformed, errManyCalls.Error())
			}
			a.calls = append(a.calls, ToolCall{ID: item.callID, Name: item.name, Arguments: wellFormed(item.arguments)})
			a.items = append(a.items, Item{Call: &ToolCall{}})
		}
	}
	a.text, a.refusal, a.reasoning = texts.text.String(), texts.refusal.String(), texts.summary.String()
	if len(reasoning) > 0 {
		a.details, _ = jsonrpc.Marshal(reasoning) // JSON always marshals
	}
	return a, nil
}

// replyItems returns the items of a reply. calls are the reply's calls, which the items of the answer get in order; nil
// stands for one that was dropped. Without calls, all were dropped.
func (a *answer) replyItems(calls []*ToolCall) (items []Item) {
	if a.stopped {
		return []Item{{Text: &ItemText{Text: a.text}}}
	}
	for _, item := range a.items {
		if item.Call != nil {
			if len(calls) == 0 {
				continue
			}
			item.Call, calls = calls[0], calls[1:]
			if item.Call == nil {
				continue
			}
		}
		items = append(items, item)
	}
	return withoutTrailingReasoning(items)
}

// withoutTrailingReasoning returns items without the reasoning at their end: the host refuses
// reasoning that nothing follows.
func withoutTrailingReasoning(items []Item) []Item {
	n := len(items)
	for n > 0 && items[n-1].Raw != nil {
		n--
	}
	return items[:n]
}
