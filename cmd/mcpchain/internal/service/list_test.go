package service

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// TestListByPages lists runs page by page. Many of them changed at one moment.
func TestListByPages(t *testing.T) {
	var s *service
	p := person{t, start(t, settings(t, "-rate", "600000"), func(made *service) { s = made }), "demo-ada"}
	const runs = 25
	at := time.Now().UTC().Truncate(time.Second)
	var want []string // the newest first
	for i := range runs {
		want = append(want, fmt.Sprintf("r%02d", i))
	}
	for i, id := range want {
		moment := at
		if i < 5 {
			moment = at.Add(time.Duration(5-i) * time.Nanosecond)
		}
		if i >= 20 {
			moment = at.Add(-time.Duration(i) * time.Second)
		}
		keep(t, s, run.Key{Tenant: "ada", ID: id}, moment)
		keep(t, s, run.Key{Tenant: "bob", ID: id}, moment)
	}
	for _, limit := range []int{1, 3, 24, 25, maxListed} {
		var got []string
		var list struct {
			Runs []struct{ Run string }
			Next string
		}
		for page, query := 1, ""; ; page++ {
			list.Next, list.Runs = "", nil
			if code, _ := p.do("GET", fmt.Sprintf("/runs?limit=%d%s", limit, query), "", &list); code != http.StatusOK {
				t.Fatalf("%s: got %d", query, code)
			}
			if len(list.Runs) > limit || page > runs {
				t.Fatalf("got %d runs on page %d, want at most %d on %d", len(list.Runs), page, limit, runs)
			}
			for _, r := range list.Runs {
				got = append(got, r.Run)
			}
			if list.Next == "" {
				break
			}
			query = "&before=" + list.Next
		}
		if !slices.Equal(got, want) {
			t.Errorf("by %d: got %q, want %q", limit, got, want)
		}
	}
	for _, query := range []string{"limit=0", "limit=-1", "limit=1001", "limit=x", "before=x", "before=1", "before=x.r01"} {
		var refused struct{ Error string }
		if code, _ := p.do("GET", "/runs?"+query, "", &refused); code != http.StatusBadRequest || refused.Error == "" {
			t.Errorf("%s: got %d %q, want 400 with a reason", query, code, refused.Error)
		}
	}
}

// keep has the store keep a run that changed at a time.
func keep(t *testing.T, s *service, key run.Key, at time.Time) {
	t.Helper()
	state := new(ledger.State)
	first, err := state.Add(at, &ledger.Begun{V: ledger.Version, ID: key.ID, Tenant: key.Tenant, Agent: ledger.AgentName{Name: "other"}})
	check.Must(t, err)
	check.Must(t, check.Err(s.store.Create(t.Context(), record.Holder{Name: "test", TTL: time.Hour}, ledger.HeadOf(state), first)))
}
