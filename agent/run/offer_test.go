package run_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/agent/run"
)

func tools(names ...string) (out []run.OfferedTool) {
	for _, name := range names {
		out = append(out, run.OfferedTool{Server: "files", Tool: name, Name: "files__" + name})
	}
	return out
}

// TestOffered holds that tools are only appended, each once, and stay through a compaction, an end and a new input.
func TestOffered(t *testing.T) {
	s := fold(t, with(begun,
		&run.Offered{Discovery: run.DiscoveryNative, Directory: "files", Tools: tools("b")},
		&run.Called{},
		&run.Replied{Calls: []run.Call{call("1")}},
		&run.Offered{Tools: append(tools("a"), run.OfferedTool{Server: "files", Tool: "b", Def: "later", Name: "b"})},
		&run.Outcome{Call: "1", Result: result("1")},
		&run.TurnEnded{},
		&run.Compacted{Replaced: 3, Messages: []run.Message{run.Text(run.RoleSystem, "All was done.")}},
		&run.Ended{Status: run.StatusFailed},
		&run.Said{Messages: []run.Message{run.Text(run.RoleUser, "again")}},
		&run.Offered{Tools: tools("c")},
	))
	if diff := cmp.Diff(tools("b", "a", "c"), s.Offered); diff != "" || s.Discovery != run.DiscoveryNative || s.Directory != "files" {
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
	var many []run.OfferedTool
	for i := range run.MaxOffered + 1 {
		many = append(many, tools(fmt.Sprint(i))...)
	}
	on := with(begun, &run.Offered{Discovery: run.DiscoveryCall, Tools: tools("a")})
	for want, c := range map[string]*run.Offered{
		"already":                  {Discovery: run.DiscoveryNative},
		"two tools":                {Tools: []run.OfferedTool{{Tool: "b", Name: "files__a"}}},
		"no name":                  {Tools: []run.OfferedTool{{Tool: "b"}}},
		"is no text":               {Tools: []run.OfferedTool{{Tool: "b", Name: "\xff"}}},
		"more than 100 tools":      {Tools: many},
		"has no name, or one that": {Tools: []run.OfferedTool{{Name: "b"}}},
	} {
		s := fold(t, on)
		if err := run.Apply(s, run.Record{Seq: s.Seq + 1, At: start, Change: c}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	s := fold(t, on)
	s.Offered = append(s.Offered, s.Offered...)
	data, err := s.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := new(run.State).UnmarshalJSON(data); err == nil || !strings.Contains(err.Error(), "offered tool") {
		t.Errorf("got %v for a name twice", err)
	}
}
