package world

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/evals/agent/suite"
)

// accounts is the state of the server bank: balances by owner.
type accounts struct {
	folder   *stateFolder
	balances map[string]float64
}

// bank returns the tools of the server bank. Its seed has balances by owner.
func bank(p *stateFolder, s *suite.Server) ([]tool, error) {
	a := &accounts{p, map[string]float64{}}
	for owner, raw := range s.Seed {
		var balance float64
		if err := json.Unmarshal(raw, &balance); err != nil {
			return nil, err
		}
		a.balances[owner] = balance
	}
	return []tool{
		{name: "balance", about: "Tells the balance of an account.", schema: object("owner"), run: a.balance},
		{name: "list_accounts", about: "Lists the owners of accounts.", schema: object(), run: a.list},
		{name: "transfer", about: "Transfers an amount from one account to another.", schema: object("from", "to", "#amount"), writes: true, run: a.transfer},
		{name: "open_account", about: "Opens an account.", schema: object("owner"), writes: true, run: a.open},
		{name: "close_account", about: "Closes an account; what is on it is lost.", schema: object("owner"), writes: true, run: a.close},
	}, p.store(a.balances)
}

// check returns an error unless all owners have an account.
func (a *accounts) check(owners ...string) error {
	for _, o := range owners {
		if _, ok := a.balances[o]; !ok {
			return fmt.Errorf("%q has no account", o)
		}
	}
	return nil
}

func (a *accounts) balance(c *call) (string, error) {
	owner := c.text("owner")
	return fmt.Sprint(a.balances[owner]), a.check(owner)
}

func (a *accounts) list(*call) (string, error) {
	return strings.Join(slices.Sorted(maps.Keys(a.balances)), "\n"), nil
}

// transfer moves an amount from one account to another.
func (a *accounts) transfer(c *call) (string, error) {
	from, to := c.text("from"), c.text("to")
	amount, _ := c.args["amount"].(float64)
	if err := a.check(from, to); err != nil {
		return "", err
	}
	if amount <= 0 || a.balances[from] < amount {
		return "", fmt.Errorf("%q has %v, which is not enough", from, a.balances[from])
	}
	a.balances[from] -= amount
	a.balances[to] += amount
	return fmt.Sprintf("transferred %v", amount), a.folder.store(a.balances)
}

func (a *accounts) open(c *call) (string, error) {
	owner := c.text("owner")
	if a.check(owner) == nil {
		return "", fmt.Errorf("%q has an account", owner)
	}
	a.balances[owner] = 0
	return "opened", a.folder.store(a.balances)
}

func (a *accounts) close(c *call) (string, error) {
	owner := c.text("owner")
	if err := a.check(owner); err != nil {
		return "", err
	}
	delete(a.balances, owner)
	return "closed", a.folder.store(a.balances)
}
