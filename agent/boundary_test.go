package agent_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// A run whose process is killed before or after any of its writes ends as an undisturbed one does: in another process, with
// each effect once, and each question put once. The run has each feature: approval, edit, form, URL, sampling with and
// without a review, task, parallel calls, sub-agent, stop, sign-in, compaction, handoff, structured answer. Only a call of a
// tool without keys that was under way may be in doubt: the history says so, or the person is asked.
func TestEveryBoundary(t *testing.T) {
	all := newWorlds(t)
	want := all.run(t, "undisturbed", life{}, life{})
	if t.Failed() {
		return
	}
	check.Same(t, "calls in doubt of the undisturbed run", len(want.doubts)+want.doubted, 0)
	for _, said := range []string{
		`\"by\":\"Ann\"`, "name:", "pay:", "roses", "helped: ", "stopped: did", `"archived":`, `"output":{"city":"Oslo","degree":7}`,
	} {
		check.Contains(t, "the undisturbed run", want.state, said)
	}
	check.Same(t, "questions of the undisturbed run", len(want.questions), 9)
	check.Same(t, "effects of the undisturbed run", slices.Sorted(maps.Values(want.effects)), slices.Repeat([]int{1}, 16))
	step := testenv.Step(11)
	boundaries := make([]bool, 2*maxWrites)
	var doubts, doubted atomic.Int64
	sixAtATime((len(boundaries)+6)/step, func(i int) {
		i *= step
		first := life{At: i/2 + 1, Keep: i%2 == 1, By: []string{"", "recover", "advance"}[i%3]}
		next := life{By: first.By}
		if repeated := i - len(boundaries); repeated >= 0 { // each process is killed
			first.At = 5 + 2*(repeated/2)
			next = first
		}
		name := fmt.Sprintf("%d: write %d kept %v", i, first.At, first.Keep)
		got := all.run(t, name, first, next)
		if t.Failed() {
			return
		}
		if i < len(boundaries) {
			boundaries[i] = got.lives > 1
		}
		doubts.Add(int64(len(got.doubts)))
		doubted.Add(int64(got.doubted))
		check.Same(t, name+": state", got.state, want.state)
		check.Same(t, name+": effects", got.effects, want.effects)
		check.Same(t, name+": questions", got.questions, want.questions)
	})
	n := len(slices.DeleteFunc(boundaries, func(killed bool) bool { return !killed }))
	within(t, "boundaries at which the run was killed", n, 180/step, 2*maxWrites-1)
	check.That(t, step != 1 || doubts.Load() != 0 && doubted.Load() != 0,
		"the model was told of %d calls in doubt, and the person asked about %d; want both", doubts.Load(), doubted.Load())
}

func sixAtATime(n int, body func(i int)) {
	free := make(chan struct{}, 6)
	var running sync.WaitGroup
	for i := range n {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			body(i)
		})
	}
	running.Wait()
}

// A run at a limit of its tokens, sub-agents included, ends in the same way if its process is
// killed. A model call that was lost with its process may have used what was reserved for it:
// the limit is reached earlier then, perhaps with nothing left for an answer, and never exceeded.
func TestEveryBoundaryAtALimit(t *testing.T) {
	all := newWorlds(t)
	limited := life{Limit: 4000}
	want := all.run(t, "undisturbed", limited, limited)
	if t.Failed() {
		return
	}
	last := want.last
	check.Require(t, last.Stop == "max_tokens" && last.Output == "enough" && last.Spent.Calls >= 6 && last.Spent.Lost <= 0,
		"the undisturbed run ends at %q with %q, after %+v", last.Stop, last.Output, last.Spent)
	const most = 80
	step := testenv.Step(7)
	var killed, lost atomic.Int64
	sixAtATime(most/step, func(i int) {
		i *= step
		first := limited
		first.At, first.Keep = i/2+1, i%2 == 1
		name := fmt.Sprintf("%d: write %d kept %v", i, first.At, first.Keep)
		got := all.run(t, name, first, limited)
		if t.Failed() {
			return
		}
		killed.Add(int64(got.lives - 1))
		if got.last.Spent.Lost == 0 {
			check.Same(t, name+": state", got.state, want.state)
			check.Same(t, name+": effects", got.effects, want.effects)
			return
		}
		lost.Add(1)
		if answered := got.last.Output == last.Output; got.last.Stop != last.Stop || !answered && !strings.Contains(got.last.Error, tooLittle) {
			t.Errorf("%s: the run ends at %q with %q and the error %q", name, got.last.Stop, got.last.Output, got.last.Error)
		}
		if taken := got.last.Taken().Tokens; taken > limited.Limit || got.last.Spent.LostTokens == 0 || got.last.Spent.Calls > last.Spent.Calls {
			t.Errorf("%s: %d tokens of %d are taken, by %+v", name, taken, limited.Limit, got.last.Spent)
		}
		for n, times := range got.effects {
			check.That(t, times == 1 && want.effects[n] == 1, "%s: %s was done %d times, and %d times without the kill", name, n, times, want.effects[n])
		}
	})
	within(t, "boundaries at which the run was killed", int(killed.Load()), 30/step, most-1)
	within(t, "model calls that were lost", lost.Load(), 1, most)
}

const maxWrites = 120

type ending struct {
	state     string
	effects   map[string]int
	questions []string
	doubts    map[string]bool // calls that the model is told of
	doubted   int             // questions about others
	lives     int
	last      *ledger.State
}

// run has a process work on a run of its own, and others when it has been killed, until the run is over.
func (s *worlds) run(t *testing.T, name string, first, next life) *ending {
	id, _, _ := strings.Cut(name, ":")
	w, dir := s.of(id), t.TempDir()
	store, err := filestore.Open(dir, nil)
	if err != nil {
		t.Error(err)
		return nil
	}
	got := &ending{doubts: map[string]bool{}}
	for l := first; ; l = next {
		l.Dir, l.URL = dir, s.url+"/"+id
		got.lives++
		killed, err := l.spawn(t.Context())
		if err == nil && killed {
			err = afterDeath(t.Context(), store, got.doubts)
		}
		if err != nil || got.lives > 100 {
			t.Errorf("%s, process %d: %v", name, got.lives, err)
			return nil
		}
		if !killed {
			break
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var told int
	if got.last, err = folded(t.Context(), store); err != nil {
		t.Errorf("%s: %v", name, err)
		return nil
	}
	got.state, told, err = masked(t.Context(), store)
	check.That(t, err == nil && told == len(got.doubts) && len(w.wrong) == 0, "%s: %d calls in doubt, want %d; %v %v", name, told, len(got.doubts), err, w.wrong)
	for n := range got.doubts {
		if w.effects[n] == 0 {
			w.effects[n] = 1
		}
	}
	got.effects, got.questions, got.doubted = w.effects, slices.Sorted(maps.Keys(w.asked)), w.doubted
	return got
}

// spawn runs the process, and reports whether it has killed itself.
func (l *life) spawn(ctx context.Context) (killed bool, err error) {
	data, err := json.Marshal(l)
	if err != nil {
		return false, err
	}
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), testenv.Role("life"), lifeVariable+"="+string(data))
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && !exit.Exited() {
		return true, nil
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return false, err
}

// afterDeath adds the calls of the tool without keys that were sent and have no outcome, and ends the lease.
func afterDeath(ctx context.Context, store record.Store, doubts map[string]bool) error {
	log, err := store.Load(ctx, theRun)
	if errors.Is(err, record.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	s, err := ledger.StateOf(log.Records)
	if err != nil {
		return err
	}
	for _, c := range s.Calls {
		if c.At == ledger.CallSent && c.Tool == "note" {
			doubts[number(c.Args)] = true
		}
	}
	return store.Release(ctx, record.Lease{Key: theRun, Epoch: log.Head.Epoch})
}

func folded(ctx context.Context, store record.Store) (*ledger.State, error) {
	log, err := store.Load(ctx, theRun)
	if err != nil {
		return nil, err
	}
	return ledger.StateOf(log.Records)
}

// masked is the state of the run without times, numbers of records and lost replies, with no call in doubt, and how many were.
func masked(ctx context.Context, store record.Store) (string, int, error) {
	s, err := folded(ctx, store)
	if err != nil {
		return "", 0, err
	}
	s.Created, s.Updated, s.Seq, s.Snapshot, s.Spent.Lost = time.Time{}, time.Time{}, 0, 0, 0
	for i := range s.History {
		m := &s.History[i]
		m.At = time.Time{}
		for j := range m.Parts {
			if p := &m.Parts[j]; p.Text == unknown {
				p.IsError = false
			}
		}
	}
	data, err := s.MarshalJSON()
	return strings.ReplaceAll(string(data), unknown, noted), strings.Count(string(data), unknown), err
}

// A form is answered by another program, with another prompt, another model and other code of the same tools: the run
// comes to the state of one that nothing has disturbed, and the server asks once.
func TestFormAnsweredByAnotherProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "successor")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./testdata/successor").CombinedOutput()
	check.Require(t, err == nil, "build: %v: %s", err, out)
	all, dir := newWorlds(t), t.TempDir()
	for name, tt := range map[string]struct {
		flag, path string
		open       func(testing.TB, string) (record.Store, *sql.DB)
	}{
		"files":  {"-files", dir, func(t testing.TB, dir string) (record.Store, *sql.DB) { return filesIn(t, dir), nil }},
		"SQLite": {"-sqlite", filepath.Join(dir, "runs.db"), sqliteIn},
	} {
		t.Run(name, func(t *testing.T) {
			memory := record.NewMemory()
			registers(t, all.url+"/"+name+"-undisturbed/office",
				agent.Options{Durable: agent.Durable{Store: memory}, Person: agent.Person{Reply: atHand("Ann")}}, run.StatusFinished)
			want, _, err := masked(t.Context(), memory)
			check.Must(t, err)

			store, db := tt.open(t, tt.path)
			url := all.url + "/" + name + "/office"
			registers(t, url, agent.Options{Durable: agent.Durable{Store: store}}, run.StatusWaiting)
			if db != nil {
				check.Must(t, db.Close())
			}
			out, err := exec.CommandContext(t.Context(), program, tt.flag, tt.path, "-server", url, "-run", theRun.ID).CombinedOutput()
			check.Require(t, err == nil, "the other program: %v: %s", err, out)
			store, _ = tt.open(t, tt.path)
			got, _, err := masked(t.Context(), store)
			check.Must(t, err)
			check.Same(t, "state", got, want)
			check.Same(t, "answer", string(out), stateOf(t, store, theRun).Output)
			w := all.of(name)
			check.That(t, w.put == 1 && w.effects["7"] == 1 && len(w.wrong) == 0,
				"the server has asked %d times and registered %d times, want once: %v", w.put, w.effects["7"], w.wrong)
		})
	}
}

// registers begins the run in this program. Its server asks for a form.
func registers(t *testing.T, url string, opts agent.Options, want run.Status) {
	t.Helper()
	toolset := openAll(t, nil, adapter.Server{Name: "office", Transport: &mcpclient.HTTP{URL: url}})
	type name struct {
		Name string `json:"name"`
	}
	stamp := adapter.Func("stamp", "Stamps a name.", func(_ context.Context, n name) (string, error) { return n.Name + ", stamped", nil }, nil)
	opts.Name, opts.System, opts.Tools = "clerk", "Be brief.", []adapter.Source{toolset, stamp}
	model := play(uses(toolCall("1", "form", `{"n":"7"}`)), uses(toolCall("2", "stamp", `{"name":"Ann"}`)), func(ctx context.Context, p prompt) (*model.Response, error) {
		return says(fmt.Sprintf("%q", results(p.Request.Messages)))(ctx, p)
	})
	check.Equal(t, "status", mustRun(t, newAgent(t, model, &opts), human("go"), agent.WithRun(theRun.ID)).Status, want)
}
