package agent

import (
	"github.com/mcpchain/mcpchain/agent/internal/media"
	"github.com/mcpchain/mcpchain/agent/internal/returned"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
)

const (
	minTokenBytes = 2  // a token has three or four bytes of prose, and about two of digits and dense scripts
	messageBytes  = 16 // what a message or a tool adds to its text
	estimateError = 15 // percent that an estimate of [model.Tokens] may be too low
)

// inputTokens returns a cautious estimate of the input tokens of a call: the count or estimate for the
// last call plus what was added since. Before the first call, and if the call has become shorter, it
// is an estimate with its error added.
func (d *dialog) inputTokens(q *model.Request) int64 {
	size := d.callSize(q)
	if last := d.rec.state.Last; last.Input > 0 && last.Size > 0 && size >= last.Size {
		return last.Input + (size-last.Size+minTokenBytes-1)/minTokenBytes
	}
	estimate := model.Tokens(q, &d.agent.info)
	return estimate + estimate*estimateError/100
}

// callSize returns the bytes of text of a call, including what its provider gets back.
func (d *dialog) callSize(q *model.Request) int64 {
	size := int64(len(q.System))
	for i := range q.Messages {
		m := &q.Messages[i]
		size += messageBytes + int64(returned.Size(m))
		for j := range m.Parts {
			size += d.contentSize(&m.Parts[j])
		}
	}
	for i := range q.Tools {
		t := &q.Tools[i]
		size += messageBytes + int64(len(t.Name)+len(t.Description)+len(t.Schema))
	}
	return size
}

// contentSize returns the size of a part, without data that only its provider gets. Media count by their tokens.
func (d *dialog) contentSize(p *run.Part) (size int64) {
	switch p.Type {
	case run.PartReasoning:
	case run.PartImage, run.PartAudio, run.PartFile:
		size = media.Tokens(len(p.Data)) * minTokenBytes
	default:
		size = int64(len(p.ID) + len(p.Name) + len(p.Text) + len(p.Arguments))
	}
	for i := range p.Media {
		if media.Accepts(d.agent.info.Media, p.Media[i].MIMEType) {
			size += d.contentSize(&p.Media[i])
		}
	}
	return size
}
