package record_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/storetest"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

func secret(name string) []byte {
	key := make([]byte, 32)
	var seed [32]byte
	copy(seed[:], name)
	rand.NewChaCha8(seed).Read(key)
	return key
}

func keys(t testing.TB, current string, older ...string) *record.Keys {
	t.Helper()
	secrets := map[string][]byte{current: secret(current)}
	for _, name := range older {
		secrets[name] = secret(name)
	}
	return check.Value(record.NewKeys(current, secrets))(t)
}

func TestNewKeys(t *testing.T) {
	good := secret("a")
	for want, secrets := range map[string]map[string][]byte{
		"has 0 bytes, want 1 to 255":   {"a": good, "": good},
		"has 256 bytes, want 1 to 255": {"a": good, strings.Repeat("a", 256): good},
		`there is no secret "a"`:       {"b": good},
		"has 31 bytes, want 32":        {"a": good[1:]},
		"one byte 32 times":            {"a": good, "zero": make([]byte, 32)},
	} {
		check.Text(t, check.Err(record.NewKeys("a", secrets)), want)
	}
	defer func() { check.Contains(t, "panic of the zero Keys", fmt.Sprint(recover()), "make them with NewKeys") }()
	_, _ = new(record.Keys).Seal(run.Key{ID: "1"}, nil)
}

// TestSecretsAreNotPrinted formats keys.
func TestSecretsAreNotPrinted(t *testing.T) {
	s, k := secret("a"), keys(t, "a")
	text := fmt.Sprintf("%v %+v %#v %d", k, k, k, k)
	for _, form := range []string{fmt.Sprint(s), string(s), fmt.Sprintf("%x", s), fmt.Sprintf("%#v", s), base64.StdEncoding.EncodeToString(s)} {
		check.That(t, !strings.Contains(text, strings.Trim(form, "[]")), "the key is in %s", text)
	}
}

// TestSealedState opens a state in its place, and nowhere else.
func TestSealedState(t *testing.T) {
	key, state := run.Key{Tenant: "acme", ID: "run_1"}, []byte(`{"v":1,"id":"run_1"}`)
	sealed := check.Value(keys(t, "a").Seal(key, state))(t)
	check.Equal(t, "opened", string(check.Value(keys(t, "b", "a").Open(key, sealed))(t)), string(state))
	again, _ := keys(t, "a").Seal(key, state)
	check.That(t, again != sealed, "got the same bytes twice, want others")
	check.That(t, !strings.Contains(sealed, base64.RawURLEncoding.EncodeToString([]byte("run_1"))), "got the run in the clear")
	for n := range sealed {
		check.Is(t, check.Err(keys(t, "a").Open(key, sealed[:n])), record.ErrCorrupt)
	}
	for _, tt := range []struct{ name, tenant, id, sealed string }{
		{"more", "acme", "run_1", sealed + "AAAA"}, {"no base64", "acme", "run_1", "!" + sealed[1:]},
		{"plain JSON", "acme", "run_1", `{"v":1,"id":"run_1"}`}, {"another form", "acme", "run_1", "Ag" + sealed[2:]},
		{"another tenant", "other", "run_1", sealed}, {"another run", "acme", "run_2", sealed},
		{"tenant and run with another border", "acmer", "un_1", sealed},
	} {
		s, err := keys(t, "a").Open(run.Key{Tenant: tt.tenant, ID: tt.id}, tt.sealed)
		check.That(t, s == nil && errors.Is(err, record.ErrCorrupt), "%s: got %v, %v, want %v", tt.name, s, err, record.ErrCorrupt)
	}
	_, err := keys(t, "b").Open(key, sealed)
	check.Is(t, err, record.ErrUnknownKey)
	check.Text(t, err, `"a"`)
	k := check.Value(record.NewKeys("a", map[string][]byte{"a": secret("b")}))(t)
	check.Fails(t, check.Err(k.Open(key, sealed)), "another key of the same name")
}

// TestChangedSeal changes each bit of a sealed state.
func TestChangedSeal(t *testing.T) {
	k, key := keys(t, "a", "b"), run.Key{ID: "run_1"}
	sealed := check.Value(k.Seal(key, []byte(`{"v":1}`)))(t)
	box := check.Value(base64.RawURLEncoding.DecodeString(sealed))(t)
	for i := range len(box) * 8 {
		changed := bytes.Clone(box)
		changed[i/8] ^= 1 << (i % 8)
		check.Fails(t, check.Err(k.Open(key, base64.RawURLEncoding.EncodeToString(changed))), "bit", i)
	}
}

func TestSizeOfASealedState(t *testing.T) {
	key, state := run.Key{ID: "run_1"}, make([]byte, 16<<20+1)
	want := "want at most 16777216"
	check.Text(t, check.Err(keys(t, "a").Seal(key, state)), want, "seal")
	check.Text(t, check.Err(keys(t, "a").Open(key, strings.Repeat("A", 24<<20))), want, "open")
	check.NoError(t, check.Err(keys(t, "a").Open(key, check.Value(keys(t, "a").Seal(key, state[1:]))(t))))
}

// The error of a blob that is too large says how large it is.
func TestSealedBlobTooLarge(t *testing.T) {
	store := record.Sealed(record.NewMemory(), keys(t, "a"))
	_, lease := ledgertest.Create(t, store, run.Key{ID: "one"})
	err := store.PutBlob(t.Context(), lease, "blob", make([]byte, 40<<20))
	check.Is(t, err, record.ErrTooLarge)
	check.Text(t, err, "blob has 41943040 bytes, and may have 33554432")
}

func TestSealedStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) record.Store { return record.Sealed(record.NewMemory(), keys(t, "a")) })
}

// kept stores a run in a sealed store, with a reply that no record has.
func kept(t *testing.T, store record.Store, key run.Key) record.Lease {
	t.Helper()
	changes := everything(t)
	first := *changes[0].(*ledger.Begun)
	first.Tenant, first.ID = key.Tenant, key.ID
	changes[0] = &first
	s, records := draft(changes...)
	lease := check.Value(store.Create(t.Context(), record.Holder{Name: "me", TTL: time.Hour}, ledger.HeadOf(s), records))(t)
	check.Must(t,
		store.Reply(t.Context(), key, []run.Reply{{Question: "ask_8", Action: run.ActionAccept, Content: json.RawMessage(`{"city":"secretville"}`)}}))
	return lease
}

// TestSealedStoreHides searches the store below for text of a run.
func TestSealedStoreHides(t *testing.T) {
	below, key := record.NewMemory(), run.Key{Tenant: "acme", ID: "run_1"}
	store := record.Sealed(below, keys(t, "a"))
	kept(t, store, key)
	log := check.Value(below.Load(t.Context(), key))(t)
	data := check.Value(json.Marshal(log))(t)
	// A shorter word without a character that base64 lacks may be in a ciphertext by chance.
	for _, word := range []string{"requestState", "Book a ", "alice", "allow", "files__read", "task_1", "secretville", "accept", `"said"`} {
		check.That(t, !bytes.Contains(data, []byte(word)), "%q can be read", word)
	}
	check.Text(t, check.Err(ledger.StateOf(log.Records)), "sealed")
	opened := check.Value(store.Load(t.Context(), key))(t)
	s := check.Value(ledger.StateOf(opened.Records))(t)
	want, _ := draft(everything(t)...)
	check.Same(t, "state", textOf(t, s), textOf(t, want))
	check.That(t, len(opened.Replies) == 1 && string(opened.Replies[0].Content) == `{"city":"secretville"}`, "got the answers %v", opened.Replies)
}

func textOf(t *testing.T, s *ledger.State) string {
	t.Helper()
	return string(check.Value(s.MarshalJSON())(t))
}

// TestSealedQuestions searches the heads of the store below for a question, which a list of open questions has.
func TestSealedQuestions(t *testing.T) {
	below, key := record.NewMemory(), run.Key{Tenant: "acme", ID: "run_1"}
	store := record.Sealed(below, keys(t, "a"))
	hides := func() {
		t.Helper()
		n := 0
		for head, err := range below.List(t.Context(), record.Query{AllTenants: true}) {
			data, err2 := json.Marshal(head)
			err := errors.Join(err, err2)
			check.That(t, err == nil && len(head.QuestionIDs) == 1 && !bytes.Contains(data, []byte("secret")), "got the head %s, %v", data, err)
		}
		for open, err := range record.OpenQuestions(t.Context(), store, record.Query{Tenant: "acme"}) {
			check.That(t, err == nil && string(open.Question.Arguments) == `{"secret":1}`,
				"got %+v, %v, want the question", open, err)
			n++
		}
		check.Equal(t, "questions", n, 1)
	}
	keep(t, store, key, "", &ledger.Opened{Question: run.Question{ID: "a", Kind: run.QuestionApproval, Call: "1", Arguments: json.RawMessage(`{"secret":1}`)}})
	hides()
	extend(t, store, key, &ledger.Suspended{})
	hides()
}

// TestTamperedStore moves, changes, adds and removes stored data.
func TestTamperedStore(t *testing.T) {
	below, key := record.NewMemory(), run.Key{Tenant: "acme", ID: "run_1"}
	store := record.Sealed(below, keys(t, "a"))
	kept(t, store, key)
	others := map[string]*record.Log{}
	for name, other := range map[string]run.Key{"run": {Tenant: "acme", ID: "run_2"}, "tenant": {Tenant: "other", ID: "run_1"}, "border": {Tenant: "acmer", ID: "un_1"}} {
		kept(t, store, other)
		log := check.Value(below.Load(t.Context(), other))(t)
		others[name] = log
	}
	_, plain := draft(everything(t)...)
	for _, tt := range []struct {
		name string
		with func(*record.Log)
		want error
	}{
		{"nothing", func(*record.Log) {}, nil},
		{"two records change places", func(l *record.Log) { l.Records[2], l.Records[3] = l.Records[3], l.Records[2] }, record.ErrCorrupt},
		{"two records change places and numbers", func(l *record.Log) {
			l.Records[2].JSON, l.Records[3].JSON = l.Records[3].JSON, l.Records[2].JSON
		}, record.ErrCorrupt},
		{"a record twice", func(l *record.Log) { l.Records[3] = l.Records[2] }, record.ErrCorrupt},
		{"a record has another number", func(l *record.Log) { l.Records[3].Seq = 9 }, record.ErrCorrupt},
		{"the last record is missing", func(l *record.Log) { l.Records = l.Records[:len(l.Records)-1] }, record.ErrCorrupt},
		{"a record of another run", func(l *record.Log) { l.Records[2] = others["run"].Records[2] }, record.ErrCorrupt},
		{"a record of another tenant", func(l *record.Log) { l.Records[2] = others["tenant"].Records[2] }, record.ErrCorrupt},
		{"a record of a name with another border", func(l *record.Log) { l.Records[2] = others["border"].Records[2] }, record.ErrCorrupt},
		{"a record that is not sealed", func(l *record.Log) { l.Records[2] = plain[2] }, record.ErrCorrupt},
		{"an answer of another run", func(l *record.Log) { l.Replies[0] = others["run"].Replies[0] }, record.ErrCorrupt},
		{"an answer to another question", func(l *record.Log) { l.Replies[0].Question = "ask_9" }, record.ErrCorrupt},
		{"an answer that is not sealed", func(l *record.Log) { l.Replies[0] = run.Reply{Question: "ask_8", Action: run.ActionDecline} }, record.ErrCorrupt},
	} {
		log, err := record.Sealed(changed(below, tt.with), keys(t, "a")).Load(t.Context(), key)
		check.That(t, errors.Is(err, tt.want) && (tt.want == nil || log == nil && errors.Is(err, record.ErrCorrupt)),
			"%s: got %v, %v, want %v", tt.name, log, err, tt.want)
	}
}

// TestRecordAsAnswer does not accept a record as the reply to a question with its number.
func TestRecordAsAnswer(t *testing.T) {
	below, key := record.NewMemory(), run.Key{ID: "run_1"}
	s, records := draft(with(begun, &ledger.Opened{Question: run.Question{ID: "1", Kind: run.QuestionURL}})...)
	check.Must(t, check.Err(record.Sealed(below, keys(t, "a")).Create(t.Context(), record.Holder{TTL: time.Hour}, ledger.HeadOf(s), records)))
	moved := changed(below, func(l *record.Log) {
		data := check.Value(l.Records[0].MarshalJSON())(t)
		var r struct{ Data json.RawMessage }
		check.Must(t, json.Unmarshal(data, &r))
		l.Replies = append(l.Replies, run.Reply{Question: "1", Action: "sealed", Content: r.Data})
	})
	check.Is(t, check.Err(record.Sealed(moved, keys(t, "a")).Load(t.Context(), key)), record.ErrCorrupt)
}

// TestKeyRotation reads and continues a run with a new key, and recognizes a reply that was given with the old one.
func TestKeyRotation(t *testing.T) {
	below, key := record.NewMemory(), run.Key{Tenant: "acme", ID: "run_1"}
	lease := kept(t, record.Sealed(below, keys(t, "old")), key)
	both := record.Sealed(below, keys(t, "new", "older", "old"))
	reply := run.Reply{Question: "ask_8", Action: run.ActionAccept, Content: json.RawMessage(`{"city":"secretville"}`), At: start}
	check.NoError(t, both.Reply(t.Context(), key, []run.Reply{reply}), "an equal answer")
	reply.Action = run.ActionDecline
	check.Is(t, both.Reply(t.Context(), key, []run.Reply{reply}), record.ErrReplied, "another answer")
	log := check.Value(both.Load(t.Context(), key))(t)
	s := check.Value(ledger.StateOf(log.Records))(t)
	next := check.Value(s.Add(start, &ledger.Woken{}))(t)
	check.Is(t, both.Append(t.Context(), lease, ledger.HeadOf(s), next, reply), record.ErrReplied, "append with another answer")
	reply.Action = run.ActionAccept
	check.Must(t, both.Append(t.Context(), lease, ledger.HeadOf(s), next, reply))
	check.NoError(t, check.Err(both.Load(t.Context(), key)))
	for _, only := range []string{"old", "new"} {
		_, err := record.Sealed(below, keys(t, only)).Load(t.Context(), key)
		check.That(t, errors.Is(err, record.ErrUnknownKey) && !errors.Is(err, record.ErrCorrupt),
			"with the %s key only: got %v, want %v", only, err, record.ErrUnknownKey)
	}
}

// TestRepliesOfSeveralKeys gives the replies to three questions: the first has a reply under an older key, the
// second has a reply under the present key, and the third has none.
func TestRepliesOfSeveralKeys(t *testing.T) {
	below, key := record.NewMemory(), run.Key{Tenant: "acme", ID: "run_1"}
	old, both := record.Sealed(below, keys(t, "old")), record.Sealed(below, keys(t, "new", "older", "old"))
	keep(t, old, key, "", opens("a", run.QuestionURL), opens("b", run.QuestionURL), opens("c", run.QuestionURL))
	accept := func(question string) run.Reply {
		return run.Reply{Question: question, Action: run.ActionAccept, At: start}
	}
	check.Must(t, old.Reply(t.Context(), key, []run.Reply{accept("a")}))
	check.Must(t, both.Reply(t.Context(), key, []run.Reply{accept("b")}))
	other := accept("b")
	other.Reason = "another"
	for want, replies := range map[error][]run.Reply{
		record.ErrReplied: {accept("a"), other, accept("c")},
		run.ErrNotAsked:   {accept("a"), accept("d")},
	} {
		err := both.Reply(t.Context(), key, replies)
		check.That(t, errors.Is(err, want) && !strings.Contains(err.Error(), "again"), "got %v, want %v", err, want)
	}
	check.Equal(t, "replies after those that were refused", headOf(t, below, key).ReplyCount, 2)
	check.Must(t, both.Reply(t.Context(), key, []run.Reply{accept("a"), accept("b"), accept("c")}))
	check.Equal(t, "replies", len(check.Value(both.Load(t.Context(), key))(t).Replies), 3)
	check.Is(t, check.Err(old.Load(t.Context(), key)), record.ErrUnknownKey)
}

// TestRepliesToClosedQuestions gives a reply of an older key again, after the run has processed it.
func TestRepliesToClosedQuestions(t *testing.T) {
	below, key := record.NewMemory(), run.Key{ID: "run_1"}
	old, both := record.Sealed(below, keys(t, "old")), record.Sealed(below, keys(t, "new", "older", "old"))
	d, lease := ledgertest.Create(t, old, key, ledgertest.Question("a"), ledgertest.Question("b"))
	first, second := run.Reply{Question: "a", Action: run.ActionDecline, At: start}, run.Reply{Question: "b", Action: run.ActionDecline, At: start}
	check.Must(t, old.Reply(t.Context(), key, []run.Reply{first}))
	check.Must(t, d.Append(t.Context(), old, lease, &ledger.Replied{Reply: first}))
	other := first
	other.Action = run.ActionCancel
	check.Is(t, both.Reply(t.Context(), key, []run.Reply{other}), record.ErrReplied)
	check.NoError(t, both.Reply(t.Context(), key, []run.Reply{first, second}), "an equal reply, and the first one to another question")
	check.Equal(t, "replies", headOf(t, below, key).ReplyCount, 1)
}

// TestKeyRotationWithoutTheStore does not report another reply if the store fails during the comparison.
func TestKeyRotationWithoutTheStore(t *testing.T) {
	below, key, broken := record.NewMemory(), run.Key{ID: "run_1"}, errors.New("the disk is gone")
	keep(t, record.Sealed(below, keys(t, "old")), key, "", opens("a", run.QuestionURL))
	reply := run.Reply{Question: "a", Action: run.ActionAccept, At: start}
	check.Must(t, record.Sealed(below, keys(t, "old")).Reply(t.Context(), key, []run.Reply{reply}))
	store := record.Sealed(ledgertest.Watch(below, func(c *ledgertest.Call) error {
		if c.Method == "load" {
			return broken
		}
		return c.Do()
	}), keys(t, "new", "older", "old"))
	err := store.Reply(t.Context(), key, []run.Reply{reply})
	check.That(t, errors.Is(err, broken) && !errors.Is(err, record.ErrReplied), "got %v, want %v", err, broken)
	check.Text(t, err, "give the answer again")
}

// FuzzOpen opens data that was never sealed.
func FuzzOpen(f *testing.F) {
	k := keys(f, "a")
	sealed := check.Value(k.Seal(run.Key{ID: "run_1"}, []byte("{}")))(f)
	f.Add(sealed[:len(sealed)-1])
	f.Add("AQFh" + sealed)
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		data, err := k.Open(run.Key{ID: "run_1"}, text)
		check.Require(t, (data == nil) == (err != nil), "got %q, %v", data, err)
	})
}
