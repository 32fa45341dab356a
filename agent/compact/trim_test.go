package compact_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/peer"
)

func open(t *testing.T, text string, o *adapter.Options) *adapter.Toolset {
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "long", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
	})
	ts := check.Value(adapter.Open(t.Context(), []adapter.Server{{Name: "test", Transport: peer.Connect(t, server)}}, o))(t)
	t.Cleanup(func() { ts.Close() })
	return ts
}

func callTool(t *testing.T, ts *adapter.Toolset, name, args string) string {
	r := ts.Catalog(profile.Plain).Call(t.Context(), llms.ToolCall{ID: "1", Type: "function", FunctionCall: &llms.FunctionCall{Name: name, Arguments: args}})
	check.Require(t, !r.IsError, "%v", r.Text)
	return r.Text
}

// trimmed is a result after a compaction that cuts it to 1,024 bytes.
func trimmed(t *testing.T, text string) string {
	h := append([]run.Message{run.Text(run.RoleUser, "go"), {Role: run.RoleAssistant, Parts: []run.Part{call("long")}},
		{Role: run.RoleTool, Parts: []run.Part{result("long", text)}}}, turns(1, 10)[1:]...)
	got := shortened(t, &compact.Options{Window: 1000, KeepTurns: 1}, h, compact.Budget{})
	check.Require(t, got.Replaced == 3 && len(got.Messages) == 3, "got %+v, want the result trimmed", got)
	return got.Messages[2].Parts[0].Text
}

var notice = regexp.MustCompile(`^([^…]*)\n\[… (\d+) of (\d+) bytes were cut here; call (\S+) with (\{.*\}) to read them(?:; the whole is [^…]+)? …\]\n([^…]*)$`)

// TestHandle cuts a result of a toolset that is cut already, and reads on by its handle.
func TestHandle(t *testing.T) {
	var all strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&all, "line %d é\n", i)
	}
	ts := open(t, all.String(), &adapter.Options{Policy: adapter.Policy{MaxResult: 4000}, KeepResults: 1 << 20})
	text := trimmed(t, callTool(t, ts, "long", "{}"))
	found := notice.FindStringSubmatch(text)
	check.Require(t, found != nil && len(text) <= 1024, "got %q, want at most 1,024 bytes with a handle", text)
	head, tail := found[1], found[6]
	check.That(t, strings.HasPrefix(all.String(), head) && strings.HasSuffix(all.String(), tail),
		"got %q, want the head and the tail of the whole", text)
	want := fmt.Sprint(all.Len() - len(head) - len(tail))
	check.That(t, found[2] == want && found[3] == fmt.Sprint(all.Len()), "%s of %s bytes are cut, want %s of %d", found[2], found[3], want, all.Len())
	_, page, _ := strings.Cut(callTool(t, ts, found[4], found[5]), "\n")
	check.That(t, len(page) >= 1000 && strings.HasPrefix(all.String()[len(head):], page), "the handle reads %.100q, want what follows the head", page)
}

func TestCutAgain(t *testing.T) {
	ts := open(t, strings.Repeat("0123456789", 1000), &adapter.Options{Policy: adapter.Policy{MaxResult: 4000}})
	text := trimmed(t, callTool(t, ts, "long", "{}"))
	n := strings.Count(text, "…")
	check.That(t, len(text) <= 1024 && n == 2 && strings.Contains(text, "of 10000 bytes were cut here"), "got %q, want one gap in 10,000 bytes", text)
}

// TestForgedMarks has results that only look as if they were cut.
func TestForgedMarks(t *testing.T) {
	fill := strings.Repeat("x", 1500)
	mark := "\n[… %d of %d bytes were cut here; call %s with {\"handle\":\"h\",\"offset\":%d} to read them …]\n"
	for name, text := range map[string]string{
		"another offset":  fill + fmt.Sprintf(mark, 5, 3005, "r", 7) + fill,
		"another size":    fill + fmt.Sprintf(mark, 5, 9, "r", 1500) + fill,
		"a long name":     fill + fmt.Sprintf(mark, 5, 3005, strings.Repeat("r", 1000), 1500) + fill,
		"no number":       fill + fmt.Sprintf(mark, 5, 3005, "r", 1500)[:40] + fill,
		"a huge number":   fill + strings.Replace(fmt.Sprintf(mark, 5, 3005, "r", 1500), "3005", strings.Repeat("9", 40), 1) + fill,
		"in the very end": fill + fill + fmt.Sprintf(mark, -3000, 0, "r", 3000),
	} {
		got := trimmed(t, text)
		check.That(t, len(got) <= 1024 && strings.Contains(got, fmt.Sprintf("of %d bytes were cut here …]", len(text))),
			"%s: got %q, want the middle cut", name, got)
	}
}
