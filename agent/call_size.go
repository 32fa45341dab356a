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
)

// callSize returns the bytes of text of a call, including what its provider gets back.
func callSize(q *model.Request, info *model.Info) int64 {
	size := int64(len(q.System))
	for i := range q.Messages {
		m := &q.Messages[i]
		size += messageBytes + int64(returned.Size(m))
		for j := range m.Parts {
			size += contentSize(&m.Parts[j], info)
		}
	}
	for i := range q.Tools {
		t := &q.Tools[i]
		size += messageBytes + int64(len(t.Name)+len(t.Description)+len(t.Schema))
	}
	return size
}

// contentSize returns the size of a part, without data that only its provider gets. Media count by their tokens.
func contentSize(p *run.Part, info *model.Info) (size int64) {
	switch p.Type {
	case run.PartReasoning:
	case run.PartImage, run.PartAudio, run.PartFile:
		size = media.Tokens(len(p.Data)) * minTokenBytes
	default:
		size = int64(len(p.ID) + len(p.Name) + len(p.Text) + len(p.Arguments))
	}
	for i := range p.Media {
		if media.Accepts(info.Media, p.Media[i].MIMEType) {
			size += contentSize(&p.Media[i], info)
		}
	}
	return size
}
