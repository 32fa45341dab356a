package sampling

import (
	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// Usage is what a request has cost so far.
type Usage struct {
	Input, Output int64 // tokens

	// Cost at the prices of the catalogue, zero without them.
	Cost float64

	// Estimated says that the host did not tell, at least for a part.
	Estimated bool
}

func (u Usage) tokens() int64 { return u.Input + u.Output }

func (u Usage) plus(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.Cost + v.Cost, u.Estimated || v.Estimated}
}

// needs is what a request has in it.
type needs struct {
	text   int // bytes, and blockSize for each block
	tools  int
	images int
	audio  int // bytes
}

func needsOf(p *mcpclient.CreateMessageParams) needs {
	n := needs{text: inputSize(p), tools: len(p.Tools)}
	for _, m := range p.Messages {
		n.media(m.Content)
	}
	return n
}

// media moves the images and sounds of a message out of its text.
func (n *needs) media(blocks []mcpclient.Content) {
	for _, c := range blocks {
		switch c := c.(type) {
		case *mcpclient.ImageContent:
			n.images++
			n.text -= len(c.Data)
		case *mcpclient.AudioContent:
			n.audio += len(c.Data)
			n.text -= len(c.Data)
		case *mcpclient.ToolResultContent:
			n.media(c.Content)
		}
	}
}

// Tokens of media; hosts count between 85 and some thousands for an image, and
// for a second of sound about ten, which is between 8 and 192 KiB.
const (
	imageTokens        = 2000
	audioBytesPerToken = 256
	toolTokens         = 64
)

// tokens estimates: a token has about four bytes.
func (n needs) tokens() int64 {
	return int64(n.text/4 + n.images*imageTokens + n.audio/audioBytesPerToken)
}

// most is what the text of a request does not exceed: tokens have a byte at
// least, and what hosts put around a message is within blockSize, around a tool
// within toolTokens.
func (n needs) most() int64 {
	return int64(n.text + n.tools*toolTokens + n.images*imageTokens + n.audio/audioBytesPerToken)
}

// reservation is what a completion may come to.
func reservation(m *Model, req *Request, system string) Usage {
	return m.priced(Usage{
		Input: needsOf(req.Params).most() + int64(len(system)), Output: req.Params.MaxTokens, Estimated: true,
	})
}

func (m *Model) priced(u Usage) Usage {
	if m.Price != nil {
		u.Cost = (float64(u.Input)*m.Price.Input + float64(u.Output)*m.Price.Output) / 1e6
	}
	return u
}

// spent is what a completion came to, by the host's word or else by estimate.
func spent(m *Model, req *Request, system string, reply *chat.Reply) Usage {
	if u := reply.Usage; u != nil {
		return m.counted(u)
	}
	output := len(reply.Text) + len(reply.Refusal) + len(reply.Reasoning)
	for _, call := range reply.ToolCalls {
		output += len(call.Name) + len(call.Arguments)
	}
	return m.priced(Usage{
		Input: needsOf(req.Params).tokens() + int64(len(system)/4), Output: int64(output+3) / 4, Estimated: true,
	})
}

func (m *Model) counted(u *chat.Usage) Usage {
	return m.priced(Usage{Input: int64(u.Prompt), Output: int64(u.Completion)})
}
