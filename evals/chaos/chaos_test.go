package chaos

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"net/http/httptest"
	"os/exec"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

var (
	runs  = flag.Int("runs", 6, "`number` of runs to begin with; more begin if they are over before the kills are")
	kills = flag.Int("kills", 15, "`number` of times that the worker is killed")
)

// TestMain lets the test binary be a worker.
func TestMain(m *testing.M) { Main(m, work) }

// moreRuns are added whenever all runs have ended before the last kill.
const moreRuns = 10

// TestChaos kills workers with each store, and compares what the tools did with what the model was told.
func TestChaos(t *testing.T) {
	for _, kind := range []string{"file", "sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			c := start(t, kind, 15*time.Millisecond)
			c.Runs = *runs
			for killed := 0; ; {
				switch more := killed < *kills; {
				case c.worker(t, more):
					killed++
				case more:
					c.Runs += moreRuns
				default:
					t.Logf("%d runs, %d kills", c.Runs, killed)
					script.Judge(t, c.store, c.world, c.Runs, true)
					return
				}
			}
		})
	}
}

// TestFault lets a disk be full for a second and a server be down for five. A result that the
// process had is not in doubt afterwards.
func TestFault(t *testing.T) {
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := start(t, kind, time.Second) // runs last longer than the fault
			c.Runs, c.Fault = max(*runs, 9), true
			var restart errgroup.Group
			if kind == "postgres" {
				restart.Go(func() error {
					return failOnce(t.Context(), c.store, c.Runs, func() error { return c.server.Restart(downFor) })
				})
			}
			c.worker(t, false)
			check.NoError(t, restart.Wait())
			script.Judge(t, c.store, c.world, c.Runs, false)
		})
	}
}

// course is a store and the tools that workers use, with their settings.
type course struct {
	settings
	server *testenv.Postgres
	store  record.Store
	world  *World
}

// start starts the tools, whose calls wait at most so long before and after their effect.
func start(t *testing.T, kind string, slow time.Duration) *course {
	t.Helper()
	c := &course{world: New(slow, "effect")}
	c.Store, c.server = NewStore(t, kind)
	tools := httptest.NewServer(c.world)
	t.Cleanup(tools.Close)
	c.URL = tools.URL
	c.store = check.Value(c.Open(t.Context()))(t)
	return c
}

// How long a worker lives that is killed: from before its first call to the last turns of its runs.
const (
	minLife = 30 * time.Millisecond
	maxLife = 430 * time.Millisecond
)

// worker runs a worker process until all runs have ended or, if kill is true, kills it at a random moment. killed says
// that the kill came before the end.
func (c *course) worker(t *testing.T, kill bool) (killed bool) {
	t.Helper()
	cmd := Worker(t, c.settings)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	check.Must(t, cmd.Start())
	if kill {
		timer := time.AfterFunc(minLife+rand.N(maxLife-minLife), func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	err := cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == -1 {
		return true
	}
	check.Require(t, err == nil, "the worker failed: %v\n%s", err, stderr.Bytes())
	return false
}

// TestDriveAfterFailures drives runs whose store fails before they exist.
func TestDriveAfterFailures(t *testing.T) {
	for _, method := range []string{"load", "create"} {
		world := httptest.NewServer(New(time.Millisecond, "effect"))
		defer world.Close()
		var mu sync.Mutex
		failures := 2
		store := ledgertest.Watch(record.NewMemory(), func(c *ledgertest.Call) error {
			mu.Lock()
			mustFail := c.Method == method && failures > 0
			if mustFail {
				failures--
			}
			mu.Unlock()
			if mustFail {
				return errors.New("the store is down")
			}
			return c.Do()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s := &settings{Runs: 2, URL: world.URL}
		check.NoError(t, s.drive(ctx, store), method)
	}
}
