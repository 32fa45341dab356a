package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

func (t *trial) ids(q record.Query) (ids []string) {
	t.Helper()
	for _, head := range t.heads(q) {
		ids = append(ids, head.Key.ID)
	}
	return ids
}

func (t *trial) heads(q record.Query) (heads []run.Head) {
	t.Helper()
	for head, err := range t.store.List(t.Context(), q) {
		t.ok(err)
		heads = append(heads, head)
	}
	return heads
}

func (t *trial) state(key run.Key) *ledger.State {
	t.Helper()
	s, err := ledger.StateOf(t.load(key).Records)
	t.ok(err)
	return s
}

func (t *trial) wantList(what string, q record.Query, want ...string) {
	t.Helper()
	if got := t.ids(q); !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func list(t *trial) {
	t.wantList("an empty store", record.Query{AllTenants: true})
	d, lease := t.begin(held, opened("a", "b")...)
	other := begin(run.Key{ID: "other"}, &ledger.Ended{Status: run.StatusFailed})
	other.State.Agent.Name = "other"
	t.create(other, expired)

	t.wantList("all", record.Query{AllTenants: true}, "one", "other")
	t.wantList("of a tenant", record.Query{Tenant: "acme"}, "one")
	t.wantList("of no tenant", record.Query{}, "other")
	t.wantList("of a tenant without runs", record.Query{Tenant: "acm"})
	t.wantList("of an agent", record.Query{AllTenants: true, Agents: []string{"nobody", "other"}}, "other")
	t.wantList("of an agent and a tenant", record.Query{Agents: []string{"helper"}})
	t.wantList("of an id", record.Query{AllTenants: true, ID: "other"}, "other")
	t.wantList("of an id and a tenant", record.Query{Tenant: "acme", ID: "one"}, "one")
	t.wantList("of an id of another tenant", record.Query{Tenant: "acme", ID: "other"})
	t.wantList("of no id", record.Query{AllTenants: true, ID: "on"})
	t.wantList("running", record.Query{AllTenants: true, Status: run.StatusRunning}, "one")
	t.wantList("failed", record.Query{AllTenants: true, Status: run.StatusFailed}, "other")

	t.reply(d, yes("b"))
	for range 2 {
		want := t.load(one).Head
		got := t.heads(record.Query{Tenant: "acme"})
		if string(encode(got)) != string(encode([]run.Head{want})) || want.ReplyCount != 1 || want.Epoch != lease.Epoch {
			t.Errorf("got %s, want %s", encode(got), encode(want))
		}
		t.ok(t.store.Release(t.Context(), lease))
		lease = t.acquire(one, held)
		t.append(lease, d, ledgertest.Note("more"))
	}
}

// listQuestions reads the open questions of runs page by page, and compares them with the heads.
func listQuestions(t *trial) {
	var want []string
	for i := range 7 {
		id := fmt.Sprint("run ", 6-i)
		changes := opened("ask of " + id)
		for range i / 2 {
			changes = append(changes, ledgertest.Note(id))
		}
		if i%3 > 0 {
			changes = append(changes, &ledger.Suspended{})
		}
		t.create(begin(run.Key{Tenant: "acme", ID: id}, changes...), expired)
		t.create(begin(run.Key{Tenant: "acme", ID: "asks nothing " + id}, &ledger.Suspended{}), expired)
	}
	for _, h := range t.heads(record.Query{Tenant: "acme"}) {
		if len(h.QuestionIDs) > 0 {
			want = append(want, h.QuestionIDs[0])
		}
		questions := ledger.HeadOf(t.state(h.Key)).Questions
		if len(h.Questions) > 0 && string(encode(h.Questions)) != string(encode(questions)) {
			t.Errorf("got the questions %s, want %s", h.Questions, questions)
		}
	}
	var got []string
	q := record.Query{Tenant: "acme", Limit: 2}
	for page := len(got); page%q.Limit == 0; page = len(got) {
		for open, err := range record.OpenQuestions(t.Context(), t.store, q) {
			t.ok(err)
			got = append(got, open.Question.ID)
			q.After = &open.Head
		}
		if len(got) == page {
			break
		}
	}
	if len(want) != 7 || !slices.Equal(got, want) {
		t.Errorf("got the questions %q, want the 7 %q", got, want)
	}
}

func listOrder(t *trial) {
	var all []string
	leases, drafts := map[string]record.Lease{}, map[string]*ledgertest.Draft{}
	for i := range 5 {
		id := fmt.Sprint(i)
		drafts[id] = begin(run.Key{ID: id})
		leases[id] = t.create(drafts[id], expired)
		all = append(all, id)
	}
	t.create(begin(run.Key{ID: "9", Tenant: "a"}), expired)
	t.create(begin(run.Key{ID: "0", Tenant: "b"}), expired)
	t.wantList("of one time", record.Query{}, all...)
	t.wantList("of one time, all tenants", record.Query{AllTenants: true}, append(slices.Clone(all), "9", "0")...)
	t.append(leases["3"], drafts["3"], ledgertest.Note("x"))
	t.append(leases["1"], drafts["1"], ledgertest.Note("x"), ledgertest.Note("y"))
	t.wantList("newest first", record.Query{}, "1", "3", "0", "2", "4")
	t.wantList("limited", record.Query{Limit: 2}, "1", "3")
	t.wantList("limited and selected", record.Query{AllTenants: true, Limit: 6, Status: run.StatusRunning}, "1", "3", "0", "2", "4", "9")
	last := t.load(run.Key{ID: "1"}).Head.Updated
	t.wantList("before the last change", record.Query{ChangedBefore: last}, "3", "0", "2", "4")
	t.wantList("before a while", record.Query{ChangedBefore: last.Add(time.Nanosecond), Limit: 2}, "1", "3")
	for i, want := range [][]string{{"1", "3"}, {"0", "2"}, {"4", "9"}, {"0"}, nil} { // the last two are of other tenants
		q := record.Query{AllTenants: true, Limit: 2}
		if i > 0 {
			before := t.heads(record.Query{AllTenants: true, Limit: 2 * i})
			q.After = &before[len(before)-1]
		}
		t.wantList(fmt.Sprint("page ", i), q, want...)
	}
	for _, limit := range []int{9, -1} { // a negative one is none
		t.wantList(fmt.Sprint("limited to ", limit), record.Query{Limit: limit}, "1", "3", "0", "2", "4")
	}
	t.wantList("of a status, without a limit", record.Query{Limit: -1, Status: run.StatusRunning}, "1", "3", "0", "2", "4")
}

func listDue(t *trial) {
	now := time.Now()
	suspended := func(id string, wake time.Time, questions ...string) *ledgertest.Draft {
		d := begin(run.Key{ID: id}, opened(questions...)...)
		d.Add(&ledger.Suspended{Wake: wake})
		return d
	}
	t.create(begin(run.Key{ID: "held"}), held)
	t.create(begin(run.Key{ID: "ran"}), expired)
	t.create(begin(run.Key{ID: "over"}, &ledger.Ended{Status: run.StatusFinished}), expired)
	t.create(suspended("asks", time.Time{}, "a"), expired)
	answered := suspended("answered", time.Time{}, "a")
	t.create(answered, expired)
	t.create(suspended("slept", now.Add(-time.Minute)), expired)
	t.create(suspended("sleeps", now.Add(time.Minute), "a"), expired)
	t.create(suspended("slept, held", now.Add(-time.Minute)), held)

	due := func(at time.Time, want ...string) {
		t.Helper()
		got := t.ids(record.Query{DueAt: at})
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("due: got %q, want %q", got, want)
		}
	}
	due(now, "ran", "slept")
	t.reply(answered, yes("a"))
	due(now, "answered", "ran", "slept")
	due(now.Add(2*time.Minute), "answered", "ran", "sleeps", "slept")
	due(now.Add(2*held), "answered", "held", "ran", "sleeps", "slept", "slept, held")
}

func listDueOrder(t *trial) {
	now := time.Now()
	create := func(id string, changes ...ledger.Change) *ledgertest.Draft {
		d := begin(run.Key{ID: id}, changes...)
		t.create(d, expired)
		return d
	}
	create("new", ledgertest.Note("1"), ledgertest.Note("2"), ledgertest.Note("3"))
	create("old")
	create("as old")
	create("slept long", &ledger.Suspended{Wake: start.Add(-time.Hour)})
	create("slept", &ledger.Suspended{Wake: now.Add(-time.Minute)})
	t.reply(create("answered", append(opened("a"), &ledger.Suspended{Wake: now.Add(time.Hour)})...), yes("a"))

	all := []string{"slept long", "as old", "old", "answered", "new", "slept"}
	for limit := range len(all) + 2 {
		want := all[:min(limit, len(all))]
		if limit == 0 {
			want = all
		}
		t.wantList(fmt.Sprint("due, limited to ", limit), record.Query{DueAt: now, Limit: limit}, want...)
	}
}

// listBody changes the listed runs in the loop, and ends the loop early.
func listBody(t *trial) {
	for i := range 5 {
		t.create(begin(run.Key{ID: fmt.Sprint(i)}), expired)
	}
	seen := 0
	all := t.store.List(t.Context(), record.Query{})
	for head, err := range all {
		t.ok(err)
		lease := t.acquire(head.Key, held)
		d := begin(head.Key)
		t.append(lease, d, ledgertest.Note("x"))
		t.wantLog(d)
		seen++
		if seen == 2 {
			t.ok(t.store.Delete(t.Context(), head.Key))
		}
	}
	if seen != 5 {
		t.Errorf("got %d runs, want 5", seen)
	}
	for range all {
		break
	}
	seen = 0
	for range all { // each range starts afresh
		seen++
	}
	if seen != 4 {
		t.Errorf("got %d runs, want 4", seen)
	}
}
