package agent_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
)

// Calls that may change something at one server are sent one after the other. What other
// servers do, and what changes nothing by the word of a trusted server, runs beside them.
func TestWritesAreInOrder(t *testing.T) {
	calls := []struct {
		tool    string
		seconds int
	}{{"a__sleep", 3}, {"a__look", 2}, {"a__sleep", 1}, {"b__sleep", 2}, {"a__look", 2}, {"b__sleep", 1}}
	for name, tt := range map[string]struct {
		trust    adapter.Trust
		parallel bool
		want     []string // when each call is sent
	}{
		"hints are not trusted": {adapter.TrustNone, false, []string{"1 at 0s", "4 at 0s", "6 at 2s", "2 at 3s", "3 at 5s", "5 at 6s"}},
		"hints are trusted":     {adapter.TrustHints, false, []string{"1 at 0s", "2 at 0s", "4 at 0s", "5 at 0s", "6 at 2s", "3 at 3s"}},
		"all in parallel":       {adapter.TrustNone, true, []string{"1 at 0s", "2 at 0s", "3 at 0s", "4 at 0s", "5 at 0s", "6 at 0s"}},
	} {
		synctestRun(t, name, func(t *testing.T) {
			server := func(label string) adapter.Server {
				s := newServer()
				s.AddTool(&sdk.Tool{
					Name: "look", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true},
				}, s.sleep)
				return adapter.Server{Name: label, Transport: s.connect(t), Policy: adapter.Policy{Trust: tt.trust}}
			}
			var asked []run.Part
			for i, c := range calls {
				asked = append(asked, toolCall(fmt.Sprint(i+1), c.tool, fmt.Sprintf(`{"seconds":%d}`, c.seconds)))
			}
			model := play(uses(asked...), says("done"))
			a := withTools(t, model, openAll(t, nil, server("a"), server("b")), &agent.Options{ParallelWrites: tt.parallel})
			start := time.Now()
			var got, results []string
			for e := range each(t, a.Events(t.Context(), human("go"))) {
				switch e := e.(type) {
				case *agent.ToolStart:
					got = append(got, fmt.Sprintf("%s at %v", e.ID, e.Time.Sub(start)))
				case *agent.TurnEnd:
					for _, part := range e.Messages[len(e.Messages)-1].Parts {
						results = append(results, part.ID)
					}
				}
			}
			diff(t, "sent", got, tt.want)
			diff(t, "results", results[:len(calls)], []string{"1", "2", "3", "4", "5", "6"})
		})
	}
}
