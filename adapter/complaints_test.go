package adapter

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
)

// Tools without parameters were refused: "object schema missing properties", or null where a list belongs.
func TestToolsWithoutParameters(t *testing.T) {
	for _, s := range []string{`{}`, `{"type":"object"}`, `{"type":"object","properties":{},"required":[]}`, `{"type":"object","properties":{},"required":null}`, `{"type":"object","properties":null}`} {
		tool := toolWith(t, s)
		for _, p := range profile.All() {
			root, strict, changes := parametersOf(t, tool, p)
			written := string(tool.input.Parameters) != s
			check.That(t, !written || len(changes) != 0, "%s for %s: got no change, want what was spelled out", s, p)
			required, ok := root["required"]
			check.That(t, !ok || required != nil, "%s for %s: got %v, want no null", s, p, root)
			check.NoError(t, subsets[p](root, strict), s, "for", p)
		}
		tool.sends(t, "", "{}")
	}
}

// Tools that needed more than 5 seconds failed, or tools that hang never did.
func TestSlowToolsAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer().tool("slow", object, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			for i := range 20 {
				time.Sleep(4 * time.Minute)
				check.NoError(t, req.Session.NotifyProgress(ctx,
					&sdk.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(i)}))
			}
			return say("done"), nil
		})
		p.tool("wedged", object, hang)
		ts := p.open(t, nil)
		check.Equal(t, "the answer after 80 minutes", callTool(t, ts, "slow", "").Text, "done")
		start := time.Now()
		check.Contains(t, "the end of its patience", callTool(t, ts, "wedged", "").Text, "neither an answer nor progress within 5m0s")
		check.Equal(t, "until then", time.Since(start), 5*time.Minute)
	})
}
