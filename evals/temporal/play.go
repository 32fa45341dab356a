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
	"sync"
	"syscall"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/server/temporaltest"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/temporal"
	"github.com/mcpchain/mcpchain/evals/chaos/witness"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// play begins the runs, kills workers, and compares calls with their effects. clean is true if
// nothing was lost, doubled or silent, and fast if the pauses were short.
func (o *options) play(ctx context.Context, out io.Writer) (clean, fast bool, err error) {
	o.Kind = "sqlite"
	if o.postgres {
		database, err := testenv.StartPostgres()
		if err != nil {
			return false, false, err
		}
		defer database.Stop()
		o.Kind, o.DSN = "postgres", database.DSN("postgres")
	}
	if o.Dir, err = os.MkdirTemp("", "chaos"); err != nil {
		return false, false, err
	}
	defer os.RemoveAll(o.Dir)
	w := witness.New(300*time.Millisecond, "effect", "approved", "form")
	seen := newWatch()
	serve := http.NewServeMux()
	serve.Handle("/", w)
	serve.Handle("/report", seen)
	tools := httptest.NewServer(serve)
	defer tools.Close()
	o.World = tools.URL
	server := temporaltest.NewServer()
	o.Address, o.Namespace = server.GetFrontendHostPort(), server.GetDefaultNamespace()
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

	ctx, stop := context.WithTimeout(ctx, o.length+5*time.Minute)
	defer stop()
	f := &fleet{options: o, watch: seen}
	defer f.end()
	p := &person{client: c, store: store, busy: map[run.Key]bool{}}
	if err := o.drive(ctx, c, f, p); err != nil {
		return false, false, err
	}
	v, err := script.Judge(ctx, store, w, o.runs)
	if err != nil {
		return false, false, err
	}
	fmt.Fprintf(out, "temporal: %d runs, %d workers, %d kills\n", o.runs, o.workers, f.kills)
	v.Print(out)
	p.print(out)
	steps, slow := seen.print(out, o.Lease+time.Second)
	f.end()
	f.print(out, steps)
	return v.Clean() && len(p.wrong) == 0, !slow, nil
}

// drive begins the runs and waits for their ends, while workers are killed and a person replies.
func (o *options) drive(ctx context.Context, c *temporal.Client, f *fleet, p *person) error {
	if err := f.begin(ctx); err != nil {
		return err
	}
	attended, leave := context.WithCancel(ctx)
	var around sync.WaitGroup
	defer around.Wait()
	defer leave()
	around.Go(func() { p.attend(attended) })
	around.Go(func() { f.kill(ctx, o.length) })
	if err := o.start(ctx, c, p.store); err != nil {
		return err
	}
	for i := range o.runs {
		if _, err := c.Result(ctx, script.Key(i)); err != nil {
			return err
		}
	}
	return nil
}

// quiet returns a logger for Temporal that discards everything.
func quiet() log.Logger { return log.NewStructuredLogger(slog.New(slog.DiscardHandler)) }

// start begins the runs one after the other, during three quarters of the time.
func (o *options) start(ctx context.Context, c *temporal.Client, store record.Store) error {
	agents := map[string]*agent.Agent{}
	for _, kind := range script.Kinds {
		a, err := agent.New(script, &agent.Options{Name: kind, Durable: agent.Durable{Store: store}})
		if err != nil {
			return err
		}
		agents[kind] = a
	}
	pace := o.length * 3 / 4 / time.Duration(o.runs)
	for i := range o.runs {
		if _, err := c.Start(ctx, agents[script.Kind(i)], agent.Text(script.Key(i).ID), agent.In(script.Key(i).ID), agent.ForTenant(script.Key(i).Tenant)); err != nil {
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

// fleet is the worker processes.
type fleet struct {
	*options
	watch *watch
	all   []*exec.Cmd
	kills int
	used  time.Duration // processor time of workers that have ended
}

func (f *fleet) begin(ctx context.Context) error {
	for i := range f.workers {
		cmd, err := f.worker(ctx, i+1)
		if err != nil {
			return err
		}
		f.all = append(f.all, cmd)
	}
	return nil
}

func (f *fleet) worker(ctx context.Context, n int) (*exec.Cmd, error) {
	settings := *f.options
	settings.Worker = n
	cmd, err := witness.Worker(ctx, settings)
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	return cmd, cmd.Start()
}

// kill kills one worker after the other, and starts it again.
func (f *fleet) kill(ctx context.Context, length time.Duration) {
	for end := time.Now().Add(length); time.Now().Before(end); f.kills++ {
		select {
		case <-time.After(f.every):
		case <-ctx.Done():
			return
		}
		i := f.kills % len(f.all)
		_ = f.all[i].Process.Kill()
		f.watch.kill(i + 1)
		f.ended(f.all[i])
		if cmd, err := f.worker(ctx, i+1); err == nil {
			f.all[i] = cmd
		}
	}
}

func (f *fleet) end() {
	for _, cmd := range f.all {
		_ = cmd.Process.Kill()
		f.ended(cmd)
	}
	f.all = nil
}

// ended waits for the end of a worker.
func (f *fleet) ended(cmd *exec.Cmd) {
	_ = cmd.Wait()
	f.used += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// print writes the processor time of the workers, which includes their starts, and of this
// process with Temporal, the tools and the person.
func (f *fleet) print(out io.Writer, steps int) {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	here := time.Duration(u.Utime.Nano() + u.Stime.Nano())
	fmt.Fprintf(out, "processor time: %d steps, %v of the workers, %v of Temporal, the tools and the person\n",
		steps, f.used.Round(time.Millisecond), here.Round(time.Millisecond))
}

// person replies to the questions of runs.
type person struct {
	client *temporal.Client
	store  record.Store

	mu             sync.Mutex // guards the fields below
	busy           map[run.Key]bool
	answers, twice int
	wrong          []error
}

func (p *person) print(out io.Writer) {
	fmt.Fprintf(out, "answers: %d, of these %d twice at once and once too late; wrong outcomes: %d\n", p.answers, p.twice, len(p.wrong))
	for _, err := range p.wrong {
		fmt.Fprintln(out, err)
	}
}

func (p *person) attend(ctx context.Context) {
	var under sync.WaitGroup
	defer under.Wait()
	for ctx.Err() == nil {
		for head, err := range p.store.List(ctx, record.Query{AllTenants: true, Status: run.StatusWaiting}) {
			if err == nil && len(head.Questions) > head.Replies && p.take(head.Key) {
				under.Go(func() { p.answer(ctx, head.Key) })
			}
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (p *person) take(key run.Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy[key] {
		return false
	}
	p.busy[key] = true
	return true
}

func (p *person) answer(ctx context.Context, key run.Key) {
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.busy, key)
	}()
	log, err := p.store.Load(ctx, key)
	if err != nil {
		return
	}
	s, err := ledger.StateOf(log.Records)
	if err != nil {
		return
	}
	var each sync.WaitGroup
	for _, q := range ledger.Open(s) {
		each.Go(func() { p.reply(ctx, key, q) })
	}
	each.Wait()
}

// reply replies to a question, and to every third one twice at once and then differently.
func (p *person) reply(ctx context.Context, key run.Key, q *run.Question) {
	yes, no := q.Allow(), q.Deny("too late")
	if q.Kind == run.QuestionForm {
		yes, _ = q.Accept(map[string]any{"note": "fine"})
		no = q.Decline()
	}
	yes.At = time.Now().UTC().Truncate(time.Millisecond)
	twice := q.ID[len(q.ID)-1]%3 == 0
	if !twice {
		p.count(ctx, false, p.client.Reply(ctx, key, yes))
		return
	}
	again := make(chan error)
	go func() { again <- p.client.Reply(ctx, key, yes) }()
	p.count(ctx, true, p.client.Reply(ctx, key, yes), <-again)
	if err := p.client.Reply(ctx, key, no); !errors.Is(err, record.ErrReplied) {
		p.count(ctx, false, fmt.Errorf("a late answer: got %w, want that it is refused", err))
	}
}

func (p *person) count(ctx context.Context, twice bool, errs ...error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers++
	if twice {
		p.twice++
	}
	if err := errors.Join(errs...); err != nil && ctx.Err() == nil {
		p.wrong = append(p.wrong, err)
	}
}
