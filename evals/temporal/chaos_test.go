package temporaleval

import (
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"testing"
	"time"

	"go.temporal.io/server/temporaltest"
	"golang.org/x/sync/errgroup"

	"github.com/mcpchain/mcpchain/agent/temporal"
	"github.com/mcpchain/mcpchain/evals/bench/rig"
	"github.com/mcpchain/mcpchain/evals/chaos"
	"github.com/mcpchain/mcpchain/internal/check"
)

var (
	runs    = flag.Int("runs", 8, "`number` of runs")
	workers = flag.Int("workers", 2, "`number` of worker processes")
	length  = flag.Duration("time", 8*time.Second, "how long workers are killed")
	every   = flag.Duration("every", 2*time.Second, "the time between kills")
	lease   = flag.Duration("lease", 2*time.Second, "the lease of a run, on which the length of pauses depends")
	kind    = flag.String("store", "sqlite", "`name` of the store of runs: sqlite or postgres")
	pauses  = flag.Bool("pauses", false, "fail if pauses are too long, which depends on the machine")
)

// TestMain lets the test binary be a worker of TestChaos.
func TestMain(m *testing.M) { chaos.Main(m, work) }

// runTime bounds how long the runs take after the last kill.
const runTime = 5 * time.Minute

// TestChaos kills workers of runs with a person, and compares calls with their effects.
func TestChaos(t *testing.T) {
	opted(t)
	seen := newWatch()
	world := chaos.New(300*time.Millisecond, "effect", "approved", "form")
	serve := http.NewServeMux()
	serve.Handle("/", world)
	serve.Handle("/report", seen)
	tools := httptest.NewServer(serve)
	t.Cleanup(tools.Close)
	server := temporaltest.NewServer()
	t.Cleanup(server.Stop)
	f := &fleet{watch: seen, cmds: make([]*exec.Cmd, *workers), settings: settings{
		Lease:     *lease,
		Address:   server.GetFrontendHostPort(),
		Namespace: server.GetDefaultNamespace(),
		Tools:     tools.URL,
	}}
	f.Store, _ = chaos.NewStore(t, *kind)
	store := check.Value(f.Open(t.Context()))(t)
	service := check.Value(f.dial())(t)
	t.Cleanup(service.Close)
	c := temporal.NewClient(service, store, nil)

	ctx, cancel := context.WithTimeout(t.Context(), *length+runTime)
	defer cancel()
	p := &person{client: c, store: store}
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error {
		defer cancel() // the person, too
		return performRuns(ctx, c, store, *runs, *length*3/4/time.Duration(*runs))
	})
	all.Go(func() error { return p.attend(ctx) })
	for i := range f.cmds {
		f.begin(t, i)
	}
	kills := int(*length / *every)
	for i := range kills {
		time.Sleep(*every)
		f.kill(i % *workers)
		f.begin(t, i%*workers)
	}
	check.NoError(t, all.Wait())
	script.Judge(t, store, world, *runs, true)
	t.Logf("%d runs, %d workers, %d kills", *runs, *workers, kills)
	t.Logf("answers: %d, of these %d twice at once and once too late", p.answers, p.twice)
	steps, slow := seen.print(t.Output(), *lease+time.Second)
	check.That(t, !slow || !*pauses, "pauses were too long")
	for i := range f.cmds {
		f.kill(i)
	}
	t.Logf("processor time: %d steps, %v of the workers, with their starts, %v of Temporal, the tools and the person", steps, f.used, rig.CPUTime())
}
