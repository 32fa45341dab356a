package temporal_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// TestDiscovery lets a worker die before or after any write. What the model has found stays
// found, in order, and a kept result has the same bytes. The model searches twice, calls what it
// found, and reads in its long result.
func TestDiscovery(t *testing.T) {
	var readings strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&readings, "%d: 7 bar\n", i+1)
	}
	var all []adapter.Source
	for i := range 300 {
		about := fmt.Sprintf("Reads the pressure at valve %d, which stands in the long hall behind the plant.", i)
		all = append(all, adapter.Func(fmt.Sprint("valve_", i), about, func(context.Context, struct{}) (string, error) { return readings.String(), nil }, &adapter.FuncOptions{ReadOnly: true}))
	}
	var got string // the tools of the model at the end
	searches := modelFunc(func(r *model.Request) *model.Response {
		last := r.Messages[len(r.Messages)-1].Parts[0].Text
		turn := len(r.Messages) / 2
		call := run.Part{Type: run.PartCall, ID: fmt.Sprint(turn), Name: "search_tools", Arguments: fmt.Sprintf(`{"query":"select:valve_%d"}`, 90-turn)}
		switch turn {
		case 2:
			call.Name, call.Arguments = "valve_89", `{}`
		case 3:
			_, after, _ := strings.Cut(last, `{"handle":"`)
			handle, _, _ := strings.Cut(after, `"`)
			call.Name, call.Arguments = "read_result", fmt.Sprintf(`{"handle":%q,"line":1000,"lines":1}`, handle)
		}
		got = ""
		for _, t := range r.Tools {
			got += t.Name + " "
		}
		if turn > 3 {
			return &model.Response{Message: run.Text(run.RoleAssistant, last)}
		}
		return &model.Response{Message: run.Message{Role: run.RoleAssistant, Parts: []run.Part{call}}}
	})
	dieAtEachWrite(t, searches, adapter.Merge(all...), 8, func(about string, s *ledger.State, d *dying) {
		if got != "search_tools valve_90 valve_89 read_result " || len(s.Kept) != 1 || s.Output != "[lines 1000 to 1000 of 2001]\n1000: 7 bar\n" {
			t.Fatalf("%s: the model has %q, and the run kept %v and answers %q", about, got, s.Kept, s.Output)
		}
		blobs := record.BlobsOf(d.store)
		names, err := blobs.Blobs(t.Context(), key)
		if err != nil || len(names) != 1 || names[0] != s.Kept[0].Handle {
			t.Errorf("%s: got the blobs %q, %v", about, names, err)
		}
		if data, err := blobs.Blob(t.Context(), key, s.Kept[0].Handle); err != nil || string(data) != readings.String() {
			t.Errorf("%s: got other bytes of the result, %v", about, err)
		}
	})
}
