package compact

import (
	"github.com/mcpchain/mcpchain/agent/internal/returned"
	"github.com/mcpchain/mcpchain/agent/run"
)

// Estimates in tokens: providers count 85 to several thousand for an image, and about ten for a
// second of audio (8 to 192 KiB).
const (
	tokenBytes      = 4
	messageTokens   = 4
	imageTokens     = 2000
	audioTokenBytes = 256
)

// tokensOf estimates the tokens of a message. Reasoning counts only if it is sent back to the provider.
func tokensOf(m *run.Message) int64 {
	tokens := int64(messageTokens)
	bytes := returned.Size(m)
	for i := range m.Parts {
		p := &m.Parts[i]
		tokens += mediaTokens(p)
		for j := range p.Media {
			if p.Media[j].Data != nil { // media that is stored elsewhere is not sent
				tokens += mediaTokens(&p.Media[j])
			}
		}
		if p.Type != run.PartReasoning {
			bytes += len(p.Text) + len(p.ID) + len(p.Name) + len(p.Arguments)
		}
	}
	return tokens + int64(bytes+tokenBytes-1)/tokenBytes
}

func mediaTokens(p *run.Part) int64 {
	switch {
	case p.Type == run.PartImage && (p.Data != nil || p.URL != ""):
		return imageTokens
	case p.Type == run.PartAudio:
		return int64(len(p.Data) / audioTokenBytes)
	}
	return int64(len(p.Data) / tokenBytes)
}

// Estimate returns the approximate tokens of messages: one for 4 bytes, 4 for each message, 2,000 for an
// image, one for 256 bytes of audio. Reasoning counts only if it is sent back to the model's provider.
func Estimate(messages []run.Message) int64 {
	var sum int64
	for i := range messages {
		sum += tokensOf(&messages[i])
	}
	return sum
}

// scale converts estimates to the provider's tokens. If the provider counts more than the
// estimate, the difference comes with every call; if it counts less, its tokens are longer.
type scale struct {
	beside int64   // tokens that come with every call
	factor float64 // the provider's tokens for each estimated one
}

// newScale compares a count with the estimate of the same messages.
func newScale(counted, est int64) scale {
	if counted <= 0 || est <= 0 || counted >= est {
		return scale{max(counted-est, 0), 1}
	}
	return scale{0, float64(counted) / float64(est)}
}

func (s scale) tokens(est int64) int64 { return s.beside + int64(float64(est)*s.factor) }
