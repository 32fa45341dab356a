package ledger_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

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
