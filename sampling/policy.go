package sampling

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// Mode is who decides.
type Mode int

// The modes. In each the limits hold.
const (
	Ask   Mode = iota // the reviewer, and the limits alone when there is none
	Allow             // nobody: it passes
	Deny              // nobody: it is refused
)

// String is what the constant says in words.
func (m Mode) String() string {
	switch m {
	case Ask:
		return "ask"
	case Allow:
		return "allow"
	case Deny:
		return "deny"
	}
	return fmt.Sprintf("Mode(%d)", int(m))
}

// Policy is what a server may do.
type Policy struct {
	// During is for requests in the course of a call of ours, Outside for those
	// at other times. A connection of the legacy era does not tell to which of
	// several calls under way a request belongs; it is then outside.
	During, Outside Mode

	// Reply is for replies, after the request has passed.
	Reply Mode

	// Models of the catalogue that the server may use. Default: all.
	Models []string

	// Budget of this server instead of [Limits.Server].
	Budget *Budget
}

// Source is where a request comes from, by the host's own names.
type Source struct {
	Server string // the host's name for the server, empty when it has none

	// Call is the call of a tool in which the server asks, for the record and
	// where the connection does not tell. Empty for none that is known. The ids of
	// models repeat in their conversations, so that calls are told apart by the
	// connection if it can.
	Call string
}

// For returns a handler for the requests of one server, by the host's own name
// for it, which [Options.Servers], budgets, remembered decisions and the audit
// go by. The handler shares everything else with the sampler.
//
//	mcpclient.Connect(ctx, transport, &mcpclient.Options{Sampling: sampler.For("github")})
//
// A host that connects with package adapter sets [Options.Source] instead.
func (s *Sampler) For(server string) mcpclient.SamplingHandler { return &labelled{s, server} }

type labelled struct {
	*Sampler
	server string
}

// CreateMessage implements [mcpclient.SamplingHandler].
func (l *labelled) CreateMessage(ctx context.Context, params *mcpclient.CreateMessageParams) (*mcpclient.CreateMessageResult, error) {
	return l.handle(ctx, params, l.server)
}

// who is known of the one that asks.
type who struct {
	origin mcpclient.Origin
	label  string  // the host's name for the server
	key    string  // of the server, in accounts and remembered decisions
	call   string  // the outermost call in which it asks
	charge callKey // of that call; zero when it is not known
	during bool
	depth  int
	policy Policy
}

// callKey is what a call goes by in the accounts: the client and the id that it
// gave the call, which comes once, or else the host's names.
type callKey struct {
	client *mcpclient.Client
	id     int64

	server, call string
}

// parentKey is the key of the *who of the request within which another comes.
type parentKey struct{}

// identify finds out who asks. It fails for a server without a name of the host
// when the host has policies by name.
func (s *Sampler) identify(ctx context.Context, label string) (*who, error) {
	w := &who{label: label, depth: 1, policy: s.options.Policy}
	w.origin, _ = mcpclient.OriginFrom(ctx)
	w.during = w.origin.Call != nil
	if s.options.Source != nil {
		source := s.options.Source(ctx)
		if w.label == "" {
			w.label = source.Server
		}
		w.during = w.during || source.Call != ""
		if source.Call != "" {
			w.call, w.charge = source.Call, callKey{client: w.origin.Client, server: w.label, call: source.Call}
		}
	}
	if call := w.origin.Call; call != nil && call.ID != 0 {
		w.charge = callKey{client: w.origin.Client, id: call.ID}
		if w.call == "" {
			w.call = strconv.FormatInt(call.ID, 10)
		}
	}
	w.key = "named\x00" + w.label
	if w.label == "" { // what a server calls itself cannot be taken for the host's name
		w.key = "unnamed\x00" + cut(w.origin.Server.Info.Name)
	}
	if parent, ok := ctx.Value(parentKey{}).(*who); ok {
		w.depth = parent.depth + 1
		if parent.charge != (callKey{}) {
			w.call, w.charge = parent.call, parent.charge
		}
	}
	if p, ok := s.options.Servers[w.label]; ok && w.label != "" {
		w.policy = p
	} else if w.label == "" && len(s.options.Servers) > 0 {
		return w, refused(KindPolicy, "the host has policies by server, and no name for this one")
	}
	return w, nil
}

func (w *who) mode() Mode {
	if w.during {
		return w.policy.During
	}
	return w.policy.Outside
}

func (w *who) budget(l *Limits) Budget {
	if w.policy.Budget != nil {
		return *w.policy.Budget
	}
	return l.Server
}

// models are those of the catalogue that the server may use.
func (w *who) models(all []Model) []Model {
	if len(w.policy.Models) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(m Model) bool { return !slices.Contains(w.policy.Models, m.ID) })
}

// checkPolicies says whether policies name models that there are.
func checkPolicies(o *Options) error {
	policies := map[string]Policy{"Options.Policy": o.Policy}
	for name, p := range o.Servers {
		policies[fmt.Sprintf("the policy of %q", name)] = p
	}
	for name, p := range policies {
		for _, id := range p.Models {
			if !slices.ContainsFunc(o.Models, func(m Model) bool { return m.ID == id }) {
				return fmt.Errorf("%s names the model %q, which is not in the catalogue", name, id)
			}
		}
		for _, m := range []Mode{p.During, p.Outside, p.Reply} {
			if m < Ask || m > Deny {
				return fmt.Errorf("%s has the mode %d, which is none", name, m)
			}
		}
	}
	return nil
}

// denied says whether a request is refused without a look at it. It is not
// counted then.
func (s *Sampler) denied(w *who) error {
	switch {
	case w.mode() == Deny:
		return refused(KindPolicy, "the host's policy does not let the request pass")
	case w.mode() == Ask && s.options.Review != nil && s.memory.recall(w.subject(false)) == Deny:
		return refused(KindReview, "the request was not approved")
	}
	return nil
}

// subject is what a remembered decision is about.
type subject struct {
	server  string
	outside bool
	reply   bool
}

func (w *who) subject(reply bool) subject { return subject{w.key, !w.during, reply} }

// memory holds the decisions that a reviewer wants to be remembered.
type memory struct {
	mu       sync.Mutex
	decision map[subject]Mode
}

// maxRemembered bounds the remembered decisions. What is over it is asked again
// each time.
const maxRemembered = 1000

// recall returns Ask for what is not decided.
func (m *memory) recall(s subject) Mode {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.decision[s]
}

// remember keeps a decision. A refusal is not replaced by a consent, which may
// have been on its way when the refusal came.
func (m *memory) remember(s subject, d Mode) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.decision == nil {
		m.decision = map[subject]Mode{}
	}
	if _, known := m.decision[s]; !known && len(m.decision) >= maxRemembered || m.decision[s] == Deny {
		return
	}
	m.decision[s] = d
}

// forget drops what was decided on a server, or on all of them.
func (m *memory) forget(keys ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for s := range m.decision {
		if slices.Contains(keys, s.server) {
			delete(m.decision, s)
		}
	}
}

// Forget drops the remembered decisions on a server, by the host's name for it,
// or by the server's own for one that the host has not named. The reviewer is
// then asked again.
func (s *Sampler) Forget(server string) {
	s.memory.forget("named\x00"+server, "unnamed\x00"+cut(server))
}
