package rules_test

import (
	"fmt"
	"testing"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/rules"
	"github.com/mcpchain/mcpchain/internal/check"
)

// TestRules keeps the rules of each user apart, lists them, and takes them back. There is a bound of a user's rules.
func TestRules(t *testing.T) {
	var told []string
	r := rules.New(func(user string) { told = append(told, user) })
	key := func(user, server, tool string) approval.Key {
		return approval.Key{Scope: approval.ScopeTool, User: user, Server: server, Tool: tool}
	}
	holds := func(k approval.Key, want bool) {
		t.Helper()
		d, ok, err := r.Recall(t.Context(), k)
		check.That(t, ok == want && err == nil && (!ok || d.Allow), "%v: got %v, %v, %v, want %v", k, d, ok, err, want)
	}
	for _, k := range []approval.Key{key("Ada", "b", "x"), key("Ada", "a", "y"), key("Grace", "a", "y"), key("Ada", "a", "y")} {
		check.Must(t, r.Remember(t.Context(), k, approval.Decision{Allow: true}))
	}
	all := r.Of("Ada")
	check.Require(t, len(all) == 2 && all[0].Server == "a" && all[0].Tool == "y" && all[0].Allow && all[0].Scope != "" && all[0].ID != all[1].ID,
		"got %+v, want both rules of Ada, in their order", all)
	check.That(t, !r.Drop("Grace", all[1].ID) && r.Drop("Ada", all[0].ID) && !r.Drop("Ada", all[0].ID), "a rule is dropped by its user, once")
	holds(key("Ada", "a", "y"), false)
	holds(key("Grace", "a", "y"), true)
	holds(key("Ada", "b", "x"), true)
	check.Same(t, "told", told, []string{"Ada", "Ada", "Grace", "Ada", "Ada"})
	check.Must(t, r.Forget(t.Context(), "", "b"))
	holds(key("Ada", "b", "x"), false)
	for i := range 200 {
		check.Must(t, r.Remember(t.Context(), key("Ada", "a", fmt.Sprint(i)), approval.Decision{Allow: true}))
	}
	check.Fails(t, r.Remember(t.Context(), key("Ada", "a", "more"), approval.Decision{Allow: true}), "Ada has as many rules as she likes")
	check.NoError(t, r.Remember(t.Context(), key("Grace", "a", "more"), approval.Decision{Allow: true}))
}
