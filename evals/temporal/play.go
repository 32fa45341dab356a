package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/server/temporaltest"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/temporal"
	"github.com/mcpchain/mcpchain/evals/bench/rig"
	"github.com/mcpchain/mcpchain/evals/chaos/witness"
)

// play begins the runs, kills workers, and compares calls with their effects. clean reports whether there were no
// errors, see [witness.Verdict.Clean], and none of the person; fast reports whether the pauses were short.
func (o *options) play(ctx context.Context, out io.Writer) (clean, fast bool, err error) {
	_, stop, err := o.Start()
	if err != nil {
		return false, false, err
	}
	defer stop()
	w := witness.New(300*time.Millisecond, "effect", "approved", "form")
	seen := newWatch()
	serve := http.NewServeMux()
	serve.Handle("/", w)
	serve.Handle("/report", seen)
	tools := httptest.NewServer(serve)
	defer tools.Close()
	o.Tools = tools.URL
	server := temporaltest.NewServer()
	o.Address = server.GetFrontendHostPort()
	o.Namespace = server.GetDefaultNamespace()
	service, err := client.Dial(client.Options{HostPort: o.Address, Namespace: o.Namespace, Logger: quiet()})
	if err != nil {
		return false, false, err
	}
	defer service.Close()
	store, err := o.Open(ctx)
	if err != nil {
		return false, false, err
	}
	c := temporal.NewClient(service, store, nil)

	f := &fleet{options: o, watch: seen}
	defer f.close()
	p := &person{client: c, store: store}
	if err := o.drive(ctx, c, f, p); err != nil {
		return false, false, err
	}
	v, err := script.Judge(ctx, store, w, o.runs, true)
	if err != nil {
		return false, false, err
	}
	fmt.Fprintf(out, "temporal: %d runs, %d workers, %d kills\n", o.runs, o.workers, f.kills)
	v.Print(out)
	p.print(out)
	steps, slow := seen.print(out, o.Lease+time.Second)
	f.close()
	f.print(out, steps)
	return v.Clean() && len(p.wrong) == 0, !slow, nil
}

// runTime bounds how long the runs take after the last kill.
const runTime = 5 * time.Minute

// drive begins the runs and waits for their ends, while workers are killed and a person replies. It fails if a worker
// cannot be started again.
func (o *options) drive(ctx context.Context, c *temporal.Client, f *fleet, p *person) error {
	ctx, stop := context.WithTimeout(ctx, o.length+runTime)
	defer stop()
	if err := f.begin(ctx); err != nil {
		return err
	}
	personCtx, stopPerson := context.WithCancel(ctx)
	var others sync.WaitGroup
	var killErr error
	others.Go(func() { p.attend(personCtx) })
	others.Go(func() {
		if killErr = f.kill(ctx); killErr != nil {
			stop()
		}
	})
	err := o.start(ctx, c, p.store)
	for i := 0; err == nil && i < o.runs; i++ {
		_, err = c.Result(ctx, script.Key(i))
	}
	stopPerson()
	others.Wait()
	return errors.Join(err, killErr)
}

// quiet returns a logger for Temporal that discards everything.
func quiet() log.Logger { return log.NewStructuredLogger(slog.New(slog.DiscardHandler)) }

// start begins the runs one after the other, during three quarters of the time.
func (o *options) start(ctx context.Context, c *temporal.Client, store record.Store) error {
	agents := map[string]*agent.Agent{} // agents by name, without tools, which only the workers need
	for _, kind := range script.Kinds {
		a, err := agent.New(script, &agent.Options{Name: kind, Durable: agent.Durable{Store: store}})
		if err != nil {
			return err
		}
		agents[kind] = a
	}
	pace := o.length * 3 / 4 / time.Duration(o.runs)
	for i := range o.runs {
		key := script.Key(i)
		if _, err := c.Start(ctx, agents[script.Kind(i)], agent.Text(key.ID), agent.WithRun(key.ID), agent.WithTenant(key.Tenant)); err != nil {
			return err
		}
		select {
		case <-time.After(pace):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// fleet has the worker processes. Its methods must not be called concurrently.
type fleet struct {
	*options
	watch *watch
	cmds  []*exec.Cmd // worker number 1 comes first
	kills int
	used  time.Duration // processor time of workers that have ended
}

// begin starts all workers.
func (f *fleet) begin(ctx context.Context) error {
	for i := range f.workers {
		cmd, err := f.worker(ctx, i+1)
		if err != nil {
			return err
		}
		f.cmds = append(f.cmds, cmd)
	}
	return nil
}

// worker starts the worker with that number.
func (f *fleet) worker(ctx context.Context, number int) (*exec.Cmd, error) {
	settings := *f.options
	settings.Worker = number
	cmd, err := witness.Worker(ctx, settings)
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	return cmd, cmd.Start()
}

// kill kills one worker after the other, and starts each again. It returns nil after f.length, or when the context has
// ended.
func (f *fleet) kill(ctx context.Context) error {
	for end := time.Now().Add(f.length); time.Now().Before(end); f.kills++ {
		select {
		case <-time.After(f.every):
		case <-ctx.Done():
			return nil
		}
		i := f.kills % len(f.cmds)
		f.end(f.cmds[i])
		f.watch.kill(i + 1)
		cmd, err := f.worker(ctx, i+1)
		if err != nil {
			f.cmds = slices.Delete(f.cmds, i, i+1)
			return err
		}
		f.cmds[i] = cmd
	}
	return nil
}

// close ends all workers.
func (f *fleet) close() {
	for _, cmd := range f.cmds {
		f.end(cmd)
	}
	f.cmds = nil
}

// end kills a worker, and waits for its end.
func (f *fleet) end(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	f.used += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// print writes the processor time of the workers, which includes their starts, and of this
// process with Temporal, the tools and the person.
func (f *fleet) print(out io.Writer, steps int) {
	fmt.Fprintf(out, "processor time: %d steps, %v of the workers, %v of Temporal, the tools and the person\n",
		steps, f.used.Round(time.Millisecond), rig.CPUTime().Round(time.Millisecond))
}
