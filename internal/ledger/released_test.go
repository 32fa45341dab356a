package ledger_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// The folders of testdata have what each version writes: v1, then v1.1 with members that were added to version 1, and
// so on. The files of a released version never change: this program must always be able to read them. Who raises
// [ledger.Version], or adds members, names the next folder here and writes it:
//
//	go test ./internal/ledger -run TestReleased -add
const present = "../../agent/run/testdata/v1.5"

var add = flag.Bool("add", false, "write testdata of the present version, if it has none")

// TestReleasedVersions reads what each version wrote. The fold of its records is its state,
// with the members that were added since, and every member has kept its meaning.
func TestReleasedVersions(t *testing.T) {
	if *add {
		addVersion(t)
	}
	folders, err := filepath.Glob("../../agent/run/testdata/v*")
	slices.SortFunc(folders, byVersion)
	check.Require(t, err == nil && len(folders) != 0 && folders[len(folders)-1] == present,
		"got the folders %v, %v, want %s as the last one", folders, err, present)
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			folded := check.Value(ledger.Fold(readLog(t, filepath.Join(folder, "run.log"))))(t)
			all := folder == present
			got, want := stateOf(t, folded), stateOf(t, readState(t, filepath.Join(folder, "run.state")))
			check.That(t, (!all || bytes.Equal(got, want)) && has(asJSON(t, got), asJSON(t, want)), "got %s, want %s", got, want)
			for _, r := range readLog(t, filepath.Join(folder, "members.log")) {
				knowsMembers(t, fmt.Sprintf("%T", r.Change), reflect.ValueOf(r.Change), all)
			}
			knowsMembers(t, "State", reflect.ValueOf(readState(t, filepath.Join(folder, "members.state"))), all)
		})
	}
}

// byVersion orders directories by their numbers: v1, v1.1, v1.10, v2.
func byVersion(a, b string) int {
	var versions [2][2]int
	for i, folder := range []string{a, b} {
		_, _ = fmt.Sscanf(filepath.Base(folder), "v%d.%d", &versions[i][0], &versions[i][1]) // v1 has one number
	}
	return slices.Compare(versions[0][:], versions[1][:])
}

// TestPresentVersion reads the directory of the present version and writes the same bytes.
func TestPresentVersion(t *testing.T) {
	for _, name := range []string{"run", "members"} {
		log, state := filepath.Join(present, name+".log"), filepath.Join(present, name+".state")
		check.Equal(t, log, string(logOf(t, readLog(t, log))), string(read(t, log)))
		check.Equal(t, state, string(stateOf(t, readState(t, state))), string(read(t, state)))
	}
}

// TestPresentMembers fails if members were added since the directory of the present version was written.
func TestPresentMembers(t *testing.T) {
	state := new(ledger.State)
	new(filler).fill(reflect.ValueOf(state).Elem(), 0)
	for name, all := range map[string][]byte{"members.log": logOf(t, everyMember()), "members.state": stateOf(t, state)} {
		got := slices.Collect(bytes.Lines(read(t, filepath.Join(present, name))))
		for i, line := range slices.Collect(bytes.Lines(all)) {
			check.Require(t, i < len(got), "got %d lines in %s, want more", len(got), name)
			check.Same(t, name, asJSON(t, unnumbered(got[i])), asJSON(t, unnumbered(line)))
		}
	}
}

// unnumbered removes the numbers of a filler's texts, which follow the order of the fields.
func unnumbered(line []byte) []byte {
	return regexp.MustCompile(`"text \d+"`).ReplaceAll(line, []byte(`"text"`))
}

// has reports whether got contains everything in want.
func has(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		members, ok := got.(map[string]any)
		for name := range want {
			ok = ok && has(members[name], want[name])
		}
		return ok
	case []any:
		elements, ok := got.([]any)
		ok = ok && len(elements) == len(want)
		for i := range want {
			ok = ok && has(elements[i], want[i])
		}
		return ok
	}
	return got == want
}

func asJSON(t *testing.T, data []byte) (v any) {
	t.Helper()
	check.Must(t, json.Unmarshal(data, &v))
	return v
}

// knowsMembers looks for unknown members other than the one called "later". Unless all is true,
// members of structures that were added later may be missing.
func knowsMembers(t *testing.T, path string, v reflect.Value, all bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			knowsMembers(t, path, v.Elem(), all)
		}
	case reflect.Slice:
		for i := range v.Len() {
			knowsMembers(t, fmt.Sprintf("%s[%d]", path, i), v.Index(i), all)
		}
	case reflect.Struct:
		if v.IsZero() && !all {
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Name == "Unknown" {
				check.Equal(t, path, string(v.Field(i).Bytes()), `{"later":1}`)
			} else if f.IsExported() && f.Type.Kind() != reflect.Map {
				knowsMembers(t, path+"."+f.Name, v.Field(i), all)
			}
		}
	}
}

// addVersion writes the directory of the present version.
func addVersion(t *testing.T) {
	check.Must(t, os.Mkdir(present, 0o755)) // the files of a version never change
	members := new(ledger.State)
	new(filler).fill(reflect.ValueOf(members).Elem(), 0)
	log := records(everything...)
	for name, data := range map[string][]byte{
		"run.log": logOf(t, log), "run.state": stateOf(t, fold(t, everything)),
		"members.log": logOf(t, everyMember()), "members.state": stateOf(t, members),
	} {
		check.Must(t, os.WriteFile(filepath.Join(present, name), data, 0o644))
	}
}

// everything is a run that uses every feature, up to some open questions.
var everything = with(begun[:0],
	&ledger.Begun{V: ledger.Version, ID: "run_1", Tenant: "acme", Agent: ledger.AgentName{Name: "helper", Rev: "r1"},
		Messages: []run.Message{run.Text(run.RoleSystem, "Be brief."), run.Text(run.RoleUser, "Book a trip.")},
		Limits:   run.Limits{Turns: 20, Cost: map[string]int64{"USD": 500_000}}, Vars: map[string]json.RawMessage{"lang": json.RawMessage(`"de"`)}, Schema: json.RawMessage(`{"type":"object"}`)},
	&ledger.Noted{Vars: map[string]json.RawMessage{"step": json.RawMessage(`{}`)}, Trace: map[string]string{"traceparent": "00-1-2-01"}},
	&ledger.Offered{Discovery: ledger.DiscoveryNative, Directory: "- files (2 tools)", Tools: []ledger.OfferedTool{{Server: "files", Tool: "read", Def: "d1", Name: "files__read"}}},
	&ledger.Called{Reserved: ledger.Amount{Tokens: 1000, Cost: map[string]int64{"USD": 900}}},
	&ledger.Called{Reserved: ledger.Amount{Tokens: 1000}, Lost: true},
	&ledger.Called{Reserved: ledger.Amount{Tokens: 1000}, Lost: true, Again: true},
	&ledger.Responded{
		Message: run.Message{Role: run.RoleAssistant, Model: "m", At: start, Parts: []run.Part{
			{Type: run.PartReasoning, Text: "hm", Provider: map[string]json.RawMessage{"p": json.RawMessage(`{"signature":"s"}`)}},
			{Type: run.PartCall, ID: "1", Name: "files__read", Arguments: `{}`}, {Type: run.PartCall, ID: "2", Name: "trips__book", Arguments: `{"to":"x"}`},
			{Type: run.PartCall, ID: "3", Name: "reports__make", Arguments: `{}`}, {Type: run.PartCall, ID: "4", Name: "researcher", Arguments: `{}`},
			{Type: run.PartCall, ID: "5", Name: "mail__send", Arguments: `{}`},
		}},
		Calls: []ledger.Call{call("1"), call("2"), call("3"), call("4"), call("5")}, Finish: "tool_calls",
		Usage: run.Usage{Turns: 1, Input: 90, Output: 20, Total: 110, Cached: 10, Reasoning: 5, Cost: map[string]int64{"USD": 230}},
	},
	&ledger.Opened{Question: run.Question{ID: "ask_1", Kind: run.QuestionApproval, Call: "1", Server: "files", Tool: "files__read", Arguments: json.RawMessage(`{}`),
		Definition: &mcp.Tool{Name: "read", InputSchema: json.RawMessage(`{"type":"object"}`)}, Survives: true, Created: start, Expires: start.Add(time.Hour)}},
	&ledger.Suspended{Wake: start.Add(time.Hour)},
	&ledger.Replied{Reply: run.Reply{Question: "ask_1", Action: run.ActionAllow, Arguments: json.RawMessage(`{"path":"/a"}`), Scope: "tool", By: "alice", At: start}},
	&ledger.Woken{},
	&ledger.Decided{Call: "1", Decision: ledger.Decision{Allow: true, Arguments: json.RawMessage(`{"path":"/a"}`), By: "alice"}, Args: json.RawMessage(`{"path":"/a"}`)},
	&ledger.Decided{Call: "2", Decision: ledger.Decision{Allow: true}, Args: json.RawMessage(`{"to":"x"}`)},
	&ledger.Intent{Call: "1"}, &ledger.Intent{Call: "2"}, &ledger.Intent{Call: "3"}, &ledger.Intent{Call: "5"},
	&ledger.Offered{Tools: []ledger.OfferedTool{{Server: "files", Tool: "read", Def: "d1", Name: "files__read"}, {Server: "trips", Tool: "book", Name: "trips__book"}}},
	&ledger.Outcome{Call: "1", Result: run.Part{Type: run.PartResult, ID: "1", Name: "files__read", Text: "text", Structured: json.RawMessage(`{"n":1.50}`),
		Media: []run.Part{{Type: run.PartImage, MIMEType: "image/png", Data: []byte{0, 255}}},
		Kept:  &run.Kept{Handle: "r0123456789abcdef", Tool: "files__read", Kind: "json", Shape: "{}", Size: 9, Digest: "d"}}},
	&ledger.Paused{Call: "2", Round: json.RawMessage(`{"requestState":"<secret>"}`), Replies: map[string]json.RawMessage{"roots": json.RawMessage(`{}`)}},
	&ledger.Opened{Question: run.Question{ID: "ask_2", Kind: run.QuestionForm, Call: "2", ServerKey: "city", Elicit: form(), Survives: true}},
	&ledger.Opened{Question: run.Question{ID: "ask_3", Kind: run.QuestionURL, Call: "2", ServerKey: "pay", Elicit: &mcp.ElicitParams{Mode: mcp.ElicitURL, URL: "https://example.com"}}},
	&ledger.Replied{Reply: run.Reply{Question: "ask_2", Action: run.ActionAccept, Content: json.RawMessage(`{"city":"Köln"}`)},
		Value: json.RawMessage(`{"action":"accept","content":{"city":"Köln","n":3}}`)},
	&ledger.Detached{Call: "3", Task: ledger.Task{ID: "task_1", Expires: start.Add(time.Hour)}},
	nestedIn("4", 1, &ledger.Begun{V: ledger.Version, ID: "run_1/4", Messages: []run.Message{run.Text(run.RoleUser, "look")}}),
	nestedIn("4", 2, &ledger.Called{}),
	nestedIn("4", 3, &ledger.Responded{Calls: []ledger.Call{call("1")}, Usage: run.Usage{Turns: 1, Total: 10}}),
	nestedIn("4", 4, &ledger.Opened{Question: run.Question{ID: "ask_4", Kind: run.QuestionApproval, Call: "1", Path: []string{"researcher"}, Survives: true}}),
	&ledger.Opened{Question: run.Question{ID: "ask_5", Kind: run.QuestionDoubt, Call: "5", Arguments: json.RawMessage(`{}`), Tries: 1, Sent: start, Survives: true}},
	&ledger.Replied{Reply: run.Reply{Question: "ask_5", Action: run.ActionKnown, Reason: "sent"}},
	&ledger.Opened{Question: run.Question{ID: "ask_6", Kind: run.QuestionSampling, Call: "2", ServerKey: "ask", Sampling: &mcp.CreateMessageParams{MaxTokens: 9,
		Messages: []mcp.SamplingMessage{{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: "hi"}}}}}}},
	&ledger.Replied{Reply: run.Reply{Question: "ask_6", Action: run.ActionAllow, By: "alice"}},
	&ledger.Sampled{Call: "2", Key: "ask", Value: json.RawMessage(`{"role":"assistant","content":{"type":"text","text":"hi"},"model":"m"}`)},
	&ledger.Reserved{Key: "a", Amount: ledger.Amount{Tokens: 30}}, &ledger.Reserved{Key: "b", Amount: ledger.Amount{Tokens: 40}},
	&ledger.Charged{Spent: withSampling(run.Usage{Total: 9, Active: time.Second}, 1, 9), Settles: new("a")},
	&ledger.Opened{Question: run.Question{ID: "ask_7", Kind: run.QuestionSignIn, Server: "drive", Survives: true}},
	&ledger.Outcome{Call: "2", Result: result("2")}, &ledger.Outcome{Call: "3", Result: result("3")},
	&ledger.Outcome{Call: "4", Result: result("4")}, &ledger.Outcome{Call: "5", Result: result("5")},
	&ledger.TurnEnded{},
	&ledger.Compacted{Replaced: 2, Messages: []run.Message{{Role: run.RoleSystem, Parts: []run.Part{{Type: run.PartSummary, Text: "A trip."}}}}, Usage: run.Usage{Total: 3}},
	&ledger.Called{Final: "max_turns"},
	&ledger.Responded{Message: run.Text(run.RoleAssistant, "Booked."), Finish: "stop", Usage: run.Usage{Turns: 1, Total: 5}},
	&ledger.Ended{Status: run.StatusFinished, Stop: "max_turns", Output: "Booked.", Structured: json.RawMessage(`{"ok":true}`)},
	&ledger.Said{Messages: []run.Message{run.Text(run.RoleUser, "And back?")}, Limits: run.Limits{Turns: 5}, Schema: json.RawMessage(`{"type":"object"}`)},
	&ledger.Called{},
	&ledger.Responded{Calls: []ledger.Call{call("1"), call("2")}, Usage: run.Usage{Turns: 1, Input: 40, Output: 10, Total: 50, Reasoning: 3}, Size: 120, Estimated: true},
	&ledger.Intent{Call: "1"},
	&ledger.Paused{Call: "1", Round: json.RawMessage(`{"requestState":"s"}`)},
	&ledger.Opened{Question: run.Question{ID: "ask_8", Kind: run.QuestionForm, Call: "1", ServerKey: "city", Elicit: form(), Survives: true}},
	nestedIn("2", 1, &ledger.Begun{V: ledger.Version, ID: "run_1/2"}),
	nestedIn("2", 2, &ledger.Opened{Question: run.Question{ID: "ask_9", Kind: run.QuestionSignIn, Server: "drive"}}),
	&ledger.Suspended{},
)

func nestedIn(call string, seq uint64, c ledger.Change) ledger.Change {
	return &ledger.Nested{Call: call, Record: ledger.Entry{Seq: seq, At: start, Change: c}}
}

// everyMember returns a record of each kind, with a value in each member.
func everyMember() []ledger.Entry {
	changes := []ledger.Change{
		new(ledger.Begun), new(ledger.Said), new(ledger.Called), new(ledger.Responded), new(ledger.Decided), new(ledger.Intent), new(ledger.Paused), new(ledger.Sampled),
		new(ledger.Detached), new(ledger.Outcome), new(ledger.TurnEnded), new(ledger.Offered), new(ledger.Opened), new(ledger.Replied), new(ledger.Compacted),
		new(ledger.Reserved), new(ledger.Charged), new(ledger.Nested), new(ledger.Noted), new(ledger.Suspended), new(ledger.Woken), new(ledger.Ended),
	}
	f := new(filler)
	for _, c := range changes {
		f.fill(reflect.ValueOf(c).Elem(), 0)
	}
	return records(changes...)
}

// filler sets fields, each string to a different one.
type filler struct{ texts int }

// fill sets all fields below v.
func (f *filler) fill(v reflect.Value, depth int) {
	for _, fixed := range []any{
		jsontext.Value(`{"later":1}`), json.RawMessage(`{"a":1.50}`), start, run.StatusWaiting, mcp.CreateMessageParams{MaxTokens: 1},
		records(&ledger.Woken{Unknown: jsontext.Value(`{"later":1}`)})[0], mcp.Tool{Name: "text", InputSchema: json.RawMessage(`{"type":"object"}`)},
	} {
		if reflect.TypeOf(fixed) == v.Type() {
			v.Set(reflect.ValueOf(fixed))
			return
		}
	}
	switch v.Kind() {
	case reflect.String:
		f.texts++
		v.SetString(fmt.Sprint("text ", f.texts))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint64:
		v.SetUint(1)
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if depth > 6 && v.Kind() != reflect.Pointer {
			return
		}
		elem := reflect.New(v.Type().Elem()).Elem()
		f.fill(elem, depth+1)
		switch v.Kind() {
		case reflect.Pointer:
			v.Set(elem.Addr())
		case reflect.Slice:
			v.Set(reflect.Append(reflect.Zero(v.Type()), elem))
		default:
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf("text"), elem)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() { // it is exported
				f.fill(v.Field(i), depth+1)
			}
		}
	}
}

func logOf(t *testing.T, records []ledger.Entry) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, r := range records {
		b.Write(append(check.Value(r.MarshalJSON())(t), '\n'))
	}
	return b.Bytes()
}

func stateOf(t *testing.T, s *ledger.State) []byte {
	t.Helper()
	return append(check.Value(s.MarshalJSON())(t), '\n')
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	return check.Value(os.ReadFile(file))(t)
}

func readLog(t testing.TB, file string) (records []ledger.Entry) {
	t.Helper()
	for line := range bytes.Lines(read(t, file)) {
		var r ledger.Entry
		check.Must(t, json.Unmarshal(line, &r))
		records = append(records, r)
	}
	return records
}

func readState(t testing.TB, file string) *ledger.State {
	t.Helper()
	s := new(ledger.State)
	check.Must(t, json.Unmarshal(read(t, file), s))
	return s
}
