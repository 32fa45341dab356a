package storetest

import (
	"encoding/json"
	"strings"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// keys checks that keys are distinct that a file system or a database might confuse, or take
// for a place outside the store.
func keys(t *trial) {
	names := []string{
		"a", "A", "a.", "a ", " a", "../x", "a/b", `a\b`, "a:b", "/", ".", "..", "-", "*", "%41", "a%", "a_", "con", "NUL", "a.jsonl",
		"'; DROP TABLE runs; --", `"`, "\n", "\t", "\x7f", "é", "e\u0301", "É", "ß", "ss", "日本", "\U0001f3f4", "\u200b", "\ufeff",
		strings.Repeat("a", 1<<10), strings.Repeat("a", 1<<10-1) + "b", strings.Repeat("é", 1<<9),
	}
	var all []*ledgertest.Draft
	for _, name := range names {
		all = append(all, begin(run.Key{ID: name}, opened(name)...), begin(run.Key{Tenant: name, ID: "a"}, opened(name)...))
	}
	all = append(all, begin(run.Key{Tenant: "a", ID: "b/c"}, opened("1")...), begin(run.Key{Tenant: "a/b", ID: "c"}, opened("2")...))
	all = append(all, begin(run.Key{Tenant: "ab", ID: "c"}, opened("3")...), begin(run.Key{Tenant: "a", ID: "bc"}, opened("4")...))
	for _, d := range all {
		t.create(d, expired)
		t.reply(d, yes(d.Head().QuestionIDs[0]))
	}
	for _, d := range all {
		t.wantLog(d, yes(d.Head().QuestionIDs[0]))
		lease := t.acquire(draftKey(d), expired)
		t.append(lease, d, ledgertest.Note(draftKey(d).Tenant))
	}
	for _, d := range all {
		t.wantLog(d, yes(d.Head().QuestionIDs[0]))
	}
	if got := len(t.ids(record.Query{AllTenants: true})); got != len(all) {
		t.Errorf("got %d runs in the list, want %d", got, len(all))
	}
	for i, d := range all {
		t.ok(t.store.Delete(t.Context(), draftKey(d)))
		t.wantNone(draftKey(d))
		if i+1 < len(all) {
			t.wantLog(all[i+1], yes(all[i+1].Head().QuestionIDs[0]))
		}
	}
}

func keysRefused(t *trial) {
	for _, key := range []run.Key{
		{}, {Tenant: "a"}, {ID: "a\x00"}, {ID: "\xff"}, {ID: "a", Tenant: "\x00"}, {ID: "a", Tenant: "\xff"},
		{ID: strings.Repeat("a", 1<<10+1)}, {ID: "a", Tenant: strings.Repeat("a", 1<<10+1)},
	} {
		d := begin(key)
		if t.createError(d) == nil {
			t.Errorf("got no error for the key %.20q", key)
		}
		t.wantNone(key)
		t.wantError("acquire", t.acquireError(key), record.ErrNotFound)
		t.ok(t.store.Delete(t.Context(), key))
	}
	t.wantList("after all", record.Query{AllTenants: true})
}

// tenants checks that runs of different tenants with the same id are distinct.
func tenants(t *trial) {
	mine, theirs := begin(run.Key{Tenant: "mine", ID: "1"}, opened("a")...), begin(run.Key{Tenant: "theirs", ID: "1"}, opened("a")...)
	lease := t.create(mine, held)
	t.wantNone(draftKey(theirs))
	t.create(theirs, held)
	t.reply(mine, yes("a"))
	t.wantLog(theirs)
	t.append(lease, mine, ledgertest.Note("x"))
	t.wantLog(theirs)
	records := theirs.Add(ledgertest.Note("y"))
	forged := record.Lease{Key: draftKey(mine), Epoch: lease.Epoch}
	if err := t.store.Append(t.Context(), forged, theirs.Head(), records); err == nil {
		t.Error("got no error for the lease of another tenant")
	}
	t.wantLog(mine, yes("a"))
	t.ok(t.store.Delete(t.Context(), draftKey(theirs)))
	t.wantLog(mine, yes("a"))
}

// laterVersion checks that the store keeps records and members of a later version.
func laterVersion(t *trial) {
	later := []string{
		`{"seq":2,"at":"2026-11-01T12:00:01Z","kind":"dreamt","data":{"of":[1.0,1e2,12345678901234567890,"<a>&"],"b":{"z":1,"a":null}}}`,
		`{"seq":3,"at":"2026-11-01T12:00:02.5+01:00","kind":"noted","data":{"vars":{"a":{"z":1,"a":2}},"mood":"<good>"}}`,
		`{"seq":4,"at":"2026-11-01T12:00:03Z","kind":"x","data":"just a text"}`,
	}
	d, lease := t.begin(held)
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
	d, lease := t.begin(held, ledgertest.Note("<&>\u2028\x00\n\t\\\"\u007f\U0001f9ea"))
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
	d, lease := t.begin(held, ledgertest.Note(strings.Repeat("x", 1<<20)))
	t.append(lease, d, ledgertest.Note(strings.Repeat(strings.Repeat("x", 1<<10)+"<é>\n", 10<<10)), ledgertest.Note("small"))
	t.append(lease, d, ledgertest.Note("after"))
	t.wantLog(d)
}
