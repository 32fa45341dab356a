// Chaos kills the process of an agent again and again, and counts the effects of its tools:
//
//	go run ./evals/chaos -runs 50 -kills 500 -store file
//	go run ./evals/chaos -runs 50 -kills 500 -store sqlite
//	go run ./evals/chaos -runs 50 -kills 500 -store postgres
//
// Runs of several turns with four parallel tool calls each are driven by one worker process, which is killed (SIGKILL)
// at random moments and started again. The tools belong to three servers in the first process, which count effects: one
// recognizes a call by its key, one runs calls as tasks, and one does neither. At the end each call of each run is
// compared with its effects, see [witness.Counts]. Calls of the server with keys are never in doubt.
//
// With -fault the worker is not killed. Instead its store fails once: the disk of SQLite is full for a
// second, or the Postgres server is down for five. Then no call may be in doubt.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"time"

	"github.com/mcpchain/mcpchain/evals/chaos/witness"
)

// harness runs workers and judges what they did. Its fields are flags, see main, and what play adds for the worker
// processes, which get the exported fields.
type harness struct {
	witness.Store
	Runs  int
	Fault bool
	URL   string // URL of the tools; set by play

	kills int
	slow  time.Duration
}

// check refuses flags that make no sense.
func (h *harness) check() error {
	switch {
	case h.Runs < 1 || h.kills < 0 || h.slow <= 0:
		return errors.New("-runs and -slow have to be above 0, and -kills may not be negative")
	case h.Fault && h.Kind == "file":
		return errors.New("-fault needs -store sqlite or postgres")
	}
	return nil
}

// faultSlow makes runs last longer than a fault.
const faultSlow = time.Second

func main() {
	var h harness
	witness.Main(&h, h.work, func() {
		flag.IntVar(&h.Runs, "runs", 50, "`number` of runs to begin with; more begin if they are over before the kills are")
		flag.IntVar(&h.kills, "kills", 500, "`number` of times that the worker is killed")
		flag.StringVar(&h.Kind, "store", "file", "`name` of the store: file, sqlite or postgres")
		flag.DurationVar(&h.slow, "slow", 15*time.Millisecond, "how long a call waits at most before and after its effect")
		flag.BoolVar(&h.Fault, "fault", false, "have the store fail once while runs are under way, for a second (postgres: for five),\n"+
			"instead of killing the worker")
	}, func(ctx context.Context) (clean bool, err error) {
		if err := h.check(); err != nil {
			return false, err
		}
		if h.Fault {
			h.kills, h.slow = 0, max(h.slow, faultSlow)
		}
		v, err := h.play(ctx, os.Stdout)
		return err == nil && v.Clean(), err
	})
}

// play drives the runs, and compares their calls with the effects.
func (h *harness) play(ctx context.Context, out io.Writer) (v *witness.Verdict, err error) {
	database, stop, err := h.Start()
	if err != nil {
		return nil, err
	}
	defer stop()
	w := witness.New(h.slow, "effect")
	server := httptest.NewServer(w)
	defer server.Close()
	h.URL = server.URL
	store, err := h.Open(ctx)
	if err != nil {
		return nil, err
	}
	if h.Fault && database != nil {
		end := failOnce(ctx, store, h.Runs, func() error { return database.Restart(downFor) })
		defer func() { err = errors.Join(err, end()) }()
	}
	kills, err := h.kill(ctx)
	if err != nil {
		return nil, err
	}
	if v, err = script.Judge(ctx, store, w, h.Runs, !h.Fault); err != nil {
		return nil, err
	}

	fault := ""
	if h.Fault {
		fault = ", which failed once"
	}
	fmt.Fprintf(out, "store %s%s: %d runs, %d kills\n", h.Kind, fault, h.Runs, kills)
	v.Print(out)
	return v, nil
}

// moreRuns are added whenever all runs have ended before the last kill.
const moreRuns = 10

// kill runs one worker after the other until all runs have ended, and kills as many as it has to.
// It returns the number of kills.
func (h *harness) kill(ctx context.Context) (kills int, err error) {
	for {
		killed, err := h.worker(ctx, kills < h.kills)
		switch {
		case err != nil:
			return kills, err
		case killed:
			kills++
		case kills < h.kills:
			h.Runs += moreRuns
		default:
			return kills, nil
		}
	}
}

// How long a worker lives that is killed: from before its first call to the last turns of its runs.
const (
	minLife = 30 * time.Millisecond
	maxLife = 430 * time.Millisecond
)

// worker runs a worker process until all runs have ended or, if kill is true, kills it at a random
// moment. killed says that the kill came before the end. The error includes the output of the worker.
func (h *harness) worker(ctx context.Context, kill bool) (killed bool, err error) {
	cmd, err := witness.Worker(ctx, h)
	if err != nil {
		return false, err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return false, err
	}
	if kill {
		timer := time.AfterFunc(minLife+rand.N(maxLife-minLife), func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	err = cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == -1 {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("the worker failed: %w\n%s", err, stderr.Bytes())
	}
	return false, nil
}
