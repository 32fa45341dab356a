package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

const (
	maxItems   = 1_024   // items of a response
	maxThought = 1 << 20 // bytes of a reasoning item; a larger one is not kept
)

var errManyItems = fmt.Errorf("the response has more than %d items", maxItems)

// responseWire is a response, in one piece or at the end of a stream.
type responseWire struct {
	replyHead
	status, reason string
	items          []itemWire
	listed         bool // it has an output
}

// itemWire is an item of a response.
type itemWire struct {
	kind, status  string
	text, refusal string
	phase         string
	summary       string // of the reasoning, or the reasoning itself
	callID, name  string
	arguments     string
	raw           json.RawMessage // of a reasoning item
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
			w.items, w.listed = d.items(), true
		}
	}
	return w
}

// responseEvent has the members of all kinds of events that matter here.
type responseEvent struct {
	kind     string
	place    int    // of the item
	piece    string // of a text
	item     itemWire
	response responseWire
}

// responseEvent reads an event of a stream.
func (d *decoder) responseEvent() (e responseEvent) {
	for key := range d.Members {
		switch string(key) {
		case "type":
			e.kind = d.word()
		case "output_index":
			e.place = int(countOf(d.Raw()))
		case "delta":
			e.piece, _ = d.plainString()
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

func (d *decoder) items() (items []itemWire) {
	calls := 0
	for range d.objects {
		if len(items) == maxItems {
			d.Fail(errManyItems)
			break
		}
		item := d.item()
		if item.kind == "function_call" {
			calls++
		}
		if calls > maxCalls {
			d.Fail(errManyCalls)
			break
		}
		items = append(items, item)
	}
	return items
}

func (d *decoder) item() (w itemWire) {
	start := d.Offset()
	var said itemTexts
	for key := range d.Members {
		switch string(key) {
		case "type":
			w.kind = d.word()
		case "status":
			w.status = d.word()
		case "phase":
			w.phase = d.word()
		case "call_id":
			w.callID = d.callID()
		case "name":
			w.name = d.callName()
		case "arguments":
			w.arguments = d.json()
		case "content", "summary":
			d.contents(&said)
		}
	}
	w.text, w.refusal, w.summary = said.text.String(), said.refusal.String(), said.summary.String()
	if w.kind == "reasoning" && d.Err() == nil {
		if raw := bytes.TrimSpace(d.Since(start)); len(raw) <= maxThought {
			w.raw = bytes.Clone(d.keep(raw))
		}
	}
	return w
}

// contents reads the parts of a message or of a reasoning item.
func (d *decoder) contents(said *itemTexts) {
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
			said.text.WriteString(text)
		case "refusal":
			said.refusal.WriteString(text)
		case "summary_text", "reasoning_text":
			paragraph(&said.summary, text)
		}
	}
}

// Summary returns the text of a reasoning item, as far as the host shows it.
func Summary(item json.RawMessage) string {
	d := decode(context.Background(), item)
	if !d.opens('{') {
		return ""
	}
	w := d.item()
	return wellFormed(w.summary)
}

// paragraph appends a paragraph to a text.
func paragraph(text *strings.Builder, more string) {
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
		return nil, x.malformed("response", err)
	}
	return x.response(&w)
}

// response turns a response into an answer. Its call items are completed by settleItems.
func (x *exchange) response(w *responseWire) (*answer, error) {
	switch {
	case hasError(w.error):
		return nil, x.hostError(200, append(append([]byte(`{"error":`), w.error...), '}'))
	case w.status == "failed", w.status == "cancelled":
		return nil, x.newError(CodeTruncated, "the host says that the response has "+w.status)
	case !w.listed:
		return nil, x.newError(CodeEmpty, "the answer has no output")
	}
	a := &answer{id: w.id, model: w.model, usage: w.usage, finish: FinishStop, items: []Item{}}
	if w.status == "incomplete" {
		a.finish = FinishLength
		if w.reason == "content_filter" {
			a.finish = FinishContentFilter
		}
	}
	var reasoning []json.RawMessage
	var said itemTexts
	for i := range w.items {
		switch item := &w.items[i]; item.kind {
		case "message":
			text := wellFormed(item.text)
			said.text.WriteString(text)
			said.refusal.WriteString(wellFormed(item.refusal))
			if text != "" {
				a.items = append(a.items, Item{Text: &ItemText{text, item.phase}})
			}
		case "reasoning":
			paragraph(&said.summary, wellFormed(item.summary))
			if item.raw != nil {
				reasoning = append(reasoning, item.raw)
				a.items = append(a.items, Item{Raw: item.raw})
			}
		case "function_call":
			a.calls = append(a.calls, answerCall{ToolCall: ToolCall{ID: item.callID, Name: item.name, Arguments: wellFormed(item.arguments)}})
			a.items = append(a.items, Item{Call: &ToolCall{}})
		}
	}
	a.text, a.refusal, a.reasoning = said.text.String(), said.refusal.String(), said.summary.String()
	if len(reasoning) > 0 {
		a.details, _ = jsonrpc.Marshal(reasoning) // JSON always marshals
	}
	return a, nil
}

// settleItems sets the items of a reply, with the settled calls. Calls that were dropped have no item.
func settleItems(a *answer, r *Reply) {
	if a.items == nil {
		return
	}
	if a.cut {
		r.Items = []Item{{Text: &ItemText{Text: r.Text}}}
		return
	}
	r.Items = []Item{} // not nil: the reply is of the Responses API
	next := 0
	for _, item := range a.items {
		if item.Call != nil {
			if next == len(a.settled) {
				continue
			}
			call := a.settled[next]
			if next++; call == nil {
				continue
			}
			item.Call = call
		}
		r.Items = append(r.Items, item)
	}
	r.Items = withoutLastThoughts(r.Items)
}

// withoutLastThoughts returns items without the reasoning at their end: the host refuses reasoning that nothing follows.
func withoutLastThoughts(items []Item) []Item {
	n := len(items)
	for n > 0 && items[n-1].Raw != nil {
		n--
	}
	return items[:n]
}
