package service

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/database"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func keepRun(t *testing.T, store record.Store, id string, changes ...ledger.Change) {
	t.Helper()
	begun := &ledger.Begun{ID: id, Tenant: "ada", Agent: ledger.AgentName{Name: "service"}}
	ledgertest.Keep(t, store, ledgertest.Since(time.Now().AddDate(0, -1, 0).UTC(), begun, changes...))
}

// TestOperations runs the commands of the operator's guide, one after the other.
func TestOperations(t *testing.T) {
	text := check.Value(os.ReadFile("../../../../docs/operations.md"))(t)
	dir := t.TempDir()
	t.Chdir(dir)
	db := check.Value(database.Open(t.Context(), "runs.db"))(t)
	t.Cleanup(func() { _ = db.Close() })
	store := db.Runs
	keepRun(t, store, "one", &ledger.Opened{Question: run.Question{ID: "q1", Kind: run.QuestionURL, Survives: true, Elicit: &mcp.ElicitParams{Mode: "url", Message: "pay", URL: "https://pay.test/", ElicitationID: "e"}}}, &ledger.Suspended{})
	keepRun(t, store, "parked", &ledger.Ended{Status: run.StatusFailed, Stop: record.StopParked, Error: "10 processes"})
	says := map[string]string{
		"list": "ada/one ", "show": `"id": "one"`, "answer": "answered ada/one\n", "cancel": "cancelled ada/one\n", "revive": "revived ada/parked\n", "verify": "2 runs, 0 defects\n",
		"delete": "1 run deleted", "prune": "0 runs pruned", "import": "ada/one", "export": "mcpchain_run",
	}
	files, done := regexp.MustCompile(` [<>] (\S+)$`), map[string]bool{}
	for _, line := range strings.Split(string(text), "\n") {
		command, ok := strings.CutPrefix(line, "mcpchain runs ")
		if !ok {
			continue
		}
		command = strings.NewReplacer("ada/RUN", "ada/one", "ada/PARKED", "ada/parked", "ASK", "q1").Replace(command)
		var in bytes.Buffer
		file := files.FindStringSubmatch(command)
		command = files.ReplaceAllString(command, "")
		name, _, _ := strings.Cut(command, " ")
		if name == "import" {
			in.Write(check.Value(os.ReadFile(file[1]))(t))
		}
		var args []string
		for i, part := range strings.Split(command, "'") { // as a shell does
			if i%2 == 1 {
				args = append(args, part)
			} else {
				args = append(args, strings.Fields(part)...)
			}
		}
		var out bytes.Buffer
		status := operate(args, &in, &out)
		check.Require(t, status == 0 && strings.Contains(out.String(), says[name]), "%s: got status %d and %s", line, status, &out)
		if name == "export" {
			check.Must(t, os.WriteFile(filepath.Join(dir, file[1]), out.Bytes(), 0o600))
		}
		done[name] = true
	}
	check.That(t, len(done) == len(says), "the guide has the commands %v, want %d", done, len(says))
	for id, want := range map[string]run.Status{"one": run.StatusCancelled, "parked": run.StatusRunning} {
		log, err := store.Load(t.Context(), run.Key{Tenant: "ada", ID: id})
		check.That(t, err == nil && log.Head.Status == want, "%s: got %+v, %v, want %s", id, log, err, want)
	}
}

// TestWordsOfRuns has the reasons why a command line is refused.
func TestWordsOfRuns(t *testing.T) {
	for line, want := range map[string]string{
		"list x":           "want: mcpchain runs list",
		"show":             "want: mcpchain runs show USER/RUN",
		"answer a/b":       "want: mcpchain runs answer USER/RUN ANSWER",
		"delete -older 0s": "delete needs an -older above 0, such as -older 720h",
		"prune":            "prune needs an -older above 0, such as -older 720h",
		"list -older -5h":  "-older is below 0",
		"list -limit -1":   "-limit is below 0",
		"lst":              `there is no command "lst" (did you mean "list"?)`,
	} {
		_, err := parseRuns(strings.Fields(line), io.Discard)
		check.That(t, err != nil && strings.HasPrefix(err.Error(), want+"; "), "%q: got %v, want %s", line, err, want)
	}
}

// TestRunsCommandLine has mistakes of a command line, and a database with damage.
func TestRunsCommandLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs.db")
	db := check.Value(database.Open(t.Context(), file))(t)
	t.Cleanup(func() { _ = db.Close() })
	missing := filepath.Join(t.TempDir(), "typo.db")
	for line, want := range map[string]int{
		"": 0, "help": 0, "-help": 0, "lists": 2, "show": 2, "show a/b c/d": 2, "list -x": 2, "delete": 2,
		"show one -store FILE": 2, "show a/b -store FILE": 1, "answer a/b yes -store FILE": 2, "list -limit -1 -store FILE": 2,
		"delete -older 1ns -status waiting -store FILE": 2, "delete -older 1ns -status done -store FILE": 0, "verify -store FILE": 0, "list -store mysql://x": 2,
		"list -store MISSING": 2, "verify -store MISSING": 2, "show a/b -store MISSING": 2, "list -store MISSING/": 2,
		"list -status nope -store FILE": 2, "list -status done -store FILE": 0, "list -status= -store FILE": 0,
		"list -older -5h -store FILE": 2, "show a/b -status done -store FILE": 2, "cancel a/b -older 1h -store FILE": 2, "import -user a -store FILE": 2,
	} {
		var out bytes.Buffer
		check.Equal(t, line, operate(strings.Fields(strings.NewReplacer("FILE", file, "MISSING", missing).Replace(line)), new(bytes.Buffer), &out), want)
	}
	check.Is(t, check.Err(os.Stat(missing)), os.ErrNotExist, "a store that was not there")
	keepRun(t, db.Runs, "bad")
	keepRun(t, db.Runs, "good")
	check.Must(t, check.Err(db.Exec(`UPDATE mcpchain_runs SET head = X'7b' WHERE id = 'bad'`)))
	var out bytes.Buffer
	status := operate([]string{"verify", "-store", file}, nil, &out)
	check.That(t, status == 3 && strings.HasPrefix(out.String(), "ada/bad: ") && strings.HasSuffix(out.String(), "2 runs, 1 defect\n") && !strings.Contains(out.String(), "good"), "verify: got status %d and %s", status, &out)
	out.Reset()
	status = operate([]string{"list", "-store", file, "-user", "ada"}, nil, &out)
	check.That(t, status == 0 && strings.Contains(out.String(), "damaged") && strings.Contains(out.String(), "ada/good"), "list: got status %d and %s", status, &out)
	folder := t.TempDir() + "/"
	var kept bytes.Buffer
	check.Equal(t, "export", operate([]string{"export", "ada/good", "-store", file}, nil, &kept), 0)
	for _, line := range []string{"import", "list", "verify"} { // in a folder, too
		out.Reset()
		status := operate([]string{line, "-store", folder}, &kept, &out)
		check.That(t, status == 0 && (line == "verify" || strings.Contains(out.String(), "ada/good")), "%s: got status %d and %s", line, status, &out)
	}
	keepRun(t, db.Runs, "jobs/1")
	for user, id := range map[string]string{"corp/ada": "one", "corp": "ada/one"} {
		begun := &ledger.Begun{ID: id, Tenant: user, Agent: ledger.AgentName{Name: "service"}}
		ledgertest.Keep(t, db.Runs, ledgertest.Since(time.Now().UTC(), begun))
	}
	for line, id := range map[string]string{ // a user or a run may have slashes
		"ada/good": "good", "ada/jobs/1": "jobs/1", "corp/ada/one": "", "corp/ada/one -user corp": "ada/one", "corp/ada/one -user corp/ada": "one", "ada/good -user bob": "",
	} {
		out.Reset()
		status := operate(strings.Fields("show "+line+" -store "+file), nil, &out)
		check.That(t, (status == 0) == (id != "") && strings.Contains(out.String(), fmt.Sprintf(`"id": %q`, id)) == (id != ""), "show %s: got status %d and %s", line, status, &out)
	}
}

// Only import makes a store of what is not one.
func TestRunsNeedStore(t *testing.T) {
	t.Chdir(t.TempDir())
	db := check.Value(sql.Open("sqlite", "other.db"))(t)
	check.Must(t, check.Err(db.Exec("CREATE TABLE t (n)")))
	check.NoError(t, db.Close())
	check.Must(t, os.Mkdir("empty", 0o700))
	check.Must(t, os.WriteFile("empty.db", nil, 0o600))
	check.Must(t, os.WriteFile("sums.json", []byte(`{"servers": {}}`), 0o600))
	for place, want := range map[string]string{
		"empty": "-store: empty is not a store of runs", "empty.db": "-store: empty.db is not a store of runs", "other.db": "-store: other.db is not a store of runs",
		"sums.json": "-store: sums.json is not a SQLite database", "none.db": "-store: there is no none.db",
	} {
		o, err := parseRuns([]string{"verify", "-store", place}, io.Discard)
		check.Must(t, err)
		err = o.execute(t.Context())
		check.Text(t, err, want, place)
		check.Equal(t, "the status", cli.Status(err, io.Discard), 2)
	}
	check.Equal(t, "files in folders", len(check.Value(filepath.Glob("*/*"))(t)), 0)
	raw, err := os.ReadFile("other.db")
	check.That(t, err == nil && !bytes.Contains(raw, []byte("mcpchain")), "got tables of runs in another database, %v", err)
}

// breaks is a store whose list fails after its runs.
type breaks struct{ record.Store }

func (s breaks) List(ctx context.Context, q record.Query) iter.Seq2[run.Head, error] {
	return func(yield func(run.Head, error) bool) {
		for head, err := range s.Store.List(ctx, q) {
			if !yield(head, err) {
				return
			}
		}
		yield(run.Head{}, io.ErrUnexpectedEOF)
	}
}

// A list that fails midway has the runs so far.
func TestBrokenList(t *testing.T) {
	store := record.NewMemory()
	keepRun(t, store, "one")
	var out bytes.Buffer
	o := &operator{store: breaks{store}, query: record.Query{AllTenants: true}, out: &out}
	err := o.list(t.Context())
	check.That(t, errors.Is(err, io.ErrUnexpectedEOF) && strings.Contains(out.String(), "ada/one "), "got %v and %s, want the run and the error", err, &out)
}

// A request is known again after its run has lost its first messages, by a compaction and a pruning.
func TestIdempotencyKeyAfterPrune(t *testing.T) {
	s, _ := assembled(t, settings(t))
	input := &ledger.Begun{ID: "key_1", Tenant: "ada", Agent: ledger.AgentName{Name: "service"}, Messages: []run.Message{run.Text(run.RoleUser, "hi")}, Vars: map[string]json.RawMessage{inputVar: hashOf("hi")}}
	begun := ledgertest.Since(time.Now(), input, &ledger.Compacted{Replaced: 1, Messages: []run.Message{run.Text(run.RoleUser, "(left out)")}})
	begun.Add(check.Value(ledger.NewSnapshot(begun.State))(t), &ledger.Ended{Status: run.StatusFinished})
	check.Must(t, s.store.Release(t.Context(), ledgertest.Keep(t, s.store, begun)))
	n, err := record.Prune(t.Context(), s.store, record.Query{AllTenants: true})
	check.Require(t, n == 1 && err == nil, "got %d pruned, %v", n, err)
	key := run.Key{Tenant: "ada", ID: "key_1"}
	check.NoError(t, s.checkInput(t.Context(), key, "hi"), "the same input")
	refused, ok := errors.AsType[hosting.Refusal](s.checkInput(t.Context(), key, "another"))
	check.That(t, ok && refused.Status == http.StatusUnprocessableEntity, "another input: got %v", refused)
}

// TestListByPages lists runs page by page. Many of them changed at one moment.
func TestListByPages(t *testing.T) {
	var s *service
	p := person{t, start(t, settings(t, "-rate", "600000"), func(made *service) { s = made }), "demo-ada"}
	const runs = 25
	at := time.Now().UTC().Truncate(time.Second)
	var want []string // the newest first
	for i := range runs {
		id, moment := fmt.Sprintf("r%02d", i), at
		want = append(want, id)
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
	asks := func() (listedAndShown [2]int) {
		var list struct{ Runs []rowJSON }
		var one runJSON
		check.Must(t, json.Unmarshal(s.recorded(t, "GET", "http://localhost/runs", "").Body.Bytes(), &list))
		check.Must(t, json.Unmarshal(s.recorded(t, "GET", "http://localhost/runs/one", "").Body.Bytes(), &one))
		return [2]int{list.Runs[0].Asks, len(one.Asks)}
	}
	check.Equal(t, "questions", asks(), [2]int{1, 1})
	check.Must(t, record.Submit(t.Context(), s.store, run.Key{Tenant: "ada", ID: "one"}, run.Reply{Question: "q1", Action: run.ActionAccept}))
	check.Equal(t, "questions with an answer", asks(), [2]int{})
}
