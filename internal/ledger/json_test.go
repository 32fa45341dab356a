package ledger_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// TestUnknownMembers keeps members of a later version at every level of a state, also with encoding/json.
func TestUnknownMembers(t *testing.T) {
	const part = `{"type":"result","id":"1","media":[{"type":"image","data":"AAE=","p":1}],"p":{"q":[1.0,"<"]}}`
	const state = `{"v":1,"id":"run_1","agent":{"name":"a","n":1},"seq":1,"status":"running",` +
		`"history":[{"role":"tool","parts":[` + part + `],"m":1}],"model":{"attempt":1,"r":1},` +
		`"calls":[{"id":"1","key":"k","name":"n","asked":"{}","at":"child","approved":{"allow":true,"d":1},"task":{"id":"t","t":1},` +
		`"child":{"v":1,"id":"c","seq":1,"status":"waiting","asks":[{"id":"a","kind":"form","survives":true,"q":1}],"s":2},"result":` + part + `,"c":1}],` +
		`"asks":[{"id":"b","kind":"approval","call":"1","survives":true,"q":1}],"limits":{"turns":2,"l":1},` +
		`"spent":{"turns":1,"sampling":{"requests":1,"r":1},"s":1},"before":{"s":1},"s":1}`
	exact(t, state, new(ledger.State))
	exact(t, part, new(run.Part))
	exact(t, `{"ask":"1","action":"allow","a":1}`, new(run.Reply))
	exact(t, `{"tokens":7,"l":1}`, new(run.Limits))
	exact(t, `{"sampling":{"tokens":7,"r":1},"s":1}`, new(run.Usage))
	exact(t, `{"allow":true,"d":1}`, new(ledger.Decision))
	for _, v := range []any{run.Part{}, run.Message{}, run.Question{}, run.Reply{}, run.Limits{}, run.Usage{},
		ledger.Decision{}, &ledger.State{}, ledger.Entry{Seq: 1, Change: new(ledger.Woken)}} {
		data, err := json.Marshal(v)
		check.That(t, err == nil && !strings.Contains(string(data), "Unknown"), "%T: got %s, %v, want no member Unknown", v, data, err)
	}
}

// TestForeignJSON keeps the JSON of models, servers and people unchanged.
func TestForeignJSON(t *testing.T) {
	for _, raw := range []string{`{}`, `[]`, `""`, `0`, `{"a":1,"a":2}`, `[1.0,1e400]`, deep(990)} {
		exact(t, `{"ask":"1","action":"allow","arguments":`+raw+`,"content":`+raw+`}`, new(run.Reply))
		exact(t, `{"type":"result","structured":`+raw+`,"meta":`+raw+`,"provider":{"x":`+raw+`}}`, new(run.Part))
		for _, data := range []string{
			`"kind":"decided","data":{"call":"1","decision":{"allow":true,"arguments":` + raw + `},"args":` + raw,
			`"kind":"answered","data":{"answer":{"ask":"1","action":"accept"},"value":` + raw,
			`"kind":"ended","data":{"status":"done","output":` + raw,
		} {
			exact(t, `{"seq":1,"at":"2026-11-01T12:00:00Z",`+data+`}}`, new(ledger.Entry))
		}
	}
}

// exact reads text and writes it again.
func exact(t *testing.T, text string, v interface {
	json.Marshaler
	json.Unmarshaler
}) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Errorf("read %.200s: %v", text, err)
		return
	}
	check.Equal(t, "", string(check.Value(v.MarshalJSON())(t)), text)
}

func deep(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// TestDepthOfJSON bounds how deep sub-agents may be nested.
func TestDepthOfJSON(t *testing.T) {
	rec := func(n int) string {
		open := strings.Repeat(`{"seq":1,"at":"2026-11-01T12:00:00Z","kind":"nested","data":{"call":"1","record":`, n)
		return open + `{"seq":1,"at":"2026-11-01T12:00:00Z","kind":"woken","data":{}}` + strings.Repeat("}}", n)
	}
	state := func(n int) string {
		open := strings.Repeat(`{"v":1,"id":"1","seq":0,"status":"running","calls":[{"id":"1","key":"","name":"","asked":"","at":"child","child":`, n)
		return open + `{"v":1,"id":"1","seq":0,"status":"running"}` + strings.Repeat("}]}", n)
	}
	exact(t, rec(ledger.MaxDepth), new(ledger.Entry))
	exact(t, state(ledger.MaxDepth), new(ledger.State))
	want := fmt.Sprintf("nested more than %d deep", ledger.MaxDepth)
	for _, n := range []int{ledger.MaxDepth + 1, 3000} {
		for text, v := range map[string]any{rec(n): new(ledger.Entry), state(n): new(ledger.State)} {
			check.Text(t, json.Unmarshal([]byte(text), v), want, fmt.Sprintf("%T, depth %d", v, n))
		}
	}
}

// TestLaterVersions refuses data of a later version, and names both versions.
func TestLaterVersions(t *testing.T) {
	err := json.Unmarshal([]byte(`{"v":2,"id":"run_1","status":["in","another","shape"]}`), new(ledger.State))
	check.Text(t, err, "version 2, and this program reads versions up to 1")
	for change, want := range map[string]string{
		`"kind":"begun","data":{"v":2,"id":"1"}`:                            "version 2, and this program reads versions up to 1",
		`"kind":"begun","data":{"id":"1"}`:                                  "no version",
		`"v":2,"kind":"begun","data":{"v":1,"id":["in","another","shape"]}`: "version 2, and this program reads versions up to 1",
		`"v":2,"kind":"dreamt","data":{}`:                                   "version 2, and this program reads versions up to 1",
		`"kind":"dreamt","data":{}`:                                         "later version than 1",
	} {
		var r ledger.Entry
		check.Must(t, json.Unmarshal([]byte(`{"seq":1,"at":"2026-11-01T12:00:00Z",`+change+`}`), &r))
		check.Text(t, ledger.Apply(new(ledger.State), r), want, change)
	}
	exact(t, `{"v":2,"seq":1,"at":"2026-11-01T12:00:00Z","kind":"woken","data":{"by":"a bell"}}`, new(ledger.Entry))
}

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// records numbers changes, a second apart.
func records(changes ...ledger.Change) []ledger.Entry {
	out := make([]ledger.Entry, len(changes))
	for i, c := range changes {
		out[i] = ledger.Entry{Seq: uint64(i + 1), At: start.Add(time.Duration(i) * time.Second), Change: c}
	}
	return out
}

// TestLaterVersion keeps records of a later version, and folds none of them.
func TestLaterVersion(t *testing.T) {
	for _, text := range []string{
		`{"seq":1,"at":"2026-11-01T12:00:00Z","kind":"dreamt","data":{"of":[1.0,"<a>"],"b":{}}}`,
		`{"seq":1,"at":"2026-11-01T12:00:00Z","kind":"woken","data":{"by":"a bell"}}`,
		`{"seq":1,"at":"2026-11-01T12:00:00Z","kind":"said","data":{"messages":[{"role":"user","parts":[{"type":"text","text":"hi","tone":1}],"mood":"good"}]}}`,
		`{"seq":1,"at":"2026-11-01T12:00:00Z","kind":"nested","data":{"call":"1","record":{"seq":1,"at":"2026-11-01T12:00:00Z","kind":"dreamt","data":{}}}}`,
	} {
		exact(t, text, new(ledger.Entry))
	}
	later := append(records(begun...), ledger.Entry{Seq: 2, Change: &ledger.Unknown{Kind: "dreamt"}})
	check.Text(t, check.Err(ledger.Fold(later)), "(dreamt): kind is unknown")
	reply := run.Reply{Question: "1", Action: run.ActionAccept, Content: json.RawMessage(`{"a":"<"}`), Unknown: jsontext.Value(`{"mood":"good"}`)}
	data := check.Value(json.Marshal(reply))(t)
	var read run.Reply
	err := json.Unmarshal(data, &read)
	again := check.Value(json.Marshal(read))(t)
	check.That(t, err == nil && bytes.Equal(again, data), "got %s, %v, want %s", again, err, data)
}

// TestLastCall keeps the usage of the last model call, until a compaction or a call that the provider has not counted.
func TestLastCall(t *testing.T) {
	counted := run.Usage{Turns: 1, Input: 90, Output: 20, Total: 110, Reasoning: 5}
	replied := with(called, &ledger.Responded{Usage: counted, Size: 300})
	for name, tt := range map[string]struct {
		changes []ledger.Change
		want    ledger.LastCall
	}{
		"counted":          {replied, ledger.LastCall{Input: 90, Output: 20, Reasoning: 5, Size: 300, Messages: 2}},
		"estimated":        {with(called, &ledger.Responded{Usage: counted, Estimated: true}), ledger.LastCall{Input: 90, Output: 20, Reasoning: 5, Estimated: true, Messages: 2}},
		"during the next":  {with(replied, &ledger.Called{}), ledger.LastCall{Input: 90, Output: 20, Reasoning: 5, Size: 300, Messages: 2}},
		"not counted":      {with(replied, &ledger.Called{}, &ledger.Responded{Size: 400}), ledger.LastCall{}},
		"compacted":        {with(replied, &ledger.Compacted{Replaced: 1}), ledger.LastCall{Input: 90, Output: 20, Reasoning: 5, Size: 300}},
		"with a new input": {with(replied, &ledger.Ended{Status: run.StatusFinished}, &ledger.Said{}), ledger.LastCall{Input: 90, Output: 20, Reasoning: 5, Size: 300, Messages: 2}},
	} {
		check.Same(t, name, fold(t, tt.changes).Last, tt.want)
	}
}

// FuzzRecord reads a record, writes it and reads it again. Apply accepts or refuses it.
func FuzzRecord(f *testing.F) {
	for line := range bytes.Lines(append(read(f, present+"/members.log"), read(f, present+"/run.log")...)) {
		f.Add(bytes.TrimSpace(line))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r, again ledger.Entry
		if json.Unmarshal(data, &r) != nil {
			return
		}
		one := check.Value(r.MarshalJSON())(t)
		check.Must(t, again.UnmarshalJSON(one))
		check.Equal(t, "read and written again", string(check.Value(again.MarshalJSON())(t)), string(one))
		s := new(ledger.State)
		r.Seq = 1
		if ledger.Apply(s, r) == nil {
			check.Must(t, check.Err(reread(s)))
		}
	})
}

// FuzzState reads a state and calls everything that accepts a state from elsewhere.
func FuzzState(f *testing.F) {
	all := append(readLog(f, present+"/members.log"), readLog(f, present+"/run.log")...)
	for i := 0; i < len(all); i += 7 {
		for _, name := range []string{"run", "members"} {
			f.Add(read(f, present+"/"+name+".state"), []byte(`{"ask":"ask_8","action":"accept","content":{"city":"x"}}`), uint(i))
		}
	}
	f.Fuzz(func(t *testing.T, data, reply []byte, next uint) {
		s := new(ledger.State)
		if json.Unmarshal(data, s) != nil {
			return
		}
		check.Must(t, check.Err(reread(s)))
		questions := ledger.Open(s)
		check.Require(t, len(questions) == len(ledger.HeadOf(s).QuestionIDs), "got %d questions, and %d in the head", len(questions), len(ledger.HeadOf(s).QuestionIDs))
		var a run.Reply
		if json.Unmarshal(reply, &a) == nil {
			_ = ledger.CheckReply(s, a, start)
			for _, q := range ledger.Open(s) {
				a.Question = q.ID
				_ = run.CheckReply(q, a, start)
			}
		}
		r := all[next%uint(len(all))]
		r.Seq = s.Seq + 1
		if ledger.Apply(s, r) == nil {
			check.NoError(t, check.Err(reread(s)), r.Change)
		}
	})
}

// FuzzFold changes a byte of a log. If it can be read, it is folded or refused.
func FuzzFold(f *testing.F) {
	log := read(f, present+"/run.log")
	for i := 0; i < len(log); i += 97 {
		f.Add(uint(i), byte('x'), false)
		f.Add(uint(i), byte('"'), true)
	}
	f.Fuzz(func(t *testing.T, at uint, to byte, drop bool) {
		changed := bytes.Clone(log)
		at %= uint(len(log))
		changed[at] = to
		if drop {
			changed = append(changed[:at], changed[at+1:]...)
		}
		if s, err := foldLines(changed); err == nil {
			check.Must(t, check.Err(reread(s)))
		}
	})
}

func foldLines(log []byte) (*ledger.State, error) {
	var records []ledger.Entry
	for line := range bytes.Lines(log) {
		var r ledger.Entry
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	s, err := ledger.Fold(records)
	if s == nil && err == nil {
		return nil, errors.New("no state and no error")
	}
	return s, err
}

// TestFlippedBytes changes and removes each byte of a log. The result is an error or the log of another run.
func TestFlippedBytes(t *testing.T) {
	good := readLog(t, present+"/run.log")
	for i, line := range bytes.Split(bytes.TrimSpace(read(t, present+"/run.log")), []byte("\n")) {
		for at := range line {
			for _, changed := range [][]byte{flip(line, at), append(bytes.Clone(line[:at]), line[at+1:]...)} {
				var r ledger.Entry
				if json.Unmarshal(changed, &r) != nil {
					continue
				}
				records := slices.Clone(good)
				records[i] = r
				if s, err := ledger.Fold(records); err == nil {
					check.NoError(t, check.Err(s.MarshalJSON()), "record", i+1, "byte", at)
				}
			}
		}
	}
}

func flip(data []byte, at int) []byte {
	data = bytes.Clone(data)
	data[at] ^= 1 << (at % 8)
	return data
}
