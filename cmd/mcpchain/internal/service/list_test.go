package service

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
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
			code, _ := p.do("GET", fmt.Sprintf("/runs?limit=%d%s", limit, query), "", &list)
			check.Require(t, code == http.StatusOK, "%s: got %d", query, code)
			check.Require(t, len(list.Runs) <= limit && page <= runs, "got %d runs on page %d, want at most %d on %d", len(list.Runs), page, limit, runs)
			for _, r := range list.Runs {
				got = append(got, r.Run)
			}
			if list.Next == "" {
				break
			}
			query = "&before=" + list.Next
		}
		check.That(t, slices.Equal(got, want), "by %d: got %q, want %q", limit, got, want)
	}
	for _, query := range []string{"limit=0", "limit=-1", "limit=1001", "limit=x", "before=x", "before=1", "before=x.r01"} {
		var refused struct{ Error string }
		code, _ := p.do("GET", "/runs?"+query, "", &refused)
		check.That(t, code == http.StatusBadRequest && refused.Error != "", "%s: got %d %q, want 400 with a reason", query, code, refused.Error)
	}
}

// keep has the store keep a run that changed at a time.
func keep(t *testing.T, s *service, key run.Key, at time.Time) {
	t.Helper()
	state := new(ledger.State)
	first := check.Value(state.Add(at, &ledger.Begun{V: ledger.Version, ID: key.ID, Tenant: key.Tenant, Agent: ledger.AgentName{Name: "other"}}))(t)
	check.Must(t, check.Err(s.store.Create(t.Context(), record.Holder{Name: "test", TTL: time.Hour}, ledger.HeadOf(state), first)))
}

// TestAnsweredQuestion has a question whose answer waits for the process that continues the run: it is not open.
func TestAnsweredQuestion(t *testing.T) {
	s, _ := assembled(t, settings(t))
	question := &ledger.Opened{Question: run.Question{ID: "q1", Kind: run.QuestionURL, Survives: true, Elicit: &mcp.ElicitParams{Mode: "url", Message: "pay", URL: "https://pay.test/", ElicitationID: "e"}}}
	keepRun(t, s.store, "one", question, &ledger.Suspended{})
	asks := func() (listed, shown int) {
		for path, read := range map[string]func([]byte) error{
			"/runs": func(body []byte) error {
				var list struct{ Runs []rowJSON }
				err := json.Unmarshal(body, &list)
				listed = list.Runs[0].Asks
				return err
			},
			"/runs/one": func(body []byte) error {
				var v runJSON
				err := json.Unmarshal(body, &v)
				shown = len(v.Asks)
				return err
			},
		} {
			check.Must(t, read(s.recorded(t, "GET", "http://localhost"+path, "").Body.Bytes()))
		}
		return listed, shown
	}
	listed, shown := asks()
	check.That(t, listed == 1 && shown == 1, "got %d and %d questions, want one", listed, shown)
	check.Must(t, record.Submit(t.Context(), s.store, run.Key{Tenant: "ada", ID: "one"}, run.Reply{Question: "q1", Action: run.ActionAccept}))
	listed, shown = asks()
	check.That(t, listed == 0 && shown == 0, "with an answer: got %d and %d questions, want none", listed, shown)
}
