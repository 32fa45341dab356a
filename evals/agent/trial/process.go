package trial

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/evals/agent/model"
	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/tape"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// asWorker is the environment variable with the file of a job, workerKey the one with the key
// of its model.
const (
	asWorker  = "MCPCHAIN_EVALS_JOB"
	workerKey = "MCPCHAIN_EVALS_KEY"
)

// most bounds the processes that work on a trial.
const most = 60

// Main must be the first call of a program that runs trials. In a child process that works on
// one it does not return.
func Main() {
	name := os.Getenv(asWorker)
	if name == "" {
		return
	}
	if err := work(context.Background(), name); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// work advances a run in this process.
func work(ctx context.Context, name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var j job
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	store, err := filestore.Open(filepath.Join(j.Dir, "runs"), nil)
	if err != nil {
		return err
	}
	j.Model.Endpoint.Key = os.Getenv(workerKey)
	models, err := j.models()
	if err != nil {
		return told(&j, "", err)
	}
	tools := ""
	d := &driver{job: &j, store: &dying{Store: store, dir: j.Dir, at: j.KillAt}, models: models, atHand: !j.Task.Suspend,
		seen: func(hash string) { tools = hash },
		dial: func(_ context.Context, _ string, s *server) (mcpclient.Transport, error) {
			return &mcpclient.HTTP{URL: s.At}, nil
		}}
	err = d.drive(ctx)
	return told(&j, tools, errors.Join(models.Err(), err, d.close()))
}

// account is what a child process reports to its parent.
type account struct {
	Tools string `json:"tools,omitempty"` // hash of the tools that the model was offered
	Cause string `json:"cause,omitempty"` // why the trial is void, if it is
	Text  string `json:"text,omitempty"`
}

// accountName and killedName are files in the directory of a trial.
const (
	accountName = "account.json"
	killedName  = "killed"
)

// causes are why a trial is void, by the names that processes report.
var causes = map[string]error{"infra": model.ErrInfra, "miss": tape.ErrMiss, "harness": errHarness}

// told writes the account of a process.
func told(j *job, tools string, err error) error {
	a := account{Tools: tools}
	for name, cause := range causes {
		if errors.Is(err, cause) {
			a.Cause, a.Text = name, err.Error()
		}
	}
	data, wrong := json.Marshal(a)
	if wrong == nil {
		wrong = os.WriteFile(filepath.Join(j.Dir, accountName), data, 0o600)
	}
	return errors.Join(err, wrong)
}

// caused is the error of another process.
type caused struct {
	text  string
	cause error
}

func (c *caused) Error() string { return c.text }
func (c *caused) Unwrap() error { return c.cause }

// account reads what the last process reported.
func (p *player) account() error {
	data, err := os.ReadFile(filepath.Join(p.Dir, accountName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was killed
	}
	var a account
	if err == nil {
		err = json.Unmarshal(data, &a)
	}
	if err != nil {
		return harness("%w", err)
	}
	if a.Tools != "" {
		p.line.ToolsHash = a.Tools
	}
	if cause, ok := causes[a.Cause]; ok {
		return &caused{a.Text, cause}
	}
	return nil
}

// dying is a store that kills its process before a commit, or after it if the number is
// negative.
type dying struct {
	record.Store
	dir         string // of the trial
	at, commits int
}

func (s *dying) Append(ctx context.Context, l record.Lease, h run.Head, records []run.Record, answers ...run.Reply) error {
	s.commits++
	if s.commits == s.at {
		die(s.dir)
	}
	err := s.Store.Append(ctx, l, h, records, answers...)
	if s.commits == -s.at {
		die(s.dir)
	}
	return err
}

// die kills this process with SIGKILL, and leaves a note that it was intended.
func die(dir string) {
	if err := os.WriteFile(filepath.Join(dir, killedName), nil, 0o600); err != nil {
		return
	}
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {} // until the signal arrives
}

// processes runs processes one after the other to work on the run, and answers its questions in
// between.
func (p *player) processes(ctx context.Context) error {
	kills := p.Task.Kills
	for range most {
		p.KillAt = 0
		if len(kills) > 0 {
			p.KillAt = kills[0]
		}
		killed, err := p.process(ctx)
		if err != nil {
			return err
		}
		if killed {
			kills = kills[1:]
			if err := p.release(ctx); err != nil {
				return err
			}
			continue
		}
		waits, err := p.answers(ctx)
		if err != nil {
			return err
		}
		if !waits && len(kills) > 0 && p.Model.Mode == results.Scripted { // other models may end their run earlier
			return harness("the run was over before %d of %d kills", len(kills), len(p.Task.Kills))
		}
		if !waits {
			return nil
		}
	}
	return harness("%d processes worked on the run, and it is not over", most)
}

// release releases the lease of a killed process, which would otherwise hold the run for a
// minute.
func (p *player) release(ctx context.Context) error {
	key := run.Key{ID: runID}
	log, err := p.store.Load(ctx, key)
	if errors.Is(err, record.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = p.store.Release(ctx, record.Lease{Key: key, Epoch: log.Head.Epoch})
	}
	if err != nil {
		return harness("%w", err)
	}
	return nil
}

// process runs a child process.
func (p *player) process(ctx context.Context) (killed bool, err error) {
	self, err := os.Executable()
	if err != nil {
		return false, &harnessError{err}
	}
	public := p.job
	public.Model = p.Model.Public()
	data, err := json.Marshal(&public)
	if err != nil {
		return false, &harnessError{err}
	}
	name := filepath.Join(p.Dir, "job.json")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		return false, &harnessError{err}
	}
	for _, old := range []string{accountName, killedName} {
		if err := os.Remove(filepath.Join(p.Dir, old)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, &harnessError{err}
		}
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), asWorker+"="+name, workerKey+"="+p.Model.Endpoint.Key)
	var stderr bytes.Buffer
	cmd.Stderr, cmd.Stdout = &stderr, &stderr
	err = cmd.Run()
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if _, noted := os.Stat(filepath.Join(p.Dir, killedName)); noted == nil && err != nil {
		return true, nil
	}
	if why := p.account(); why != nil {
		return false, why
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return false, nil
	case !ok:
		return false, harness("start a process: %w", err)
	case stderr.Len() == 0:
		return false, harness("a process ended with %v; the program must call trial.Main first", exit)
	}
	return false, errors.New(stderr.String())
}

// answers replies to the questions of a waiting run.
func (p *player) answers(ctx context.Context) (waits bool, err error) {
	key := run.Key{ID: runID}
	log, err := p.store.Load(ctx, key)
	if err != nil {
		return false, harness("%w", err)
	}
	if log.Head.Status != run.StatusWaiting {
		return false, nil
	}
	s, err := ledger.StateOf(log.Records)
	if err != nil {
		return false, harness("%w", err)
	}
	for _, q := range ledger.Open(s) {
		a, err := answer(&p.Task.People, q)
		if err != nil {
			return false, err
		}
		if err := record.Submit(ctx, p.store, key, a); err != nil {
			return false, err
		}
	}
	return true, nil
}
