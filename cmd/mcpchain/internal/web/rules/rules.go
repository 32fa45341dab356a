// Package rules stores users' decisions for later calls until the program ends. Users see their
// rules and can revoke them.
package rules

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/hosttext"
)

// maxEach bounds the rules of a user, and maxAll the rules of all users.
const (
	maxEach = 200
	maxAll  = 10_000
)

// errFull is the error of [Rules.Remember] at a bound.
var errFull = errors.New("too many decisions for later calls: take some back")

// Rules is an [approval.Store] in memory. Its methods may be called concurrently.
type Rules struct {
	changed func(user string)

	mu  sync.Mutex // guards the following field
	all map[approval.Key]approval.Decision
}

// New returns an empty store. changed is called, possibly concurrently, with the user whose rules have changed.
func New(changed func(user string)) *Rules {
	return &Rules{changed: changed, all: map[approval.Key]approval.Decision{}}
}

// Rule is a rule as its user sees it.
type Rule struct {
	ID     string `json:"id"`
	Server string `json:"server"`
	Tool   string `json:"tool,omitempty"` // "": all of the server
	Scope  string `json:"scope"`
	Allow  bool   `json:"allow"`
}

// ruleOf returns a decision as its user sees it. Its id is a hash of the key.
func ruleOf(k approval.Key, d approval.Decision) Rule {
	sum := sha256.Sum256(fmt.Appendf(nil, "%#v", k))
	return Rule{hex.EncodeToString(sum[:8]), hosttext.Line(k.Server, 100), hosttext.Line(k.Tool, 200), scopeText(k.Scope), d.Allow}
}

// scopeText describes the scope of a rule.
func scopeText(s approval.Scope) string {
	switch s {
	case approval.ScopeArguments:
		return "same arguments"
	case approval.ScopeTool:
		return "same tool"
	}
	return "same server"
}

// Of returns the rules of a user, sorted by server and tool.
func (r *Rules) Of(user string) []Rule {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []Rule{}
	for k, d := range r.all {
		if k.User == user {
			out = append(out, ruleOf(k, d))
		}
	}
	slices.SortFunc(out, func(a, b Rule) int {
		return strings.Compare(a.Server+"\x00"+a.Tool+"\x00"+a.ID, b.Server+"\x00"+b.Tool+"\x00"+b.ID)
	})
	return out
}

// Drop revokes a rule of a user, and reports whether there was one.
func (r *Rules) Drop(user, id string) bool {
	return r.forget(func(k approval.Key, d approval.Decision) bool { return k.User == user && ruleOf(k, d).ID == id })
}

// Recall implements [approval.Store].
func (r *Rules) Recall(_ context.Context, k approval.Key) (approval.Decision, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d, ok := r.all[k]
	return d, ok, nil
}

// Remember implements [approval.Store]. It fails if there are too many rules, of the user or of all.
func (r *Rules) Remember(_ context.Context, k approval.Key, d approval.Decision) error {
	if err := r.add(k, d); err != nil {
		return err
	}
	r.changed(k.User)
	return nil
}

func (r *Rules) add(k approval.Key, d approval.Decision) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := 0
	for other := range r.all {
		if other.User == k.User {
			own++
		}
	}
	if _, known := r.all[k]; !known && (own >= maxEach || len(r.all) >= maxAll) {
		return errFull
	}
	r.all[k] = d
	return nil
}

// Forget implements [approval.Store].
func (r *Rules) Forget(_ context.Context, user, server string) error {
	r.forget(func(k approval.Key, _ approval.Decision) bool {
		return (user == "" || k.User == user) && (server == "" || k.Server == server)
	})
	return nil
}

// forget deletes rules, tells their users, and reports whether there were any.
func (r *Rules) forget(which func(approval.Key, approval.Decision) bool) bool {
	r.mu.Lock()
	users := map[string]bool{}
	maps.DeleteFunc(r.all, func(k approval.Key, d approval.Decision) bool {
		forgotten := which(k, d)
		if forgotten {
			users[k.User] = true
		}
		return forgotten
	})
	r.mu.Unlock()
	for user := range users {
		r.changed(user)
	}
	return len(users) > 0
}
