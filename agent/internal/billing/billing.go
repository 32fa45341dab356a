// Package billing prices the replies of models.
package billing

import (
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/cost"
	"github.com/mcpchain/mcpchain/price"
)

// Cost returns the cost of a reply by its currency, nil if its price is unknown. scratch is that of the
// request, and replied is the name by which the model has replied.
func Cost(prices *price.Table, m model.Model, scratch any, replied string, used run.Usage) map[string]int64 {
	amount, ok := cost.OfReply(prices, replied, AskedNames(m, scratch), cost.Tokens{
		Input:      used.Input,
		Cached:     used.Cached,
		CacheWrite: used.CacheWrite,
		Output:     used.Output,
		Reasoning:  used.Reasoning,
	})
	if !ok {
		return nil
	}
	return map[string]int64{amount.Currency: amount.Micro}
}

// AskedNames returns the names of the model that was asked for the last reply. Of several models
// (agent.Fallback) it is the one that the scratch of their conversation remembers.
func AskedNames(m model.Model, scratch any) []string {
	if f, ok := m.(interface{ AskedNames(scratch any) []string }); ok {
		return f.AskedNames(scratch)
	}
	info := m.Info()
	return Names(&info)
}

// Names returns the names of the models that may reply, the main one first.
func Names(i *model.Info) []string { return append([]string{i.Name}, i.OtherNames...) }
