package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
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

// answer returns the answer of a response.
func (w *responseWire) answer() (*answer, error) {
	switch {
	case hasError(w.error):
		return nil, &Reported{slices.Concat([]byte(`{"error":`), w.error, []byte("}"))}
	case w.status == "failed", w.status == "cancelled":
		return nil, &Error{Code: CodeTruncated, Message: "the host says that the response has " + w.status}
	case !w.hasOutput:
		return nil, &Error{Code: CodeEmpty, Message: "the answer has no output"}
	}
	a := &answer{Reply: Reply{ID: w.id, Model: w.model, Usage: w.usage, Finish: FinishStop}}
	switch {
	case w.status == "incomplete" && w.reason == "content_filter":
		a.Finish = FinishContentFilter
	case w.status == "incomplete":
		a.Finish = FinishLength
	}
	if err := a.setItems(w.items); err != nil {
		return nil, err
	}
	return a, nil
}

// setItems sets the items, and the texts and calls in them. Items of calls are empty until completeItems.
func (a *answer) setItems(items []itemWire) error {
	var reasoning []json.RawMessage
	var texts itemTexts
	for i := range items {
		switch item := &items[i]; item.kind {
		case "message":
			text := wellFormed(item.text)
			texts.text.WriteString(text)
			texts.refusal.WriteString(wellFormed(item.refusal))
			if text != "" {
				a.Items = append(a.Items, Item{Text: &ItemText{text, item.phase}})
			}
		case "reasoning":
			summary := wellFormed(item.summary)
			appendParagraph(&texts.summary, summary)
			if item.raw != nil {
				reasoning = append(reasoning, item.raw)
				a.Items = append(a.Items, Item{Raw: item.raw, Summary: summary})
			}
		case "function_call":
			if len(a.ToolCalls) == maxCalls {
				return errManyCalls
			}
			a.ToolCalls = append(a.ToolCalls, ToolCall{ID: item.callID, Name: item.name, Arguments: wellFormed(item.arguments)})
			a.Items = append(a.Items, Item{Call: &ToolCall{}})
		}
	}
	a.Text, a.Refusal, a.Reasoning = texts.text.String(), texts.refusal.String(), texts.summary.String()
	if len(reasoning) > 0 {
		a.Details, _ = jsonrpc.Marshal(reasoning) // JSON always marshals
	}
	return nil
}

// completeItems sets the items of the calls, in order. nil stands for a call that was dropped; without calls, all were
// dropped.
func (a *answer) completeItems(calls []*ToolCall) {
	if a.Stopped {
		a.Items = []Item{{Text: &ItemText{Text: a.Text}}}
		return
	}
	var items []Item
	for _, item := range a.Items {
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
	a.Items = withoutTrailingReasoning(items)
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
