package storetest

import (
	"encoding/json"
	"strings"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// laterVersion checks that the store keeps records and members of a later version.
func laterVersion(t *trial) {
	later := []string{
		`{"seq":2,"at":"2026-11-01T12:00:01Z","kind":"dreamt","data":{"of":[1.0,1e2,12345678901234567890,"<a>&"],"b":{"z":1,"a":null}}}`,
		`{"seq":3,"at":"2026-11-01T12:00:02.5+01:00","kind":"noted","data":{"vars":{"a":{"z":1,"a":2}},"mood":"<good>"}}`,
		`{"seq":4,"at":"2026-11-01T12:00:03Z","kind":"x","data":"just a text"}`,
	}
	d := begin(one)
	lease := t.create(d, held)
	for _, text := range later {
		var r run.Record
		t.ok(json.Unmarshal([]byte(text), &r))
		d.Records = append(d.Records, r)
		d.State.Seq, d.State.Updated = r.Seq, r.At
		t.ok(t.store.Append(t.Context(), lease, d.Head(), d.Records[r.Seq-1:]))
	}
	t.wantLog(d)
}

func oddTexts(t *trial) {
	d := begin(one, ledgertest.Note("<&>\u2028\x00\n\t\\\"\u007f\U0001f9ea"))
	lease := t.create(d, held)
	t.append(lease, d, &ledger.Called{}, &ledger.Responded{
		Message: run.Message{Role: run.RoleAssistant, Parts: []run.Part{
			{Type: run.PartText, Text: "a\x00b\xffc"},
			{Type: run.PartImage, Data: []byte{0, 255, '\n'}},
			{Type: run.PartReasoning, Provider: map[string]json.RawMessage{"b": json.RawMessage(`"x="`), "a": json.RawMessage(`{"n":1.50}`)}},
		}},
	})
	t.wantLog(d)
	const odd = `{"a":"\ud800","a":"` + "\xff" + `"}` // names twice, and text that is not Unicode
	t.append(lease, d, &ledger.Noted{Vars: map[string]json.RawMessage{"odd": json.RawMessage(odd)}})
	t.wantLog(d)
	t.append(lease, d, &ledger.Opened{Question: run.Question{ID: "q", Kind: run.QuestionForm, Arguments: json.RawMessage(odd)}})
	t.wantLog(d)
	t.wantList("with odd texts", record.Query{AllTenants: true}, one.ID)
	reply := run.Reply{Question: "q", Action: run.ActionAccept, Content: json.RawMessage(odd)}
	t.reply(d, reply)
	t.wantLog(d, reply)
	t.wantSound()
}

func large(t *trial) {
	d := begin(one, ledgertest.Note(strings.Repeat("x", 1<<20)))
	lease := t.create(d, held)
	t.append(lease, d, ledgertest.Note(strings.Repeat(strings.Repeat("x", 1<<10)+"<é>\n", 10<<10)), ledgertest.Note("small"))
	t.append(lease, d, ledgertest.Note("after"))
	t.wantLog(d)
}
