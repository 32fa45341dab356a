package agent

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/agent/run"
)

// Input is what a run gets: messages, for example [Result.Messages] with a new message of the person.
type Input []run.Message

// Text returns an input of one message of the person.
func Text(text string) Input { return Input{run.Text(run.RoleUser, text)} }

// RunOption is an option of one run.
type RunOption func(*runOptions)

type runOptions struct {
	key     run.Key
	hasID   bool // the id comes from WithRun
	newOnly bool
	limits  *run.Limits
	vars    map[string]json.RawMessage
	output  *output // nil: the answer is text
}

// WithRun gives the run an id. If [Durable.Store] has a run with this id that has ended, the input
// continues it: a conversation is one run with many inputs. By default each run gets a new id. It
// is an error if the agent has no store or the id is empty.
func WithRun(id string) RunOption {
	return func(o *runOptions) { o.key.ID, o.hasID = id, true }
}

// WithNewRun makes the input begin a run and never continue one, so that a repeated request begins
// one run. If the run named by [WithRun] exists, the error matches [record.ErrExists].
func WithNewRun() RunOption { return func(o *runOptions) { o.newOnly = true } }

// WithTenant gives the run to a tenant. [Durable.Store] keeps the runs of tenants apart.
func WithTenant(tenant string) RunOption { return func(o *runOptions) { o.key.Tenant = tenant } }

// WithLimits replaces all of [Options.Limits]: a field that is 0 has the default of [run.Limits],
// not the value of the options.
func WithLimits(l run.Limits) RunOption { return func(o *runOptions) { o.limits = &l } }

// WithVar sets a variable of a new run, which is stored with it: hooks read it in [State.Vars], in
// every process. An existing run keeps its own variables.
func WithVar(name string, value json.RawMessage) RunOption {
	return func(o *runOptions) {
		if o.vars == nil {
			o.vars = map[string]json.RawMessage{}
		}
		o.vars[name] = value
	}
}

// settings returns the options of a run, with the defaults of its limits, and gives it an id if it
// has none. The error names the option that is wrong.
func (r *recipe) settings(opts []RunOption) (*runOptions, error) {
	o := &runOptions{limits: &r.opts.Limits}
	for _, set := range opts {
		set(o)
	}
	switch {
	case o.hasID && r.opts.Durable.Store == nil:
		return nil, errors.New("WithRun needs Options.Durable.Store")
	case o.hasID && o.key.ID == "":
		return nil, errors.New("WithRun: id is empty")
	case o.key.ID == "":
		o.key.ID = "run_" + newKey()
	}
	for name, value := range o.vars {
		if value != nil && !json.Valid(value) {
			return nil, fmt.Errorf("WithVar: the value of %q is not valid JSON", name)
		}
	}
	limits, err := withDefaults(*o.limits)
	if err != nil {
		return nil, fmt.Errorf("WithLimits: %w", err)
	}
	o.limits = &limits
	return o, nil
}

// newKey returns a unique name.
func newKey() string {
	var random [16]byte
	rand.Read(random[:])
	return hex.EncodeToString(random[:])
}
