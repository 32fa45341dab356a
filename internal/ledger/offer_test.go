package ledger_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

func tools(names ...string) (out []ledger.OfferedTool) {
	for _, name := range names {
		out = append(out, ledger.OfferedTool{Server: "files", Tool: name, Name: "files__" + name})
	}
	return out
}

// TestOffered checks that tools are only appended, each once, and survive a compaction, an end
// and a new input.
func TestOffered(t *testing.T) {
	s := fold(t, with(begun,
		&ledger.Offered{Discovery: ledger.DiscoveryNative, Directory: "files", Tools: tools("b")},
		&ledger.Called{},
		&ledger.Responded{Calls: []ledger.Call{call("1")}},
		&ledger.Offered{Tools: append(tools("a"), ledger.OfferedTool{Server: "files", Tool: "b", Def: "later", Name: "b"})},
		&ledger.Outcome{Call: "1", Result: result("1")},
		&ledger.TurnEnded{},
		&ledger.Compacted{Replaced: 3, Messages: []run.Message{run.Text(run.RoleSystem, "All was done.")}},
		&ledger.Ended{Status: run.StatusFailed},
		&ledger.Said{Messages: []run.Message{run.Text(run.RoleUser, "again")}},
		&ledger.Offered{Tools: tools("c")},
	))
	if diff := cmp.Diff(tools("b", "a", "c"), s.Offered); diff != "" || s.Discovery != ledger.DiscoveryNative || s.Directory != "files" {
		t.Errorf("got %q, %q (-want +got):\n%s", s.Discovery, s.Directory, diff)
	}
}

func TestOfferedMisfits(t *testing.T) {
	var many []ledger.OfferedTool
	for i := range ledger.MaxOffered + 1 {
		many = append(many, tools(fmt.Sprint(i))...)
	}
	on := with(begun, &ledger.Offered{Discovery: ledger.DiscoveryCall, Tools: tools("a")})
	for want, c := range map[string]*ledger.Offered{
		"already":                     {Discovery: ledger.DiscoveryNative},
		"two tools":                   {Tools: []ledger.OfferedTool{{Tool: "b", Name: "files__a"}}},
		"no name":                     {Tools: []ledger.OfferedTool{{Tool: "b"}}},
		"is not text":                 {Tools: []ledger.OfferedTool{{Tool: "b", Name: "\xff"}}},
		"more than 100 tools":         {Tools: many},
		"has no name, or a name that": {Tools: []ledger.OfferedTool{{Name: "b"}}},
	} {
		s := fold(t, on)
		if err := ledger.Apply(s, ledger.Entry{Seq: s.Seq + 1, At: start, Change: c}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	s := fold(t, on)
	s.Offered = append(s.Offered, s.Offered...)
	data, err := s.MarshalJSON()
	check(t, err)
	if err := new(ledger.State).UnmarshalJSON(data); err == nil || !strings.Contains(err.Error(), "offered tool") {
		t.Errorf("got %v for a name twice", err)
	}
}
