package agent

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/mcpchain/mcpchain/agent/run"
)

// Input is what a run is given: messages, a person's last as a rule.
type Input []run.Message

// Text is a message of a person.
func Text(text string) Input { return Input{run.Text(run.RoleUser, text)} }

// Messages is a history, for instance [Result.Messages] with a new message of a person.
func Messages(messages ...run.Message) Input { return messages }

// RunOption is an option of one run.
type RunOption func(*runOptions)

type runOptions struct {
	key    run.Key
	named  bool // by In
	once   bool
	limits *run.Limits
	vars   map[string]json.RawMessage
	output *output // nil: an answer in words
}

// In names the run. A run of that name that has ended in [Durable.Store] takes the input
// and continues: so a conversation is one run with many inputs. Without In each run has
// a new name. In without a store, or with an empty name, is an error of the run.
func In(session string) RunOption {
	return func(o *runOptions) { o.key.ID, o.named = session, true }
}

// Once has the input begin a run and never continue one: the error for a run that there
// is by the name of [In] matches [record.ErrExists]. So a request that is sent again begins one run.
func Once() RunOption { return func(o *runOptions) { o.once = true } }

// ForTenant keeps the run apart from the runs of other tenants in [Durable.Store].
func ForTenant(tenant string) RunOption { return func(o *runOptions) { o.key.Tenant = tenant } }

// WithLimits replaces all of [Options.Limits]: a field that is 0 has its own default, and not the value of the
// options.
func WithLimits(l run.Limits) RunOption { return func(o *runOptions) { o.limits = &l } }

// WithVar gives the run a variable of the host, which is kept with it: hooks read it in
// [State.Vars], in every process. It counts when a run begins: an input for a run that
// there is leaves the variables as they are.
func WithVar(name string, value json.RawMessage) RunOption {
	return func(o *runOptions) {
		if o.vars == nil {
			o.vars = map[string]json.RawMessage{}
		}
		o.vars[name] = value
	}
}

// settings are the options of a run, with a name.
func (a *Agent) settings(opts []RunOption) (*runOptions, error) {
	o := &runOptions{limits: &a.opts.Limits}
	for _, set := range opts {
		set(o)
	}
	switch {
	case o.named && a.opts.Durable.Store == nil:
		return nil, errors.New("In needs Options.Durable.Store")
	case o.named && o.key.ID == "":
		return nil, errors.New("In: the id is empty")
	case o.key.ID == "":
		var b [16]byte
		rand.Read(b[:])
		o.key.ID = "run_" + hex.EncodeToString(b[:])
	}
	limits, err := withDefaults(*o.limits)
	o.limits = &limits
	return o, err
}
