package talk

import (
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// A server whose list has no end does not fill the memory.
func TestOffersAreBounded(t *testing.T) {
	endless := func(yield func(*mcp.Prompt, error) bool) {
		for yield(&mcp.Prompt{Name: "x"}, nil) {
		}
	}
	all, err := collectEntries(endless, func(p *mcp.Prompt) entry { return entry{name: p.Name} })
	check.Text(t, err, "more than 10000")
	check.Equal(t, "entries", len(all), maxOffers)
}
