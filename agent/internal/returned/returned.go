// Package returned measures what goes back to the provider of a message.
package returned

import "github.com/mcpchain/mcpchain/agent/run"

// Size returns the size in bytes of what only the message's provider gets back: [run.Part.Provider] and
// the reasoning that belongs to it.
func Size(m *run.Message) int {
	size := 0
	for i := range m.Parts {
		p := &m.Parts[i]
		for _, data := range p.Provider {
			size += len(data)
		}
		if p.Type == run.PartReasoning && len(p.Provider) > 0 {
			size += len(p.Text)
		}
	}
	return size
}
