package record_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

func tools(names ...string) (out []record.OfferedTool) {
	for _, name := range names {
		out = append(out, record.OfferedTool{Server: "files", Tool: name, Name: "files__" + name})
	}
	return out
}

// TestOffered holds that tools are only appended, each once, and stay through a compaction, an end and a new input.
func TestOffered(t *testing.T) {
	s := fold(t, with(begun,
		&record.Offered{Discovery: record.DiscoveryNative, Directory: "files", Tools: tools("b")},
		&record.Called{},
		&record.Responded{Calls: []record.Call{call("1")}},
		&record.Offered{Tools: append(tools("a"), record.OfferedTool{Server: "files", Tool: "b", Def: "later", Name: "b"})},
		&record.Outcome{Call: "1", Result: result("1")},
		&record.TurnEnded{},
		&record.Compacted{Replaced: 3, Messages: []run.Message{run.Text(run.RoleSystem, "All was done.")}},
		&record.Ended{Status: run.StatusFailed},
		&record.Said{Messages: []run.Message{run.Text(run.RoleUser, "again")}},
		&record.Offered{Tools: tools("c")},
	))
	if diff := cmp.Diff(tools("b", "a", "c"), s.Offered); diff != "" || s.Discovery != record.DiscoveryNative || s.Directory != "files" {
		t.Errorf("got %q, %q (-want +got):\n%s", s.Discovery, s.Directory, diff)
	}
	if got := s.OfferedTool("files__a"); got == nil || got.Tool != "a" {
		t.Errorf("got %v", got)
	}
	if got := s.OfferedTool("a"); got != nil {
		t.Errorf("got %v by a name of the server", got)
	}
}

func TestOfferedMisfits(t *testing.T) {
	var many []record.OfferedTool
	for i := range record.MaxOffered + 1 {
		many = append(many, tools(fmt.Sprint(i))...)
	}
	on := with(begun, &record.Offered{Discovery: record.DiscoveryCall, Tools: tools("a")})
	for want, c := range map[string]*record.Offered{
		"already":                     {Discovery: record.DiscoveryNative},
		"two tools":                   {Tools: []record.OfferedTool{{Tool: "b", Name: "files__a"}}},
		"no name":                     {Tools: []record.OfferedTool{{Tool: "b"}}},
		"is not text":                 {Tools: []record.OfferedTool{{Tool: "b", Name: "\xff"}}},
		"more than 100 tools":         {Tools: many},
		"has no name, or a name that": {Tools: []record.OfferedTool{{Name: "b"}}},
	} {
		s := fold(t, on)
		if err := record.Apply(s, record.Entry{Seq: s.Seq + 1, At: start, Change: c}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	s := fold(t, on)
	s.Offered = append(s.Offered, s.Offered...)
	data, err := s.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := new(record.State).UnmarshalJSON(data); err == nil || !strings.Contains(err.Error(), "offered tool") {
		t.Errorf("got %v for a name twice", err)
	}
}
